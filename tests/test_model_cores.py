"""Core counts that were never measured: the nearest count's value, and an interval that widens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fits_case import LINE_RATE_BPS, dataset, lab
from icmodel.errors import OutOfDomain
from icmodel.model import Model

MODEL = Model(lab(protocols=("udp",)), "hybrid")


def predicted(cores: int, **question: Any) -> dict[str, tuple[float, float, float]]:
    asked = MODEL.predict(
        protocol="udp", payload_bytes=1000, cores=cores, outside="extrapolate", **question
    )
    known = {name: one for name, one in asked.metrics.items() if not one.absent}
    return {name: (one.value, one.low, one.high) for name, one in known.items()}


def test_the_interval_widens_with_the_distance_in_cores() -> None:
    one, two, eight = (predicted(cores)["latency_mean_s"] for cores in (1, 2, 8))
    assert one[0] == two[0] == eight[0]
    for near, far, factor in ((one, two, 2), (one, eight, 8)):
        assert far[1] == pytest.approx(near[1] / math.sqrt(factor))
        assert far[2] == pytest.approx(near[2] * math.sqrt(factor))


def test_no_end_passes_what_is_possible() -> None:
    found = predicted(16, requested_goodput_bps=1e8)
    for name in ("goodput_bps", "sent_bps", "shortfall_bps"):
        assert found[name][2] <= 1e8
    assert found["frames_per_s"][2] <= 1e8 / 8000
    assert found["cpu_send"][2] <= 1
    assert found["loss_rate"][2] <= 1
    assert predicted(16)["goodput_bps"][2] <= LINE_RATE_BPS


def test_many_questions_get_the_same_ends() -> None:
    many = MODEL.predict_many(
        protocol="udp", payload_bytes=1000, cores=np.array([1, 2, 8]), outside="extrapolate"
    )
    for k, cores in enumerate((1, 2, 8)):
        found = predicted(cores)
        for name, (value, low, high) in found.items():
            got = [float(many[name + end][k]) for end in ("", "_low", "_high")]
            assert got == pytest.approx([value, low, high]), name


def test_a_count_at_which_one_metric_alone_was_measured_answers_that_metric() -> None:
    """What a process takes at two cores is known, the goodput there is not."""
    whole = lab(protocols=("udp",))
    own = [p for p in whole.points if p.metric == "cpu_send"]
    two = [p._replace(cores=2, metric="cpu_send_process_cores", value=1.4 * p.value) for p in own]
    one = [p._replace(metric="cpu_send_process_cores") for p in own]
    known = dataset([*whole.points, *one, *two])
    asked: dict[str, Any] = {"protocol": "udp", "payload_bytes": 1024, "requested_goodput_bps": 2e8}
    for variant in ("corrected", "hybrid"):
        model = Model(known, variant)
        with pytest.raises(OutOfDomain, match="goodput of udp was measured with 1"):
            model.predict(**asked, cores=2)
        at_one = model.predict(**asked, cores=1).metrics
        at_two = model.predict(**asked, cores=2, outside="extrapolate").metrics
        process = "cpu_send_process_cores"
        assert at_two[process].value == pytest.approx(1.4 * at_one[process].value, rel=0.05)
        assert at_two[process].basis == at_one[process].basis
        assert at_two["goodput_bps"].basis == "extrapolated"
        assert at_two["goodput_bps"].value == at_one["goodput_bps"].value
        assert at_two["cpu_send"].value == pytest.approx(at_one["cpu_send"].value / 2)
        assert "cores: 1 beyond 1" in at_two["goodput_bps"].why
        many = model.predict_many(**asked, cores=np.array([1, 2]), outside="extrapolate")
        for name in (process, "goodput_bps", "cpu_send"):
            assert many[name].values.tolist() == [at_one[name].value, at_two[name].value]
            assert many[f"{name}_high"].values.tolist() == [at_one[name].high, at_two[name].high]
