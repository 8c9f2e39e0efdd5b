"""The model against its slow twin, on thousands of generated scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import generated
from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import OutOfDomain
from icmodel.estimate import Prediction
from icmodel.model import PUBLISHED, Model
from icmodel.scenario import Options, Scenario
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


FRAMES_ALONE = (
    Options(),
    Options({"fabric": "1gbe"}),
    Options({"fabric": "1gbe", "server": "zynq"}),
)
"""Options of InfiniBand's rows that state frames per second, but no goodput: RDMA messages first, then TCP."""


@pytest.mark.parametrize("options", FRAMES_ALONE)
def test_frames_without_goodput_are_extrapolated_to_other_core_counts(options: Options) -> None:
    data, protocol = load("infiniband-qdr-connectx2"), "tcp" if options else "rdma-message"
    scenarios = [
        Scenario(protocol=protocol, payload_bytes=120, rate_fps=rate, cores=cores, options=options)
        for cores in (3, 4, 7)
        for rate in (None, 1000.0)
    ]
    for variant in PUBLISHED:
        assert compare(data, variant, scenarios, extrapolate=True) == 6
    hybrid = Model(data, "hybrid")
    known, *beyond = (
        hybrid.predict(
            protocol=protocol,
            payload_bytes=120,
            cores=cores,
            options=options,
            outside="extrapolate",
        ).metrics["frames_per_s"]
        for cores in (3, 4, 7)
    )
    assert known.basis != "extrapolated"
    for estimate in beyond:
        assert estimate.basis == "extrapolated"
        assert estimate.low < known.low
        assert estimate.high > known.high


UNKNOWN_MEAN = (
    (generated.Plan(8074, cores=(4,), shared=True, overloads=False), 1730, 1010972620.0),
    (
        generated.Plan(8074, cores=(4,), shared=True, limited_goodput=True, path=False),
        541,
        338280381.5,
    ),
)
"""Plans, payloads [B] and requests [b/s] at which the mean latency has a low or a high, but no value."""


@pytest.mark.parametrize(("plan", "payload", "request_bps"), UNKNOWN_MEAN)
def test_an_unknown_mean_moves_no_other_statistic(
    plan: generated.Plan, payload: int, request_bps: float
) -> None:
    plan = replace(plan, protocols=("tcp",), kind="loopback", line_rate_bps=None)
    data = generated.dataset(replace(plan, payloads=5, loads=3))
    scenario = Scenario(
        protocol="tcp", payload_bytes=payload, rate_fps=request_bps / 8 / payload, cores=4
    )
    prediction = Model(data, "corrected").predict(scenario)
    assert prediction.metrics["latency_mean_s"].absent
    assert compare(data, "corrected", [scenario]) == 1


def test_packets_above_the_highest_limited_load_may_be_those_of_the_unlimited_run() -> None:
    data = load("lab-1g-2026")
    options = Options({"batch_frames": "1", "waiting": "polling"})
    scenario = Scenario(
        protocol="udp",
        payload_bytes=4095,
        rate_fps=9590.0,
        cores=1,
        endpoints=3,
        other_goodput_bps=2e7,
        options=options,
    )
    assert compare(data, "appendix-h", [scenario]) == 1
