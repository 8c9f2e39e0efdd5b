"""Consistency: a remark on a file whose numbers lie off those of the others by a known factor.

Each number is held against a line through what the other files say over the payload, in logarithms.
Where the numbers of one kind in a file agree on a ratio such as 8 or 1000, its unit may be mistaken. The
others may be wrong as well, and real curves have steps: nothing is refused here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median, median_high, median_low
from typing import NamedTuple

from icmodel import units
from icmodel.ingest.result import Result
from icmodel.ingest.slips import ROUND_TRIP, Slip, family, is_rare_trip, known, words

FLOWS = ("goodput_bps", "sent_bps", "frames_per_s")
TIMES = ("_mean_s", "_p50_s", "_min_s")
"""What is compared of a latency; what lies further out scatters too much."""
NEAREST = 5
"""So many payloads of the others make the line: a curve is straight over a piece of it only."""
REACH = 4.0
"""So many times beyond the payloads of the others a line still says something: curves bend."""
LEAST_PAYLOADS = 3
"""So many payloads make a line; of fewer, only runs of the same payload are compared."""
CLEAR = 3.0
"""A ratio must be that much larger (log) than what the others lie off each other by."""
TELLING = 3
"""Other files from which on they say how far a metric scatters."""
AGREE = 0.75
"""The share of a file's numbers of one kind that must show the same factor."""

Curve = tuple[object, ...]
"""Metric, protocol and all else that tells one curve over the payload from another."""
Logs = Mapping[int, Mapping[str, float]]
"""The logarithm of what each file says, by payload."""


class Clue(NamedTuple):
    """A number of a file, and what the others say it should be."""

    file: str
    metric: str
    protocol: object
    payload_bytes: int
    value: float
    expected: float
    repeated: bool
    """Whether other files measured the same payload."""

    @property
    def ratio(self) -> float:
        """How many times what the others say."""
        return self.value / self.expected

    @property
    def off(self) -> float:
        """How far (log) it lies off the others, to either side."""
        return abs(math.log(self.ratio))


