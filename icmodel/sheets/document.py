"""Convert the JSON document of an answer to sheets: verdicts, answers, intervals, basis and sources.

`Evaluation`, `SystemPrediction` and `Recommendation` have documents of the same structure.  An estimate is a mapping
with value, low, high and basis.  A verdict is a mapping with requirement, outcome and estimate.  A used row names its
source.  Each row of a sheet names the place of its number in the document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from icmodel.estimate import metric_name
from icmodel.sheets.sheet import Cell, Page, Sheet, unit_of_metric

Place = tuple[str, ...]
ESTIMATE = {"value", "low", "high", "basis"}
DESIGN = {"changed", "chosen", "verdict", "basis"}
VERDICT = {"requirement", "outcome", "estimate"}
USED_ROW = {"line", "metric", "value", "source"}
NAMES = ("name", "stream", "group", "device", "system", "id")
"""Keys whose value names an item of a list in a JSON document."""
SUMMARY = ("usecase", "dataset", "datasets", "variants", "searched", "notes", "asked")
"""Parts of a document whose plain values are on the sheet ``summary``."""
WHERE = ("where", "metric")


def document_pages(document: Mapping[str, Any]) -> tuple[Page, ...]:
    """Make the sheets of an answer's document.

    Parameters
    ----------
    document : mapping
        JSON document of an evaluation, a predicted system or a recommendation.

    Returns
    -------
    tuple of Page
        The sheets ``summary``, ``designs``, ``verdicts``, ``answers``, ``intervals``, ``basis`` and ``sources``; a sheet without rows is
        left out.

    Examples
    --------
    >>> from icmodel import Model
    >>> document = Model("tcp-connectx7").predict(protocol="tcp", payload_bytes=131072).to_dict()
    >>> [page.name for page in document_pages(document)]
    ['summary', 'answers', 'intervals', 'basis', 'sources']
    """
    summary: list[tuple[Cell, ...]] = []
    designs: list[tuple[Cell, ...]] = []
    verdicts: list[tuple[Cell, ...]] = []
    answers: list[tuple[Cell, ...]] = []
    intervals: list[tuple[Cell, ...]] = []
    bases: list[tuple[Cell, ...]] = []
    sources: dict[tuple[Cell, ...], None] = {}
    for place, found in _walk((), document):
        if not isinstance(found, Mapping):
            if len(place) == 1 or place[0] in SUMMARY:
                summary.append((" / ".join(place), _cell(found)))
        elif found.keys() >= DESIGN:
            designs.append(_design(place, found))
        elif found.keys() >= VERDICT:
            verdicts.append(_verdict(place, found))
        elif found.keys() >= USED_ROW:
            sources[_source(found)] = None
        else:
            where, metric = " / ".join(place[:-1]), place[-1]
            value, low, high, unit = _numbers(metric, found)
            named = where, metric_name(metric)
            basis = str(found["basis"])
            answers.append((*named, value, unit, basis, str(found.get("why", ""))))
            if value is not None or low is not None or high is not None:
                intervals.append((*named, low, value, high, unit))
            bases.append((*named, basis, ", ".join(dict.fromkeys(found.get("bases", ())))))
    tables: dict[str, tuple[Sequence[str], Sequence[tuple[Cell, ...]]]] = {
        "summary": (("what", "value"), summary),
        "designs": (DESIGN_HEAD, designs),
        "verdicts": (VERDICT_HEAD, verdicts),
        "answers": ((*WHERE, "value", "unit", "basis", "why"), answers),
        "intervals": ((*WHERE, "low", "value", "high", "unit"), intervals),
        "basis": ((*WHERE, "weakest", "all that were used"), bases),
        "sources": (SOURCE_HEAD, list(sources)),
    }
    return tuple(
        Page(name, Sheet(tuple(head), tuple(rows))) for name, (head, rows) in tables.items() if rows
    )


def _walk(place: Place, part: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the estimates, verdicts, used rows and plain values of a JSON document, each with its path."""
    if isinstance(part, Mapping):
        if any(part.keys() >= keys for keys in (ESTIMATE, VERDICT, USED_ROW, DESIGN)):
            yield place, part
            if part.keys() >= VERDICT:
                return
        for key, value in part.items():
            yield from _walk((*place, str(key)), value)
    elif isinstance(part, (list, tuple)):
        for index, value in enumerate(part, 1):
            name = _name_of(value) or str(index)
            yield from _walk((*place, name), value)
    else:
        yield place, part


