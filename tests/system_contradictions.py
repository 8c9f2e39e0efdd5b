"""What predictions of whole systems may never say, looked for in random systems rule by rule.

A rule reads one `Case`, a document with its system, its prediction and what the packet simulator shows of it, and yields
a sentence for each thing that contradicts it.  `RULES` has them by name, so that each can be asked alone.  Nothing here
knows how predictions come to their numbers; loads and times that they are held against are the simulator's.
"""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from drawn_systems import (
    DATASETS,
    Drawn,
    document,
    least_loads,
    port_loads,
    system_of,
    toml,
)
from icmodel.dataset import load
from icmodel.errors import IcmodelError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET
from icmodel.system.files import read_system
from icmodel.system.network import Stream, System
from icmodel.system.prediction import SystemPrediction, predict
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import PortPrediction, StreamPrediction
from simulated_packets import carrier
from system_simulation import Play, Run, phases, simulate, worst_of

SLACK = 1e-9
"""Relative: sums of what is told and of what is simulated are rounded."""
NOTHING = 1e-14
"""In seconds, what a clock that has run for some of them is rounded to."""
LATENCIES = ("latency_min_s", "latency_mean_s", "latency_p50_s", "latency_p99_s", "latency_max_s")
ORDERS = (
    ("latency_min_s", "latency_mean_s", "latency_max_s"),
    ("latency_min_s", "latency_p50_s", "latency_p99_s", "latency_p999_s", "latency_max_s"),
)
ARRIVING = "frames that arrive"
"""What a bound covers where a buffer that is said may lose some."""
TAKEN = "frames that hosts take"
"""What a bound covers where hosts may let less pass than is requested."""
PACKETS = 400
"""Of each simulated run."""
RUNS = 6
LONG_S = 10.0
"""Period of a frame that comes alone."""


@dataclass(frozen=True)
class Contradiction:
    """A rule that the prediction of a system breaks."""

    rule: str
    seed: int
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: seed {self.seed}: {self.what}"


@cache
def models() -> dict[str, Model]:
    """A model of each dataset that drawn systems name."""
    return {name: Model(load(name)) for name in DATASETS}


class Case:
    """A document, and all that is asked of it, each worked out when it is first needed."""

    def __init__(self, drawn: Drawn, seed: int) -> None:
        self.document, self.seed = drawn, seed

    @cached_property
    def system(self) -> System:
        """The expanded system."""
        return system_of(self.document)

    @property
    def measured(self) -> bool:
        """Whether datasets speak for any of its hosts or links."""
        links, devices = self.system.links.values(), self.system.devices.values()
        return any(one.dataset for one in links) or any(one.dataset for one in devices)

    @cached_property
    def prediction(self) -> SystemPrediction:
        """What is predicted of it."""
        return predict(self.system, models() if self.measured else None)

    @cached_property
    def seen(self) -> Run:
        """What several runs without losses show, phases looked for that are bad."""
        return worst_of(self.system, self.seed, RUNS, Play(most_packets=PACKETS))

    @cached_property
    def least_loads(self) -> dict[str, float]:
        """The least that is asked of each port on average, over its rate."""
        return least_loads(self.system)

    @cached_property
    def full(self) -> set[str]:
        """Ports that are surely asked for more than they carry, by what surely comes to them."""
        return {name for name, load in self.least_loads.items() if load > 1 + 1e-6}

    @cached_property
    def unbuffered(self) -> Case:
        """The case of the same document with no buffer said."""
        made = copy.deepcopy(self.document)
        for switch in made["switches"]:
            switch.pop("buffer_bytes", None)
        return self.changed(made)

    def changed(self, drawn: Drawn) -> Case:
        """The case of another document with the same seed."""
        return Case(drawn, self.seed)

    def short(self, one: StreamPrediction, *, of_all: bool = False) -> bool:
        """Whether a stream surely gets less than must arrive: by its prediction, or since alone it is too much.

        Parameters
        ----------
        of_all : bool
            Whether all that it asks for counts, though some of it may fall short.
        """
        asked = one.stream.requested_goodput_bps if of_all else must_arrive_bps(one.stream)
        if asked == 0.0 or math.isinf(asked):
            return False
        alone = least_loads(self.system, one.stream)
        return one.goodput_bps.high < asked * (1 - 1e-6) or any(
            alone[name] > 1 + 1e-6 for name in one.stream.path
        )


def must_arrive_bps(stream: Stream) -> float:
    """Goodput below which a stream falls short [b/s]; 0 of an unlimited one, and of one that may fall short."""
    may: float = getattr(stream, "allowed_shortfall_ratio", 0.0)
    made = stream.producer
    asked = stream.requested_goodput_bps if made is None else made.goodput_bps
    return 0.0 if math.isinf(asked) or may else asked


