"""How alike a metric's residual is at two sites: covariance over payload, load and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]


def _rough(distance: Floats) -> Floats:
    return np.asarray(np.exp(-distance))


def _smooth(distance: Floats) -> Floats:
    scaled = np.sqrt(3.0) * distance
    return np.asarray((1 + scaled) * np.exp(-scaled))


def _smoother(distance: Floats) -> Floats:
    scaled = np.sqrt(5.0) * distance
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


SHAPES: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {"rough": _rough, "smooth": _smooth, "smoother": _smoother}
)
"""Matérn covariances of smoothness 1/2, 3/2 and 5/2."""


FIRST_LIKENESS = 0.9
"""How alike the residuals of two configurations are held before anything is known; assumed."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A covariance and its choices.

    Parameters
    ----------
    shape : "rough", "smooth" or "smoother"
        Of the residual over the payload.
    length : float
        Octaves of payload over which residuals are alike.
    load_length : float
        Octaves of load over which they are alike.
    jump : float
        Octaves that the break between one packet and more counts as.
    level : float
        Variance of a configuration's own level, the residual's shape having 1.
    noise : float
        Variance of a row beyond what its spread says.
    likeness : mapping of label column to 0…1
        How alike the residuals are where that label differs; columns left out do not differ.
    """

    shape: str = "smooth"
    length: float = 4.0
    load_length: float = 4.0
    jump: float = 0.5
    level: float = 1.0
    noise: float = 1e-3
    likeness: Mapping[int, float] = field(default_factory=dict)

    def on(self, columns: tuple[int, ...]) -> Kernel:
        """The same kernel where other label columns differ."""
        likeness = {k: self.likeness.get(k, FIRST_LIKENESS) for k in columns}
        return replace(self, likeness=likeness)

    def with_likeness(self, column: int, value: float) -> Kernel:
        """The same kernel with another likeness in one label column."""
        return replace(self, likeness={**self.likeness, column: value})


@dataclass(frozen=True, slots=True)
class Distances:
    """What the kernel needs of each pair of sites, computed once; matrices of (left, right).

    ``payload`` and ``broken`` are signed differences: together they make one warped axis, since a
    smooth covariance of a sum of two distances need not be one.
    """

    payload: Floats
    load: Floats
    broken: Floats
    differs: Mapping[int, NDArray[np.bool_]]

    def covariance(self, kernel: Kernel) -> Floats:
        """The covariance of each pair, noise left out."""
        alike = np.exp(self.load / -kernel.load_length)
        for column, likeness in kernel.likeness.items():
            alike *= np.where(self.differs[column], likeness, 1.0)
        distance = np.abs(self.payload + kernel.jump * self.broken) / kernel.length
        return np.asarray(kernel.level * (1 + alike) / 2 + alike * SHAPES[kernel.shape](distance))


def distances(left: Sites, right: Sites, columns: tuple[int, ...]) -> Distances:
    """The distances between two sets of sites; ``columns`` are the labels that differ anywhere.

    Where the left sites differ in payload alone, one row of the other matrices stands for all.
    """
    first = left.take(np.arange(1)) if _one_curve(left) else left
    return Distances(
        _apart(np.log2(left.payload_bytes), np.log2(right.payload_bytes)),
        np.abs(_apart(np.log2(first.load_bps), np.log2(right.load_bps))),
        _apart(np.minimum(left.packets, 2.0), np.minimum(right.packets, 2.0)),
        {k: first.labels[:, k][:, None] != right.labels[:, k][None, :] for k in columns},
    )


def _one_curve(sites: Sites) -> bool:
    return bool(
        len(sites) > 1
        and (sites.load_bps == sites.load_bps[0]).all()
        and (sites.labels == sites.labels[0]).all()
    )


def _apart(left: Floats, right: Floats) -> Floats:
    return left[:, None] - right[None, :]
