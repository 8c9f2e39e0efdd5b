"""What comes in each class at a port, as its scheduler wants to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from icmodel.system.bounds.curves import Arrival


@dataclass(frozen=True, slots=True)
class ClassTraffic:
    """What comes in one class at a port: arrival curve, and its packets as `Flow` has them, in bits."""

    arrival: Arrival
    max_packet_bits: float
    min_packet_bits: float
    mean_packet_bits: float = 0.0
    lacking_bits: float = 0.0


Traffic = Mapping[int, ClassTraffic]


def longest_below(own: int, traffic: Traffic) -> float:
    """The longest packet of lesser classes, in bits."""
    return max((each.max_packet_bits for name, each in traffic.items() if name < own), default=0.0)