Rule = Callable[[Case], Iterator[str]]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Enter a rule by its name."""

    def entered(one: Rule) -> Rule:
        RULES[name] = one
        return one

    return entered


def above(greater: float, less: float, slack: float = SLACK) -> bool:
    """Whether a number passes another by more than rounding; not where one is absent."""
    return greater > less + slack * abs(less) + NOTHING


def by_theory(one: StreamPrediction) -> bool:
    """Whether no dataset speaks for a stream, so that its numbers are those of the network alone."""
    return one.metrics["goodput_bps"].basis == "theory"


Span = tuple[float, float]


def stated_ends(case: Case, stream: Stream) -> tuple[Span | None, Span | None]:
    """Least and greatest latency that source and sink of a stream state [s]; ``None`` where one states none."""
    source, sink = (case.system.devices[name] for name in (stream.source, stream.sink))
    return source.latency_s, sink.latency_s


def stated_s(case: Case, stream: Stream) -> Span:
    """Least and greatest latency that both ends state together [s]."""
    known = [span for span in stated_ends(case, stream) if span is not None]
    return math.fsum(span[0] for span in known), math.fsum(span[1] for span in known)


def both_state(case: Case, stream: Stream) -> bool:
    """Whether both ends of a stream state their latency."""
    return None not in stated_ends(case, stream)


# --- numbers by themselves --------------------------------------------------------------------


@rule("numbers are possible")
def numbers_are_possible(case: Case) -> Iterator[str]:
    """low ≤ value ≤ high, there together, not negative; ratios at most 1; goodput at most what is asked."""
    for name, one in case.prediction.streams.items():
        for metric, estimate in one.metrics.items():
            value, low, high = estimate.ends
            if estimate.absent:
                continue
            if not low <= value <= high or low < 0:
                yield f"{name}: {metric} is {low:g} ≤ {value:g} ≤ {high:g}"
            if metric == "loss_rate" and high > 1:
                yield f"{name}: {metric} reaches {high:g}"
        asked = one.stream.requested_goodput_bps
        if above(one.goodput_bps.value, asked, 1e-6):
            yield f"{name}: goodput {one.goodput_bps.value:g} of {asked:g} b/s asked"


@rule("latencies are in order")
def latencies_are_in_order(case: Case) -> Iterator[str]:
    """least ≤ mean ≤ greatest and least ≤ quantiles ≤ greatest, at value, low and high."""
    for name, one in case.prediction.streams.items():
        for chain in ORDERS:
            known = [metric for metric in chain if not one.metrics.get(metric, NONE).absent]
            for end, place in (("value", 0), ("low", 1), ("high", 2)):
                for before, after in pairwise(known):
                    less, more = one.metrics[before].ends[place], one.metrics[after].ends[place]
                    if above(less, more):
                        yield f"{name}: {end} of {before} {less:g} above that of {after} {more:g}"


NONE = Estimate(math.nan, math.nan, math.nan, "theory")


# --- bounds -----------------------------------------------------------------------------------


@rule("no latency is below its path")
def no_latency_is_below_its_path(case: Case) -> Iterator[str]:
    """Switches, cables, and the payload of the shortest frame on the slowest link, whatever datasets measured."""
    for one in case.prediction.streams.values():
        stream, system = one.stream, case.system
        links = system.links_of(stream)
        frame, message = (
            stream.payload_bytes,
            stream.producer.message_bytes if stream.producer else 0.0,
        )
        shortest = min(frame, math.ceil(message) % frame or frame) if message else frame
        least = math.fsum(switch.latency_s for switch in system.switches_of(stream))
        least += math.fsum(link.delay_s for link in links)
        least += 8 * shortest / min(link.rate_bps for link in links)
        for metric, estimate in one.metrics.items():
            if not metric.startswith("latency_") or metric == "latency_std_s":
                continue
            known = [end for end in estimate.ends if not math.isnan(end)]
            if known and above(least, min(known)):
                yield f"{metric} of {stream.name}: {min(known)} s is below {least} s of its path"


@rule("no latency is above its bound")
def no_latency_is_above_its_bound(case: Case) -> Iterator[str]:
    """Where both cover the same: the network alone, or the hosts too."""
    for name, one in case.prediction.streams.items():
        bound = one.latency_bound
        if bound is None or by_theory(one) != (NETWORK in bound.covers):
            continue
        for metric in LATENCIES:
            value = one.metrics.get(metric, NONE).value
            if above(value, bound.value_s):
                yield f"{name}: {metric} {value:g} above the bound {bound.value_s:g} s"


@rule("no message time is above its bound")
def no_message_time_is_above_its_bound(case: Case) -> Iterator[str]:
    """Where the bound holds for whole messages; without a dataset, hosts add what they state."""
    for name, one in case.prediction.streams.items():
        bound = one.latency_bound
        if bound is None or not bound.whole:
            continue
        network = NETWORK in bound.covers
        if TAKEN in bound.covers or (network and not by_theory(one)):
            continue
        most = bound.value_s + (stated_s(case, one.stream)[1] if network else 0.0)
        for metric in LATENCIES:
            value = one.message_times.get(metric, NONE).value
            if above(value, most):
                yield f"{name}: {metric} of a message {value:g} above the bound {bound.value_s:g} s"


@rule("no mean queue is above its bound")
def no_mean_queue_is_above_its_bound(case: Case) -> Iterator[str]:
    """Nor has a queue that grows without limit a bound, unless a buffer ends it."""
    for name, port in ports_of(case):
        mean, bound = port.backlog_mean_bytes, port.backlog_bound_bytes
        if bound is not None and (mean.absent or above(mean.value, bound)):
            yield f"{name}: mean queue {mean.value:g} B, bound {bound:g} B"


@rule("a frame among others may take as long as its message")
def a_frame_may_take_as_long_as_its_message(case: Case) -> Iterator[str]:
    """Frames that are sent at once wait for those before them, up to the bound if it has the hosts in it."""
    for name, one in case.prediction.streams.items():
        stream, bound = one.stream, one.latency_bound
        several = stream.frames_a_message > 1 and stream.sent_at_once
        if not several or stream.last_frame_paced_s:
            continue
        end = math.inf if bound is None or NETWORK in bound.covers else bound.value_s
        for metric in LATENCIES[1:]:
            message, frame = one.message_times.get(metric), one.metrics.get(metric, NONE)
            if message is None or frame.absent or TAKEN in (bound.covers if bound else ()):
                continue
            last = min(math.inf if message.absent else message.high, end)
            if above(last, frame.high):
                yield f"{name}: {metric} of a frame up to {frame.high:g}, of its message {last:g} s"


@rule("no bound is below a simulation")
def no_bound_is_below_a_simulation(case: Case) -> Iterator[str]:
    """No frame takes longer than its stream's bound."""
    for name, one in case.prediction.streams.items():
        if one.latency_bound is None or ARRIVING in one.latency_bound.covers:
            continue
        seen, bound = case.seen.streams[name], one.latency_bound.value_s
        if above(seen.frames.greatest_s, bound):
            most_us = seen.frames.greatest_s * 1e6
            yield f"{name}: bound {bound * 1e6:.3f} µs, simulated {most_us:.3f} µs"
        whole = getattr(one.latency_bound, "whole", False)
        if whole and above(seen.messages.greatest_s, bound):
            yield f"{name}: bound {bound:g} s, a whole message {seen.messages.greatest_s:g} s"


