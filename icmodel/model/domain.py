"""What a dataset can be asked, by protocol, and the messages that refuse the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Bools, Floats, Ints, if_else
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.scenario import Scenario

Number = TypeVar("Number", np.float64, np.int64, np.bool_)


class ProtocolDomain(NamedTuple):
    """What one protocol of a dataset can be asked.

    ``answered`` tells whether it has any rows; ``cores`` are the counts at which its goodput was
    measured, ``other_cores`` those at which only other metrics were.
    """

    protocol: str
    answered: bool
    cores: tuple[int, ...]
    other_cores: tuple[int, ...]
    least_switches: int
    most_switches: float
    distance: bool
    sharing: bool

    @property
    def default_cores(self) -> int:
        """The greatest measured count; 0 where the dataset does not state it."""
        return max(self.cores, default=0)

    def answering_cores(self, asked: int) -> int:
        """The requested count if any metric was measured at it, else the nearest count with a goodput."""
        if asked in self.other_cores:
            return asked
        return min(self.cores, key=lambda count: (abs(count - asked), count), default=0)


def protocol_domain(protocol: str, points: Sequence[Point], link: Interconnect) -> ProtocolDomain:
    """What a protocol can be asked: counts that its rows have, and rules that need a property of the link."""
    goodput = [point for point in points if point.metric == "goodput_bps"]
    every = {p.cores for p in points if p.cores is not None}
    counts = {p.cores for p in goodput if p.cores is not None} or every
    switches = [p.switches or 0 for p in goodput or points] or [0]
    most = max((point.switches or 0 for point in points), default=0)
    return ProtocolDomain(
        protocol,
        bool(points),
        tuple(sorted(counts)),
        tuple(sorted(every - counts)),
        min(switches),
        np.inf if link.switch_latency_s is not None else most,
        link.propagation_s_per_m is not None and link.cable_length_m is not None,
        bool(goodput),
    )


def problems(data: Dataset, domain: ProtocolDomain, asked: Scenario) -> dict[str, str]:
    """Parameters of a scenario without axis or rule in the dataset, each with the message that refuses it.

    None where the dataset has no rows at all at these options, which then refuses the question.
    """
    found: dict[str, str] = {}
    if not domain.answered:
        return found
    if asked.cores is not None and not domain.cores:
        found["cores"] = (
            f"{data.id} does not state how many cores {asked.protocol} used: leave cores out"
        )
    if asked.endpoints > 1 and not domain.sharing:
        found["endpoints"] = (
            f"{data.id} has no goodput of {asked.protocol} to share: leave endpoints out"
        )
    if asked.switches < domain.least_switches:
        found["switches"] = (
            f"{data.id} measured {asked.protocol} with switches = {domain.least_switches}: ask for "
            f"that, not for {asked.switches}"
        )
    if asked.switches > domain.most_switches:
        found["switches"] = (
            f"{data.id} has neither rows with {asked.switches} switches nor a switch latency: "
            "leave switches out, or take a dataset that has"
        )
    if asked.distance_m is not None and not domain.distance:
        found["distance_m"] = (
            f"{data.id} states no cable length or propagation: leave distance out, or take a "
            "dataset that does"
        )
    return found


def of_protocol(numbers: NDArray[Number], protocol: Ints) -> NDArray[Number]:
    """Numbers by protocol for each question, (n,), or (1,) for all if there is one protocol."""
    return numbers if len(numbers) == 1 else numbers.take(protocol)


class Domains:
    """The domains of several protocols as arrays, for the core counts of some tables."""

    def __init__(self, domains: Sequence[ProtocolDomain], counts: tuple[int, ...]) -> None:
        self.answered = np.array([one.answered for one in domains])
        self.default = np.array([float(one.default_cores) for one in domains])
        self.least_switches = np.array([one.least_switches for one in domains])
        self.most_switches = np.array([one.most_switches for one in domains])
        self.distance = np.array([one.distance for one in domains])
        self.sharing = np.array([one.sharing for one in domains])
        self.has_cores = np.array([bool(one.cores) for one in domains])
        self.width = max(counts, default=0) + 2
        nearest = np.zeros((len(domains), self.width), dtype=np.int64)
        exact = np.zeros((len(domains), self.width), dtype=bool)
        for row, one in enumerate(domains):
            for asked in range(self.width):
                best = one.answering_cores(asked)
                nearest[row, asked] = counts.index(best) if best in counts else 0
                exact[row, asked] = asked in (one.cores or (0,))
        self.nearest, self.exact = nearest.reshape(-1), exact.reshape(-1)

    def cores(self, protocol: Ints, asked: Floats) -> tuple[Floats, Ints, Bools]:
        """Requested counts (defaults filled in), the index of the nearest measured count, and whether they differ."""
        missing = np.isnan(asked)
        if missing.any():
            asked = if_else(missing, self.default.take(protocol), asked)
        place = protocol * self.width + np.clip(asked, 0, self.width - 1).astype(np.int64)
        whole = np.rint(asked) == asked
        return asked, self.nearest.take(place), ~(self.exact.take(place) & whole)

    def unanswerable(
        self, protocol: Ints, cores: Floats, switches: Floats, endpoints: Floats, distance: Floats
    ) -> Bools:
        """Which questions are of a protocol without rows, or use a parameter without a rule."""
        wrong = switches < of_protocol(self.least_switches, protocol)
        wrong |= switches > of_protocol(self.most_switches, protocol)
        for has, used in (
            (self.answered, True),
            (self.has_cores, ~np.isnan(cores)),
            (self.distance, ~np.isnan(distance)),
            (self.sharing, endpoints > 1),
        ):
            if not has.all():
                wrong |= used & ~has.take(protocol)
        return wrong
