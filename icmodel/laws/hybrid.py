"""Variant ``hybrid`` of the model: it fits all rows, and computes ("draws") its curves from the fits.

On these curves it uses the functions of the variant ``corrected``, with three differences.  ``hybrid`` extrapolates
processing time above the greatest measured load.  The sender of a lossy protocol is busy only for the frames that it
sends.  Requests in overload use rows measured in overload.  E1 to E19 are the errata of IC2012
(docs/background/errata.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, fast_where
from icmodel.dataset import Dataset, Interconnect
from icmodel.fits.fits import Fits, Watch
from icmodel.fits.hosts import SENDERS
from icmodel.fits.observations import OVERLOADED, unmeasured_loss
from icmodel.fits.refine import Refiner
from icmodel.fits.store import Kept, Store, seal_of
from icmodel.laws import (
    Fitting,
    Law,
    Overload,
    Prepared,
    TableRequest,
    any_cores,
    compiler,
    corrected,
    loads_of,
    of_protocols,
)
from icmodel.laws.appendix_h import below_unlimited
from icmodel.laws.application import (
    and_restated,
    flow,
    paced,
    with_application,
    with_bounds,
    with_rules,
    with_work,
    work_notes,
)
from icmodel.laws.corrected import composed
from icmodel.laws.corrected_tables import (
    BEST,
    MULTIPLE,
    achieved,
    crossings,
    flow_tables,
    usable,
    without_switched,
)
from icmodel.laws.flow import CLOSE, SHARED, Flow
from icmodel.laws.metrics import (
    BY_FLOW,
    GROWING,
    UNLIMITED,
    Bases,
    cores_notes,
    latency_note,
    sharing_notes,
)
from icmodel.laws.substitution import Rows, nearest_rows, with_places
from icmodel.scenario import NO_OPTIONS, Hosts, Options, Scenario, Where
from icmodel.tables import (
    HIGH,
    VALUE,
    Compiler,
    Configuration,
    Curve,
    Curves,
    Load,
    Row,
    TableQuery,
    Tables,
)
from icmodel.tables.bilinear import EXTRAPOLATED
from icmodel.tables.curves import (
    alone,
    best_goodput,
    configuration_of,
    curves_of,
    is_limited,
    shared_goodput,
)
from icmodel.tables.left_out import InterpolationErrors, interpolation_errors
from icmodel.tables.wire import frames_on_wire

FAR = 1.1
"""Ratio of requested goodput to goodput measured in overload, above which a request is in overload (assumed)."""
SENDING = "cpu_send"
"""Prefix of metric names for processing time at the sender."""
Preparing = Callable[[TableRequest], Prepared | None]


# --- the law --------------------------------------------------------------------------------------


def law(data: Dataset, fitting: Fitting) -> Law:
    """Make the law (the set of functions) of the variant ``hybrid`` for a dataset.

    The law makes its fits when they are first needed, and saves them.
    """
    store = Store(data, fitting.constants, cache=fitting.cache)
    kept = store.read()
    carrier = partial(frames_on_wire, data)
    refiner = Refiner(Fits(data, carrier, fitting.watch, kept, fitting.constants))

    def keeping(prepare: Preparing) -> Preparing:
        """Wrap a function that prepares look-up tables: after each call, all fits made so far are saved."""

        def prepare_and_save(request: TableRequest) -> Prepared | None:
            found = prepare(request)
            store.save(kept)
            return found

        return prepare_and_save

    tables = FittedTables(data, refiner)
    over = law_on(data, keeping(tables.prepare_overload))._replace(
        answers=overload_answers,
        notes=overload_notes,
    )

    def for_hosts(hosts: Hosts) -> tuple[Dataset, Law]:
        """Return a copy of the dataset, and the law (functions of the variant) that predicts another link or hosts.

        If another line rate is given, the copy has this rate. The law uses the fits of the original dataset.
        """
        other, changes = data, hosts.texts(data.interconnect.line_rate_bps)
        if (rate_bps := hosts.line_rate_bps) is not None:
            fabrics = {key: at_rate(link, rate_bps) for key, link in data.fabrics.items()}
            link = at_rate(data.interconnect, rate_bps)
            other = replace(data, interconnect=link, fabrics=fabrics)
        other_refiner = refiner.for_hosts(hosts, partial(frames_on_wire, other))
        made = law_on(other, keeping(FittedTables(other, other_refiner, changes).prepare))
        return other, made._replace(notes=slower_notes) if other_refiner.knows_buffers else made

    return law_on(data, keeping(tables.prepare))._replace(
        overload=Overload(over, in_overload), for_hosts=for_hosts
    )


def law_on(data: Dataset, prepare: Preparing) -> Law:
    """Make the law (rules of a model variant) of ``hybrid`` for a dataset; ``prepare`` makes its look-up tables."""
    return Law(
        rows=partial(nearest_rows, data),
        prepare=prepare,
        goodput=BEST,
        flow=flow,
        answers=answers,
        bases=bases,
        bounds=bounds,
        notes=notes,
        paced=paced,
    )


def at_rate(link: Interconnect, rate_bps: float) -> Interconnect:
    """Copy a link with another line rate.

    If a token bucket limits the link, its depth grows in proportion to the line rate.  So the time in which a full
    bucket is sent stays the same.  The sender's timer may be late by this time without loss of capacity.  This
    tolerance is assumed not to depend on the line rate.
    """
    burst_bytes = link.burst_bytes
    if burst_bytes and link.line_rate_bps is not None:
        burst_bytes *= rate_bps / link.line_rate_bps
    return replace(link, line_rate_bps=rate_bps, burst_bytes=burst_bytes)


def fit(data: Dataset, watch: Watch | None = None) -> Kept:
    """Make all fits of a dataset from its rows, and compute the points of its curves for all measured options.

    Fits stored on disk are ignored.

    ``watch`` is called after each fit with the number of finished fits and the total number of fits.
    """
    kept = Kept(seal_of(data))
    refiner = Refiner(Fits(data, partial(frames_on_wire, data), watch, kept))
    tables = FittedTables(data, refiner)
    for options in measured_options(data):
        tables.draw(TableRequest(options, data.protocols))
    for metric in data.metrics:
        refiner.fits.is_fitted(metric)
    return kept


def measured_options(data: Dataset) -> list[Options]:
    """List the distinct combinations of options among a dataset's rows.

    Options at their default are left out.  The combination of all defaults comes first, even if no row has it.
    """
    found = {NO_OPTIONS} | {
        Options(data.changed_options(data.options_of(point))) for point in data.points
    }
    return sorted(found, key=lambda options: tuple(options.items()))


# --- tables ---------------------------------------------------------------------------------------


class FittedTables:
    """Maker of look-up tables whose curves are computed ("drawn") from fits.

    ``changes`` are texts on how hosts and link differ from those of the dataset: the reasons why numbers are
    extrapolated.
    """

    def __init__(self, data: Dataset, refiner: Refiner, changes: Sequence[str] = ()) -> None:
        self.data, self.refiner, self.changes = data, refiner, changes
        self._shared = lru_cache(maxsize=16)(self.make_shared)

    def prepare(self, request: TableRequest) -> Prepared:
        """Make the look-up tables of every metric for the requested protocols and options.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared(request._replace(only=None))
        return _tables(shared, request, shared.rows, "; ".join(self.changes))

    def prepare_overload(self, request: TableRequest) -> Prepared | None:
        """Make the look-up tables of runs in overload.

        The result is ``None`` if the dataset has a metric, other than throughput and loss, that no run in overload
        measured.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared(request._replace(only=None))
        over = shared.overload_rows(request)
        return None if over is None else _tables(shared, request, over, "", overload=True)

    def draw(self, request: TableRequest) -> None:
        """Compute ("draw") and keep the curves that :meth:`prepare` and :meth:`prepare_overload` turn into tables.

        The look-up tables themselves are not made.

        Raises
        ------
        DatasetError
            If the dataset lacks an option of the request.
        """
        shared = self._shared(request._replace(only=None))
        shared.draw(request, shared.rows)
        if over := shared.overload_rows(request):
            shared.draw(request, over, overload=True)

    def make_shared(self, request: TableRequest) -> Shared:
        """Collect the rows and payloads that all tables of a request share.

        ``request`` must ask for all metrics (``only=None``), so that requests for different metrics share one cached
        result.
        """
        every = self.data.protocols
        found = {name: nearest_rows(self.data, name, request.options) for name in every}
        knots = self.refiner.knots(every, request.options)
        return Shared(self.data, self.refiner, request, found, knots)


class Drawn(NamedTuple):
    """Curves computed ("drawn") from fits, from which look-up tables are compiled.

    The type `Curves` maps a configuration (protocol, core count, switch count) to its curves over the payload.

    Parameters
    ----------
    best, on_own_link : mapping
        Greatest goodput over all loads: on the requested link, and on the dataset's own link.
    unlimited : mapping
        Goodput of a sender without a rate limit.
    loss : mapping
        Loss rate.
    shared : mapping of int to mapping
        Goodput of one stream if several endpoints send to its interface; the key is the number of endpoints.
    metrics : mapping of str to mapping
        Curves of the other metrics, by name.
    """

    best: Curves
    on_own_link: Curves
    unlimited: Curves
    loss: Curves
    shared: Mapping[int, Curves]
    metrics: Mapping[str, Curves]


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows and payloads shared by the two sets of look-up tables of a request: the normal ones, and those for overload.

    ``request`` asks for all metrics of a prediction.  ``found`` maps each protocol to the dataset rows that a
    prediction uses.  ``knots`` are the payloads [B] at which every curve gets a point.
    """

    data: Dataset
    refiner: Refiner
    request: TableRequest
    found: Mapping[str, Rows]
    knots: Floats

    @cached_property
    def rows(self) -> list[Row]:
        """Dataset rows that predictions use, of all protocols together."""
        return with_places(self.data, self.found)

    @cached_property
    def goodput_errors(self) -> InterpolationErrors | None:
        """Interpolation errors of goodput curves; ``None`` if all curves come from fits, which have own intervals."""
        draws_all = self.refiner.draws_all("goodput_bps")
        return None if draws_all else interpolation_errors(self.data, "goodput_bps")

    @cached_property
    def compiler(self) -> Compiler:
        """Make the compiler, which turns curves into look-up tables on common axes.

        The axes cover the payloads and loads of all protocols.
        """
        best = best_goodput(self.data, alone(self.rows), self.goodput_errors, limited=True)
        drawn = self.refined("goodput_bps", best)
        beside = crossings(drawn, self.data.protocols, loads_of(self.rows))
        return compiler(self.data, self.request, self.rows, (*beside, *self.knots))

    def overload_rows(self, request: TableRequest) -> list[Row] | None:
        """Select the rows of the requested protocols that were measured in overload (request above capacity).

        Tables for overload are made of these rows alone, so every metric of the protocols needs such a row. If a metric
        has none, the result is ``None``. Throughput and loss are exempt, since they follow from the stream's goodput.
        """
        own = of_protocols(self.rows, request.protocols)
        over = measured_in_overload(own, self.refiner)
        known, over_known = ({row.point.metric for row in alone(rows)} for rows in (own, over))
        return over if known - set(BY_FLOW) <= over_known else None

    def refined(
        self,
        metric: str,
        curves: Curves,
        *,
        overload: bool = False,
        refiner: Refiner | None = None,
    ) -> Curves:
        """Redraw each measured curve of a metric: compute its points from the fit of the metric.

        If ``overload`` is true, the fit of runs in overload is used.  ``refiner`` computes the points; the default
        refiner does so for the requested hosts and link.
        """
        drawn: dict[Configuration, list[Curve]] = {}
        for key, found in curves.items():
            substituted = self.found[key.protocol].substituted
            options = self.request.options if substituted else None
            where = Where(self.request.extend, overload, options)
            refine = (refiner or self.refiner).refined
            drawn[key] = [refine(metric, curve, self.knots, where) for curve in found]
        return drawn

    def draw(self, request: TableRequest, rows: Sequence[Row], *, overload: bool = False) -> Drawn:
        """Draw the curves of goodput, loss and all requested metrics from the given rows and their fits."""
        data, refiner = self.data, self.refiner
        refined = partial(self.refined, overload=overload)
        own = of_protocols(rows, request.protocols)
        lone = alone(own)

        def of(metric: str) -> Curves:
            return refined(metric, curves_of(data, lone, metric, bare=refiner.draws_all(metric)))

        best = best_goodput(data, lone, self.goodput_errors, limited=True)
        unlimited = best_goodput(data, lone, self.goodput_errors, limited=False)
        shared = shared_goodput(data, own, self.goodput_errors)
        return Drawn(
            refined("goodput_bps", best),
            refined("goodput_bps", best, refiner=refiner.on_own_link),
            refined("goodput_bps", unlimited),
            of("loss_rate"),
            {count: refined("goodput_bps", curves) for count, curves in shared.items()},
            {metric: of(metric) for metric in request.metrics(lone)},
        )


