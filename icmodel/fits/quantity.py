"""Metrics as times: what a mechanism explains is a time a frame, a latency or a share of a core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PER_BIT, PER_FRAME, DIRECT = "per bit", "per frame", "direct"
SHIFTS = {"loss_rate": 0.1, "cpu_": 0.01}
"""Added before the logarithm to ratios that can be 0: far below it errors count absolutely."""
SMALLEST = 1e-3
"""Share of the median value added to any other metric that has a 0."""

FLOWS = ("_bps", "_per_s")
"""How metrics of what flows end."""
PACKETS = "packets_"
"""How those begin that are multiples of the packets of the frames that flow: less than 1 where a sender
merges frames."""
ROUNDING = 1e-9
"""Less than this share of the shift is 0."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a metric turns into log time and back; ``shift`` is added where some value is 0."""

    kind: str
    shift: float

    def log_time(self, values: Floats, payload_bytes: Floats) -> Floats:
        """Log of a time a frame, or of the metric itself."""
        logs = np.log(values + self.shift)
        if self.kind == PER_BIT:
            return np.asarray(np.log(8 * payload_bytes) - logs)
        return np.asarray(-logs if self.kind == PER_FRAME else logs)

    def value(self, log_time: Floats, payload_bytes: Floats) -> Floats:
        """The metric of a log time."""
        if self.kind == PER_BIT:
            logs = np.log(8 * payload_bytes) - log_time
        else:
            logs = -log_time if self.kind == PER_FRAME else log_time
        found = np.exp(logs) - self.shift
        return np.where(found < ROUNDING * self.shift, 0.0, found)

    @property
    def falls(self) -> bool:
        """Whether a longer time is a smaller value."""
        return self.kind != DIRECT


def quantity(metric: str, values: Floats) -> Quantity:
    """The quantity of a metric with some known values."""
    kind = DIRECT
    if metric.endswith("_bps"):
        kind = PER_BIT
    elif metric.endswith("_per_s"):
        kind = PER_FRAME
    for name, shift in SHIFTS.items():
        if metric.startswith(name):
            return Quantity(kind, shift)
    positive = values[values > 0]
    if len(positive) == len(values):
        return Quantity(kind, 0.0)
    return Quantity(kind, SMALLEST * float(np.median(positive)) if len(positive) else 1.0)
