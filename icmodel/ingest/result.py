"""Result: one result of one tool in SI, with who counted it and what is not taken of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import Printed

Side = Literal["sender", "receiver", "both ends"]

SENDER: Side = "sender"
RECEIVER: Side = "receiver"
BOTH: Side = "both ends"


class Number(NamedTuple):
    """One number of a result.

    Parameters
    ----------
    side
        The end that counted it; both ends for a round trip.
    low, high
        The range the tool's own output leaves open.
    n
        Runs the tool itself averaged.
    quality
        Why to trust it less; empty where nothing speaks against it.
    half
        How far the value may lie off because the tool rounds what it prints.
    """

    metric: str
    value: float
    side: Side
    low: float | None = None
    high: float | None = None
    n: int | None = None
    basis: str = "measured"
    quality: str = ""
    half: float = 0.0

    @classmethod
    def read(cls, metric: str, number: Printed, side: Side, *, quality: str = "") -> Number:
        """A number as a tool prints it, in SI."""
        return cls(metric, number.value, side, quality=quality, half=number.half)

    @property
    def printed(self) -> Printed:
        """The number, and the least and greatest that its digits leave open."""
        low = max(self.value - self.half, min(self.value, 0.0))
        return Printed(self.value, low, self.value + self.half)

    @property
    def latency_kind(self) -> str | None:
        """What kind of latency it is: rtt, rtt/2 or owd; none where it is no latency."""
        for start, kind in (("rtt_half_", "rtt/2"), ("rtt_", "rtt"), ("latency_", "owd")):
            if self.metric.startswith(start):
                return kind
        return None

    @property
    def cpu_scope(self) -> str | None:
        """Whose CPU it is: process, host or core; none where it is no CPU."""
        if not self.metric.startswith("cpu_"):
            return None
        if self.metric.endswith("_process_cores"):
            return "process"
        return "host" if self.metric.endswith("_cores") else "core"


class Payloads(NamedTuple):
    """The payloads that the tool's own bytes and messages leave open: their digits are limited.

    Parameters
    ----------
    low, high
        The least and the greatest bytes a message.
    said
        What the tool says of both, for people.
    """

    low: Decimal
    high: Decimal
    said: str

    def fits(self, payload_bytes: int) -> bool:
        """Whether a payload is one of them."""
        return self.low <= payload_bytes <= self.high

    @property
    def only(self) -> int | None:
        """The payload, if they are a single one."""
        least, most = math.ceil(self.low), math.floor(self.high)
        return least if least == most > 0 else None

    def __str__(self) -> str:
        """Both ends of them, or the single one."""
        ends = f"{float(self.low):.7g} to {float(self.high):.7g}"
        return ends if self.only is None else str(self.only)


@dataclass(frozen=True, slots=True)
class Result:
    """One result as a tool reports it.

    Parameters
    ----------
    tool, version
        What measured; the version may be empty.
    place
        Where in the file, for people.
    labels
        What the file says of where the result lies.
    numbers
        In SI.
    sender, receiver
        The hosts, where the file names them.
    kind
        Kind of interconnect, where the file says it.
    streams
        Parallel streams of the run.
    most_cores
        The most busy cores its processes can have had.
    payloads
        What its bytes and messages leave open, where the file does not say the payload itself.
    unless
        What the tool does where neither its output nor a person says otherwise.
    windows
        How much more may arrive than was sent, since each end counts over a window of its own.
    notes
        What is not taken and why, and what a reader must know.
    run
        What names the run in the reports of both its ends, where the tool prints such a name.
    source
        A table or section within the file, where a person names one.
    """

    tool: str
    version: str
    place: str
    labels: Labels
    numbers: tuple[Number, ...]
    sender: str = ""
    receiver: str = ""
    kind: str = ""
    streams: int = 1
    most_cores: float | None = None
    payloads: Payloads | None = None
    unless: Labels = field(default_factory=Labels)
    windows: float = 1.05
    notes: tuple[str, ...] = ()
    run: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file of which nothing is taken, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Taken:
    """A file whose results are taken."""

    file: str
    sha256: str
    results: tuple[Result, ...] = field(default_factory=tuple)


def printed_of(numbers: Sequence[Number], metric: str) -> Printed | None:
    """A metric among some numbers with what its digits leave open, if it is there."""
    return next((number.printed for number in numbers if number.metric == metric), None)
