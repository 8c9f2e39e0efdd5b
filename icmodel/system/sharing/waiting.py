"""Waiting times of streams at ports: mean and variance for periodic bursts, and quantiles from mean and variance.

Each stream at a port is an *entry*. Entries of one source arrive one after the other, and never wait for
each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.system.sharing import FULL

NODES = 40
"""Number of Gauss-Legendre nodes for the integral over t in the mean wait."""
WAIT_NODES = 12
"""Number of Gauss-Legendre nodes, on each side of 0, for the integral over s in the variance of waits."""
STEP = 1.2
"""Greatest ratio of two times that count as equal in the computation of wait variances."""
LATE = 0.5
"""Fraction of cases in which a packet of a frame comes too late to follow the previous packet directly (assumed)."""
LEAST = 1e-9
"""Least fraction of a port's rate that is assumed for a class, so that its waiting times stay finite."""
SELDOM = 1e-9
"""Least fraction of frames that wait at a port; if fewer frames wait, the wait counts as 0."""
SHORTEST_S = 1e-15
"""Mean wait [s] up to which a token bucket leaves the wait unchanged."""
EVERY = slice(None)
BLOCK = 16_384
"""Least number of entries in a block of whole ports, except the last block; blocks limit the memory of arrays."""


def quantile_s(mean_s: Floats, variance_s2: Floats, share: float) -> Floats:
    """Quantile of waiting times [s], array (n,): the time that the fraction ``share`` of waits does not exceed.

    If the standard deviation of the wait exceeds its mean, the wait is modelled as 0 with some probability, and as
    exponential otherwise. If not, it is modelled as a fixed time plus an exponential time. The model is exact for
    M/M/1.

    Parameters
    ----------
    mean_s, variance_s2 : arrays (n,)
        Mean [s] and variance [s²] of the waits.

    Examples
    --------
    >>> quantile_s(np.array([1.0]), np.array([1.0]), 0.5).round(3).tolist()
    [0.693]
    """
    tail = math.log(1 / (1 - share))
    std = np.sqrt(variance_s2)
    waiting = np.divide(
        2 * mean_s**2, variance_s2 + mean_s**2, out=np.ones_like(mean_s), where=mean_s > 0
    )
    waiting = np.minimum(waiting, 1.0)
    varied = np.maximum(mean_s / waiting * (tail + np.log(waiting)), 0.0)
    return np.where(std >= mean_s, varied, mean_s - std + std * tail)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Streams that arrive at ports, as arrays (entries,); an entry is one stream at one port.

    Parameters
    ----------
    port : array of int
        Number of the port.
    source : array of int
        Number of the origin of the entry's packets: the line over which they reach the port. If that line is faster
        than the port, or the port is the sender's, the origin is the stream itself. Packets of one origin never arrive
        at the same time. Entries at different ports have different origins.
    priority : array of int
        Priority of the entry. Higher numbers are served first, without preemption of the packet on the wire.
    load : array
        Fraction of the port's time that the entry takes.
    burst_s, packet_s : arrays
        Time to send the entry's burst, and time to send the longest packet of the burst [s].
    """

    port: Ints
    source: Ints
    priority: Ints
    load: Floats
    burst_s: Floats
    packet_s: Floats

    def blocks(self) -> Iterator[tuple[Ints, Arrivals]]:
        """Cut the entries (streams at ports) into blocks; yield the indices and the entries of each block.

        All entries of a port are in the same block.
        """
        order = np.argsort(self.port, kind="stable")
        begins = np.flatnonzero(np.diff(self.port[order], prepend=-1))
        cuts = [0]
        for begin in begins.tolist():
            if begin >= cuts[-1] + BLOCK:
                cuts.append(begin)
        for begin, end in pairwise([*cuts, len(order)]):
            here = np.sort(order[begin:end])
            port, source = (
                np.unique(numbers[here], return_inverse=True)[1]
                for numbers in (self.port, self.source)
            )
            times = self.load[here], self.burst_s[here], self.packet_s[here]
            yield here, Arrivals(port, source, self.priority[here], *times)

    @property
    def rate_fps(self) -> Floats:
        """Bursts (not frames) per second of each entry (stream at a port), array (entries,)."""
        none = np.zeros_like(self.load)
        return np.asarray(np.divide(self.load, self.burst_s, out=none, where=self.burst_s > 0))

    def others(self, values: Floats, of: Ints | slice = EVERY) -> Floats:
        """For each given entry, sum ``values`` (entries, ...) over the other entries at the same port.

        An entry is a stream at a port. Entries with the same origin (`source`) as the given entry are left out, since
        their packets never arrive at the same time as its own.
        """
        port, source = self.port[of], self.source[of]
        found = _sums(self.port, values)[port] - _sums(self.source, values)[source]
        return np.asarray(np.maximum(found, 0.0))

    def longest_below_s(self, priority: int) -> Floats:
        """Time to send the longest packet of lower priority at each entry's port [s], array (entries,).

        An entry is one stream at one port.
        """
        longest = np.zeros(int(self.port.max(initial=-1)) + 1)
        np.maximum.at(longest, self.port, np.where(self.priority < priority, self.packet_s, 0.0))
        return np.asarray(longest[self.port])


def _sums(number: Ints, values: Floats) -> Floats:
    """Sum values by number, such as the port's number: element k of the result is the sum of values with number k."""
    count, width = int(number.max(initial=-1)) + 1, math.prod(values.shape[1:])
    places = (number[:, None] * width + np.arange(width)).ravel()
    total = np.bincount(places, values.ravel(), minlength=count * width)
    return np.asarray(total.reshape(count, *values.shape[1:]), dtype=np.float64)


