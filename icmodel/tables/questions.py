"""Questions as columns, one question a row, in SI units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Theory's numbers for each question's frame, columns of equal length n.

    ``wire_s`` is the time of the frame on the wire [s], ``greatest_bps`` the greatest goodput [b/s]; ``packets``
    is the number of packets of a frame by itself, ``least_packets`` that within a stream of full packets.
    """

    wire_s: Floats
    greatest_bps: Floats
    packets: Floats
    least_packets: Floats

    def take(self, where: Ints) -> Frames:
        """Frames of some of the questions."""
        return Frames(*(column.take(where) for column in self.columns()))

    def columns(self) -> tuple[Floats, ...]:
        """The columns in their order."""
        return self.wire_s, self.greatest_bps, self.packets, self.least_packets


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
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
        return Pace(*(getattr(self, field.name)[..., where] for field in fields(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Work:
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
