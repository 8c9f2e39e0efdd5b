"""System: whatever answers runs; hosts, a lab, recorded runs and made-up systems alike."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from icmodel.calibrate.run import Record, Run


@dataclass(frozen=True, slots=True)
class Refused:
    """A run that these hosts cannot do, and why; it is not asked again."""

    why: str


class System(Protocol):
    """What the loop measures; entered before the first run and left after the last."""

    @property
    def description(self) -> str:
        """What it is, in a few words; a calibration is of one system alone."""
        ...

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Measure once.

        Raises
        ------
        MeasurementFailed
            If the peer or the network failed; the same run may succeed another time.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Ready:
    """What is there already: nothing to begin before the first run, nothing to end after the last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None
