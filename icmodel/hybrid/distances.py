"""How far sites lie from known ones: in payload, load and packets, and which labels differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.hybrid.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Group = tuple[int, str]
"""Label column and one of its labels: sites differ if one has it; or ``""``: if labels differ."""


@dataclass(frozen=True, slots=True)
class Distances:
    """What kernels need of each pair of sites, computed once; matrices of (left, right).

    ``payload`` and ``broken`` are signed differences: together they make one warped axis, since a
    smooth covariance of a sum of two distances need not be one.  ``differ`` is 1 where sites differ,
    and has the groups alone in which some do.
    """

    payload: Floats
    load: Floats
    broken: Floats
    differ: Mapping[Group, Floats]


class Known:
    """Sites that others are compared with, their labels as numbers.

    Parameters
    ----------
    sites : Sites
        The known ones.
    groups : sequence of groups
        The differences in labels that count.
    """

    def __init__(self, sites: Sites, groups: Sequence[Group]) -> None:
        self.sites = sites
        self._groups = tuple(groups)
        self._names = {
            column: np.unique(sites.labels[:, column]) for column, label in groups if not label
        }
        self._labels = self._compared(sites)
        self._payload, self._load, self._packets = _axes(sites)

    def distances(self, sites: Sites) -> Distances:
        """From some sites to the known ones.

        Where the sites differ in payload alone, one row of load and labels stands for all.
        """
        payload, _, packets = _axes(sites)
        first = sites.take(np.arange(1)) if _one_curve(sites) else sites
        return Distances(
            payload[:, None] - self._payload,
            np.abs(np.log2(first.load_bps)[:, None] - self._load),
            packets[:, None] - self._packets,
            dict(self._differ(first)),
        )

    def _differ(self, sites: Sites) -> Iterator[tuple[Group, Floats]]:
        """The groups in which some of the sites differ from known ones, and where they do."""
        for group, own, other in zip(
            self._groups, self._compared(sites), self._labels, strict=True
        ):
            differs = own[:, None] != other
            if differs.any():
                yield group, differs.astype(np.float64)

    def _compared(self, sites: Sites) -> Ints:
        """What each group compares, (groups, sites): a label's number, or whether it is the one."""
        found = np.empty((len(self._groups), len(sites)), dtype=np.int64)
        for k, (column, label) in enumerate(self._groups):
            own = sites.labels[:, column]
            found[k] = own == label if label else _numbers(self._names[column], own)
        return found


def _axes(sites: Sites) -> tuple[Floats, Floats, Floats]:
    """Octaves of payload and load, and whether a frame becomes more than one packet."""
    packets = np.minimum(sites.packets, 2.0)
    return np.log2(sites.payload_bytes), np.log2(sites.load_bps), packets


def _numbers(names: NDArray[np.str_], labels: NDArray[np.str_]) -> Ints:
    """The place of each label among ascending names; -1 of one that is not there."""
    places = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    return np.where(names[places] == labels, places, -1)


def _one_curve(sites: Sites) -> bool:
    return bool(
        len(sites) > 1
        and (sites.load_bps == sites.load_bps[0]).all()
        and (sites.labels == sites.labels[0]).all()
    )
