"""Synthetic datasets that follow physics, scored like measured ones; no constant is chosen by them.

Sender and receiver have costs per message, byte and packet. A pipeline is as slow as its slowest
station, the wire among them, so that goodput has plateaus. Besides breaks at full packets there are
undocumented ones: above some size a stack announces a message, waits for the answer, and copies
less of it (eager and rendezvous protocols of MPI). Runs differ by a random factor. The slowest
message of a run has waited for a stall of random length, many times as long as the latency of a
lone message. All numbers are drawn by a seed, around those of hosts of 2009 to 2025.

There are three kinds of links, twelve or thirty sizes, and one configuration or three sister
configurations. The costs of sisters differ by some ten percent, and their stacks change their
protocol at sizes of their own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.accuracy.predictor import Floats
from icmodel.dataset import Dataset, Interconnect, Point, load
from icmodel.tables.wire import Wire

Random = np.random.Generator

SEEDS = 4
SPARSE, DENSE = 12, 30
ALONE, SISTERS = ("first",), ("first", "second", "third")
GREATEST_BYTES = 2**22
SWITCHES_BYTES = (2048, 4096, 8192, 12288, 16384, 17408, 32768, 65536, 131072, 262144)
"""Payloads at which stacks change their protocol."""
MOST_RUNS = 5
NOISE, NOISES_APART = 0.01, 0.7
"""Relative standard deviation of a run: median over datasets, and deviation of its logarithm."""
STALL, STALLS_APART = 20.0, 0.7
"""Stall over latency of a lone message: median over datasets, and deviation of its logarithm."""
LEAST_APART, MOST_APART = 0.5, 1.6
"""Least and greatest standard deviation of the log of stalls within one dataset."""
SYSTEMS_APART, SISTERS_APART = 0.4, 0.1
"""Standard deviation of the log of costs between datasets, and between sister configurations."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Time that a side works on a message: per message [s], per byte [s/B] and per packet [s]."""

    frame_s: float
    byte_s: float
    packet_s: float

    def varied(self, random: Random, apart: float) -> Costs:
        """Draw costs around these; ``apart`` is the standard deviation of their logarithms."""
        factors = random.lognormal(0.0, apart, 3)
        return Costs(*(factors * (self.frame_s, self.byte_s, self.packet_s)).tolist())

    def of(self, payload: Floats, packets: Floats) -> Floats:
        """Return the time of messages that take ``packets`` packets [s]."""
        return self.frame_s + self.byte_s * payload + self.packet_s * packets


@dataclass(frozen=True, slots=True)
class System:
    """Kind of link, with its protocols and costs.

    ``lone_s`` is the latency of an empty message in addition to its costs.
    """

    name: str
    link: Interconnect
    protocols: tuple[str, ...]
    lone_s: float
    send: Costs
    recv: Costs
    switches: bool


SOCKETS = System(
    "sockets",
    Interconnect("ethernet", 10e9, 1500),
    ("tcp", "udp"),
    12e-6,
    Costs(9e-7, 2.5e-10, 1.5e-7),
    Costs(7e-7, 3e-10, 2e-7),
    switches=False,
)
MPI = System(
    "mpi",
    Interconnect("infiniband", 100e9, 4096),
    ("mpi",),
    7e-7,
    Costs(2e-7, 9e-11, 1e-8),
    Costs(2e-7, 9e-11, 1e-8),
    switches=True,
)
RDMA = System(
    "rdma",
    Interconnect("roce", 200e9, 4096),
    ("rdma-write",),
    1.4e-6,
    Costs(8e-8, 1e-11, 2e-8),
    Costs(5e-8, 1e-11, 2e-8),
    switches=False,
)
SYSTEMS = (SOCKETS, MPI, RDMA)


@dataclass(frozen=True, slots=True)
class Stack:
    """Configuration of a system: its costs, and the size above which it waits but copies less."""

    lone_s: float
    send: Costs
    recv: Costs
    switch_bytes: float
    copied: float

    def runs(self, wire: Wire, payload: Floats, slower: Floats) -> dict[str, Floats]:
        """Return the results of runs by metric, shape (runs, payloads).

        ``slower`` (runs, payloads) is the slowdown of the hosts over their average; a wire has
        none.
        """
        packets, wire_s = wire.packets(payload), wire.serialisation_s(payload)
        bound_s = 8 * payload / wire.goodput_bound_bps(payload, wire_s)
        large = payload > self.switch_bytes
        bytes_ = np.where(large, self.copied, 1.0) * payload
        announced = np.where(large, self.send.frame_s + self.send.packet_s, 0.0)
        send = slower * (self.send.of(bytes_, packets) + announced)
        recv = slower * self.recv.of(bytes_, packets)
        interval = np.maximum(np.maximum(send, recv), bound_s)
        lone = slower * self.lone_s * np.where(large, 3.0, 1.0)
        return {
            "goodput_bps": 8 * payload / interval,
            "rtt_half_mean_s": lone + send + wire_s + recv,
            "cpu_send": send / interval,
        }


