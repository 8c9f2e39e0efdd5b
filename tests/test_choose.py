"""Choosing by bits gives what np.where gives, to the bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from icmodel.model.choose import blank, chosen, mask

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
ROWS = st.lists(st.tuples(st.booleans(), NUMBERS, NUMBERS), min_size=1, max_size=40)


@given(ROWS)
def test_chosen_is_where(rows: list[tuple[bool, float, float]]) -> None:
    where = np.array([row[0] for row in rows])
    yes, no = (np.array([row[k] for row in rows]) for k in (1, 2))
    found = chosen(mask(where), yes, no)
    assert found.view(np.int64).tolist() == np.where(where, yes, no).view(np.int64).tolist()


@given(ROWS)
def test_blank_puts_nan_and_leaves_the_rest(rows: list[tuple[bool, float, float]]) -> None:
    where = np.array([row[0] for row in rows])
    values = np.array([row[1] for row in rows])
    blanked = values.copy()
    blank(mask(where), blanked)
    assert np.isnan(blanked[where]).all()
    assert blanked[~where].view(np.int64).tolist() == values[~where].view(np.int64).tolist()
