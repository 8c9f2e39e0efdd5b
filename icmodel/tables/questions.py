"""Questions as columns, one a row, in SI."""

from __future__ import annotations

from dataclasses import dataclass, fields

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
class Questions:
    """Columns of equal length n.

    ``protocol`` and ``cores`` are indices into the axes' protocols and core counts, ``cores_count`` the asked
    count (0: nobody says).  ``request_bps`` is infinite for unlimited; ``extra_distance_m`` counts from the
    dataset's cable.  ``lossy`` is whether the protocol loses frames that the application sees.
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

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints) -> Questions:
        """Some of the questions."""
        return Questions(*(getattr(self, field.name).take(where) for field in fields(self)))