def _ratio(one: Floats, other: Floats, otherwise: float) -> Floats:
    return np.asarray(np.divide(one, other, out=np.full(len(one), otherwise), where=other > 0))


# --- bursts that arrive at one moment ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waits:
    """Mean [s] and variance [s²] of the wait of each entry (stream at a port).

    They are infinite if the queue of the entry grows without limit.
    """

    mean_s: Floats
    variance_s2: Floats


def waits(at: Arrivals) -> Waits:
    """Wait of each entry (stream at a port) for all other entries, if all packets of a burst arrive at one moment.

    A class waits for three things: the packet that is being sent, packets of the same or higher priority
    that already wait, and more urgent packets that arrive meanwhile. This is A. Cobham's formula for
    random arrivals (Priority assignment in waiting line problems, Operations Research 2, 1954), adapted
    to periodic arrivals. The packet being sent may belong to a less urgent class. If the port is overloaded, such a
    class is on the wire only for the part of time that more urgent classes leave.
    """
    mean, variance = np.zeros(len(at.port)), np.zeros(len(at.port))
    for here, block in at.blocks():
        mean[here], variance[here] = _waits(block)
    return Waits(mean, variance)


def _waits(at: Arrivals) -> tuple[Floats, Floats]:
    """Mean [s] and variance [s²] of the wait of each entry (stream at a port), see `waits`."""
    mean, variance = np.zeros(len(at.port)), np.zeros(len(at.port))

    # nodes t and weights of the integral for each port, arrays (ports, nodes), where the integrand is not small
    load = np.minimum(np.bincount(at.port, at.load), 1.0)
    squares = np.bincount(at.port, at.load**2)
    scale = 2 / np.sqrt((1 - load) ** 2 + squares + 1e-12)
    points, weights = np.polynomial.legendre.leggauss(NODES)
    u = (points + 1) / 2
    nodes = scale[:, None] * u / (1 - u), scale[:, None] * weights / 2 / (1 - u) ** 2

    for priority in np.unique(at.priority):
        here = np.flatnonzero(at.priority == priority)
        before = _encounters(at, at.priority >= priority, here, nodes)
        urgent = _encounters(at, at.priority > priority, here, nodes)
        low, low_square = _on_the_wire(at, int(priority), here, before.load)
        idle = np.maximum(1 - urgent.load, 1 - FULL)
        held_up = before.residual_s + low
        behind = before.behind_own_bursts(at.load[here], at.burst_s[here])
        wait = held_up * before.growth * behind / idle
        square = behind * (
            (before.square_s2 + low_square) * before.square_growth / idle**2
            + 2 * held_up * before.pairs_s / idle**2
            + 2 * held_up * urgent.pairs_s * before.growth / idle
        )
        own_load = np.where(at.priority >= priority, at.load, 0.0)
        endless = before.load + _sums(at.source, own_load)[at.source[here]] >= FULL
        mean[here] = np.where(endless, np.inf, wait)
        variance[here] = np.where(endless, np.inf, np.maximum(square - wait**2, 0.0))
    return mean, variance


