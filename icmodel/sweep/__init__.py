"""Sweeps: predictions for every combination of some parameters' values, in memory or in files."""

from icmodel.sweep.grid import LARGEST_SWEEP, Grid, grid_of, sweep
from icmodel.sweep.ranges import COUNTS, Axis, axes_of, is_textual, range_values
from icmodel.sweep.running import sweep_to_file

__all__ = [
    "COUNTS",
    "LARGEST_SWEEP",
    "Axis",
    "Grid",
    "axes_of",
    "grid_of",
    "is_textual",
    "range_values",
    "sweep",
    "sweep_to_file",
]
