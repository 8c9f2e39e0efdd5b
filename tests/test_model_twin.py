"""The model against its slow twin, on thousands of generated scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import generated
from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.estimate import Prediction
from icmodel.model import PUBLISHED, Model
from icmodel.scenario import Scenario
from model_twin import Answers, Twin
from search import mostly_long, times

CENTRAL = "ethernet-10g-2012"
OTHERS = [name for name in catalogue() if name != CENTRAL]
CLOSE = 1e-9


def differences(told: Prediction, twin: Answers) -> list[str]:
    """What a prediction and the twin's answers disagree on.

    Packets a second are no curve but in Appendix H: `test_model_packets` knows their truth.
    """
    found = [] if told.bottleneck == twin.bottleneck else [f"{told.bottleneck} / {twin.bottleneck}"]
    for name in sorted({*told.metrics, *twin.metrics}):
        if name.startswith("packets_") and told.variant != "appendix-h":
            continue
        mine, estimate = twin.metrics.get(name), told.metrics.get(name)
        if mine is None or estimate is None or estimate.absent:
            if mine is not None or not (estimate is None or estimate.absent):
                found.append(f"{name}: {estimate} / {mine}")
            continue
        ends = (estimate.low, estimate.value, estimate.high)
        noise = max(1e-3 if name.endswith("_bps") else 1e-12, 1e-12 * mine.ends[-1])
        if not all(same(a, b, noise) for a, b in zip(ends, mine.ends, strict=True)):
            found.append(f"{name}: {ends} / {mine.ends}")
        if estimate.basis != mine.basis:
            found.append(f"{name}: {estimate.bases} / {sorted(mine.bases)}")
    return found


def same(a: float, b: float, noise: float) -> bool:
    """Equal to a relative 1e-9; differences of equal numbers leave rounding noise."""
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=noise)


def compare(
    data: Dataset, variant: str, scenarios: Sequence[Scenario], *, extrapolate: bool = False
) -> int:
    """How many scenarios both answered, after comparing each."""
    model, twin = Model(data, variant), Twin(data, variant, extrapolate=extrapolate)
    outside = "extrapolate" if extrapolate else "refuse"
    answered = 0
    for scenario in scenarios:
        told = answer(model, scenario, outside)
        if told is None:
            continue
        wrong = differences(told, twin.predict(scenario))
        assert not wrong, f"{variant} {scenario}:\n" + "\n".join(wrong)
        answered += 1
    return answered


def answer(model: Model, scenario: Scenario, outside: str) -> Prediction | None:
    """A prediction; none where appendix-h, which keeps to its own payloads, has no row."""
    try:
        return model.predict(scenario, outside=outside)
    except OutOfDomain:
        if model.variant == "appendix-h":
            return None
        raise


@pytest.mark.sampled
@pytest.mark.parametrize("variant", PUBLISHED)
@pytest.mark.parametrize("protocol", ["ethernet", "tcp", "udp"])
def test_the_central_dataset_agrees_with_the_twin(protocol: str, variant: str) -> None:
    data, count = load(CENTRAL), times(50)
    scenarios = generated.Asker(data, seed=1).scenarios(count, protocol)
    assert compare(data, variant, scenarios) > 0.9 * count


@pytest.mark.sampled
@pytest.mark.parametrize("variant", PUBLISHED)
def test_the_central_dataset_agrees_with_the_twin_beyond_its_domain(variant: str) -> None:
    data, count = load(CENTRAL), times(70)
    scenarios = generated.Asker(data, seed=2, beyond=True).scenarios(count)
    assert compare(data, variant, scenarios, extrapolate=True) > 0.6 * count


@pytest.mark.sampled
@pytest.mark.parametrize("name", mostly_long(OTHERS, set(OTHERS) - {"lab-1g-2026"}))
def test_every_other_bundled_dataset_agrees_with_the_twin(name: str) -> None:
    data, count, far = load(name), times(4), times(2)
    for variant in PUBLISHED:
        assert compare(data, variant, generated.Asker(data, seed=3).scenarios(count)) == count
        beyond = generated.Asker(data, seed=4, beyond=True).scenarios(far)
        assert compare(data, variant, beyond, extrapolate=True) == far


@settings(max_examples=times(20))
@given(generated.datasets, st.integers(0, 1000), st.sampled_from(PUBLISHED), st.booleans())
def test_generated_datasets_agree_with_the_twin(
    data: Dataset, seed: int, variant: str, beyond: bool
) -> None:
    scenarios = generated.Asker(data, seed, beyond=beyond).scenarios(20)
    assert compare(data, variant, scenarios, extrapolate=beyond) == 20