@rule("no bound is below a simulation with the buffers that are said")
def no_bound_is_below_one_with_buffers(case: Case) -> Iterator[str]:
    """Frames that arrive where others are lost take no longer than the bound, and no buffer holds more than its bound."""
    if all(one.buffer_bytes is None for one in case.system.switches.values()):
        return
    play = Play(most_packets=PACKETS, drops=True)
    seen = worst_of(case.system, case.seed, RUNS, play)
    for name, one in case.prediction.streams.items():
        most = seen.streams[name].frames.greatest_s
        if one.latency_bound is not None and above(most, one.latency_bound.value_s):
            yield f"{name}: bound {one.latency_bound.value_s:g} s, simulated {most:g} s"
    for name, port in ports_of(case):
        backlog = seen.backlogs_bytes[name]
        if port.backlog_bound_bytes is not None and above(backlog, port.backlog_bound_bytes):
            yield f"{name}: bound {port.backlog_bound_bytes:.1f} B, simulated {backlog:.1f} B"


@rule("no backlog is above its bound")
def no_backlog_is_above_its_bound(case: Case) -> Iterator[str]:
    """No port has more waiting than its bound; of a port that may lose packets the bound is of what it keeps."""
    for name, port in ports_of(case):
        bound, most = port.backlog_bound_bytes, case.seen.backlogs_bytes[name]
        node = case.system.node(case.system.ports[name].node)
        end = getattr(node, "buffer_bytes", None) or math.inf
        if bound is not None and bound < end and above(most, bound):
            yield f"{name}: backlog bound {bound:.1f} B, simulated {most:.1f} B"


def ports_of(case: Case) -> Iterator[tuple[str, PortPrediction]]:
    """What is predicted of every port, by name."""
    for link in case.prediction.links.values():
        yield from link.ports.items()


@rule("no bound is below a simulation with hosts that hold frames back")
def no_bound_is_below_one_with_hosts(case: Case) -> Iterator[str]:
    """Where bounds have the hosts in them: each may hold a frame back by what it takes at most.

    That is the greatest latency of a message's first frame, of the stream alone, less its bound in the network
    without hosts.
    """
    if not case.measured:
        return
    holds = {}
    for name, one in case.prediction.streams.items():
        bound = one.latency_bound
        if bound is None or NETWORK in bound.covers or ARRIVING in bound.covers:
            return
        alone = only(case.document, one.stream)
        (measured,) = case.changed(alone).prediction.streams.values()
        (network,) = case.changed(unmeasured(alone)).prediction.streams.values()
        most = network.latency_bound.value_s if network.latency_bound else math.inf
        # the greatest latency reaches to the last frame of a message, the least one does not
        first, message = measured.metrics, measured.message_times
        later = message.get("latency_min_s", NONE).high - first.get("latency_min_s", NONE).high
        held = first.get("latency_max_s", NONE).high - most
        held -= 0.0 if math.isnan(later) else later
        holds[name] = max(held, 0.0) if math.isfinite(held) else 0.0
    more = dict.fromkeys(holds, 0.0)
    for name, one in case.prediction.streams.items():  # stating devices beside the measured host
        source, sink = stated_ends(case, one.stream)
        more[name] = 0.0 if sink is None else sink[1]
        if source is not None:
            more[name] += source[0] + (holds[name] if sink is None else 0.0)
            holds[name] = source[1] - source[0]
    play = Play(most_packets=PACKETS, holds_s=holds)
    seen = worst_of(case.system, case.seed, RUNS, play)
    for name, one in case.prediction.streams.items():
        most = seen.streams[name].frames.greatest_s + more[name]
        if one.latency_bound is not None and above(most, one.latency_bound.value_s):
            yield f"{name}: bound {one.latency_bound.value_s:g} s, simulated {most:g} s"


