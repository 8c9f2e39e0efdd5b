"""The covariance of a metric's residuals at two sites: over payload, load and labels.

The residual of a cost model has three parts: a configuration's costs differ from its protocol's, its level
differs, and the rest varies smoothly with payload and load.  There are two forms.  In the product form
differences in labels and load each reduce the covariance by a factor, whatever the payload; in the joined form
they add to one distance, on which the covariance depends.  Load counts as throughput: hosts that carry
the same are equally busy, whatever the offered load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # a prediction from kept curves reads kernels, and computes with none
    from icmodel.fits.distances import Distances, Group
    from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]

PRODUCT, JOINED = "product", "joined"
ROOT_3 = 3.0**0.5
COMMON = 1.0
"""Variance of the level and costs that all configurations share, besides the cost model's: the residual's."""
NUMBERS = ("costs", "level", "residual", "noise", "length", "load_length", "jump")


def _smooth(distance: Floats) -> tuple[Floats, Floats]:
    """Matérn covariance of smoothness 3/2, and its factor e^(−√3 d).

    −3 times that factor is the derivative divided by the distance.
    """
    scaled = ROOT_3 * distance
    falling = np.exp(-scaled)
    return (1 + scaled) * falling, falling


@dataclass(frozen=True, slots=True)
class Kernel:
    """A covariance and its numbers; variances are in units of the residual's mean square.

    Parameters
    ----------
    form : "product" or "joined"
        How labels and load enter.
    costs, level : float
        Variance of a configuration's own costs and of its own level; unused in the joined form.
    residual, noise : float
        Variance of the smooth rest, and of a row's noise beyond its spread.
    length, load_length : float
        Correlation length in octaves of payload and of throughput.
    jump : float
        Octaves that the break between one packet and several counts as.
    label_distances : mapping of group to float
        Distance that a difference in labels counts as.
    """

    form: str = PRODUCT
    costs: float = 0.3
    level: float = 0.3
    residual: float = 1.0
    noise: float = 1e-2
    length: float = 4.0
    load_length: float = 4.0
    jump: float = 0.5
    label_distances: Mapping[Group, float] = field(default_factory=dict)

    def on(self, groups: tuple[Group, ...]) -> Kernel:
        """The same kernel for other label differences; one that is not known has the assumed distance."""
        return replace(
            self,
            label_distances={
                group: self.label_distances.get(group, LABEL_DISTANCE) for group in groups
            },
        )

    def numbers(self) -> Floats:
        """All numbers, the label distances last."""
        return np.array(
            [getattr(self, name) for name in NUMBERS] + list(self.label_distances.values())
        )

    def with_numbers(self, numbers: Floats) -> Kernel:
        """The same kernel with other numbers."""
        own = dict(zip(NUMBERS, numbers.tolist(), strict=False))
        label_distances = dict(
            zip(self.label_distances, numbers[len(NUMBERS) :].tolist(), strict=True)
        )
        return replace(self, **own, label_distances=label_distances)


LABEL_DISTANCE = 0.2
"""Distance of a difference in a label before any row is seen; assumed."""


def groups_of(sites: Sites) -> dict[str, tuple[Group, ...]]:
    """The label differences that have a number in each form: one per column; joined, one per label."""
    columns: list[Group] = []
    labels: list[Group] = []
    for column in range(sites.labels.shape[1]):
        found = sorted(set(sites.labels[:, column].tolist()))
        if len(found) > 1:
            columns.append((column, ""))
            labels += [(column, one) for one in found]
    return {PRODUCT: tuple(columns), JOINED: tuple(labels)}


class Covariance:
    """The covariance of pairs of sites without noise, and its derivatives over the logs of the numbers.

    Parameters
    ----------
    distances : Distances
        Those of the pairs, of any shape.
    shares : array
        For each pair the sum over all costs of the product of both shares in the time (`Modelled.shares`).
    """

    def __init__(self, kernel: Kernel, distances: Distances, shares: Floats) -> None:
        self.kernel = kernel
        self._distances = distances
        self._warped = distances.payload + kernel.jump * distances.broken
        self._shares = shares
        labels = np.zeros_like(distances.asked)
        for group in self._differing():
            labels += kernel.label_distances[group] * distances.differ[group]
        self._squares = (self._warped / kernel.length) ** 2
        if kernel.form == JOINED:
            squares = distances.along(self._squares)
            squares += (distances.carried / kernel.load_length) ** 2
            squares += labels
            self._alike, self._own = np.ones(1), np.zeros(1)
            smooth, self._falling = _smooth(np.sqrt(squares))
        else:
            self._alike = np.exp(-distances.carried / kernel.load_length - labels)
            self._own = self._alike * (kernel.costs * self._shares + kernel.level)
            some, self._falling = _smooth(np.sqrt(self._squares))
            smooth = distances.along(some)
        self._rest = kernel.residual * self._alike * smooth
        self.values: Floats = COMMON * (self._shares + 1.0)
        self.values += self._own
        self.values += self._rest

    def slopes(self, outer: Floats) -> Floats:
        """Sum over pairs of ``outer`` × the derivative over the log of each number; that of noise is 0.

        All distances have one shape here: no row stands for others.
        """
        kernel, distances = self.kernel, self._distances
        falling = self._falling if kernel.form == JOINED else distances.along(self._falling)
        bent = outer * kernel.residual * self._alike * (-3.0 * falling)
        found = dict.fromkeys(NUMBERS, 0.0)
        found["residual"] = _sum(outer, self._rest)
        found["length"] = -_sum(bent, distances.along(self._squares))
        warped = bent * distances.along(self._warped) / kernel.length**2
        found["jump"] = kernel.jump * _sum(warped, distances.along(distances.broken))
        if kernel.form == JOINED:
            found["load_length"] = -_sum(bent, (distances.carried / kernel.load_length) ** 2)
            by_label = 0.5 * bent
        else:
            found["costs"] = kernel.costs * _sum(outer * self._alike, self._shares)
            found["level"] = kernel.level * _sum(outer, self._alike)
            by_label = -outer * (self._own + self._rest)
            found["load_length"] = -_sum(by_label, distances.carried) / kernel.load_length
        labels = dict.fromkeys(kernel.label_distances, 0.0)
        for group in self._differing():
            labels[group] = kernel.label_distances[group] * _sum(by_label, distances.differ[group])
        return np.array([*found.values(), *labels.values()])

    def _differing(self) -> list[Group]:
        """The kernel's groups in which some sites differ."""
        return [group for group in self.kernel.label_distances if group in self._distances.differ]


def variance(kernel: Kernel, shares: Floats) -> Floats:
    """Variance at each site, without noise."""
    squares = np.sum(shares**2, axis=1)
    own = kernel.costs * squares + kernel.level if kernel.form == PRODUCT else 0.0
    return np.asarray(COMMON * (squares + 1.0) + own + kernel.residual)


def _sum(one: Floats, other: Floats) -> float:
    return float(np.vdot(one, other))
