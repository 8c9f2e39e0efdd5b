"""Which parameters a dataset has rows or rules for, protocol by protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.model.rows import rows_at
from icmodel.scenario import Scenario

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProtocolRules:
    """What one protocol of a dataset can be asked.

    ``answered`` is whether it has rows at all; ``cores`` are the counts at which its goodput was
    measured, ``other_cores`` those at which other metrics alone were.
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
        """The most measured count; 0 where the dataset does not say."""
        return max(self.cores, default=0)

    def answering_cores(self, asked: int) -> int:
        """The asked count where any metric was measured at it, else the nearest of the goodput's."""
        if asked in self.other_cores:
            return asked
        return min(self.cores, key=lambda count: (abs(count - asked), count), default=0)


def protocol_rules(
    data: Dataset, protocol: str, options: Mapping[str, str], *, borrow: bool = False
) -> ProtocolRules:
    """What a protocol can be asked: counts with rows, and rules that need a property of the link.

    With ``borrow`` by the rows that stand in where there are none (`icmodel.model.rows`).

    Raises
    ------
    DatasetError
        If the dataset has no such option.
    """
    points, link = rows_at(data, protocol, options, borrow=borrow).points, data.link(options)
    goodput = [point for point in points if point.metric == "goodput_bps"]
    every = {p.cores for p in points if p.cores is not None}
    counts = {p.cores for p in goodput if p.cores is not None} or every
    switches = [p.switches or 0 for p in goodput or points] or [0]
    return ProtocolRules(
        protocol,
        bool(points),
        tuple(sorted(counts)),
        tuple(sorted(every - counts)),
        min(switches),
        np.inf if link.switch_latency_s is not None else _most_switches(points),
        link.propagation_s_per_m is not None and link.cable_length_m is not None,
        bool(goodput),
    )


def _most_switches(points: Sequence[Point]) -> int:
    return max((point.switches or 0 for point in points), default=0)


def problems(data: Dataset, rules: ProtocolRules, asked: Scenario) -> dict[str, str]:
    """Parameters of a scenario without axis or rule, each with the sentence that refuses it."""
    found: dict[str, str] = {}
    if asked.switches < rules.least_switches:
        found["switches"] = (
            f"{data.id} measured {asked.protocol} with switches = {rules.least_switches}: ask for "
            f"that, not for {asked.switches}"
        )
    if asked.switches > rules.most_switches:
        found["switches"] = (
            f"{data.id} has neither rows with {asked.switches} switches nor a switch latency: "
            "leave switches out, or take a dataset that has"
        )
    if asked.distance_m is not None and not rules.distance:
        found["distance_m"] = (
            f"{data.id} says no cable length or propagation: leave distance out, or take a "
            "dataset that does"
        )
    if asked.cores is not None and not rules.cores:
        found["cores"] = (
            f"{data.id} does not say how many cores {asked.protocol} used: leave cores out"
        )
    if asked.endpoints > 1 and not rules.sharing:
        found["endpoints"] = (
            f"{data.id} has no goodput of {asked.protocol} to share: leave endpoints out"
        )
    return found


class Rules:
    """The rules of several protocols as arrays."""

    def __init__(self, rules: Sequence[ProtocolRules], counts: tuple[int, ...]) -> None:
        self.answered = np.array([rule.answered for rule in rules])
        self.default = np.array([float(rule.default_cores) for rule in rules])
        self.least_switches = np.array([rule.least_switches for rule in rules])
        self.most_switches = np.array([rule.most_switches for rule in rules])
        self.distance = np.array([rule.distance for rule in rules])
        self.sharing = np.array([rule.sharing for rule in rules])
        self.has_cores = np.array([bool(rule.cores) for rule in rules])
        top = max(counts, default=0) + 1
        self.width = top + 1
        nearest = np.zeros((len(rules), self.width), dtype=np.int64)
        exact = np.zeros((len(rules), self.width), dtype=bool)
        for row, rule in enumerate(rules):
            for asked in range(self.width):
                best = rule.answering_cores(asked)
                nearest[row, asked] = counts.index(best) if best in counts else 0
                exact[row, asked] = asked in (rule.cores or (0,))
        self.nearest, self.exact = nearest.reshape(-1), exact.reshape(-1)

    def cores(self, protocol: Ints, asked: Floats) -> tuple[Floats, Ints, Bools]:
        """Asked counts (defaults filled in), the nearest measured ones' index, and which differ."""
        unsaid = np.isnan(asked)
        if unsaid.any():
            asked = np.where(unsaid, self.default.take(protocol), asked)
        place = protocol * self.width + np.clip(asked, 0, self.width - 1).astype(np.int64)
        whole = np.rint(asked) == asked
        return asked, self.nearest.take(place), ~(self.exact.take(place) & whole)

    def unanswerable(
        self,
        protocol: Ints,
        cores: Floats,
        switches: Floats,
        endpoints: Floats,
        distance: Floats,
    ) -> Bools:
        """Which questions are of a protocol without rows, or use a parameter it has no rule for."""
        wrong = ~self.answered.take(protocol)
        if self.least_switches.any():
            wrong |= switches < self.least_switches.take(protocol)
        if np.isfinite(self.most_switches).any():
            wrong |= switches > self.most_switches.take(protocol)
        if not self.has_cores.all():
            wrong |= ~np.isnan(cores) & ~self.has_cores.take(protocol)
        if not self.distance.all():
            wrong |= ~np.isnan(distance) & ~self.distance.take(protocol)
        if not self.sharing.all():
            wrong |= (endpoints > 1) & ~self.sharing.take(protocol)
        return wrong
