"""Convert the JSON document of an answer to sheets: verdicts, answers, intervals, basis and sources.

The documents of `Evaluation`, `SystemPrediction` and `Recommendation` have the same structure. An estimate is a mapping
with value, low, high and basis. A verdict is a mapping with requirement, outcome and estimate. A used dataset row
states its source. Most rows of the sheets begin with a path: the keys that lead to the number in the document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from icmodel.estimate import metric_name
from icmodel.sheets.sheet import Cell, Page, Sheet, unit_of_metric

Place = tuple[str, ...]
ESTIMATE = {"value", "low", "high", "basis"}
KEYS = {
    "designs": {"changed", "chosen", "verdict", "basis"},
    "verdicts": {"requirement", "outcome", "estimate"},
    "sources": {"line", "metric", "value", "source"},
}
"""Sheet -> keys that identify its rows. Each mapping in the document with these keys becomes a row of the sheet."""
NAMES = ("name", "stream", "group", "device", "system", "id")
"""Keys that can name an item of a list in a JSON document."""
SUMMARY = ("usecase", "dataset", "datasets", "variants", "searched", "notes", "asked")
"""Keys of a document. The plain values below them are rows of the sheet ``summary``."""
OBJECTIVES = {
    "cpu_cores": ("CPU [cores]", 1.0),
    "cpu_recv_cores": ("receiving CPU [cores]", 1.0),
    "latency_mean_s": ("mean latency [us]", 1e-6),
    "headroom_ratio": ("headroom [%]", 1e-2),
    "interfaces": ("interfaces", 1.0),
    "cost": ("cost", 1.0),
}
"""Objective of a design -> heading of its column, and size of its unit in SI."""
HEADS: dict[str, tuple[str, ...]] = {
    "summary": ("what", "value"),
    "designs": ("what", "verdict", "basis", *(head for head, _ in OBJECTIVES.values()), "changes"),
    "verdicts": (
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
    ),
    "parts": ("where", "requirement", "network [us]", "hosts [us]", "application [us]"),
    "answers": ("where", "metric", "value", "unit", "basis", "why"),
    "intervals": ("where", "metric", "low", "value", "high", "unit"),
    "basis": ("where", "metric", "weakest", "all that were used"),
    "sources": ("line", "metric", "payload_bytes", "load_bps", "value", "basis", "source"),
}
"""Sheet -> column headings, in the order of the sheets."""


def document_pages(document: Mapping[str, Any]) -> tuple[Page, ...]:
    """Make the sheets of an answer's document.

    Parameters
    ----------
    document : mapping
        JSON document of an evaluation, a predicted system or a recommendation.

    Returns
    -------
    tuple of Page
        The sheets ``summary``, ``designs``, ``verdicts``, ``parts``, ``answers``, ``intervals``, ``basis`` and
        ``sources``. A sheet without rows is left out.

    Examples
    --------
    >>> from icmodel import Model
    >>> document = Model("tcp-connectx7").predict(protocol="tcp", payload_bytes=131072).to_dict()
    >>> [page.name for page in document_pages(document)]
    ['summary', 'answers', 'intervals', 'basis', 'sources']
    """
    rows: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in HEADS}
    estimates: list[tuple[str, str, Mapping[str, Any]]] = []
    judged: list[tuple[str, str, Mapping[str, Any]]] = []
    stated: dict[Cell, Cell] = {}
    for place, found in _walk((), document):
        if not isinstance(found, Mapping):
            if len(place) == 1 or place[0] in SUMMARY:
                rows["summary"].append((" / ".join(place), _cell(found)))
        elif kind := kind_of(found):
            rows[kind].append(ROWS[kind](place, found))
            if found.get("parts"):
                rows["parts"].append(parts_row(place, found))
            if kind == "verdicts":
                where, name = _named(place, found)
                judged.append((where, found["requirement"]["metric"], found["estimate"]))
                stated[f"requirement {name}"] = found["requirement"].get("source", "")
        else:
            estimates.append((" / ".join(place[:-1]), place[-1], found))

    # A recommendation has no estimates except those of its verdicts.
    for each in estimates or judged:
        add_estimate(rows, *each)
    pages = [Page(name, Sheet(HEADS[name], tuple(some))) for name, some in rows.items() if some]
    if rows["sources"]:
        used = tuple(dict.fromkeys(rows["sources"]))
        return (*pages[:-1], Page("sources", Sheet(HEADS["sources"], used)))
    grounds = tuple(ground_rows(document, stated))
    return (*pages, *([Page("sources", Sheet(HEADS["summary"], grounds))] if grounds else []))


def add_estimate(
    rows: Mapping[str, list[tuple[Cell, ...]]], where: str, metric: str, found: Mapping[str, Any]
) -> None:
    """Add the rows of an estimate to the sheets ``answers``, ``intervals`` and ``basis``."""
    value, low, high, unit = _numbers(metric, found)
    named, basis = (where, metric_name(metric)), str(found["basis"])
    rows["answers"].append((*named, value, unit, basis, str(found.get("why", ""))))
    if value is not None or low is not None or high is not None:
        rows["intervals"].append((*named, low, value, high, unit))
    every = ", ".join(dict.fromkeys(found.get("bases", ())))
    rows["basis"].append((*named, basis, every))


def ground_rows(
    document: Mapping[str, Any], stated: Mapping[Cell, Cell]
) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the sheet ``sources``: datasets with checksums, then requirements with their stated sources.

    The sheet has these rows if the JSON document of the answer does not list the dataset rows used. An evaluation has
    one dataset. A system has any number; if it has none, a row for theory takes their place.
    """
    own, datasets = document.get("dataset"), document.get("datasets")
    if isinstance(own, Mapping):
        datasets = {own["id"]: own["sha256"]}
    if not isinstance(datasets, Mapping):
        return
    if not datasets:
        yield (
            "theory",
            "formulas of the wire and of queues, or times stated by devices; no dataset",
        )
    yield from ((f"dataset {name}", f"sha256 {checksum}") for name, checksum in datasets.items())
    yield from ((name, source) for name, source in stated.items() if source)


