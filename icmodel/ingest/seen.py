"""Seen: the numbers of files that are held against each other, on curves over the payload."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from icmodel.ingest.result import Result

AROUND = 4
"""Points of the others beside a file's that say how much their curve bends there."""
BEYOND = math.log(4.5)
"""How far (log) beyond its ends a curve says more than the bounds of any slope."""
MANY = 50
"""Numbers at one point from which one alone moves no median."""
LATENCIES = ("_mean_s", "_p50_s", "_min_s")
"""What is compared of a latency; what lies further out scatters too much."""

Curve = tuple[object, ...]
Line = Mapping[int, float]
"""Values over the payload."""


class Seen(NamedTuple):
    """One number of a file on the curve it lies on; ``place`` is its payload.

    ``half`` is how far the value may lie off because it was rounded.
    """

    file: str
    curve: Curve
    place: int | None
    value: float
    half: float = 0.0

    @property
    def metric(self) -> str:
        """What was measured."""
        return str(self.curve[0])


class Suspect(NamedTuple):
    """A file that the others contradict, by how much (log), and in what words.

    ``clear`` is how many times the contradiction is larger than what the others scatter by;
    ``partner`` is the file it seems exchanged with.
    """

    file: str
    size: float
    reason: str
    clear: float = math.inf
    partner: str = ""


def seen(results: Mapping[str, Sequence[Result]]) -> list[Seen]:
    """What is compared of all files; of several pairs of hosts each apart from the others."""
    pairs = {(r.sender, r.receiver) for some in results.values() for r in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    return [
        number
        for file, some in results.items()
        for result in some
        for number in _of_result(file, result, apart=apart)
    ]


def _of_result(file: str, result: Result, *, apart: bool) -> Iterable[Seen]:
    labels = result.labels
    where = (
        labels.protocol,
        labels.load_bps,
        labels.cores,
        labels.switches,
        labels.endpoints,
        labels.other_goodput_bps,
        result.streams,
        tuple(sorted(labels.options.items())),
    )
    hosts = (result.sender, result.receiver) if apart else ()
    for number in result.numbers:
        if number.value > 0 and _compared(number.metric):
            curve = (number.metric, *where, *hosts)
            yield Seen(file, curve, labels.payload_bytes, number.value, number.half)


def _compared(metric: str) -> bool:
    if metric.endswith(("goodput_bps", "sent_bps", "frames_per_s")):
        return True
    return metric.startswith(("latency_", "rtt_")) and metric.endswith(LATENCIES)


class Curves(NamedTuple):
    """Numbers of one curve by payload, and the median at each."""

    name: Curve
    at: Mapping[int, Sequence[Seen]]
    medians: Mapping[int, float]

    def without(self, files: Sequence[str], places: Iterable[int]) -> Line:
        """The medians over the payload without some files, which stand at these payloads."""
        line = dict(self.medians)
        for place in places:
            rest = [number.value for number in self.at[place] if number.file not in files]
            if not rest:
                line.pop(place, None)
            elif len(rest) < MANY:
                line[place] = median(rest)
        return line


def curves(numbers: Sequence[Seen]) -> list[Curves]:
    """The numbers by curve."""
    sorted_out: dict[Curve, dict[int, list[Seen]]] = defaultdict(lambda: defaultdict(list))
    for number in numbers:
        if number.place is not None:
            sorted_out[number.curve][number.place].append(number)
    return [
        Curves(name, at, {place: median(n.value for n in some) for place, some in at.items()})
        for name, at in sorted_out.items()
    ]


def by_file(curve: Curves) -> dict[str, dict[int, float]]:
    """What each file says at each payload; its last where it says several."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for place in sorted(curve.at):
        for number in curve.at[place]:
            found[number.file][place] = number.value
    return found


def between(place: float, line: Line) -> float | None:
    """A curve at a payload, straight in logarithms; none beyond its ends."""
    below = [knot for knot in line if knot <= place]
    above = [knot for knot in line if knot >= place]
    if not below or not above:
        return None
    low, high = max(below), min(above)
    a, b = math.log(line[low]), math.log(line[high])
    share = 0.0 if low == high else math.log(place / low) / math.log(high / low)
    return math.exp(a + share * (b - a))


def expected(place: float, line: Line) -> tuple[float, float] | None:
    """What a curve says at a payload, and how far (log) that is a guess.

    A little beyond its ends it goes on as it went there, and may as well stop doing so; far beyond
    them nothing is known but that it is somewhere from level to in proportion to the payload.
    """
    inside = between(place, line)
    if inside is not None:
        return inside, 0.0
    knots = sorted(line, reverse=bool(line) and place > max(line))
    if len(knots) < 3:
        return None
    near, next_one = knots[:2]
    far = abs(math.log(place / near)) > BEYOND
    slope = 1.0 if far else math.log(line[near] / line[next_one]) / math.log(near / next_one)
    change = slope * math.log(place / near)
    return line[near] * math.exp(change / 2), abs(change) / 2


def bend(at: float, line: Line) -> float:
    """How far (log) a curve misses its own points around a payload; inf of too few points."""
    places = sorted(line)
    if len(places) < 4:
        return math.inf
    inner = sorted(places[1:-1], key=lambda place: abs(math.log(place / at)))[:AROUND]
    return max(_miss(place, line) for place in inner)


def _miss(place: int, line: Line) -> float:
    """How far (log) a curve at one of its payloads lies off the line through the neighbours."""
    through = between(place, {knot: value for knot, value in line.items() if knot != place})
    return math.inf if through is None else abs(math.log(line[place] / through))