def remarks(results: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """A sentence on each file that lies off the others by a factor of a mistaken unit.

    Of two files alone both are named: nothing says which is right.
    """
    kinds: dict[tuple[str, str], list[Clue]] = defaultdict(list)
    scatter: dict[tuple[str, object], list[Clue]] = defaultdict(list)
    for clue in _clues(results):
        kinds[clue.file, family(clue.metric)].append(clue)
        scatter[clue.metric, clue.protocol].append(clue)
    found = []
    for (_, of), clues in kinds.items():
        steady = [clue for clue in clues if known(clue.ratio, of) and _stands_out(clue, scatter)]
        if slip := _agreed(clues, steady, of):
            found.append(_said(steady[0], slip))
    return tuple(found)


def _stands_out(clue: Clue, scatter: Mapping[tuple[str, object], Sequence[Clue]]) -> bool:
    """Whether a number lies off by far more than those of the other files do."""
    others = [one for one in scatter[clue.metric, clue.protocol] if one.file != clue.file]
    if len({one.file for one in others}) < TELLING:
        return True
    return clue.off > CLEAR * median(one.off for one in others)


def _agreed(clues: Sequence[Clue], steady: Sequence[Clue], of: str) -> Slip | None:
    """The one known factor by which a file lies off in nearly all it says; none where it does not.

    A round trip is mistaken in one direction, so a slow run, whose halves and wholes both are twice
    as long, shows no such mistake.
    """
    if not steady:
        return None
    middle = math.exp(median(math.log(clue.ratio) for clue in steady))
    slip = known(middle, of)
    if slip is None or (slip is ROUND_TRIP and not all(map(_may_be_halved, clues))):
        return None
    agreeing = [
        clue for clue in clues if abs(math.log(clue.ratio / middle)) < math.log(slip.factor) / 3
    ]
    return slip if len(agreeing) >= AGREE * len(clues) else None


def _may_be_halved(clue: Clue) -> bool:
    """Whether a factor of 2 tells: beside runs of the same payload, in the way people mistake it."""
    return clue.repeated and not is_rare_trip(clue.metric, clue.ratio)


def _said(clue: Clue, slip: Slip) -> str:
    mine, theirs = (
        units.format_quantity(clue.metric, value, 4) for value in (clue.value, clue.expected)
    )
    return (
        f"{clue.file}: its {clue.metric} at {clue.payload_bytes} B of {mine} is {clue.ratio:.3g} "
        f"times what the other files say (about {theirs}), which looks like "
        f"{words(slip, clue.metric, clue.ratio)}; it is taken: look at it"
    )


# --- what the others say ----------------------------------------------------------------------


def _clues(results: Mapping[str, Sequence[Result]]) -> Iterator[Clue]:
    for curve, logs in _curves(results).items():
        middles = {payload: median(at.values()) for payload, at in logs.items()}
        for payload, at in logs.items():
            for file, mine in at.items():
                repeats = [value for name, value in at.items() if name != file]
                line = _line(file, payload, logs, middles)
                said = [*_middle(repeats), *_on_line(payload, line)]
                if said:
                    expected = min(said, key=lambda log: abs(log - mine))
                    values = (math.exp(mine), math.exp(expected))
                    yield Clue(file, str(curve[0]), curve[1], payload, *values, bool(repeats))


def _curves(results: Mapping[str, Sequence[Result]]) -> dict[Curve, dict[int, dict[str, float]]]:
    """What is compared, by curve; of several pairs of hosts each apart from the others."""
    pairs = {(r.sender, r.receiver) for some in results.values() for r in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    curves: dict[Curve, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for file, some in results.items():
        for result in some:
            where = _where(result, apart=apart)
            payload = result.labels.payload_bytes
            for number in result.numbers:
                if payload and number.value > 0 and _is_compared(number.metric):
                    curves[number.metric, *where][payload][file] = math.log(number.value)
    return curves


def _where(result: Result, *, apart: bool) -> tuple[object, ...]:
    labels = result.labels
    return (
        labels.protocol,
        labels.load_bps,
        labels.cores,
        labels.switches,
        labels.endpoints,
        labels.other_goodput_bps,
        result.streams,
        tuple(sorted(labels.options.items())),
        (result.sender, result.receiver) if apart else (),
    )


def _is_compared(metric: str) -> bool:
    return metric.endswith(FLOWS) or (
        metric.startswith(("latency_", "rtt_")) and metric.endswith(TIMES)
    )


def _middle(repeats: Sequence[float]) -> tuple[float, ...]:
    """The median of the runs of the same payload; of an even number both in the middle."""
    return (median_low(repeats), median_high(repeats)) if repeats else ()


def _line(file: str, payload: int, logs: Logs, middles: Mapping[int, float]) -> dict[int, float]:
    """The median of the other files at each of the other payloads."""
    line = {place: middle for place, middle in middles.items() if place != payload}
    for place in [place for place in line if file in logs[place]]:
        rest = [value for name, value in logs[place].items() if name != file]
        if rest:
            line[place] = median(rest)
        else:
            del line[place]
    return line


def _on_line(payload: int, others: Mapping[int, float]) -> tuple[float, ...]:
    """What a line through the nearest payloads says (logarithm), which one wrong one hardly bends.

    It has the median of the slopes of all pairs (Theil, 1950; Sen, 1968).
    """
    near = sorted(others, key=lambda place: abs(math.log(place / payload)))[:NEAREST]
    if len(near) < LEAST_PAYLOADS or not min(near) / REACH <= payload <= max(near) * REACH:
        return ()
    slope = median(
        (others[one] - others[two]) / math.log(one / two) for one, two in combinations(near, 2)
    )
    return (median(others[place] + slope * math.log(payload / place) for place in near),)
