"""How long frames wait at a port where every stream sends its burst once a period, at phases of its own.

Streams are not random: one of them never waits for itself, and two with the same period meet always or
never.  Over phases that are independent and even, what a burst finds before it has a closed form.  With
ρ_i the load of stream i and b_i the time its burst takes, one of n others that all have the same period
waits on average

    W = Σ_i ρ_i b_i / 2 · Σ_k k! e_k(ρ without i)   (e_k: the elementary symmetric polynomials)
      = ∫ e^{−t} Σ_i ρ_i b_i / 2 · Π_{j≠i} (1 + ρ_j t) dt,

which for n equal streams is the mean of the nD/D/1 queue, b/2 Σ_k n!/(n−k)! (b/P)^k (its distribution:
J. W. Roberts and J. T. Virtamo, The superposition of periodic cell arrival streams in an ATM multiplexer,
IEEE Trans. Communications 39, 1991), and for many small ones that of Pollaczek and Khinchine, since then
Π (1 + ρ_j t) is e^{ρt}.  The square follows in the same way.  For unlike periods it is an approximation
(some 10 % low in simulations).

A stream with a shorter period sends several times while the burst of another is served, and these queue.  The kth of
them waits for what is left of the burst, a time b, after k periods T in which the port gained T − p on the stream's own
bursts, a time p each.  So their mean wait is as for one alone where none comes before T − p, and longer by 1 / (1 − p/T)
where b is long beside that (as of a fluid); between, as for the part of b beyond T − p (assumed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints

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
