"""The topology of a copy as the lab reads it: a TOML document of icprobe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

from icmodel.documents import toml_text
from icmodel.errors import VerificationError
from icmodel.estimate import plural
from icmodel.system import (
    CreditBased,
    DeficitRoundRobin,
    Device,
    Dscp,
    Gates,
    Link,
    Port,
    Stream,
    StrictPriority,
    Switch,
    System,
    WeightedRoundRobin,
)
from icmodel.system.traffic_sources import Producer

PLAIN = re.compile(r"[A-Za-z0-9_]{1,12}")
"""Names that the lab takes for a node (calibration/src/lab/topology/check.rs)."""
MOST_NAME = 40
"""Characters of a topology's name."""
LEAST_CLASS_BPS = 8000.0
"""The least rate of a class [b/s], which strict priority promises to each so that all else is borrowed in order."""
SELECTOR_BITS = 3
"""Priority p is the class selector code point p × 8 (RFC 2474 §4.2.2)."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The text of a topology, and how the lab calls the nodes of the system."""

    text: str
    nodes: Mapping[str, str]


def topology(system: System) -> Topology:
    """The topology of a copy."""
    nodes = _names(system)
    return Topology(toml_text(_document(system, nodes)), nodes)


def code_point(priority: int) -> int:
    """The DSCP that stands for a priority."""
    return priority << SELECTOR_BITS


def _names(system: System) -> dict[str, str]:
    """A name for every node that the lab takes: its own where it can be, else h1, h2 … or s1, s2 …, by its place."""
    found: dict[str, str] = {}
    for letter, group in (("h", system.devices), ("s", system.switches)):
        for number, name in enumerate(group, start=1):
            plain = PLAIN.fullmatch(name) and not re.fullmatch(r"[hs]\d+", name)
            found[name] = name if plain else f"{letter}{number}"
    return found


def _document(system: System, nodes: Mapping[str, str]) -> dict[str, object]:
    links = [
        {
            "a": nodes[link.ends[0]],
            "b": nodes[link.ends[1]],
            "rate": _rate(link.rate_bps),
            "mtu": f"{link.mtu_bytes} B",
        }
        for link in system.links.values()
    ]
    classes = [
        {"from": nodes[port.node], "to": nodes[port.peer], **one}
        for port in system.ports.values()
        for one in _classes(system, port)
    ]
    return {
        "name": system.name[:MOST_NAME],
        "description": system.title,
        "hosts": [nodes[name] for name in system.devices],
        "switches": [nodes[name] for name in system.switches],
        "links": links,
        **({"classes": classes} if classes else {}),
    }


def _rate(rate_bps: float) -> str:
    return f"{rate_bps:.0f} b/s"


# --- classes ----------------------------------------------------------------------------------


def _classes(system: System, port: Port) -> Iterator[dict[str, object]]:
    """The classes of a port, the last for all packets that are of none."""
    promised = _promised(system, port)
    strict = isinstance(port.scheduler, StrictPriority)
    for priority in sorted({0, *promised}, reverse=True) if promised else ():
        yield {
            "dscp": [code_point(priority)] if priority else [],
            "rate": _rate(promised.get(priority, LEAST_CLASS_BPS)),
            "ceil": _rate(port.rate_bps),
            "priority": 7 - priority if strict else 0,
        }


def _promised(system: System, port: Port) -> Mapping[int, float]:
    """What each priority is promised of a port [b/s]; empty where all wait in one queue."""
    here = sorted({one.priority for one in system.streams.values() if port.name in one.path})
    match port.scheduler:
        case StrictPriority():
            return dict.fromkeys(here, LEAST_CLASS_BPS)
        case WeightedRoundRobin(weights=frames):
            sizes = _packet_sizes(system, port)
            return _parts(port, {k: frames[k] * sizes[k] for k in here if k in frames})
        case DeficitRoundRobin(quanta_bytes=quanta):
            return _parts(port, {k: float(quanta[k]) for k in here if k in quanta})
    return {}


