"""Whole systems, packet by packet: the truth that bounds, means, shares and verdicts are held against.

It reads a `System` and shares nothing with the bounds, the packing or theory: packets (`simulated_packets`) and schedulers
(`simulated_ports`) have arithmetic of their own.  A line is taken for all of a packet, gap included; a delay ends with the
packet's last bit.  A switch that stores has a packet with its last bit, one that cuts through with its first, if the next line is no
faster than the one it came from; its latency comes on top.  A port's buffer counts a packet whole, from its arrival to the
end of its gap, and drops one that does not fit.  Hosts take no
time but that of their applications and what a run holds their frames back.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from icmodel.system.network import Link, Stream, Switch, System
from simulated_packets import APART, CUTTINGS, GAP, Packet, carrier, packets
from simulated_ports import StrictOrder, order_of

AT_ONCE = ("burst", "samples")
MOST_PACKETS = 1_500
"""Of a run, so many leave all senders together, and each sender's first message."""
PERIODS = 3.0
"""Of the slowest sender, a run lasts so many if that is not too many packets."""


# --- what is seen -----------------------------------------------------------------------------


@dataclass(slots=True)
class Times:
    """How many there were, and the least, the sum and the greatest of their times [s]."""

    count: int = 0
    total_s: float = 0.0
    least_s: float = math.inf
    greatest_s: float = -math.inf

    def add(self, time_s: float, times: int = 1) -> None:
        """Count one, or several that are alike."""
        self.count += times
        self.total_s += times * time_s
        self.least_s = min(self.least_s, time_s)
        self.greatest_s = max(self.greatest_s, time_s)

    def join(self, other: Times) -> None:
        """Count those of another run too."""
        self.count += other.count
        self.total_s += other.total_s
        self.least_s = min(self.least_s, other.least_s)
        self.greatest_s = max(self.greatest_s, other.greatest_s)

    @property
    def mean_s(self) -> float:
        """Mean time [s], within the others whatever rounding makes of it; NaN of none."""
        if not self.count:
            return math.nan
        return min(max(self.total_s / self.count, self.least_s), self.greatest_s)


@dataclass(slots=True)
class Seen:
    """Times of one stream from its production to the last bit at its sink; frames sent and lost."""

    packets: Times = field(default_factory=Times)
    frames: Times = field(default_factory=Times)
    messages: Times = field(default_factory=Times)
    frames_sent: int = 0
    frames_lost: int = 0

    def join(self, other: Seen) -> None:
        """Count what another run showed too."""
        self.packets.join(other.packets)
        self.frames.join(other.frames)
        self.messages.join(other.messages)
        self.frames_sent += other.frames_sent
        self.frames_lost += other.frames_lost


@dataclass(slots=True)
class Run:
    """What one run showed, or several together: by stream, and by port the greatest backlog [B]."""

    streams: dict[str, Seen]
    backlogs_bytes: dict[str, float]

    def join(self, other: Run) -> None:
        """Count what another run showed too."""
        for name, seen in other.streams.items():
            self.streams[name].join(seen)
        for name, most in other.backlogs_bytes.items():
            self.backlogs_bytes[name] = max(self.backlogs_bytes[name], most)


# --- what is played ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Play:
    """What a run is free to choose.

    Parameters
    ----------
    phases_s : mapping
        When each sender begins [s], by `System` stream name or that of its multicast set; 0 if not said.
    cutting : str
        How TCP cuts frames that it gets at once, one of `CUTTINGS`.
    as_bytes : bool
        Whether pictures are cut into frames as one endless stream of bytes, or each by itself.
    holds_s : mapping
        By stream the most that its host holds a frame back [s]; it keeps their order.
    drops : bool
        Whether buffers end where the system says.
    most_packets, periods : int, float
        How long the run is.
    seed : int
        Of all else: ties, turns, gates, holds.
    """

    phases_s: Mapping[str, float] = field(default_factory=dict)
    cutting: str = APART
    as_bytes: bool = False
    holds_s: Mapping[str, float] = field(default_factory=dict)
    drops: bool = False
    most_packets: int = MOST_PACKETS
    periods: float = PERIODS
    seed: int = 0


class _Unit(NamedTuple):
    """A packet on its way: when its frames and its message were produced, and their numbers."""

    bits: float
    packet: Packet
    made_s: float
    message_made_s: float
    frame: int
    message: int
    ends: bool


