"""Laws of the model's variants: predict metrics for requests from the look-up tables of a dataset.

A law is the set of functions of one variant, such as `corrected`, with the look-up tables that the functions use.  Each
law has a module of its own.  All laws return the same columns, and a basis (kind of evidence) for each metric.
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

    A query holds n prediction requests, and the look-up tables from which they are answered.

    Parameters
    ----------
    rows : callable
        Selects the dataset rows of a protocol at some options.
    prepare : callable
        Makes the look-up tables for a request; ``None`` if the rows cannot answer it.
    goodput : str
        Name of the look-up table that holds the capacity.
    flow : callable
        Computes throughput and load of each stream in a query.
    answers : callable
        Predicts the wanted metrics of a query: by name, an array (ends, n) with value, low and high.  For each
        utilisation it also returns the demand: the utilisation that the stream needs, which may exceed 1.
    bases : callable
        Collects the table look-ups and rules from which each metric is computed.
    bounds, notes : callable
        Explain the prediction of a single request: upper bounds of the goodput [b/s], and sentences for people.
        ``notes`` also takes the demands.
    adds_cable : bool
        Whether a cable longer than the dataset's own adds to latency (E19, an erratum of the thesis IC2012).
    overload : Overload, optional
        Law for requests in overload.
    for_hosts : callable, optional
        Returns the dataset with another link or other hosts, and the law for them.
    paced : callable, optional
        Limits the requests of a query to the rate that the application's own work allows.
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
    """Formulas (law) for requests above the capacity; ``applies`` returns a mask (n,) that marks these requests."""

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
    """Request for look-up tables: protocols, and options at which their rows were measured.

    ``options`` leaves out options at their default.  If ``extend``, the tables also cover payloads beyond the rows,
    marked ``extrapolated``.  ``only`` holds the wanted metrics besides throughput and loss; ``None`` means all.
    """

    options: Options
    protocols: tuple[str, ...]
    extend: bool = False
    only: frozenset[str] | None = None

    def metrics(self, rows: Iterable[Row]) -> list[str]:
        """List the metrics that the rows contain and the request wants (``only``), without throughput and loss."""
        known = {row.point.metric for row in rows} - set(BY_FLOW)
        return sorted(name for name in known if self.only is None or name in self.only)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Look-up tables that a law (a model variant) has prepared for a request.

    ``metrics`` are the names of the metrics that are looked up in tables; metrics of throughput and loss are not among
    them.  ``every`` holds the dataset rows of all protocols, also of those not requested.  ``instead`` maps a protocol
    to the reason why all its numbers are extrapolated; the reason is empty if they are not.
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
    are further points [B] of the payload axis, such as the payloads at which a goodput crosses an offered load.
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
