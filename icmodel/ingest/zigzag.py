"""Zigzag: a curve that bends there and back as it is labelled, and not with two payloads exchanged.

What payloads not far apart measure is alike, so that neither lies far off the others' curve when
their labels are exchanged. But the curve then goes up, down and up again, which no break of a real
one does: a break changes all that lies behind it. Which two it is, the whole curve says: the kink of
an exchange lies at either end of it, and a pair between may mend a part of it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from icmodel.ingest.scatter import SURE
from icmodel.ingest.seen import MANY, Curves, Seen

KINK = 0.25
"""How much the slope (log an octave) must change to be a kink."""
MOST = math.log(2)
"""A curve labelled right bends no more: from in proportion to the payload to level at once."""
STEEPEST = 0.9
"""Nor is it steeper: nothing that is compared grows faster than the payload, but for noise."""
WIDE = 1.4
"""Payloads nearer each other than this ratio have no slope that can be told from a step."""
BESIDE = 2
"""Points on either side that are looked at."""
LEAST_POINTS = 2 * BESIDE + 1
"""So many in all, of which at an end of a curve more are on one side."""
ALIKE = 1.1
"""Exchanges that leave a curve no rougher than the best one by this factor explain it as well."""
FALLS = 2.0
"""A slope against the payload counts for so many kinks: no curve goes that way all along."""

Pair = tuple[Seen, Seen, float]
"""Two numbers of a curve, and how large (log an octave) the kink is that they make."""


class Turn(NamedTuple):
    """Two numbers, how the curve bends around them, and how it would bend if they were exchanged.

    ``rough`` is what all bends and falls of the curve then come to, in squares.
    """

    one: Seen
    two: Seen
    kink: float
    left: float
    rough: float

    @property
    def explains(self) -> bool:
        """Whether there is a kink, and the exchange takes it away."""
        return self.kink > KINK and self.left < min(self.kink / SURE, MOST)


def zigzags(curve: Curves, may: Callable[[Seen, Seen], bool]) -> list[Pair]:
    """The pair without whose exchange a curve is kinked, or those of which it may be either.

    Each number is the only one at its payload, and ``may`` says whether a pair can be exchanged.
    """
    turns = sorted(_turns(curve), key=lambda turn: turn.rough)
    found = next((turn for turn in turns if turn.explains and may(turn.one, turn.two)), None)
    if found is None:
        return []
    smooth = [turn for turn in turns if turn.rough <= ALIKE * found.rough]
    smooth = [turn for turn in smooth if turn is found or may(turn.one, turn.two)]
    return [
        (turn.one, turn.two, found.kink) for turn in smooth if turn.rough <= ALIKE * smooth[0].rough
    ]


def _turns(curve: Curves) -> Iterable[Turn]:
    """The exchanges that leave a possible curve, of the points where it is bent most."""
    line = _Line(curve)
    for low, high in combinations(line.bent(), 2):
        one, two = line.alone[low], line.alone[high]
        if one.file != two.file:
            yield from line.turn(one, two, low, high)


class _Line:
    """A curve in logarithms, by the number of each payload in their order."""

    def __init__(self, curve: Curves) -> None:
        self.places = sorted(curve.medians)
        self.logs = [math.log(curve.medians[place]) for place in self.places]
        self.alone = {
            at: curve.at[place][0]
            for at, place in enumerate(self.places)
            if len(curve.at[place]) == 1
        }
        self.kinks = {at: self._kink(self.logs, at) for at in range(1, len(self.places) - 1)}
        self._up = -1.0 if str(curve.name[0]).endswith("_per_s") else 1.0

    def bent(self) -> list[int]:
        """The points that stand alone, and of too many those where the curve is bent most."""
        if len(self.places) < LEAST_POINTS:
            return []
        worst = sorted(self.alone, key=lambda at: -max(self._of(self.kinks, at, 1)))
        return sorted(at for at in worst[:MANY] if self._is_wide(at))

    def turn(self, one: Seen, two: Seen, low: int, high: int) -> Iterable[Turn]:
        """What the exchange of two points does; nothing where it leaves no possible curve."""
        logs = list(self.logs)
        logs[low], logs[high] = logs[high], logs[low]
        steps = {at for end in (low, high) for at in self._around(end)[1:]}
        if max(abs(self._slope(logs, at)) for at in steps) < STEEPEST:
            inner = {at for end in (low, high) for at in self._around(end)[1:-1]}
            left = max(self._kink(logs, at) for at in inner)
            kink = max(self.kinks[at] for at in inner)
            yield Turn(one, two, kink, left, self._rough(logs))

    def _around(self, at: int) -> range:
        """A point and those beside it; at an end of the curve more are on one side."""
        first = max(0, min(at - BESIDE, len(self.places) - LEAST_POINTS))
        return range(first, first + LEAST_POINTS)

    def _is_wide(self, at: int) -> bool:
        """Whether the payloads around a point are far enough from one another for slopes."""
        near = [self.places[one] for one in self._around(at)]
        return all(b >= WIDE * a for a, b in pairwise(near))

    def _slope(self, logs: Sequence[float], at: int) -> float:
        """Slope (log an octave) of the step to a point."""
        return (logs[at] - logs[at - 1]) / math.log2(self.places[at] / self.places[at - 1])

    def _kink(self, logs: Sequence[float], at: int) -> float:
        """How much the slope changes at a point."""
        return abs(self._slope(logs, at + 1) - self._slope(logs, at))

    def _rough(self, logs: Sequence[float]) -> float:
        """All kinks in squares, and all steps down: rates of frames fall with the payload."""
        slopes = [self._slope(logs, at) for at in range(1, len(logs))]
        kinks = sum((after - before) ** 2 for before, after in pairwise(slopes))
        return kinks + sum((FALLS * slope) ** 2 for slope in slopes if self._up * slope < 0)

    @staticmethod
    def _of(kinks: dict[int, float], at: int, reach: int) -> list[float]:
        """The kinks at a point and as far beside it as said."""
        return [kinks[one] for one in range(at - reach, at + reach + 1) if one in kinks]