@dataclass(frozen=True, slots=True)
class _Encounters:
    """Sums for each entry (one stream at one port) over the other streams at its port, arrays (entries,).

    Parameters
    ----------
    load : array
        Sum of the loads ρ.
    residual_s, square_s2 : arrays
        Mean and mean square of the residual time of the burst that is being sent: Σ ρ b / 2 [s] and
        Σ ρ b² / 3 [s²], for loads ρ and bursts b [s].
    growth, square_growth : arrays
        Factors on ``residual_s`` and ``square_s2``, which add the bursts that wait behind the burst being sent.
    pairs_s : array
        Term [s] for pairs of bursts: they add 2 · ``residual_s`` · ``pairs_s`` to the mean square of the wait [s²].
    """

    load: Floats
    residual_s: Floats
    square_s2: Floats
    growth: Floats
    square_growth: Floats
    pairs_s: Floats

    def behind_own_bursts(self, load: Floats, burst_s: Floats) -> Floats:
        """Factor of 1 or more on the mean wait of each entry (stream at a port), array (entries,).

        When a burst arrives, an earlier burst of the same entry may still wait behind other streams of the port. The
        factor adds the wait for such earlier bursts.
        """
        others_s = 1.5 * _ratio(self.square_s2, self.residual_s, 0.0)  # Σ ρ b² / Σ ρ b
        endless = np.full(len(load), np.inf)
        gained_s = np.divide(burst_s, load, out=endless, where=load > 0) - burst_s
        beyond = 1 - np.divide(gained_s, others_s, out=np.full(len(load), 1.0), where=others_s > 0)
        return np.asarray(1 / (1 - np.minimum(load, FULL) * np.clip(beyond, 0.0, 1.0)))


def _encounters(
    at: Arrivals, counted: Bools, of: Ints, nodes: tuple[Floats, Floats]
) -> _Encounters:
    """Sum over the streams that a stream meets at a port, for each given entry (stream at a port).

    ``of`` has the indices of the given entries. ``counted`` is a boolean mask over all entries: those that may be in
    the sums. A sum never includes streams from the source of the given entry. Some fields of the result are integrals,
    evaluated by Gaussian quadrature. ``nodes`` has the quadrature points and weights of each port, two arrays (ports,
    points).
    """
    t, weight = (of_port[at.port] for of_port in nodes)
    load = np.where(counted, at.load, 0.0)
    grown = 1 + load[:, None] * t
    half, third = load * at.burst_s / 2, load * at.burst_s**2 / 3
    terms = (
        np.log(grown),
        half[:, None] / grown,
        (half[:, None] / grown) ** 2,
        third[:, None] / grown,
    )
    log, first, own_square, square = (at.others(term, of) for term in terms)
    decay = np.exp(log - t[of]) * weight[of]
    rho, residual, square_s2 = (at.others(one, of) for one in (load, half, third))
    pairs = (decay * t[of] * np.maximum(first**2 - own_square, 0.0)).sum(1)
    return _Encounters(
        load=rho,
        residual_s=residual,
        square_s2=square_s2,
        growth=_ratio((decay * first).sum(1), residual, 1.0),
        square_growth=_ratio((decay * square).sum(1), square_s2, 1.0),
        pairs_s=_ratio(pairs, residual, 0.0),
    )


def _on_the_wire(
    at: Arrivals, priority: int, here: Ints, load_before: Floats
) -> tuple[Floats, Floats]:
    """Mean [s] and mean square [s²] of the time that a frame waits for a less urgent packet already on the wire.

    Both have one element for each index in ``here``, the index of an entry (stream at a port). The wait is 0 for
    frames that find no such packet. ``load_before`` is the load of streams with the entry's priority or a higher one.
    Less urgent streams occupy the wire at most for the fraction 1 - ``load_before`` of the time.
    """
    left, mean, square = 1 - load_before, np.zeros(len(here)), np.zeros(len(here))
    for lower in np.unique(at.priority[at.priority < priority])[::-1]:
        load = np.where(at.priority == lower, at.load, 0.0)
        demand = at.others(load, here)
        served = np.clip(_ratio(left, demand, 1.0), 0.0, 1.0)
        mean += served * at.others(load * at.packet_s / 2, here)
        square += served * at.others(load * at.packet_s**2 / 3, here)
        left = left - demand
    return mean, square


def all_bursts_once_s(at: Arrivals) -> Floats:
    """Wait of each entry (stream at a port) if all other entries send their bursts together [s].

    The entry waits for the bursts of equal or higher priority, and for one packet of lower priority.
    It does not wait for streams of its own source, whose packets come one after the other. More urgent packets that
    come meanwhile take their part of the port (leftover service of strict priority, J.-Y. Le Boudec and P. Thiran,
    Network Calculus, 2001, §2.4).
    """
    wait_s = np.zeros(len(at.port))
    for priority in np.unique(at.priority):
        bursts = at.others(np.where(at.priority >= priority, at.burst_s, 0.0))
        urgent = at.others(np.where(at.priority > priority, at.load, 0.0))
        here = at.priority == priority
        left = np.maximum(1 - urgent, LEAST)
        wait_s[here] = ((bursts + at.longest_below_s(priority)) / left)[here]
    return wait_s


