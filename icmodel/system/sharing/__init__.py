"""Rates, losses and waits of flows over shared resources, in pure numbers (arrays without names)."""

SAME = 1e-9
"""Relative tolerance: two rates, loads or times that differ by less are equal."""
FULL = 1 - SAME
"""Load ratio from which a resource counts as full."""