@rule("no bound is below a simulation with devices that state their latency")
def no_bound_is_below_one_with_stating_devices(case: Case) -> Iterator[str]:
    """Sources hold frames back as far as stated, and each sink takes its greatest time; nor is a limit met that breaks."""
    ends = {name: stated_ends(case, one) for name, one in case.system.streams.items()}
    if not any(span is not None for spans in ends.values() for span in spans):
        return
    holds = {name: source[1] - source[0] for name, (source, _) in ends.items() if source}
    seen = worst_of(case.system, case.seed, RUNS, Play(most_packets=PACKETS, holds_s=holds))
    most = {
        name: seen.streams[name].frames.greatest_s
        + (source[0] if source else 0.0)
        + (sink[1] if sink else 0.0)
        for name, (source, sink) in ends.items()
    }
    for name, one in case.prediction.streams.items():
        bound = one.latency_bound
        if bound is None or ARRIVING in bound.covers:
            continue
        if above(most[name], bound.value_s):
            yield f"{name}: bound {bound.value_s * 1e6:.3f} µs, simulated {most[name] * 1e6:.3f} µs"
        greatest = one.metrics.get("latency_max_s", NONE)
        if both_state(case, one.stream) and above(most[name], greatest.high):
            yield f"{name}: at most {greatest.high * 1e6:.3f} µs, simulated {most[name] * 1e6:.3f} µs"
        whole = both_state(case, one.stream) and NETWORK not in bound.covers
        if whole and above(greatest.high, bound.value_s):
            yield f"{name}: greatest {greatest.high * 1e6:.3f} µs, bound {bound.value_s * 1e6:.3f} µs"
    for judged in case.prediction.judged:
        limit = judged.verdict.requirement
        frames = getattr(judged, "of", "") != "message" and judged.stream in most
        if judged.verdict.outcome != MET or limit.metric != "latency_max_s" or not frames:
            continue
        if above(most[judged.stream], limit.limit):
            yield f"{judged.stream}: {limit.limit:g} s met, simulated {most[judged.stream]:g} s"


@rule("more traffic never lowers a bound")
def more_traffic_never_lowers_a_bound(case: Case) -> Iterator[str]:
    """A stream that goes away leaves bounds as they are, or lower, if all others stay on their cables.

    Where cores limit, an elastic stream that another holds back leaves cores to the rest; so less may then pass.
    More traffic may spread a burst, or hold a stream back that fills a port, so that not all need be lost. Frames that
    arrive then have a bound; a stream that surely falls short has none.
    """
    tables = case.document["streams"]
    if len(tables) < 2:
        return
    gone = random.Random(case.seed).choice(tables)["name"]
    fewer = case.changed(without(case.document, gone))
    paths = {name: one.path for name, one in fewer.system.streams.items()}
    if any(case.system.streams[name].path != path for name, path in paths.items()):
        return
    for name, one in fewer.prediction.streams.items():
        before = case.prediction.streams[name]
        if before.latency_bound is None or (one.latency_bound is None and one.bottleneck == "cpu"):
            continue
        if one.latency_bound is None and {ARRIVING, TAKEN} & set(before.latency_bound.covers):
            continue
        if one.latency_bound is None:
            yield f"{name}: bounded beside {gone}, not without: {one.no_bound}"
        elif above(one.latency_bound.value_s, before.latency_bound.value_s, 1e-6):
            less, more = before.latency_bound.value_s, one.latency_bound.value_s
            yield f"{name}: bound {less * 1e6:.3f} µs beside {gone}, {more * 1e6:.3f} µs without"


# --- what passes ------------------------------------------------------------------------------


@rule("no port passes more than its rate")
def no_port_passes_more_than_its_rate(case: Case) -> Iterator[str]:
    """Goodputs together, in the fewest bits that carry them, fit through each port."""
    passed = dict.fromkeys(case.system.ports, 0.0)
    for streams in case.system.multicast_sets().values():
        for port in {name for one in streams for name in one.path}:
            there = [case.prediction.streams[one.name] for one in streams if port in one.path]
            most = max(one.goodput_bps.value for one in there)
            asked = least_loads(case.system, there[0].stream, goodput_bps=most)
            passed[port] += asked[port]
    for port, used in passed.items():
        if used > 1 + 1e-6:
            yield f"{port}: goodputs need {used:.6f} of its rate"


@rule("ports are asked for what streams produce")
def ports_are_asked_for_what_streams_produce(case: Case) -> Iterator[str]:
    """Between the fewest bits that carry it and a packet a frame, whether or not it comes so far.

    A sender with a rate may count a short last frame as a full one, up to 2 %.
    """
    if any(math.isinf(one.requested_goodput_bps) for one in case.system.streams.values()):
        return
    most = port_loads(case.system)
    least = least_loads(case.system, thinned=False)
    paced = any(one.paced_fps is not None for one in case.system.streams.values())
    slack = 0.02 if paced else 1e-6
    for name, port in ports_of(case):
        low, high, told = least[name], most[name][0], port.asked_ratio
        if above(low, told, slack) or above(told, high, slack):
            yield f"{name}: asked for {told:.6f} of its rate, produced {low:.6f} to {high:.6f}"


@rule("no verdict is met where a port is full")
def no_verdict_is_met_where_a_port_is_full(case: Case) -> Iterator[str]:
    """What is surely asked for too much of a port is not met, and not undecided, unless some of it may fall short."""
    there = case.system.streams_by_port()
    full = [name for name in case.full if all(map(must_arrive_bps, there[name]))]
    if full and case.prediction.verdict != NOT_MET:
        worst = max(full, key=lambda name: case.least_loads[name])
        yield f"{case.prediction.verdict}, {case.least_loads[worst]:.3f} of {worst} asked for"


