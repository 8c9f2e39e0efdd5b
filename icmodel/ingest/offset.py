"""Offset: files whose numbers lie off what the others say by the factor of one known mistake.

A mistaken unit moves every number of its kind in a file by the same factor, and by no other. Noise
moves them by different ones, a mean further than a least; so a file is suspected only where its
numbers agree on the factor, and surely only where the others scatter far less than that.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from icmodel import units
from icmodel.ingest.scatter import SURE, Scatter
from icmodel.ingest.seen import Curves, Line, Seen, Suspect, bend, curves, expected
from icmodel.ingest.slips import NEAR, ROUND_TRIP, Slip, family, is_rare, known, words

FIT = 0.25
"""How near (log) repeats of a point come to the factor of a mistake that explains them."""
STRANGE = math.log(1.6)
"""A file closer to the others than this (log) is not looked at."""
MOVED = 0.1
"""What lies off the others by less than this (log) is where they are."""
WHOLE_TRIPS = ("rtt_mean", "rtt_min", "rtt_p50")
AGREE = 0.75
"""The share of a file's numbers of a family that must lie off by the same factor."""


class Clue(NamedTuple):
    """One number against what the others say there, how far (log) those scatter, and who they are.

    ``who`` is empty where it is their curve over the payload that says it; ``guess`` is how far
    (log) that is a guess, beyond the ends of the curve.
    """

    number: Seen
    expected: float
    spread: float
    who: str = ""
    guess: float = 0.0

    @property
    def off(self) -> float:
        """How far (log) the number lies off."""
        return math.log(self.number.value / self.expected)

    def agrees(self, slip: Slip, sign: float) -> bool:
        """Whether it lies off by this mistake in this direction, as far as noise lets it say."""
        factor = math.log(slip.factor)
        return abs(self.off - sign * factor) < factor / 3


def offsets(numbers: Sequence[Seen], scatter: Scatter) -> Iterable[Suspect]:
    """The files that lie off the others by a known mistake; noise is none."""
    lines = {curve.name: Lines(curve) for curve in curves(numbers)}
    clues: dict[tuple[str, str], list[Clue]] = defaultdict(list)
    for point, at in scatter.points.items():
        for file, value in at.items():
            clue = _clue(Seen(file, *point, value), at, lines.get(point[0]))
            if clue is not None:
                clues[file, family(clue.number.metric)].append(clue)
    steady = {key: _steadiest(some, scatter) for key, some in clues.items()}
    moved = Counter(file for (file, _), some in steady.items() if some.is_moved())
    for (file, of), some in clues.items():
        for suspect in _judged(of, some, steady[file, of]):
            # One mistaken unit moves one family: what moves all of them is another state.
            clear = min(suspect.clear, SURE) if moved[file] > 1 else suspect.clear
            yield suspect._replace(clear=clear)


class Steadiest(NamedTuple):
    """The clues of the metric that scatters least, and how far (log) the others scatter there."""

    clues: Sequence[Clue]
    spread: float
    told: bool
    """Whether enough is repeated to tell how noisy the metric is."""

    @property
    def off(self) -> float:
        """How far (log) the metric lies off."""
        return median(clue.off for clue in self.clues)

    def is_moved(self) -> bool:
        """Whether it lies off by more than the others scatter, for any reason."""
        return abs(self.off) > max(MOVED, self.spread, SURE * median(c.spread for c in self.clues))


def _steadiest(clues: Sequence[Clue], scatter: Scatter) -> Steadiest:
    by_metric: dict[str, list[Clue]] = defaultdict(list)
    for clue in clues:
        by_metric[clue.number.metric].append(clue)
    return min(
        (_scattered(some, scatter) for some in by_metric.values()), key=lambda one: one.spread
    )


def _scattered(clues: Sequence[Clue], scatter: Scatter) -> Steadiest:
    noise = [scatter.of_others(clue.number) for clue in clues]
    spread = median(max(clue.spread, scatter.blur(clue.number)) for clue in clues)
    return Steadiest(clues, spread, told=median(noise) > 0)


