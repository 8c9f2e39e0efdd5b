"""Traffic sources: the ``produces`` tables of streams, and the messages that they make.

Each table describes one kind of source. The `producer` method of a table returns a `Producer`: a number of
bytes per period. Predictions use only the `Producer`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from icmodel.errors import NetworkError
from icmodel.reading import Count, Document, Positive

AT_ONCE = ("burst", "samples")
"""Kinds of sources that hand over all frames of a message together; other kinds hand over frame by frame."""


@dataclass(frozen=True, slots=True)
class Producer:
    """Messages of a stream: a number of bytes [B] every period [s].

    A message is a picture, the samples of one cycle, or a burst. If a source states only a goodput, a message
    is one frame.

    Parameters
    ----------
    kind : str
        ``image``, ``samples``, ``goodput`` or ``burst``, as in the file.
    period_s : float
        Time from one message to the next [s].
    message_bytes : float
        Useful bytes of a message [B].
    within_s : float, optional
        Time in which the whole message must cross the network [s], if it is less than the period.

    Raises
    ------
    NetworkError
        If a number is not above 0 and finite.

    Examples
    --------
    >>> burst = Producer("burst", period_s=0.5, message_bytes=1e6, within_s=0.25)
    >>> burst.goodput_bps, burst.needed_bps
    (16000000.0, 32000000.0)
    """

    kind: str
    period_s: float
    message_bytes: float
    within_s: float | None = None

    def __post_init__(self) -> None:
        for value in (self.period_s, self.message_bytes, self.due_s):
            if not 0 < value < math.inf:
                raise NetworkError(
                    f"a message of {self.message_bytes:g} B every {self.period_s:g} s, due within "
                    f"{self.due_s:g} s, is not possible: give all of them above 0"
                )

    @property
    def at_once(self) -> bool:
        """Whether the source hands over all frames of a message together, and not one by one."""
        return self.kind in AT_ONCE

    @property
    def due_s(self) -> float:
        """Time in which a message must cross the network [s]; by default the period."""
        return self.period_s if self.within_s is None else self.within_s

    @property
    def goodput_bps(self) -> float:
        """Average goodput of the messages [b/s]: message size divided by the period."""
        return self.message_bytes * 8 / self.period_s

    @property
    def needed_bps(self) -> float:
        """Least goodput with which a message crosses the network in time [b/s]: message size divided by `due_s`."""
        return self.message_bytes * 8 / self.due_s


class _Source(Document):
    """Base class of the ``produces`` tables of a system file, which describe the data that a stream's source makes."""

    kind: str

    def producer(self, payload_bytes: int | None) -> Producer | None:
        """Convert the source to a producer of messages: some bytes per period; ``None`` if the source is unlimited.

        Parameters
        ----------
        payload_bytes : int, optional
            Payload of the stream [B]; used only by `Goodput`, as the size of a message.
        """
        return None

    def frame_bytes(self) -> int | None:
        """Default payload of a frame [B]; ``None`` if the stream must state its payload."""
        return None


class Image(_Source):
    """A source of pictures with a width, height, colour depth and rate. One picture is one message."""

    kind: Literal["image"]
    width_px: Count
    height_px: Count
    depth_bits: Positive
    rate_hz: Positive

    def producer(self, payload_bytes: int | None) -> Producer:
        """Convert the pictures to a producer of messages: one message per picture."""
        bits = self.width_px * self.height_px * self.depth_bits
        return Producer("image", 1 / self.rate_hz, bits / 8)


class Samples(_Source):
    """A source of samples that are taken every cycle. All samples of a cycle are one message.

    ``within`` is the time in which a message must arrive, by default the cycle.
    """

    kind: Literal["samples"]
    samples: Count
    size_bits: Positive
    cycle_hz: Positive
    within_s: Positive | None = None

    @model_validator(mode="after")
    def _within_a_cycle(self) -> Samples:
        if self.within_s is not None and self.within_s * self.cycle_hz > 1:
            raise ValueError(
                f"the samples come every {1 / self.cycle_hz:g} s, so within = {self.within_s:g} s is too "
                "long: make within no longer than the cycle"
            )
        return self

    def producer(self, payload_bytes: int | None) -> Producer:
        """Convert the samples to a producer of messages: one message per cycle."""
        bits = self.samples * self.size_bits
        return Producer("samples", 1 / self.cycle_hz, bits / 8, self.within_s)

    def frame_bytes(self) -> int:
        """Payload of a frame if the stream states none [B]: the bytes of all samples of a cycle."""
        return math.ceil(self.samples * self.size_bits / 8)


class Goodput(_Source):
    """A source with a constant goodput. Each frame is a message."""

    kind: Literal["goodput"]
    goodput_bps: Positive

    def producer(self, payload_bytes: int | None) -> Producer | None:
        """Convert the goodput to a producer of messages: one message per frame; ``None`` without ``payload_bytes``."""
        if payload_bytes is None:
            return None
        return Producer("goodput", payload_bytes * 8 / self.goodput_bps, payload_bytes)


class Burst(_Source):
    """A source that sends ``burst`` frames of equal size together, every period. A burst is one message."""

    kind: Literal["burst"]
    period_s: Positive
    burst: Count = 1
    size_bytes: Count
    within_s: Positive | None = None

    @model_validator(mode="after")
    def _within_a_period(self) -> Burst:
        if self.within_s is not None and self.within_s > self.period_s:
            raise ValueError(
                f"a burst comes every {self.period_s:g} s, so within = {self.within_s:g} s is too long: "
                "make within no longer than the period"
            )
        return self

    def producer(self, payload_bytes: int | None) -> Producer:
        """Convert the bursts to a producer of messages: one message per burst."""
        return Producer("burst", self.period_s, self.burst * self.size_bytes, self.within_s)

    def frame_bytes(self) -> int:
        """Payload of a frame if the stream states none [B]: the key ``size`` of the source, which is for one frame."""
        return self.size_bytes


class Unlimited(_Source):
    """A source without a limit: the sender sends at full speed."""

    kind: Literal["unlimited"]


ProducerTable = Annotated[
    Image | Samples | Goodput | Burst | Unlimited, Field(discriminator="kind")
]
PRODUCERS = ("image", "samples", "goodput", "burst", "unlimited")
