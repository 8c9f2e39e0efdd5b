"""Systems made in a line of code: hosts on a chain of switches, and streams between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from icmodel.system import (
    Device,
    Fifo,
    Link,
    Port,
    Producer,
    Scheduler,
    Stream,
    StreamRequirement,
    Switch,
    System,
)

T = TypeVar("T")
FIFO = Fifo()
ETHERNET = "ethernet-10g-2012"
SWITCH_S = 5.9e-6
"""What the dataset's switch adds (IC2012 §7.1.2)."""


@dataclass(frozen=True)
class Chain:
    """Switches in a row, hosts at each of them; a host is named ``h`` and its place of all.

    ``hosts`` says how many stand at each switch.
    """

    hosts: tuple[int, ...] = (4,)
    rate_bps: float = 1e10
    trunk_bps: float = 1e10
    dataset: str | None = ETHERNET
    scheduler: Scheduler = FIFO
    cores: int | None = None
    length_m: float = 0.0
    buffer_bytes: float | None = None

    @property
    def at(self) -> dict[str, int]:
        """The switch each host stands at."""
        places = [switch for switch, count in enumerate(self.hosts) for _ in range(count)]
        return {f"h{k}": switch for k, switch in enumerate(places)}

    def path(self, source: str, sink: str) -> tuple[str, ...]:
        """The ports from one host to another."""
        first, last = self.at[source], self.at[sink]
        step = 1 if last >= first else -1
        nodes = [source, *(f"s{k}" for k in range(first, last + step, step)), sink]
        return tuple(f"{a}->{b}" for a, b in pairwise(nodes))

    def system(
        self, streams: Iterable[Stream], wanted: tuple[StreamRequirement, ...] = ()
    ) -> System:
        """The system of some streams."""
        ends = [(host, f"s{switch}") for host, switch in self.at.items()]
        ends += [(f"s{k}", f"s{k + 1}") for k in range(len(self.hosts) - 1)]
        links, ports = {}, {}
        for a, b in ends:
            rate = self.rate_bps if a.startswith("h") else self.trunk_bps
            name = f"{a}<->{b}"
            links[name] = Link(
                name, (a, b), rate, self.length_m, self.length_m * 4.27e-9, dataset=self.dataset
            )
            for node, peer in ((a, b), (b, a)):
                port = f"{node}->{peer}"
                served = self.scheduler if node.startswith("s") else FIFO
                ports[port] = Port(port, name, node, peer, rate, served)
        switches = {
            f"s{k}": Switch(f"s{k}", "s", latency_s=SWITCH_S, buffer_bytes=self.buffer_bytes)
            for k in range(len(self.hosts))
        }
        return System(
            name="chain",
            title="hosts on a chain of switches",
            devices=frozen({host: Device(host, "h", cores=self.cores) for host in self.at}),
            switches=frozen(switches),
            links=frozen(links),
            ports=frozen(ports),
            streams=frozen({one.name: one for one in streams}),
            requirements=wanted,
        )

    def stream(
        self,
        name: str,
        source: str,
        sink: str,
        rate_fps: float | None = None,
        protocol: str = "tcp",
        payload_bytes: int = 65535,
        **more: object,
    ) -> Stream:
        """A stream of frames sent evenly, or at unlimited rate."""
        made = None if rate_fps is None else Producer("goodput", 1 / rate_fps, payload_bytes)
        return Stream(
            name,
            str(more.pop("group", name)),
            source,
            sink,
            more.pop("producer", made),  # type: ignore[arg-type]
            protocol,
            payload_bytes,
            self.path(source, sink),
            paced_fps=rate_fps,
            **more,  # type: ignore[arg-type]
        )


def frozen(some: Mapping[str, T]) -> Mapping[str, T]:
    return MappingProxyType(dict(some))
