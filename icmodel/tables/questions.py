"""Questions as columns, one question a row, in SI units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Frames:
    """Theory's numbers for each question's frame, each looked up when first needed.

    ``columns`` (5, m) are the time for which a frame occupies the wire [s], the greatest goodput [b/s], the packets
    of a frame by itself, its packets within a stream of full ones, and the least delay of a lone frame [s]; ``place`` (n,) is each question's column, ``None`` for all.
    """

    columns: Floats
    place: Ints | None = None

    @cached_property
    def wire_s(self) -> Floats:
        """Time for which the frame occupies the wire, gap included [s], (n,)."""
        return self._of(0)

    @cached_property
    def greatest_bps(self) -> Floats:
        """Greatest goodput of such frames [b/s], (n,)."""
        return self._of(1)

    @cached_property
    def packets(self) -> Floats:
        """Packets of a frame by itself, (n,)."""
        return self._of(2)

    @cached_property
    def least_packets(self) -> Floats:
        """Packets of a frame within a stream of full packets, (n,)."""
        return self._of(3)

    @cached_property
    def lone_s(self) -> Floats:
        """Least time from the first to the last bit of a lone frame [s], (n,)."""
        return self._of(4)

    def take(self, where: Ints) -> Frames:
        """Frames of some of the questions."""
        return Frames(self.columns, where if self.place is None else self.place.take(where))

    def _of(self, column: int) -> Floats:
        numbers: Floats = self.columns[column]
        return numbers if self.place is None else numbers.take(self.place)


class Pace(NamedTuple):
    """Limits that the application's work sets to each question's stream; goodputs in b/s.

    ``asked_bps`` (n,) is the request before the work is considered.  ``sender_bps`` and ``receiver_bps`` (ends, n)
    are the most that the cores of either end can process, infinite where the application adds no work there;
    ``without_bps`` (ends, n) is the capacity without any.  ``by_sender`` and ``by_receiver`` (n,) tell whether
    that end's work is the bottleneck; ``known`` (2, n) whether rows state the utilisation of sender and receiver.
    """

    asked_bps: Floats
    sender_bps: Floats
    receiver_bps: Floats
    without_bps: Floats
    by_sender: Bools
    by_receiver: Bools
    known: Bools

    def take(self, where: Ints) -> Pace:
        """Pace of some of the questions."""
        return Pace._make(part[..., where] for part in self)


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


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Columns of equal length n.

    ``protocol`` and ``cores`` are indices into the axes' protocols and core counts, ``cores_count`` the requested
    count (0: not stated).  ``request_bps`` is infinite for unlimited; ``extra_distance_m`` is the distance beyond the
    dataset's cable.  ``lossy`` tells whether the protocol loses frames that the application sees.
    ``work`` is the application's, ``None`` where no question has any.
    """

    protocol: Ints
    payload_bytes: Floats
    request_bps: Floats
    cores: Ints
    cores_count: Floats
    switches: Ints
    endpoints: Floats
    others_bps: Floats
    extra_distance_m: Floats
    frames: Frames
    lossy: Bools
    work: Work | None = None

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints) -> Questions:
        """Some of the questions."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: None if part is None else part.take(where) for name, part in parts.items()
        }
        return Questions(**taken)
