"""Rates, losses and waiting times of flows that share resources, computed on arrays of numbers without names."""

SAME = 1e-9
"""Relative tolerance within which two rates, loads or times count as equal."""
FULL = 1 - SAME
"""Least ratio of load to capacity at which a resource counts as full."""
