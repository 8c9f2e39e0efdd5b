"""Gaussian process over the residual of a cost model: one candidate predictor of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.estimate.statistics import COVERAGE, LONE_WIDTH
from icmodel.fits.kernel import Covariance, Distances, Kernel, inverted, variance
from icmodel.fits.mechanism import Mechanism, Modelled
from icmodel.fits.observations import Observations, Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_SCALE = 1e-6
"""Least scale of a residual (difference of two logarithms); smaller residuals are rounding errors."""
REST = ""
"""Name of the part that pools all protocols without a separate Gaussian process."""
OWN_ROWS = 20
"""Least number of rows for a separate Gaussian process of a protocol.

Fewer rows do not determine its parameters.
"""


@dataclass(frozen=True, slots=True)
class Process:
    """Cost model, and Gaussian process over its residual, conditioned on n measured rows.

    Parameters
    ----------
    mechanism : Mechanism
        Fitted cost model.  Its residual is ln(measured / modelled), where the measured quantity is the
        time per frame for a rate, and the value for any other metric.
    kernel : Kernel
        Covariance function, with its parameters.
    scale : float
        Root mean square of the residual, which is the unit of the process.
    shares : array (n, costs)
        Fraction of each cost in the time of each row.
    inverse : array (n, n)
        Precision matrix: the inverse of the covariance of the rows, with noise.
    representer_weights : array (n,)
        Precision matrix times the residual in units of ``scale``.
    twins : tuple of arrays
        Groups of rows with equal payload, load and labels, as indices.
    """

    mechanism: Mechanism
    kernel: Kernel
    scale: float
    shares: Floats
    inverse: Floats
    representer_weights: Floats
    twins: tuple[Ints, ...] = ()

    @property
    def errors(self) -> Floats:
        """Leave-one-out error of the log time of each row, measured minus predicted, (n,).

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.

        The representer weights w are the precision matrix (inverse covariance) times the residual.
        The error of a single row is its weight divided by its diagonal element of the precision
        matrix (C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning,
        2006, eq. 5.12).  Twins (rows with equal payload, load and labels) are left out together.
        Their errors e solve P e = w, where P is the block of the precision matrix for these rows.
        """
        found = self.representer_weights / np.diag(self.inverse)
        for rows in self.twins:
            found[rows] = np.linalg.solve(
                self.inverse[np.ix_(rows, rows)], self.representer_weights[rows]
            )
        return np.asarray(self.scale * found)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation of the log time at each row, (n,).

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.  Rows with equal
        payload, load and labels are left out together.
        """
        found = 1.0 / np.diag(self.inverse)
        for rows in self.twins:
            found[rows] = np.diag(np.linalg.inv(self.inverse[np.ix_(rows, rows)]))
        return np.asarray(self.scale * np.sqrt(found))

    def covariance(self, modelled: Modelled, distances: Distances) -> Floats:
        """Covariance of m sites (payload, load and labels) with the n rows of this process, (m, n).

        The result is relative to the variance of the process, ``scale``².  ``modelled`` is the cost
        model's prediction at the sites, and ``distances`` are those of the sites from the rows.
        """
        return Covariance(self.kernel, distances, modelled.shares @ self.shares.T).values

    def log_time(self, modelled: Modelled, cross: Floats) -> Floats:
        """Predict the log time of the metric at m sites (payload, load and labels), (m,).

        Log time is a natural logarithm: of the time per frame [s] if the metric is a rate, otherwise of
        the value of the metric.  ``cross`` (m, n) is the covariance between the sites and the n measured
        rows.
        """
        return np.asarray(modelled.log_time + self.scale * (cross @ self.representer_weights))

    def deviation(self, modelled: Modelled, cross: Floats) -> Floats:
        """Standard deviation of the log time of a new row at m sites (payload, load and labels), (m,).

        Log time is the natural logarithm of the time per frame for a rate, and of the value for any
        other metric.  ``cross`` (m, n) is the covariance between the sites and the n measured rows.
        """
        known = np.sum((cross @ self.inverse) * cross, axis=1)
        unknown = variance(self.kernel, modelled.shares) - known
        return np.asarray(self.scale * np.sqrt(np.maximum(unknown, 0.0) + self.kernel.noise))


def scale_of(residual: Floats) -> float:
    """Root mean square of a cost model's residual, at least ``LEAST_SCALE``."""
    return max(float(np.sqrt(np.mean(residual**2))), LEAST_SCALE)


