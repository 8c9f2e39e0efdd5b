"""Processes side by side: each protocol under numbers of its own, or all under the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.distances import Distances
from icmodel.fits.kernel import Kernel
from icmodel.fits.mechanism import Mechanism, Modelled, protocols
from icmodel.fits.observations import Sites
from icmodel.fits.process import Process

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REST = ""
"""Name of the part of all protocols that have none of their own."""
OWN_ROWS = 20
"""Rows from which a protocol has numbers of its own; of fewer it is not known how they vary."""


def parts_of(sites: Sites) -> dict[str, Ints]:
    """The rows of each protocol with enough of them, and those of all others."""
    every = protocols(sites)
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


@dataclass(frozen=True, slots=True)
class Parted:
    """Processes over what one mechanism leaves, which know nothing of each other.

    Parameters
    ----------
    parts : mapping of protocol to Part
        ``REST`` answers for protocols without a part; where there is none, the greatest does.
    """

    parts: Mapping[str, Part]

    @property
    def mechanism(self) -> Mechanism:
        """What all of them are over."""
        return next(iter(self.parts.values())).process.mechanism

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernel of each part."""
        return {name: part.process.kernel for name, part in self.parts.items()}

    @property
    def errors(self) -> Floats:
        """Error at each row when that row is left out."""
        return self._by_row(lambda one: one.errors)

    @property
    def deviations(self) -> Floats:
        """Standard deviation expected at each row when that row is left out."""
        return self._by_row(lambda one: one.deviations)

    @property
    def noise(self) -> Floats:
        """Variance of each row in log time, beyond what its spread says."""
        return self._by_row(lambda one: np.full(len(one.shares), one.kernel.noise * one.scale**2))

    def log_time(self, sites: Sites, modelled: Modelled, apart: Distances) -> Floats:
        """Log of the time at sites so far from the rows, of which the mechanism says that."""
        return self._told(Process.log_time, sites, modelled, apart)

    def deviation(self, sites: Sites, modelled: Modelled, apart: Distances) -> Floats:
        """Standard deviation expected of a new row at such sites."""
        return self._told(Process.deviation, sites, modelled, apart)

    def _told(
        self,
        tell: Callable[[Process, Modelled, Floats], Floats],
        sites: Sites,
        modelled: Modelled,
        apart: Distances,
    ) -> Floats:
        """What the parts tell of the sites that each answers."""
        found = np.empty(len(sites))
        for where, part in self._answering(sites):
            own = modelled.take(where)
            cross = part.process.covariance(own, apart.part(where, part.rows))
            found[where] = tell(part.process, own, cross)
        return found

    def _answering(self, sites: Sites) -> Iterator[tuple[Ints, Part]]:
        """Which sites each part answers."""
        most = max(self.parts, key=lambda name: len(self.parts[name].rows))
        other = REST if REST in self.parts else most
        found: dict[str, list[Ints]] = {}
        for name, where in protocols(sites).items():
            found.setdefault(name if name in self.parts else other, []).append(where)
        for name, places in found.items():
            yield np.sort(np.concatenate(places)), self.parts[name]

    def _by_row(self, told: Callable[[Process], Floats]) -> Floats:
        """Something that each process says of its rows, in the order of all rows."""
        found = np.empty(sum(len(part.rows) for part in self.parts.values()))
        for part in self.parts.values():
            found[part.rows] = told(part.process)
        return found
