"""Laws of the model's variants: compute metrics and their bases from prediction requests and a dataset's tables.

A law is the set of functions of one variant, such as `corrected`, with the look-up tables that the functions use.  Each
law has a module of its own.  All laws return the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import NamedTuple, cast

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.fits import SHIPPED, Constants
from icmodel.laws.flow import Flow
from icmodel.laws.metrics import ANY_CORES, BY_FLOW, Bases, predicted
from icmodel.laws.substitution import Rows
from icmodel.scenario import Hosts, Options, Scenario
from icmodel.tables import Axes, Compiler, Row, TableQuery, Tables
from icmodel.tables.curves import alone, payload_knots
from icmodel.tables.tables import without_goodput


def law_of(variant: str, data: Dataset, fitting: Fitting) -> Law:
    """Make the law (the set of functions) of a model variant for one dataset.

    The variant's module is imported when first needed.
    """
    module = import_module(f"icmodel.laws.{variant.replace('-', '_')}")
    return cast("Law", module.law(data, fitting))


class Law(NamedTuple):
    """Functions of one model variant for one dataset: the steps from measured rows to a prediction.

    ``rows`` returns the rows of a protocol at some options, and ``prepare`` makes look-up tables of these rows.
    ``goodput`` is the name of the look-up table that holds the capacity.

    The next functions take a query: n prediction requests and their tables.  ``flow`` returns throughput and load.
    ``answers`` returns an array (ends, n) for every wanted metric; the ends are value, low and high.  For each wanted
    utilisation it also returns the demand: the utilisation that the stream needs, which may exceed 1.  ``bases``
    returns the look-ups and rules from which metrics are computed.  ``bounds`` and ``notes`` explain the prediction of
    a single request; ``notes`` also takes the demands.

    The other fields are optional.  If ``adds_cable`` is true, a distance beyond the dataset's own cable adds to latency
    (E19, an erratum of the thesis IC2012).  ``overload`` is the law for requests in overload.  ``for_hosts`` returns the
    dataset with another link or other hosts, and its law.  ``paced`` limits requests to the rate that the application's
    own work allows.
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
    """Law for requests in overload; ``applies`` returns a mask (n,) that marks these requests."""

    law: Law
    applies: Callable[[TableQuery, TableQuery, Flow], Bools]


class Fitting(NamedTuple):
    """Settings for the fits that a law (a model variant) makes.

    ``watch`` is called after each fit with the number of finished fits and the total number of fits.  If ``cache``,
    fits are kept in the user's cache folder.  ``constants`` apply to every fit.
    """

    watch: Callable[[int, int], None] | None = None
    cache: bool = True
    constants: Constants = SHIPPED


# --- tables ---------------------------------------------------------------------------------------


class TableRequest(NamedTuple):
    """Request for look-up tables: their protocols, and the options of their rows.

    ``options`` leaves out options at their default.  If ``extend``, the tables also cover payloads beyond the rows,
    marked ``extrapolated``.  ``only`` holds the wanted metrics besides throughput and loss; ``None`` means all.
    """

    options: Options
    protocols: tuple[str, ...]
    extend: bool = False
    only: frozenset[str] | None = None

    def metrics(self, rows: Iterable[Row]) -> list[str]:
        """Wanted metrics that the rows contain, without throughput and loss."""
        known = {row.point.metric for row in rows} - set(BY_FLOW)
        return sorted(name for name in known if self.only is None or name in self.only)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Look-up tables that a law (a model variant) has prepared for a request.

    ``metrics`` are the names of metrics that have a table, besides the metrics that every prediction has.  ``every``
    holds the dataset rows of all protocols, also of those not requested.  ``instead`` maps each protocol whose numbers
    are all extrapolated to the reason.
    """

    tables: Tables
    request: TableRequest
    metrics: tuple[str, ...]
    every: Sequence[Row]
    instead: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Names of all metrics in a prediction from these look-up tables."""
        return predicted(self.metrics)

    @cached_property
    def every_metric(self) -> tuple[str, ...]:
        """Names of the wanted metrics that at least one protocol of the dataset has."""
        return tuple(self.request.metrics(alone(self.every)))


def compiler(
    data: Dataset, request: TableRequest, every: Sequence[Row], more_knots: Iterable[float] = ()
) -> Compiler:
    """Make the compiler that turns curves of the requested protocols into look-up tables.

    ``every`` holds the rows of all protocols, also of those not requested.  Their payloads and loads are the axes of the
    tables.  So a prediction is bitwise the same, alone or in a block with requests for other protocols.  ``more_knots``
    are further payloads [B].
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
    """Select the dataset rows of the given protocols."""
    return [row for row in rows if row.point.protocol in protocols]


def loads_of(rows: Iterable[Row]) -> Floats:
    """Distinct limited loads [b/s] at which the given rows were measured, ascending."""
    loads = {row.point.load_bps for row in rows if row.point.load_bps is not None}
    return np.array(sorted(loads - {np.inf}))


def any_cores(metric: str) -> bool:
    """Whether rows measured with another number of cores may be used to predict a metric."""
    return metric.startswith(ANY_CORES)