@rule("no verdict is met where a stream falls short")
def no_verdict_is_met_where_a_stream_falls_short(case: Case) -> Iterator[str]:
    """A stream that surely gets less than it asks for makes the system not met; one that may, not met nor sure."""
    for name, one in case.prediction.streams.items():
        asked, got = must_arrive_bps(one.stream), one.goodput_bps
        if case.short(one) and case.prediction.verdict != NOT_MET:
            yield f"{case.prediction.verdict}: {name} gets {got.high:g} of {asked:g} b/s at most"
        elif got.low < asked * (1 - 1e-6) and case.prediction.verdict == MET:
            yield f"met: {name} may get {got.low:g} of {asked:g} b/s"


@rule("no verdict is met where a device has too few cores")
def no_verdict_is_met_where_a_device_has_too_few_cores(case: Case) -> Iterator[str]:
    """Frames take the core time that a device states at least, and its work; one stream has one core if it says none."""
    if case.prediction.verdict != MET:
        return
    busy = dict.fromkeys(case.system.devices, 0.0)
    for copies in case.system.multicast_sets().values():
        fps = frames_fps(copies[0])
        if not must_arrive_bps(copies[0]):
            continue
        ends = [(copies[0].source, "app_send_s"), *((one.sink, "app_recv_s") for one in copies)]
        for name, work in ends:
            device = case.system.devices[name]
            if device.latency_s is None:
                continue
            least_s = (device.core_time_s or (0.0, 0.0))[0] + getattr(device, work)
            if fps * least_s > (copies[0].cores or 1) * (1 + 1e-6):
                yield f"met: {copies[0].name} needs {fps * least_s:.4f} cores of {name}"
            busy[name] += fps * least_s
    for name, cores in busy.items():
        there = case.system.devices[name].cores
        if there is not None and cores > there * (1 + 1e-6):
            yield f"met: {name} has {there} cores and needs {cores:.4f}"


def frames_fps(stream: Stream) -> float:
    """Least frames that a stream sends each second on average [1/s]."""
    made = stream.producer
    if made is None:
        return stream.paced_fps or 0.0
    return made.goodput_bps / (8 * stream.payload_bytes)


@rule("no latency is met of a stream that falls short")
def no_latency_is_met_of_a_stream_that_falls_short(case: Case) -> Iterator[str]:
    """What waits there grows without end."""
    for one in case.prediction.judged:
        metric = one.verdict.requirement.metric
        if one.verdict.outcome != MET or "latency" not in metric:
            continue
        short = [s for s in case.prediction.streams.values() if s.stream.name == one.stream]
        if any(map(case.short, short)):
            yield f"{one.stream}: {metric} is met, and it gets less than it asks for"


@rule("no bound of a stream that falls short")
def no_bound_of_a_stream_that_falls_short(case: Case) -> Iterator[str]:
    """Nor a greatest latency or a message's time; but one of what arrives where a buffer is said, or it may fall short."""
    for name, one in case.prediction.streams.items():
        bound = one.latency_bound
        if bound is not None and {ARRIVING, TAKEN} & set(bound.covers):
            continue
        if bound is not None and case.short(one, of_all=True):
            yield f"{name}: bound {bound.value_s:g} s, and it gets less than it asks for"
        for metric in ("latency_max_s", "message_latency_s") if case.short(one) else ():
            most = one.metrics.get(metric, NONE).high
            if math.isfinite(most):
                yield f"{name}: {metric} {most:g} s at most, and it gets less than it asks for"


@rule("no requirement is met that a simulation breaks")
def no_requirement_is_met_that_a_simulation_breaks(case: Case) -> Iterator[str]:
    """Greatest latencies that are met are not exceeded; of the network alone, so the hosts would only add.

    A whole message counts as sent at once (`docs/background/systems.md`). Of a picture, which the simulation sends
    frame by frame over its period, each frame must keep to the limit.
    """
    for one in case.prediction.judged:
        requirement = one.verdict.requirement
        if one.verdict.outcome != MET or one.stream not in case.seen.streams:
            continue
        seen = case.seen.streams[one.stream]
        made = case.prediction.streams[one.stream].stream.producer
        whole = getattr(one, "of", "") == "message" and made is not None and made.at_once
        times = seen.messages if whole else seen.frames
        if requirement.metric == "latency_max_s" and above(times.greatest_s, requirement.limit):
            yield f"{one.stream}: {requirement.limit:g} s met, simulated {times.greatest_s:g} s"


