"""Packets through the ports of a network, one by one: what worst-case bounds are held against.

It reads the same servers, schedulers and flows as `icmodel.system.bounds` and shares no formula with
it. A source's packet is there whole at its time; a port sends one packet at a time and never
interrupts it; store-and-forward passes it on after its last bit, cut-through after its header.
Seconds and bits.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from icmodel.system.bounds.network import Flow, Network, Server
from icmodel.system.bounds.schedulers import Arbitrary
from icmodel.system.schedulers import (
    CreditBased,
    DeficitRoundRobin,
    Fifo,
    Gates,
    StrictPriority,
    WeightedRoundRobin,
    Window,
)

NEVER = float("inf")
SLACK = 1e-12
"""Relative: credits and windows that rounding made a little too small still count."""


@dataclass(eq=False, slots=True)
class Packet:
    """One packet, and the copies of it that still go the same way."""

    flows: tuple[Flow, ...]
    bits: float
    made_s: float
    hop: int = 0

    @property
    def name(self) -> str:
        return self.flows[0].multicast or self.flows[0].name

    def copies(self) -> Iterator[Packet]:
        """The packet at the next hop, one for each way that its flows go."""
        ways: dict[str, list[Flow]] = {}
        for flow in self.flows:
            if self.hop + 1 < len(flow.path):
                ways.setdefault(flow.path[self.hop + 1], []).append(flow)
        for flows in ways.values():
            yield Packet(tuple(flows), self.bits, self.made_s, self.hop + 1)


@dataclass
class Seen:
    """What a run showed: greatest delay of each flow, greatest backlog of each port, all delays."""

    delays_s: dict[str, list[float]] = field(default_factory=dict)
    backlogs_bits: dict[str, float] = field(default_factory=dict)

    @property
    def greatest_s(self) -> dict[str, float]:
        return {name: max(delays) for name, delays in self.delays_s.items()}


class Choice:
    """How a port chooses: its queues, and which packet goes next; here the highest class first."""

    def __init__(self, line_bps: float) -> None:
        self.line_bps = line_bps
        self.queues: dict[Any, deque[Packet]] = {}

    def put(self, packet: Packet, now: float) -> None:
        self.passes(now)
        self.queues.setdefault(self.queue_of(packet), deque()).append(packet)

    def queue_of(self, packet: Packet) -> Any:
        return packet.flows[0].traffic_class

    def passes(self, now: float) -> None:
        """Time goes by until now."""

    def take(self, now: float) -> Packet | float:
        """The next packet, or when to ask again: never, if nothing waits."""
        names = self.waiting()
        return self.queues[names[0]].popleft() if names else NEVER

    def sent(self, packet: Packet, now: float) -> None:
        """A packet's last bit has left."""

    def waiting(self) -> list[Any]:
        return sorted((name for name, queue in self.queues.items() if queue), reverse=True)


class FirstCome(Choice):
    """All packets in one queue."""

    def queue_of(self, packet: Packet) -> Any:
        return 0


class Unordered(Choice):
    """Each flow in order, the last name first but one flow after all others: one order of many."""

    def __init__(self, line_bps: float, last: str) -> None:
        super().__init__(line_bps)
        self.last = last

    def queue_of(self, packet: Packet) -> Any:
        return packet.name

    def take(self, now: float) -> Packet | float:
        names = sorted(self.waiting(), key=lambda name: name == self.last)
        return self.queues[names[0]].popleft() if names else NEVER


class Turns(Choice):
    """Classes in turn, the least first; each has an allowance, in packets or in bits."""

    def __init__(self, line_bps: float, shares: Mapping[int, float], *, saves: bool) -> None:
        super().__init__(line_bps)
        self.shares, self.saves = shares, saves
        self.order = sorted(shares)
        self.at = len(self.order) - 1
        self.left = dict.fromkeys(self.order, 0.0)

    def take(self, now: float) -> Packet | float:
        if not self.waiting():
            return NEVER
        while True:
            name = self.order[self.at]
            queue = self.queues.get(name)
            if queue and self.left[name] >= self._cost(queue[0]):
                self.left[name] -= self._cost(queue[0])
                return queue.popleft()
            if not (queue and self.saves):
                self.left[name] = 0.0
            self.at = (self.at + 1) % len(self.order)
            name = self.order[self.at]
            if self.queues.get(name):
                self.left[name] += self.shares[name]

    def sent(self, packet: Packet, now: float) -> None:
        name = packet.flows[0].traffic_class
        if not self.queues[name]:
            self.left[name] = 0.0

    def _cost(self, packet: Packet) -> float:
        return packet.bits if self.saves else 1.0


class Credits(Choice):
    """802.1Qav: shaped classes need credit that is not negative, the rest is by priority."""

    def __init__(self, line_bps: float, slopes: Mapping[int, float]) -> None:
        super().__init__(line_bps)
        self.slopes = slopes
        self.credit = dict.fromkeys(slopes, 0.0)
        self.sending: int | None = None
        self.last = 0.0

    def passes(self, now: float) -> None:
        time, self.last = now - self.last, now
        for name, slope in self.slopes.items():
            if name == self.sending:
                self.credit[name] += (slope - self.line_bps) * time
            elif self.queues.get(name):
                self.credit[name] += slope * time
            elif self.credit[name] < 0.0:
                self.credit[name] = min(0.0, self.credit[name] + slope * time)

    def take(self, now: float) -> Packet | float:
        self.passes(now)
        ready = NEVER
        for name in self.waiting():
            short = -self.credit.get(name, 0.0)
            if short <= SLACK * self.line_bps * max(now, 1e-3):
                self.sending = name
                return self.queues[name].popleft()
            ready = min(ready, now + short / self.slopes[name])
        return ready

    def sent(self, packet: Packet, now: float) -> None:
        self.passes(now)
        name, self.sending = self.sending, None
        if name in self.credit and not self.queues[name]:
            self.credit[name] = min(0.0, self.credit[name])