def _parts(port: Port, weights: Mapping[int, float]) -> dict[int, float]:
    """The port's rate by weight, less the least that packets of no class are promised."""
    spare = port.rate_bps - (0.0 if 0 in weights else LEAST_CLASS_BPS)
    total = sum(weights.values())
    return {priority: spare * weight / total for priority, weight in weights.items()}


def _packet_sizes(system: System, port: Port) -> Mapping[int, float]:
    """Mean packet of each priority at a port [B], as turns of frames weigh them."""
    sizes: dict[int, list[float]] = {}
    for stream in system.streams.values():
        if port.name in stream.path:
            most = min(link.mtu_bytes for link in system.links_of(stream))
            sizes.setdefault(stream.priority, []).append(min(stream.payload_bytes, most))
    return {priority: fmean(some) for priority, some in sizes.items()}


PROTOCOLS = ("tcp", "udp", "ethernet", "zeromq")
OPTIONS = {("nagle", "off"): "--no-nagle"}
"""Options of streams that icprobe can set; ``nagle = on`` is as it is anyway."""
LAB_BUFFER_BYTES = 131072.0
"""The queue of a switch's port in the lab [B] (calibration/src/lab/shaping.rs)."""
BURST_S, FRAME_BYTES = 1e-3, 38
"""Depth of the token bucket of a lab's link: a millisecond [s], at least two packets in their frames [B] (same file)."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A system as it is built.

    Parameters
    ----------
    system : System
        What is built and predicted.
    slower : float
        The factor k by which rates are divided and periods multiplied.
    members : int, optional
        At most so many devices of a group; ``None``: all.
    left_out : tuple of str
        What of the system the copy does not have, a sentence each.
    """

    system: System
    slower: float
    members: int | None
    left_out: tuple[str, ...]


def copied(system: System, *, slower: float, members: int | None, dataset: str) -> Copy:
    """The copy of a system.

    Parameters
    ----------
    dataset : str
        What speaks for the lab's hosts, by name or path.

    Raises
    ------
    VerificationError
        If the lab cannot build the system at all; the sentence names the part and what can be built.
    """
    _check(system)
    fewer = _fewer(system, members)
    left_out = (*_dropped(system, fewer, members), *_missing(fewer))
    return Copy(_as_lab(fewer, slower, dataset), slower, members, left_out)


# --- what cannot be built ---------------------------------------------------------------------


def _check(system: System) -> None:
    for link in system.links.values():
        if link.interconnect != "ethernet":
            raise VerificationError(
                f"the link {link.name} is {link.interconnect}, and the lab's links are ethernet: "
                "verify a system of Ethernet links"
            )
        if "#" in link.name:
            raise VerificationError(
                f"the link {link.name} is one of several between the same two nodes, and the lab joins "
                "two nodes by one link: verify a system without parallel links"
            )
    for port in system.ports.values():
        if isinstance(port.scheduler, Gates | CreditBased | Dscp):
            raise VerificationError(
                f"the port {port.name} is scheduled by {port.scheduler.kind}, and the lab's ports are "
                "fifo, strict-priority, wrr or drr: give one of these"
            )
    for stream in system.streams.values():
        _check_stream(stream)
    if not system.streams:
        raise VerificationError(f"the system {system.name} has no streams: nothing can be measured")


def _check_stream(stream: Stream) -> None:
    if stream.protocol not in PROTOCOLS:
        raise VerificationError(
            f"the stream {stream.name} is sent by {stream.protocol}, and icprobe sends "
            f"{', '.join(PROTOCOLS)}: give one of these"
        )
    for option in stream.options.items():
        if option not in OPTIONS and option != ("nagle", "on"):
            raise VerificationError(
                f"the stream {stream.name} has the option {option[0]} = {option[1]}, and the lab sets "
                "nagle alone: leave it out"
            )


# --- fewer ------------------------------------------------------------------------------------


