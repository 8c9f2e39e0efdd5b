"""netperf's test: what all its forms share, from the banner to the labels of a result."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import Printed, exact, printed
from icmodel.ingest.readers.pacing import Pace, pace_of
from icmodel.ingest.result import BOTH, Ends, Number, Origin, Result

NAME = "netperf"
UNITS = {
    "10^3bits/s": 10**3,
    "10^6bits/s": 10**6,
    "10^9bits/s": 10**9,
    "bytes/s": 8,
    "Bytes/s": 8,
    "KBytes/s": 8 * 2**10,
    "MBytes/s": 8 * 2**20,
    "GBytes/s": 8 * 2**30,
}
"""Bits per second of a unit; a B with a prefix is of 1024."""

PROTOCOLS = {"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}
_CELLS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SIZE = re.compile(r"(?:^|\s)-(?P<key>[mr])\s*(?P<size>\d+)(?P<unit>[kKmM]?)\b")


@dataclass(frozen=True, slots=True)
class Test:
    """One test: its banner's words, what was typed for it, and the lines under it."""

    words: str
    migrated: bool
    host: str
    command: str
    lines: tuple[str, ...]
    place: str
    burst: int
    paced: bool = False

    @property
    def protocol(self) -> str | None:
        """The protocol the banner names, if it names one."""
        return next((p for word, p in PROTOCOLS.items() if self.words.startswith(word)), None)

    @property
    def round_trips(self) -> bool:
        """Whether it sends requests and waits for each response."""
        return "REQUEST/RESPONSE" in self.words.upper() or "SEND|RECV" in self.words.upper()

    @property
    def reverse(self) -> bool:
        """Whether the remote end sends (MAERTS, or omni that receives)."""
        return "MAERTS" in self.words or self.words.startswith("OMNI Receive")


def cells_of(line: str) -> list[str]:
    """The cells of a line that is nothing but numbers; none of any other line."""
    cells = line.split()
    return cells if len(cells) > 2 and all(_CELLS.fullmatch(cell) for cell in cells) else []


def made(
    test: Test,
    labels: Labels,
    numbers: Sequence[Number],
    notes: Sequence[str],
) -> Result:
    """A result of a test.

    Raises
    ------
    RecordError
        If there is no number in it.
    """
    if not numbers:
        raise RecordError(f"{test.place}: the test printed no number that icmodel knows")
    pace = Pace(Labels(load_bps=None if test.round_trips else math.inf))
    if test.paced and not test.round_trips:
        pace = pace_of(numbers[0].value, math.inf, "-b and -w")
    return Result(
        origin=Origin(NAME, "", test.place),
        labels=labels,
        numbers=tuple(numbers),
        unless=pace.unless,
        hosts=Ends(sender=test.host) if test.reverse else Ends(receiver=test.host),
        notes=(*notes, *pace.notes),
    )


def _asked(test: Test) -> int | None:
    """The size that the command line asks for behind its ``--``, if it is there."""
    for found in _SIZE.finditer(test.command.partition(" -- ")[2]):
        if found["key"] == ("r" if test.round_trips else "m"):
            return int(found["size"]) * {"": 1, "k": 1024, "m": 2**20}[found["unit"].lower()]
    return None


def labels_of(test: Test, payload: int | None, protocol: str | None = None) -> Labels:
    """Where a test lies: what it printed, then what its command line asked for."""
    return Labels(
        protocol=protocol or test.protocol,
        payload_bytes=payload or _asked(test),
        cores=1,
    )


def round_trip(test: Test, rate: Printed, notes: list[str]) -> list[Number]:
    """Transactions per second, and the round trip they are the reciprocal of."""
    numbers = [Number.read("frames_per_s", rate, BOTH)]
    if test.burst:
        notes.append(
            f"{test.burst} further requests were under way, so 1 / rate is no round trip: not taken"
        )
    elif rate.value > 0:
        trip = exact(1.0) / rate
        numbers.append(Number.read("rtt_mean_s", trip, BOTH)._replace(basis="derived"))
    return numbers


def check_equal(test: Test, request: int, response: int) -> None:
    """Refuse requests and responses of two sizes.

    Raises
    ------
    RecordError
        If they differ.
    """
    if request != response:
        raise RecordError(
            f"{test.place}: requests of {request} B and responses of {response} B have no payload "
            "in common: measure with equal sizes"
        )


def in_bps(text: str, unit: str) -> Printed:
    """A printed throughput in bits per second, converted exactly."""
    return printed(text, UNITS[unit.removesuffix("ec")])
