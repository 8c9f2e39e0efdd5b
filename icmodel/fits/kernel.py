"""Covariance of the residuals of a metric at two sites, as a function of payload, load and labels.

A residual is ln(measured / modelled): of the time per frame for a rate, and of the value for any
other metric.  The modelled number is that of the cost model.  A configuration is a set of labels:
protocol, options and counts.  The residual has three parts.  The first part is due to the costs of
the configuration (per frame, byte or packet), which differ from the costs of its protocol in the cost
model.  The second part is a constant factor of the configuration (level).  The third part varies
smoothly with payload and load.

The kernel has two forms.  In the product form, each difference in labels or load multiplies the
covariance of all three parts by a factor.  The joined form has only the third part: differences in
labels and load add to the squared payload distance, so they act like a greater distance in payload.
Both forms add a covariance that does not depend on labels: errors of costs and level that all
configurations share.  The kernel measures load by throughput, since hosts with equal throughput are
equally busy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Group = tuple[int, str]
"""Comparison of the labels of two sites: (index of a label column, a label of that column or ``""``).

If a label is given, two sites differ if exactly one of them has this label.  For ``""``, two sites
differ if their labels in the column are not equal.
"""
Pairs = TypeVar("Pairs", Floats, Bools)
NO_CURVE = 2
"""Position code of a site on a curve with fewer than two payloads.

The other codes are −1 (below the rows of the curve), 0 (between them) and 1 (above them).
"""

PRODUCT, JOINED = "product", "joined"
ROOT_3 = 3.0**0.5
COMMON = 1.0
"""Prior variance of the costs and the level that all configurations share.

Its unit is the mean square of the cost model's residual.
"""
NUMBERS = ("costs", "level", "residual", "noise", "length", "load_length", "jump")
LABEL_DISTANCE = 0.2
"""Prior of the distance between two sites that differ in one label (assumed)."""


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances between two sets of sites, left and right, from which a kernel computes covariances.

    A site is a combination of payload, load and labels.  If not stated otherwise, each array is a
    matrix (left, right) for all pairs of sites, or a vector (pairs,) for selected pairs.

    Parameters
    ----------
    payload, broken : array (left, distinct) or (distinct,)
        Differences, with sign: of the payloads in octaves, and of the packets per frame (counted up to
        2).  Right sites with equal payload and packets share a column.  A kernel squares a weighted sum
        of both differences.
    column : array (right,) or (pairs,)
        Index of each right site, or of each pair, in the last axis of ``payload`` and ``broken``.
    offered, throughput : array
        Distance in octaves between offered loads, and between throughputs.  In ``offered``, the
        unlimited load is far from every limited load.  In ``throughput``, it is close to the
        greatest limited load.
    positions_differ : array of bool
        Whether the positions of the two sites differ.  A position is below, between or above the
        measured payloads of a curve.
    differ : mapping of `Group` to array
        For each comparison of labels: 1 for pairs whose labels differ, 0 for other pairs.  A
        comparison in which no pair differs is left out.

    If all left sites have the same row in ``offered`` or ``differ``, the matrix has only this row.
    """

    payload: Floats
    broken: Floats
    column: Ints
    offered: Floats
    throughput: Floats
    positions_differ: Bools
    differ: Mapping[Group, Floats]

    def along(self, numbers: Floats) -> Floats:
        """Expand numbers of distinct payloads, (..., distinct), to numbers of right sites, (..., right).

        A site is a combination of payload, load and labels; the distances are between left sites and
        right sites.  Right sites of equal payload get the same number: ``column`` holds the index of
        each right site on the axis ``distinct``.  If the distances are of selected pairs only,
        ``column`` and the result have one element for each pair.
        """
        return numbers.take(self.column, axis=-1)

    def of_pairs(self, rows: Ints, columns: Ints) -> Distances:
        """Select the distances of the pairs (rows[0], columns[0]), (rows[1], columns[1]), ... as vectors.

        The distances of this object must be square matrices.
        """
        width = self.payload.shape[1]
        row = np.zeros(width, dtype=np.int64)
        row[self.column] = np.arange(len(self.column))  # any row with these distances
        every = self.column[rows] * width + self.column[columns]
        some = np.flatnonzero(np.bincount(every))

        def pairs(matrix: Pairs) -> Pairs:
            return matrix[0, columns] if len(matrix) == 1 else matrix[rows, columns]

        return Distances(
            self.payload[row].reshape(-1)[some],
            self.broken[row].reshape(-1)[some],
            np.searchsorted(some, every),
            pairs(self.offered),
            pairs(self.throughput),
            pairs(self.positions_differ),
            {group: pairs(differs) for group, differs in self.differ.items()},
        )

    def part(self, left: Ints, right: Ints, groups: Collection[Group]) -> Distances:
        """Select the distances of some left sites from some right sites, by their ascending indices.

        A site is a combination of payload, load and labels.  ``groups`` are the label comparisons
        (see `Group`) that the caller needs.  The result may lack all others.
        """
        if (len(left), len(right)) == (len(self.payload), len(self.column)):
            return self

        def cut(matrix: Pairs) -> Pairs:
            chosen = matrix[:, right]
            return chosen if len(matrix) == 1 else chosen[left]

        return Distances(
            self.payload[left],
            self.broken[left],
            self.column[right],
            cut(self.offered),
            cut(self.throughput),
            cut(self.positions_differ),
            {group: cut(d) for group, d in self.differ.items() if group in groups},
        )