def family(seeds: int = SEEDS) -> dict[str, list[Dataset]]:
    """Make all synthetic datasets, by name; datasets of one name differ in the seed only."""
    return {
        _name(system, count, names): [made_up(system, count, names, seed) for seed in range(seeds)]
        for system in SYSTEMS
        for count in (SPARSE, DENSE)
        for names in (ALONE, SISTERS)
    }


def _name(system: System, count: int, names: tuple[str, ...]) -> str:
    return f"made-up-{system.name}-{count}-sizes-{len(names)}"


def made_up(system: System, count: int, names: tuple[str, ...], seed: int) -> Dataset:
    """Make the dataset of a system with about ``count`` sizes and the named configurations."""
    random = np.random.default_rng([seed, count, len(names), *system.name.encode()])
    tool = Tool(NOISE * random.lognormal(0.0, NOISES_APART), int(random.integers(1, MOST_RUNS + 1)))
    stalls = Stalls.drawn(
        np.random.default_rng([seed, count, len(names), 1, *system.name.encode()])
    )
    points: list[Point] = []
    for protocol in system.protocols:
        wire, base = Wire(protocol, system.link), _base(system, random)
        most = min(GREATEST_BYTES, wire.greatest_payload_bytes() or GREATEST_BYTES)
        payload = np.unique(np.round(np.geomspace(1, most, count)))
        for name in names:
            stack = _sister(base, random)
            runs = stack.runs(wire, payload, tool.slower(len(payload), random))
            slowest_s = runs["rtt_half_mean_s"].max(axis=0) + stalls.of(stack.lone_s, len(payload))
            runs["rtt_half_max_s"] = slowest_s[None]
            points += tool.points(protocol, name, payload, runs)
    text = "\n".join(map(repr, points))
    return replace(
        load("ethernet-10g-2012"),
        id=f"{_name(system, count, names)}-{seed}",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        points=tuple(points),
        protocols=system.protocols,
        default_protocol=system.protocols[0],
        interconnect=system.link,
        option_axes=("stack",),
        option_defaults={"stack": names[0]},
        stated_limits=(),
        absences=(),
        variants={},
        fabrics={},
    )


def _base(system: System, random: Random) -> Stack:
    """Draw the stack around which the configurations of one dataset and protocol lie."""
    switch_bytes, copied = math.inf, 1.0
    if system.switches:
        switch_bytes, copied = float(random.choice(SWITCHES_BYTES)), random.uniform(0.3, 0.9)
    return Stack(
        system.lone_s * random.lognormal(0.0, SYSTEMS_APART),
        system.send.varied(random, SYSTEMS_APART),
        system.recv.varied(random, SYSTEMS_APART),
        switch_bytes,
        copied,
    )


def _sister(base: Stack, random: Random) -> Stack:
    """Draw one of the configurations; half of them change their protocol at a size of their own."""
    switch_bytes = base.switch_bytes
    if math.isfinite(switch_bytes) and random.random() < 0.5:
        switch_bytes = float(random.choice(SWITCHES_BYTES))
    return Stack(
        base.lone_s * random.lognormal(0.0, SISTERS_APART),
        base.send.varied(random, SISTERS_APART),
        base.recv.varied(random, SISTERS_APART),
        switch_bytes,
        base.copied,
    )


@dataclass(frozen=True, slots=True)
class Tool:
    """Measuring tool: standard deviation of the log factor between runs, and runs per point."""

    noise: float
    runs: int

    def slower(self, points: int, random: Random) -> Floats:
        """Draw the slowdown of the hosts in each run of each point, shape (runs, points)."""
        return random.lognormal(0.0, self.noise, (self.runs, points))

    def points(
        self, protocol: str, stack: str, payload: Floats, runs: dict[str, Floats]
    ) -> Iterator[Point]:
        """Yield a row per payload and metric: mean of the runs, and deviation of several runs."""
        for metric, found in runs.items():
            for size, column in zip(payload.astype(int).tolist(), found.T, strict=True):
                yield Point(
                    line=0, protocol=protocol, payload_bytes=size,
                    load_bps=None if metric.startswith("rtt_") else math.inf,
                    cores=1, switches=0, endpoints=1, other_goodput_bps=None, options=(stack,),
                    metric=metric, value=float(column.mean()),
                    std=float(column.std(ddof=1)) if len(column) > 1 else None,
                    low=None, high=None, n=len(column), basis="measured", source="made up",
                )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stalls:
    """Stalls of one dataset.

    Their median is ``times`` the latency of a lone message; ``apart`` is the standard deviation of
    their logarithms.
    """

    random: Random
    times: float
    apart: float

    @classmethod
    def drawn(cls, random: Random) -> Stalls:
        """Draw the parameters of a dataset's stalls."""
        times = STALL * random.lognormal(0.0, STALLS_APART)
        return cls(random, times, random.uniform(LEAST_APART, MOST_APART))

    def of(self, lone_s: float, points: int) -> Floats:
        """Draw the longest stall of each point [s]."""
        found: Floats = lone_s * self.times * self.random.lognormal(0.0, self.apart, points)
        return found
