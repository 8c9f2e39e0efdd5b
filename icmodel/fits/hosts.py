"""What another line rate or another processor clock changes: the wire's part and the host's part.

A time a frame is the longer of what the host takes and what the wire takes; a latency is their sum.
The wire's part is theory's and goes with the line rate, the host's with the clock.  Where the wire
hid how fast the host is, the utilisation law says it: a host that is busy for a share of the time
takes that share of the time a frame.
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
"""Up to this multiple of theory's least time a frame the wire is the limit."""
OF_CHANGE, OF_DISTANCE = 0.5, 0.1
"""Half-width in log: this share of the change, and this of log(rate ratio) and log(clock); assumed."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Time a frame at some sites, on the dataset's hosts and on others [s].

    ``fastest_s`` is shorter than ``there_s`` where the wire hid how fast the host is.  ``old`` and ``new``
    are the sites on the dataset's link and on the asked one.
    """

    here_s: Floats
    there_s: Floats
    fastest_s: Floats
    old: Sites
    new: Sites
    hosts: Hosts


def frames(here_s: Floats, busy: Floats, old: Sites, new: Sites, hosts: Hosts) -> Frames:
    """Times a frame at full speed.

    Parameters
    ----------
    here_s : array
        On the dataset's hosts [s].
    busy : array
        Share of that time the busier host's processor works; NaN where not known.
    old, new : Sites
        The same sites on the dataset's link and on the asked one.
    """
    here_s = np.maximum(here_s, old.least_s)
    by_wire = here_s <= ON_WIRE * old.least_s
    share = np.where(by_wire & ~np.isnan(busy), np.clip(busy, 0.0, 1.0), 1.0)
    there_s = np.maximum(here_s * share / hosts.cpu_clock_ratio, new.least_s)
    fastest_s = np.where(by_wire & np.isnan(busy), new.least_s, there_s)
    return Frames(here_s, there_s, fastest_s, old, new, hosts)


def factor(metric: str, regime: str, value: Floats, frame: Frames) -> Floats:
    """What a metric is multiplied by on other hosts."""
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
    """A latency of a load that is carried: the host's part goes with the clock, the wire's with its rate."""
    crossings = 0 if metric.endswith("_std_s") else 1
    if metric.startswith("rtt_") and not metric.startswith("rtt_half_"):
        crossings *= 2
    host_s = np.maximum(value - crossings * frame.old.wire_s, 0.0) / frame.hosts.cpu_clock_ratio
    changed = host_s + crossings * frame.new.wire_s
    return np.divide(changed, value, out=np.ones_like(value), where=value > 0)


def widening(multiplied: Floats, hosts: Hosts, own_bps: float | None) -> Floats:
    """What the half-width in log grows by."""
    distance = abs(math.log(hosts.cpu_clock_ratio))
    if hosts.line_rate_bps is not None and own_bps is not None:
        distance += abs(math.log(hosts.line_rate_bps / own_bps))
    change = np.abs(np.log(np.maximum(multiplied, 1e-12)))
    return np.asarray(OF_CHANGE * change + OF_DISTANCE * distance)
