"""A system that can predict itself, loaded from its file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from icmodel.dataset import Dataset
from icmodel.model import Model
from icmodel.system import files
from icmodel.system.network import System
from icmodel.system.prediction import SystemPrediction, predict


@dataclass(frozen=True, slots=True, repr=False)
class LoadedSystem(System):
    """A system with a method that predicts it."""

    def predict(
        self,
        dataset: Model | Dataset | str | Path | None = None,
        variant: str | None = None,
        *,
        cache: bool = True,
        worst: bool = True,
        cycles: str = "refuse",
    ) -> SystemPrediction:
        """Predict every stream, link and device; see `icmodel.system.prediction.predict`."""
        return predict(self, dataset, variant, cache=cache, worst=worst, cycles=cycles)


def load(name: str | Path) -> LoadedSystem:
    """Load a system by bundled name or path: groups expanded, streams on their routes.

    Raises
    ------
    NetworkError
        If it is missing, breaks the format, or has an unconnected or contradictory part; an
        overload is allowed, since it can be predicted.
    """
    system = files.load(name)
    return LoadedSystem(**{field.name: getattr(system, field.name) for field in fields(system)})