def process(
    mechanism: Mechanism,
    kernel: Kernel,
    observed: Observations,
    distances: Distances,
    log_time: Floats,
) -> Process:
    """Condition a Gaussian process over the residual of a cost model on n rows.

    Parameters
    ----------
    mechanism : Mechanism
        Fitted cost model.
    kernel : Kernel
        Covariance function, with its parameters.
    observed : Observations
        The rows, with the relative variance of each.
    distances : Distances
        Distances between the rows.
    log_time : array (n,)
        Log time at each row.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the covariance of the rows is not positive definite.
    """
    modelled = mechanism.at(observed.sites)
    residual = log_time - modelled.log_time
    scale = scale_of(residual)
    shares = modelled.shares
    covariance = Covariance(kernel, distances, shares @ shares.T).values
    noisy = covariance + np.diag(kernel.noise + observed.variance / scale**2)
    inverse, _ = inverted(noisy)
    representer_weights = inverse @ residual / scale
    return Process(
        mechanism, kernel, scale, shares, inverse, representer_weights, observed.sites.twins
    )


def parts_of(sites: Sites) -> dict[str, Ints]:
    """Split rows into parts: one per protocol with enough rows, and one for all other protocols."""
    every = sites.by_protocol
    own = {name: rows for name, rows in every.items() if len(rows) >= OWN_ROWS}
    rest = [rows for name, rows in every.items() if name not in own]
    return own | ({REST: np.sort(np.concatenate(rest))} if rest else {})


