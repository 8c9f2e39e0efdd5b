"""``hybrid``: the laws of ``corrected`` on curves drawn from fits to all rows.

Besides the tables three steps differ: processing time is extrapolated above the greatest measured load,
the sender of a lossy protocol is busy for the frames it sends, and requests in overload are answered
from runs in overload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.dataset import Dataset, Interconnect
from icmodel.fits.buffers import SENDERS
from icmodel.fits.fits import Fits, Watch
from icmodel.fits.refine import Refiner
from icmodel.fits.store import Kept, Store, seal_of
from icmodel.laws import corrected
from icmodel.laws.application import (
    flow,
    paced,
    with_application,
    with_bounds,
    with_rules,
    with_work,
    work_notes,
)
from icmodel.laws.bases import UNLIMITED, Bases, cores_notes, not_achieved_note, sharing_notes
from icmodel.laws.corrected import (
    ACHIEVED,
    BEST,
    LOAD_TOLERANCE,
    achieved,
    achieved_table,
    composed,
    crossings,
    flow_tables,
    usable,
    without_switched,
)
from icmodel.laws.flow import CLOSE, SHARED, Flow
from icmodel.laws.law import (
    Fitting,
    Law,
    Overload,
    Prepared,
    Wanted,
    any_cores,
    compiler,
    loads_of,
    of_protocols,
)
from icmodel.laws.metrics import BY_FLOW, GROWING
from icmodel.laws.packets import MULTIPLE
from icmodel.laws.substitution import Rows, nearest_rows
from icmodel.scenario import Hosts, Scenario, Where
from icmodel.tables import HIGH, VALUE, Compiler, Curve, Curves, Load, Look, Row, Tables
from icmodel.tables.bilinear import EXTRAPOLATED
from icmodel.tables.curves import (
    alone,
    best_goodput,
    configuration_of,
    curves_of,
    is_limited,
    shared_goodput,
)
from icmodel.tables.left_out import Misses, misses
from icmodel.tables.wire import frames_on_wire


@dataclass(frozen=True, eq=False)
class Shared:
    """What tables of the same protocols, options and payloads share, in overload or not, whatever their metrics.

    ``found`` are the rows that answer each protocol, ``knots`` the payloads that every curve gets [B].
    """

    refiner: Refiner
    wanted: Wanted
    found: Mapping[str, Rows]
    knots: Floats

    def drawn(self, metric: str, curves: Curves, *, overload: bool = False) -> Curves:
        """Curves of a metric, drawn from its fit."""
        return {
            key: [
                self.refiner.refined(metric, curve, self.knots, self._where(key.protocol, overload))
                for curve in found
            ]
            for key, found in curves.items()
        }

    @property
    def on_own_link(self) -> Shared:
        """The same on the dataset's own link."""
        return replace(self, refiner=self.refiner.on_own_link)

    def _where(self, protocol: str, overload: bool) -> Where:
        """Where the curves of a protocol are drawn."""
        where = Where(self.wanted.extend, overload)
        if not self.found[protocol].substituted:
            return where
        return where._replace(options=self.wanted.options)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all protocols that answer."""
        data = self.wanted.data
        index = {id(point): k for k, point in enumerate(data.points)}
        return [
            Row(index[id(point)], point)
            for protocol in data.protocols
            for point in self.found[protocol].points
        ]

    @cached_property
    def goodput_errors(self) -> Misses | None:
        """Interpolation errors of the goodput; ``None`` where a fit draws all its curves."""
        if self.refiner.draws_all("goodput_bps"):
            return None
        return misses(self.wanted.data, "goodput_bps")

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler of the tables, whose axes are those of all protocols."""
        data, rows = self.wanted.data, self.rows
        best = best_goodput(data, alone(rows), self.goodput_errors, limited=True)
        beside = crossings(self.drawn("goodput_bps", best), data.protocols, loads_of(rows))
        return compiler(self.wanted, rows, (*beside, *self.knots))


