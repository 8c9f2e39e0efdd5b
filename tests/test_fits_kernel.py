"""Kernels: covariances are ones, and their slopes are those of small steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fits_case import sites
from icmodel.fits.kernel import (
    JOINED,
    NUMBERS,
    PRODUCT,
    Covariance,
    Distances,
    Kernel,
    MeasuredSites,
    groups_of,
    variance,
)
from icmodel.fits.observations import Sites

FORMS = st.sampled_from((PRODUCT, JOINED))


def mixed(payloads: list[int]) -> Sites:
    """Sites of two protocols and three options in turn."""
    labels = [["ab"[k % 2], "xyz"[k % 3]] for k in range(len(payloads))]
    loads = np.exp2(np.arange(len(payloads), dtype=np.float64) % 4)
    return replace(sites(payloads, labels), load_bps=loads)


def shares(count: int) -> np.ndarray:
    """Shares of three costs."""
    raw = np.abs(np.sin(np.arange(3.0 * count) + 1)).reshape(count, 3)
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


@given(
    st.lists(st.integers(1, 100_000), min_size=2, max_size=12, unique=True),
    FORMS,
    st.sampled_from((0.0, 0.5, 2.0)),
    st.sampled_from((0.001, 0.3, 20.0)),
)
def test_every_covariance_is_one(payloads: list[int], form: str, jump: float, far: float) -> None:
    where = mixed(payloads)
    groups = groups_of(where)[form]
    kernel = Kernel(form, jump=jump, label_distances=dict.fromkeys(groups, far))
    parts = shares(len(where))
    found = Covariance(
        kernel, MeasuredSites(where, groups).distances(where), parts @ parts.T
    ).values
    assert found == pytest.approx(found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-8
    assert np.diag(found) == pytest.approx(variance(kernel, parts))


@pytest.mark.parametrize("form", [PRODUCT, JOINED])
def test_slopes_are_those_of_small_steps(form: str) -> None:
    where = mixed([16, 100, 1000, 1500, 3000, 9000])
    groups = groups_of(where)[form]
    apart, parts = MeasuredSites(where, groups).distances(where), shares(6)
    kernel = Kernel(form).on(groups)
    outer = np.cos(np.arange(36.0)).reshape(6, 6)
    outer = outer + outer.T
    told = Covariance(kernel, apart, parts @ parts.T).slopes(outer)
    numbers, step = kernel.numbers(), 1e-6
    for k in range(len(numbers)):
        if k == NUMBERS.index("noise"):
            continue
        both = []
        for sign in (1, -1):
            moved = numbers.copy()
            moved[k] *= np.exp(sign * step)
            values = Covariance(kernel.with_numbers(moved), apart, parts @ parts.T).values
            both.append(float((outer * values).sum()))
        assert told[k] == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-4, abs=1e-6)


def test_a_kernel_takes_what_it_knows_to_other_labels() -> None:
    known = Kernel(label_distances={(0, ""): 0.7}).on(((0, ""), (1, "")))
    assert known.label_distances[0, ""] == 0.7
    assert known.label_distances[1, ""] == Kernel().on(((1, ""),)).label_distances[1, ""]
    assert known.with_numbers(known.numbers()) == known


# --- distances ---


WHERE = sites([16, 64, 4096], [["tcp", "x"], ["tcp", "y"], ["udp", "x"]])
GROUPS = groups_of(WHERE)


def test_labels_differ_by_column_or_where_one_site_alone_has_a_label() -> None:
    asked = sites([16, 16], [["tcp", "x"], ["sctp", "y"]])
    differ = MeasuredSites(WHERE, (*GROUPS[PRODUCT], *GROUPS[JOINED])).distances(asked).differ
    assert differ[0, ""].tolist() == [[0, 0, 1], [1, 1, 1]]
    assert differ[1, ""].tolist() == [[0, 1, 0], [1, 0, 1]]
    assert differ[0, "udp"].tolist() == [[0, 0, 1], [0, 0, 1]]
    assert differ[1, "y"].tolist() == [[0, 1, 0], [1, 0, 1]]


def test_a_group_in_which_none_differ_is_left_out() -> None:
    one = WHERE.take(np.array([0]))
    assert set(MeasuredSites(one, GROUPS[JOINED]).distances(WHERE.take(np.array([1]))).differ) == {
        (1, "x"),
        (1, "y"),
    }


def test_distances_are_octaves_and_those_of_payload_have_a_sign() -> None:
    asked = replace(sites([32, 8192]), load_bps=np.array([4.0, 0.5]))
    apart = MeasuredSites(sites([64, 1448]), ()).distances(asked)
    assert apart.payload[:, 0] == pytest.approx([-1, 7])
    assert apart.offered[:, 0] == pytest.approx([2, 1])
    assert apart.broken[:, 0].tolist() == [0, 1]


def test_as_fast_as_it_goes_is_beside_the_limit_that_is_carried_as_well() -> None:
    known = replace(sites([1000]), load_bps=np.array([8e6]), frames_per_s=np.array([1e3]))
    unlimited = replace(sites([1000, 1000]), frames_per_s=np.array([1e3, 4e3]))
    apart = MeasuredSites(known, ()).distances(unlimited)
    assert apart.offered[:, 0] == pytest.approx([np.log2(8e6)])
    assert apart.throughput[:, 0] == pytest.approx([0, 2])


def test_where_no_flow_is_known_what_was_asked_counts() -> None:
    known = replace(sites([64, 64]), load_bps=np.array([1.0, 8.0]))
    apart = MeasuredSites(known, ()).distances(known)
    assert apart.throughput.tolist() == apart.offered.tolist() == [[0, 3], [3, 0]]


def test_sites_that_differ_in_payload_alone_share_a_row_of_the_rest() -> None:
    apart = MeasuredSites(WHERE, GROUPS[PRODUCT]).distances(sites([1, 2, 3, 4], [["tcp", "x"]] * 4))
    assert apart.payload.shape == (4, 3)
    assert apart.offered.shape == (1, 3)
    assert {differ.shape for differ in apart.differ.values()} == {(1, 3)}


MIXED = replace(
    sites(
        [64, 16, 64, 4096, 64, 4096],
        [["tcp", "x"], ["udp", "x"], ["tcp", "y"], ["udp", "y"], ["udp", "x"], ["tcp", "x"]],
    ),
    packets=np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0]),
)
"""Payloads that repeat, one of them in two packets by one protocol and in one by the other."""
EVERY = (*GROUPS[PRODUCT], *GROUPS[JOINED])


def check_pairs(apart: Distances, count: int) -> None:
    """Vectors of the lower triangle hold what matrices of distances between the same sites do."""
    rows, columns = np.tril_indices(count)
    pairs = apart.of_pairs(rows, columns)
    for name in ("payload", "broken"):
        matrix = apart.along(getattr(apart, name))
        assert pairs.along(getattr(pairs, name)).tolist() == matrix[rows, columns].tolist()
    for name in ("offered", "throughput", "positions_differ"):
        matrix = np.broadcast_to(getattr(apart, name), (count, count))
        assert getattr(pairs, name).tolist() == matrix[rows, columns].tolist()
    for group, matrix in apart.differ.items():
        expected = np.broadcast_to(matrix, (count, count))[rows, columns]
        assert pairs.differ[group].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "where", [WHERE, MIXED, sites([1, 2, 3], [["tcp", "x"]] * 3), WHERE.take(np.array([1]))]
)
def test_vectors_of_pairs_are_those_of_the_matrix(where: Sites) -> None:
    """Of sites of one curve too, whose loads and labels are one row for all."""
    check_pairs(MeasuredSites(where, EVERY).distances(where), len(where))


@pytest.mark.parametrize("rows", [[0, 2], [1, 3, 4], [0, 1, 2, 3, 4, 5]])
def test_a_part_has_the_distances_of_its_sites_and_groups(rows: list[int]) -> None:
    apart, own = MeasuredSites(MIXED, EVERY).distances(MIXED), np.array(rows)
    part = apart.part(own, own, EVERY)
    for name in ("payload", "broken"):
        matrix = apart.along(getattr(apart, name))[np.ix_(own, own)]
        assert part.along(getattr(part, name)).tolist() == matrix.tolist()
    assert part.positions_differ.tolist() == apart.positions_differ[np.ix_(own, own)].tolist()
    for group, matrix in apart.differ.items():
        assert part.differ[group].tolist() == matrix[np.ix_(own, own)].tolist()
    check_pairs(part, len(rows))
    some = apart.part(np.array([0, 2]), np.array([0, 2]), GROUPS[PRODUCT])
    assert set(some.differ) == set(GROUPS[PRODUCT])
