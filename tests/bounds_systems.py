"""Random feed-forward systems, and sources that keep to their arrival curves.

A system is drawn from a seed alone. Ports are in a row, and paths only go on in it, so no cycle can
be; everything else is free: topology, rates, delays, schedulers, classes, packets, bursts, copies.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from icmodel.system.bounds.bound import METHODS, Bound, backlogs_bits, bounds, delays_by_method
from icmodel.system.bounds.curves import ArrivalCurve, TokenBucket, arrival_curve
from icmodel.system.bounds.network import Flow, Network, Server, network, port
from icmodel.system.bounds.propagation import propagate
from icmodel.system.bounds.schedulers import Arbitrary, Scheduler
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)
from packet_simulation import Seen, Sources, simulate

KINDS = (
    "FIFO",
    "arbitrary multiplexing",
    "strict priority",
    "weighted round robin",
    "deficit round robin",
    "credit-based shaper",
    "time gates",
    "mixed",
)
LINES_BPS = (10e6, 25e6, 100e6)
CLASSES = 3


@dataclass(frozen=True)
class System:
    """A network of one kind of scheduler, or of all."""

    kind: str
    network: Network


@dataclass(frozen=True)
class Held:
    """Bounds of a system held against runs of it, as bound over the greatest that was simulated.

    By analysis, "least" and "backlog"; ``broken`` says each bound below what was simulated.
    """

    kind: str
    ratios: dict[str, list[float]]
    broken: list[str]


def bounds_by_method(net: Network, methods: Sequence[str] = METHODS) -> dict[str, dict[str, Bound]]:
    """By analysis the bound of each flow."""
    return {
        method: {name: Bound(value, method, net.features) for name, value in delays_s.items()}
        for method, delays_s in delays_by_method(propagate(net), methods).items()
    }


RUNS = 4
ROUNDING = 1e-9


def held(seed: int) -> Held:
    """Bound and simulate the system of a seed."""
    made = system(seed)
    runs = [_run(made.network, RUNS * seed + run) for run in range(RUNS)]
    delays = _greatest([run.greatest_s for run in runs])
    backlogs = _greatest([run.backlogs_bits for run in runs])
    every = bounds_by_method(made.network)
    values = {
        method: {name: bound.value_s for name, bound in found.items()}
        for method, found in every.items()
    }
    values["least"] = {name: bound.value_s for name, bound in bounds(made.network).items()}
    compared = {method: (found, delays) for method, found in values.items()}
    compared["backlog"] = (backlogs_bits(made.network), backlogs)
    ratios: dict[str, list[float]] = {}
    broken = []
    for what, (found, seen) in compared.items():
        passed = {name: most for name, most in seen.items() if most > 0.0}
        ratios[what] = [found[name] / most for name, most in passed.items()]
        broken += [
            f"seed {seed}, {made.kind}, {name}: {what} {found[name]:g} below {most:g}"
            for name, most in passed.items()
            if found[name] < most * (1.0 - ROUNDING)
        ]
    return Held(made.kind, ratios, broken)


def _run(network: Network, seed: int) -> Seen:
    """One run; each flow in turn goes last where no order is known."""
    made = sources(network, seed)
    return simulate(network, made, sorted(made)[seed % len(made)])


def _greatest(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: max(run[name] for run in runs) for name in runs[0]}


def system(seed: int) -> System:
    """The system of a seed; kinds take turns."""
    kind = KINDS[seed % len(KINDS)]
    servers, flows = drawn(random.Random(seed), kind)
    return System(kind, network(servers, flows))


def drawn(
    draw: random.Random, kind: str, turns: Callable[[list[Flow]], list[Flow]] = list
) -> tuple[list[Server], list[Flow]]:
    """Ports and flows of a kind; ``turns`` may lead flows otherwise before they get their rates."""
    ports = [f"p{index}" for index in range(draw.randint(1, 6))]
    lines = {name: draw.choice(LINES_BPS) for name in ports}
    gap = draw.choice((0.0, 0.0, 96.0))
    flows = _loaded(draw, turns(list(_flows(draw, ports))), lines)
    servers = [
        port(
            name,
            lines[name],
            _scheduler(draw, kind, lines[name], [flow for flow in flows if name in flow.path]),
            delay_s=draw.choice((0.0, 1e-6, 1e-4)),
            header_bits=draw.choice((None, None, 0.0, 176.0, 512.0)),
            gap_bits=gap,
        )
        for name in ports
    ]
    return servers, flows


def cyclic(seed: int) -> tuple[list[Server], list[Flow]]:
    """Ports and flows of a seed that go to and fro, so that most of them wait for each other in cycles."""
    draw = random.Random(seed)

    def shuffled(flows: list[Flow]) -> list[Flow]:
        return [replace(one, path=tuple(draw.sample(one.path, len(one.path)))) for one in flows]

    return drawn(draw, KINDS[seed % len(KINDS)], shuffled)


def _flows(draw: random.Random, ports: Sequence[str]) -> Iterator[Flow]:
    for index in range(draw.randint(1, 8)):
        longest = draw.choice((672.0, 2_000.0, 6_000.0, 12_304.0))
        shortest = longest if draw.random() < 0.5 else draw.uniform(0.2, 1.0) * longest
        burst = longest * draw.choice((1.0, 1.5, 2.0, 5.0))
        buckets = [TokenBucket(burst, draw.uniform(0.2, 1.0))]
        if draw.random() < 0.3:
            buckets.append(TokenBucket(longest, buckets[0].rate_bps * draw.uniform(2.0, 8.0)))
        flow = Flow(
            f"f{index}",
            _path(draw, ports),
            arrival_curve(buckets),
            draw.randrange(CLASSES),
            longest,
            shortest,
        )
        yield from _copies(draw, flow, ports) if draw.random() < 0.15 else [flow]


def _path(draw: random.Random, ports: Sequence[str]) -> tuple[str, ...]:
    length = draw.randint(1, min(4, len(ports)))
    return tuple(ports[index] for index in sorted(draw.sample(range(len(ports)), length)))


def _copies(draw: random.Random, flow: Flow, ports: Sequence[str]) -> Iterator[Flow]:
    """A flow and a copy that leaves it at some hop, or stays."""
    common = draw.randint(1, len(flow.path))
    further = [name for name in ports if name > flow.path[common - 1]]
    other = (*flow.path[:common], *sorted(draw.sample(further, min(len(further), 1))))
    yield replace(flow, multicast=f"m{flow.name}")
    yield replace(flow, name=f"{flow.name}c", path=other, multicast=f"m{flow.name}")


def _loaded(draw: random.Random, flows: list[Flow], lines: dict[str, float]) -> list[Flow]:
    """The flows, their rates such that the busiest port has a load that is drawn."""
    most = max(
        sum(
            {
                flow.multicast or flow.name: flow.arrival.rate_bps
                for flow in flows
                if name in flow.path
            }.values()
        )
        / line
        for name, line in lines.items()
    )
    factor = draw.uniform(0.2, 0.95) / most
    return [replace(flow, arrival=_faster(flow.arrival, factor)) for flow in flows]


def _faster(curve: ArrivalCurve, factor: float) -> ArrivalCurve:
    return arrival_curve(TokenBucket(b.burst_bits, b.rate_bps * factor) for b in curve.buckets)


def _scheduler(draw: random.Random, kind: str, line: float, flows: Sequence[Flow]) -> Scheduler:
    kind = draw.choice(KINDS[:-1]) if kind == "mixed" else kind
    if kind == "weighted round robin":
        return WeightedRoundRobin(weights={name: draw.randint(1, 4) for name in range(CLASSES)})
    if kind == "deficit round robin":
        quanta: Any = {k: draw.choice((62.5, 375.0, 1538.0, 5_000.0)) for k in range(CLASSES)}
        return DeficitRoundRobin.model_construct(quanta_bytes=quanta)
    if kind == "credit-based shaper":
        return _shapers(draw, line, flows)
    if kind == "time gates":
        return _gates(draw, line, flows)
    if kind == "arbitrary multiplexing":
        return Arbitrary()
    return Fifo() if kind == "FIFO" else StrictPriority()


def _rates(flows: Sequence[Flow]) -> dict[int, float]:
    """What each class asks for; copies twice, so no less than it is."""
    rates = dict.fromkeys(range(CLASSES), 0.0)
    for flow in flows:
        rates[flow.traffic_class] += flow.arrival.rate_bps
    return rates


def _shapers(draw: random.Random, line: float, flows: Sequence[Flow]) -> CreditBased:
    """One or two classes with a shaper, each with more than it asks for if the line has it."""
    rates = _rates(flows)
    shaped = draw.sample(range(CLASSES), draw.randint(1, CLASSES))
    spare = max(0.0, line - sum(rates.values()))
    slopes = {name: rates[name] + spare * draw.uniform(0.02, 0.9) / len(shaped) for name in shaped}
    return CreditBased(
        idle_slopes_bps={name: max(1e-3 * line, slope) for name, slope in slopes.items()}
    )


def _gates(draw: random.Random, line: float, flows: Sequence[Flow]) -> Gates:
    """Windows in a random order, long enough for each class if the line has it."""
    rates = _rates(flows)
    lost = 12_304.0 / line
    cycle = draw.uniform(12.0, 40.0) * lost
    names = [name for name in range(CLASSES) for _ in range(draw.randint(1, 2))]
    draw.shuffle(names)
    also = draw.choice((0.0, 0.3))
    windows = [
        Window(
            duration_s=lost * 1.05
            + draw.uniform(1.0, 1.3) * cycle * rates[name] / line / names.count(name),
            open=tuple(other for other in range(CLASSES) if other == name or draw.random() < also),
        )
        for name in names
    ]
    if draw.random() < 0.5:
        windows.insert(
            draw.randrange(len(windows)),
            Window.model_construct(duration_s=draw.uniform(0.0, 0.05) * cycle, open=()),
        )
    return Gates(windows=tuple(windows))


def sources(network: Network, seed: int, packets: int = 25) -> Sources:
    """Packets of each source, as early as its curve lets them, or later.

    Four moods take turns by the seed: all at once from the start; bursts that meet at one port;
    pauses at random; and each flow as it likes, with lengths drawn too.
    """
    draw = random.Random(seed)
    mood = seed % 4
    meeting = draw.choice(network.order)
    made = {}
    for flow in network.flows.values():
        name = flow.multicast or flow.name
        if name not in made:
            begin = _begin(draw, flow, network.servers, mood, meeting)
            made[name] = list(conforming(draw, flow, begin, packets, loose=mood >= 2))
    names = list(made)
    draw.shuffle(names)
    return {name: made[name] for name in names}


def _begin(
    draw: random.Random, flow: Flow, servers: Mapping[str, Server], mood: int, meeting: str
) -> float:
    """When a flow begins, in s."""
    if mood == 0:
        return draw.choice((0.0, 1e-9))
    if mood == 1 and meeting in flow.path:
        before = flow.path[: flow.path.index(meeting)]
        way = sum(
            servers[name].delay_s + servers[name].packet_s(flow.max_packet_bits) for name in before
        )
        return max(0.0, 5e-3 - way - draw.choice((0.0, 1e-9, 1e-6)))
    return draw.uniform(0.0, 5e-3)


def conforming(
    draw: random.Random, flow: Flow, begin: float, packets: int, *, loose: bool
) -> Iterator[tuple[float, float]]:
    """Times and bits of packets, each as early as every bucket has its bits, or later."""
    now, tokens = begin, [bucket.burst_bits for bucket in flow.arrival.buckets]
    for _ in range(packets):
        bits = flow.max_packet_bits
        if draw.random() < (0.7 if loose else 0.2):
            bits = draw.uniform(flow.min_packet_bits, flow.max_packet_bits)
        wait = max(
            (bits - had) / bucket.rate_bps
            for had, bucket in zip(tokens, flow.arrival.buckets, strict=True)
        )
        wait = max(0.0, wait)
        if loose and draw.random() < 0.2:
            wait += draw.expovariate(1.0) * flow.arrival.burst_bits / flow.arrival.rate_bps
        now += wait
        tokens = [
            min(bucket.burst_bits, had + bucket.rate_bps * wait) - bits
            for had, bucket in zip(tokens, flow.arrival.buckets, strict=True)
        ]
        yield now, bits


def large(flows: int, ports: int, scheduler: Scheduler, seed: int = 1) -> Network:
    """Many flows over ports in layers of 25, each path through 2 to 6 of them; load up to 0.9."""
    draw, line, bits = random.Random(seed), 10e9, 12_304.0
    layers = [range(first, min(first + 25, ports)) for first in range(0, ports, 25)]
    paths = []
    for _ in range(flows):
        length = min(draw.randint(2, 6), len(layers))
        first = draw.randrange(len(layers) - length + 1)
        paths.append(tuple(f"p{draw.choice(layers[first + hop])}" for hop in range(length)))
    passing = Counter(name for path in paths for name in path)
    rate = 0.9 * line / max(passing.values())
    return network(
        [port(f"p{index}", line, scheduler, delay_s=1e-6) for index in range(ports)],
        [
            Flow(
                f"f{index}",
                path,
                arrival_curve(
                    [TokenBucket(bits * draw.choice((1, 2, 8)), rate * draw.uniform(0.2, 1.0))]
                ),
                draw.randrange(CLASSES),
                bits,
                672.0,
            )
            for index, path in enumerate(paths)
        ],
    )