class Handover(NamedTuple):
    """Frames that a sender hands over at once, at a time after its message was produced."""

    after_s: float
    packets: list[Packet]
    frames: int
    ends: bool


@dataclass(slots=True)
class Sender:
    """What is sent once: a stream, or a multicast set; what it hands over every period."""

    name: str
    streams: list[Stream]
    carried: str
    mtu_bytes: int
    period_s: float
    handovers: list[Handover]

    @property
    def message_s(self) -> float:
        """Period of its messages [s]; that of its frames where they are not of one message each."""
        producer = self.streams[0].producer
        return self.period_s if producer is None else max(producer.period_s, self.period_s)

    @property
    def per_period(self) -> int:
        """Packets every period."""
        return sum(len(one.packets) for one in self.handovers)


def senders(system: System, play: Play) -> list[Sender]:
    """All that send, and their packets."""
    draw = random.Random(play.seed)
    return [
        _sender(system, name, streams, play, draw)
        for (_, name), streams in system.multicast_sets().items()
    ]


def _sender(
    system: System, name: str, streams: list[Stream], play: Play, draw: random.Random
) -> Sender:
    stream = streams[0]
    link = system.links_of(stream)[0]
    carried = carrier(stream.protocol, link.interconnect)
    made = Sender(name, streams, carried, link.mtu_bytes, math.inf, [])

    def frames(sizes: list[int]) -> list[Packet]:
        return packets(sizes, carried, link.mtu_bytes, play.cutting, draw)

    payload, producer = stream.payload_bytes, stream.producer
    spaced_s = 0.0 if stream.paced_fps is None else 1 / stream.paced_fps
    if producer is None:
        one = frames([payload])
        own_s = sum(packet.line_bytes for packet in one) * 8 / link.rate_bps
        made.period_s = own_s if stream.paced_fps is None else 1 / stream.paced_fps
        made.handovers = [Handover(0.0, one, 1, ends=True)]
        return made
    made.period_s = producer.period_s
    sizes = frames_of(math.ceil(producer.message_bytes - 1e-9), payload)
    if producer.kind in AT_ONCE and not spaced_s:
        made.handovers = [Handover(0.0, frames(sizes), len(sizes), ends=True)]
    elif (
        play.as_bytes
        and producer.kind == "image"
        and producer.message_bytes > payload
        and not spaced_s
    ):
        made.period_s = payload * producer.period_s / producer.message_bytes
        made.handovers = [Handover(0.0, frames([payload]), 1, ends=False)]
    else:
        apart = spaced_s if producer.kind in AT_ONCE else producer.period_s / len(sizes)
        apart = max(apart, spaced_s)
        made.period_s = max(producer.period_s, len(sizes) * apart * (1 - 1e-12))
        made.handovers = [
            Handover(k * apart, frames([size]), 1, ends=k + 1 == len(sizes))
            for k, size in enumerate(sizes)
        ]
    return made


def frames_of(message_bytes: int, payload_bytes: int) -> list[int]:
    """Bytes of the frames of a message: full ones, and what remains."""
    full, rest = divmod(message_bytes, payload_bytes)
    return [payload_bytes] * full + ([rest] if rest else [])


def lasts_s(made: list[Sender], play: Play) -> float:
    """How long senders go on: so many periods of the slowest, or so many packets."""
    longest = play.periods * max((one.message_s for one in made), default=0.0)
    per_s = sum(one.per_period / one.period_s for one in made)
    return min(longest, play.most_packets / per_s if per_s else 0.0)


# --- the network ------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Line:
    """A port: what it sends now, how much waits with that, and the most that did [bits]."""

    name: str
    rate_bps: float
    gap_bits: float
    order: StrictOrder | None
    buffer_bits: float
    free_s: float = 0.0
    busy: bool = False
    here_bits: float = 0.0
    most_bits: float = 0.0
    leaving: deque[tuple[float, float]] = field(default_factory=deque)


@dataclass(eq=False, slots=True)
class _Hop:
    """A sender at a port: where its packets go on, whether cut through and how much later, and who is there."""

    line: _Line
    priority: int
    delay_s: float
    onward: list[tuple[_Hop, bool, float]] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


