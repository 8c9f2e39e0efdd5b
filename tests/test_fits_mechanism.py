"""Mechanisms: costs that are found again, never negative, and whose shares add up."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fits_case import PAYLOADS, SEND, sites
from icmodel.fits.mechanism import CONSTANT, COSTS, QUEUE, Mechanism, non_negative
from icmodel.fits.observations import Sites


def test_costs_a_frame_a_byte_and_a_packet_are_found_again() -> None:
    where = sites(PAYLOADS)
    frame, byte, packet = SEND
    time = frame + byte * where.payload_bytes + packet * where.packets
    found = Mechanism(COSTS, where, np.log(time))
    assert found.costs("one") == pytest.approx(SEND, rel=1e-6)
    beyond = sites([1_000_000])
    expected = frame + byte * 1e6 + packet * beyond.packets[0]
    assert np.exp(found.at(beyond).log_time)[0] == pytest.approx(expected, rel=1e-6)


def test_a_protocol_of_few_rows_shares_the_costs_of_all() -> None:
    where = sites([*PAYLOADS, 64], [["many"]] * len(PAYLOADS) + [["few"]])
    time = 1e-6 + 1e-9 * where.payload_bytes
    found = Mechanism(COSTS, where, np.log(time))
    assert np.exp(found.at(sites([5000], [["few"]])).log_time)[0] == pytest.approx(6e-6, rel=1e-6)


def flowing(payload_bytes: list[float], regime: str, frames_per_s: float, queue: float) -> Sites:
    """Sites at which so many frames flow, and so many wait below the limit."""
    where = sites(payload_bytes, [["one", regime]] * len(payload_bytes))
    full = np.full(len(where), frames_per_s)
    return replace(where, frames_per_s=full, queue=np.full(len(where), queue))


def together(*some: Sites) -> Sites:
    """Some sites after others."""
    columns = (np.concatenate([getattr(one, f.name) for one in some]) for f in fields(Sites))
    return Sites(*columns)


def test_what_waits_at_the_limit_is_a_full_buffer_and_below_it_a_queue() -> None:
    sizes = [64.0, 256.0, 1024.0, 4096.0, 16384.0]
    slow, fast = (flowing(sizes, "unlimited", fps, 0.0) for fps in (1e4, 5e4))
    light, heavy = (flowing(sizes, "limited", 1e3, queue) for queue in (0.1, 9.0))
    where = together(slow, fast, light, heavy)
    frame, byte = 1e-5, 1e-9
    limit = where.labels[:, -1] == "unlimited"
    buffer = (20 + 2e5 / where.payload_bytes) / where.frames_per_s
    waits = np.where(limit, buffer, 3e-6 * where.queue)
    time = frame + byte * where.payload_bytes + waits
    found = Mechanism(QUEUE, where, np.log(time))
    assert found.at(where).log_time == pytest.approx(np.log(time), abs=1e-3)
    asked = flowing([2048.0], "overload", 2e4, 0.0)
    expected = frame + byte * 2048 + (20 + 2e5 / 2048) / 2e4
    assert np.exp(found.at(asked).log_time)[0] == pytest.approx(expected, rel=1e-2)


def test_hosts_at_their_limit_have_costs_of_their_own_from_five_rows_on() -> None:
    sizes = [64.0, 256.0, 1024.0, 4096.0, 16384.0]
    below, at_limit = (flowing(sizes, regime, 1e3, 0.0) for regime in ("limited", "unlimited"))
    where = together(below, at_limit)
    frame = np.where(where.labels[:, -1] == "limited", 4e-6, 1e-6)
    time = frame + 1e-9 * where.payload_bytes + 2e-7 * where.packets
    found = Mechanism(COSTS, where, np.log(time))
    assert found.costs("one", full=False) == pytest.approx([4e-6, 1e-9, 2e-7], rel=1e-6)
    assert found.costs("one", full=True) == pytest.approx([1e-6, 1e-9, 2e-7], rel=1e-6)
    assert found.parameters == 6
    few = together(below, at_limit.take(np.arange(4)))
    shared = Mechanism(COSTS, few, np.log(time[:9]))
    assert shared.costs("one", full=True) == shared.costs("one")
    assert Mechanism(CONSTANT, where, np.log(time)).parameters == 1


def test_shares_say_how_log_time_changes_with_log_costs() -> None:
    where = sites(PAYLOADS)
    found = Mechanism(COSTS, where, np.log(2e-6 + 3e-10 * where.payload_bytes))
    shares = found.at(where).shares
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert shares[:, 1] == pytest.approx(
        3e-10 * where.payload_bytes / (2e-6 + 3e-10 * where.payload_bytes), abs=1e-6
    )


@given(
    arrays(np.float64, (6, 3), elements=st.floats(0.1, 10)),
    arrays(np.float64, 6, elements=st.floats(-5, 5)),
)
def test_non_negative_least_squares_meets_its_conditions(
    matrix: np.ndarray, target: np.ndarray
) -> None:
    x = non_negative(matrix, target)
    gradient = matrix.T @ (target - matrix @ x)
    assert (x >= 0).all()
    assert (gradient <= 1e-6 * np.abs(matrix).sum()).all()
    assert np.abs(gradient[x > 1e-9]).max(initial=0.0) <= 1e-6 * np.abs(matrix).sum()


def test_costs_are_never_negative_even_where_times_fall_with_the_payload() -> None:
    where = sites([64, 256, 1024, 4096, 8192])
    costs = Mechanism(COSTS, where, np.log([4e-6, 3e-6, 2e-6, 1e-6, 1e-6])).costs("one")
    assert min(costs) >= 0
