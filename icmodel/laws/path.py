"""Switches and cable between the hosts, and theory's least time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from icmodel.arrays import Floats, if_else
from icmodel.tables import Look


@lru_cache(maxsize=256)
def traversals(metric: str) -> int:
    """How often each switch and cable is crossed: 2 for a round trip, 1 one way, 0 for a standard deviation."""
    if metric.endswith("_std_s"):
        return 0
    if metric.startswith(("rtt_half_", "latency_")):
        return 1
    return 2 if metric.startswith("rtt_") else 0


@lru_cache(maxsize=256)
def is_one_way(metric: str) -> bool:
    """Whether a metric is a one-way latency, for which theory's least time is a bound."""
    return metric.startswith("latency_") and not metric.endswith("_std_s")


def switches_s(look: Look, metrics: Sequence[str]) -> Floats:
    """Time of the switches beyond those of the rows, one way [s], (metrics, n) or (metrics, 1); NaN without a rule.

    ``switch_latency`` for each switch (IC2012 §7.1.2).
    """
    if not look.q.switches.any():
        return np.zeros((len(metrics), 1))
    latency_s = look.tables.link.switch_latency_s
    beyond = look.q.switches - look.switches(metrics)
    if latency_s is None:
        return if_else(beyond > 0, np.nan, 0.0)
    return np.maximum(beyond, 0) * latency_s


def cable_s(look: Look) -> Floats:
    """Propagation in the cable beyond the dataset's own [s], (n,); errata E19."""
    return look.q.extra_distance_m * (look.tables.link.propagation_s_per_m or 0.0)


def least_s(look: Look) -> Floats:
    """Theory's least one-way time over the measured cable [s], (n,): a lone frame's, and propagation."""
    link = look.tables.link
    propagation = (link.cable_length_m or 0.0) * (link.propagation_s_per_m or 0.0)
    return look.q.frames.lone_s + propagation


def add_path(found: Floats, metrics: Sequence[str], path_s: Floats) -> None:
    """Add to metrics (metrics, ends, n) the paths (metrics, n) [s] that they cross, in place."""
    if not path_s.any():
        return
    for ends, metric, once_s in zip(found, metrics, path_s, strict=True):
        if times := traversals(metric):
            ends += times * once_s
