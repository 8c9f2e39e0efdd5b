"""Gaussian processes by protocol: each protocol has one with numbers of its own, or all share one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.distances import Distances
from icmodel.fits.kernel import Kernel
from icmodel.fits.mechanism import Mechanism, Modelled
from icmodel.fits.observations import Sites
from icmodel.fits.process import Process

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REST = ""
"""Name of the part of all protocols without a process of their own."""
OWN_ROWS = 20
"""Least rows of a protocol for a process of its own; fewer do not determine its numbers."""


def parts_of(sites: Sites) -> dict[str, Ints]:
    """The rows of each protocol with enough of them, and those of all others."""
    every = sites.by_protocol
    own = {name: rows for name, rows in every.items() if len(rows) >= OWN_ROWS}
    rest = [rows for name, rows in every.items() if name not in own]
    return own | ({REST: np.sort(np.concatenate(rest))} if rest else {})


def whole(sites: Sites) -> dict[str, Ints]:
    """All rows as one part."""
    return {REST: np.arange(len(sites))}


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows, in ascending order, and the process through them."""

    rows: Ints
    process: Process


class Cross(NamedTuple):
    """What a part needs of the sites it answers: the cost model's prediction there, and the covariance with its rows.

    ``name`` is the part's.  Processes with the same cost model, parts and kernels have the same.
    """

    where: Ints
    name: str
    modelled: Modelled
    covariance: Floats


@dataclass(frozen=True, slots=True)
class ProtocolProcesses:
    """Independent processes over the residual of one cost model, each for a part of the protocols.

    Parameters
    ----------
    parts : mapping of protocol to Part
        ``REST`` answers for protocols without a part; without ``REST`` the largest part does.
    """

    parts: Mapping[str, Part]

    @property
    def mechanism(self) -> Mechanism:
        """The cost model of all of them."""
        return next(iter(self.parts.values())).process.mechanism

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernel of each part."""
        return {name: part.process.kernel for name, part in self.parts.items()}

    @property
    def errors(self) -> Floats:
        """Leave-one-out error at each row."""
        return self._by_row(lambda one: one.errors)

    @property
    def deviations(self) -> Floats:
        """Leave-one-out standard deviation at each row."""
        return self._by_row(lambda one: one.deviations)

    @property
    def noise(self) -> Floats:
        """Variance of each row in log time, beyond its stated spread."""
        return self._by_row(lambda one: np.full(len(one.shares), one.kernel.noise * one.scale**2))

    def crosses(self, sites: Sites, modelled: Modelled, distances: Distances) -> list[Cross]:
        """Each part's covariance with the sites it answers.

        ``modelled`` is the cost model's prediction at the sites, ``distances`` are those from the rows.
        """
        found: list[Cross] = []
        for where, name in self._answering(sites):
            part, own = self.parts[name], modelled.take(where)
            between = distances.part(where, part.rows, part.process.kernel.label_distances)
            covariance = part.process.covariance(own, between)
            found.append(Cross(where, name, own, covariance))
        return found

    def log_time(self, crosses: Sequence[Cross]) -> Floats:
        """Log time at some sites."""
        return self._predicted(Process.log_time, crosses)

    def deviation(self, crosses: Sequence[Cross]) -> Floats:
        """Standard deviation of a new row at such sites."""
        return self._predicted(Process.deviation, crosses)

    def _predicted(
        self, tell: Callable[[Process, Modelled, Floats], Floats], crosses: Sequence[Cross]
    ) -> Floats:
        """Evaluate the process of each part at the sites it answers."""
        found = np.empty(sum(len(cross.where) for cross in crosses))
        for cross in crosses:
            process = self.parts[cross.name].process
            found[cross.where] = tell(process, cross.modelled, cross.covariance)
        return found

    def _answering(self, sites: Sites) -> Iterator[tuple[Ints, str]]:
        """The sites that each part answers, with its name."""
        most = max(self.parts, key=lambda name: len(self.parts[name].rows))
        other = REST if REST in self.parts else most
        found: dict[str, list[Ints]] = {}
        for name, where in sites.by_protocol.items():
            found.setdefault(name if name in self.parts else other, []).append(where)
        for name, places in found.items():
            yield np.sort(np.concatenate(places)), name

    def _by_row(self, value: Callable[[Process], Floats]) -> Floats:
        """A quantity of the processes' rows, in the order of all rows."""
        found = np.empty(sum(len(part.rows) for part in self.parts.values()))
        for part in self.parts.values():
            found[part.rows] = value(part.process)
        return found