class Opening(Choice):
    """802.1Qbv: the greatest open class whose packet ends before its gate closes."""

    def __init__(self, line_bps: float, windows: Sequence[Window]) -> None:
        super().__init__(line_bps)
        self.windows = windows
        self.cycle = sum(one.duration_s for one in windows)

    def take(self, now: float) -> Packet | float:
        if not self.waiting():
            return NEVER
        cycles, at = divmod(now * (1.0 + SLACK), self.cycle)
        index, end = self._window(at)
        for name in self.waiting():
            queue = self.queues[name]
            close = (end + self._further(name, index) - at) * (1.0 + SLACK)
            if name in self.windows[index].open and queue[0].bits / self.line_bps <= close:
                return queue.popleft()
        return cycles * self.cycle + end

    def _window(self, at: float) -> tuple[int, float]:
        """The window of a time of the cycle, and when it ends."""
        end = 0.0
        for index, window in enumerate(self.windows):
            end += window.duration_s
            if at < end:
                return index, end
        return len(self.windows) - 1, self.cycle

    def _further(self, name: int, index: int) -> float:
        """How long a gate stays open after a window, for ever if it never closes."""
        further = 0.0
        for step in range(1, len(self.windows)):
            window = self.windows[(index + step) % len(self.windows)]
            if name not in window.open:
                return further
            further += window.duration_s
        return NEVER


def choice(server: Server, last: str) -> Choice:
    """How a server's scheduler chooses; where no order is known, one flow goes last."""
    line, how = server.service.rate_bps, server.scheduler
    if isinstance(how, Fifo):
        return FirstCome(line)
    if isinstance(how, Arbitrary):
        return Unordered(line, last)
    if isinstance(how, StrictPriority):
        return Choice(line)
    if isinstance(how, WeightedRoundRobin):
        return Turns(line, how.weights, saves=False)
    if isinstance(how, DeficitRoundRobin):
        return Turns(line, {name: 8 * of for name, of in how.quanta_bytes.items()}, saves=True)
    if isinstance(how, CreditBased):
        return Credits(line, how.idle_slopes_bps)
    if isinstance(how, Gates):
        return Opening(line, how.windows)
    raise TypeError(how)


class Port:
    """One server: what waits, what is being sent, and the most that was there."""

    def __init__(self, server: Server, last: str) -> None:
        self.server = server
        self.choice = choice(server, last)
        self.busy = False
        self.here_bits = 0.0
        self.most_bits = 0.0

    def put(self, packet: Packet, now: float) -> None:
        self.choice.put(packet, now)
        self.here_bits += packet.bits
        self.most_bits = max(self.most_bits, self.here_bits)


Sources = Mapping[str, Sequence[tuple[float, float]]]
"""Of each flow, or of each multicast's name, times in s and bits of its packets, in order."""


def simulate(network: Network, sources: Sources, last: str = "") -> Seen:
    """Send the packets of all sources, and wait until the last one is there.

    Where no order between flows is known, ``last`` (a flow, or a multicast's name) goes last.
    """
    run = _Run(network, last)
    for name, packets in sources.items():
        flows = [flow for flow in network.flows.values() if name in (flow.multicast, flow.name)]
        for time, bits in packets:
            for first in {flow.path[0] for flow in flows}:
                there = tuple(flow for flow in flows if flow.path[0] == first)
                run.at(time, run.arrive, Packet(there, bits, time))
    run.all()
    return run.seen


class _Run:
    """Events in the order of their times, and of their making where times are the same."""

    def __init__(self, network: Network, last: str) -> None:
        self.ports = {name: Port(server, last) for name, server in network.servers.items()}
        self.seen = Seen()
        self.order = count()
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, time: float, what: Callable[..., None], *about: Any) -> None:
        heapq.heappush(self.events, (time, next(self.order), what, about))

    def all(self) -> None:
        while self.events:
            now, _, what, about = heapq.heappop(self.events)
            what(now, *about)
        self.seen.backlogs_bits = {name: port.most_bits for name, port in self.ports.items()}

    def arrive(self, now: float, packet: Packet) -> None:
        port = self.ports[packet.flows[0].path[packet.hop]]
        port.put(packet, now)
        if not port.busy:
            self.at(now, self.start, port)

    def start(self, now: float, port: Port) -> None:
        if port.busy:
            return
        taken = port.choice.take(now)
        if isinstance(taken, Packet):
            port.busy = True
            self.at(now + taken.bits / port.choice.line_bps, self.finish, port, taken)
            self.pass_on(now, port, taken)
        elif taken < NEVER:
            self.at(max(taken, math.nextafter(now, NEVER)), self.start, port)

    def finish(self, now: float, port: Port, packet: Packet) -> None:
        port.busy = False
        port.here_bits -= packet.bits
        port.choice.sent(packet, now)
        self.start(now, port)

    def pass_on(self, now: float, port: Port, packet: Packet) -> None:
        """Copies begin their way from a packet's start, or from its last bit before the gap."""
        line, header = port.choice.line_bps, port.server.header_bits
        whole = now + (packet.bits - port.server.gap_bits) / line + port.server.delay_s
        for copy in packet.copies():
            there = self.ports[copy.flows[0].path[copy.hop]].choice.line_bps
            early = header is not None and there <= line
            known = now + min(header or 0.0, packet.bits) / line + port.server.delay_s
            self.at(known if early else whole, self.arrive, copy)
        for flow in packet.flows:
            if packet.hop == len(flow.path) - 1:
                self.seen.delays_s.setdefault(flow.name, []).append(whole - packet.made_s)
