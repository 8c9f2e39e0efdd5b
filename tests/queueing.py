"""How long frames that arrive at random wait at a port: closed forms, which periodic ones tend to.

A port is a server: what arrives takes the time of its bits on the wire.  Times in s, rates in 1/s.  As
streams become many and small, waits of `icmodel.system.sharing.waiting` are held against these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from icmodel.arrays import Floats


@dataclass(frozen=True, slots=True)
class Service:
    """What arrives: so many a second, and the first three moments of the time each takes [s, s², s³]."""

    rate_per_s: float
    mean_s: float
    square_s2: float
    cube_s3: float

    @property
    def load(self) -> float:
        """Part of the time that the port is busy with it."""
        return self.rate_per_s * self.mean_s

    @property
    def residual_s(self) -> float:
        """Mean time it holds the port up at a random moment [s]: λ E[S²] / 2."""
        return self.rate_per_s * self.square_s2 / 2


@dataclass(frozen=True, slots=True)
class Waiting:
    """Mean [s] and variance [s²] of the time a frame waits; infinite where the load is 1 or more."""

    mean_s: float
    variance_s2: float


def of_frames(rates_per_s: Floats, services_s: Floats) -> Service:
    """The mixture of streams whose frames each take one time; arrays (streams,)."""
    total = float(np.sum(rates_per_s))
    if total == 0:
        return Service(0.0, 0.0, 0.0, 0.0)
    moments = [float(np.sum(rates_per_s * services_s**k)) / total for k in (1, 2, 3)]
    return Service(total, *moments)


NEVER = Waiting(np.inf, np.inf)


def random_arrivals(of: Service) -> Waiting:
    """M/G/1, first come first served: the formula of F. Pollaczek and A. Khinchine.

    W = λ E[S²] / 2(1 − ρ), Var W = λ E[S³] / 3(1 − ρ) + W² (L. Kleinrock, Queueing Systems I, 1975, §5.7).
    """
    idle = 1 - of.load
    if idle <= 0:
        return NEVER
    mean = of.residual_s / idle
    return Waiting(mean, of.rate_per_s * of.cube_s3 / (3 * idle) + mean**2)


def priorities(classes: Sequence[Service]) -> list[Waiting]:
    """Non-preemptive strict priority, random arrivals; the most urgent class first.

    With σ_k the load of the classes up to k and W₀ = Σ λ E[S²]/2 over all of them, class k waits
    W₀ / (1 − σ_{k−1})(1 − σ_k) (A. Cobham, Priority assignment in waiting line problems, Operations
    Research 2, 1954).  The second moment is that of R. W. Conway, W. L. Maxwell and L. W. Miller,
    Theory of Scheduling, 1967, §8-6.  What is in overload leaves the less urgent nothing; of it only what
    is served holds the others up.
    """
    loads = list(accumulate((one.load for one in classes), initial=0.0))
    squares = list(accumulate((2 * one.residual_s for one in classes), initial=0.0))
    served = [_served(one, before) for one, before in zip(classes, loads, strict=False)]
    square = 2 * sum(part * one.residual_s for part, one in zip(served, classes, strict=True))
    cube = sum(
        part * one.rate_per_s * one.cube_s3 for part, one in zip(served, classes, strict=True)
    )
    found = []
    for k in range(len(classes)):
        above, upto = 1 - loads[k], 1 - loads[k + 1]
        if upto <= 0:
            found.append(NEVER)
            continue
        mean = square / (2 * above * upto)
        second = (
            cube / (3 * above**2 * upto)
            + square * squares[k + 1] / (2 * above**2 * upto**2)
            + square * squares[k] / (2 * above**3 * upto)
        )
        found.append(Waiting(mean, second - mean**2))
    return found


def _served(of: Service, load_above: float) -> float:
    """The part of a class that is served when more urgent ones take so much of the time."""
    return min(1.0, max(1 - load_above, 0.0) / of.load) if of.load > 0 else 1.0
