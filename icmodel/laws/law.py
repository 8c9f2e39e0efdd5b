"""Law: the functions that make a variant of the model, and the tables they work on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.laws.bases import Bases
from icmodel.laws.flow import Flow
from icmodel.laws.metrics import ANY_CORES, BY_FLOW, predicted
from icmodel.laws.substitution import Rows
from icmodel.scenario import Hosts, Options, Scenario
from icmodel.tables import Axes, Compiler, Row, TableQuery, Tables
from icmodel.tables.curves import alone, payload_knots
from icmodel.tables.tables import without_goodput


class Law(NamedTuple):
    """The steps of one variant for one dataset, from rows to an answer.

    ``rows`` gives the rows that answer a protocol at some options, ``prepare`` makes tables of them.
    ``goodput`` names the table of the capacity.  For a block of questions bound to tables, ``flow`` gives
    throughput and load; ``answers`` gives every wanted metric (ends, n), with the demand of the utilisations among
    them; ``bases`` gives the look-ups and rules that metrics rest on.  For one question, ``bounds`` and ``notes``
    explain the answer, notes with the demand by utilisation.

    Optional: ``adds_cable``, a distance beyond the dataset's own cable adds to latency (E19); ``overload`` answers
    requests in overload; ``for_hosts`` gives the dataset and its law on another link or with other hosts;
    ``paced`` limits requests to the rate that the application's own work allows.
    """

    rows: Callable[[str, Mapping[str, str]], Rows]
    prepare: Callable[[TableRequest], Prepared | None]
    goodput: str
    flow: Callable[[TableQuery], Flow]
    answers: Callable[[TableQuery, Flow, Collection[str]], Mapping[str, Floats]]
    bases: Callable[[TableQuery, Flow], Bases]
    bounds: Callable[[TableQuery, Flow], Mapping[str, float]]
    notes: Callable[[TableQuery, Flow, Scenario, Mapping[str, float]], Iterator[str]]
    adds_cable: bool = True
    overload: Overload | None = None
    for_hosts: Callable[[Hosts], tuple[Dataset, Law]] | None = None
    paced: Callable[[TableQuery], TableQuery] | None = None


class Overload(NamedTuple):
    """A law for requests in overload; ``applies`` selects them from a block bound to both laws' tables, (n,)."""

    law: Law
    applies: Callable[[TableQuery, TableQuery, Flow], Bools]


class Fitting(NamedTuple):
    """Settings of the fits that a law makes.

    ``watch`` is called after each fit with the counts of finished fits and of all; ``cache`` keeps them in the
    user's cache folder; ``constants`` are those of every fit.
    """

    watch: Callable[[int, int], None] | None = None
    cache: bool = True
    constants: Constants = SHIPPED


# --- tables ---------------------------------------------------------------------------------------


class TableRequest(NamedTuple):
    """Tables to prepare: some protocols at some options, without those at their default.

    If ``extend``, they answer beyond the rows' payloads, marked ``extrapolated``.  ``only`` are the metrics wanted
    besides those of the flow, ``None`` for all.
    """

    options: Options
    protocols: tuple[str, ...]
    extend: bool = False
    only: frozenset[str] | None = None

    def metrics(self, rows: Iterable[Row]) -> list[str]:
        """Wanted metrics that have rows, without those of the flow."""
        known = {row.point.metric for row in rows} - set(BY_FLOW)
        return sorted(name for name in known if self.only is None or name in self.only)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Tables of a law.

    ``metrics`` are those that a prediction may have besides the ones of every prediction; ``every`` are the
    rows of all protocols.  ``instead`` gives, by protocol, the reason why all its numbers are extrapolated, if they are.
    """

    tables: Tables
    request: TableRequest
    metrics: tuple[str, ...]
    every: Sequence[Row]
    instead: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Every metric of a prediction on these tables."""
        return predicted(self.metrics)

    @cached_property
    def every_metric(self) -> tuple[str, ...]:
        """Wanted metrics that any protocol has."""
        return tuple(self.request.metrics(alone(self.every)))


def compiler(
    data: Dataset, request: TableRequest, every: Sequence[Row], more_knots: Iterable[float] = ()
) -> Compiler:
    """Make the compiler of the requested protocols' curves, given the rows of all protocols.

    Knots and loads are those of all protocols, whichever are requested, so that a question
    has the same bits alone and among others.
    """
    own = [row.point for row in of_protocols(every, request.protocols)]
    payloads: dict[tuple[object, ...], list[float]] = {}
    for _, point in every:
        if point.payload_bytes is not None:
            counts = point.cores, point.switches or 0, point.endpoints
            curve = (point.protocol, *counts, point.metric, point.load_bps)
            payloads.setdefault(curve, []).append(float(point.payload_bytes))
    axes = Axes(
        request.protocols,
        tuple(sorted({p.cores for p in own if p.cores is not None})),
        1 + max((p.switches or 0 for p in own), default=0),
        payload_knots(payloads.values(), more_knots),
        loads_of(every),
    )
    return Compiler(data, axes, request.extend, without_goodput(own))


def of_protocols(rows: Iterable[Row], protocols: Sequence[str]) -> list[Row]:
    """Rows of some protocols."""
    return [row for row in rows if row.point.protocol in protocols]


def loads_of(rows: Iterable[Row]) -> Floats:
    """Limited loads of some rows, ascending [b/s]."""
    loads = {row.point.load_bps for row in rows if row.point.load_bps is not None}
    return np.array(sorted(loads - {np.inf}))


def any_cores(metric: str) -> bool:
    """Whether rows at another core count may answer a metric."""
    return metric.startswith(ANY_CORES)