def _fewer(system: System, members: int | None) -> System:
    """The system with at most so many devices of each group, and what these need."""
    if members is None:
        return system
    groups: dict[str, list[str]] = {}
    for device in system.devices.values():
        groups.setdefault(device.group, []).append(device.name)
    kept = {*system.switches, *(name for group in groups.values() for name in group[:members])}
    links = {name: one for name, one in system.links.items() if kept.issuperset(one.ends)}
    return replace(
        system,
        devices={name: one for name, one in system.devices.items() if name in kept},
        links=links,
        ports={name: one for name, one in system.ports.items() if one.link in links},
        streams={
            name: one for name, one in system.streams.items() if {one.source, one.sink} <= kept
        },
        requirements=(),
    )


def _dropped(system: System, fewer: System, members: int | None) -> Iterator[str]:
    hosts = len(system.devices) - len(fewer.devices)
    if hosts:
        streams = len(system.streams) - len(fewer.streams)
        yield (
            f"{plural(hosts, 'device')} and {plural(streams, 'stream')}: of each group at most "
            f"{members} are built"
        )


# --- what the lab does not have ---------------------------------------------------------------


def _missing(system: System) -> Iterator[str]:
    """What of the system is not in the copy, a sentence each."""
    switches, devices = system.switches.values(), system.devices.values()
    streams = system.streams.values()
    if any(one.latency_s for one in switches):
        yield "latency of switches: the lab's are bridges of the kernel, which forward at once"
    if any(one.forwarding == "cut-through" for one in switches):
        yield "cut-through: the lab's switches store and forward"
    if any(one.buffer_bytes not in (None, LAB_BUFFER_BYTES) for one in switches):
        yield f"buffers of switches: the lab's ports hold {LAB_BUFFER_BYTES:.0f} B"
    if any(link.delay_s for link in system.links.values()):
        yield "length of cables: the lab's have none"
    if any(one.app_send_s or one.app_recv_s for one in devices):
        yield "the applications' own work: icprobe only sends and receives"
    if any(one.multicast for one in streams):
        yield "multicast: each sink gets a stream of its own"
    if any(one.cores not in (None, 1) for one in streams):
        yield "streams of several cores: each is sent and received by one"


def _as_lab(system: System, slower: float, dataset: str) -> System:
    return replace(
        system,
        devices={name: _device(one, dataset) for name, one in system.devices.items()},
        switches={name: _switch(one) for name, one in system.switches.items()},
        links={name: _link(one, slower, dataset) for name, one in system.links.items()},
        ports={name: _port(one, slower) for name, one in system.ports.items()},
        streams={name: _stream(one, slower) for name, one in system.streams.items()},
        requirements=(),
        usecase=None,
    )


def _device(one: Device, dataset: str) -> Device:
    return Device(one.name, one.group, one.interfaces, cores=1, dataset=dataset)


def _switch(one: Switch) -> Switch:
    return Switch(one.name, one.group, buffer_bytes=LAB_BUFFER_BYTES, scheduler=one.scheduler)


def _link(one: Link, slower: float, dataset: str) -> Link:
    rate_bps = one.rate_bps / slower
    burst_bytes = max(rate_bps / 8 * BURST_S, 2.0 * (one.mtu_bytes + FRAME_BYTES))
    return replace(
        one,
        rate_bps=rate_bps,
        length_m=0.0,
        delay_s=0.0,
        dataset=dataset,
        burst_bytes=burst_bytes,
    )


def _port(one: Port, slower: float) -> Port:
    return replace(one, rate_bps=one.rate_bps / slower)


def _stream(one: Stream, slower: float) -> Stream:
    paced = None if one.paced_fps is None else one.paced_fps / slower
    produced = None if one.producer is None else _producer(one.producer, slower)
    return replace(one, producer=produced, paced_fps=paced, cores=1, multicast=None)


def _producer(one: Producer, slower: float) -> Producer:
    within = None if one.within_s is None else one.within_s * slower
    return replace(one, period_s=one.period_s * slower, within_s=within)
