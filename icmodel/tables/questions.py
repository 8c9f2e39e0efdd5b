"""Questions as columns, one a row, in SI."""

from __future__ import annotations

from dataclasses import dataclass, fields

from icmodel.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Questions:
    """Columns of equal length n.

    ``protocol`` and ``cores`` are indices into the axes' protocols and core counts, ``cores_count`` the asked
    count (0: nobody says).  ``request_bps`` is infinite for unlimited; ``extra_distance_m`` counts from the
    dataset's cable.  ``wire_s`` is theory's time of the frame on the wire, ``wire_bps`` theory's
    greatest goodput, ``lossy`` whether the protocol loses frames that the application sees.
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
    wire_s: Floats
    wire_bps: Floats
    lossy: Bools

    def __len__(self) -> int:
        return len(self.payload_bytes)

    def take(self, where: Ints | Bools) -> Questions:
        """Some of the questions."""
        return Questions(*(getattr(self, field.name)[where] for field in fields(self)))