# --- bursts that arrive over a time -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spread:
    """Corrections of the mean and the variance of waits, because the packets of a burst do not arrive at one moment.

    All fields are arrays (entries,); an entry is one stream at one port.

    Parameters
    ----------
    later_s : array
        Time added to the mean wait [s].
    variance_ratio, variance_s2 : arrays
        Factor on the variance of the wait, and a term added to the variance [s²].
    meanwhile_s : array
        Time that the port spends on packets of other streams between the arrivals of the first and the last packet of
        one frame of the entry [s].
    """

    later_s: Floats
    variance_ratio: Floats
    variance_s2: Floats
    meanwhile_s: Floats


def spread(at: Arrivals, arrival_s: Floats, own_s: Floats, paused: Bools) -> Spread:
    """Compute corrections of waiting times for the fact that the packets of a burst arrive one after another.

    The function `waits` computes the waiting times. It assumes that all packets of a burst arrive at one moment. The
    corrections are to be applied to its results. An entry is one stream at one port.

    Parameters
    ----------
    at : Arrivals
        The entries, as given to `waits`.
    arrival_s : array (entries,)
        Time from the first to the last packet of each entry's burst [s], for the delay of other entries by this burst;
        0 if all its packets arrive at one moment.
    own_s : array (entries,)
        Time from the first to the last packet of a frame of each entry [s], for the wait of this frame.
    paused : array of bool (entries,)
        Whether the entry comes over a line or shaper slower than its port, so that the port sends less urgent packets
        between the entry's packets.
    """
    entries = len(at.port)
    later, ratio, slips, meanwhile = (np.full(entries, value) for value in (0.0, 1.0, 0.0, 0.0))
    if not np.any(arrival_s > 0):
        return Spread(later, ratio, slips, meanwhile)
    for here, block in at.blocks():
        found = _spread(block, arrival_s[here], own_s[here], paused[here])
        later[here], ratio[here] = found.later_s, found.variance_ratio
        slips[here], meanwhile[here] = found.variance_s2, found.meanwhile_s
    return Spread(later, ratio, slips, meanwhile)


def _spread(at: Arrivals, arrival_s: Floats, own_s: Floats, paused: Bools) -> Spread:
    """Compute the result of `spread` for a block of ports. Parameters and result are those of `spread`."""
    entries = len(at.port)
    later, ratio, slips, meanwhile = (np.full(entries, value) for value in (0.0, 1.0, 0.0, 0.0))
    for priority in np.unique(at.priority):
        urgent = at.priority >= priority
        here = at.priority == priority
        load = at.others(np.where(urgent, at.load, 0.0))
        between = np.where((at.priority > priority) & ~paused, LATE, 1.0)
        not_yet = between * at.load * arrival_s / 2
        coming = at.others(np.where(urgent, not_yet, 0.0))
        slip = _slip_s(at, priority, own_s)
        later[here] = (load * own_s - coming + slip)[here]
        slips[here], meanwhile[here] = slip[here], (load * own_s)[here]
        ratio[here] = _variance_ratio(at, arrival_s, own_s, urgent, here)[here]
    return Spread(later, ratio, slips**2, meanwhile)


def _variance_ratio(
    at: Arrivals, arrival_s: Floats, frame_s: Floats, urgent: Bools, here: Bools
) -> Floats:
    """Ratio of two variances of the wait of each entry (one stream at one port), array (entries,).

    It is the variance if the packets of each burst arrive one after another, divided by the variance if they all arrive
    at the same moment. It is a first-order approximation.
    """
    before = at.others(np.where(urgent, at.load * at.burst_s**2 / 3, 0.0))
    ratio = np.ones(len(at.port))
    step = np.log(STEP)  # times are rounded to powers of STEP; 0 stays 0
    powers = np.round(np.log(np.where(frame_s > 0, frame_s, 1.0)) / step)
    rounded_s = np.where(frame_s > 0, np.exp(powers * step), 0.0)
    for own_s in np.unique(rounded_s[here]):
        after = at.others(np.where(urgent, _added_variance_s2(at, arrival_s, own_s), 0.0))
        same = here & (rounded_s == own_s) & (before > 0)
        ratio[same] = (after / np.where(before > 0, before, 1.0))[same]
    return ratio


