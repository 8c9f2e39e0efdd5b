"""Check of answers before their time counts, by the tests' slow twin (reference model)."""

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
    """The code to be timed gives a wrong answer."""


def twin_module() -> ModuleType:
    """Load the slow twin from the tests."""
    return from_tests("model_twin")


def from_tests(name: str) -> ModuleType:
    """Load a module of the tests by its path. Test modules that it imports must be loaded first."""
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
    """Yield a sentence for every answer that differs."""
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
                continue  # no curve; tests/test_model_packets.py checks them
            answered = float(columns[name][index]) if name in columns else math.nan
            expected = values.get(name, math.nan)
            if not same(answered, expected):
                yield f"{name} of {scenario}: {answered}, not {expected}"


def _values(metrics: Mapping[str, object]) -> dict[str, float]:
    """Return the value of each metric that the twin answers."""
    found = {name: getattr(metric, "ends", None) for name, metric in metrics.items()}
    return {name: float(ends[1]) for name, ends in found.items() if ends is not None}


def same(answered: float, expected: float) -> bool:
    """Whether two values are equal except for rounding; NaN (no answer) equals NaN."""
    if math.isnan(answered) or math.isnan(expected):
        return math.isnan(answered) and math.isnan(expected)
    return math.isclose(answered, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