@rule("losses are within their interval")
def losses_are_within_their_interval(case: Case) -> Iterator[str]:
    """Of what no sender holds back, in step: all at once, and spread; where buffers are said.

    Hosts may lose more than the simulation, which has none: as much as they lose where no buffer is said.
    """
    said = [one for one in case.system.switches.values() if one.buffer_bytes is not None]
    if not said or not in_step(case.system):
        return
    told = {
        name: one.metrics.get("loss_rate", NONE) for name, one in case.prediction.streams.items()
    }
    if all(one.absent for one in told.values()):
        return
    slowed = any(map(slowed_by_its_host, case.prediction.streams.values()))
    for way in ("at once", "spread"):
        starts = phases(case.system, way, case.seed)
        play = Play(phases_s=starts, drops=True, most_packets=4 * PACKETS)
        if fills_a_sender(case.system):  # its queue grows, so that no period is like the last
            play = replace(play, most_packets=40 * PACKETS, periods=math.inf)
        for name, seen in simulate(case.system, play).streams.items():
            loss, lost = told[name], seen.frames_lost / seen.frames_sent
            if not slowed and not loss.absent and above(lost, loss.high, 1e-6):
                yield f"{name}: {100 * lost:.2f} % lost {way}, at most {100 * loss.high:.2f} % said"
            if case.full or loss.absent or lost >= loss.low * (1 - 1e-6):
                continue
            by_hosts = case.unbuffered.prediction.streams[name].metrics.get("loss_rate", NONE)
            least = 0.0 if by_hosts.absent else by_hosts.low
            if not loss.low <= lost + least + 1e-9:
                yield f"{name}: {100 * lost:.2f} % lost {way}, at least {100 * loss.low:.2f} % said"


def slowed_by_its_host(one: StreamPrediction) -> bool:
    """Whether a stream surely sends less than it asks for, so that the network loses less of any stream."""
    sent, loss = (one.metrics.get(name, NONE) for name in ("sent_bps", "loss_rate"))
    most_bps = sent.high
    if sent.absent:
        most_bps = (
            math.inf if loss.absent or loss.high >= 1 else one.goodput_bps.high / (1 - loss.high)
        )
    return most_bps < one.stream.requested_goodput_bps * (1 - 1e-6)


def fills_a_sender(system: System) -> bool:
    """Whether a device is asked to send more than one of its lines carries."""
    loads = port_loads(system)
    return any(
        ratio > 1 for name, (ratio, _) in loads.items() if system.ports[name].node in system.devices
    )


def in_step(system: System) -> bool:
    """Whether all streams are of UDP or Ethernet, and have one period, so that a few of them show all."""
    streams = system.streams.values()
    periods = {one.producer.period_s if one.producer else math.inf for one in streams}
    links = [system.links_of(one)[0] for one in streams]
    held = [  # TCP is TCP on links of any kind
        "tcp" in (one.protocol, carrier(one.protocol, link.interconnect))
        for one, link in zip(streams, links, strict=True)
    ]
    return max(periods) <= min(periods) * (1 + SLACK) < math.inf and not any(held)


# --- least times ------------------------------------------------------------------------------


@rule("no least is above a simulation")
def no_least_is_above_a_simulation(case: Case) -> Iterator[str]:
    """Of the network alone: the low ends of latencies, where all frames are full; else that of the greatest."""
    for name, one in case.prediction.streams.items():
        seen = case.seen.streams[name].frames
        if not (by_theory(one) or both_state(case, one.stream)) or not seen.count:
            continue
        for metric in LATENCIES:
            low = one.metrics.get(metric, NONE).low
            times = seen.least_s if all_full(one.stream) else seen.greatest_s
            times += stated_s(case, one.stream)[0]
            if above(low, times):
                yield f"{name}: {metric} at least {low * 1e6:.3f} µs, simulated {times * 1e6:.3f} µs"


def all_full(stream: Stream) -> bool:
    """Whether every frame has the whole payload."""
    made = stream.producer
    return made is None or made.message_bytes % stream.payload_bytes == 0


@rule("a lone frame equals its closed form")
def a_lone_frame_equals_its_closed_form(case: Case) -> Iterator[str]:
    """One frame of one stream over empty switches, first come, first served: mean and least; the bound of one packet."""
    stream = random.Random(case.seed).choice(case.document["streams"])
    alone = case.changed(lone_document(case.document, stream))
    (one,) = alone.prediction.streams.values()
    run = simulate(alone.system, Play(periods=1.0))
    (seen,) = run.streams.values()
    least_s, most_s = stated_s(alone, one.stream)
    middle_s = (least_s + most_s) / 2
    stated = {"latency_min_s": least_s, "latency_mean_s": middle_s, "latency_max_s": most_s}
    for metric, value_s in stated.items():
        estimate = one.metrics.get(metric, NONE)
        for end, told, more_s in (
            ("value", estimate.value, value_s),
            ("low", estimate.low, least_s),
        ):
            right = seen.frames.greatest_s + more_s
            if abs(told - right) > 1e-6 * right:
                yield f"{metric} {end} {told * 1e6:.4f} µs, right {right * 1e6:.4f} µs"
    bound, right = one.latency_bound, seen.frames.greatest_s + most_s
    if bound is None:
        yield f"no bound: {one.no_bound}"
    elif above(right, bound.value_s) or (
        seen.packets.count == 1 and abs(bound.value_s - right) > 1e-5 * right
    ):
        yield f"bound {bound.value_s * 1e6:.4f} µs, right {right * 1e6:.4f} µs"


# --- other ways of asking ---------------------------------------------------------------------


