"""The wait that a share of frames does not exceed, from mean and variance of all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints


def quantile_s(mean_s: Floats, variance_s2: Floats, share: float) -> Floats:
    """The time [s] that this share of the waits does not exceed, from mean and variance; (n,).

    A wait of 0 with some probability and an exponential one else, if it varies more than an exponential;
    else a fixed time and an exponential one.  Exact for M/M/1.
    """
    tail = math.log(1 / (1 - share))
    std = np.sqrt(variance_s2)
    some = np.divide(
        2 * mean_s**2, variance_s2 + mean_s**2, out=np.ones_like(mean_s), where=mean_s > 0
    )
    waited = np.minimum(some, 1.0)
    varied = np.maximum(mean_s / waited * (tail + np.log(waited)), 0.0)
    return np.where(std >= mean_s, varied, mean_s - std + std * tail)


NODES = 40
"""Of the integral over t, by Gauss and Legendre."""
FULL = 1 - 1e-9
"""From this load on a queue grows without end."""
EVERY = slice(None)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Streams at ports, an entry for each crossing; arrays (entries,).

    Parameters
    ----------
    port : array of int
    source : array of int
        Where the entry comes from, counted over all ports; those of one source come one after the
        other and never wait for each other.
    priority : array of int
        Higher ones first; a frame that is being sent is finished.
    load : array
        Part of the port's time it takes.
    burst_s, packet_s : arrays
        Time that what arrives at once takes, and one packet of it [s].
    """

    port: Ints
    source: Ints
    priority: Ints
    load: Floats
    burst_s: Floats
    packet_s: Floats

    def others(self, values: Floats, asking: Ints | slice = EVERY) -> Floats:
        """Sums of values (entries, ...) over the port of each that asks, those of its own source excepted."""
        port, source = self.port[asking], self.source[asking]
        found = _summed(self.port, values)[port] - _summed(self.source, values)[source]
        return np.asarray(np.maximum(found, 0.0))

    def longest_below_s(self, priority: int) -> Floats:
        """The longest packet at the port of each entry that is less urgent [s], (entries,)."""
        longest = np.zeros(int(self.port.max(initial=-1)) + 1)
        np.maximum.at(longest, self.port, np.where(self.priority < priority, self.packet_s, 0.0))
        return np.asarray(longest[self.port])


@dataclass(frozen=True, slots=True)
class Waits:
    """Mean [s] and variance [s²] of what each entry waits; infinite where its queue grows without end."""

    mean_s: Floats
    variance_s2: Floats


def waits(at: Arrivals) -> Waits:
    """What each entry waits for all others.

    A class waits for what is being sent, for what is more or equally urgent and was there before, and
    for what is more urgent and comes meanwhile, as A. Cobham's formula has it for random arrivals
    (Priority assignment in waiting line problems, Operations Research 2, 1954), of which this is the form
    for periodic ones.  Of less urgent classes one packet may be on the wire; of these, what the others
    leave is served.
    """
    mean, variance = np.zeros(len(at.port)), np.zeros(len(at.port))
    nodes = _nodes(at)
    for priority in np.unique(at.priority):
        asking = np.flatnonzero(at.priority == priority)
        before = _ladder(at, at.priority >= priority, asking, nodes)
        urgent = _ladder(at, at.priority > priority, asking, nodes)
        low, low_square = _on_the_wire(at, int(priority), asking, before.load)
        idle = np.maximum(1 - urgent.load, 1 - FULL)
        held_up = before.residual_s + low
        behind = _behind_own(at, asking, before)
        here = held_up * before.growth * behind / idle
        square = behind * (
            (before.square_s2 + low_square) * before.square_growth / idle**2
            + 2 * held_up * before.pairs_s / idle**2
            + 2 * held_up * urgent.pairs_s * before.growth / idle
        )
        endless = before.load + _own(at, asking) >= FULL
        mean[asking] = np.where(endless, np.inf, here)
        variance[asking] = np.where(endless, np.inf, np.maximum(square - here**2, 0.0))
    return Waits(mean, variance)


@dataclass(frozen=True, slots=True)
class _Ladder:
    """What some entries find of others, arrays (entries,).

    ``residual_s`` and ``square_s2`` are Σ ρ b / 2 and Σ ρ b² / 3, of a burst that is being served;
    ``growth`` and ``square_growth`` by how much what waits behind it makes them more; ``pairs_s`` what
    pairs of bursts add to half the square, over ``residual_s``.
    """

    load: Floats
    residual_s: Floats
    square_s2: Floats
    growth: Floats
    square_growth: Floats
    pairs_s: Floats


