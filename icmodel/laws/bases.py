"""Basis of each metric: the table look-ups and the rules that the metric rests on; notes that all laws share."""

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
    """One look-up: a table, a load, and the questions that use the look-up (``None``: all)."""

    table: str
    load: Load
    where: Bools | None = None


class Bases(NamedTuple):
    """Look-ups of each metric, and its weakest rule (n,); the strongest basis if no rule applies."""

    reads: Mapping[str, Sequence[Read]]
    rules: Mapping[str, Codes]

    def codes(self, query: TableQuery, metrics: Iterable[str]) -> dict[str, Codes]:
        """Weakest basis of each metric, (n,)."""
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
        """Basis code and dataset rows of each look-up in use, by metric, for a block of one question."""
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
    """Tables that are looked up at each load."""
    found: dict[int, tuple[Load, dict[str, None]]] = {}
    for read in reads:
        found.setdefault(id(read.load), (read.load, {}))[1][read.table] = None
    return [(load, list(tables)) for load, tables in found.values()]


def weakest(*rules: tuple[Bools, int]) -> Codes:
    """Weakest basis among the rules that hold; the strongest basis if none holds."""
    codes = [where * np.int8(basis) for where, basis in rules]
    return reduce(np.maximum, codes)


def curve_rules(query: TableQuery, tables: Sequence[str]) -> Codes:
    """Basis codes of the rules that tables use, (tables, n): more switches than measured, other core counts."""
    cores, requested = query.cores(tables), query.q.cores
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)[:, None]
    scaled = np.array([name in UTILISATIONS for name in tables], dtype=bool)[:, None]
    return weakest(
        (crossing & (query.q.switches > query.switches(tables)), STATED),
        (scaled & (cores > 0) & (cores != requested), DERIVED),
        (other_cores(query, tables), EXTRAPOLATED),
    )


def with_busy_cores(entries: Mapping[str, T]) -> dict[str, T]:
    """Copy the entry of each utilisation to the metric of busy cores, which follows from the utilisation."""
    found = dict(entries)
    for name in UTILISATIONS:
        if name in found:
            found.setdefault(f"{name}_cores", found[name])
    return found


# --- bounds and notes -----------------------------------------------------------------------------

UNLIMITED = "latency is that of the unlimited benchmark"
"""Note on a request that is not achieved, if no measured runs in overload answer the request."""


def benchmark_and_share(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Bounds of the goodput [b/s] that all laws have, for a block of one question."""
    found = {"benchmark": float(flow.capacity_bps[VALUE, 0])}
    if query.q.endpoints[0] > 1:
        found["share"] = float(flow.share_bps[VALUE, 0])
    return found


def sharing_notes(query: TableQuery, flow: Flow, scenario: Scenario) -> Iterator[str]:
    """Notes on the share of an interface with other endpoints."""
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
    """Note on utilisations that, scaled to the requested cores, need more cores than requested.

    ``needed`` maps the name of a utilisation to the utilisation of the requested cores that the stream needs.
    A needed utilisation may exceed 1.
    """
    for name, demand in needed.items():
        if scenario.cores is not None and demand > 1:
            yield (
                f"{name}: the rows, scaled to the requested cores, need {demand * scenario.cores:.3g} busy cores of "
                f"{scenario.cores}; the prediction is limited to these"
            )


def not_achieved_note(flow: Flow, scenario: Scenario, instead: str) -> Iterator[str]:
    """Note for a request above capacity: it names the runs that the answer rests on."""
    if flow.not_achieved[VALUE, 0] and math.isfinite(scenario.requested_goodput_bps):
        yield f"the request is not achieved: {instead}"