class Simulation:
    """One run through a system, event by event."""

    def __init__(self, system: System, play: Play) -> None:
        self.system, self.play = system, play
        self.draw = random.Random(play.seed + 1)
        self.names = list(system.streams)
        self.seen = [Seen() for _ in self.names]
        self.application_s = [
            system.devices[one.source].app_send_s + system.devices[one.sink].app_recv_s
            for one in system.streams.values()
        ]
        self.lost_frames: list[set[int]] = [set() for _ in self.names]
        self.lost_messages: list[set[int]] = [set() for _ in self.names]
        self.lines = {name: self._line(name) for name in system.ports}
        self.events: list[tuple[float, int, int, Any, Any]] = []
        self.counter = count()
        self.port_rank = self.draw.choice((-1, 1_000_000))

    def run(self) -> Run:
        """Play everything until the last packet is there."""
        made = senders(self.system, self.play)
        self._hand_over(made)
        events, pop = self.events, heapq.heappop
        while events:
            now, rank, _, at, units = pop(events)
            if units is None:
                if at.busy and now >= at.free_s:
                    self._finish(at, now)
                if not at.busy:
                    self._start(at, now)
                continue
            for unit in units:
                if at.line.order is None:
                    self._first_come(at, unit, now, rank)
                else:
                    self._wait(at, unit, now, rank)
        for seen, lost in zip(self.seen, self.lost_frames, strict=True):
            seen.frames_lost = len(lost)
        backlogs = {name: line.most_bits / 8 for name, line in self.lines.items()}
        return Run(dict(zip(self.names, self.seen, strict=True)), backlogs)

    # --- the ways -----------------------------------------------------------------------------

    def _line(self, name: str) -> _Line:
        port = self.system.ports[name]
        link, node = self.system.links[port.link], self.system.node(port.node)
        end = node.buffer_bytes if isinstance(node, Switch) and self.play.drops else None
        gap = 8.0 * GAP if link.interconnect == "ethernet" else 0.0
        order = order_of(port.scheduler, port.rate_bps, self.draw)
        return _Line(name, port.rate_bps, gap, order, math.inf if end is None else 8.0 * end)

    def _first_hops(self, sender: Sender) -> list[_Hop]:
        """The tree of ports that a sender's packets go through, by its first ports."""
        hops: dict[tuple[str, ...], _Hop] = {}
        for stream in sender.streams:
            index = self.names.index(stream.name)
            for end in range(1, len(stream.path) + 1):
                way = stream.path[:end]
                if way not in hops:
                    hops[way] = self._hop(way[-1], stream.priority)
                    if end > 1:
                        before = hops[way[:-1]]
                        before.onward.append((hops[way], *self._through(way[-2], way[-1])))
                hops[way].below.append(index)
            hops[stream.path].arrived.append(index)
        return [hop for way, hop in hops.items() if len(way) == 1]

    def _hop(self, port: str, priority: int) -> _Hop:
        link: Link = self.system.links[self.system.ports[port].link]
        return _Hop(self.lines[port], priority, link.delay_s)

    def _through(self, before: str, after: str) -> tuple[bool, float]:
        """Whether the switch between two ports cuts through, and its latency."""
        switch = self.system.node(self.system.ports[after].node)
        assert isinstance(switch, Switch)
        no_faster = self.lines[after].rate_bps <= self.lines[before].rate_bps
        return switch.forwarding == "cut-through" and no_faster, switch.latency_s

    # --- senders ------------------------------------------------------------------------------

    def _hand_over(self, made: list[Sender]) -> None:
        """Make an event of each handover of all senders."""
        span_s = lasts_s(made, self.play)
        ranks = self.draw.sample(range(len(made)), len(made))
        for rank, sender in zip(ranks, made, strict=True):
            hops = self._first_hops(sender)
            begin = self.play.phases_s.get(sender.name, 0.0)
            held = max((self.play.holds_s.get(s.name, 0.0) for s in sender.streams), default=0.0)
            released = 0.0
            for made_s, units in self._handovers(sender, begin, max(span_s - begin, 0.0)):
                released = max(released, made_s + self._hold_s(held))
                for hop in hops:
                    self._push(released, rank, hop, units)

    def _hold_s(self, most: float) -> float:
        return most * self.draw.choice((0.0, 1.0, self.draw.random())) if most else 0.0

    def _handovers(
        self, sender: Sender, begin: float, span_s: float
    ) -> Iterator[tuple[float, list[_Unit]]]:
        """When frames are handed over, and their packets; one period at least."""
        frame, ended, frames_of_all = 0, 0, [self.names.index(one.name) for one in sender.streams]
        producer = sender.streams[0].producer
        for period in range(max(1, math.ceil(span_s / sender.period_s))):
            message_s = begin + period * sender.period_s
            message = period
            for over in sender.handovers:
                ends = over.ends
                if not ends and len(sender.handovers) == 1 and producer is not None:
                    sent_bytes = (period + 1) * sender.streams[0].payload_bytes
                    message = ended
                    message_s = begin + message * producer.period_s
                    ends = sent_bytes >= (message + 1) * producer.message_bytes - 1e-9
                    ended += ends
                at = begin + period * sender.period_s + over.after_s
                last = len(over.packets) - 1
                units = [
                    _Unit(8.0 * p.line_bytes, p, at, message_s, frame, message, ends and k == last)
                    for k, p in enumerate(over.packets)
                ]
                frame += over.frames
                for index in frames_of_all:
                    self.seen[index].frames_sent += over.frames
                yield at, units

    # --- ports --------------------------------------------------------------------------------

    def _push(self, time: float, rank: int, at: object, units: object) -> None:
        heapq.heappush(self.events, (time, rank, next(self.counter), at, units))

    def _first_come(self, hop: _Hop, unit: _Unit, now: float, rank: int) -> None:
        """Let a port that sends in the order of arrival send a packet as soon as it is free."""
        line, bits = hop.line, unit.bits
        leaving = line.leaving
        while leaving and leaving[0][0] <= now:
            line.here_bits -= leaving.popleft()[1]
        if not leaving:
            line.here_bits = 0.0
        if not self._fits(line, hop, unit):
            return
        begin = now if line.free_s < now else line.free_s
        line.free_s = begin + bits / line.rate_bps
        leaving.append((line.free_s, bits))
        self._pass_on(hop, unit, begin, rank)

    def _wait(self, hop: _Hop, unit: _Unit, now: float, rank: int) -> None:
        """Let a packet wait in its class."""
        line = hop.line
        if self._fits(line, hop, unit) and line.order is not None:
            line.order.put(hop.priority, (unit.bits, (hop, unit, rank)), now)
            if not line.busy:
                self._push(now, self.port_rank, line, None)

    def _fits(self, line: _Line, hop: _Hop, unit: _Unit) -> bool:
        """Add a packet to what waits, or lose it for all that are still to get it."""
        if line.here_bits + unit.bits > line.buffer_bits:
            frames = range(unit.frame + unit.packet.first, unit.frame + unit.packet.last + 1)
            for index in hop.below:
                self.lost_frames[index].update(frames)
                self.lost_messages[index].add(unit.message)
            return False
        line.here_bits += unit.bits
        if line.here_bits > line.most_bits:
            line.most_bits = line.here_bits
        return True

    def _start(self, line: _Line, now: float) -> None:
        """Send the next packet, or ask again when one may go."""
        assert line.order is not None
        taken = line.order.take(now)
        if isinstance(taken, float):
            if taken < math.inf:
                self._push(max(taken, math.nextafter(now, math.inf)), self.port_rank, line, None)
            return
        bits, (hop, unit, rank) = taken
        line.busy, line.free_s = True, now + bits / line.rate_bps
        line.leaving.append((line.free_s, bits))
        self._push(line.free_s, self.port_rank, line, None)
        self._pass_on(hop, unit, now, rank)

    def _finish(self, line: _Line, now: float) -> None:
        assert line.order is not None
        line.busy = False
        line.here_bits -= line.leaving.popleft()[1]
        line.order.sent(now)

    def _pass_on(self, hop: _Hop, unit: _Unit, begin: float, rank: int) -> None:
        """What comes of a packet that a port begins to send: at the next ports, and at its sinks."""
        line = hop.line
        first_bit = begin + hop.delay_s
        last_bit = begin + (unit.bits - line.gap_bits) / line.rate_bps + hop.delay_s
        for further, through, latency_s in hop.onward:
            self._push((first_bit if through else last_bit) + latency_s, rank, further, (unit,))
        for index in hop.arrived:
            self._arrive(index, unit, last_bit)

    def _arrive(self, index: int, unit: _Unit, now: float) -> None:
        now += self.application_s[index]
        seen, time_s = self.seen[index], now - unit.made_s
        seen.packets.add(time_s)
        lost = self.lost_frames[index]
        ended = unit.packet.completes
        if ended and lost:
            first = unit.frame + unit.packet.first
            ended = sum(first + k not in lost for k in range(ended))
        if ended:
            seen.frames.add(time_s, ended)
        if unit.ends and unit.message not in self.lost_messages[index]:
            seen.messages.add(now - unit.message_made_s)


