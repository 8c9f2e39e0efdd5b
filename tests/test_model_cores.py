"""Core counts that were never measured: the nearest count's value, and an interval that widens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hybrid_case import LINE_RATE_BPS, lab
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