class FittedTables:
    """Prepares tables whose curves are drawn from fits; ``changes`` says what differs from the dataset's own hosts."""

    def __init__(self, data: Dataset, refiner: Refiner, changes: Sequence[str] = ()) -> None:
        self.data, self.refiner, self.changes = data, refiner, changes
        self._shared = lru_cache(maxsize=16)(self._shared_by)

    def prepare(self, wanted: Wanted) -> Prepared:
        """Tables of every metric.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        return _tables(shared, wanted, shared.rows, "; ".join(self.changes))

    def prepare_overload(self, wanted: Wanted) -> Prepared | None:
        """Tables of the runs in overload alone; ``None`` where they lack a metric that the other tables have.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        over = self._overload(shared, wanted)
        return None if over is None else _tables(shared, wanted, over, "", overload=True)

    def draw(self, wanted: Wanted) -> None:
        """Draw all curves of both kinds of tables, which are kept.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        _drawn(shared, wanted, shared.rows)
        if over := self._overload(shared, wanted):
            _drawn(shared, wanted, over, overload=True)

    def _overload(self, shared: Shared, wanted: Wanted) -> list[Row] | None:
        """The rows in overload; ``None`` where they lack a metric that other rows have."""
        own = of_protocols(shared.rows, wanted.protocols)
        over = overload_rows(own, self.refiner)
        known, over_known = ({row.point.metric for row in alone(rows)} for rows in (own, over))
        return over if known - set(BY_FLOW) <= over_known else None

    def _shared_of(self, wanted: Wanted) -> Shared:
        options = tuple(sorted(wanted.options.items()))
        return self._shared(options, wanted.protocols, wanted.extend)

    def _shared_by(
        self, options: tuple[tuple[str, str], ...], protocols: tuple[str, ...], extend: bool
    ) -> Shared:
        wanted = Wanted(self.data, dict(options), protocols, extend)
        every = self.data.protocols
        found = {name: nearest_rows(self.data, name, wanted.options) for name in every}
        return Shared(self.refiner, wanted, found, self.refiner.knots(every, wanted.options))


class Drawn(NamedTuple):
    """The curves that tables are compiled from.

    ``best`` is the best goodput at any load, ``carried`` that on the dataset's own link, ``unlimited`` that at the
    unlimited load, ``shared`` one stream's goodput by number of endpoints.
    """

    best: Curves
    carried: Curves
    unlimited: Curves
    loss: Curves
    shared: Mapping[int, Curves]
    metrics: Mapping[str, Curves]


def _drawn(shared: Shared, wanted: Wanted, rows: Sequence[Row], *, overload: bool = False) -> Drawn:
    """Draw the curves of some rows."""
    data, drawn = wanted.data, partial(shared.drawn, overload=overload)
    own = of_protocols(rows, wanted.protocols)
    lone = alone(own)

    def of(metric: str) -> Curves:
        bare = shared.refiner.draws_all(metric)
        return drawn(metric, curves_of(data, lone, metric, bare=bare))

    goodput = partial(best_goodput, data, lone, shared.goodput_errors)
    by_endpoints = shared_goodput(data, own, shared.goodput_errors)
    at_any_load = goodput(limited=True)
    return Drawn(
        drawn("goodput_bps", at_any_load),
        shared.on_own_link.drawn("goodput_bps", at_any_load, overload=overload),
        drawn("goodput_bps", goodput(limited=False)),
        of("loss_rate"),
        {count: drawn("goodput_bps", curves) for count, curves in by_endpoints.items()},
        {metric: of(metric) for metric in wanted.metrics(lone)},
    )


def _tables(
    shared: Shared, wanted: Wanted, rows: Sequence[Row], instead: str, *, overload: bool = False
) -> Prepared:
    """Tables of some rows on the axes of all."""
    refiner, compile_ = shared.refiner, shared.compiler
    best, carried, unlimited, loss, by_endpoints, metrics = _drawn(
        shared, wanted, rows, overload=overload
    )
    tables = flow_tables(compile_, best, unlimited, loss)
    for count, curves in by_endpoints.items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", curves)
    tables[ACHIEVED] = achieved_table(compile_, refiner.carried(wanted.protocols))
    for metric, every in metrics.items():
        curves = without_switched(every, "udp") if metric == "cpu_recv" else every  # E7
        multiple = refiner.fits.is_packet_multiple(metric)
        growing = metric.startswith(GROWING)
        tables[MULTIPLE + metric if multiple else metric] = compile_.table(
            metric,
            curves
            if growing
            else {k: hold_from_edge(c, achieved(carried, k)) for k, c in curves.items()},
            any_cores=any_cores(metric),
            below="one" if multiple else "proportion" if growing else "held",
            usable=partial(usable, compile_, curves, carried),
        )
    why = {name: instead or shared.found[name].substituted for name in wanted.protocols}
    made = Tables(compile_, tables, wanted.data.link(wanted.options), with_headers=True)
    return Prepared(made, wanted, tuple(metrics), shared.rows, why)


def hold_from_edge(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Limited curves, held beyond the payloads at which their load is achieved (E14)."""
    if best is None:
        return list(curves)
    return [_held_from_edge(c, best) if is_limited(c.load_bps) else c for c in curves]


def _held_from_edge(curve: Curve, best: Curve) -> Curve:
    """The curve with points in overload taken from the nearest other point, marked ``extrapolated``."""
    over = curve.load_bps > LOAD_TOLERANCE * best.value_at(curve.payload_bytes)
    if over.all() or not over.any():
        return curve
    logs, known = np.log(curve.payload_bytes), np.flatnonzero(~over)
    nearest = known[np.abs(logs[:, None] - logs[known]).argmin(axis=1)]
    return replace(
        curve,
        ends=curve.ends[:, nearest],
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=curve.rows[nearest],
        next_rows=None if curve.next_rows is None else curve.next_rows[nearest],
    )