def whole(sites: Sites) -> dict[str, Ints]:
    """Put all rows into a single part, for a Gaussian process that all protocols share."""
    return {REST: np.arange(len(sites))}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a fit's rows, such as a protocol, and the Gaussian process conditioned on these rows.

    ``rows`` are the indices of the rows, ascending.
    """

    rows: Ints
    process: Process


class Cross(NamedTuple):
    """Covariance between sites to predict and the measured rows from which they are predicted.

    A site is a point of payload, load and labels.  Rows and sites belong to one part of a fit, such as
    a protocol.  Gaussian processes with equal cost models, parts and kernels share this object.

    Parameters
    ----------
    indices : array of int
        Indices of these sites among all sites to predict.
    name : str
        Name of the part.
    modelled : Modelled
        The cost model's prediction at the sites.
    covariance : array (sites, rows)
        Covariance of each site with each row of the part.
    """

    indices: Ints
    name: str
    modelled: Modelled
    covariance: Floats


@dataclass(frozen=True, slots=True)
class ProtocolProcesses:
    """Independent Gaussian processes over the residual of one cost model, one for each part of the rows.

    Parameters
    ----------
    parts : mapping of str to Part
        Parts by protocol, each with its rows and its process.  The part with the name ``REST``
        predicts each protocol without a part.  If there is no such part, the part with the most
        rows predicts these protocols.
    """

    parts: Mapping[str, Part]

    @property
    def mechanism(self) -> Mechanism:
        """Cost model that the Gaussian processes of all parts share."""
        return next(iter(self.parts.values())).process.mechanism

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Kernels of the Gaussian processes, by name of the part of rows, such as a protocol."""
        return {name: part.process.kernel for name, part in self.parts.items()}

    @property
    def errors(self) -> Floats:
        """Leave-one-out error of each row's log time, (rows,).

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.
        """
        return self._by_row(lambda one: one.errors)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation of each row's log time, (rows,).

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.
        """
        return self._by_row(lambda one: one.deviations)

    @property
    def noise(self) -> Floats:
        """Noise variance that the fit adds to the stated variance of each row.

        Both are variances of the natural logarithm of a time: the time per frame for a rate, otherwise the
        metric's own value.
        """
        return self._by_row(lambda one: np.full(len(one.shares), one.kernel.noise * one.scale**2))

    def crosses(self, sites: Sites, modelled: Modelled, distances: Distances) -> list[Cross]:
        """Compute the covariances between sites and rows, separately for each part of the rows.

        A site is a combination of payload, load and labels.  One part, such as the rows of the site's
        protocol, predicts it.  Parts that predict no site are left out.  ``modelled`` is the cost model's
        prediction at the sites.  ``distances`` are the distances between the sites and the rows.
        """
        most = max(self.parts, key=lambda name: len(self.parts[name].rows))
        other = REST if REST in self.parts else most
        answered: dict[str, list[Ints]] = {}
        for protocol, places in sites.by_protocol.items():
            answered.setdefault(protocol if protocol in self.parts else other, []).append(places)
        found: list[Cross] = []
        for name, parts in answered.items():
            where = np.sort(np.concatenate(parts))
            part, own = self.parts[name], modelled.take(where)
            between = distances.part(where, part.rows, part.process.kernel.label_distances)
            covariance = part.process.covariance(own, between)
            found.append(Cross(where, name, own, covariance))
        return found

    def log_time(self, crosses: Sequence[Cross]) -> Floats:
        """Predict the log time at n sites (payload, load and labels), (n,).

        Log time is ln(time per frame) for a rate, and ln(value) for any other metric.
        ``crosses`` are the covariances of the sites with the rows of each part.
        """
        return self._predicted(Process.log_time, crosses)

    def deviation(self, crosses: Sequence[Cross]) -> Floats:
        """Standard deviation of the log time of a new measurement at each of n sites, (n,).

        A site is a point of payload, load and labels.  Log time is ln(time per frame) for a rate, and
        ln(value) for any other metric.  ``crosses`` has the covariances of the sites with measured
        rows, in one element for each part of the rows, such as the rows of a protocol.
        """
        return self._predicted(Process.deviation, crosses)

    def _predicted(
        self, quantity: Callable[[Process, Modelled, Floats], Floats], crosses: Sequence[Cross]
    ) -> Floats:
        """Compute a quantity, such as the standard deviation, at each site (payload, load and labels).

        The rows are divided into parts, such as one part per protocol.  Each part has its own Gaussian
        process, which computes the quantity at the sites of this part.
        """
        found = np.empty(sum(len(cross.indices) for cross in crosses))
        for cross in crosses:
            process = self.parts[cross.name].process
            found[cross.indices] = quantity(process, cross.modelled, cross.covariance)
        return found

    def _by_row(self, value: Callable[[Process], Floats]) -> Floats:
        """Return one number for each row, such as its leave-one-out error, in the order of all rows.

        Each Gaussian process has only the rows of its part, such as those of one protocol.
        ``value`` computes the numbers of the rows of one process.
        """
        found = np.empty(sum(len(part.rows) for part in self.parts.values()))
        for part in self.parts.values():
            found[part.rows] = value(part.process)
        return found


def left_out_together(process: Process, names: NDArray[np.str_]) -> Floats:
    """Root mean square error of each configuration (set of labels), if all its rows are left out.

    The errors e of its rows solve P e = w.  Here P is the block of the precision matrix (inverse
    covariance) for these rows.  The representer weights w are the precision matrix times the
    residual, as in `Process.errors`.

    Parameters
    ----------
    process : Process
        Gaussian process conditioned on the rows.
    names : array (rows, columns)
        Labels that identify the configuration of each row.

    Returns
    -------
    array (configurations,)
        Errors, in the order of the sorted labels.  They are errors of the natural logarithm: of the time
        per frame for a rate, and of the value for any other metric.
    """
    _, inverse = np.unique(names, axis=0, return_inverse=True)
    group = inverse.reshape(-1)
    found = []
    for k in range(int(group.max()) + 1):
        rows = np.flatnonzero(group == k)
        block = process.inverse[np.ix_(rows, rows)]
        errors = process.scale * np.linalg.solve(block, process.representer_weights[rows])
        found.append(float(np.sqrt(np.mean(errors**2))))
    return np.array(found)


def half_width(found: ProtocolProcesses, names: NDArray[np.str_]) -> float:
    """Half-width of the 90 % interval for a configuration without measured rows.

    It is the half-width of the natural logarithm of the predicted time, so 0.1 means about ±10 % of the time.
    The half-width is the conformal quantile of the errors of left-out configurations.  If there are too
    few configurations for this quantile, the half-width is the larger of two numbers: the greatest
    error, and the half-width assumed for a single point.
    ``names`` (rows, columns) are the labels that identify the configuration of each row.
    """
    parts = found.parts.values()
    errors = np.sort(
        np.concatenate([left_out_together(part.process, names[part.rows]) for part in parts])
    )
    rank = math.ceil(COVERAGE * (len(errors) + 1))
    if rank > len(errors):
        return max(float(errors[-1]), LONE_WIDTH)
    return float(errors[rank - 1])
