"""System: the interface of what can be measured, such as hosts, a lab or recorded runs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from icmodel.calibrate.run import Record, Run


@dataclass(frozen=True, slots=True)
class Refused:
    """The reason why these hosts cannot do a run; the run is not tried again."""

    why: str


class System(AbstractContextManager["System", None], Protocol):
    """A system to measure; its context is entered before the first run and left after the last."""

    @property
    def description(self) -> str:
        """The system in a few words; a calibration keeps to one system."""
        ...

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Measure a run once.

        Raises
        ------
        MeasurementFailed
            If the peer or the network failed; the same run may succeed later.
        """
        ...