def overload_rows(rows: Sequence[Row], refiner: Refiner) -> list[Row]:
    """The rows in overload, as unlimited ones.

    Of several loads at a payload the greatest is used: the amount of overload changes little for a sender.
    """
    over = refiner.overloaded([row.point for row in rows])
    kept = [row for row, is_over in zip(rows, over, strict=True) if is_over]
    greatest: dict[tuple[object, ...], Row] = {}
    for index, point in sorted(kept, key=lambda row: row.point.load_bps or 0.0):
        counts = (point.options, point.endpoints, point.other_goodput_bps)
        key = (configuration_of(point), *counts, point.metric, point.payload_bytes)
        greatest[key] = Row(index, point._replace(load_bps=np.inf))
    return sorted(greatest.values(), key=lambda row: row.place)


Preparing = Callable[[Wanted], Prepared | None]
FAR = 1.1
"""A paced request is in overload from this times the goodput of runs in overload on; assumed."""
SENDING = "cpu_send"
"""Beginning of every metric of the sender's processing time."""


def cpu_time(look: Look, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
    """Processing time at the measured core count; above the top load it grows with the load.

    It reaches at most the unlimited curve, which is the upper end there (E15).
    """
    value, top_load = look.all(metrics, load), look.top_load(metrics)
    request, top = look.q.request_bps, if_else(top_load == 0, np.inf, top_load)
    held = load.limited & (request > top[:, None])
    if held.any():
        most = look.all(metrics, look.unlimited)
        more = np.divide(request, top, out=np.ones_like(top), where=request > top)[:, None]
        most[:, :HIGH] = np.fmin(most[:, :HIGH], value[:, :HIGH] * more)
        np.fmax(value, most, out=value, where=held)
    of_unlimited = (top_load == 0)[:, None] & load.limited[:HIGH]
    if of_unlimited.any():
        proportion = np.minimum(request / flow.capacity_bps[VALUE], 1.0)
        value[:, :HIGH] *= if_else(of_unlimited, proportion, 1.0)
    return value


def cpu_time_of_senders(look: Look, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
    """The same; a sender that sends less than requested is less busy.

    It is busy for what it sends (utilisation law): at the cost per frame of the highest achieved
    load, and at least that of the unlimited run, in which it only sends.
    """
    value = cpu_time(look, metrics, load, flow)
    request, unlimited_loss = look.q.request_bps, flow.unlimited_loss[VALUE]
    lost = flow.saturated[VALUE] & (unlimited_loss > 0) & np.isfinite(request)
    sending = [k for k, metric in enumerate(metrics) if metric.startswith(SENDING)]
    if not lost.any() or not sending:
        return value
    names = [metrics[k] for k in sending]
    top_load = look.top_load(names)
    achieved = look.all(names, look.requested)[:, :HIGH]
    over = np.divide(request, top_load, out=np.ones_like(top_load), where=top_load > 0)
    achieved *= np.fmax(over, 1.0)[:, None]
    able = flow.capacity_bps[VALUE] / np.maximum(1 - unlimited_loss, CLOSE)
    full = value[sending, :HIGH]
    least = full * np.minimum(request / able, 1.0)
    value[sending, :HIGH] = if_else(lost, np.fmax(least, np.fmin(full, achieved)), full)
    return value


def answers(look: Look, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """The wanted metrics that have tables, each (ends, n); NaN where the tables have no value."""
    found = composed(look, flow, wanted, with_work(cpu_time_of_senders))
    return with_application(look, flow, found)


def overload_answers(look: Look, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """The same from tables of runs in overload."""
    found = composed(look, flow, wanted, with_work(cpu_time), all_at_limit=True)
    return with_application(look, flow, found)


def bases(look: Look, flow: Flow) -> Bases:
    """The look-ups and rules of each metric."""
    return with_rules(look, corrected.bases(look, flow))


def bounds(look: Look, flow: Flow) -> dict[str, float]:
    """For a block of one question: the bounds whose least is the goodput [b/s]."""
    return with_bounds(look, flow, corrected.bounds(look, flow))


def asked_too_much(look: Look, over: Look, flow: Flow) -> Bools:
    """Which limited requests are answered by the runs in overload, (n,).

    Requests above the capacity of a lone stream, or far above the goodput of such runs, at payloads between
    those of such runs.
    """
    request, payload = look.q.request_bps, look.q.payload_bytes
    first, last = over.payloads(BEST)
    inside = over.known(BEST) & (first <= payload) & (payload <= last)
    reached = corrected.reached(over, over.all((BEST,), over.unlimited))[0, VALUE]
    too_much = flow.saturated[VALUE] | (request > reached * FAR)
    return np.asarray(too_much & np.isfinite(request) & inside)


def notes(look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """For a block of one question: notes that a reader of this law's answer needs."""
    yield from _notes(look, flow, asked, needed)
    yield from not_achieved_note(flow, asked, UNLIMITED)


def overload_notes(
    look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """The same from tables of runs in overload."""
    yield from _notes(look, flow, asked, needed)
    instead = "all metrics are those of runs in overload"
    yield from not_achieved_note(flow, asked, instead)


def slower_notes(
    look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """The same on a slower wire, where buffers of saturated streams are assumed."""
    yield from notes(look, flow, asked, needed)
    if asked.protocol in SENDERS and flow.saturated[VALUE][0]:
        yield "latency is what a sender's buffers hold, over the goodput; their sizes are Linux's defaults (assumed)"


def _notes(look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    yield from sharing_notes(look, flow, asked)
    yield from work_notes(look, asked)
    if corrected.above_theory(look, flow)[0]:
        yield "the fitted goodput lies above theory's bound and was clamped to it"
    if look.q.work is None:  # with work another note names the bottleneck
        yield from cores_notes(asked, needed)


def law(data: Dataset, fitting: Fitting) -> Law:
    """The law for one dataset, whose fits are made when first needed, and kept."""
    store = Store(data, fitting.constants, cache=fitting.cache)
    kept = store.read()
    carrier = partial(frames_on_wire, data)
    refiner = Refiner(Fits(data, carrier, fitting.watch, kept, fitting.constants))

    def keeping(made: Preparing) -> Preparing:
        def prepared(wanted: Wanted) -> Prepared | None:
            found = made(wanted)
            store.save(kept)
            return found

        return prepared

    tables = FittedTables(data, refiner)
    over = _law(keeping(tables.prepare_overload))._replace(
        answers=overload_answers,
        notes=overload_notes,
    )
    return _law(keeping(tables.prepare))._replace(
        overload=Overload(over, asked_too_much),
        for_hosts=partial(_for_hosts, refiner, keeping),
    )


def fit(data: Dataset, watch: Watch | None = None) -> Kept:
    """Make all fits of a dataset again, and the curves of all measured options.

    ``watch`` is called after each fit with the counts of finished fits and of all.
    """
    kept = Kept(seal_of(data))
    refiner = Refiner(Fits(data, partial(frames_on_wire, data), watch, kept))
    tables = FittedTables(data, refiner)
    for options in measured_options(data):
        tables.draw(Wanted(data, options, data.protocols))
    for metric in data.metrics:
        refiner.fits.is_fitted(metric)
    return kept


def measured_options(data: Dataset) -> list[dict[str, str]]:
    """The options of each group of rows that differ from the defaults, the defaults first."""
    found: dict[tuple[tuple[str, str], ...], None] = {(): None}
    for values in {point.options for point in data.points}:
        said = dict(zip(data.option_axes, values, strict=True))
        changed = data.changed_options({axis: value for axis, value in said.items() if value})
        found[tuple(sorted(changed.items()))] = None
    return [dict(options) for options in sorted(found)]


def _law(prepared: Preparing) -> Law:
    """The law on tables that a given function prepares."""
    told = Law(prepared, BEST, flow, answers, bases, bounds, notes, nearest_rows)
    return told._replace(paced=paced)


def _for_hosts(
    refiner: Refiner, keeping: Callable[[Preparing], Preparing], hosts: Hosts
) -> tuple[Dataset, Law]:
    """The dataset with another link or other hosts, and its law, from the same fits."""
    data = refiner.data
    changes = hosts.texts(data.interconnect.line_rate_bps)
    if (rate := hosts.line_rate_bps) is not None:
        fabrics = {key: _at_rate(link, rate) for key, link in data.fabrics.items()}
        link = _at_rate(data.interconnect, rate)
        data = replace(data, interconnect=link, fabrics=fabrics)
    changed = refiner.changed(hosts, partial(frames_on_wire, data))
    law = _law(keeping(FittedTables(data, changed, changes).prepare))
    return data, law._replace(notes=slower_notes) if changed.knows_buffers else law


def _at_rate(link: Interconnect, rate_bps: float) -> Interconnect:
    """A link at another rate; a token bucket passes at once what its rate brings in the same time (assumed).

    That is what it is as deep as: a timer that comes late by this time loses no capacity.
    """
    burst_bytes = link.burst_bytes
    if burst_bytes and link.line_rate_bps is not None:
        burst_bytes *= rate_bps / link.line_rate_bps
    return replace(link, line_rate_bps=rate_bps, burst_bytes=burst_bytes)
