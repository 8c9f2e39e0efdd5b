"""Results as tools report them, in SI units, with notes for the user. Each number names the host that counted it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels

MICRO = Decimal("1e-6")
PER_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Printed:
    """Printed number of at least 0, with the least and greatest values that round to it.

    Products and quotients use interval arithmetic.

    >>> printed("0.12")
    Printed(value=0.12, low=0.115, high=0.125)
    >>> printed("0.12").overlaps(exact(0.1249))
    True
    """

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Greatest error of the number due to rounding."""
        return max(self.high - self.value, self.value - self.low)

    def __mul__(self, other: Printed | float) -> Printed:
        """Multiply by another number; low is the product of both lows, and high that of both highs."""
        by = other if isinstance(other, Printed) else Printed(other, other, other)
        return Printed(self.value * by.value, self.low * by.low, self.high * by.high)

    def __truediv__(self, other: Printed) -> Printed:
        """Return the quotient of two rounded numbers, with an interval that covers the rounding of both."""
        return Printed(
            _over(self.value, other.value), _over(self.low, other.high), _over(self.high, other.low)
        )

    def overlaps(self, other: Printed, slack: float = 0.0) -> bool:
        """Whether two printed numbers may be equal: their rounding intervals, widened by ``slack``, overlap."""
        return self.low <= other.high * (1 + slack) and other.low <= self.high * (1 + slack)

    def finer(self, other: Printed) -> Printed:
        """Return this number or another one of the same quantity, whichever has the smaller rounding error."""
        return other if other.half < self.half else self


def _over(one: float, other: float) -> float:
    return one / other if other else math.inf


def printed(text: str, factor: int | Decimal = 1, *, truncated: bool = False) -> Printed:
    """Read a number from a text and multiply it by a factor, in exact arithmetic.

    Parameters
    ----------
    truncated
        Whether the tool may truncate numbers. Then the true number may exceed the printed one by up to one unit of the
        last digit.

    >>> printed("25.869", MICRO).value
    2.5869e-05
    """
    value = Decimal(text)
    unit = unit_of(text)
    ends = (value, max(value - unit / 2, Decimal(0)), value + (unit if truncated else unit / 2))
    return Printed(*(float(number * factor) for number in ends))


def total_of(numbers: Sequence[Printed]) -> Printed:
    """Return the sum of rounded numbers; its interval adds up the least and greatest values before rounding."""
    return Printed(
        sum(number.value for number in numbers),
        sum(number.low for number in numbers),
        sum(number.high for number in numbers),
    )


def exact(value: float) -> Printed:
    """Make a `Printed` number that was not rounded, such as a count: low and high equal the value."""
    return Printed(value, value, value)


def unit_of(text: str) -> Decimal:
    """One unit of the last digit of a printed number: 0.01 for ``0.12``, 1 for ``15``."""
    exponent = Decimal(text).as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


Side = Literal["sender", "receiver", "both ends", "the client, whose count the server repeats"]

SENDER: Side = "sender"
RECEIVER: Side = "receiver"
BOTH: Side = "both ends"
CLIENT: Side = "the client, whose count the server repeats"


HOST_CPU = {"cpu_send_host": "cpu_send_cores", "cpu_recv_host": "cpu_recv_cores"}
"""Metrics of CPU utilisation of the whole host, each with the metric of busy cores to which it is converted."""


class NotTakenError(RecordError):
    """Raised for a run that icmodel cannot use, such as one that measures no stream; the file's other runs are used."""


