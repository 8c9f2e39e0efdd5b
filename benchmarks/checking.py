"""No time counts before the answers are right: some of them again, by the slow twin of the tests."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from benchmarks.pairs import say
from benchmarks.questions import Columns, one
from icmodel.estimate import BOTTLENECKS
from icmodel.model import Model

TESTS = Path(__file__).resolve().parent.parent / "tests"
RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""A ratio or a latency below this is rounding noise."""
SHOWN = 5


class WrongAnswerError(RuntimeError):
    """What was to be timed does not answer rightly."""


def twin_module() -> ModuleType:
    """The slow twin, loaded from the tests."""
    return from_tests("model_twin")


def from_tests(name: str) -> ModuleType:
    """A module of the tests, loaded by its path; what it imports of them is loaded before it."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def check(model: Model, asked: Columns, answers: xr.Dataset, count: int) -> int:
    """Compare some of the answers with the slow twin; return how many were compared.

    Raises
    ------
    WrongAnswerError
        If any metric or bottleneck differs by more than rounding.
    """
    size = len(asked["protocol"])
    chosen = np.sort(np.random.default_rng(count).permutation(size)[:count])
    say(f"checking {len(chosen)} points against the slow twin")
    wrong = list(disagreements(model, asked, answers, chosen))
    if wrong:
        raise WrongAnswerError(
            f"{len(wrong)} answers differ from the slow twin, so nothing was timed: "
            + "; ".join(wrong[:SHOWN])
        )
    return len(chosen)


def disagreements(
    model: Model, asked: Columns, answers: xr.Dataset, chosen: NDArray[np.int64]
) -> Iterator[str]:
    """One sentence for every answer that differs."""
    twin = twin_module().Twin(model.data, model.variant)
    columns = {str(name): answers[str(name)].to_numpy() for name in answers}
    limits = columns.pop("bottleneck")
    for index in chosen.tolist():
        scenario = one(model.data, asked, index)
        truth = twin.predict(scenario)
        values = _values(truth.metrics)
        if truth.bottleneck != BOTTLENECKS[limits[index]]:
            yield f"bottleneck of {scenario}: {BOTTLENECKS[limits[index]]}, not {truth.bottleneck}"
        for name in sorted(values.keys() | columns.keys()):
            if name.startswith("packets_") and model.variant != "appendix-h":
                continue  # no curve; tests/test_model_packets.py knows their truth
            told = float(columns[name][index]) if name in columns else math.nan
            expected = values.get(name, math.nan)
            if not same(told, expected):
                yield f"{name} of {scenario}: {told}, not {expected}"


def _values(metrics: Mapping[str, object]) -> dict[str, float]:
    """The value of each metric the twin answers."""
    found = {name: getattr(metric, "ends", None) for name, metric in metrics.items()}
    return {name: float(ends[1]) for name, ends in found.items() if ends is not None}


def same(told: float, expected: float) -> bool:
    """Equal but for rounding; no answer is the same as no answer."""
    if math.isnan(told) or math.isnan(expected):
        return math.isnan(told) and math.isnan(expected)
    return math.isclose(told, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
