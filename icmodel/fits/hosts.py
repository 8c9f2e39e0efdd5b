"""Scale predictions to another line rate or processor clock.

Wire time scales with the line rate, host time with the clock.  The time per frame is the longer
of host time and wire time.  A latency is the sum of both, minus the host time that a slower wire
hides.  Wire time comes from theory.  If the wire is the limit, the utilisation law gives the host
time: utilisation × time per frame.  Frames of a saturated stream on a slower wire wait in the
sender's buffers, which hold a number of bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.buffers import Saturated
from icmodel.fits.observations import Sites
from icmodel.fits.regimes import UNLIMITED
from icmodel.scenario import Hosts

Floats = NDArray[np.float64]

ON_WIRE = 1.02
"""Ratio of time per frame to theory's least time, up to which the wire counts as the limit."""
CHANGE_WIDENING, DISTANCE_WIDENING = 0.5, 0.1
"""Fractions by which intervals widen for other hosts (assumed).

The first applies to |log change of the metric|, the second to |log clock ratio| + |log rate ratio|.
Their sum is added to the log half-width.
"""
LATENCY = "latency_"
"""Prefix of the names of one-way latencies, to which Little's law applies."""


@dataclass(frozen=True, slots=True)
class FrameTimes:
    """Time per frame [s] at full speed, (n,), on the dataset's hosts and on other hosts.

    ``here_s`` is the time on the dataset's hosts, ``there_s`` on the other hosts.  ``fastest_s`` is
    the least possible ``there_s``.  If the wire is the limit and no utilisation is known, it is the
    time of the new wire.  ``old`` and ``new`` are the sites on the dataset's link and on the other
    link.  ``saturated`` describes the sender's buffers, if the wire is slower and the buffers are
    known.
    """

    here_s: Floats
    there_s: Floats
    fastest_s: Floats
    old: Sites
    new: Sites
    hosts: Hosts
    saturated: Saturated | None = None


def frame_times(here_s: Floats, busy: Floats, old: Sites, new: Sites, hosts: Hosts) -> FrameTimes:
    """Compute the times per frame at full speed on the dataset's hosts and on other hosts.

    Parameters
    ----------
    here_s : array (n,)
        Time per frame on the dataset's hosts [s].
    busy : array (n,)
        Processor utilisation of the busier host, from 0 to 1; NaN if unknown.
    old, new : Sites
        The same sites on the dataset's link and on the other link.
    hosts : Hosts
        Line rate and processor clock of the other hosts.
    """
    here_s = np.maximum(here_s, old.least_s)
    by_wire = here_s <= ON_WIRE * old.least_s
    share = np.where(by_wire & ~np.isnan(busy), np.clip(busy, 0.0, 1.0), 1.0)
    there_s = np.maximum(here_s * share / hosts.cpu_clock_ratio, new.least_s)
    fastest_s = np.where(by_wire & np.isnan(busy), new.least_s, there_s)
    return FrameTimes(here_s, there_s, fastest_s, old, new, hosts)


def scale_to_hosts(
    metric: str, regime: str, ends: Floats, times: FrameTimes, own_bps: float | None
) -> Floats:
    """Scale value, low and high of a metric, ``ends`` (3, n), to other hosts.

    ``regime`` is that of the rows, such as ``unlimited``.  ``own_bps`` is the dataset's line rate.
    """
    if metric.startswith(LATENCY) and regime == UNLIMITED and times.saturated is not None:
        # Little's law: latency = content of the sender's buffers / goodput.
        payload = times.new.payload_bytes
        statistic = metric.removeprefix(LATENCY).removesuffix("_s")
        own, new = payload / times.here_s, payload / times.there_s
        return times.saturated.latency_s(statistic, ends, payload, own, new)
    is_time = metric.endswith("_s") and regime != UNLIMITED
    if is_time:
        found = np.stack([_time_below_capacity(metric, end, times) for end in ends])
        found[2] += _hidden_s(metric, ends[2], times)  # for the high, no host time is hidden
    else:
        found = ends * factor(metric, regime, ends[0], times)
    ratio = np.divide(found[0], ends[0], out=np.ones_like(ends[0]), where=ends[0] > 0)
    # Theory gives the time that a slower wire adds; any other change is uncertain.
    known = (is_time or metric == "goodput_bps") and times.hosts.cpu_clock_ratio == 1.0
    uncertain = ~(known & (times.new.least_s > times.old.least_s))
    wider = np.exp(widening(ratio, times.hosts, own_bps, uncertain=np.asarray(uncertain)))
    found = np.stack([found[0], found[1] / wider, found[2] * wider])
    if metric == "goodput_bps":
        by_wire = times.new.least_s > times.here_s
        found[1] = np.where(by_wire, np.fmin(found[0] / ON_WIRE, ends[1]), found[1])
    if metric == "loss_rate":  # a receiver that keeps up may still lose as much as before
        found[2] = np.fmax(found[2], ends[2])
    return found


