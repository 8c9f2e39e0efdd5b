"""Conclusion and tables of a system's report: requirements, streams by group, links, devices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from icmodel import units
from icmodel.documents import group_by_key
from icmodel.estimate import (
    GROWS,
    Estimate,
    compared,
    estimated,
    interval,
    limit_name,
    metric_name,
    percent,
    plural,
    quantity,
)
from icmodel.report.blocks import Block, Cell, Conclusion, Fold, Items, Table, Text
from icmodel.report.system_boxes import NOT_JUDGED, Summary, outcomes
from icmodel.report.verdicts import limit_text, margin_text
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED, worst_outcome
from icmodel.system import SystemPrediction
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING
from icmodel.system.prediction.combining import TAKEN, VIRTUAL
from icmodel.system.prediction.result import (
    OF_TIME,
    Judged,
    LatencyBound,
    PortPrediction,
    StreamPrediction,
    by_requirement,
)
from icmodel.system.prediction.stated import StatedTimes

BOUND_DIGITS = 3
MOST_STREAMS = 200
"""Maximum number of single streams in a table, the worst first. The JSON document has all."""


# --- the conclusion ---------------------------------------------------------------------------


def conclude(found: SystemPrediction) -> Conclusion:
    """Return the conclusion on a system: a sentence with the verdict on its requirements, and further facts."""
    streams = ("Streams", counted_outcomes(found))
    groups = by_requirement(found.judged)
    if not groups:
        sentence = "Undecided: nothing is required, and every stream sends at unlimited rate."
        return Conclusion(found.verdict, sentence, (streams,))
    alike = sum(some[0].verdict.outcome == found.verdict for some in groups.values())
    worst = next(iter(groups.values()))[0]
    verdict, basis = worst.verdict, worst.verdict.estimate.basis
    name = verdict.requirement.name
    first = "the narrowest is" if found.verdict == MET else "the worst is"
    sentence = (
        f"{found.verdict.capitalize()}: {alike} of {plural(len(groups), 'requirement')} "
        f"{'is' if alike == 1 else 'are'} {found.verdict}; {first} “{name}” at {about(worst)}: "
        f"{reason(worst)}."
    )
    rests = f"{basis} {metric_name(verdict.requirement.metric)}" if basis else ""
    parts = (
        ("Decided by", name),
        ("At", about(worst)),
        ("Margin", margin(worst)),
        ("Limited by", limit_name(verdict.limiting)),
        ("Based on", "a worst-case bound" if worst.by_bound else rests),
        streams,
    )
    return Conclusion(found.verdict, sentence, tuple(part for part in parts if part[1]))


def counted_outcomes(found: SystemPrediction) -> str:
    """Return the number of streams by outcome: ``6 met, 8 not judged``."""
    counts = Counter(outcomes(found).values())
    return ", ".join(
        f"{counts[kind]} {kind}" for kind in (*OUTCOMES, NOT_JUDGED) if counts.get(kind)
    )


def about(one: Judged) -> str:
    """Return the name of the stream or device that was judged."""
    return one.device or one.stream


def value_text(one: Judged) -> str:
    """Return the judged value of a requirement as text.

    If the value is unknown, or its interval has no upper end, the text is the interval. The text on the latency of a
    whole message ends with ``(whole message)``.
    """
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    whole = f" (whole {MESSAGE})" if one.of == MESSAGE else ""
    if verdict.outcome == NOT_MET and not math.isfinite(estimate.low):
        return GROWS
    if estimate.absent or math.isinf(estimate.high):
        return f"{interval(metric, estimate) or 'unknown'}{whole}"
    if one.by_bound:
        return f"{quantity(metric, estimate.value, BOUND_DIGITS)} (bound)"
    return compared(metric, estimate, verdict.requirement.limit) + whole


def reason(one: Judged) -> str:
    """Return the reason for a verdict on a requirement as text."""
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, span = metric_name(metric), interval(metric, estimate)
    if not span:
        return verdict.why or f"no {name} is known"
    if estimate.low == estimate.high and verdict.outcome != MET and verdict.why:
        return verdict.why  # the number alone does not show the reason
    needed = f"where {limit_text(verdict)} is needed"
    if verdict.outcome == UNDECIDED:
        within = "" if span.startswith(("at least", "about", "exact")) else "within "
        return f"{name} is {within}{span} {needed}"
    by = f", {text}" if (text := margin(one)) else ""
    return f"{name} is {value_text(one)} {needed}{by}"


def margin(one: Judged) -> str:
    """Return the margin of a requirement as text; empty if the requirement is undecided."""
    return "" if one.verdict.outcome == UNDECIDED else margin_text(one.verdict)


# --- requirements -----------------------------------------------------------------------------


def requirements(found: SystemPrediction) -> Iterator[Block]:
    """Yield a table of requirements, each with its worst stream or device.

    A list of reasons follows, for the requirements that are undecided and for those that are not met.
    """
    groups = by_requirement(found.judged)
    if not groups:
        yield Text("Nothing is required, and every stream sends at unlimited rate.")
        return
    rows, reasons = [], []
    for name, some in groups.items():
        worst = some[0]
        verdict, requirement = worst.verdict, worst.verdict.requirement
        metric = requirement.metric
        said = (
            () if worst.by_bound else (interval(metric, verdict.estimate), verdict.estimate.basis)
        )
        alike = sum(one.verdict.outcome == verdict.outcome for one in some)
        count = f"{alike} of {len(some)}" if len(some) > 1 else ""
        rows.append(
            (
                Cell(requirement.name, f"{requirement.kind}, {metric_name(metric)}"),
                Cell(value_text(worst), ", ".join(filter(None, (about(worst), *said)))),
                Cell(limit_text(verdict)),
                Cell(margin(worst)),
                Cell("", count, outcome=verdict.outcome),
                Cell(requirement.source),
            )
        )
        if verdict.outcome != MET and verdict.why:
            reasons.append(f"{name}: {verdict.why}")
    yield Table(
        "Requirements, each for its worst stream or device",
        ("requirement", "worst", "limit", "margin", "verdict", "source"),
        tuple(rows),
        numbers=("margin",),
    )
    if reasons:
        yield Items("Reasons of requirements that are not met or undecided", tuple(reasons))


BOUND_PARTS = ("network", "hosts", "application")
"""Parts of a latency bound (worst case), in the order of `Judged.parts`."""


def parts_table(found: SystemPrediction) -> Iterator[Table]:
    """Yield a table of the parts of latency bounds: network, hosts and application.

    It has a row for each latency requirement. If no bound is known, yield nothing.
    """
    rows = tuple(tuple(map(Cell, row)) for row in parts_rows(found))
    if rows:
        caption = "Worst-case latencies: the parts of network, hosts and application"
        columns = ("requirement", "worst", *BOUND_PARTS, "bound")
        yield Table(caption, columns, rows, numbers=columns[2:])


def parts_rows(found: SystemPrediction) -> Iterator[tuple[str, ...]]:
    """Yield a row of texts for each latency requirement: the greatest latency bound among its streams, and its parts.

    The parts are network, hosts and application. If the time of source or sink is unknown, the total is the sum of the
    known times, shown as a lower bound such as ``from 310 µs``. The part of the hosts is then ``unknown``, or a lower
    bound such as ``from 50 µs`` if the system file states the latency of the source or of the sink.
    """
    for name, some in by_requirement(found.judged).items():
        sums = [
            (math.fsum(part for part in one.parts.values() if part == part), one)
            for one in some
            if one.parts
        ]
        if not sums:
            continue
        least_s, worst = max(sums, key=lambda pair: pair[0])
        parts, stated = dict(worst.parts), stated_times(found, worst.stream)
        unknown = math.isnan(parts["hosts_s"])
        texts = [
            "unknown" if part != part else units.format_seconds(part, 3) for part in parts.values()
        ]
        if unknown and stated.devices:
            least_s += stated.most_s
            texts[BOUND_PARTS.index("hosts")] = f"from {units.format_seconds(stated.most_s, 3)}"
        total = units.format_seconds(least_s, 3)
        yield (name, about(worst), *texts, f"from {total}" if unknown else total)


def stated_times(found: SystemPrediction, stream: str) -> StatedTimes:
    """Return the latency and core time that the system file states for the source and the sink of a stream.

    If it states no latency for one of the two devices, the result does not contain this device.
    """
    one = found.system.streams[stream]
    return StatedTimes(one, found.system.stating_devices(one))


# --- streams ----------------------------------------------------------------------------------

Streams = Sequence[StreamPrediction]
"""Streams of one table row: a single stream, or all streams of a group."""


def streams(found: SystemPrediction) -> Iterator[Block]:
    """Yield tables of groups and of single streams, and a list of the methods of the latency bounds.

    The row of a group shows the worst values of its streams. The list states for each method which effects the bound
    covers, and why a stream has no bound.
    """
    of = outcomes(found)
    groups = dict(by_group(found))
    yield _flow_table("Goodput and loss, the worst of each group", groups, of)
    yield _time_table("Latency of a frame and of a whole message, the worst of each group", groups)
    count = len(found.streams)
    if len(groups) < count:
        ranks = {NOT_JUDGED: -1} | {outcome: rank for rank, outcome in enumerate(OUTCOMES)}
        ordered = sorted(found.streams, key=lambda name: -ranks[of[name]])[:MOST_STREAMS]
        single = {name: [found.streams[name]] for name in ordered}
        title = f"Every stream ({count})"
        if len(single) < count:
            title = f"{len(single)} of {count} streams, the worst first"
        tables = (_flow_table("Goodput and loss", single, of), _time_table("Latency", single))
        yield Fold(title, tables)

    sentences = [
        f"{bound.method}: covers {', '.join(bound.covers)}"
        for one in found.streams.values()
        if (bound := one.latency_bound) is not None
    ]
    sentences += [f"no bound: {one.no_bound}" for one in found.streams.values() if one.no_bound]
    if sentences:
        yield Items("Methods of the bounds", tuple(dict.fromkeys(sentences)))


def _flow_table(caption: str, named: Mapping[str, Streams], of: dict[str, str]) -> Table:
    """Make a table of request, goodput, loss, bottleneck and verdict: a row of worst values per group of streams."""
    rows = []
    for name, some in named.items():
        stream = some[0].stream
        size = units.format_bytes(stream.payload_bytes)
        kind = f"{stream.protocol}, {size}, priority {stream.priority}, {stream.kind}"
        request_bps = max(one.stream.requested_goodput_bps for one in some)
        by, more = bottleneck_texts(some)
        counts = Counter(of[one.stream.name] for one in some)
        kinds = [kind for kind in (*OUTCOMES, NOT_JUDGED) if counts.get(kind)]
        note = ", ".join(f"{counts[kind]} {kind}" for kind in kinds) if len(kinds) > 1 else ""
        outcome = Cell(NOT_JUDGED)
        if judged := [kind for kind in kinds if kind != NOT_JUDGED]:
            outcome = Cell("", note=note, outcome=worst_outcome(judged))
        rows.append(
            (
                Cell(name, f"{plural(len(some), 'stream')}, {kind}" if len(some) > 1 else kind),
                Cell(units.format_bps(request_bps) if math.isfinite(request_bps) else "unlimited"),
                _worst_cell("goodput_bps", some),
                _worst_cell("loss_rate", some),
                Cell(by, note=more),
                outcome,
            )
        )
    columns = ("stream", "requested", "goodput", "loss", "limited by", "verdict")
    return Table(caption, columns, tuple(rows), numbers=("requested", "goodput", "loss"))


def _time_table(caption: str, named: Mapping[str, Streams]) -> Table:
    """Make a table of latencies: a row for each group of streams, with their worst latencies and greatest bound."""
    rows = []
    for name, some in named.items():
        bound = greatest_bound(some)
        rows.append(
            (
                Cell(name),
                *(_worst_cell(f"latency_{kind}_s", some) for kind in ("mean", "p99", "max")),
                Cell(bound_text(some), note="" if bound is None else bound.method),
                _worst_cell("message_latency_s", some),
            )
        )
    columns = ("stream", "mean", "99 %", "greatest", "bound", "whole message")
    return Table(caption, columns, tuple(rows), numbers=columns[1:])


def _worst_cell(metric: str, some: Streams) -> Cell:
    """Return a table cell with the worst value of a metric among streams, its interval and its basis."""
    if grows(metric, some):
        return Cell("grows", note="less arrives than is produced")
    estimate = worst_estimate(metric, some)
    return Cell("unknown") if estimate is None else estimate_cell(metric, estimate)


def estimate_cell(metric: str, estimate: Estimate) -> Cell:
    """Return a table cell with the value of an estimate, its interval and its basis.

    If the interval has no upper end, the cell shows only the lower end.
    """
    if estimate.absent:
        return Cell("unknown")
    span = interval(metric, estimate)
    if math.isinf(estimate.high):
        return Cell(span, note=estimate.basis)
    note = ", ".join(part for part in (span, estimate.basis) if part)
    return Cell(estimated(metric, estimate), note=note)


# --- links and devices ------------------------------------------------------------------------


def links(summary: Summary) -> Table:
    """Make a table of the cables in the drawing, the busiest cable first, each with its busiest port."""
    rows = []
    for one in sorted(summary.cables, key=lambda one: -one.port.asked_ratio):
        port, count = one.port, len(one.cable.links)
        mean, most = queue_texts(port)
        rows.append(
            (
                Cell(one.busiest, note=f"the busiest of {count} links" if count > 1 else ""),
                Cell(units.format_bps(one.rate_bps)),
                Cell(percent(port.load_ratio)),
                Cell(percent(port.asked_ratio)),
                Cell(mean, note=port.backlog_mean_bytes.basis),
                Cell(most, note="" if port.backlog_bound_bytes is None else "bound"),
            )
        )
    columns = ("link", "rate", "passing", "requested", "mean queue", "queue bound")
    caption = "Links of the drawing, each with its busiest port, the busiest first"
    return Table(caption, columns, tuple(rows), numbers=columns[1:])


def devices(found: SystemPrediction, summary: Summary) -> Table:
    """Make a table of the device boxes in the drawing, each with its busiest member."""
    rows = []
    for one in summary.boxes:
        if one.box.switches:
            continue
        cores, cpu = found.system.devices[one.busiest].cores, found.devices[one.busiest]
        counted = ", ".join(f"{count} {kind}" for kind, count in one.outcomes.items())
        rows.append(
            (
                Cell(
                    one.box.title,
                    note=f"busiest: {one.busiest}" if len(one.box.members) > 1 else "",
                ),
                Cell("not stated" if cores is None else str(cores)),
                estimate_cell("cpu_recv", cpu.cpu),
                estimate_cell("cpu_recv_cores", cpu.cpu_cores),
                Cell(percent(max(cpu.by_core)) if cpu.by_core else "unknown"),
                Cell(counted or "none"),
            )
        )
    columns = ("device", "cores", "CPU", "busy cores", "busiest core", "streams")
    caption = "Devices of the drawing, each with its busiest member"
    return Table(caption, columns, tuple(rows), numbers=columns[1:5])


def stated_devices(found: SystemPrediction) -> Iterator[Table]:
    """Yield a table of the devices whose latency (and core time per frame) the system file states.

    If there is no such device, yield nothing.
    """
    stated = [one for one in found.system.devices.values() if one.latency_s is not None]
    groups = group_by_key(
        ((one.group, one.latency_s, one.core_time_s, one.source), one) for one in stated
    )
    rows = tuple(
        (
            Cell(group, note=plural(len(some), "device") if len(some) > 1 else ""),
            Cell(span_text(latency_s)),
            Cell(span_text(core_time_s)),
            Cell(source or "not stated"),
        )
        for (group, latency_s, core_time_s, source), some in groups.items()
    )
    if rows:
        caption = "Devices with stated times; these times are not measured"
        columns = ("device", "latency of a frame", "core time of a frame", "source")
        yield Table(caption, columns, rows, numbers=columns[1:3])


def span_text(ends_s: tuple[float, float] | None) -> str:
    """Format a time that the system file states, such as ``20 – 50 µs``.

    ``ends_s`` is its least and its greatest value [s]; for None, the text is ``not stated``.
    """
    if ends_s is None:
        return "not stated"
    least, most = (units.format_seconds(end, 3) for end in ends_s)
    return least if least == most else f"{least} – {most}"


# --- texts of several streams -----------------------------------------------------------------


def by_group(found: SystemPrediction) -> dict[str, list[StreamPrediction]]:
    """Return the predicted streams of each group, in the order of the system file."""
    return group_by_key((one.stream.group, one) for one in found.streams.values())


def worst_estimate(metric: str, some: Iterable[StreamPrediction]) -> Estimate | None:
    """Return the worst estimate among streams: the least goodput, or the greatest value of another metric.

    If no stream has a value, the result is None.
    """
    estimates = [one.metrics[metric] for one in some if metric in one.metrics]
    known = [estimate for estimate in estimates if not estimate.absent]
    if not known:
        return None
    choose: Callable[..., Estimate] = min if metric == "goodput_bps" else max
    return choose(known, key=lambda estimate: estimate.value)


def grows(metric: str, some: Iterable[StreamPrediction]) -> bool:
    """Whether the metric is a time that grows without limit for at least one of the streams."""
    return metric.startswith(OF_TIME) and any(one.arrival.grows for one in some)


def bottleneck_texts(some: Iterable[StreamPrediction]) -> tuple[str, str]:
    """Return two texts: the bottleneck of the first stream with its location, and ``and 2 more``.

    The number counts the other distinct bottlenecks of the streams. Without others, the second text is empty.
    """
    places = ((limit_name(one.bottleneck) or "unknown", one.bottleneck_at) for one in some)
    first, *more = dict.fromkeys(f"{by} at {at}" if at else by for by, at in places)
    return first, f"and {len(more)} more" if more else ""


def greatest_bound(some: Streams) -> LatencyBound | None:
    """Return the greatest latency bound of the streams; None if a stream has no bound."""
    bounds = [one.latency_bound for one in some if one.latency_bound is not None]
    return max(bounds, key=lambda bound: bound.value_s) if len(bounds) == len(some) else None


def bound_text(some: Streams, digits: int = BOUND_DIGITS) -> str:
    """Return the greatest latency bound of streams as text, such as ``310 µs (network)``.

    If the bound does not cover all frames from application to application, its scope follows in parentheses. If a
    stream has no bound, the text is ``none``.
    """
    bound = greatest_bound(some)
    if bound is None:
        return "none"
    text = units.format_seconds(bound.value_s, digits)
    return f"{text} {scope}" if (scope := bound_scope(bound)) else text


def bound_scope(bound: LatencyBound) -> str:
    """Return as text what a latency bound covers; empty if it covers all frames from application to application.

    ``(network)``: the bound covers the network without its hosts. ``(arriving)``: it does not cover frames that are
    lost or that the hosts refuse. If the hosts are virtual machines, the text also states the network's part of the
    bound.
    """
    if NETWORK in bound.covers:
        return "(network)"
    parts = ["arriving"] if {ARRIVING, TAKEN} & set(bound.covers) else []
    if VIRTUAL in bound.covers:
        parts.append(f"network {units.format_seconds(bound.network_s, 3)}")
    return f"({', '.join(parts)})" if parts else ""


def queue_texts(port: PortPrediction) -> tuple[str, str]:
    """Return two texts on the queue of a port: its mean size and its greatest size."""
    mean, most = port.backlog_mean_bytes, port.backlog_bound_bytes
    least = "up to " if mean.low == 0 and mean.value == most else ""
    return (
        "grows" if mean.absent else f"{least}{units.format_bytes(round(mean.value))}",
        "none" if most is None else units.format_bytes(math.ceil(most)),
    )
