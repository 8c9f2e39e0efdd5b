"""Tables of a system's report: requirements, streams by group, links, devices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from icmodel import units
from icmodel.estimate import Estimate
from icmodel.report.blocks import Block, Cell, Fold, Items, Table, Text
from icmodel.report.conclusion import limit_text
from icmodel.report.systems.conclusion import about, margin, value_text
from icmodel.report.systems.seen import NOT_JUDGED, Seen, SeenBox, SeenCable, outcomes
from icmodel.report.systems.worst import (
    bound_text,
    by_group,
    grows,
    limits,
    queue_texts,
    worst_bound,
    worst_of,
)
from icmodel.requirement import MET, OUTCOMES, worst
from icmodel.system import SystemPrediction
from icmodel.system.prediction.result import Judged, StreamPrediction, by_requirement
from icmodel.wording import estimated, interval, metric_name, percent, plural

MOST_STREAMS = 200
"""Greatest number of streams listed, the worst first; JSON has all."""


# --- requirements -----------------------------------------------------------------------------


def requirements(found: SystemPrediction) -> Iterator[Block]:
    """Each requirement by the stream or device that meets it least, and why the others are not met."""
    groups = by_requirement(found.judged)
    if not groups:
        yield Text("Nothing is required, and every stream sends as fast as it goes.")
        return
    yield Table(
        "Requirements, each by the stream or device that meets it least",
        ("requirement", "worst", "limit", "#margin", "verdict", "source"),
        tuple(_requirement(some) for some in groups.values()),
    )
    open_ones = {name: some[0] for name, some in groups.items() if some[0].verdict.outcome != MET}
    why = tuple(f"{name}: {one.verdict.why}" for name, one in open_ones.items() if one.verdict.why)
    if why:
        yield Items("What stands behind those that are not met", why)


def _requirement(some: Sequence[Judged]) -> tuple[Cell, ...]:
    first = some[0]
    verdict = first.verdict
    alike = sum(one.verdict.outcome == verdict.outcome for one in some)
    basis = "" if first.by_bound else verdict.estimate.basis
    metric = metric_name(verdict.requirement.metric)
    return (
        Cell(verdict.requirement.name, note=f"{verdict.requirement.kind}, {metric}"),
        Cell(value_text(first), note=f"{about(first)}{f', {basis}' if basis else ''}"),
        Cell(limit_text(verdict)),
        Cell(margin(first)),
        Cell("", note=f"{alike} of {len(some)}" if len(some) > 1 else "", outcome=verdict.outcome),
        Cell(verdict.requirement.source),
    )


# --- streams ----------------------------------------------------------------------------------


def streams(found: SystemPrediction) -> Iterator[Block]:
    """Streams by group, each number that of the worst of the group; then stream by stream."""
    of = outcomes(found)
    groups = [(f"{name}", some) for name, some in by_group(found).items()]
    yield _flow_table("Goodput and loss, the worst of each group", groups, of)
    yield _time_table("Latency of a frame and of a whole message, the worst of each group", groups)
    if len(groups) == len(found.streams):
        return
    ordered = sorted(found.streams, key=lambda name: -_rank(of[name]))[:MOST_STREAMS]
    single = [(name, [found.streams[name]]) for name in ordered]
    shown, there = len(single), len(found.streams)
    which = (
        f"Every stream ({there})"
        if shown == there
        else f"{shown} of {there} streams, the worst first"
    )
    yield Fold(which, (_flow_table("Goodput and loss", single, of), _time_table("Latency", single)))


def _rank(outcome: str) -> int:
    return OUTCOMES.index(outcome) if outcome in OUTCOMES else -1


Named = Sequence[tuple[str, Sequence[StreamPrediction]]]


def _flow_table(caption: str, named: Named, of: dict[str, str]) -> Table:
    columns = ("stream", "#asks for", "#goodput", "#loss", "limited by", "verdict")
    return Table(caption, columns, tuple(_flow(name, some, of) for name, some in named))


def _flow(name: str, some: Sequence[StreamPrediction], of: dict[str, str]) -> tuple[Cell, ...]:
    asked = max(one.stream.requested_goodput_bps for one in some)
    by, more = limits(some)
    return (
        _named(name, some),
        Cell(units.format_bps(asked) if math.isfinite(asked) else "all there is"),
        _cell("goodput_bps", some),
        _cell("loss_rate", some),
        Cell(by, note=more),
        _outcome(of[one.stream.name] for one in some),
    )


def _time_table(caption: str, named: Named) -> Table:
    columns = ("stream", "#mean", "#99 %", "#greatest", "#bound", "#whole message")
    rows = tuple(
        (
            Cell(name),
            *(_cell(f"latency_{kind}_s", some) for kind in ("mean", "p99", "max")),
            _bound(some),
            _cell("message_latency_s", some),
        )
        for name, some in named
    )
    return Table(caption, columns, rows)


def _named(name: str, some: Sequence[StreamPrediction]) -> Cell:
    stream = some[0].stream
    told = f"{stream.protocol}, {units.format_bytes(stream.payload_bytes)}, priority {stream.priority}, {stream.kind}"
    return Cell(name, note=f"{plural(len(some), 'stream')}, {told}" if len(some) > 1 else told)


def _outcome(some: Iterable[str]) -> Cell:
    counts = Counter(some)
    judged = [kind for kind in OUTCOMES if counts.get(kind)]
    if not judged:
        return Cell(NOT_JUDGED)
    note = ", ".join(f"{counts[kind]} {kind}" for kind in (*judged, NOT_JUDGED) if counts.get(kind))
    return Cell("", note=note if len(counts) > 1 else "", outcome=worst(judged))


def _cell(metric: str, some: Sequence[StreamPrediction]) -> Cell:
    """The worst value of some streams, with its ends and basis."""
    if grows(metric, some):
        return Cell("grows", note="less passes than is produced")
    one = worst_of(metric, some)
    return Cell("unknown") if one is None else estimate_cell(metric, one)


def estimate_cell(metric: str, one: Estimate) -> Cell:
    """A value with its ends and basis; its lower end if there is no upper one."""
    if one.absent:
        return Cell("unknown")
    span = interval(metric, one)
    if math.isinf(one.high):
        return Cell(span, note=one.basis)
    return Cell(estimated(metric, one), note=", ".join(part for part in (span, one.basis) if part))


def _bound(some: Sequence[StreamPrediction]) -> Cell:
    one = worst_bound(some)
    if one is None or one.latency_bound is None:
        return Cell("none")
    return Cell(bound_text(some), note=one.latency_bound.method)


def bounds(found: SystemPrediction) -> Iterator[Block]:
    """What the bounds cover, and why there is none."""
    covers = dict.fromkeys(
        f"{one.latency_bound.method}: covers {', '.join(one.latency_bound.covers)}"
        for one in found.streams.values()
        if one.latency_bound is not None
    )
    missing = dict.fromkeys(one.no_bound for one in found.streams.values() if one.no_bound)
    if told := (*covers, *(f"no bound: {why}" for why in missing)):
        yield Items("What the bounds are", tuple(told))


# --- links and devices ------------------------------------------------------------------------


def links(of: Seen) -> Table:
    """The cables of the drawing, each by its busiest port."""
    return Table(
        "Links as they are drawn, each by its busiest port, the busiest first",
        ("link", "#rate", "#passing", "#asked for", "#mean queue", "#queue bound"),
        tuple(map(_link, sorted(of.cables, key=lambda one: -one.port.asked_ratio))),
    )


def _link(one: SeenCable) -> tuple[Cell, ...]:
    port, count = one.port, len(one.cable.links)
    mean, most = queue_texts(port)
    return (
        Cell(one.busiest, note=f"the busiest of {count} links" if count > 1 else ""),
        Cell(units.format_bps(one.rate_bps)),
        Cell(percent(port.load_ratio)),
        Cell(percent(port.asked_ratio)),
        Cell(mean, note=port.backlog_mean_bytes.basis),
        Cell(most, note="" if port.backlog_bound_bytes is None else "bound"),
    )


def devices(found: SystemPrediction, of: Seen) -> Table:
    """The boxes of devices, each by the busiest of its members."""
    return Table(
        "Devices as they are drawn, each by its busiest",
        ("device", "#cores", "#CPU", "#busy cores", "#busiest core", "streams"),
        tuple(_device(found, one) for one in of.boxes if not one.box.switches),
    )


def _device(found: SystemPrediction, one: SeenBox) -> tuple[Cell, ...]:
    cores = found.system.devices[one.busiest].cores
    cpu = found.devices[one.busiest]
    kinds = ", ".join(f"{count} {kind}" for kind, count in one.outcomes.items())
    return (
        Cell(one.box.title, note=f"busiest: {one.busiest}" if len(one.box.members) > 1 else ""),
        Cell("not said" if cores is None else str(cores)),
        estimate_cell("cpu_recv", cpu.cpu),
        estimate_cell("cpu_recv_cores", cpu.cpu_cores),
        Cell(percent(max(cpu.by_core)) if cpu.by_core else "unknown"),
        Cell(kinds or "none"),
    )