class Lines:
    """The curve of the others, for each file without it."""

    def __init__(self, curve: Curves) -> None:
        self._curve = curve
        self._places: dict[str, set[int]] = defaultdict(set)
        for place, some in curve.at.items():
            for number in some:
                self._places[number.file].add(place)
        self._lines: dict[tuple[str, ...], Line] = {}

    def without(self, *files: str) -> Line:
        """The line through what all but some files say."""
        if files not in self._lines:
            places = set().union(*(self._places[file] for file in files))
            self._lines[files] = self._curve.without(files, places)
        return self._lines[files]


def _clue(number: Seen, at: Mapping[str, float], lines: Lines | None) -> Clue | None:
    """What the others say at the same point, or else their curve; none where they say nothing."""
    others = {name: value for name, value in at.items() if name != number.file}
    if len(others) > 1:
        middle = median(others.values())
        spread = median(abs(math.log(value / middle)) for value in others.values())
        return Clue(number, middle, spread, _who(number, others, middle))
    curved = _on_curve(number, [number.file, *others], lines)
    if not others:
        return curved
    [(name, value)] = others.items()
    alone = Clue(number, value, 0.0, f"{name}, and nothing says which of the two is right")
    if curved is None or math.isinf(curved.spread):
        return alone
    return min(alone, curved, key=lambda clue: abs(clue.off))


def _who(number: Seen, others: Mapping[str, float], middle: float) -> str:
    """The others, where most agree; else the one furthest off."""
    half = abs(math.log(number.value / middle)) / SURE
    near = sum(abs(math.log(value / middle)) < half for value in others.values())
    if 2 * near > len(others) + 1:
        return "the others"
    furthest = max(others, key=lambda name: abs(math.log(others[name] / number.value)))
    return f"{furthest}, and nothing says which of the two is right"


def _on_curve(number: Seen, files: Sequence[str], lines: Lines | None) -> Clue | None:
    if lines is None or number.place is None:
        return None
    line = lines.without(*files)
    found = expected(number.place, line)
    if found is None:
        return None
    value, guess = found
    return Clue(number, value, bend(number.place, line) + guess, guess=guess)


def _judged(of: str, clues: Sequence[Clue], steady: Steadiest) -> Iterable[Suspect]:
    """The suspicion that the clues of one file and family come to, if they agree on one."""
    size = abs(steady.off)
    near = NEAR + _far(clues) if any(not clue.who for clue in clues) else FIT
    slip = known(math.exp(steady.off), of, near)
    if slip is None or size < STRANGE:
        return
    sign = math.copysign(1.0, steady.off)
    if sum(clue.agrees(slip, sign) for clue in clues) < AGREE * len(clues):
        return
    clear = size / steady.spread if steady.spread else math.inf
    best = min(steady.clues, key=lambda clue: abs(clue.off - steady.off))
    if slip is ROUND_TRIP:
        if {clue.number.metric.startswith(WHOLE_TRIPS) for clue in clues} == {True, False}:
            return  # both are twice as long, and no label does that: the run was slow
        if is_rare(slip, best.number.metric, math.exp(best.off)) and not best.who:
            clear = min(clear, SURE)  # a step of the curve looks so more often than a mistake does
        if not steady.told and any(clue.who for clue in steady.clues):
            clear = min(clear, SURE)  # one repeat twice as long as a few others is no rare noise
    yield Suspect(best.number.file, size, _reason(best, slip), clear)


def _far(clues: Sequence[Clue]) -> float:
    """How far (log) what the others say is a guess, where that is more than a curve's bend."""
    guess = max(clue.guess for clue in clues)
    return guess if guess > NEAR else 0.0


def _reason(clue: Clue, slip: Slip) -> str:
    number = clue.number
    at = "" if number.place is None else f" at {number.place} B"
    if clue.who:
        mine, theirs = (
            units.format_quantity(number.metric, value, 6)
            for value in (number.value, clue.expected)
        )
        what = f"its {number.metric}{at} of {mine} contradicts {clue.who} ({theirs})"
    else:
        what = f"its {number.metric} lies off the curve of the other files over the payload"
    ratio = math.exp(clue.off)
    return f"{what}: it is {_times(clue)} what it should be: {words(slip, number.metric, ratio)}"


def _times(clue: Clue) -> str:
    """How many times too large; of a number far beyond the others no more than a bound of it."""
    if clue.guess <= NEAR:
        return f"{math.exp(clue.off):.3g} times"
    least = math.exp(clue.off - math.copysign(clue.guess, clue.off))
    return f"{'over' if clue.off > 0 else 'less than'} {least:.3g} times"
