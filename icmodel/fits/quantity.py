"""Metrics as log times: what a cost model predicts is a time per frame, a latency or a share of a core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PER_BIT, PER_FRAME, DIRECT = "per bit", "per frame", "direct"
SHIFTS = {"loss_rate": 0.1, "cpu_": 0.01}
"""Added before the logarithm to ratios that can be 0: far below this, errors count as absolute ones."""
SMALLEST = 1e-3
"""Share of the median that is added to any other metric with a value of 0."""

FLOWS = ("_bps", "_per_s")
"""Endings of metrics that are flows."""
PACKETS = "packets_"
"""Beginning of metrics that are fitted as multiples of theory's packets; below 1 where a sender merges frames."""
ROUNDING = 1e-9
"""Results below this share of the shift are 0."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The transformation of a metric to log time and back; ``shift`` is added first where values can be 0."""

    kind: str
    shift: float

    def log_time(self, values: Floats, payload_bytes: Floats) -> Floats:
        """Log of a time per frame, or of the metric itself."""
        logs = np.log(values + self.shift)
        if self.kind == PER_BIT:
            return np.asarray(np.log(8 * payload_bytes) - logs)
        return np.asarray(-logs if self.kind == PER_FRAME else logs)

    def value(self, log_time: Floats, payload_bytes: Floats) -> Floats:
        """The metric at a log time."""
        if self.kind == PER_BIT:
            logs = np.log(8 * payload_bytes) - log_time
        else:
            logs = -log_time if self.kind == PER_FRAME else log_time
        found = np.exp(logs) - self.shift
        return np.where(found < ROUNDING * self.shift, 0.0, found)

    @property
    def falls(self) -> bool:
        """Whether the metric falls with the time."""
        return self.kind != DIRECT


def quantity(metric: str, values: Floats) -> Quantity:
    """The transformation of a metric, given its known values."""
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