def simulate(system: System, play: Play | None = None) -> Run:
    """What one run of a system shows."""
    return Simulation(system, play or Play()).run()


# --- phases -----------------------------------------------------------------------------------


def phases(system: System, way: str, seed: int) -> dict[str, float]:
    """When each sender begins [s]: ``at once``, ``spread`` evenly, ``random``, or so that all ``meet`` at one port.

    Who meets, does so with the first packet of its message or with the last.
    """
    draw = random.Random(seed)
    made = senders(system, Play())
    longest = lasts_s(made, Play()) / 2
    if way == "at once":
        return {one.name: 0.0 for one in made}
    if way == "spread":
        order = draw.sample(range(len(made)), len(made))
        return {
            one.name: k * min(one.period_s, longest) / len(made)
            for k, one in zip(order, made, strict=True)
        }
    if way == "random":
        return {one.name: draw.uniform(0.0, min(one.period_s, longest)) for one in made}
    if way != "meet":
        raise ValueError(f"no phases {way!r}")
    port = draw.choice([name for one in system.streams.values() for name in one.path])
    ways = {one.name: _way_s(system, one, port, last=draw.random() < 0.5) for one in made}
    latest = max(ways.values())
    near = draw.choice((0.0, 1e-9, 1e-6))
    return {name: latest - way_s + draw.uniform(0.0, near) for name, way_s in ways.items()}


