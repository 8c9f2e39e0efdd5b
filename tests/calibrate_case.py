"""A calibration of a made-up system: for tests of the loop, and as a process of its own to be killed."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.chooser.ready import Ready
from benchmarks.chooser.synthetic import TUNING, Synthetic
from icmodel.calibrate import Refused, Run, Settings, calibrate
from icmodel.calibrate.runs import Record
from icmodel.errors import MeasurementFailed

LIMITS = {"window_s": 0.3, "warmup_s": 0.1, "baseline_s": 0.1}
"""With these times, a run costs 1 s of the budget."""


def settings(**more: Any) -> Settings:
    words: dict[str, Any] = {
        "system": "made up",
        "loads": (0.1, 0.9, float("inf")),
        "line_rate_bps": TUNING.line_rate_bps,
        "variant": "corrected",
        "budget_s": 46.0,
        **LIMITS,
        **more,
    }
    return Settings.of(**words)


@dataclass
class Simulated(Ready):
    """Synthetic system that can be interrupted, can fail, and refuses some runs."""

    cut_after: int = 1 << 30
    failures: int = 0
    refused: frozenset[Run] = frozenset()
    description: str = "made up"
    asked: list[Run] = field(default_factory=list)

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        self.asked.append(run)
        if len(self.asked) > self.cut_after:
            raise KeyboardInterrupt
        if self.failures:
            self.failures -= 1
            raise MeasurementFailed("the cable is out: put it in")
        if run in self.refused:
            return Refused("it does not fit")
        return Synthetic(TUNING, 5).measure(run, repeat)


class Slow(Simulated):
    """System whose runs take long enough to be killed between them."""

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        time.sleep(0.01)
        return super().measure(run, repeat)


if __name__ == "__main__":
    calibrate(Slow(), settings(), Path(sys.argv[1]))