@rule("one stream of a system is what predict says")
def one_stream_is_what_predict_says(case: Case) -> Iterator[str]:
    """Between two hosts of a dataset over a cable, or over a switch like its own.

    A dataset that was measured over a token bucket has no time on the wire, so a cable adds to its latencies. No latency
    is below the time of a frame on its path.
    """
    draw = random.Random(f"one/{case.seed}")
    name = draw.choice(sorted(DATASETS))
    model = models()[name]
    link = model.data.interconnect
    payload = draw.choice((64, 1472, draw.randint(1, 1472), draw.randint(1, 65_000)))
    protocol = draw.choice(("udp", "tcp"))
    switches = draw.choice((0, 1)) if link.switch_latency_s is not None else 0
    goodput = 10 ** draw.uniform(4, math.log10(0.5 * DATASETS[name]))
    made = two_hosts(name, protocol, payload, goodput, switches, link.switch_latency_s or 0.0)
    counts = sorted({p.cores for p in model.data.points if p.protocol == protocol and p.cores})
    cores = draw.choice(counts) if counts else None
    if cores is not None:
        made["streams"][0]["cores"] = cores
    if draw.random() < 0.2:
        made["streams"][0]["produces"] = {"kind": "unlimited"}
    found = case.changed(made)
    (one,) = found.prediction.streams.values()
    rate = one.stream.rate_fps
    try:
        alone = model.predict(
            protocol=protocol,
            payload_bytes=payload,
            rate_fps=rate,
            switches=switches,
            cores=cores,
        )
    except IcmodelError as error:
        if not by_theory(one):
            yield f"{name}: the system answers what predict refuses: {error}"
        return
    asked = one.stream.requested_goodput_bps
    if math.isfinite(asked) and alone.goodput_bps.high < asked:
        return  # what is produced does not pass: a system gives no latency of it
    for metric, estimate in alone.metrics.items():
        there = one.metrics.get(metric)
        if there is None or estimate.absent or metric == "message_latency_s":
            continue
        pairs = zip(there.ends, estimate.ends, strict=True)
        other = {a for a, b in pairs if abs(a - b) > 1e-9 * abs(b)}
        if other and metric.startswith("latency_"):
            raised = all(
                a >= b * (1 - 1e-9) for a, b in zip(there.ends, estimate.ends, strict=True)
            )
            broken = not raised or (len(other) > 1 and not link.burst_bytes)
        else:
            broken = bool(other)
        if broken:
            yield f"{name}, {protocol}, {payload} B, {switches} switches: {metric} {there!r}, by predict {estimate!r}"


@rule("a default said aloud changes nothing")
def a_default_said_aloud_changes_nothing(case: Case) -> Iterator[str]:
    """Every key that may be left out, with its default."""
    said = case.changed(aloud(case.document))
    if said.prediction.to_dict() != case.prediction.to_dict():
        yield "another answer"


@rule("documents and answers survive their text")
def documents_and_answers_survive_their_text(case: Case) -> Iterator[str]:
    """The system read from the file's text is the same; the answer's JSON has its numbers, and nothing JSON has not."""
    read, _ = read_system(toml(case.document))
    if read != case.system:
        yield "the text of the document is another system"
    made = json.loads(json.dumps(case.prediction.to_dict(), allow_nan=False))
    for name, one in case.prediction.streams.items():
        for metric, estimate in one.metrics.items():
            told = made["streams"][name][metric]["value"]
            if told != (None if estimate.absent or math.isinf(estimate.value) else estimate.value):
                yield f"{name}: {metric} is {told} in JSON, and {estimate.value}"


# --- documents that are made of others --------------------------------------------------------


def without(drawn: Drawn, stream: str) -> Drawn:
    """The document without a table of streams, and without what is required of it."""
    made = copy.deepcopy(drawn)
    made["streams"] = [one for one in made["streams"] if one["name"] != stream]
    return required_of_the_rest(made)


def only(drawn: Drawn, stream: Stream) -> Drawn:
    """The document of one stream alone, between the members it joins."""
    made = copy.deepcopy(drawn)
    made["streams"] = [one for one in made["streams"] if one["name"] == stream.group]
    (table,) = made["streams"]
    for key in ("pairing", "multicast", "count"):
        table.pop(key, None)
    table["source"], table["sink"] = stream.source, stream.sink
    return required_of_the_rest(made)


def required_of_the_rest(made: Drawn) -> Drawn:
    """The document without what is required of streams that it does not have."""
    left = {one["name"] for one in made["streams"]}
    kept = [one for one in made.pop("requirements", []) if one["stream"] in left]
    return made | ({"requirements": kept} if kept else {})


def unmeasured(drawn: Drawn) -> Drawn:
    """The document without datasets, by theory alone."""
    made = copy.deepcopy(drawn)
    for table in (*made["devices"], *made["links"]):
        table.pop("dataset", None)
    return made


def lone_document(drawn: Drawn, stream: Mapping[str, Any]) -> Drawn:
    """One frame of a stream in a long time, between single hosts, by theory, first come, first served."""
    made = unmeasured(drawn)
    made.pop("requirements", None)
    for node in (*made["devices"], *made.get("switches", [])):
        for key in ("count", "scheduler", "ports", "buffer_bytes", "app_send_s", "app_recv_s"):
            node.pop(key, None)
    payload = stream.get("payload_bytes") or stream["produces"]["size_bytes"]
    produced = {"kind": "burst", "period_s": LONG_S, "size_bytes": payload}
    kept = {key: stream[key] for key in ("name", "source", "sink", "protocol")}
    made["streams"] = [{**kept, "produces": produced}]
    return made