def _way_s(system: System, sender: Sender, port: str, *, last: bool) -> float:
    """How long a sender's first or last packet of a message takes to a port if nothing else is sent."""
    stream = next((one for one in sender.streams if port in one.path), sender.streams[0])
    sizes = [packet.line_bytes for packet in sender.handovers[-1 if last else 0].packets]
    time_s = sender.handovers[-1].after_s if last else 0.0
    for name in stream.path[: stream.path.index(port) if port in stream.path else 0]:
        link, node = system.links[system.ports[name].link], system.node(system.ports[name].peer)
        time_s += link.delay_s + 8 * sizes[-1 if last else 0] / link.rate_bps
        time_s += node.latency_s if isinstance(node, Switch) else 0.0
    if last:
        time_s += 8 * sum(sizes[:-1]) / system.links_of(stream)[0].rate_bps
    return time_s


WAYS = ("at once", "spread", "random", "meet")


def plays(seed: int, system: System, runs: int, play: Play) -> Iterator[Play]:
    """Runs of a system: phases, and what else is free, take turns."""
    draw = random.Random(seed)
    for run in range(runs):
        own = draw.randrange(1 << 30)
        yield _changed(
            play,
            phases_s=phases(system, WAYS[run % len(WAYS)], own),
            cutting=CUTTINGS[(run + seed) % len(CUTTINGS)],
            as_bytes=draw.random() < 0.5,
            seed=own,
        )


def _changed(play: Play, **changes: Any) -> Play:
    values = {name: getattr(play, name) for name in Play.__dataclass_fields__}
    return Play(**values | changes)


def worst_of(system: System, seed: int, runs: int = 8, play: Play | None = None) -> Run:
    """What several runs show together; the later half looks for the worst phases of one stream.

    The search begins with the phases that were worst for it, and moves one sender at a time.
    """
    draw = random.Random(seed)
    tried = [
        (one, simulate(system, one)) for one in plays(seed, system, -(-runs // 2), play or Play())
    ]
    victim = draw.choice(list(system.streams))

    def greatest(pair: tuple[Play, Run]) -> float:
        return pair[1].streams[victim].frames.greatest_s

    best = max(tried, key=greatest)
    made = senders(system, Play())
    while len(tried) < runs:
        one = draw.choice(made)
        step = draw.choice((one.period_s, one.period_s / 10, 12_304 / 1e9, 1e-6))
        moved = abs(best[0].phases_s.get(one.name, 0.0) + draw.uniform(-step, step))
        changed = _changed(best[0], phases_s={**best[0].phases_s, one.name: moved})
        tried.append((changed, simulate(system, changed)))
        best = max(best, tried[-1], key=greatest)
    return together(run for _, run in tried)


def together(runs: Iterable[Run]) -> Run:
    """What runs show together."""
    first, *others = runs
    for other in others:
        first.join(other)
    return first
