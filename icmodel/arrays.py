"""Names for the kinds of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int8]
"""Indices into a tuple of names, such as the bases of `icmodel.estimate`."""