def two_hosts(
    dataset: str, protocol: str, payload: int, goodput_bps: float, switches: int, latency_s: float
) -> Drawn:
    """A stream between two hosts of a dataset, over a switch or none."""
    links: list[dict[str, Any]] = [{"between": ["a", "b"]}]
    if switches:
        links = [{"between": ["a", "s"]}, {"between": ["s", "b"]}]
    made: Drawn = {
        "schema_version": 1,
        "name": "two-hosts",
        "title": "one stream",
        "source": "drawn",
        "devices": [{"name": "a"}, {"name": "b"}],
        "links": [{**one, "rate_bps": DATASETS[dataset], "dataset": dataset} for one in links],
        "streams": [
            {
                "name": "f",
                "source": "a",
                "sink": "b",
                "protocol": protocol,
                "payload_bytes": payload,
                "produces": {"kind": "goodput", "goodput_bps": goodput_bps},
            }
        ],
    }
    if switches:
        store = {"name": "s", "forwarding": "store-and-forward", "latency_s": latency_s}
        made["switches"] = [store]
    return made


SAID: Mapping[str, Mapping[str, object]] = {
    "nodes": {"count": 1, "description": "", "scheduler": {"kind": "fifo"}, "ports": []},
    "devices": {"interfaces": 1, "cpu_clock_ratio": 1.0, "app_send_s": 0.0, "app_recv_s": 0.0},
    "links": {"interconnect": "ethernet", "parallel": 1, "length_m": 0.0, "mtu_bytes": 1500},
    "streams": {"multicast": False, "count": 1, "priority": 0, "kind": "soft", "options": {}},
    "requirements": {"source": ""},
}
"""What may be left out, and then is this."""


def aloud(drawn: Drawn) -> Drawn:
    """The document with every default said."""
    made = copy.deepcopy(drawn)
    for part, defaults in SAID.items():
        parts = ("devices", "switches") if part == "nodes" else (part,)
        for table in (one for name in parts for one in made.get(name, [])):
            for key, value in defaults.items():
                table.setdefault(key, copy.deepcopy(value))
    for one in made["streams"]:
        if one["produces"]["kind"] == "burst":
            one["produces"].setdefault("burst", 1)
            one.setdefault("payload_bytes", one["produces"]["size_bytes"])
    return made


# --- asking -----------------------------------------------------------------------------------


def contradictions(seed: int, rules: Iterable[str] | None = None) -> list[Contradiction]:
    """What contradicts some rules, or any, in the prediction of the system of a seed."""
    return broken(Case(document(seed), seed), rules)


def broken(case: Case, rules: Iterable[str] | None = None) -> list[Contradiction]:
    """What contradicts some rules, or any; a defect contradicts all of them."""
    found = []
    for name in rules or RULES:
        try:
            found += [Contradiction(name, case.seed, what) for what in RULES[name](case)]
        except Exception as error:
            found.append(Contradiction(name, case.seed, f"{type(error).__name__}: {error}"))
    return found


def smallest(drawn: Drawn, seed: int, name: str) -> Drawn:
    """A document that breaks a rule still, with as little in it as taking away one thing after the other leaves."""
    tried = True
    while tried:
        tried = False
        for fewer in simpler(drawn):
            try:
                system_of(fewer)
            except Exception:
                continue
            if broken(Case(fewer, seed), [name]):
                drawn, tried = fewer, True
                break
    return drawn


def simpler(drawn: Drawn) -> Iterator[Drawn]:
    """The document with one thing less: a stream, a node, a requirement, a key, a number nearer to one."""
    for stream in drawn["streams"][1:] + drawn["streams"][:1]:
        if len(drawn["streams"]) > 1:
            yield without(drawn, stream["name"])
    used = {one[end] for one in drawn["streams"] for end in ("source", "sink")}
    for part in ("devices", "switches"):
        for node in drawn.get(part, []):
            made = copy.deepcopy(drawn)
            made[part] = [one for one in made[part] if one["name"] != node["name"]]
            made["links"] = [one for one in made["links"] if node["name"] not in one["between"]]
            if node["name"] not in used:
                yield {key: value for key, value in made.items() if value}
    for part in ("requirements", "streams", "switches", "links", "devices"):
        for index, table in enumerate(drawn.get(part, [])):
            for key in OPTIONAL & table.keys():
                made = copy.deepcopy(drawn)
                del made[part][index][key]
                yield made
            if part == "requirements":
                made = copy.deepcopy(drawn)
                del made[part][index]
                yield {key: value for key, value in made.items() if value}
            for path, value in numbers(table):
                made = copy.deepcopy(drawn)
                place = made[part][index]
                for step in path[:-1]:
                    place = place[step]
                for less in dict.fromkeys((1, value // 2)):
                    if less < value:
                        place[path[-1]] = less
                        yield copy.deepcopy(made)


OPTIONAL = {
    "ports", "scheduler", "buffer_bytes", "mtu_bytes", "parallel", "priority", "kind", "count",
    "pairing", "multicast", "length_m", "dataset", "within_s", "rate_fps", "window_bytes", "cores",
    "app_send_s", "app_recv_s", "core_time_s", "latency_s", "source",
}  # fmt: skip


def numbers(table: Mapping[str, Any]) -> Iterator[tuple[list[str], int]]:
    """Whole numbers of a table that may be less, and where they stand."""
    for key in ("payload_bytes", "count"):
        if isinstance(table.get(key), int):
            yield [key], table[key]
    for key, value in table.get("produces", {}).items():
        if isinstance(value, int):
            yield ["produces", key], value
