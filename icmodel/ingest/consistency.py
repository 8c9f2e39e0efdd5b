"""Consistency between files: a remark on a file whose numbers suggest a mistaken unit.

Each number is compared with a line through those of the other files over the payload, on log axes.
If most numbers of one kind in a file differ by a factor such as 8 or 1000, the unit may be mistaken.
Nothing is refused for it, since the other files may be wrong and real curves have steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median, median_high, median_low
from typing import NamedTuple

from icmodel import units
from icmodel.ingest.result import Result
from icmodel.ingest.slips import ROUND_TRIP, Slip, family, is_rare_trip, known, words

FLOWS = ("goodput_bps", "sent_bps", "frames_per_s")
TIMES = ("_mean_s", "_p50_s", "_min_s")
"""Endings of the latencies compared; higher quantiles scatter too much."""
NEAREST = 5
"""Number of nearest payloads of the other files that the line goes through."""
REACH = 4.0
"""Greatest ratio of payloads by which the line is extrapolated."""
LEAST_PAYLOADS = 3
"""Payloads that a line needs; with fewer, only runs of the same payload are compared."""
CLEAR = 3.0
"""Factor by which a log ratio must exceed the scatter of the other files."""
TELLING = 3
"""Other files needed to estimate the scatter of a metric."""
AGREE = 0.75
"""Share of a file's numbers of one kind that must differ by the same factor."""

Curve = tuple[object, ...]
"""Key of a curve over the payload: metric, protocol and the other axes."""
Logs = Mapping[int, Mapping[str, float]]
"""Payload [B] -> file -> logarithm of its value."""


class Clue(NamedTuple):
    """A number of a file, and the value expected from the other files."""

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
        """The number over the expected value."""
        return self.value / self.expected

    @property
    def off(self) -> float:
        """The absolute log ratio of the number to the expected value."""
        return abs(math.log(self.ratio))


def remarks(results: Mapping[str, Sequence[Result]]) -> tuple[str, ...]:
    """A sentence on each file that differs from the others by the factor of a mistaken unit.

    With two files only, both are named, since either may be right.
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
    """Whether a number deviates far more than those of the other files."""
    others = [one for one in scatter[clue.metric, clue.protocol] if one.file != clue.file]
    if len({one.file for one in others}) < TELLING:
        return True
    return clue.off > CLEAR * median(one.off for one in others)


def _agreed(clues: Sequence[Clue], steady: Sequence[Clue], of: str) -> Slip | None:
    """The known factor by which most numbers of a file are off; none if there is no such factor.

    A round trip is nearly always mistaken in one direction.  So a slow run, with both its half and
    whole round trips twice as long, is not taken for that mistake.
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
    """Whether a factor of 2 counts: against runs of the same payload, in the usual direction."""
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
                said = [*_on_line(payload, _line(file, payload, logs, middles))]
                if repeats:
                    said += [median_low(repeats), median_high(repeats)]
                if said:
                    expected = min(said, key=lambda log: abs(log - mine))
                    values = (math.exp(mine), math.exp(expected))
                    yield Clue(file, str(curve[0]), curve[1], payload, *values, bool(repeats))


def _curves(results: Mapping[str, Sequence[Result]]) -> dict[Curve, dict[int, dict[str, float]]]:
    """The values compared, by curve; curves of several pairs of hosts are kept apart."""
    pairs = {r.hosts for some in results.values() for r in some}
    apart = len([pair for pair in pairs if all(pair)]) > 1
    curves: dict[Curve, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for file, some in results.items():
        for result in some:
            payload, any_payload = (
                result.labels.payload_bytes,
                replace(result.labels, payload_bytes=None),
            )
            where = (*any_payload.place, result.streams, result.hosts if apart else ())
            for number in result.numbers:
                if payload and number.value > 0 and _is_compared(number.metric):
                    curves[number.metric, *where][payload][file] = math.log(number.value)
    return curves


def _is_compared(metric: str) -> bool:
    return metric.endswith(FLOWS) or (
        metric.startswith(("latency_", "rtt_")) and metric.endswith(TIMES)
    )


def _line(file: str, payload: int, logs: Logs, middles: Mapping[int, float]) -> dict[int, float]:
    """The median of the other files at each other payload."""
    line = {place: middle for place, middle in middles.items() if place != payload}
    for place in [place for place in line if file in logs[place]]:
        rest = [value for name, value in logs[place].items() if name != file]
        if rest:
            line[place] = median(rest)
        else:
            del line[place]
    return line


def _on_line(payload: int, others: Mapping[int, float]) -> tuple[float, ...]:
    """The logarithm expected at a payload from a robust line through the nearest other payloads.

    Its slope is the median of the slopes of all pairs (Theil, 1950; Sen, 1968).
    """
    near = sorted(others, key=lambda place: abs(math.log(place / payload)))[:NEAREST]
    if len(near) < LEAST_PAYLOADS or not min(near) / REACH <= payload <= max(near) * REACH:
        return ()
    slope = median(
        (others[one] - others[two]) / math.log(one / two) for one, two in combinations(near, 2)
    )
    return (median(others[place] + slope * math.log(payload / place) for place in near),)
