"""Distances between sites: in payload, offered load, throughput and packets, and by which labels they differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Group = tuple[int, str]
"""A label column and one of its labels: two sites differ if just one of them has it.  With the label ``""``:
two sites differ if their labels in the column do."""
Pairs = TypeVar("Pairs", Floats, Bools)
NO_CURVE = 2
"""Standing of a site on a curve without two payloads; else −1, 0 or 1: below, between or above its rows."""


@dataclass(frozen=True, slots=True)
class Distances:
    """What kernels need of each pair of sites, computed once; matrices (left, right), or vectors (pairs,).

    ``payload`` and ``broken`` are signed: their weighted sum is one warped axis, since a smooth covariance of
    the sum of two absolute distances need not be one.  Few of them are distinct, and these alone they hold, (left,
    distinct) or (distinct,); ``column`` (right,) or (pairs,) says which one each right site or pair has.  ``asked`` is
    the distance between offered loads, ``carried`` that between throughputs: in ``asked`` the unlimited load is far from
    every limit, in ``carried`` close to the greatest.  ``differ`` is 1 where sites differ; a group that is missing
    differs nowhere.  ``ends`` is true where one site lies inside its curve's payloads and the other at or beyond an end.
    Matrices of ``asked`` and ``differ`` may have one row that stands for all.
    """

    payload: Floats
    broken: Floats
    column: Ints
    asked: Floats
    carried: Floats
    ends: Bools
    differ: Mapping[Group, Floats]

    def along(self, numbers: Floats) -> Floats:
        """Numbers of the distinct distances, for every pair."""
        return numbers.take(self.column, axis=-1)

    def of_pairs(self, rows: Ints, columns: Ints) -> Distances:
        """Vectors of some pairs, by their places in matrices of distances from sites to themselves."""
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
            pairs(self.asked),
            pairs(self.carried),
            pairs(self.ends),
            {group: pairs(differs) for group, differs in self.differ.items()},
        )

    def part(self, left: Ints, right: Ints, groups: Collection[Group]) -> Distances:
        """Distances between subsets of both sites, each in ascending order, with at least these groups."""
        if (len(left), len(right)) == (len(self.payload), len(self.column)):
            return self

        def cut(matrix: Pairs) -> Pairs:
            chosen = matrix[:, right]
            return chosen if len(matrix) == 1 else chosen[left]

        return Distances(
            self.payload[left],
            self.broken[left],
            self.column[right],
            cut(self.asked),
            cut(self.carried),
            cut(self.ends),
            {group: cut(d) for group, d in self.differ.items() if group in groups},
        )


class Known:
    """The sites of the rows, from which distances are taken, with their labels as numbers.

    Parameters
    ----------
    sites : Sites
        Sites of the rows.
    groups : sequence of groups
        The label differences that count.
    """

    def __init__(self, sites: Sites, groups: Sequence[Group]) -> None:
        self.sites = sites
        self._groups = tuple(groups)
        self._names = {
            column: np.unique(sites.labels[:, column]) for column, label in groups if not label
        }
        self._labels = self._compared(sites)
        payload, self._asked, self._carried, packets = _axes(sites)
        distinct, self._column = np.unique(payload + 1j * packets, return_inverse=True)
        self._payload, self._packets = distinct.real, distinct.imag
        self._between = {
            key: (sites.payload_bytes[rows].min(), sites.payload_bytes[rows].max())
            for key, rows in sites.by_curve.items()
        }
        self._ends = self._standing(sites, own=True)

    def distances(self, sites: Sites) -> Distances:
        """Distances from some sites to the known ones.

        Where the sites differ in payload alone, one row of offered loads and labels stands for all.
        """
        payload, asked, carried, packets = _axes(sites)
        rows = 1 if len(sites.by_curve) == 1 else len(sites)
        first = sites.take(np.arange(rows))
        return Distances(
            payload[:, None] - self._payload,
            packets[:, None] - self._packets,
            self._column,
            np.abs(asked[:rows, None] - self._asked),
            np.abs(carried[:, None] - self._carried),
            self._standing(sites)[:, None] != self._ends,
            self._differ(first),
        )

    def _standing(self, sites: Sites, *, own: bool = False) -> Ints:
        """Standing of each site: −1, 0 or 1, below, between or above its curve's rows; ``NO_CURVE`` without two.

        With ``own`` the sites are the rows themselves: the outer two count as left out, so beyond the ends.
        """
        found = np.full(len(sites), NO_CURVE)
        for key, where in sites.by_curve.items():
            least, most = self._between.get(key, (0.0, 0.0))
            if least < most:
                payload = sites.payload_bytes[where]
                below = payload <= least if own else payload < least
                above = payload >= most if own else payload > most
                found[where] = above.astype(np.int64) - below
        return found

    def _differ(self, sites: Sites) -> dict[Group, Floats]:
        """Each group in which some site differs from a known one, with the matrix of where."""
        differs = self._compared(sites)[:, :, None] != self._labels[:, None]
        some = differs.any(axis=(1, 2)).tolist()
        every = zip(self._groups, differs.astype(np.float64), some, strict=True)
        return {group: matrix for group, matrix, any_ in every if any_}

    def _compared(self, sites: Sites) -> Ints:
        """What each group compares, (groups, sites): the label's number, or whether it is the group's label."""
        found = np.empty((len(self._groups), len(sites)), dtype=np.int64)
        for k, (column, label) in enumerate(self._groups):
            own = sites.labels[:, column]
            found[k] = own == label if label else _numbers(self._names[column], own)
        return found


def _axes(sites: Sites) -> tuple[Floats, Floats, Floats, Floats]:
    """Log2 of payload, of offered load and of throughput; and packets per frame, counted up to 2.

    Where the throughput is not known the offered load stands for it.
    """
    asked = np.log2(sites.load_bps)
    flow_bps = 8 * sites.payload_bytes * sites.frames_per_s
    carried = np.log2(flow_bps, out=asked.copy(), where=flow_bps > 0)
    return np.log2(sites.payload_bytes), asked, carried, np.minimum(sites.packets, 2.0)


def _numbers(names: NDArray[np.str_], labels: NDArray[np.str_]) -> Ints:
    """Index of each label among ascending names; −1 for one that is not among them."""
    places = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    return np.where(names[places] == labels, places, -1)
