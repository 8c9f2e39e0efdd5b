"""Checks between files: a file that the others contradict by a factor no measurement explains.

Files are compared point by point where they measured the same, and against the curve of the others
over the payload elsewhere. The worst file is named first and left out, then the rest is compared
anew: a wrong file also bends the curve that judges its neighbours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from icmodel.ingest.result import Result
from icmodel.ingest.slips import slip
from icmodel.ingest.within import WHOLE

FIT = 0.25
"""How near the others' curve must come (log) for it to be evidence."""
SURE = 3.0
"""A mistake must be that much larger (log) than the bends of the curve it stands out of."""
AROUND = 4
"""Points of the others beside a file's that say how much their curve bends there."""
STRANGE = 1.6
"""A file closer to the others than this factor is not looked at."""

MANY = 50
"""Files from which one alone moves no median, and strange files that are compared in pairs."""

Curve = tuple[object, ...]
Line = Mapping[int, float]
"""Values over the payload."""


class Seen(NamedTuple):
    """One number of a file on the curve it lies on; ``place`` is its payload."""

    file: str
    curve: Curve
    place: int | None
    value: float


class Suspect(NamedTuple):
    """A file that the others contradict, by how much (log), and in what words."""

    file: str
    size: float
    reason: str


def contradictions(results: Mapping[str, Sequence[Result]]) -> dict[str, str]:
    """The files that contradict the others, each with the reason."""
    pairs = {(r.sender, r.receiver) for some in results.values() for r in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    numbers = [
        number for file, some in results.items() for number in _seen(file, some, apart=apart)
    ]
    found: dict[str, str] = {}
    while len({number.file for number in numbers}) > 1:
        suspects = [*_repeats(numbers), *_trips(numbers), *_off_curve(numbers), *_swapped(numbers)]
        if not suspects:
            break
        worst = max(suspect.size for suspect in suspects)
        named = {s.file: s.reason for s in suspects if math.isclose(s.size, worst, rel_tol=1e-9)}
        found |= named
        numbers = [number for number in numbers if number.file not in named]
    return found


def _seen(file: str, results: Iterable[Result], *, apart: bool) -> Iterable[Seen]:
    """What is compared of a file; of several pairs of hosts each ``apart`` from the others."""
    for result in results:
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
                yield Seen(file, curve, labels.payload_bytes, number.value)


def _compared(metric: str) -> bool:
    if metric.endswith(("goodput_bps", "sent_bps", "frames_per_s")):
        return True
    return _is_latency(metric) and metric.endswith(("_mean_s", "_p50_s", "_min_s"))


def _is_latency(metric: object) -> bool:
    return str(metric).startswith(("latency_", "rtt_"))


# --- the same point ---------------------------------------------------------------------------


def _repeats(numbers: Sequence[Seen]) -> Iterable[Suspect]:
    """Files off the others at the same point by a known mistake; noise is no mistake."""
    points: dict[tuple[Curve, int | None], dict[str, float]] = defaultdict(dict)
    for number in numbers:
        points[number.curve, number.place][number.file] = number.value
    for (curve, place), by_file in points.items():
        if max(by_file.values()) < STRANGE * min(by_file.values()):
            continue
        for file, value in by_file.items():
            others = [v for other, v in by_file.items() if other != file]
            expected = median(others)
            size = abs(math.log(value / expected))
            said = slip(value / expected, latency=_is_latency(curve[0]), near=FIT)
            if said and _spread(others, expected) < size / SURE:
                near = sum(abs(math.log(other / expected)) < size / SURE for other in others)
                who = "the others" if 2 * near > len(by_file) else _named(by_file, file)
                at = "" if place is None else f" at {place} B"
                yield Suspect(
                    file,
                    size,
                    f"its {curve[0]}{at} of {value:.6g} contradicts {who} ({expected:.6g}): it is "
                    f"{said}",
                )


def _spread(values: Sequence[float], middle: float) -> float:
    """How far (log) most values lie from their median."""
    return median(abs(math.log(value / middle)) for value in values)


def _named(by_file: Mapping[str, float], file: str) -> str:
    other = max(
        (name for name in by_file if name != file),
        key=lambda name: abs(math.log(by_file[name] / by_file[file])),
    )
    return f"{other}, and nothing says which of the two is right"


# --- round trips ------------------------------------------------------------------------------


def _trips(numbers: Sequence[Seen]) -> Iterable[Suspect]:
    """A half round trip of one file that is as long as the whole one of another."""
    whole: dict[tuple[object, ...], list[Seen]] = defaultdict(list)
    for number in numbers:
        if str(number.curve[0]).startswith("rtt_") and "half" not in str(number.curve[0]):
            whole[_spot(number, "rtt_")].append(number)
    for number in numbers:
        start = next((s for s in ("rtt_half_", "latency_") if _begins(number, s)), None)
        if start is None:
            continue
        trips = [trip for trip in whole[_spot(number, start)] if trip.file != number.file]
        trip = min(trips, key=lambda trip: trip.value, default=None)
        if trip is not None and trip.value < WHOLE * number.value:
            yield Suspect(
                number.file,
                math.log(2 * number.value / trip.value),
                f"its {number.curve[0]} of {number.value:.6g} s is as long as the whole round trip "
                f"of {trip.value:.6g} s in {trip.file}: a round trip is labelled as half of one or "
                "one-way, or the other way round",
            )


def _begins(number: Seen, start: str) -> bool:
    return str(number.curve[0]).startswith(start)


def _spot(number: Seen, start: str) -> tuple[object, ...]:
    return (str(number.curve[0]).removeprefix(start), *number.curve[1:], number.place)


# --- the curve of the others ------------------------------------------------------------------


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


def _curves(numbers: Sequence[Seen]) -> list[Curves]:
    sorted_out: dict[Curve, dict[int, list[Seen]]] = defaultdict(lambda: defaultdict(list))
    for number in numbers:
        if number.place is not None:
            sorted_out[number.curve][number.place].append(number)
    return [
        Curves(name, at, {place: median(n.value for n in some) for place, some in at.items()})
        for name, at in sorted_out.items()
    ]


def _off_curve(numbers: Sequence[Seen]) -> Iterable[Suspect]:
    """Files that lie off the others' curve by the factor of a known mistake, and only by it."""
    for curve in _curves(numbers):
        for file, mine in _by_file(curve).items():
            others = curve.without([file], mine)
            expected = {place: _between(place, others) for place in mine}
            ratios = [mine[place] / value for place, value in expected.items() if value]
            if not ratios:
                continue
            ratio = median(ratios)
            size = abs(math.log(ratio))
            said = slip(ratio, latency=_is_latency(curve.name[0]))
            if said and size > math.log(STRANGE) and _bend(median(mine), others) < size / SURE:
                yield Suspect(
                    file,
                    size,
                    f"its {curve.name[0]} lies off the curve of the other files over the payload: "
                    f"it is {said}",
                )


def _by_file(curve: Curves) -> dict[str, dict[int, float]]:
    """What each file says at each payload; its last where it says several."""
    by_file: dict[str, dict[int, float]] = defaultdict(dict)
    for place in sorted(curve.at):
        for number in curve.at[place]:
            by_file[number.file][place] = number.value
    return by_file


def _between(place: float, line: Line) -> float | None:
    """A curve at a payload, straight in logarithms; none beyond its ends."""
    below = [knot for knot in line if knot <= place]
    above = [knot for knot in line if knot >= place]
    if not below or not above:
        return None
    low, high = max(below), min(above)
    a, b = math.log(line[low]), math.log(line[high])
    share = 0.0 if low == high else math.log(place / low) / math.log(high / low)
    return math.exp(a + share * (b - a))


def _bend(at: float, line: Line) -> float:
    """How far (log) a curve misses its own points around a payload; inf of too few points."""
    places = sorted(line)
    if len(places) < 4:
        return math.inf
    inner = sorted(places[1:-1], key=lambda place: abs(math.log(place / at)))[:AROUND]
    return max(_miss(place, line) for place in inner)


def _miss(place: int, line: Line) -> float:
    """How far (log) a curve at one of its payloads lies off the line through the neighbours."""
    through = _between(place, {knot: value for knot, value in line.items() if knot != place})
    return math.inf if through is None else abs(math.log(line[place] / through))


# --- exchanged payloads -----------------------------------------------------------------------


def _swapped(numbers: Sequence[Seen]) -> Iterable[Suspect]:
    """Two files whose payloads seem exchanged: off the curve as labelled, on it the other way."""
    for curve in _curves(numbers):
        strange = _strange(curve)
        for at, one in enumerate(strange):
            for two in strange[at + 1 :]:
                rest = curve.without([one.file, two.file], [one.place or 0, two.place or 0])
                gain = _gain(one, two, rest)
                if gain and max(_bend(n.place or 0, rest) for n in (one, two)) < gain / SURE:
                    for mine, other in ((one, two), (two, one)):
                        yield Suspect(
                            mine.file,
                            gain,
                            f"its payload of {mine.place} B seems exchanged with the {other.place} "
                            f"B of {other.file}: {curve.name[0]} lies on the others' curve the "
                            "other way round",
                        )


def _strange(curve: Curves) -> list[Seen]:
    """The single points of files that lie well off the curve of all, the worst first."""
    found = []
    for file, mine in _by_file(curve).items():
        if len(mine) == 1:
            [(place, value)] = mine.items()
            expected = _between(place, curve.without([file], mine))
            off = 0.0 if expected is None else abs(math.log(value / expected))
            if off > FIT:
                found.append((off, Seen(file, curve.name, place, value)))
    return [number for _, number in sorted(found, reverse=True)[:MANY]]


def _gain(one: Seen, two: Seen, rest: Line) -> float:
    """How much better (log) two values fit exchanged; 0 where they do not fit either way."""
    here, there = _between(one.place or 0, rest), _between(two.place or 0, rest)
    if here is None or there is None:
        return 0.0
    as_said = min(abs(math.log(one.value / here)), abs(math.log(two.value / there)))
    turned = max(abs(math.log(two.value / here)), abs(math.log(one.value / there)))
    return as_said if turned < FIT < as_said / 2 else 0.0
