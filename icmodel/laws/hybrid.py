"""``hybrid``: the laws of ``corrected`` on curves drawn from fits to all rows.

Besides the tables three steps differ: processing time is extrapolated above the greatest measured load,
the sender of a lossy protocol is busy for the frames it sends, and requests in overload are answered
from runs in overload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.dataset import Dataset, Interconnect
from icmodel.fits.buffers import SENDERS
from icmodel.fits.fits import Fits, Watch
from icmodel.fits.kept import Kept
from icmodel.fits.refine import Refiner
from icmodel.fits.seal import seal_of
from icmodel.fits.store import Store
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
from icmodel.laws.bases import Bases
from icmodel.laws.corrected import composed
from icmodel.laws.corrected_tables import BEST
from icmodel.laws.explained import UNLIMITED, cores_notes, not_achieved_note, sharing_notes
from icmodel.laws.flow import CLOSE, Flow
from icmodel.laws.hybrid_tables import FittedTables
from icmodel.laws.law import Fitting, Law, Overload
from icmodel.laws.prepared import Prepared, Wanted
from icmodel.laws.substitution import nearest_rows
from icmodel.scenario import Hosts, Scenario
from icmodel.tables import HIGH, VALUE, Load, Look
from icmodel.tables.wire import frames_on_wire

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
