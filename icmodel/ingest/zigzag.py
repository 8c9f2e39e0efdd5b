"""Zigzag: two neighbours on a curve that bends there and back, and not the other way round.

What payloads of neighbouring sizes measure is alike, so that neither lies far off the others' curve
when their labels are exchanged. But the curve then goes up, down and up again, which no break of a
real one does: a break changes all that lies behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from icmodel.ingest.scatter import SURE
from icmodel.ingest.seen import Curves, Line, Seen

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
LEAST_POINTS = 5
"""So many in all, of which at an end of a curve more are on one side."""

Pair = tuple[Seen, Seen, float]
"""Two numbers of a curve, and how large (log an octave) the kink is that they make."""


def zigzags(curve: Curves) -> Iterable[Pair]:
    """Neighbours, each the only one at its payload, without whose exchange a curve is kinked."""
    line = curve.medians
    places = sorted(line)
    for at, (low, high) in enumerate(pairwise(places)):
        first = max(0, min(at - BESIDE, len(places) - LEAST_POINTS))
        near = places[first : max(at + 2 + BESIDE, LEAST_POINTS)]
        one, two = curve.at[low], curve.at[high]
        if len(one) == len(two) == 1 and one[0].file != two[0].file and _wide(near):
            part = {place: line[place] for place in near}
            said = _kink(_slopes(part))
            turned = _slopes({**part, low: line[high], high: line[low]})
            if said > KINK and _kink(turned) < min(said / SURE, MOST) and _possible(turned):
                yield one[0], two[0], said


def _wide(near: list[int]) -> bool:
    """Whether payloads are enough, and far enough from one another, to speak of slopes."""
    return len(near) >= LEAST_POINTS and all(b >= WIDE * a for a, b in pairwise(near))


def _slopes(line: Line) -> list[float]:
    """Slopes (log an octave) between the points of a curve."""
    return [math.log(line[b] / line[a]) / math.log2(b / a) for a, b in pairwise(sorted(line))]


def _kink(slopes: list[float]) -> float:
    return max(abs(after - before) for before, after in pairwise(slopes))


def _possible(slopes: list[float]) -> bool:
    return max(abs(slope) for slope in slopes) < STEEPEST
