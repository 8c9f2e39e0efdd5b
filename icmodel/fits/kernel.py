"""How alike a metric's residual is at two sites: covariance over payload, load and labels.

What is left of a time after its mechanism has three parts: a configuration's costs differ from its
protocol's, its level does, and the rest varies with payload and load.  Two forms say how labels and
load part two sites: in a product each makes them less alike, whatever the payload; joined they
lengthen the one distance on which the covariance rests.  A load counts as what flows of it: hosts that
carry as much are as busy, whether more was asked of them or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.distances import Distances, Group
from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]

PRODUCT, JOINED = "product", "joined"
ROOT_3 = 3.0**0.5
COMMON = 1.0
"""Variance of what all configurations share beside the mechanism, and of its costs: the residual's."""
NUMBERS = ("costs", "level", "residual", "noise", "length", "load_length", "jump")


def _smooth(distance: Floats) -> tuple[Floats, Floats]:
    """Matérn's covariance of smoothness 3/2, and its slope over the distance divided by it."""
    falling = np.exp(-ROOT_3 * distance)
    return (1 + ROOT_3 * distance) * falling, -3.0 * falling


@dataclass(frozen=True, slots=True)
class Kernel:
    """A covariance and its numbers; variances are in units of the residual's mean square.

    Parameters
    ----------
    form : "product" or "joined"
        How labels and load part two sites.
    costs, level : float
        Variance of a configuration's own costs and of its own level; nothing where joined.
    residual, noise : float
        Variance of the rest, and of a row beyond what its spread says.
    length, load_length : float
        Octaves of payload and of the load that flows over which residuals are alike.
    jump : float
        Octaves that the break between one packet and more counts as.
    apart : mapping of group to float
        How far a difference in labels parts two sites.
    """

    form: str = PRODUCT
    costs: float = 0.3
    level: float = 0.3
    residual: float = 1.0
    noise: float = 1e-2
    length: float = 4.0
    load_length: float = 4.0
    jump: float = 0.5
    apart: Mapping[Group, float] = field(default_factory=dict)

    def on(self, groups: tuple[Group, ...]) -> Kernel:
        """The same kernel where other labels differ; a difference not known parts as assumed."""
        return replace(self, apart={group: self.apart.get(group, APART) for group in groups})

    def numbers(self) -> Floats:
        """All its numbers, those of labels last."""
        return np.array([getattr(self, name) for name in NUMBERS] + list(self.apart.values()))

    def with_numbers(self, numbers: Floats) -> Kernel:
        """The same kernel with other numbers."""
        own = dict(zip(NUMBERS, numbers.tolist(), strict=False))
        apart = dict(zip(self.apart, numbers[len(NUMBERS) :].tolist(), strict=True))
        return replace(self, **own, apart=apart)


APART = 0.2
"""How far a difference in a label parts two sites before anything is known; assumed."""


def groups_of(sites: Sites) -> dict[str, tuple[Group, ...]]:
    """The label differences each form has a number for: each column's, or joined each label's."""
    columns: list[Group] = []
    labels: list[Group] = []
    for column in range(sites.labels.shape[1]):
        found = sorted(set(sites.labels[:, column].tolist()))
        if len(found) > 1:
            columns.append((column, ""))
            labels += [(column, one) for one in found]
    return {PRODUCT: tuple(columns), JOINED: tuple(labels)}


class Covariance:
    """The covariance of each pair of sites, noise left out, and its slopes over log numbers.

    Parameters
    ----------
    left, right : array (n, costs)
        Shares of each cost in the time (`Mechanism.shares`).
    """

    def __init__(self, kernel: Kernel, apart: Distances, left: Floats, right: Floats) -> None:
        self.kernel = kernel
        self._apart = apart
        self._warped = apart.payload + kernel.jump * apart.broken
        self._shares = left @ right.T
        labels = np.zeros_like(apart.asked)
        for group in self._differing():
            labels += kernel.apart[group] * apart.differ[group]
        squares = (self._warped / kernel.length) ** 2
        if kernel.form == JOINED:
            squares += (apart.carried / kernel.load_length) ** 2
            squares += labels
            self._alike, self._own = np.ones(1), np.zeros(1)
        else:
            self._alike = np.exp(-apart.carried / kernel.load_length - labels)
            self._own = self._alike * (kernel.costs * self._shares + kernel.level)
        self._smooth, self._slope = _smooth(np.sqrt(squares))
        self._rest = kernel.residual * self._alike * self._smooth
        self.values: Floats = COMMON * (self._shares + 1.0)
        self.values += self._own
        self.values += self._rest

    def slopes(self, outer: Floats) -> Floats:
        """Sum over pairs of ``outer`` × the slope over the log of each number; noise has none."""
        kernel, apart = self.kernel, self._apart
        bent = outer * kernel.residual * self._alike * self._slope
        found = dict.fromkeys(NUMBERS, 0.0)
        found["residual"] = _sum(outer, self._rest)
        found["length"] = -_sum(bent, (self._warped / kernel.length) ** 2)
        warped = bent * self._warped / kernel.length**2
        found["jump"] = kernel.jump * _sum(warped, apart.broken)
        if kernel.form == JOINED:
            found["load_length"] = -_sum(bent, (apart.carried / kernel.load_length) ** 2)
            by_label = 0.5 * bent
        else:
            found["costs"] = kernel.costs * _sum(outer * self._alike, self._shares)
            found["level"] = kernel.level * _sum(outer, self._alike)
            by_label = -outer * (self._own + self._rest)
            found["load_length"] = -_sum(by_label, apart.carried) / kernel.load_length
        labels = dict.fromkeys(kernel.apart, 0.0)
        for group in self._differing():
            labels[group] = kernel.apart[group] * _sum(by_label, apart.differ[group])
        return np.array([*found.values(), *labels.values()])

    def _differing(self) -> list[Group]:
        """The groups of the kernel in which some sites differ."""
        return [group for group in self.kernel.apart if group in self._apart.differ]


def variance(kernel: Kernel, shares: Floats) -> Floats:
    """Variance of each site by itself, noise left out."""
    squares = np.sum(shares**2, axis=1)
    own = kernel.costs * squares + kernel.level if kernel.form == PRODUCT else 0.0
    return np.asarray(COMMON * (squares + 1.0) + own + kernel.residual)


def _sum(one: Floats, other: Floats) -> float:
    return float((one * other).sum())
