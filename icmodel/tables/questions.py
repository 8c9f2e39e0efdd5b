"""Questions as columns: a block of n questions, placed on the axes of the tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Columns of equal length n, named as the fields of a Scenario.

    ``protocol`` and ``core_index`` are indices into the protocols and core counts of the tables' axes.
    ``cores`` is the requested count (0 if the dataset states none), ``requested_goodput_bps`` is infinite for
    unlimited, ``distance_m`` is NaN for the dataset's own cable.  ``lossy`` marks protocols that lose
    frames which the application sees.  ``work`` is ``None`` if no question has any.
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
        """Questions at some places."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: None if part is None else part.take(where) for name, part in parts.items()
        }
        return Questions(**taken)


@dataclass(frozen=True, eq=False)
class Frames:
    """Theory of each question's frame; a property is looked up when it is first needed.

    ``columns`` (5, m) hold the properties below in their order; ``place`` (n,) is the column of each
    question, ``None`` if they are the questions' own.
    """

    columns: Floats
    place: Ints | None = None

    @cached_property
    def wire_s(self) -> Floats:
        """Time for which the frame occupies the wire, gap included [s], (n,)."""
        return self._column(0)

    @cached_property
    def greatest_bps(self) -> Floats:
        """Greatest goodput of such frames [b/s], (n,)."""
        return self._column(1)

    @cached_property
    def packets(self) -> Floats:
        """Packets of a frame by itself, (n,)."""
        return self._column(2)

    @cached_property
    def least_packets(self) -> Floats:
        """Packets of a frame within a stream of full packets, (n,)."""
        return self._column(3)

    @cached_property
    def lone_s(self) -> Floats:
        """Least time from the first to the last bit of a lone frame [s], (n,)."""
        return self._column(4)

    def take(self, where: Ints) -> Frames:
        """Frames of some of the questions."""
        return Frames(self.columns, where if self.place is None else self.place.take(where))

    def _column(self, index: int) -> Floats:
        numbers: Floats = self.columns[index]
        return numbers if self.place is None else numbers.take(self.place)


class Work(NamedTuple):
    """Time that the application adds to each frame at the sender and at the receiver [s], (n,).

    ``pace`` is the resulting limit of the stream, once it is computed.
    """

    send_s: Floats
    recv_s: Floats
    pace: Pace | None = None

    def take(self, where: Ints) -> Work:
        """Work of some of the questions."""
        pace = None if self.pace is None else self.pace.take(where)
        return Work(self.send_s.take(where), self.recv_s.take(where), pace)


class Pace(NamedTuple):
    """Limits that the application's work sets to each question's stream; goodputs in b/s.

    ``requested_goodput_bps`` (n,) is the request before the work limits it.  ``sender_bps`` and
    ``receiver_bps`` (ends, n) are the most that the cores of either end can process, infinite if the
    application adds no work there; ``without_bps`` (ends, n) is the goodput without any work.
    ``by_sender`` and ``by_receiver`` (n,) mark the streams whose bottleneck is the work of that end.
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
        """Pace of some of the questions."""
        return Pace._make(part[..., where] for part in self)
