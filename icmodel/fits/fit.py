"""Fit a metric: mechanisms, Gaussian processes over the residual, and curves, blended.

A process' numbers are those under which the rows are likeliest; what each candidate is worth is said
by its errors of leaving out one row, which a Gaussian process gives in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.blend import Blend, blend
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.fits.curves import WAYS, Curves
from icmodel.fits.distances import Distances, Group, Known
from icmodel.fits.hyperparameters import Hyperparameters, Kernels
from icmodel.fits.interval import Widths, widths
from icmodel.fits.kernel import (
    JOINED,
    NUMBERS,
    PRODUCT,
    Kernel,
    groups_of,
)
from icmodel.fits.likelihood import Piece, likeliest
from icmodel.fits.mechanism import CONSTANT, Mechanism, configurations, possible_kinds
from icmodel.fits.observations import Observations, Sites
from icmodel.fits.parted import REST, Part, Parted, parts_of, whole
from icmodel.fits.process import Process, process, scale_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Design:
    """What a process is made of: the constant or the best other mechanism, and a form.

    ``own``: each protocol has numbers of its own, and knows nothing of the others.
    """

    constant: bool
    form: str
    own: bool = False


DESIGNS = (
    Design(False, PRODUCT, own=True),
    Design(True, PRODUCT),
    Design(True, JOINED),
)
"""Unlike each other, so that they err apart."""
CANDIDATES = (
    "own process",
    "process over a constant",
    "joined process over a constant",
    *WAYS,
)
"""Names of what is blended: the processes in the order of the designs, and the ways of curves."""
FREEDOM = 3.0
"""Degrees of freedom of a row's noise; assumed."""
MOST_ROWS = 96
"""Rows of one piece of the search for numbers: its time grows with their cube."""
MOST_PIECES = 3
"""Pieces that the search looks at; more would change numbers little and take longer."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of some sites: how far they lie from the rows, by each candidate, how unsure that is.

    ``candidates`` (candidates, n) are log times, NaN where one says nothing; ``deviation`` (n,) is what
    the first process expects of them.
    """

    apart: Distances
    candidates: Floats
    deviation: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted metric in log time: what each candidate says, blended, and how sure that is."""

    known: Known
    processes: tuple[Parted, ...]
    plain: Parted
    """The first process before any row was doubted: how unsure it is says how far a site lies from rows."""
    curves: Curves
    blend: Blend
    widths: Widths

    @property
    def sites(self) -> Sites:
        """Where the metric is known."""
        return self.known.sites

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism whose residual is easiest to predict."""
        return self.processes[0].mechanism

    @property
    def hyperparameters(self) -> Hyperparameters:
        """What the search found."""
        return Hyperparameters(self.mechanism.kind, tuple(one.kernels for one in self.processes))

    def at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Log time at some sites, and the half-width of its 90 % interval for one new run."""
        log_time, half, near = self._at(sites)
        return log_time, self.widths.of_run(half, near)

    def mean_at(self, sites: Sites) -> tuple[Floats, Floats]:
        """Log time at some sites, and the half-width of its 90 % interval for the mean of many."""
        log_time, half, _ = self._at(sites)
        return log_time, half

    def told(self, sites: Sites) -> Told:
        """What each candidate says of some sites, before it is blended."""
        apart = self.known.distances(sites)
        modelled = {one: one.at(sites) for one in {each.mechanism for each in self.processes}}
        physics = modelled[self.mechanism]
        said = [one.log_time(sites, modelled[one.mechanism], apart) for one in self.processes]
        said += [*self.curves.log_time(sites, physics.log_time)]
        return Told(apart, np.stack(said), self.plain.deviation(sites, physics, apart))

    def _at(self, sites: Sites) -> tuple[Floats, Floats, Floats]:
        """Log time, its half-width for the mean of many, and how near each known row is."""
        told = self.told(sites)
        near = self.blend.nearness(told.apart)
        log_time, apart = self.blend.at(told.candidates, near)
        return log_time, self.widths.of_mean(near, told.deviation, apart), near


def fit(
    observed: Observations,
    log_time: Floats,
    like: Fit | None = None,
    known: Hyperparameters | None = None,
    constants: Constants = SHIPPED,
) -> Fit:
    """Fit log times of some rows.

    Parameters
    ----------
    observed : Observations
        The rows.
    log_time : array
        Natural logarithm of the time [s] at each, or of a multiple of another time.
    like : Fit, optional
        Of a metric of the same kind: the search for kernels begins at its own and takes few steps;
        ignored for at most ``MOST_ROWS`` rows.
    known : Hyperparameters, optional
        What was found of the same rows: nothing is searched for.
    constants : Constants
        How candidates are blended.
    """
    if len(log_time) <= MOST_ROWS:
        like = None  # a whole search takes no time to speak of
    rows = _rows(observed, log_time)
    kinds = (known.mechanism,) if known else possible_kinds(observed.sites)
    physics = rows.easiest([Mechanism(kind, observed.sites, log_time) for kind in kinds])
    constant = Mechanism(CONSTANT, observed.sites, log_time)
    processes: list[Parted] = []
    for number, design in enumerate(DESIGNS):
        mechanism = constant if design.constant else physics
        near = like.processes[number].kernels if like else {}
        kernels = known.kernels[number] if known else rows.likeliest(mechanism, design, near)
        if not processes:
            plain = rows.through(mechanism, kernels)
            rows = rows.doubting(plain)
        processes.append(rows.through(mechanism, kernels))
    curves = Curves(observed.sites, log_time, physics.at(observed.sites).log_time)
    blended = blend(
        rows.apart, np.stack([one.errors for one in processes] + [*curves.errors]), constants
    )
    fitted = physics.parameters + len(NUMBERS) + len(rows.groups[PRODUCT])
    beyond = np.sqrt(np.maximum(observed.spread**2 - observed.variance, 0.0))
    measured = widths(blended, plain.deviations, beyond, fitted)
    return Fit(rows.known, tuple(processes), plain, curves, blended, measured)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a fit, and what every process through them needs."""

    observed: Observations
    log_time: Floats
    groups: Mapping[str, tuple[Group, ...]]
    known: Known
    apart: Distances
    parts: Mapping[str, Ints]

    def through(self, mechanism: Mechanism, kernels: Kernels) -> Parted:
        """The processes over what a mechanism leaves, of a kernel for each part."""
        own = kernels.keys() == self.parts.keys()
        cut = self.parts if own else whole(self.observed.sites)
        return Parted(
            {name: Part(cut[name], self._one(mechanism, kernels[name], cut[name])) for name in cut}
        )

    def _one(self, mechanism: Mechanism, kernel: Kernel, rows: Ints) -> Process:
        own = kernel.on(self.groups[kernel.form])
        apart = self.apart.part(rows, rows)
        return process(mechanism, own, self.observed.take(rows), apart, self.log_time[rows])

    def easiest(self, mechanisms: Sequence[Mechanism]) -> Mechanism:
        """The mechanism whose residual is easiest to predict."""

        def error(one: Mechanism) -> float:
            found = self.through(one, {REST: Kernel()})
            return float(np.mean(np.minimum(np.abs(found.errors), 1.0)))

        return mechanisms[0] if len(mechanisms) == 1 else min(mechanisms, key=error)

    def likeliest(self, mechanism: Mechanism, design: Design, near: Kernels) -> Kernels:
        """For each part the kernel under which what a mechanism leaves is likeliest.

        The search begins at a known one, where there is one of the part.
        """
        cut = self.parts if design.own else whole(self.observed.sites)
        return {
            name: self._likeliest(mechanism, design, rows, near.get(name))
            for name, rows in cut.items()
        }

    def _likeliest(
        self, mechanism: Mechanism, design: Design, rows: Ints, near: Kernel | None
    ) -> Kernel:
        sites = self.observed.sites.take(rows)
        modelled = mechanism.at(sites)
        residual = self.log_time[rows] - modelled.log_time
        scale = scale_of(residual)
        variance = self.observed.variance[rows] / scale**2
        groups = self.groups[design.form]
        pieces = []
        for where in _pieces(sites):
            part = sites.take(where)
            apart = Known(part, groups).distances(part)
            shares = modelled.shares[where]
            pieces.append(Piece(apart, shares, residual[where] / scale, variance[where]))
        prior = Kernel(design.form).on(groups)
        start = None if near is None else near.on(groups)
        return likeliest(prior, pieces, start)

    def doubting(self, found: Parted) -> _Rows:
        """The rows with less trust in those that a process finds far off."""
        variance = doubted(found, self.observed.variance)
        return replace(self, observed=replace(self.observed, variance=variance))