def _walk(place: Place, part: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the estimates, verdicts, used rows and plain values of a JSON document, each with its path."""
    if isinstance(part, Mapping):
        kind = kind_of(part)
        if kind or part.keys() >= ESTIMATE:
            yield place, part
        if kind == "verdicts":
            return
        for key, value in part.items():
            yield from _walk((*place, str(key)), value)
    elif isinstance(part, (list, tuple)):
        for index, item in enumerate(part, 1):
            named = item if isinstance(item, Mapping) else {}
            names = (named[key] for key in NAMES if isinstance(named.get(key), str))
            yield from _walk((*place, next(names, "") or str(index)), item)
    else:
        yield place, part


def kind_of(part: Mapping[str, Any]) -> str:
    """Return the name of the sheet in which this object of a JSON document becomes a row; "" if none.

    The keys of the object decide: `KEYS` has, for each sheet, the keys that an object must have.
    """
    return next((name for name, keys in KEYS.items() if part.keys() >= keys), "")


def verdict_row(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the sheet's row for a verdict; its numbers are in the unit of the judged metric."""
    requirement, estimate = found["requirement"], found["estimate"]
    metric = str(requirement["metric"])
    least, most = requirement.get("at_least"), requirement.get("at_most")
    sign, limit = ("≥", least) if least is not None else ("≤", most)
    value, low, high, unit = _numbers(metric, estimate)
    bound = None if limit is None else limit / unit_of_metric(metric).si
    margin = _cell(found.get("margin"))
    percent = 100 * margin if isinstance(margin, (int, float)) else None
    return (
        *_named(place, found),
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


def parts_row(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the row with the parts of a judged latency: network, hosts and application. An unknown part is empty."""
    times = (_cell(found["parts"][f"{part}_s"]) for part in ("network", "hosts", "application"))
    unit = unit_of_metric("latency_max_s").si
    return *_named(place, found), *(
        time / unit if isinstance(time, float) else None for time in times
    )


def _named(place: Place, found: Mapping[str, Any]) -> tuple[str, str]:
    """Return the two cells that name a verdict ``found`` in a JSON document: its place, and its requirement.

    The place consists of the keys on the path to the verdict, without the last one, and of the verdict's stream or
    device. They are joined by slashes, such as ``a / b / stream``.
    """
    of = [str(found[key]) for key in ("stream", "device", "where") if found.get(key)]
    return " / ".join([*place[:-1], *dict.fromkeys(of)]), str(found["requirement"].get("name", ""))


def design_row(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the row of a design: verdict, basis, objectives (such as CPU and cost), and changes to the system file."""
    numbers = [_cell(found.get(name)) for name in OBJECTIVES]
    scaled = [
        number / si if isinstance(number, (int, float)) else None
        for number, (_, si) in zip(numbers, OBJECTIVES.values(), strict=True)
    ]
    changed = "; ".join(f"{name} = {value}" for name, value in found["changed"].items())
    return place[0], str(found["verdict"]), str(found["basis"]), *scaled, changed or "none"


def source_row(place: Place, found: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Return the row of the sheet ``sources`` for a dataset row behind the answer."""
    cells = {key: _cell(found.get(key)) for key in HEADS["sources"]}
    load = cells["load_bps"]
    return tuple({**cells, "load_bps": "unlimited" if load == "inf" else load}.values())


ROWS = {"designs": design_row, "verdicts": verdict_row, "sources": source_row}


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
    """Convert a JSON value to a cell. Numbers stay numbers. Unknown and infinite numbers are empty."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return float(value) if math.isfinite(value) else None
    return str(value)
