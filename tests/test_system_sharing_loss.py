"""Loss of flows without back-pressure at ports and in bursts, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from icmodel.system.sharing.loss import (
    Curve,
    expected_lost_fraction,
    greatest_queue_bits,
    passing,
)
from icmodel.system.sharing.waiting import quantile_s


@pytest.mark.parametrize("load", [0.3, 0.9])
@pytest.mark.parametrize(("room", "burst"), [(0.0, 1.0), (2.0, 0.1), (5.0, 8.0)])
def test_the_loss_of_a_burst_behind_random_frames_is_exact(
    load: float, room: float, burst: float
) -> None:
    """M/M/1 with mean service 1: the burst loses the mean of min(max(wait - room, 0), burst)."""
    gone = 1 - load
    mean, second = load / gone, 2 * load / gone**2
    lost = load / gone * (np.exp(-gone * room) - np.exp(-gone * (room + burst)))
    found = expected_lost_fraction(mean, second - mean**2, room, burst)
    assert found == pytest.approx(lost / burst)


@pytest.mark.parametrize("room", [0.5, 1.4, 2.5])
@pytest.mark.parametrize("std", [0.0, 1e-3, 0.5, 2.0, 3.0])
def test_the_loss_of_a_burst_is_the_mean_over_the_quantiles_of_its_wait(
    std: float, room: float
) -> None:
    mean, burst = 2.0, 1.5
    moments = np.array([mean]), np.array([std**2])
    waits_s = [quantile_s(*moments, share)[0] for share in (np.arange(2000) + 0.5) / 2000]
    lost = np.clip(np.array(waits_s) - room, 0.0, burst).mean()
    assert expected_lost_fraction(mean, std**2, room, burst) == pytest.approx(
        lost / burst, rel=1e-2, abs=1e-9
    )


def test_a_constant_wait_loses_of_a_burst_what_comes_too_late() -> None:
    assert expected_lost_fraction(3.0, 0.0, 2.5, 1.0) == 0.5
    assert expected_lost_fraction(3.0, 0.0, 2.0, 1.0) == 1.0
    assert expected_lost_fraction(3.0, 0.0, 3.0, 1.0) == 0.0


@pytest.mark.parametrize("mean", [0.0, np.inf])
def test_without_a_finite_wait_no_loss_of_bursts_is_expected(mean: float) -> None:
    assert expected_lost_fraction(mean, mean, 1.0, 1.0) == 0.0
    assert expected_lost_fraction(1.0, 1.0, 1.0, 0.0) == 0.0


def test_rates_on_a_ring_of_long_paths_settle() -> None:
    """Six links of rate 1, six flows over five each: a link passes x of its load a (1 + x + ... + x⁴) = 1 / x."""
    x = 0.95
    offered = 1 / (x * sum(x**k for k in range(5)))
    path = (np.arange(6)[:, None] + np.arange(5)) % 6
    passed, arriving = passing(np.full(6, offered), path, np.ones((6, 5)), np.ones(6))
    assert passed == pytest.approx(np.full(6, x))
    assert arriving[:, -1] == pytest.approx(np.full(6, offered * x**5))


def test_the_greatest_queue_equals_hand_calculation() -> None:
    """Two bursts of 1 Mb over links as fast as the port: 1 Mb waits after 1 ms, of 2 that came."""
    curves = [Curve(name, 1e9, 1e6, 0.0) for name in "ab"]
    assert greatest_queue_bits(curves, 1e9) == pytest.approx((1e6, 2e6))
    assert greatest_queue_bits(curves[:1], 1e9) == (0.0, 0.0)
    assert greatest_queue_bits([curves[0], replace(curves[0], link="a")], 1e9) == (0.0, 0.0)
    steady = [*curves, Curve("c", 1e9, 0.0, 1e8)]
    assert greatest_queue_bits(steady, 1e9)[0] == pytest.approx(1.1e6)
    # a gate that is closed for 3 ms holds all; a class of half the rate holds half
    assert greatest_queue_bits(curves, 1e9, closed_s=3e-3) == pytest.approx((2e6, 2e6))
    assert greatest_queue_bits(curves[:1], 5e8) == pytest.approx((5e5, 1e6))
