"""Questions as columns, one a row, in SI."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Frames:
    """What theory says of each question's frame, columns of equal length n.

    ``wire_s`` is the time of the frame on the wire [s], ``greatest_bps`` the greatest goodput [b/s]; ``packets``
    is how many packets it becomes by itself, ``least_packets`` as part of a stream of full ones.
    """

    wire_s: Floats
    greatest_bps: Floats
    packets: Floats
    least_packets: Floats

    def take(self, where: Ints) -> Frames:
        """Those of some of the questions."""
        return Frames(*(column.take(where) for column in self.columns()))

    def columns(self) -> tuple[Floats, ...]:
        """The columns in their order."""
        return self.wire_s, self.greatest_bps, self.packets, self.least_packets


@dataclass(frozen=True, slots=True)
class Pace:
    """What the application's work leaves of each question's stream; goodputs in b/s.

    ``asked_bps`` (n,) is the request before the work was counted.  ``sender_bps`` and ``receiver_bps`` (ends, n)
    are what either end's cores can do, infinite where it adds no work; ``without_bps`` (ends, n) is what
    the stream reaches without any.  ``by_sender`` and ``by_receiver`` (n,) are whether either end limits it with its
    work; ``known`` (2, n) is whether rows say how busy sender and receiver are by themselves.
    """

    asked_bps: Floats
    sender_bps: Floats
    receiver_bps: Floats
    without_bps: Floats
    by_sender: Bools
    by_receiver: Bools
    known: Bools

    def take(self, where: Ints) -> Pace:
        """That of some of the questions."""
        return Pace(*(getattr(self, field.name)[..., where] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Work:
    """What the application adds to each question's frame at the sender and at the receiver [s], (n,).

    ``pace`` is what that leaves of the stream, once it is known.
    """

    send_s: Floats
    recv_s: Floats
    pace: Pace | None = None

    def take(self, where: Ints) -> Work:
        """That of some of the questions."""
        pace = None if self.pace is None else self.pace.take(where)
        return Work(self.send_s.take(where), self.recv_s.take(where), pace)


@dataclass(frozen=True, slots=True)
class Questions:
    """Columns of equal length n.

    ``protocol`` and ``cores`` are indices into the axes' protocols and core counts, ``cores_count`` the asked
    count (0: nobody says).  ``request_bps`` is infinite for unlimited; ``extra_distance_m`` counts from the
    dataset's cable.  ``lossy`` is whether the protocol loses frames that the application sees.
    ``work`` is the application's own, ``None`` where no question has any.
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
