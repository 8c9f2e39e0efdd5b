"""Schedulers: served priorities, greatest rates, and refused values."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from icmodel.system import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    Scheduler,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)
from icmodel.system.schedulers import greatest_rate_bps

GATES = Gates(windows=(Window(duration_s=1e-3, open=(7,)), Window(duration_s=3e-3, open=(0, 7))))


@pytest.mark.parametrize(
    ("scheduler", "served"),
    [
        (Fifo(), set(range(8))),
        (StrictPriority(), set(range(8))),
        (CreditBased(idle_slopes_bps={6: 20e6}), set(range(8))),
        (WeightedRoundRobin(weights={5: 7, 1: 2}), {1, 5}),
        (DeficitRoundRobin(quanta_bytes={0: 1500}), {0}),
        (GATES, {0, 7}),
    ],
)
def test_a_scheduler_serves_its_classes(scheduler: Scheduler, served: set[int]) -> None:
    assert {priority for priority in range(8) if scheduler.serves(priority)} == served


def test_the_cycle_of_gates_is_the_sum_of_its_windows() -> None:
    assert GATES.cycle_s == pytest.approx(4e-3)


@pytest.mark.parametrize(
    "made",
    [
        lambda: WeightedRoundRobin(weights={}),
        lambda: WeightedRoundRobin(weights={8: 1}),
        lambda: DeficitRoundRobin(quanta_bytes={0: 0}),
        lambda: CreditBased(idle_slopes_bps={6: math.inf}),
        lambda: Gates(windows=()),
        lambda: Window(duration_s=0.0, open=(1,)),
        lambda: Window(duration_s=1.0, open=(-1,)),
    ],
)
def test_a_scheduler_with_a_value_out_of_range_is_refused(made: Callable[[], object]) -> None:
    with pytest.raises(ValidationError, match="validation error"):
        made()


@pytest.mark.parametrize(
    ("scheduler", "priority", "share"),
    [
        (Fifo(), 3, 1.0),
        (CreditBased(idle_slopes_bps={6: 2e8}), 6, 0.2),
        (CreditBased(idle_slopes_bps={6: 2e8}), 5, 1.0),
        (GATES, 0, 0.75),
        (GATES, 7, 1.0),
        (GATES, 1, 0.0),
    ],
)
def test_a_scheduler_limits_the_rate_of_a_priority(
    scheduler: CreditBased | Fifo | Gates, priority: int, share: float
) -> None:
    assert greatest_rate_bps(scheduler, priority, 1e9) == pytest.approx(share * 1e9)


def test_an_opening_that_is_shorter_than_the_packet_counts_as_closed() -> None:
    """Cycle of 10 s: 1 s and 3 s open, 2 s and 4 s closed; the third second of openings follows the second's end."""
    lengths = ((7, 1.0), (0, 2.0), (7, 2.0), (7, 1.0), (0, 4.0))
    gates = Gates(windows=tuple(Window(open=(who,), duration_s=time) for who, time in lengths))
    assert gates.closed_s(7) == [2.0, 4.0]
    assert gates.closed_s(7, packet_s=1.0) == [2.0, 4.0]
    assert gates.closed_s(7, packet_s=2.0) == [7.0]
    assert gates.closed_s(7, packet_s=3.5) == [math.inf]
    assert gates.closed_s(1) == [math.inf]
    assert Gates(windows=(Window(open=(7,), duration_s=1.0),)).closed_s(7, packet_s=9.0) == []
