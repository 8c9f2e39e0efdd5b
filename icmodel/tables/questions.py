"""Questions as columns: a block of n prediction requests, converted to indices into the look-up tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Columns of n questions (prediction requests), named like the fields of a Scenario.

    ``protocol`` and ``core_index`` are indices into the protocols and core counts on the axes of the tables.
    ``cores`` is the requested core count (0 if the dataset states none).  ``requested_goodput_bps`` is infinite for
    unlimited requests.  ``distance_m`` is NaN for the dataset's own cable.  ``lossy`` marks protocols whose losses
    reach the application.  ``work`` is ``None`` if no question has work of the application.
    """

    protocol: Ints
    payload_bytes: Floats
    requested_goodput_bps: Floats
    core_index: Ints
    cores: Floats
    switches: Ints
    endpoints: Floats
    other_goodput_bps: Floats
    distance_m: Floats
    frames: Frames
    lossy: Bools
    work: Work | None = None

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints) -> Questions:
        """Select the questions (prediction requests) at the given indices."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: None if part is None else part.take(where) for name, part in parts.items()
        }
        return Questions(**taken)


@dataclass(frozen=True, eq=False)
class Frames:
    """Properties of each question's frame by theory of the wire; each is looked up on first use.

    ``columns`` (5, m) hold the properties below, in this order, for m frames.  ``place`` (n,) is the index of each
    question's frame; ``None`` if m = n and frame i belongs to question i.
    """

    columns: Floats
    place: Ints | None = None

    @cached_property
    def wire_s(self) -> Floats:
        """Time for which each question's frame occupies the wire [s], (n,), with the gaps between packets."""
        return self._column(0)

    @cached_property
    def greatest_bps(self) -> Floats:
        """Greatest goodput of a stream of each question's frames [b/s], (n,)."""
        return self._column(1)

    @cached_property
    def packets(self) -> Floats:
        """Number of packets of each question's frame, if the sender sends it alone, (n,)."""
        return self._column(2)

    @cached_property
    def least_packets(self) -> Floats:
        """Number of packets per frame, if the stream merges frames into full packets, (n,)."""
        return self._column(3)

    @cached_property
    def lone_s(self) -> Floats:
        """Least time from the first to the last bit of each question's lone frame [s], (n,)."""
        return self._column(4)

    def take(self, where: Ints) -> Frames:
        """Select the frames of the questions at the given indices."""
        return Frames(self.columns, where if self.place is None else self.place.take(where))

    def _column(self, index: int) -> Floats:
        numbers: Floats = self.columns[index]
        return numbers if self.place is None else numbers.take(self.place)


class Work(NamedTuple):
    """Time that the application adds to each frame at the sender and at the receiver [s], (n,).

    ``pace`` is the resulting limit of the stream; ``None`` until the limit is computed.
    """

    send_s: Floats
    recv_s: Floats
    pace: Pace | None = None

    def take(self, where: Ints) -> Work:
        """Select the application's work for the questions at the given indices."""
        pace = None if self.pace is None else self.pace.take(where)
        return Work(self.send_s.take(where), self.recv_s.take(where), pace)


class Pace(NamedTuple):
    """Limits that the application's own work sets to the rate of each question's stream; all goodputs in b/s.

    ``requested_goodput_bps`` (n,) is the request before the work limits it.  ``sender_bps`` and ``receiver_bps``
    (ends, n) are the greatest goodputs that the cores of sender and receiver can process; infinite if the
    application adds no work at that host.  ``without_bps`` (ends, n) is the goodput without any work.  ``by_sender``
    and ``by_receiver`` (n,) mark the streams whose bottleneck is the work at the sender or at the receiver.
    ``known`` (2, n) marks whether rows state the utilisation of sender and receiver.
    """

    requested_goodput_bps: Floats
    sender_bps: Floats
    receiver_bps: Floats
    without_bps: Floats
    by_sender: Bools
    by_receiver: Bools
    known: Bools

    def take(self, where: Ints) -> Pace:
        """Select the rate limits of the questions at the given indices."""
        return Pace._make(part[..., where] for part in self)
