"""What is sent where more is asked than can be had: it follows from what arrives and what is lost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fits_case import LINE_RATE_BPS, dataset, row
from icmodel.dataset import Dataset, Point
from icmodel.model import Model

GOODPUT, LOSS = (1e9, 0.9e9, 1.2e9), (0.2, 0.1, 0.4)
"""Value, low and high."""
SENT_BPS = 1e9 / 0.8
LOW_BPS = SENT_BPS / (1 + math.hypot(1 / 0.9 - 1, 0.9 / 0.8 - 1))
HIGH_BPS = SENT_BPS * (1 + math.hypot(1.2 - 1, 0.8 / 0.6 - 1))


def overloaded(loss: tuple[float, float, float] = LOSS) -> Dataset:
    """Two payloads of UDP at unlimited rate, with ranges that the source says."""
    ends = {"goodput_bps": GOODPUT, "loss_rate": loss}
    return dataset([ranged(size, name, ends[name]) for size in (512, 1024) for name in ends])


def ranged(payload: int, metric: str, ends: tuple[float, float, float]) -> Point:
    value, low, high = ends
    known = row("udp", payload, math.inf, metric, np.array([value]))
    return known._replace(low=low, high=high, n=None)


@pytest.mark.parametrize("rate_bps", [None, 8e9])
def test_goodput_and_loss_may_be_off_without_each_other(rate_bps: float | None) -> None:
    model = Model(overloaded(), "corrected")
    told = model.predict(
        protocol="udp", payload_bytes=512, rate_fps=None if rate_bps is None else rate_bps / 4096
    )
    sent = told.sent_bps
    assert (sent.value, sent.low, sent.high) == pytest.approx((SENT_BPS, LOW_BPS, HIGH_BPS))
    short = told.shortfall_bps
    if rate_bps is not None:
        expected = (rate_bps - SENT_BPS, rate_bps - HIGH_BPS, rate_bps - LOW_BPS)
        assert (short.value, short.low, short.high) == pytest.approx(expected)


def test_no_more_is_sent_than_asked_and_no_less_than_arrives() -> None:
    model = Model(overloaded(), "corrected")
    asked = 1.3e9
    sent = model.predict(protocol="udp", payload_bytes=512, requested_goodput_bps=asked).sent_bps
    assert (sent.value, sent.low, sent.high) == pytest.approx((SENT_BPS, LOW_BPS, asked))
    sure = Model(overloaded(loss=(0.0, 0.0, 0.8)), "corrected")
    told = sure.predict(protocol="udp", payload_bytes=512)
    assert told.sent_bps.low == pytest.approx(GOODPUT[1])
    assert told.sent_bps.value == GOODPUT[0]
    assert told.sent_bps.high == pytest.approx(GOODPUT[0] * (1 + math.hypot(0.2, 4)))
    assert told.sent_bps.high <= LINE_RATE_BPS


def test_appendix_h_knows_no_wire_and_pairs_the_ends() -> None:
    data = replace(overloaded(), default_variant="appendix-h")
    sent = Model(data, "appendix-h").predict(protocol="udp", payload_bytes=512).sent_bps
    assert (sent.value, sent.low, sent.high) == pytest.approx(GOODPUT)
