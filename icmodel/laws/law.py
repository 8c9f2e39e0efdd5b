"""A law: the functions that make a variant of the model."""

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
from icmodel.scenario import Hosts, Scenario
from icmodel.tables import Axes, Compiler, Look, Row, Tables
from icmodel.tables.curves import alone, payload_knots
from icmodel.tables.tables import without_goodput


class Wanted(NamedTuple):
    """Tables to prepare: some protocols of a dataset at some options.

    With ``extend`` they answer beyond the rows' payloads, marked ``extrapolated``; ``only`` are the metrics wanted
    besides those of the flow, ``None`` for all.
    """

    data: Dataset
    options: Mapping[str, str]
    protocols: tuple[str, ...]
    extend: bool = False
    only: frozenset[str] | None = None

    def metrics(self, rows: Iterable[Row]) -> list[str]:
        """The wanted metrics that have rows, without those of the flow."""
        known = {row.point.metric for row in rows} - set(BY_FLOW)
        return sorted(name for name in known if self.only is None or name in self.only)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The tables of a law.

    ``metrics`` are those that a prediction may have besides the ones of every prediction, ``every`` are the
    rows of all protocols; ``instead`` gives for a protocol the reason why all its numbers are extrapolated, if they are.
    """

    tables: Tables
    wanted: Wanted
    metrics: tuple[str, ...]
    every: Sequence[Row]
    instead: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Every metric that a prediction on these tables has."""
        return predicted(self.metrics)

    @cached_property
    def every_metric(self) -> tuple[str, ...]:
        """The same metrics as far as any protocol has them."""
        return tuple(self.wanted.metrics(alone(self.every)))


def rows_of(data: Dataset, options: Mapping[str, str]) -> list[Row]:
    """Rows of every protocol at some options.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    index = {id(point): k for k, point in enumerate(data.points)}
    return [
        Row(index[id(point)], point)
        for protocol in data.protocols
        for point in data.select(protocol, options)
    ]


def of_protocols(rows: Iterable[Row], protocols: Sequence[str]) -> list[Row]:
    """The rows of some protocols."""
    return [row for row in rows if row.point.protocol in protocols]


def compiler(wanted: Wanted, every: Sequence[Row], more_knots: Iterable[float] = ()) -> Compiler:
    """The compiler of the wanted protocols' curves, given the rows of all protocols.

    Knots and loads are those of all protocols whichever are wanted, so that a question
    has the same bits alone and among others.
    """
    own = [row.point for row in of_protocols(every, wanted.protocols)]
    axes = Axes(
        wanted.protocols,
        tuple(sorted({p.cores for p in own if p.cores is not None})),
        1 + max((p.switches or 0 for p in own), default=0),
        payload_knots(_payloads(every), more_knots),
        loads_of(every),
    )
    return Compiler(wanted.data, axes, wanted.extend, without_goodput(own))


def loads_of(rows: Iterable[Row]) -> Floats:
    """The limited loads of some rows, ascending [b/s]."""
    loads = {row.point.load_bps for row in rows if row.point.load_bps is not None}
    return np.array(sorted(loads - {np.inf}))


def _payloads(rows: Iterable[Row]) -> list[list[float]]:
    """The payloads of each curve [B]."""
    curves: dict[tuple[object, ...], list[float]] = {}
    for _, point in rows:
        if point.payload_bytes is not None:
            counts = point.cores, point.switches or 0, point.endpoints
            curve = (point.protocol, *counts, point.metric, point.load_bps)
            curves.setdefault(curve, []).append(float(point.payload_bytes))
    return list(curves.values())


def any_cores(metric: str) -> bool:
    """Whether rows at another core count may answer a metric."""
    return metric.startswith(ANY_CORES)


class Fitting(NamedTuple):
    """How a law makes the fits that it needs.

    ``watch`` is called after each with the counts of finished fits and of all; ``cache`` tells whether they are kept
    in the user's cache folder; ``constants`` are those of every fit.
    """

    watch: Callable[[int, int], None] | None = None
    cache: bool = True
    constants: Constants = SHIPPED


class Law(NamedTuple):
    """The steps of one variant, from rows to an answer.

    ``prepare`` makes tables; ``goodput`` names the table of the capacity.  For a block of questions bound
    to tables ``flow`` gives throughput and load, ``answers`` every wanted metric (ends, n), with the demand of the
    utilisations among them, ``bases`` what metrics rest on; for one question ``bounds`` and ``notes`` explain it, notes
    with the demand by utilisation.  ``rows`` gives the rows that answer a protocol at some options.
    ``adds_cable``: a distance beyond the dataset's own cable adds to latency (E19).

    Optional: ``overload`` answers requests in overload; ``for_hosts`` gives the dataset and its law on another link
    or with other hosts; ``paced`` limits requests to what the application's own work allows.
    """

    prepare: Callable[[Wanted], Prepared | None]
    goodput: str
    flow: Callable[[Look], Flow]
    answers: Callable[[Look, Flow, Collection[str]], Mapping[str, Floats]]
    bases: Callable[[Look, Flow], Bases]
    bounds: Callable[[Look, Flow], Mapping[str, float]]
    notes: Callable[[Look, Flow, Scenario, Mapping[str, float]], Iterator[str]]
    rows: Callable[[Dataset, str, Mapping[str, str]], Rows]
    adds_cable: bool = True
    overload: Overload | None = None
    for_hosts: Callable[[Hosts], tuple[Dataset, Law]] | None = None
    paced: Callable[[Look], Look] | None = None


class Overload(NamedTuple):
    """A law for requests in overload; ``asked`` selects them from a block bound to both laws' tables, (n,)."""

    law: Law
    asked: Callable[[Look, Look, Flow], Bools]
