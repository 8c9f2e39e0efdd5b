"""Gathering results into points; repeats of a point become mean, standard deviation and count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, NamedTuple

from icmodel.dataset import Point
from icmodel.ingest.result import Number, Result

FAMILIES = {"cpu_send_host": "cpu_send_cores", "cpu_recv_host": "cpu_recv_cores"}
"""CPU utilisation of a whole host -> the metric in busy cores that it is converted to."""
TABLE = "table"
"""The tool name of a person's own table, in which the runs behind a number are unknown."""
UNKNOWN = {"hosts": "unnamed", "tool": "unnamed", "streams": "unsaid"}
"""The value of an axis for a result that lacks it."""
WEAKEST = ("measured", "tabulated", "stated", "derived")
MEANINGS = {
    "hosts": "sender and receiver of the stream, as the files name them",
    "streams": "parallel connections of the run, in sum over which the numbers are",
    "tool": "what measured, where several tools give the same metric",
    "transport": "kind of connection of RDMA: rc, uc, ud, ...",
    "memory": "accelerator whose memory the messages lie in; empty for the host's own",
    "duplex": "both where the other direction was loaded at the same time; empty where not",
    "stack": "what stands in place of the kernel's sockets; empty where nothing does",
}
"""Option axes that ingesting may add, and their meanings."""


class Found(NamedTuple):
    """A number with its file and result."""

    file: str
    result: Result
    number: Number


Word = Callable[[Found], str]
"""Gives the value of an axis for a number."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option axis with its meaning and its default value."""

    name: str
    meaning: str
    default: str


def gather(found: Sequence[Found]) -> tuple[tuple[Point, ...], tuple[Axis, ...]]:
    """The points of some numbers and their option axes, in the order of columns in points.csv."""
    found = _completed(found)
    extra = _extra_axes(found)
    names = sorted({axis for one in found for axis in one.result.labels.options} | set(extra))
    groups: dict[tuple[Any, ...], list[Found]] = defaultdict(list)
    for one in found:
        options = tuple(_option(one, name, extra) for name in names)
        groups[(*one.result.labels.axes, options, one.number.metric)].append(one)
    points = tuple(_point(key, some) for key, some in groups.items())
    axes = tuple(
        Axis(name, MEANINGS.get(name, "as the labels say"), _default(points, at))
        for at, name in enumerate(names)
    )
    return points, axes


def in_cores(number: Number, host_cores: int | None) -> Number | None:
    """CPU utilisation of a host in busy cores; none if its number of cores is unknown."""
    if number.metric not in FAMILIES:
        return number
    if host_cores is None:
        return None
    return number._replace(
        metric=FAMILIES[number.metric],
        value=number.value * host_cores,
        low=None if number.low is None else number.low * host_cores,
        high=None if number.high is None else number.high * host_cores,
        half=number.half * host_cores,
    )


# --- option axes ------------------------------------------------------------------------------


def _extra_axes(found: Sequence[Found]) -> dict[str, Mapping[tuple[str | None, str], bool]]:
    """The axes needed to distinguish numbers, with the metrics that each one splits."""
    split = {name: _split(found, word) for name, word in WORDS.items()}
    if any(one.result.streams not in (1, None) for one in found):
        split["streams"] = dict.fromkeys(split["streams"], True)
    return {name: metrics for name, metrics in split.items() if any(metrics.values())}


def _split(found: Sequence[Found], word: Word) -> Mapping[tuple[str | None, str], bool]:
    """Whether each metric of a protocol has more than one value of the axis."""
    values: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for one in found:
        values[_metric(one)].update(filter(None, [word(one)]))
    return {metric: len(some) > 1 for metric, some in values.items()}


def _completed(found: Sequence[Found]) -> list[Found]:
    """Results with one host missing, or their number of streams, completed if only one fits."""
    counts: dict[object, set[int]] = defaultdict(set)
    for one in found:
        if one.result.streams is not None:
            counts[_test(one)].add(one.result.streams)
    pairs = {one.result.hosts for one in found}
    whole = [pair for pair in pairs if all(pair)]
    completed = []
    for one in found:
        if one.result.streams is None and len(counts[_test(one)]) == 1:
            (streams,) = counts[_test(one)]
            one = one._replace(result=replace(one.result, streams=streams))
        ends = one.result.hosts
        fitting = [p for p in whole if all(e in ("", w) for e, w in zip(ends, p, strict=True))]
        if any(ends) and len(fitting) == 1:
            completed.append(one._replace(result=replace(one.result, hosts=fitting[0])))
        else:
            completed.append(one)
    return completed


def _test(one: Found) -> object:
    """What the results of both ends of a run have in common."""
    return one.result.origin.tool, one.result.labels.place


def _metric(one: Found) -> tuple[str | None, str]:
    return one.result.labels.protocol, one.number.metric


def _hosts(one: Found) -> str:
    ends = one.result.hosts
    if not any(ends):
        return ""
    return " to ".join(end or "unnamed" for end in ends).lower().replace(",", " ")


WORDS: Mapping[str, Word] = {
    "tool": lambda one: one.result.origin.tool,
    "streams": lambda one: "" if one.result.streams is None else str(one.result.streams),
    "hosts": _hosts,
}


def _option(
    one: Found, name: str, extra: Mapping[str, Mapping[tuple[str | None, str], bool]]
) -> str:
    own = one.result.labels.options.get(name)
    if own is not None or name not in extra:
        return own or ""
    return WORDS[name](one) or UNKNOWN[name] if extra[name][_metric(one)] else ""


def _default(points: Sequence[Point], at: int) -> str:
    """The most frequent value of an axis, the first if tied.

    It is empty if some rows of a metric have a value and others have none: then a question without
    the option takes the rows without a value.
    """
    cells: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for point in points:
        cells[point.protocol, point.metric].add(bool(point.options[at]))
    if any(len(kinds) > 1 for kinds in cells.values()):
        return ""
    counted = Counter(point.options[at] for point in points if point.options[at])
    return min(counted, key=lambda value: (-counted[value], value)) if counted else ""


# --- one point --------------------------------------------------------------------------------


def _point(key: tuple[Any, ...], some: Sequence[Found]) -> Point:
    """The point of some numbers; the key has its columns from the protocol to the metric."""
    numbers = [one.number for one in some]
    if len(numbers) == 1:
        (one,) = numbers
        spread: tuple[Any, ...] = (one.value, None, one.low, one.high, _runs(some[0]))
    else:
        values = [number.value for number in numbers]
        spread = (fmean(values), stdev(values), None, None, len(values))
    basis = max((number.basis for number in numbers), key=WEAKEST.index)
    return Point._make((0, *key, *spread, basis, _source(some)))


def _runs(one: Found) -> int | None:
    """Runs behind one number: those the tool averaged, else 1; ``None`` if a table does not state it."""
    origin = one.result.origin
    return one.number.n or (None if origin.source or origin.tool == TABLE else 1)


def _source(some: Sequence[Found]) -> str:
    """The source of a point: tool, version, files, the end that counted, and labels that are assumed."""
    origins = [one.result.origin for one in some]
    tools = dict.fromkeys(origin.source or origin.name for origin in origins)
    files = list(dict.fromkeys(f"{one.file} {one.result.origin.place}" for one in some))
    shown = "; ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    sides = dict.fromkeys(one.number.side for one in some)
    labels = dict.fromkeys(label.label for one in some for label in one.result.assumed)
    assumed = f"; {' and '.join(labels)} assumed" if labels else ""
    return f"{' / '.join(tools)}: {shown}; counted by {' / '.join(sides)}{assumed}"