class Number(NamedTuple):
    """One number of a tool's result: the value of a metric.

    Parameters
    ----------
    side
        End that counted the number: sender or receiver; both ends for a round trip.
    low, high
        Least and greatest value of the metric, if the tool reports them.
    n
        Number of runs that the tool averaged.
    quality
        Reason for lower trust in the number; empty without a reason.
    half
        Greatest error from the rounding of printed numbers.
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
        """Make a number in SI units from a printed number, with the error of rounding."""
        return cls(metric, number.value, side, quality=quality, half=number.half)

    @property
    def printed(self) -> Printed:
        """The value as a printed number: with the interval of all exact values that round to it."""
        low = max(self.value - self.half, min(self.value, 0.0))
        return Printed(self.value, low, self.value + self.half)

    def in_cores(self, host_cores: int | None) -> Number | None:
        """Convert CPU utilisation of a host to busy cores; ``None`` if the number of cores is unknown."""
        if self.metric not in HOST_CPU:
            return self
        if host_cores is None:
            return None
        return self._replace(
            metric=HOST_CPU[self.metric],
            value=self.value * host_cores,
            low=None if self.low is None else self.low * host_cores,
            high=None if self.high is None else self.high * host_cores,
            half=self.half * host_cores,
        )

    @property
    def latency_kind(self) -> str | None:
        """Kind of latency: rtt (round trip), rtt/2 or owd (one way); None for other metrics."""
        for start, kind in (("rtt_half_", "rtt/2"), ("rtt_", "rtt"), ("latency_", "owd")):
            if self.metric.startswith(start):
                return kind
        return None

    @property
    def cpu_scope(self) -> str | None:
        """Scope of a CPU metric: process, host or core; None for other metrics."""
        if not self.metric.startswith("cpu_"):
            return None
        if self.metric.endswith("_process_cores"):
            return "process"
        return "host" if self.metric.endswith("_cores") else "core"


class Payloads(NamedTuple):
    """Range of payloads that are consistent with a tool's rounded counts of bytes and messages.

    Parameters
    ----------
    low, high
        Least and greatest bytes per message.
    counts
        The two counts as printed by the tool, for use in error messages.
    """

    low: float
    high: float
    counts: str

    def fits(self, payload_bytes: int) -> bool:
        """Whether a payload [B] is within this range of possible payloads."""
        return self.low <= payload_bytes <= self.high

    @property
    def only(self) -> int | None:
        """Payload [B], if only one whole number lies within this range of payloads; otherwise None."""
        least, most = math.ceil(self.low), math.floor(self.high)
        return least if least == most > 0 else None

    def __str__(self) -> str:
        """Text of the least and greatest payload, or of the only possible payload."""
        ends = f"{self.low:.7g} to {self.high:.7g}"
        return ends if self.only is None else str(self.only)


class Origin(NamedTuple):
    """Origin of a result: the tool that measured it, its place in the file, and its run.

    Parameters
    ----------
    tool, version
        The tool that measured; the version may be empty.
    place
        Position in the file, for messages.
    source
        Table or section within the file, if the user names one.
    run
        Id of the run in the reports of both ends, if the tool prints one.
    """

    tool: str
    version: str
    place: str
    source: str = ""
    run: str = ""

    @property
    def name(self) -> str:
        """Name of the tool, with its version if known."""
        return f"{self.tool} {self.version}".strip()


class Hosts(NamedTuple):
    """Names of the sending and the receiving host of a result; empty if the file does not name them."""

    sender: str = ""
    receiver: str = ""


class Limits(NamedTuple):
    """Limits that the numbers of a run must keep; a result beyond them is refused as contradictory.

    Parameters
    ----------
    most_cores
        Greatest number of cores that the tool's processes could keep busy.
    payloads
        Payloads that the counts of bytes and messages allow, if the file does not state the payload.
    most_goodput_ratio
        Greatest possible goodput / sent rate. It may exceed 1, since sender and receiver count over different times.
    """

    most_cores: float | None = None
    payloads: Payloads | None = None
    most_goodput_ratio: float = 1.05


class Assumed(NamedTuple):
    """Label of a result that its file does not state, set to the tool's documented default.

    Parameters
    ----------
    label
        The name of the label.
    option
        Option of the tool that sets the label.
    """

    label: str
    value: float
    option: str

    def note(self, tool: str, how: str) -> str:
        """Write the note that this label was assumed; ``how`` is the parameter by which the user states the label."""
        return (
            f"{self.label} {self.value:.10g} is assumed, the default of {tool}: if {self.option} set another "
            f"value, give {how}"
        )


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a tool: its labels (conditions) and numbers.

    Parameters
    ----------
    labels
        Axes of the result that the file states.
    numbers
        The measured numbers in SI.
    kind
        Kind of interconnect, if the file states it.
    streams
        Parallel streams of the run; ``None`` if unknown.
    implied
        Labels that follow from the numbers, used if neither the file nor the user states them.
    assumed
        Defaults of the tool, used for labels that are neither stated nor implied.
    pace_fps
        Rate limit of the sender, if the tool states it in messages per second.
    notes
        Notes on omitted numbers, with the reason, and on caveats.
    """

    origin: Origin
    labels: Labels
    numbers: tuple[Number, ...]
    hosts: Hosts = field(default_factory=Hosts)
    kind: str = ""
    streams: int | None = 1
    limits: Limits = field(default_factory=Limits)
    implied: Labels = field(default_factory=Labels)
    assumed: tuple[Assumed, ...] = ()
    pace_fps: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refused file or run, with the reason. None of its results are used."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Taken:
    """File whose results are used, with its hash and its results."""

    file: str
    sha256: str
    results: tuple[Result, ...] = field(default_factory=tuple)


def printed_of(numbers: Sequence[Number], metric: str) -> Printed | None:
    """Find a metric in a list of numbers, and return its value with the rounding interval; None if it is missing."""
    return next((number.printed for number in numbers if number.metric == metric), None)
