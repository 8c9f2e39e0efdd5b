"""What metrics rest on: the look-ups they use, and the rules they pass through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np

from icmodel.arrays import Bools, Codes
from icmodel.estimate import BASES
from icmodel.laws.flow import Flow, receives_less, traversals
from icmodel.laws.metrics import UTILISATIONS
from icmodel.laws.substitution import other_cores
from icmodel.scenario import Scenario
from icmodel.tables import VALUE, Load, Look

T = TypeVar("T")

STATED, THEORY, DERIVED, INTERPOLATED, ASSUMED, EXTRAPOLATED = (
    BASES.index(name)
    for name in ("stated", "theory", "derived", "interpolated", "assumed", "extrapolated")
)


class Read(NamedTuple):
    """One look-up: a table, a load, and the questions for which it counts (``None``: all)."""

    table: str
    load: Load
    where: Bools | None = None


class Bases(NamedTuple):
    """For each metric its look-ups, and the weakest rule it passed through (n,), the strongest basis for none."""

    reads: Mapping[str, Sequence[Read]]
    rules: Mapping[str, Codes]

    def codes(self, look: Look, metrics: Iterable[str]) -> dict[str, Codes]:
        """The weakest basis of each metric, (n,)."""
        strongest = np.zeros(len(look.q), dtype=np.int8)
        found = {metric: self.rules.get(metric, strongest) for metric in metrics}
        known = _codes(look, [read for metric in found for read in self.reads.get(metric, ())])
        for metric in found:
            for read in self.reads.get(metric, ()):
                code = known[read.table, id(read.load)]
                code = code if read.where is None else np.where(read.where, code, 0)
                found[metric] = np.maximum(found[metric], code)
        return found

    def used(self, look: Look, metrics: Iterable[str]) -> dict[str, list[tuple[int, list[int]]]]:
        """For a block of one question: code and rows of each look-up that counts, by metric."""
        reads = {
            metric: [r for r in self.reads.get(metric, ()) if r.where is None or r.where[0]]
            for metric in metrics
        }
        told: dict[tuple[str, int], tuple[int, list[int]]] = {}
        for load, tables in _by_load(read for found in reads.values() for read in found):
            here = load.of_values()
            codes = look.basis(tables, here)[:, 0].tolist()
            for table, code, rows in zip(tables, codes, look.rows(tables, here), strict=True):
                told[table, id(load)] = code, rows
        return {
            metric: [told[read.table, id(read.load)] for read in found]
            for metric, found in reads.items()
        }


def _by_load(reads: Iterable[Read]) -> list[tuple[Load, list[str]]]:
    """The tables that are read at each load."""
    found: dict[int, tuple[Load, dict[str, None]]] = {}
    for read in reads:
        found.setdefault(id(read.load), (read.load, {}))[1][read.table] = None
    return [(load, list(tables)) for load, tables in found.values()]


def _codes(look: Look, reads: Iterable[Read]) -> dict[tuple[str, int], Codes]:
    return {
        (table, id(load)): code
        for load, tables in _by_load(reads)
        for table, code in zip(tables, look.basis(tables, load), strict=True)
    }


def weakest(*rules: tuple[Bools, int]) -> Codes:
    """The weakest basis among the rules that hold; the strongest basis where none holds."""
    codes = [where * np.int8(basis) for where, basis in rules]
    return reduce(np.maximum, codes)


def curve_rules(look: Look, tables: Sequence[str]) -> Codes:
    """Rules of tables, (tables, n): more switches than measured, and other core counts."""
    cores, asked = look.cores(tables), look.q.cores_count
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)[:, None]
    scaled = np.array([name in UTILISATIONS for name in tables], dtype=bool)[:, None]
    return weakest(
        (crossing & (look.q.switches > look.switches(tables)), STATED),
        (scaled & (cores > 0) & (cores != asked), DERIVED),
        (other_cores(look, tables), EXTRAPOLATED),
    )


def with_busy_cores(said: Mapping[str, T]) -> dict[str, T]:
    """Entries of utilisations, copied to busy cores where these follow from them."""
    found = dict(said)
    for name in UTILISATIONS:
        if name in found:
            found.setdefault(f"{name}_cores", found[name])
    return found


UNLIMITED = "latency is that of the unlimited benchmark"
"""Note on a request that is not achieved, where no runs in overload answer it."""


def benchmark_and_share(look: Look, flow: Flow) -> dict[str, float]:
    """For a block of one question: the bounds of the goodput that every law has [b/s]."""
    found = {"benchmark": float(flow.capacity_bps[VALUE, 0])}
    if look.q.endpoints[0] > 1:
        found["share"] = float(flow.share_bps[VALUE, 0])
    return found


def sharing_notes(look: Look, flow: Flow, asked: Scenario) -> Iterator[str]:
    """Notes on the share of an interface with other endpoints."""
    if asked.endpoints > 1 and not asked.other_goodput_bps:
        others = "the other endpoint is" if asked.endpoints == 2 else "the other endpoints are"
        yield f"{others} taken as idle: say what they ask for (other_goodput) if they send"
    if receives_less(look, flow)[0]:
        yield (
            "all senders together offer more than the receiver takes: what it takes of that, and that "
            "each sender gets its part of what is offered, is an assumed rule (E2)"
        )
    elif asked.endpoints > 2:
        yield "the share is exact for equal other endpoints, a lower bound for unequal ones (E2)"


def cores_notes(asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """Note where the rows, scaled to the requested cores, need more of them than there are.

    ``needed`` is the utilisation needed of the requested cores, above 1 too, by name of the utilisation.
    """
    for name, demand in needed.items():
        if asked.cores is not None and demand > 1:
            yield (
                f"{name}: the rows, scaled to the cores that were asked for, need "
                f"{demand * asked.cores:.3g} busy cores, of which there are {asked.cores}; the prediction is limited to these"
            )


def not_achieved_note(flow: Flow, asked: Scenario, instead: str) -> Iterator[str]:
    """Note on what answers for a request that is not achieved."""
    if flow.not_achieved[VALUE, 0] and math.isfinite(asked.requested_goodput_bps):
        yield f"the request is not achieved: {instead}"