class MeasuredSites:
    """Sites of the measured rows, prepared to compute the distances of other sites from them.

    A site is a combination of payload, load and labels.

    Parameters
    ----------
    sites : Sites
        Sites of the rows.
    groups : sequence of `Group`
        Comparisons of labels, such as whether two sites have the same protocol.
    """

    def __init__(self, sites: Sites, groups: Sequence[Group]) -> None:
        self.sites = sites
        self._groups = tuple(groups)
        self._names = {
            column: np.unique(sites.labels[:, column]) for column, label in groups if not label
        }
        self._labels = self._compared(sites)
        payload, self._offered, self._throughput, packets = _axes(sites)
        distinct, self._column = np.unique(payload + 1j * packets, return_inverse=True)
        self._payload, self._packets = distinct.real, distinct.imag
        self._between = {
            key: (sites.payload_bytes[rows].min(), sites.payload_bytes[rows].max())
            for key, rows in sites.by_curve.items()
        }
        self._own_positions = self._positions(sites, left_out=True)

    def distances(self, sites: Sites) -> Distances:
        """Compute the distances of sites (payload, load and labels) from the measured rows: matrices (sites, rows).

        If the sites differ only in payload, their distances in load and labels are equal.  Then the
        matrices ``offered`` and ``differ`` of the result have a single row for all sites.
        """
        payload, offered, throughput, packets = _axes(sites)
        rows = 1 if len(sites.by_curve) == 1 else len(sites)
        compared = self._compared(sites.take(np.arange(rows)))
        differs = compared[:, :, None] != self._labels[:, None]
        some = differs.any(axis=(1, 2)).tolist()
        every = zip(self._groups, differs.astype(np.float64), some, strict=True)
        differ = {group: matrix for group, matrix, any_ in every if any_}
        return Distances(
            payload[:, None] - self._payload,
            packets[:, None] - self._packets,
            self._column,
            np.abs(offered[:rows, None] - self._offered),
            np.abs(throughput[:, None] - self._throughput),
            self._positions(sites)[:, None] != self._own_positions,
            differ,
        )

    def _positions(self, sites: Sites, *, left_out: bool = False) -> Ints:
        """Position of each site relative to the measured payloads of its curve: −1 below, 0 between, 1 above.

        On a curve with fewer than two payloads, it is ``NO_CURVE``.  If ``left_out``, the sites are
        the rows themselves, and each is left out in turn.  The two outer rows of a curve are then
        below and above the other rows.
        """
        found = np.full(len(sites), NO_CURVE)
        for key, where in sites.by_curve.items():
            least, most = self._between.get(key, (0.0, 0.0))
            if least < most:
                payload = sites.payload_bytes[where]
                below = payload <= least if left_out else payload < least
                above = payload >= most if left_out else payload > most
                found[where] = above.astype(np.int64) - below
        return found

    def _compared(self, sites: Sites) -> Ints:
        """Convert the labels of sites to integers that can be compared, array (comparisons, sites).

        A site is a point of payload, load and labels.  Each comparison (`Group`) is of one label column.
        Two sites differ in it if their integers are unequal.  If the comparison names one label, the
        integer is 1 for sites with this label, and 0 for others.  If it names no label, the integer is
        the index of the site's label among the labels of the rows; -1 if the rows lack the label.
        """
        found = np.empty((len(self._groups), len(sites)), dtype=np.int64)
        for k, (column, label) in enumerate(self._groups):
            own = sites.labels[:, column]
            if label:
                found[k] = own == label
            else:
                names = self._names[column]
                places = np.minimum(np.searchsorted(names, own), len(names) - 1)
                found[k] = np.where(names[places] == own, places, -1)
        return found