def _nodes(at: Arrivals) -> tuple[Floats, Floats]:
    """Nodes t and weights of the integral for each port, (ports, nodes), where its integrand lives."""
    ports = int(at.port.max(initial=-1)) + 1
    load = np.minimum(np.bincount(at.port, at.load, ports), 1.0)
    squares = np.bincount(at.port, at.load**2, ports)
    scale = 2 / np.sqrt((1 - load) ** 2 + squares + 1e-12)
    points, weights = np.polynomial.legendre.leggauss(NODES)
    u = (points + 1) / 2
    return scale[:, None] * u / (1 - u), scale[:, None] * weights / 2 / (1 - u) ** 2


def _ladder(at: Arrivals, some: Bools, asking: Ints, nodes: tuple[Floats, Floats]) -> _Ladder:
    """What entries find of some others, those of their own source excepted."""
    t, weight = (of_port[at.port] for of_port in nodes)
    load = np.where(some, at.load, 0.0)
    grown = 1 + load[:, None] * t
    half, third = load * at.burst_s / 2, load * at.burst_s**2 / 3
    terms = (
        np.log(grown),
        half[:, None] / grown,
        (half[:, None] / grown) ** 2,
        third[:, None] / grown,
    )
    log, first, own_square, square = (at.others(term, asking) for term in terms)
    decay = np.exp(log - t[asking]) * weight[asking]
    rho, residual, square_s2 = (at.others(one, asking) for one in (load, half, third))
    found = (decay * first).sum(1), (decay * square).sum(1)
    pairs = (decay * t[asking] * np.maximum(first**2 - own_square, 0.0)).sum(1)
    return _Ladder(
        load=rho,
        residual_s=residual,
        square_s2=square_s2,
        growth=_ratio(found[0], residual, 1.0),
        square_growth=_ratio(found[1], square_s2, 1.0),
        pairs_s=_ratio(pairs, residual, 0.0),
    )


def _behind_own(at: Arrivals, asking: Ints, before: _Ladder) -> Floats:
    """By how much a stream's own bursts that queue behind others make their mean wait longer, (asking,)."""
    load, burst_s = at.load[asking], at.burst_s[asking]
    others_s = 1.5 * _ratio(before.square_s2, before.residual_s, 0.0)  # Σ ρ b² / Σ ρ b
    gained_s = np.divide(burst_s, load, out=np.full(len(load), np.inf), where=load > 0) - burst_s
    beyond = 1 - np.divide(gained_s, others_s, out=np.full(len(load), 1.0), where=others_s > 0)
    return np.asarray(1 / (1 - np.minimum(load, FULL) * np.clip(beyond, 0.0, 1.0)))


def _ratio(one: Floats, other: Floats, otherwise: float) -> Floats:
    return np.asarray(np.divide(one, other, out=np.full(len(one), otherwise), where=other > 0))


def _summed(place: Ints, values: Floats) -> Floats:
    total = np.zeros((int(place.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(total, place, values)
    return total


def _own(at: Arrivals, asking: Ints) -> Floats:
    """Load of what an entry shares its source with and is no less urgent, itself included."""
    priority = at.priority[asking[0]]
    load = np.where(at.priority >= priority, at.load, 0.0)
    return np.asarray(_summed(at.source, load)[at.source[asking]])


def _on_the_wire(
    at: Arrivals, priority: int, asking: Ints, load_before: Floats
) -> tuple[Floats, Floats]:
    """Mean residual [s] of a packet of less urgent classes on the wire, and the mean of its square."""
    left, mean, square = 1 - load_before, np.zeros(len(asking)), np.zeros(len(asking))
    for lower in np.unique(at.priority[at.priority < priority])[::-1]:
        load = np.where(at.priority == lower, at.load, 0.0)
        wanted = at.others(load, asking)
        served = np.clip(_ratio(left, wanted, 1.0), 0.0, 1.0)
        mean += served * at.others(load * at.packet_s / 2, asking)
        square += served * at.others(load * at.packet_s**2 / 3, asking)
        left = left - wanted
    return mean, square


WAIT_NODES = 12
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
        The same entries as for `icmodel.system.sharing.waiting.waits`.
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
    points, weights = np.polynomial.legendre.leggauss(WAIT_NODES)
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
