"""Curves on shared cells, against each curve asked at its payloads one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icmodel.arrays import Floats
from icmodel.estimate import BASES
from icmodel.tables import Curve
from icmodel.tables.bilinear import EXTRAPOLATED, INTERPOLATED, on_cells
from icmodel.tables.curves import left_knots, payload_knots
from search import times

MEASURED, STATED = BASES.index("measured"), BASES.index("stated")


def curve(load: float, payloads: list[int], row: int, *, bent: bool = False) -> Curve:
    """A curve of random values, in rows counted from ``row``."""
    rng = np.random.default_rng(row)
    value = rng.uniform(1, 2, len(payloads))
    return Curve(
        load_bps=load,
        payload_bytes=np.array(payloads, dtype=float),
        ends=np.stack([value, 0.9 * value, 1.2 * value]),
        basis=np.where(rng.random(len(payloads)) < 0.5, MEASURED, STATED).astype(np.int8),
        rows=np.arange(row, row + len(payloads), dtype=np.int64),
        between=rng.uniform(0, 1, len(payloads) - 1) if bent else None,
    )


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True).map(sorted)


@st.composite
def curves(draw: st.DrawFn) -> list[Curve]:
    sizes = draw(st.lists(SIZES, min_size=1, max_size=4))
    return [
        curve(100.0 * (k + 1), own, 10 * k, bent=draw(st.booleans())) for k, own in enumerate(sizes)
    ]


def shared(every: list[Curve]) -> Floats:
    return payload_knots([c.payload_bytes.tolist() for c in every], [7.0, 33.0])


@given(curves())
@settings(max_examples=times(30))
def test_every_cell_holds_the_polynomial_of_each_curve(every: list[Curve]) -> None:
    knots = shared(every)
    cells, left = on_cells(every, knots), left_knots(knots)
    assert cells.load_bps.tolist() == [c.load_bps for c in every]
    for k, one in enumerate(every):
        for cell in np.flatnonzero(cells.inside[k]):
            right = knots[cell] if cell < len(knots) else left[cell] + 1
            for share in (0.0, 0.3, 0.9):
                above = share * (right - left[cell])
                told = np.array([1.0, above, above**2]) @ cells.terms[:, :, k, cell]
                assert told == pytest.approx(one.at(left[[cell]] + above)[:, 0], rel=1e-9)


@given(curves())
@settings(max_examples=times(30))
def test_rows_and_bases_are_those_of_the_points_beside(every: list[Curve]) -> None:
    knots = shared(every)
    cells, left = on_cells(every, knots), left_knots(knots)
    for k, one in enumerate(every):
        own = one.payload_bytes.tolist()
        inside = [own[0] <= payload <= own[-1] for payload in left.tolist()]
        assert cells.inside[k].tolist() == [False, *inside[1:]]
        for cell in np.flatnonzero(cells.inside[k]).tolist():
            before = max(j for j, payload in enumerate(own) if payload <= left[cell])
            behind = min(before + 1, len(own) - 1)
            assert cells.rows[:, k, cell].tolist() == one.rows[[before, behind]].tolist()
            off = max(INTERPOLATED, *one.basis[[before, behind]].tolist())
            on = int(one.basis[before]) if own[before] == left[cell] else off
            assert cells.basis[:, k, cell].tolist() == [off, on]


def test_a_row_without_a_payload_holds_in_every_cell_and_is_extrapolated() -> None:
    cells = on_cells([replace(curve(1.0, [1], 4), anywhere=True)], np.array([5.0, 9.0]))
    assert cells.inside.all()
    assert (cells.basis == EXTRAPOLATED).all()
    assert (cells.rows == 4).all()


@given(curves())
@settings(max_examples=times(20))
def test_among_others_a_curve_has_the_same_bits_as_alone(every: list[Curve]) -> None:
    knots = shared(every)
    together = on_cells(every, knots)
    for k, one in enumerate(every):
        alone = on_cells([one], knots)
        assert np.array_equal(together.terms[:, :, k], alone.terms[:, :, 0])
        assert np.array_equal(together.basis[:, k], alone.basis[:, 0])
        assert np.array_equal(together.rows[:, k], alone.rows[:, 0])
    curve_of, cell = np.arange(len(every)), np.arange(len(every)) % together.inside.shape[1]
    picked = together.at(curve_of, cell)
    assert np.array_equal(picked.terms, together.terms[:, :, curve_of, cell])
    assert np.array_equal(picked.rows, together.rows[:, curve_of, cell])