def _axes(sites: Sites) -> tuple[Floats, Floats, Floats, Floats]:
    """Coordinates of sites: log2 of payload, of offered load and of throughput, and packets per frame.

    A site is a combination of payload, load and labels.  If the throughput is not known, the
    offered load replaces it.  More than 2 packets count as 2.
    """
    offered = np.log2(sites.load_bps)
    flow_bps = 8 * sites.payload_bytes * sites.frames_per_s
    throughput = np.log2(flow_bps, out=offered.copy(), where=flow_bps > 0)
    return np.log2(sites.payload_bytes), offered, throughput, np.minimum(sites.packets, 2.0)


def _smooth(distance: Floats) -> tuple[Floats, Floats]:
    """Matérn covariance of smoothness 3/2 at distances d, and the factor e^(−√3 d) in it.

    The derivative of the covariance by d is −3 d e^(−√3 d).
    """
    scaled = ROOT_3 * distance
    falling = np.exp(-scaled)
    return (1 + scaled) * falling, falling


@dataclass(frozen=True, slots=True)
class Kernel:
    """Covariance function of a Gaussian process over the residual of a cost model, with its parameters.

    A residual is the natural logarithm of a measured value minus that of the cost model's value; for
    a rate, the value is the time per frame.  Variances are in units of the mean square of the
    residuals.  A site is a combination of payload, load and labels, and sites with equal labels are a
    configuration.

    Parameters
    ----------
    form : "product" or "joined"
        Whether differences in labels and load multiply the covariance, or add to the squared
        distance.
    costs, level : float
        Variances of two parts of the residual that a configuration has: the error of its costs, and
        a constant factor (level).  Both are unused in the joined form.
    residual, noise : float
        Variance of the rest of the residual, which varies smoothly with payload and load.  Variance
        of the noise that a row has in addition to its stated spread.
    length, load_length : float
        Correlation length in octaves of payload and of throughput.
    jump : float
        Distance between frames of one packet and frames of several packets, in octaves of payload.
    label_distances : mapping of `Group` to float
        Comparison of some labels -> distance that it adds between two sites if they differ in
        these labels.  In the joined form, this is a squared distance.
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
        """Copy of this kernel that compares sites by exactly the given comparisons of labels (see `Group`).

        Each comparison adds a distance if the labels of two sites differ.  If this kernel has no
        distance for a comparison, the distance is ``LABEL_DISTANCE``.
        """
        return replace(
            self,
            label_distances={
                group: self.label_distances.get(group, LABEL_DISTANCE) for group in groups
            },
        )

    def numbers(self) -> Floats:
        """All parameters of this kernel as an array, the label distances last."""
        return np.array(
            [getattr(self, name) for name in NUMBERS] + list(self.label_distances.values())
        )

    def with_numbers(self, numbers: Floats) -> Kernel:
        """Copy of this kernel with parameters from an array in the order of :meth:`numbers`."""
        own = dict(zip(NUMBERS, numbers.tolist(), strict=False))
        label_distances = dict(
            zip(self.label_distances, numbers[len(NUMBERS) :].tolist(), strict=True)
        )
        return replace(self, **own, label_distances=label_distances)


def groups_of(sites: Sites) -> dict[str, tuple[Group, ...]]:
    """List the comparisons of labels (`Group`) for each form of the kernel: product and joined.

    A kernel compares the labels of two sites (combinations of payload, load and labels).  The product
    form compares each label column, such as the protocol: it asks whether the two labels are equal.
    The joined form compares each label, such as ``udp``: it asks whether exactly one of the two sites
    has this label.  Each comparison has a distance, which is a parameter of the kernel.  If all sites
    have the same label in a column, the column is left out.
    """
    columns: list[Group] = []
    labels: list[Group] = []
    for column in range(sites.labels.shape[1]):
        found = sorted(set(sites.labels[:, column].tolist()))
        if len(found) > 1:
            columns.append((column, ""))
            labels += [(column, one) for one in found]
    return {PRODUCT: tuple(columns), JOINED: tuple(labels)}


class Covariance:
    """Covariance between the two sites of each pair, without noise, and its derivatives.

    A site is a combination of payload, load and labels.  ``values`` are the covariances, in the
    shape of the distances.  The derivatives are with respect to the logarithms of the kernel's
    parameters.

    Parameters
    ----------
    kernel : Kernel
        Covariance function, with its parameters.
    distances : Distances
        Distances of the pairs, of any shape.
    shares : array
        Dot product of the cost shares of the two sites, for each pair.  A cost share is the
        fraction of a cost in the modelled time (`Modelled.shares`).
    """

    def __init__(self, kernel: Kernel, distances: Distances, shares: Floats) -> None:
        self.kernel = kernel
        self._distances = distances
        self._warped = distances.payload + kernel.jump * distances.broken
        self._shares = shares
        labels = np.zeros_like(distances.offered)
        for group in self._differing():
            labels += kernel.label_distances[group] * distances.differ[group]
        self._squares = (self._warped / kernel.length) ** 2
        if kernel.form == JOINED:
            squares = distances.along(self._squares)
            squares += (distances.throughput / kernel.load_length) ** 2
            squares += labels
            self._alike, self._own = np.ones(1), np.zeros(1)
            smooth, self._falling = _smooth(np.sqrt(squares))
        else:
            self._alike = np.exp(-distances.throughput / kernel.load_length - labels)
            self._own = self._alike * (kernel.costs * self._shares + kernel.level)
            some, self._falling = _smooth(np.sqrt(self._squares))
            smooth = distances.along(some)
        self._rest = kernel.residual * self._alike * smooth
        self.values: Floats = COMMON * (self._shares + 1.0)
        self.values += self._own
        self.values += self._rest

    def slopes(self, outer: Floats) -> Floats:
        """Gradient of the sum Σ ``outer`` × covariance over all pairs of sites, by the log of each parameter.

        A site is a combination of payload, load and labels.  ``outer`` holds a factor for each
        pair.  The result (parameters,) has the order of `Kernel.numbers`; its entry for the noise
        is 0.  Each matrix of the distances must have a number for every pair.  A matrix that has
        only one row, since all its rows are equal, is not allowed.
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
            found["load_length"] = -_sum(bent, (distances.throughput / kernel.load_length) ** 2)
            by_label = 0.5 * bent
        else:
            found["costs"] = kernel.costs * _sum(outer * self._alike, self._shares)
            found["level"] = kernel.level * _sum(outer, self._alike)
            by_label = -outer * (self._own + self._rest)
            found["load_length"] = -_sum(by_label, distances.throughput) / kernel.load_length
        labels = dict.fromkeys(kernel.label_distances, 0.0)
        for group in self._differing():
            labels[group] = kernel.label_distances[group] * _sum(by_label, distances.differ[group])
        return np.array([*found.values(), *labels.values()])

    def _differing(self) -> list[Group]:
        """Return the groups of labels (such as protocol and options) in which at least two of the sites differ.

        The kernel measures a distance in each group.  In all other groups, this distance is 0 for every pair
        of sites.
        """
        return [group for group in self.kernel.label_distances if group in self._distances.differ]


def variance(kernel: Kernel, shares: Floats) -> Floats:
    """Prior variance of the Gaussian process at each site (payload, load and labels), (sites,), without noise.

    ``shares`` (sites, costs) holds, for each cost of the cost model (such as the cost per byte),
    its fraction of the modelled time.
    """
    squares = np.sum(shares**2, axis=1)
    own = kernel.costs * squares + kernel.level if kernel.form == PRODUCT else 0.0
    return np.asarray(COMMON * (squares + 1.0) + own + kernel.residual)


def _sum(one: Floats, other: Floats) -> float:
    return float(np.vdot(one, other))


def inverted(matrix: Floats) -> tuple[Floats, float]:
    """Inverse of a covariance matrix (n, n), and half the log of its determinant.

    Only the lower triangle is read.  LAPACK's potrf and potri are three times as fast as a general
    inverse.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf, dpotri  # takes half a second to import

    root, failed = dpotrf(matrix, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance is not positive definite")
    half, _ = dpotri(root, lower=1)
    inverse = half + half.T
    np.fill_diagonal(inverse, np.diag(half))
    return inverse, float(np.sum(np.log(np.diag(root))))
