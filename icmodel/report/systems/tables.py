"""Tables of a system's report: requirements, streams by group, links, devices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from icmodel import units
from icmodel.documents import group_by_key
from icmodel.estimate import (
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
from icmodel.report.systems.seen import NOT_JUDGED, Seen, SeenBox, SeenCable, outcomes
from icmodel.report.verdicts import limit_text, margin_text
from icmodel.requirement import MET, NOT_MET, OUTCOMES, UNDECIDED, worst
from icmodel.system import SystemPrediction
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.arrival import OF_TIME
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.buffers import ARRIVING
from icmodel.system.prediction.result import (
    Judged,
    LatencyBound,
    PortPrediction,
    StreamPrediction,
    by_requirement,
)
from icmodel.system.prediction.streams import VIRTUAL

BOUND_DIGITS = 3


def conclude(found: SystemPrediction) -> Conclusion:
    """The sentence on whether a system meets its requirements."""
    streams = ("Streams", counted_outcomes(found))
    groups = by_requirement(found.judged)
    if not groups:
        sentence = "Undecided: every stream sends as fast as it goes, and nothing is required."
        return Conclusion(found.verdict, sentence, (streams,))
    worst = next(iter(groups.values()))[0]
    verdict = worst.verdict
    named = f"“{verdict.requirement.name}” at {about(worst)}"
    first = "the narrowest is" if found.verdict == MET else "the worst is"
    told = f"{_count(found)}; {first} {named}: {reason(worst)}"
    parts = (
        ("Decided by", verdict.requirement.name),
        ("At", about(worst)),
        ("Margin", margin(worst)),
        ("Limited by", limit_name(verdict.limiting)),
        ("Rests on", _rests(worst)),
        streams,
    )
    sentence = f"{found.verdict.capitalize()}: {told}."
    return Conclusion(found.verdict, sentence, tuple(part for part in parts if part[1]))


def counted_outcomes(found: SystemPrediction) -> str:
    """``6 met, 8 not judged``."""
    counts = Counter(outcomes(found).values())
    return ", ".join(
        f"{counts[kind]} {kind}" for kind in (*OUTCOMES, NOT_JUDGED) if counts.get(kind)
    )


def about(one: Judged) -> str:
    """The stream, or the device, a verdict is about."""
    return one.device or one.stream


def value_text(one: Judged) -> str:
    """The judged value, or else its known end; of a whole message so marked."""
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    whole = f" (whole {MESSAGE})" if one.of == MESSAGE else ""
    if estimate.absent and verdict.outcome == NOT_MET:
        return "grows without limit"
    if estimate.absent or math.isinf(estimate.high):
        return f"{interval(metric, estimate) or 'unknown'}{whole}"
    if one.by_bound:
        return f"{quantity(metric, estimate.value, BOUND_DIGITS)} (bound)"
    return compared(metric, estimate, verdict.requirement.limit) + whole


def reason(one: Judged) -> str:
    """Why a requirement has its outcome."""
    verdict = one.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    name, span = metric_name(metric), interval(metric, estimate)
    if not span:
        return verdict.why or f"no {name} is known"
    if estimate.low == estimate.high and verdict.outcome != MET and verdict.why:
        return verdict.why  # the number alone does not say it
    needed = f"where {limit_text(verdict)} is needed"
    if verdict.outcome == UNDECIDED:
        within = "" if span.startswith(("at least", "about", "exact")) else "within "
        return f"{name} is {within}{span} {needed}"
    by = f", {text}" if (text := margin(one)) else ""
    return f"{name} is {value_text(one)} {needed}{by}"


def margin(one: Judged) -> str:
    """The margin as text; none if undecided."""
    return "" if one.verdict.outcome == UNDECIDED else margin_text(one.verdict)


def _count(found: SystemPrediction) -> str:
    groups = by_requirement(found.judged)
    alike = sum(some[0].verdict.outcome == found.verdict for some in groups.values())
    verb = "is" if alike == 1 else "are"
    return f"{alike} of {plural(len(groups), 'requirement')} {verb} {found.verdict}"


def _rests(one: Judged) -> str:
    basis = one.verdict.estimate.basis
    if one.by_bound:
        return "a worst-case bound"
    return f"{basis} {metric_name(one.verdict.requirement.metric)}" if basis else ""


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


def by_group(found: SystemPrediction) -> dict[str, list[StreamPrediction]]:
    """The streams of each group, in the file's order."""
    return group_by_key((one.stream.group, one) for one in found.streams.values())


def worst_of(metric: str, some: Iterable[StreamPrediction]) -> Estimate | None:
    """The least goodput, or the greatest of other metrics; none if no stream has a value."""
    told = [one.metrics[metric] for one in some if metric in one.metrics]
    known = [one for one in told if not one.absent]
    if not known:
        return None
    choose: Callable[..., Estimate] = min if metric == "goodput_bps" else max
    return choose(known, key=lambda one: one.value)


def bound_text(some: Sequence[StreamPrediction], digits: int = 3) -> str:
    """The greatest bound of some streams, with what it leaves out; ``none`` where one has no bound."""
    one = worst_bound(some)
    bound = None if one is None else one.latency_bound
    if bound is None:
        return "none"
    text = units.format_seconds(bound.value_s, digits)
    return f"{text} {scope}" if (scope := bound_scope(bound)) else text


def bound_scope(bound: LatencyBound) -> str:
    """What a bound is about, if it is not every frame from application to application."""
    if NETWORK in bound.covers:
        return "(network)"
    said = ["arriving"] if ARRIVING in bound.covers else []
    if VIRTUAL in bound.covers:
        said.append(f"network {units.format_seconds(bound.network_s, 3)}")
    return f"({', '.join(said)})" if said else ""


def grows(metric: str, some: Iterable[StreamPrediction]) -> bool:
    """Whether a time of one of some streams grows without limit."""
    return metric.startswith(OF_TIME) and any(one.arrival.grows for one in some)


def limits(some: Iterable[StreamPrediction]) -> tuple[str, str]:
    """What limits the first of some streams, and where; ``and 2 more`` where others differ."""
    where = ((limit_name(one.bottleneck) or "unknown", one.bottleneck_at) for one in some)
    first, *more = dict.fromkeys(f"{by} at {at}" if at else by for by, at in where)
    return first, f"and {len(more)} more" if more else ""


def queue_texts(port: PortPrediction) -> tuple[str, str]:
    """The mean and the greatest queue of a port."""
    mean, most = port.backlog_mean_bytes, port.backlog_bound_bytes
    least = "up to " if mean.low == 0 and mean.value == most else ""
    return (
        "grows" if mean.absent else f"{least}{units.format_bytes(round(mean.value))}",
        "none" if most is None else units.format_bytes(math.ceil(most)),
    )


def worst_bound(some: Sequence[StreamPrediction]) -> StreamPrediction | None:
    """The stream with the greatest bound on its latency; none where one has no bound."""
    if any(one.latency_bound is None for one in some):
        return None
    return max(some, key=lambda one: one.latency_bound.value_s if one.latency_bound else 0.0)
