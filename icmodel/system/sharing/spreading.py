"""What waits change where a frame of several packets arrives over a link, packet by packet, and not at once.

`icmodel.system.sharing.periodic` has every burst arrive at one moment.  A frame that comes over a link no
faster than needed takes a time a from its first packet to its last, and is done when its last packet is
served.  Meanwhile the port works without a pause, since the frame's own packets come at least as fast as
they are served.  So its last packet waits for what others had queued when the first came, and for all that
they send in the time a.  With W the wait for bursts at one moment, ρ_j the load and b_j the time of the
frames of j, the mean is

    W + Σ_j ρ_j (a − a_j / 2),

since of a frame of j that is under way a_j / 2 has not come yet on average.  For two streams it is exact:
what one frame of j adds, when it begins s after the frame's first packet, is

    x(s) = min(b_j, b_j + s) − b_j max(0, 1 − (a − s)/a_j),   −b_j < s < a,

whose integral is that term, and whose square replaces ρ_j b_j² / 3 in the variance.  For several it is the
first order of the variance, whose growth with the load is taken over from bursts (assumed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.system.sharing.periodic import Arrivals

NODES = 24
"""Of the integral over s, by Gauss and Legendre, on each side of 0."""
DIGITS = 3
"""Significant digits of a within which frames are taken as alike."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What changes for each entry, arrays (entries,).

    ``later_s`` adds to the mean wait [s]; ``variance_ratio`` multiplies its variance, and ``variance_s2`` adds to
    it; ``meanwhile_s`` is what others send while the frame's own packets come [s].
    """

    later_s: Floats
    variance_ratio: Floats
    variance_s2: Floats
    meanwhile_s: Floats


def spread(at: Arrivals, arrival_s: Floats) -> Spread:
    """What waits change for frames that arrive over a time.

    Parameters
    ----------
    at : Arrivals
        The same entries as for `icmodel.system.sharing.periodic.waits`.
    arrival_s : array (entries,)
        From the first packet of a frame to its last [s]; 0 where it comes at once.
    """
    entries = len(at.port)
    later, ratio, slips, meanwhile = (np.full(entries, value) for value in (0.0, 1.0, 0.0, 0.0))
    if not np.any(arrival_s > 0):
        return Spread(later, ratio, slips, meanwhile)
    at_once = at.load * at.burst_s**2 / 3
    alike = _rounded(arrival_s)
    for priority in np.unique(at.priority):
        urgent = at.priority >= priority
        for arrival in np.unique(alike[at.priority == priority]):
            asking = (at.priority == priority) & (alike == arrival)
            mean, square = _moments(at, arrival_s, arrival)
            before = _others(at, np.where(urgent, at_once, 0.0), asking)
            after = _others(at, np.where(urgent, square, 0.0), asking)
            ratio[asking] = np.divide(after, before, out=np.ones_like(after), where=before > 0)
            more = np.where(urgent, mean - at.load * at.burst_s / 2, 0.0)
            slips[asking] = _slipping(at, priority, arrival, asking)
            later[asking] = _others(at, more, asking) + slips[asking]
            meanwhile[asking] = arrival * _others(at, np.where(urgent, at.load, 0.0), asking)
    return Spread(later, np.maximum(ratio, 0.0), slips**2, meanwhile)


def _rounded(values: Floats) -> Floats:
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    return np.asarray(np.round(values * scale) / scale)


def _moments(at: Arrivals, arrival_s: Floats, own_s: float) -> tuple[Floats, Floats]:
    """Rate times the integrals of x and of its square over s, for frames of each entry, (entries,)."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    u = (points + 1) / 2
    frames_per_s = np.divide(at.load, at.burst_s, out=np.zeros_like(at.load), where=at.burst_s > 0)
    mean, square = np.zeros(len(at.port)), np.zeros(len(at.port))
    for begin, length in ((-at.burst_s, at.burst_s), (0.0 * at.burst_s, own_s + 0.0 * at.burst_s)):
        s = begin[:, None] + length[:, None] * u
        found = _found(at.burst_s[:, None], arrival_s[:, None], own_s, s)
        mean += (found * weights / 2).sum(1) * length
        square += (found**2 * weights / 2).sum(1) * length
    return frames_per_s * mean, frames_per_s * square


def _found(burst_s: Floats, arrival_s: Floats, own_s: float, s: Floats) -> Floats:
    """x(s): what a frame that begins s later adds to the wait of a last packet [s]."""
    come = np.divide(own_s - s, arrival_s, out=np.ones_like(s), where=arrival_s > 0)
    missing = burst_s * np.clip(1 - come, 0.0, 1.0)
    return np.asarray(np.maximum(np.minimum(burst_s, burst_s + s) - missing, 0.0))


def _others(at: Arrivals, values: Floats, asking: Bools) -> Floats:
    """Sums over the port of each entry that asks, those of its own source excepted."""
    total = np.bincount(at.port, values)[at.port] - np.bincount(at.source, values)[at.source]
    return np.maximum(total[asking], 0.0) if np.all(values >= 0) else np.asarray(total[asking])


def _slipping(at: Arrivals, priority: int, arrival_s: float, asking: Bools) -> Floats:
    """A packet of less urgent classes that is sent between two packets of a frame that comes over a time [s].

    The frame's packets come no faster than the port sends; where the next is late by anything, a packet that
    waits goes first (assumed: once a frame, and as uncertain as it is long).
    """
    if arrival_s == 0:
        return np.zeros(int(asking.sum()))
    lower = at.priority < priority
    load = np.bincount(at.port, np.where(lower, at.load, 0.0))[at.port]
    left = 1 - np.bincount(at.port, np.where(lower, 0.0, at.load))[at.port]
    packet = np.zeros(int(at.port.max()) + 1)
    np.maximum.at(packet, at.port, np.where(lower, at.packet_s, 0.0))
    waiting = np.clip(np.divide(load, left, out=np.ones_like(load), where=left > 0), 0.0, 1.0)
    return np.asarray((waiting * packet[at.port])[asking])
