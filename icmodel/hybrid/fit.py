"""Fit a metric: its mechanism, Gaussian processes over the residual, and lines, blended.

Every choice (which mechanism, how smooth, how alike configurations are, where it may jump) is made
by the error of leaving out one row at a time, which a Gaussian process gives in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.blend import Blend, blend
from icmodel.hybrid.candidates import Candidate, Lines, Process
from icmodel.hybrid.interval import Widths, widths
from icmodel.hybrid.kernel import SHAPES, Distances, Kernel, distances
from icmodel.hybrid.mechanism import Mechanism, configurations, possible_kinds
from icmodel.hybrid.observations import Observations, Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWEEPS = 2
LITTLE = 0.995
"""A sweep that leaves this share of the error is the last."""
CANDIDATES: dict[str, tuple[str | float, ...]] = {
    "shape": ("rough", "smooth", "smoother"),
    "length": (1.0, 2.0, 4.0, 8.0, 16.0),
    "noise": (1e-4, 1e-3, 1e-2, 1e-1),
    "jump": (0.0, 0.5, 1.0, 2.0),
    "level": (1.0, 10.0),
    "load_length": (1.0, 4.0, 16.0),
}
LIKENESS = (0.0, 0.5, 0.8, 0.9, 0.97, 0.99, 0.999)
MOST_ERROR = 1.0
"""An error in log counts as at most this, so that one wild row does not decide a choice."""
MOST_ROWS = 96
"""Rows of one piece of the leave-one-out search: its time grows with their cube."""
MOST_PIECES = 4
"""Pieces that the search looks at; more would not change a choice and take longer."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted metric in log time: what each candidate says, blended, and how sure that is."""

    mechanism: Mechanism
    kernels: tuple[Kernel, ...]
    candidates: tuple[Candidate, ...]
    blend: Blend
    widths: Widths

    def at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Log time at some sites, and the half-width of a 90 % interval for one new run."""
        apart = distances(sites, self.blend.sites, self.blend.columns)
        told = np.stack([candidate.log_time(sites, apart) for candidate in self.candidates])
        weights = np.where(np.isnan(told), 0.0, self.blend.weights(apart))
        mean = (weights * np.nan_to_num(told)).sum(axis=0) / weights.sum(axis=0)
        return mean, self.widths.half_width(apart)


def fit(observed: Observations, log_time: Floats, like: Fit | None = None) -> Fit:
    """Fit log times of some rows.

    Parameters
    ----------
    like : Fit, optional
        Of a metric of the same kind: its kernels are taken instead of searched for.
    """
    sites = observed.sites
    columns = tuple(
        k for k in range(sites.labels.shape[1]) if len(set(sites.labels[:, k].tolist())) > 1
    )
    pieces = _pieces(observed, columns)
    start = (Kernel() if like is None else like.kernels[0]).on(columns)
    mechanism = _mechanism(pieces, sites, log_time, start)
    residual = log_time - mechanism.log_time(sites)
    if like is None:
        best = _search(pieces, residual, start)
        kernels = (best, *(_reshaped(pieces, residual, best, name) for name in SHAPES))
    else:
        kernels = tuple(kernel.on(columns) for kernel in like.kernels)
    apart = distances(sites, sites, columns)
    processes = []
    for kernel in kernels:
        inverse = _inverse(apart.covariance(kernel), kernel, observed.variance, residual)
        processes.append(Process(mechanism, kernel, inverse, inverse @ residual))
    lines = Lines(mechanism, sites, log_time, processes[0].errors)
    candidates: tuple[Candidate, ...] = (*processes[1:], lines)
    blended = blend(sites, columns, np.stack([one.errors for one in candidates]))
    fitted = mechanism.parameters + len(columns) + len(CANDIDATES)
    measured = widths(blended, processes[0], observed.spread, fitted)
    return Fit(mechanism, kernels, candidates, blended, measured)


def _mechanism(pieces: list[_Piece], sites: Sites, log_time: Floats, kernel: Kernel) -> Mechanism:
    """The mechanism whose residual is easiest to predict."""
    kinds = [Mechanism(kind, sites, log_time) for kind in possible_kinds(sites)]
    errors = [_error(pieces, log_time - one.log_time(sites), kernel) for one in kinds]
    return kinds[int(np.argmin(errors))]


def _reshaped(pieces: list[_Piece], residual: Floats, best: Kernel, shape: str) -> Kernel:
    """The best kernel of another shape, its length, noise and jump chosen anew."""
    if shape == best.shape:
        return best
    return _search(pieces, residual, replace(best, shape=shape), ("length", "noise", "jump"))


def _inverse(covariance: Floats, kernel: Kernel, variance: Floats, residual: Floats) -> Floats:
    """Inverse of the covariance with noise; said variances in units of the residual's."""
    scale = max(float(np.mean(residual**2)), 1e-12)
    noisy = covariance + np.diag(kernel.noise + variance / scale)
    return np.asarray(np.linalg.inv(noisy), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows among which each is left out in turn."""

    where: Ints
    apart: Distances
    variance: Floats


def _pieces(observed: Observations, columns: tuple[int, ...]) -> list[_Piece]:
    """Rows cut into pieces of about ``MOST_ROWS``; a configuration stays in one piece."""
    cut: list[list[int]] = [[]]
    for members in configurations(observed.sites).values():
        if len(cut[-1]) + len(members) > MOST_ROWS and cut[-1]:
            cut.append([])
        cut[-1].extend(members.tolist())
    pieces = []
    for rows in _some(cut):
        where = np.array(rows, dtype=np.int64)
        part = observed.sites.take(where)
        pieces.append(_Piece(where, distances(part, part, columns), observed.variance[where]))
    return pieces


def _some(cut: list[list[int]]) -> list[list[int]]:
    """At most ``MOST_PIECES`` of the pieces, at equal distances."""
    if len(cut) <= MOST_PIECES:
        return cut
    return [cut[k * len(cut) // MOST_PIECES] for k in range(MOST_PIECES)]


def _search(
    pieces: list[_Piece], residual: Floats, start: Kernel, among: Sequence[str | int] = ()
) -> Kernel:
    """The kernel with the least leave-one-out error, one choice after the other."""
    best, error = start, _error(pieces, residual, start)
    loads = any(piece.apart.load.any() for piece in pieces)
    every = [name for name in CANDIDATES if loads or name != "load_length"]
    for _ in range(1 if among else SWEEPS):
        before = error
        for name in among or (*every, *start.likeness):
            for kernel in _alternatives(best, name):
                found = _error(pieces, residual, kernel)
                if found < error:
                    error, best = found, kernel
        if error > LITTLE * before:
            break
    return best


def _alternatives(kernel: Kernel, name: str | int) -> list[Kernel]:
    """The kernel with each other candidate of one choice."""
    if isinstance(name, int):
        return [kernel.with_likeness(name, v) for v in LIKENESS if v != kernel.likeness[name]]
    now = getattr(kernel, name)
    return [replace(kernel, **{name: value}) for value in CANDIDATES[name] if value != now]  # type: ignore[arg-type]


def _error(pieces: list[_Piece], residual: Floats, kernel: Kernel) -> float:
    """Mean absolute error of leaving out each row in turn."""
    total, count = 0.0, 0
    for piece in pieces:
        own = residual[piece.where]
        inverse = _inverse(piece.apart.covariance(kernel), kernel, piece.variance, own)
        left_out = np.abs(inverse @ own) / np.diag(inverse)
        total += float(np.minimum(left_out, MOST_ERROR).sum())
        count += len(own)
    return total / count
