"""Basis of each metric (such as ``stated`` or ``extrapolated``), and notes that all laws share.

A law computes each metric from table look-ups and rules.  The basis of the metric is the weakest of their bases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np

from icmodel.arrays import Bools, Codes
from icmodel.estimate import BASES
from icmodel.laws.flow import Flow, loss_lowers_goodput, traversals
from icmodel.laws.metrics import UTILISATIONS
from icmodel.laws.substitution import other_cores
from icmodel.scenario import Scenario
from icmodel.tables import VALUE, Load, TableQuery

T = TypeVar("T")

STATED, THEORY, DERIVED, INTERPOLATED, ASSUMED, EXTRAPOLATED = (
    BASES.index(name)
    for name in ("stated", "theory", "derived", "interpolated", "assumed", "extrapolated")
)


class Read(NamedTuple):
    """One table look-up: the table's name, the load, and a mask of the requests that use it (``None``: all)."""

    table: str
    load: Load
    where: Bools | None = None


class Bases(NamedTuple):
    """Table look-ups of each metric, and basis code (n,) of the weakest rule that each metric uses.

    If no rule applies to a metric, the code is that of the strongest basis.
    """

    reads: Mapping[str, Sequence[Read]]
    rules: Mapping[str, Codes]

    def codes(self, query: TableQuery, metrics: Iterable[str]) -> dict[str, Codes]:
        """Find the weakest basis code of each metric over all its look-ups and rules, one code per request (n,)."""
        strongest = np.zeros(len(query.q), dtype=np.int8)
        found = {metric: self.rules.get(metric, strongest) for metric in metrics}
        every = [read for metric in found for read in self.reads.get(metric, ())]
        known = {
            (table, id(load)): code
            for load, tables in _by_load(every)
            for table, code in zip(tables, query.basis(tables, load), strict=True)
        }
        for metric in found:
            for read in self.reads.get(metric, ()):
                code = known[read.table, id(read.load)]
                code = code if read.where is None else np.where(read.where, code, 0)
                found[metric] = np.maximum(found[metric], code)
        return found

    def used(
        self, query: TableQuery, metrics: Iterable[str]
    ) -> dict[str, list[tuple[int, list[int]]]]:
        """List basis code and dataset rows of each table look-up by metric, for a single request."""
        reads = {
            metric: [r for r in self.reads.get(metric, ()) if r.where is None or r.where[0]]
            for metric in metrics
        }
        known: dict[tuple[str, int], tuple[int, list[int]]] = {}
        for load, tables in _by_load(read for found in reads.values() for read in found):
            here = load.of_values()
            codes = query.basis(tables, here)[:, 0].tolist()
            for table, code, rows in zip(tables, codes, query.rows(tables, here), strict=True):
                known[table, id(load)] = code, rows
        return {
            metric: [known[read.table, id(read.load)] for read in found]
            for metric, found in reads.items()
        }


def _by_load(reads: Iterable[Read]) -> list[tuple[Load, list[str]]]:
    """Group table look-ups by load: pairs of a load and the names of the tables looked up at this load."""
    found: dict[int, tuple[Load, dict[str, None]]] = {}
    for read in reads:
        found.setdefault(id(read.load), (read.load, {}))[1][read.table] = None
    return [(load, list(tables)) for load, tables in found.values()]


def weakest(*rules: tuple[Bools, int]) -> Codes:
    """Find the weakest basis code among the rules that apply to each request; the strongest code if none applies.

    A rule is a pair: the boolean mask of the requests to which it applies, and a basis code.
    """
    codes = [where * np.int8(basis) for where, basis in rules]
    return reduce(np.maximum, codes)


def curve_rules(query: TableQuery, tables: Sequence[str]) -> Codes:
    """Find the basis codes (tables, n) of the rules for added switches and for other core counts.

    More switches than measured give ``stated``, and a scaled core count gives ``derived``.  A core count that was
    never measured gives ``extrapolated``.
    """
    cores, requested = query.cores(tables), query.q.cores
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)[:, None]
    scaled = np.array([name in UTILISATIONS for name in tables], dtype=bool)[:, None]
    return weakest(
        (crossing & (query.q.switches > query.switches(tables)), STATED),
        (scaled & (cores > 0) & (cores != requested), DERIVED),
        (other_cores(query, tables), EXTRAPOLATED),
    )


def with_busy_cores(entries: Mapping[str, T]) -> dict[str, T]:
    """Copy the mapping entry of each utilisation (``cpu_send``) to the metric of busy cores (``cpu_send_cores``)."""
    found = dict(entries)
    for name in UTILISATIONS:
        if name in found:
            found.setdefault(f"{name}_cores", found[name])
    return found


# --- bounds and notes -----------------------------------------------------------------------------

UNLIMITED = "latency is that of the unlimited benchmark"
"""End of the note on an unachieved request, if the prediction uses no runs measured in overload."""


def benchmark_and_share(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Two upper bounds of the goodput [b/s] for a single request: the benchmarked goodput and the stream's share.

    The share of the receiver is a bound only if the interface has several endpoints.
    """
    found = {"benchmark": float(flow.capacity_bps[VALUE, 0])}
    if query.q.endpoints[0] > 1:
        found["share"] = float(flow.share_bps[VALUE, 0])
    return found


def sharing_notes(query: TableQuery, flow: Flow, scenario: Scenario) -> Iterator[str]:
    """Write the notes on how a stream shares its interface with other endpoints."""
    if scenario.endpoints > 1 and not scenario.other_goodput_bps:
        others = "the other endpoint is" if scenario.endpoints == 2 else "the other endpoints are"
        yield f"{others} taken as idle: give other_goodput, the sum of their requests, if they send"
    if loss_lowers_goodput(query, flow)[0]:
        yield (
            "all senders together offer more than the receiver accepts: the goodput that it then accepts, and "
            "its division in proportion to the offered loads, are assumed rules (E2)"
        )
    elif scenario.endpoints > 2:
        yield "the share is exact for equal other endpoints, a lower bound for unequal ones (E2)"


def cores_notes(scenario: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """Write a note for each utilisation that would need more cores than requested.

    ``needed`` maps each utilisation's name to the utilisation of the requested cores that the stream needs; it may
    exceed 1.
    """
    for name, demand in needed.items():
        if scenario.cores is not None and demand > 1:
            yield (
                f"{name}: the rows, scaled to the requested cores, need {demand * scenario.cores:.3g} busy cores of "
                f"{scenario.cores}; the prediction is limited to these"
            )


def not_achieved_note(flow: Flow, scenario: Scenario, instead: str) -> Iterator[str]:
    """Write a note if the request exceeds the capacity; ``instead`` names the runs that the prediction uses instead."""
    if flow.not_achieved[VALUE, 0] and math.isfinite(scenario.requested_goodput_bps):
        yield f"the request is not achieved: {instead}"