def _tables(
    shared: Shared,
    request: TableRequest,
    rows: Sequence[Row],
    instead: str,
    *,
    overload: bool = False,
) -> Prepared:
    """Make the look-up tables of the given rows; the tables' axes cover the rows of all protocols.

    ``instead`` is the reason why all numbers are extrapolated, such as another line rate; empty if they are not.
    """
    refiner, compile_ = shared.refiner, shared.compiler
    drawn = shared.draw(request, rows, overload=overload)
    own_link = drawn.on_own_link
    tables = flow_tables(compile_, drawn.best, drawn.unlimited, drawn.loss)
    for count, curves in drawn.shared.items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", curves)
    for metric, every in drawn.metrics.items():
        curves = without_switched(every, "udp") if metric == "cpu_recv" else every  # E7
        multiple = refiner.fits.is_packet_multiple(metric)
        growing = metric.startswith(GROWING)
        tables[MULTIPLE + metric if multiple else metric] = compile_.table(
            metric,
            curves
            if growing
            else {k: hold_from_edge(c, achieved(own_link, k)) for k, c in curves.items()},
            any_cores=any_cores(metric),
            below="one" if multiple else "proportion" if growing else "held",
            usable=partial(usable, compile_, curves, own_link),
        )
    why = {name: instead or shared.found[name].substituted for name in request.protocols}
    made = Tables(
        compile_,
        tables,
        shared.data.link(request.options),
        with_headers=True,
        unmeasured_loss=unmeasured_loss(shared.data, request.protocols),
    )
    return Prepared(made, request, tuple(drawn.metrics), shared.rows, why)


