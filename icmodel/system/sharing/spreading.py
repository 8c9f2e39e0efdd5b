"""What waits change where a frame of several packets arrives over a link, packet by packet, and not at once.

`icmodel.system.sharing.periodic` has every burst arrive at one moment.  A frame that comes over a link no
faster than needed takes a time a from its first packet to its last, and is done when its last packet is
served.  Meanwhile the port works without a pause, since the frame's own packets come at least as fast as
they are served.  So its last packet waits for what others had queued when the first came, and for all that
they send in the time a.  With W the wait for bursts at one moment, ρ_j the load and b_j the time of the
frames of j, the mean is

    W + Σ_j ρ_j (a − a_j / 2),

since of a frame of j that is under way a_j / 2 has not come yet on average.  A more urgent frame that comes packet by
packet keeps the port busy as one at one moment does, unless a packet is late by anything: then one of less urgent classes
goes before it.  Lines' clocks differ by up to 100 ppm either way (IEEE 802.3-2022 §46.3.1.1), so that this is half of
the cases.  For two streams it is exact:
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

NODES = 12
"""Of the integral over s, by Gauss and Legendre, on each side of 0."""
ALIKE = 1.2
"""Times a within this factor are taken as alike for the variance."""
LATE = 0.5
"""Part of cases in which a packet comes late by anything behind one that is being sent (assumed)."""


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


def spread(at: Arrivals, arrival_s: Floats, own_s: Floats, paused: Bools) -> Spread:
    """What waits change for frames that arrive over a time.

    Parameters
    ----------
    at : Arrivals
        The same entries as for `icmodel.system.sharing.periodic.waits`.
    arrival_s : array (entries,)
        From the first packet of what others wait for, a frame or a message, to its last [s]; 0 where it comes at once.
    own_s : array (entries,)
        The same of the frame that waits.
    paused : array of bool (entries,)
        Which come over a slower line, so that packets of less urgent classes go between theirs.
    """
    entries = len(at.port)
    later, ratio, slips, meanwhile = (np.full(entries, value) for value in (0.0, 1.0, 0.0, 0.0))
    if not np.any(arrival_s > 0):
        return Spread(later, ratio, slips, meanwhile)
    for priority in np.unique(at.priority):
        urgent = at.priority >= priority
        asking = at.priority == priority
        load = at.others(np.where(urgent, at.load, 0.0))
        between = np.where((at.priority > priority) & ~paused, LATE, 1.0)
        not_yet = between * at.load * arrival_s / 2
        coming = at.others(np.where(urgent, not_yet, 0.0))
        slip = _slipping(at, priority, own_s)
        later[asking] = (load * own_s - coming + slip)[asking]
        slips[asking], meanwhile[asking] = slip[asking], (load * own_s)[asking]
        ratio[asking] = _variance_ratio(at, arrival_s, own_s, urgent, asking)[asking]
    return Spread(later, ratio, slips**2, meanwhile)


def _variance_ratio(
    at: Arrivals, arrival_s: Floats, frame_s: Floats, urgent: Bools, asking: Bools
) -> Floats:
    """The variance for frames that come over a time over that for frames at one moment, in first order."""
    before = at.others(np.where(urgent, at.load * at.burst_s**2 / 3, 0.0))
    ratio = np.ones(len(at.port))
    alike = _rounded(frame_s)
    for own_s in np.unique(alike[asking]):
        after = at.others(np.where(urgent, _square(at, arrival_s, own_s), 0.0))
        here = asking & (alike == own_s) & (before > 0)
        ratio[here] = (after / np.where(before > 0, before, 1.0))[here]
    return ratio


def _rounded(values: Floats) -> Floats:
    """Values rounded to powers of `ALIKE`; 0 stays 0."""
    step = np.log(ALIKE)
    powers = np.round(np.log(np.where(values > 0, values, 1.0)) / step)
    return np.asarray(np.where(values > 0, np.exp(powers * step), 0.0))


def _square(at: Arrivals, arrival_s: Floats, own_s: float) -> Floats:
    """Rate times the integral of x² over s, for frames of each entry (entries,)."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    u = (points + 1) / 2
    frames_per_s = np.divide(at.load, at.burst_s, out=np.zeros_like(at.load), where=at.burst_s > 0)
    square = np.zeros(len(at.port))
    none = np.zeros(len(at.port))
    for begin, length in ((-at.burst_s, at.burst_s), (none, own_s + none)):
        s = begin[:, None] + length[:, None] * u
        found = _found(at.burst_s[:, None], arrival_s[:, None], own_s, s)
        square += (found**2 * weights / 2).sum(1) * length
    return np.asarray(frames_per_s * square)


def _found(burst_s: Floats, arrival_s: Floats, own_s: float, s: Floats) -> Floats:
    """x(s): what a frame that begins s later adds to the wait of a last packet [s]."""
    come = np.divide(own_s - s, arrival_s, out=np.ones_like(s), where=arrival_s > 0)
    missing = burst_s * np.clip(1 - come, 0.0, 1.0)
    return np.asarray(np.maximum(np.minimum(burst_s, burst_s + s) - missing, 0.0))


def _slipping(at: Arrivals, priority: int, own_s: Floats) -> Floats:
    """A packet of less urgent classes that is sent between two packets of a frame that comes over a time [s].

    Once a frame, where a packet of it is late (`LATE`) and one of those waits: from then on the frame's packets queue, as
    they do if a less urgent one was on the wire when the first came (assumed to be as uncertain as it is long).
    """
    lower = at.priority < priority
    load = np.bincount(at.port, np.where(lower, at.load, 0.0))[at.port]
    left = 1 - at.others(np.where(lower, 0.0, at.load))
    frames_per_s = np.divide(at.load, at.burst_s, out=np.zeros_like(at.load), where=at.burst_s > 0)
    coming = own_s * np.bincount(at.port, np.where(lower, frames_per_s, 0.0))[at.port]
    on_the_wire = np.clip(load, 0.0, np.maximum(left, 0.0))
    waits = np.minimum(coming + on_the_wire, 1.0) * (own_s > 0)
    return np.asarray(LATE * (1 - on_the_wire) * waits * at.longest_below_s(priority))
