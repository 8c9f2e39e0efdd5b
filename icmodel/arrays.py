"""Types of arrays, and a faster ``np.where``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int8]
"""Type of an array of indices into a tuple of names, such as the bases of `icmodel.estimate`."""

FEW = 1000
"""Number of elements up to which ``np.where`` is as fast as `fast_where`."""


def fast_where(chosen: Bools, one: ArrayLike, other: ArrayLike) -> NDArray[Any]:
    """Choose between two arrays by a mask, as ``np.where`` does, but faster.

    For masks in random order it is three times as fast.  NumPy's loop branches at each element, and mispredicted
    branches cost most of its time.  This function chooses numbers of 64 bits without branches:
    ``other ^ ((one ^ other) & mask)``.  If the mask is the same for all elements, the chosen array is copied.

    Examples
    --------
    >>> import numpy as np
    >>> fast_where(np.array([True, False]), 1.0, np.nan).tolist()
    [1.0, nan]
    """
    if chosen.size < FEW or (kind := np.result_type(one, other)).itemsize != 8:
        return np.where(chosen, one, other)
    for part, only in ((one, chosen.all()), (other, not chosen.any())):
        if only:
            shape = np.broadcast_shapes(chosen.shape, np.shape(one), np.shape(other))
            return np.broadcast_to(np.asarray(part, dtype=kind), shape).copy()
    mask = chosen.astype(np.int64)
    np.negative(mask, out=mask)
    first, second = (np.asarray(part, dtype=kind).view(np.int64) for part in (one, other))
    found: NDArray[Any] = (first ^ second) & mask
    found ^= second
    return found.view(kind)