def hold_from_edge(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """For each limited load, hold the curve constant over the payloads at which this load is not achieved (overload).

    A point in overload gets the numbers of the curve's nearest point outside overload, marked ``extrapolated`` (IC2012
    erratum E14).
    """
    if best is None:
        return list(curves)
    held: list[Curve] = []
    for curve in curves:
        over = curve.load_bps > OVERLOADED * best.value_at(curve.payload_bytes)
        if is_limited(curve.load_bps) and over.any() and not over.all():
            logs, known = np.log(curve.payload_bytes), np.flatnonzero(~over)
            nearest = known[np.abs(logs[:, None] - logs[known]).argmin(axis=1)]
            curve = replace(
                curve,
                ends=curve.ends[:, nearest],
                basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
                rows=curve.rows[nearest],
                next_rows=None if curve.next_rows is None else curve.next_rows[nearest],
            )
        held.append(curve)
    return held


def measured_in_overload(rows: Sequence[Row], refiner: Refiner) -> list[Row]:
    """Select the rows measured in overload, and mark their load as unlimited.

    In overload, the exact load matters little.  If a payload was measured at several such loads, only the row of the
    greatest load is selected.
    """
    over = refiner.overloaded([row.point for row in rows])
    kept = [row for row, is_over in zip(rows, over, strict=True) if is_over]
    greatest: dict[tuple[object, ...], Row] = {}
    for index, point in sorted(kept, key=lambda row: row.point.load_bps or 0.0):
        counts = (point.options, point.endpoints, point.other_goodput_bps)
        key = (configuration_of(point), *counts, point.metric, point.payload_bytes)
        greatest[key] = Row(index, point._replace(load_bps=np.inf))
    return sorted(greatest.values(), key=lambda row: row.place)


# --- metrics --------------------------------------------------------------------------------------


def answers(query: TableQuery, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """Predict the wanted metrics that have tables: arrays (ends, n) by metric, NaN if a table has no value.

    The `ends` axis holds value, low and high; n is the number of requests.
    """
    found = composed(query, flow, and_restated(query, wanted), with_work(cpu_time_of_senders))
    return with_application(query, flow, found)


def overload_answers(query: TableQuery, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """Predict the wanted metrics from tables of runs in overload; the result has the form of :func:`answers`."""
    every = and_restated(query, wanted)
    found = composed(query, flow, every, with_work(cpu_time), all_at_limit=True)
    return with_application(query, flow, found)


def cpu_time(query: TableQuery, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
    """Compute the processing time of the host's cores at the measured core count, (metrics, ends, n).

    The axis `ends` holds value, low and high.  Requests above the highest measured limited load are treated as follows
    (E15, an erratum of the thesis IC2012).  Value and low grow in proportion to the load, but at most to those measured
    at unlimited load.  The high is at least that measured at unlimited load.
    """
    value, top_load = query.all(metrics, load), query.top_load(metrics)
    request, top = query.q.requested_goodput_bps, fast_where(top_load == 0, np.inf, top_load)
    held = load.limited & (request > top[:, None])
    if held.any():
        most = query.all(metrics, query.unlimited)
        more = np.divide(request, top, out=np.ones_like(top), where=request > top)[:, None]
        most[:, :HIGH] = np.fmin(most[:, :HIGH], value[:, :HIGH] * more)
        np.fmax(value, most, out=value, where=held)
    below_unlimited(query, value, top_load, load, flow)
    return value


def cpu_time_of_senders(
    query: TableQuery, metrics: Sequence[str], load: Load, flow: Flow
) -> Floats:
    """Compute processing time as :func:`cpu_time` does, but lower it for senders whose excess frames are lost.

    If a request exceeds the capacity, :func:`cpu_time` returns the time of an unlimited sender.  But a sender of the
    requested rate may send fewer frames: its processing time is frames × cost per frame (utilisation law).  The cost
    per frame is that at the highest achieved load, but at least that of the unlimited run: there the host does nothing
    but send, so a sender is assumed to need no less for a frame.
    """
    value = cpu_time(query, metrics, load, flow)
    request, unlimited_loss = query.q.requested_goodput_bps, flow.unlimited_loss[VALUE]
    lost = flow.saturated[VALUE] & (unlimited_loss > 0) & np.isfinite(request)
    sending = [k for k, metric in enumerate(metrics) if metric.startswith(SENDING)]
    if not lost.any() or not sending:
        return value
    names = [metrics[k] for k in sending]
    top_load = query.top_load(names)
    achieved = query.all(names, query.requested)[:, :HIGH]
    over = np.divide(request, top_load, out=np.ones_like(top_load), where=top_load > 0)
    achieved *= np.fmax(over, 1.0)[:, None]
    able = flow.capacity_bps[VALUE] / np.maximum(1 - unlimited_loss, CLOSE)
    full = value[sending, :HIGH]
    least = full * np.minimum(request / able, 1.0)
    value[sending, :HIGH] = fast_where(lost, np.fmax(least, np.fmin(full, achieved)), full)
    return value


def bases(query: TableQuery, flow: Flow) -> Bases:
    """Collect the table look-ups and rules from which each metric is computed.

    Each of them has a basis (kind of evidence, such as ``measured``); the weakest is the basis of the metric.
    """
    return with_rules(query, corrected.bases(query, flow))


def bounds(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Upper bounds of the goodput [b/s] by name, for a single request; the goodput is the least bound."""
    return with_bounds(query, flow, corrected.bounds(query, flow))


def in_overload(query: TableQuery, over: TableQuery, flow: Flow) -> Bools:
    """Mark the requests that are predicted from runs measured in overload, as a boolean mask (n,).

    Such a request states a finite rate.  Its payload lies between payloads measured in overload.  The goodput that it
    requests is above one of two limits: the capacity of a lone stream, or `FAR` × the goodput of the runs in overload.
    """
    request, payload = query.q.requested_goodput_bps, query.q.payload_bytes
    first, last = over.payloads(BEST)
    inside = over.known(BEST) & (first <= payload) & (payload <= last)
    reached = corrected.reached(over, over.all((BEST,), over.unlimited))[0, VALUE]
    above = flow.saturated[VALUE] | (request > reached * FAR)
    return np.asarray(above & np.isfinite(request) & inside)


# --- notes ----------------------------------------------------------------------------------------


def notes(
    query: TableQuery,
    flow: Flow,
    scenario: Scenario,
    needed: Mapping[str, float],
    instead: str = UNLIMITED,
) -> Iterator[str]:
    """Write the notes that accompany the prediction of a single request.

    ``instead`` ends the note on a request that is not achieved.  It names the runs that give the latency, such as the
    unlimited benchmark.
    """
    yield from sharing_notes(query, flow, scenario)
    yield from work_notes(query, scenario)
    if corrected.above_theory(query, flow)[0]:
        yield "the fitted goodput is above theory's bound, so the prediction is clamped to the bound"
    if query.q.work is None:  # with application work, another note names the bottleneck
        yield from cores_notes(scenario, needed)
    yield from latency_note(query, flow, scenario, instead)


def overload_notes(
    query: TableQuery, flow: Flow, scenario: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """Write the notes on a prediction that uses tables of runs in overload, for a single request."""
    yield from notes(query, flow, scenario, needed, "all metrics are those of runs in overload")


def slower_notes(
    query: TableQuery, flow: Flow, scenario: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """Yield the notes on the prediction of a single request for a link slower than the dataset's.

    One note is only for saturated streams: the sizes of the sender's buffers are assumed.
    """
    yield from notes(query, flow, scenario, needed)
    if scenario.protocol in SENDERS and flow.saturated[VALUE][0]:
        yield (
            "latency is the content of the sender's buffers divided by the goodput; the buffers have Linux's "
            "default sizes (assumed)"
        )