def _rows(observed: Observations, log_time: Floats) -> _Rows:
    sites = observed.sites
    groups = groups_of(sites)
    known = Known(sites, (*groups[PRODUCT], *groups[JOINED]))
    return _Rows(observed, log_time, groups, known, known.distances(sites), parts_of(sites))


def doubted(found: Parted, variance: Floats) -> Floats:
    """Variances of rows, greater where a row is farther off than its runs let expect.

    The spread of a few runs is uncertain, and runs are disturbed now and then: noise has Student's
    distribution, whose weights are (ν + 1) / (ν + e²/σ²) (K. L. Lange, R. J. A. Little and
    J. M. G. Taylor, J. Am. Stat. Assoc. 84, 1989).  A row that says no spread is taken at its word.
    """
    scores = (found.errors / found.deviations) ** 2
    less_sure = np.maximum((FREEDOM + scores) / (FREEDOM + 1.0), 1.0) - 1.0
    noise = variance + found.noise
    return np.where(variance > 0, variance + less_sure * noise, 0.0)


def _pieces(sites: Sites) -> list[Ints]:
    """Rows cut into pieces of about ``MOST_ROWS``; a configuration of less stays in one piece."""
    cut: list[list[int]] = [[]]
    for members in (part for rows in configurations(sites).values() for part in _parts(rows)):
        if len(cut[-1]) + len(members) > MOST_ROWS and cut[-1]:
            cut.append([])
        cut[-1].extend(members.tolist())
    return [np.array(rows, dtype=np.int64) for rows in _some(cut)]


def _parts(rows: Ints) -> list[Ints]:
    """Every so many of the rows, so that no part has more than ``MOST_ROWS``."""
    count = -(-len(rows) // MOST_ROWS)
    return [rows[k::count] for k in range(count)]


def _some(cut: Sequence[list[int]]) -> list[list[int]]:
    """At most ``MOST_PIECES`` of the pieces, at equal distances."""
    if len(cut) <= MOST_PIECES:
        return list(cut)
    return [cut[k * len(cut) // MOST_PIECES] for k in range(MOST_PIECES)]
