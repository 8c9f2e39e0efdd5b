"""Turn the arrays of one answered question into a Prediction that says what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Point
from icmodel.dataset_coverage import PROMISED, least_held
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, Prediction, UsedRow, absent
from icmodel.interpolation import VALUE
from icmodel.model import basis, cpu
from icmodel.model.answer import metric_names, sending_demand
from icmodel.model.block import CLOSE, Block
from icmodel.model.bottleneck import bottleneck
from icmodel.model.cores import nearest_cores
from icmodel.model.course import Course
from icmodel.model.goodput import known
from icmodel.model.ground import BY_FLOW, Ground
from icmodel.model.lookup import Lookup
from icmodel.model.physics import less_burst
from icmodel.scenario import Scenario
from icmodel.units import format_bps

Floats = NDArray[np.float64]
Ends = Sequence[Mapping[str, Floats]]


def prediction(
    asked: Scenario, ground: Ground, variant: str, block: Block, way: Course, ends: Ends
) -> Prediction:
    """The Prediction of a block of length 1 from its answers at value, low and high."""
    found = basis.traces(ground, block, way)
    metrics: dict[str, Estimate] = {}
    rows: dict[int, None] = {}
    for name in metric_names(ground):
        value, low, high = (float(end[name][0]) if name in end else math.nan for end in ends)
        if math.isnan(value):
            metrics[name] = absent(_reason(ground, block, asked, name))
            continue
        bases = _bases(ground, block, way, found.get(name, ()), name)
        own_rows = [row for trace in found.get(name, ()) for row in trace.rows(ground, block, 0)]
        rows.update(dict.fromkeys(own_rows))
        low, high = _within(block, name, value, low, high)
        metrics[name] = Estimate(
            value,
            low,
            high,
            max(bases, key=BASES.index),
            _why(ground, block, name, way, own_rows) if "extrapolated" in bases else "",
            bases,
        )
    code = bottleneck(block, way.flows[VALUE], way.lossy, sending_demand(ground, block, way))
    return Prediction(
        scenario=asked,
        dataset=ground.data.id,
        sha256=ground.data.sha256,
        variant=variant,
        metrics=MappingProxyType(metrics),
        bottleneck=BOTTLENECKS[int(code[0])],
        terms=MappingProxyType(_terms(ground, block, variant, metrics)),
        bounds=MappingProxyType(_bounds(block, way)),
        rows=tuple(_used(ground, row) for row in sorted(rows)),
        notes=(*_notes(ground, block, asked, way, variant), *_promises(ground, variant, metrics)),
    )


def goodput_domain(ground: Ground, block: Block) -> tuple[float, float]:
    """Least and greatest payload with goodput [B]; the first above the last where there is none."""
    group = int(ground.capacity.group.take(block.config)[0])
    return float(ground.capacity.first[group]), float(ground.capacity.last[group])


def _within(block: Block, name: str, value: float, low: float, high: float) -> tuple[float, float]:
    """An interval that holds its value and crosses neither 0…1 nor theory."""
    low = value if math.isnan(low) else min(low, value)
    high = value if math.isnan(high) else max(high, value)
    return max(low, 0.0), high


def _bases(
    ground: Ground,
    block: Block,
    way: Course,
    traces: tuple[basis.Trace, ...],
    name: str,
) -> tuple[str, ...]:
    """Every basis a metric used, strongest first."""
    codes = {
        int(trace.codes()[0]) for trace in traces if trace.used[0] and trace.rows(ground, block, 0)
    }
    rows = {
        BASES.index(ground.points[row].basis)
        for trace in traces
        for row in trace.rows(ground, block, 0)
    }
    rule = int(basis.rules(ground, block, way, name)[0])
    every = codes | rows | ({rule} if rule or not codes else set())
    if any(len(trace.rows(ground, block, 0)) > 1 for trace in traces):
        every.add(BASES.index("interpolated"))
    return tuple(BASES[code] for code in sorted(every))


def _used(ground: Ground, row: int) -> UsedRow:
    point = ground.points[row]
    return UsedRow(
        point.line,
        point.metric,
        point.payload_bytes,
        point.load_bps,
        point.value,
        point.basis,
        point.source,
    )


def _reason(ground: Ground, block: Block, asked: Scenario, name: str) -> str:
    """Why a metric is absent."""
    data = ground.data
    for entry in data.absences:
        if entry.get("metric") == name and entry.get("protocol", asked.protocol) == asked.protocol:
            return entry.get("reason", "the dataset says it is absent")
    lookup = _lookup(ground, name)
    if lookup is None or not known(lookup, block)[0]:
        at = _counts(asked)
        return f"{data.id} has no rows of {name} for {asked.protocol}{at}"
    group = int(lookup.group.take(block.config)[0])
    first, last = lookup.first[group], lookup.last[group]
    if not first <= asked.payload_bytes <= last:
        return (
            f"payload {asked.payload_bytes} B is outside the {first:.0f} to {last:.0f} B for which "
            f"{data.id} has {name} of {asked.protocol}"
        )
    return f"{data.id} has no {name} of {asked.protocol} at this load"


def _counts(asked: Scenario) -> str:
    named = [f"{axis} = {value}" for axis, value in asked.options]
    if asked.switches:
        named.insert(0, f"{asked.switches} switches")
    if asked.cores is not None:
        named.insert(0, f"{asked.cores} cores")
    return f" at {', '.join(named)}" if named else ""


def _lookup(ground: Ground, name: str) -> Lookup | None:
    if name in ("goodput_bps", "frames_per_s") and name not in ground.metrics:
        return ground.capacity
    if name in ("loss_rate", "sent_bps", "shortfall_bps"):
        return ground.loss_unlimited
    return ground.metrics.get(name) or ground.metrics.get(name.removesuffix("_cores"))


def _terms(
    ground: Ground, block: Block, variant: str, metrics: Mapping[str, Estimate]
) -> dict[str, float]:
    """Terms that sum to the mean latency [s]; none where the dataset has no one-way latency."""
    mean = metrics["latency_mean_s"]
    lookup = ground.metrics.get("latency_mean_s")
    if mean.absent or lookup is None:
        return {}
    link = ground.link
    beyond = max(int(block.asked.switches[0]) - int(lookup.switches.take(block.config)[0]), 0)
    extra = 0.0 if variant == "appendix-h" else float(block.asked.extra_distance_m[0])
    terms = {
        "serialisation": float(less_burst(link, block.wire.serialisation_s)[0]),
        "propagation": ((link.cable_length_m or 0.0) + extra) * (link.propagation_s_per_m or 0.0),
        "switches": beyond * (link.switch_latency_s or 0.0),
    }
    terms["stack"] = mean.value - sum(terms.values())
    return terms


def _bounds(block: Block, way: Course) -> dict[str, float]:
    """The bounds whose least is the goodput [b/s]; infinite ones bind nothing.

    ``arriving`` is there where frames that are sent are lost.  Appendix H knows no bound of the wire,
    and its share may exceed the request (E2).
    """
    flow = way.flows[VALUE]
    bounds = {"request": float(block.asked.request_bps[0])}
    if way.variant != "appendix-h":
        bounds["wire"] = float(block.wire.bound_bps[0])
    bounds["benchmark"] = float(flow.own_bps[0])
    if block.asked.endpoints[0] > 1:
        bounds["share"] = float(flow.share_bps[0])
    if flow.goodput_bps[0] < min(bounds.values()):
        bounds["arriving"] = float(flow.goodput_bps[0])
    return bounds


def _why(ground: Ground, block: Block, name: str, way: Course, rows: Sequence[int]) -> str:
    """Why a metric is ``extrapolated``: the axis, and how far."""
    if ground.changes:
        return "; ".join(ground.changes)
    if borrowed := ground.borrowed.get(ground.protocols[int(block.asked.protocol[0])]):
        return borrowed
    by_flow = name in (*BY_FLOW, "frames_per_s") and not np.isnan(way.flows[VALUE].goodput_bps[0])
    lookup = ground.capacity if by_flow else _lookup(ground, name)
    if lookup is None:
        return ""
    group = int(lookup.group.take(block.config)[0])
    payload = float(block.asked.payload_bytes[0])
    first, last = float(lookup.first[group]), float(lookup.last[group])
    if math.isinf(last):
        return "extrapolated on payload: the source does not say at which payload it holds"
    if not first <= payload <= last:
        edge = first if payload < first else last
        return f"extrapolated on payload: {_beyond(payload, edge)}"
    if beyond := _cores_beyond(ground, block, name):
        return f"extrapolated on cores: {beyond}"
    return _load_beyond(block, [ground.points[row] for row in rows])


def _beyond(payload: float, edge: float) -> str:
    """How far a payload lies from the last one that was measured."""
    return f"{abs(payload - edge):.0f} B beyond {edge:.0f} B"


def _cores_beyond(ground: Ground, block: Block, metric: str) -> str:
    """How far the asked cores lie from those whose rows answer a metric; empty where they do not."""
    asked = int(block.asked.cores_count[0])
    nearest = int(nearest_cores(ground, block, metric)[0])
    return "" if asked == nearest else f"{abs(asked - nearest)} beyond {nearest}"


def _load_beyond(block: Block, rows: Sequence[Point]) -> str:
    """How far the request lies from the load whose rows stand in, or its payload from theirs."""
    request = float(block.asked.request_bps[0])
    text = "extrapolated on load: no benchmarked load on one side of the request"
    limited = {p.load_bps for p in rows if p.load_bps is not None and math.isfinite(p.load_bps)}
    if not limited or math.isinf(request):
        return text
    nearest = min(limited, key=lambda load: abs(load - request))
    if abs(request - nearest) > CLOSE * nearest:
        return f"{text}, {format_bps(abs(request - nearest), 3)} from {format_bps(nearest, 3)}"
    payload = float(block.asked.payload_bytes[0])
    own = [float(p.payload_bytes or 0) for p in rows if p.load_bps == nearest]
    edge = min(own, key=lambda size: abs(size - payload))
    return f"extrapolated on payload at {format_bps(nearest, 3)}: {_beyond(payload, edge)}"


def _notes(
    ground: Ground, block: Block, asked: Scenario, way: Course, variant: str
) -> tuple[str, ...]:
    """What a reader must know of the whole prediction."""
    notes = []
    flow = way.flows[VALUE]
    if (
        asked.switches
        and "latency_mean_s" in ground.metrics
        and (asked.switches > ground.metrics["latency_mean_s"].switches.take(block.config)[0])
    ):
        notes.append(
            "each switch adds the dataset's switch latency; goodput is taken as unchanged by it"
        )
    if asked.switches and asked.cores and _unswitched_loss(ground, block):
        notes.append(
            "loss behind a switch was not measured at this core count: the unswitched table stands "
            "in (E17)"
        )
    if variant == "appendix-h":
        if asked.distance_m is not None:
            notes.append("appendix-h has no distance term: the distance changes nothing (E19)")
    else:
        notes.extend(_sharing_notes(block, asked, way))
        if basis.clamped(ground, block, flow.over_own)[0]:
            told = "fitted" if ground.fitted else "benchmarked"
            notes.append(f"the {told} goodput lies above theory's bound and was clamped to it")
        notes.extend(_cores_notes(ground, block, asked, way))
    if flow.overloaded[0] and math.isfinite(asked.requested_goodput_bps):
        notes.append(f"the request is not achieved: {_instead(ground)}")
    if beyond := _cores_beyond(ground, block, "goodput_bps"):
        notes.append(f"extrapolated on cores: {beyond}; goodput and loss are the nearest count's")
    return tuple(notes)


def _promises(ground: Ground, variant: str, metrics: Mapping[str, Estimate]) -> Iterator[str]:
    """Which intervals held fewer rows kept from the model than one of 90 % has to."""
    told = least_held(ground.data.coverage.get(variant, {}))
    weak = {
        name: held
        for name, held in told.items()
        if held.share < PROMISED[0] and name in metrics and not metrics[name].absent
    }
    if weak:
        shares = ", ".join(
            f"{name} {100 * held.share:.0f} % of {held.rows}" for name, held in weak.items()
        )
        yield f"intervals promise less than 90 %: of rows kept from {variant} they held {shares}"


def _sharing_notes(block: Block, asked: Scenario, way: Course) -> Iterator[str]:
    """What the share of an interface with other endpoints rests on."""
    if asked.endpoints > 1 and not asked.other_goodput_bps:
        others = "the other endpoint is" if asked.endpoints == 2 else "the other endpoints are"
        yield f"{others} taken as idle: say what they ask for (other_goodput) if they send"
    if basis.received_less(block, way)[0]:
        yield (
            "all senders together offer more than the receiver takes: what it takes of that, and that "
            "each sender gets its part of what is offered, is an assumed rule (E2)"
        )
    elif asked.endpoints > 2:
        yield "the share is exact for equal other endpoints, a lower bound for unequal ones (E2)"


def _cores_notes(ground: Ground, block: Block, asked: Scenario, way: Course) -> Iterator[str]:
    """Where the rows, scaled to the asked cores, would need more of them than there are."""
    for name in cpu.UTILISATIONS:
        if name not in ground.metrics or asked.cores is None:
            continue
        needed = cpu.demand(ground, block, name, VALUE, way.cpu_slots[VALUE], way.flows[VALUE])[0]
        if needed > 1:
            yield (
                f"{name}: the rows, scaled to the cores that were asked for, come to "
                f"{needed * asked.cores:.3g} busy cores of {asked.cores}; no more than these are told"
            )


def _instead(ground: Ground) -> str:
    """What answers a request that is not achieved."""
    if ground.overloaded:
        return "all metrics are those of runs that were asked for more than they got"
    return "latency is that of the unlimited benchmark"


def _unswitched_loss(ground: Ground, block: Block) -> bool:
    lookup = ground.loss_unlimited
    group = int(lookup.group.take(block.config)[0])
    measured_elsewhere = bool((lookup.switches > 0).any())
    return group > 0 and measured_elsewhere and float(lookup.switches.take(block.config)[0]) == 0
