"""Exchanged: two files whose payloads were labelled the wrong way round."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from icmodel.ingest.scatter import SURE, Scatter
from icmodel.ingest.seen import MANY, Curves, Line, Seen, Suspect, bend, by_file, curves, expected
from icmodel.ingest.zigzag import Pair, zigzags

FIT = 0.25
"""How near the others' curve must come (log) for it to be evidence."""


def exchanged(numbers: Sequence[Seen], scatter: Scatter) -> Iterable[Suspect]:
    """Pairs that lie off the curve as labelled and on it the other way, in all that they measure."""
    lines = curves(numbers)
    alone: dict[str, dict[int, Curves]] = defaultdict(dict)
    for at, curve in enumerate(lines):
        for file, mine in by_file(curve).items():
            if len(mine) == 1:
                alone[file][at] = curve

    def may(one: Seen, two: Seen) -> bool:
        shared = alone[one.file].keys() & alone[two.file].keys()
        return not any(_denies(one.file, two.file, alone[one.file][at]) for at in shared)

    for curve in lines:
        bent = zigzags(curve, may)
        far = [] if bent else [pair for pair in _far_off(curve) if may(*pair[:2])]
        for pairs in (bent, *([pair] for pair in far)):
            if pairs and all(_stands_out(pair, scatter) for pair in pairs):
                yield from _named(pairs)


def _stands_out(pair: Pair, scatter: Scatter) -> bool:
    one, two, gain = pair
    return max(scatter.blur(number) for number in (one, two)) < gain / SURE


def _named(pairs: Sequence[Pair]) -> Iterable[Suspect]:
    """All files of some pairs, of which nothing says which is the one that is exchanged."""
    partners: dict[Seen, list[Seen]] = defaultdict(list)
    for one, two, _ in pairs:
        partners[one].append(two)
        partners[two].append(one)
    gain = max(gain for _, _, gain in pairs)
    which = ", and nothing says which files are right" if len(pairs) > 1 else ""
    for mine, others in partners.items():
        said = " or ".join(f"the {other.place} B of {other.file}" for other in others)
        yield Suspect(
            mine.file,
            gain,
            f"its payload of {mine.place} B seems exchanged with {said}{which}: {mine.metric} lies "
            "on the others' curve the other way round",
            partner=others[0].file,
        )


def _far_off(curve: Curves) -> Iterable[Pair]:
    """Pairs of which each lies where the others' curve says of the other, which bends far less."""
    for one, two in combinations(_strange(curve), 2):
        rest = _rest(curve, one, two)
        gain = _gain(one, two, rest)
        if gain and max(bend(number.place or 0, rest) for number in (one, two)) < gain / SURE:
            yield one, two, gain


def _rest(curve: Curves, one: Seen, two: Seen) -> Line:
    return curve.without([one.file, two.file], [one.place or 0, two.place or 0])


def _strange(curve: Curves) -> list[Seen]:
    """The single points of files that lie well off the curve of all, the worst first."""
    found = []
    for file, mine in by_file(curve).items():
        if len(mine) == 1:
            [(place, value)] = mine.items()
            said = expected(place, curve.without([file], mine))
            off = 0.0 if said is None else abs(math.log(value / said[0]))
            if off > FIT:
                found.append((off, Seen(file, curve.name, place, value)))
    return [number for _, number in sorted(found, reverse=True)[:MANY]]


def _gain(one: Seen, two: Seen, rest: Line) -> float:
    """How much better (log) two values fit exchanged; 0 where they do not fit either way."""
    as_said, turned = _misfits(one, two, rest)
    least = min(as_said, default=0.0)
    return least if max(turned, default=math.inf) < FIT < least / 2 else 0.0


def _misfits(one: Seen, two: Seen, rest: Line) -> tuple[list[float], list[float]]:
    """How far (log) two values lie off as they are labelled, and exchanged; nothing if unknown."""
    here, there = expected(one.place or 0, rest), expected(two.place or 0, rest)
    if here is None or there is None:
        return [], []
    return (
        [_misfit(one.value, *here), _misfit(two.value, *there)],
        [_misfit(two.value, *here), _misfit(one.value, *there)],
    )


def _misfit(value: float, there: float, guess: float) -> float:
    """How far (log) a value lies off what a curve says, beyond what that is a guess."""
    return max(0.0, abs(math.log(value / there)) - guess)


def _denies(one: str, two: str, curve: Curves) -> bool:
    """Whether a curve on which both files lie fits them better as they are labelled."""
    found = {n.file: n for some in curve.at.values() for n in some if n.file in (one, two)}
    rest = _rest(curve, found[one], found[two])
    as_said, turned = _misfits(found[one], found[two], rest)
    return max(as_said, default=0.0) + FIT < max(turned, default=0.0)
