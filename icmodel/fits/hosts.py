"""Scale predictions to another line rate or processor clock: the wire's part by the rate, the host's by the clock.

The time per frame is the longer of the host's and the wire's; a latency is their sum.  The wire's part is
theory's.  Where the wire is the limit, the utilisation law gives the host's part: a host that is busy for a
share of the time needs that share of the time per frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites
from icmodel.fits.regimes import UNLIMITED
from icmodel.scenario import Hosts

Floats = NDArray[np.float64]

ON_WIRE = 1.02
"""The wire is the limit up to this multiple of theory's least time per frame."""
OF_CHANGE, OF_DISTANCE = 0.5, 0.1
"""Added half-width in log: this share of the change of the metric, and of |log(rate or clock ratio)|; assumed."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Time per frame at some sites, on the dataset's hosts and on others [s].

    ``fastest_s`` is the least that ``there_s`` may be: where the wire is the limit and no utilisation is known, the
    hosts may be as fast as the new wire.  ``old`` and ``new`` are the sites on the dataset's link and on the other one.
    """

    here_s: Floats
    there_s: Floats
    fastest_s: Floats
    old: Sites
    new: Sites
    hosts: Hosts


def frames(here_s: Floats, busy: Floats, old: Sites, new: Sites, hosts: Hosts) -> Frames:
    """Times per frame at full speed.

    Parameters
    ----------
    here_s : array
        On the dataset's hosts [s].
    busy : array
        Utilisation of the busier host's processor; NaN where not known.
    old, new : Sites
        The same sites on the dataset's link and on the other one.
    """
    here_s = np.maximum(here_s, old.least_s)
    by_wire = here_s <= ON_WIRE * old.least_s
    share = np.where(by_wire & ~np.isnan(busy), np.clip(busy, 0.0, 1.0), 1.0)
    there_s = np.maximum(here_s * share / hosts.cpu_clock_ratio, new.least_s)
    fastest_s = np.where(by_wire & np.isnan(busy), new.least_s, there_s)
    return Frames(here_s, there_s, fastest_s, old, new, hosts)


def factor(metric: str, regime: str, value: Floats, frame: Frames) -> Floats:
    """The factor by which a metric changes on other hosts."""
    speed_up = frame.here_s / frame.there_s
    if metric.endswith(("_bps", "_per_s")):
        return speed_up
    clock = frame.hosts.cpu_clock_ratio
    if metric.startswith("cpu_"):
        return (speed_up if regime == UNLIMITED else np.ones_like(value)) / clock
    if metric.endswith("_s"):
        return 1 / speed_up if regime == UNLIMITED else _times(metric, value, frame)
    return np.ones_like(value)


def _times(metric: str, value: Floats, frame: Frames) -> Floats:
    """The factor of a latency below capacity: the host's part scales with the clock, the wire's with its rate."""
    crossings = 0 if metric.endswith("_std_s") else 1
    if metric.startswith("rtt_") and not metric.startswith("rtt_half_"):
        crossings *= 2
    host_s = np.maximum(value - crossings * frame.old.wire_s, 0.0) / frame.hosts.cpu_clock_ratio
    changed = host_s + crossings * frame.new.wire_s
    return np.divide(changed, value, out=np.ones_like(value), where=value > 0)


def widening(multiplied: Floats, hosts: Hosts, own_bps: float | None) -> Floats:
    """What is added to the half-width in log."""
    distance = abs(math.log(hosts.cpu_clock_ratio))
    if hosts.line_rate_bps is not None and own_bps is not None:
        distance += abs(math.log(hosts.line_rate_bps / own_bps))
    change = np.abs(np.log(np.maximum(multiplied, 1e-12)))
    return np.asarray(OF_CHANGE * change + OF_DISTANCE * distance)