def _added_variance_s2(at: Arrivals, arrival_s: Floats, own_s: float) -> Floats:
    """Variance that each entry (stream at a port) adds to the wait of another stream's frame [s²], array (entries,).

    Let s be the time from the beginning of the frame to the beginning of a burst of the entry; s is negative if the
    burst begins first. This burst delays the frame's last packet by x(s). The added variance is the entry's bursts per
    second, times the integral of x(s)² over s. ``own_s`` is the time from the first to the last packet of the frame.
    """
    points, weights = np.polynomial.legendre.leggauss(WAIT_NODES)
    u = (points + 1) / 2
    burst_s, comes_s = at.burst_s[:, None], arrival_s[:, None]
    square = np.zeros(len(at.port))
    none = np.zeros(len(at.port))
    for begin, length in ((-at.burst_s, at.burst_s), (none, own_s + none)):
        s = begin[:, None] + length[:, None] * u
        come = np.divide(own_s - s, comes_s, out=np.ones_like(s), where=comes_s > 0)
        missing = burst_s * np.clip(1 - come, 0.0, 1.0)
        x = np.maximum(np.minimum(burst_s, burst_s + s) - missing, 0.0)
        square += (x**2 * weights / 2).sum(1) * length
    return np.asarray(at.rate_fps * square)


def _slip_s(at: Arrivals, priority: int, own_s: Floats) -> Floats:
    """Mean time that a frame waits for a less urgent packet sent between two of the frame's packets [s], (entries,).

    An entry is a stream at a port. ``own_s`` (entries,) is the time from the first to the last packet of the frame.

    If a packet of the frame comes too late to follow the previous one directly, the port first sends a waiting, less
    urgent packet. A packet is assumed to come too late in the fraction `LATE` of cases. The later packets of the frame
    then queue and follow one another directly, so a frame waits at most once in this way. It does not wait in this way
    if a less urgent packet was on the wire when the frame began to arrive: then its packets queue from the start. The
    standard deviation of the wait is assumed equal to its mean.
    """
    lower = at.priority < priority
    load = np.bincount(at.port, np.where(lower, at.load, 0.0))[at.port]
    left = 1 - at.others(np.where(lower, 0.0, at.load))
    coming = own_s * np.bincount(at.port, np.where(lower, at.rate_fps, 0.0))[at.port]
    on_the_wire = np.clip(load, 0.0, np.maximum(left, 0.0))
    waiting = np.minimum(coming + on_the_wire, 1.0) * (own_s > 0)
    return np.asarray(LATE * (1 - on_the_wire) * waiting * at.longest_below_s(priority))


# --- token buckets ----------------------------------------------------------------------------


def behind_buckets(mean_s: Floats, variance_s2: Floats, spare_s: Floats) -> tuple[Floats, Floats]:
    """Mean [s] and variance [s²] of the waits at ports whose rate is enforced by a token bucket, arrays (n,).

    Compare a token bucket of depth b with a plain link of the same rate. The bucket's queue is the
    link's queue less b, or 0 if b is greater (backlog of a greedy shaper: J.-Y. Le Boudec, P. Thiran,
    Network Calculus, 2001, §1.5). The wait at the link is assumed to have the distribution of
    `quantile_s`.

    Parameters
    ----------
    mean_s, variance_s2 : arrays (n,)
        Mean [s] and variance [s²] of the wait at a link of the same rate.
    spare_s : array (n,)
        Tokens that a full bucket has left after it has passed the frame, divided by the rate of the link [s]; 0 for a
        plain link.
    """
    found_mean, found_variance = mean_s.copy(), variance_s2.copy()
    here = np.flatnonzero((spare_s > 0) & (mean_s > SHORTEST_S) & np.isfinite(mean_s))
    mean, variance, spare = mean_s[here], variance_s2[here], spare_s[here]
    std = np.sqrt(variance)
    chance = np.minimum(2 * mean**2 / (variance + mean**2), 1.0)
    scale = np.where(std >= mean, mean / chance, std)
    fixed = np.where(std >= mean, 0.0, mean - std)
    gap = np.maximum(fixed - spare, 0.0)
    over = chance * np.exp(-np.maximum(spare - fixed, 0.0) / np.maximum(scale, SELDOM * mean))
    over = np.where(over < SELDOM, 0.0, over)
    found_mean[here] = over * (gap + scale)
    square = over * (gap**2 + 2 * gap * scale + 2 * scale**2)
    found_variance[here] = np.maximum(square - found_mean[here] ** 2, 0.0)
    return found_mean, found_variance
