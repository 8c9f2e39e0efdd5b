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

from icmodel import units
from icmodel.ingest.exchanged import exchanged
from icmodel.ingest.offset import offsets
from icmodel.ingest.result import Result
from icmodel.ingest.scatter import SURE, Scatter
from icmodel.ingest.seen import Seen, Suspect, seen
from icmodel.ingest.within import WHOLE

ABOVE = 1.2
"""A half that much longer than the halves of others is off those, whatever the whole is."""
DOUBT = 1.5
"""A suspicion that many times what the others scatter by is told; a surer one refuses the file."""


def contradictions(results: Mapping[str, Sequence[Result]]) -> dict[str, str]:
    """The files that contradict the others, each with the reason."""
    return judged(results)[0]


def judged(results: Mapping[str, Sequence[Result]]) -> tuple[dict[str, str], dict[str, str]]:
    """The files that contradict the others, and those that may do so, each with the reason."""
    numbers = seen(results)
    found: dict[str, str] = {}
    while True:
        suspects = _suspects(numbers)
        sure = [suspect for suspect in suspects if suspect.clear > SURE]
        if not sure:
            doubted = [suspect for suspect in suspects if suspect.clear > DOUBT]
            return found, {suspect.file: suspect.reason for suspect in doubted}
        named = _worst(sure)
        found |= named
        numbers = [number for number in numbers if number.file not in named]


def _worst(suspects: Sequence[Suspect]) -> dict[str, str]:
    """The files that the others contradict most, and why.

    Two that are right the other way round are named for that, whatever else their values look like.
    """
    worst = max(suspect.size for suspect in suspects)
    named = [one for one in suspects if math.isclose(one.size, worst, rel_tol=1e-9)]
    files = {one.file for one in named}
    turned = [one for one in suspects if one.partner and files & {one.file, one.partner}]
    if turned:
        gain = max(one.size for one in turned)
        named = [
            one for one in suspects if one.partner and math.isclose(one.size, gain, rel_tol=1e-9)
        ]
    return {one.file: one.reason for one in named}


def _suspects(numbers: Sequence[Seen]) -> list[Suspect]:
    if len({number.file for number in numbers}) < 2:
        return []
    scatter = Scatter(numbers)
    return [*offsets(numbers, scatter), *_trips(numbers, scatter), *exchanged(numbers, scatter)]


# --- round trips ------------------------------------------------------------------------------


def _trips(numbers: Sequence[Seen], scatter: Scatter) -> Iterable[Suspect]:
    """Halves of a round trip that are as long as the whole ones of other files.

    A file that says both is held against itself before, and one whose half lies above the halves
    of others is held against those.
    """
    whole: dict[tuple[object, ...], list[Seen]] = defaultdict(list)
    half: dict[tuple[object, ...], list[Seen]] = defaultdict(list)
    for number in numbers:
        start = _start(number)
        if start:
            (whole if start == "rtt_" else half)[_spot(number, start)].append(number)
    for spot, halves in half.items():
        own = {trip.file for trip in whole[spot]}
        for number in halves:
            others = [one.value for one in halves if one.file != number.file]
            if number.file in own or (others and number.value > ABOVE * median(others)):
                continue
            yield from _as_long(number, whole[spot], scatter)


def _as_long(number: Seen, trips: Sequence[Seen], scatter: Scatter) -> Iterable[Suspect]:
    if not trips:
        return
    middle = median(trip.value for trip in trips)
    trip = min(trips, key=lambda trip: abs(trip.value - middle))
    if trip.value < WHOLE * number.value:
        size = math.log(2 * number.value / trip.value)
        spread = max(scatter.blur(number), scatter.blur(trip))
        yield Suspect(
            number.file,
            size,
            f"its {number.metric} of {units.format_seconds(number.value, 6)} is as long as the whole round trip of "
            f"{units.format_seconds(trip.value, 6)} in {trip.file}: a round trip is labelled as half of one or "
            "one-way, or the other way round",
            size / spread if spread else math.inf,
        )


def _start(number: Seen) -> str:
    return next((s for s in ("rtt_half_", "rtt_", "latency_") if number.metric.startswith(s)), "")


def _spot(number: Seen, start: str) -> tuple[object, ...]:
    return (number.metric.removeprefix(start), *number.curve[1:], number.place)
