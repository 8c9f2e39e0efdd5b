"""Mechanisms: costs that are found again, never negative, and whose shares add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hybrid_case import PAYLOADS, SEND, sites
from icmodel.hybrid.mechanism import COSTS, Mechanism, non_negative


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
    assert (costs >= 0).all()