def factor(metric: str, regime: str, value: Floats, times: FrameTimes) -> Floats:
    """Ratio (n,) of a metric on other hosts to its ``value`` (n,) on the dataset's hosts.

    Latencies below capacity need `_time_below_capacity` instead.
    """
    speed_up = times.here_s / times.there_s
    if metric.endswith(("_bps", "_per_s")):
        return speed_up
    if metric.startswith("cpu_"):
        flowing = speed_up if regime == UNLIMITED else np.ones_like(value)
        return flowing / times.hosts.cpu_clock_ratio
    if metric.endswith("_s"):
        return 1 / speed_up
    if metric == "loss_rate" and regime == UNLIMITED:
        # The receiver takes as many frames a second as before; a slower wire delivers fewer.
        takes = 1 / times.here_s
        arriving = np.minimum(takes / np.maximum(1 - value, 1e-9), 1 / times.new.least_s)
        slower = times.new.least_s > times.old.least_s
        lost = np.where(slower, np.maximum(1 - takes / arriving, 0.0), value)
        return np.divide(lost, value, out=np.ones_like(value), where=value > 0)
    return np.ones_like(value)


def _crossings(metric: str) -> int:
    """Number of wire crossings in a latency: 2 for a round trip, 0 for a deviation, otherwise 1."""
    if metric.endswith("_std_s"):
        return 0
    return 2 if metric.startswith("rtt_") and not metric.startswith("rtt_half_") else 1


def _time_below_capacity(metric: str, value: Floats, times: FrameTimes) -> Floats:
    """Scale a latency below capacity: its host time by the clock, its wire time by the line rate.

    While a slower wire sends one packet of a frame, the hosts work on the other packets.
    """
    wire_s, host_s = _parts(metric, value, times)
    old_s, new_s = (_crossings(metric) * one.wire_s for one in (times.old, times.new))
    share = np.divide(wire_s, old_s, out=np.ones_like(value), where=old_s > 0)
    return host_s + new_s * share - _hidden_s(metric, value, times)


def _parts(metric: str, value: Floats, times: FrameTimes) -> tuple[Floats, Floats]:
    """Split a latency below capacity into the dataset's wire time and the new host time [s]."""
    wire_s = np.minimum(value, _crossings(metric) * times.old.wire_s)
    return wire_s, (value - wire_s) / times.hosts.cpu_clock_ratio


def _hidden_s(metric: str, value: Floats, times: FrameTimes) -> Floats:
    """Host time [s] that a slower wire hides: hosts and wire work on different packets.

    It is (1 − 1 / packets) × min(host time, added wire time).
    """
    _, host_s = _parts(metric, value, times)
    longer_s = np.maximum(_crossings(metric) * (times.new.wire_s - times.old.wire_s), 0.0)
    return np.asarray((1 - 1 / times.new.packets) * np.minimum(host_s, longer_s))


def widening(
    ratio: Floats, hosts: Hosts, own_bps: float | None, *, uncertain: NDArray[np.bool_]
) -> Floats:
    """Log half-width (n,) by which intervals grow for other hosts or another line rate.

    It is a fraction of the distance to the other hosts.  If a metric's own change is uncertain
    (``uncertain``), a fraction of that change is added.

    Parameters
    ----------
    ratio : array (n,)
        Ratio of the metric on other hosts to the metric on the dataset's hosts.
    own_bps : float, optional
        Line rate of the dataset [b/s].
    uncertain : array of bool (n,)
        Whether the change of the metric is uncertain.
    """
    distance = abs(math.log(hosts.cpu_clock_ratio))
    if hosts.line_rate_bps is not None and own_bps is not None:
        distance += abs(math.log(hosts.line_rate_bps / own_bps))
    change = np.where(uncertain, np.abs(np.log(np.maximum(ratio, 1e-12))), 0.0)
    return np.asarray(CHANGE_WIDENING * change + DISTANCE_WIDENING * distance)