def _name_of(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    return next((str(item[key]) for key in NAMES if isinstance(item.get(key), str)), "")


VERDICT_HEAD = (
    "where",
    "requirement",
    "metric",
    "verdict",
    "must be",
    "limit",
    "value",
    "low",
    "high",
    "unit",
    "margin [%]",
    "limited by",
    "basis",
    "why",
)


def _verdict(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    requirement, estimate = found["requirement"], found["estimate"]
    metric = str(requirement["metric"])
    least, most = requirement.get("at_least"), requirement.get("at_most")
    sign, limit = ("≥", least) if least is not None else ("≤", most)
    value, low, high, unit = _numbers(metric, estimate)
    bound = None if limit is None else limit / unit_of_metric(metric).si
    margin = _cell(found.get("margin"))
    percent = 100 * margin if isinstance(margin, (int, float)) else None
    of = [str(found[key]) for key in ("stream", "device", "where") if found.get(key)]
    return (
        " / ".join([*place[:-1], *dict.fromkeys(of)]),
        str(requirement.get("name", "")),
        metric_name(metric),
        str(found["outcome"]),
        sign,
        bound,
        value,
        low,
        high,
        unit,
        percent,
        str(found.get("limiting", "")),
        str(estimate["basis"]),
        str(found.get("why", "")),
    )


OBJECTIVES = {
    "cpu_cores": ("CPU [cores]", 1.0),
    "cpu_recv_cores": ("receiving CPU [cores]", 1.0),
    "latency_mean_s": ("mean latency [us]", 1e-6),
    "headroom_ratio": ("headroom [%]", 1e-2),
    "interfaces": ("interfaces", 1.0),
    "cost": ("cost", 1.0),
}
DESIGN_HEAD = ("what", "verdict", "basis", *(head for head, _ in OBJECTIVES.values()), "changes")


def _design(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    numbers = [_cell(found.get(name)) for name in OBJECTIVES]
    scaled = [
        number / si if isinstance(number, (int, float)) else None
        for number, (_, si) in zip(numbers, OBJECTIVES.values(), strict=True)
    ]
    changed = "; ".join(f"{name} = {value}" for name, value in found["changed"].items())
    return place[0], str(found["verdict"]), str(found["basis"]), *scaled, changed or "none"


SOURCE_HEAD = ("line", "metric", "payload_bytes", "load_bps", "value", "basis", "source")


def _source(found: Mapping[str, Any]) -> tuple[Cell, ...]:
    cells = {key: _cell(found.get(key)) for key in SOURCE_HEAD}
    load = cells["load_bps"]
    return tuple({**cells, "load_bps": "unlimited" if load == "inf" else load}.values())


def _numbers(metric: str, found: Mapping[str, Any]) -> tuple[Cell, Cell, Cell, str]:
    """Return value, low and high of an estimate in the unit of its metric, and the unit's symbol."""
    unit = unit_of_metric(metric)
    value, low, high = (_cell(found[end]) for end in ("value", "low", "high"))
    scaled = [
        number / unit.si if isinstance(number, (int, float)) else None
        for number in (value, low, high)
    ]
    return scaled[0], scaled[1], scaled[2], unit.symbol


def _cell(value: Any) -> Cell:
    """Convert a JSON value to a cell: numbers stay numbers, unknown and infinite numbers are empty."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return float(value) if math.isfinite(value) else None
    return str(value)
