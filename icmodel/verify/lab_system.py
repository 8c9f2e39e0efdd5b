"""Lab systems: copies of systems with lower rates and fewer devices, which the lab can build on one machine."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from icmodel.errors import VerificationError
from icmodel.estimate import plural
from icmodel.system import CreditBased, Device, Dscp, Gates, Stream, Switch, System

PROTOCOLS = ("tcp", "udp", "ethernet", "zeromq")
OPTIONS = {("nagle", "off"): "--no-nagle"}
"""Options of streams that icprobe can set, each with its command-line option; ``nagle = on`` is its default."""
LAB_BUFFER_BYTES = 131072.0
"""Buffer of a switch's port in the lab [B] (calibration/src/lab/shaping.rs)."""
BURST_S, FRAME_BYTES = 1e-3, 38
"""Depth of the token bucket that limits a lab link, as a time [s], and overhead of a packet on the wire [B].

The depth is at least two packets of the MTU with this overhead (calibration/src/lab/shaping.rs)."""
PACKET_S = 7e-6
"""Assumed core time per packet, at each port on the path and at the receiving host [s]."""
SPIN_S = 250e-6
"""Core time that a paced sender spends on each frame by polling its clock [s] (calibration/src/pattern/pacing.rs)."""
MOST_BUSY = 0.6
"""Greatest share of the machine's cores that a lab system may keep busy."""
STEPS = (1.0, 2.0, 5.0)
"""Allowed slowdowns of a lab system: these factors times a power of ten."""
MOST_HOSTS = 16
"""Greatest number of hosts in a lab system, since each host runs its own processes."""
RULE = (
    "rates are divided by k, periods are multiplied by k, and sizes stay; k is the least of 1, 2, 5, 10, … that "
    f"keeps at most {100 * MOST_BUSY:g} % of the cores busy; assumed core time: {1e6 * PACKET_S:g} µs per packet for "
    f"each port and receiver, and {1e6 * SPIN_S:g} µs per paced frame; groups lose members until at most "
    f"{MOST_HOSTS} hosts remain"
)
"""Rule by which a system is scaled down for the lab, as a text for the JSON form of a verification."""


@dataclass(frozen=True, slots=True)
class LabSystem:
    """Copy of a system with lower rates and fewer devices, which the lab can build on one machine.

    Parameters
    ----------
    system : System
        The copy, which is built and predicted.
    slower : float
        Slowdown: rates are divided by this factor, and periods multiplied.
    members : int, optional
        Greatest number of devices kept of each group; ``None`` for all devices.
    left_out : tuple of str
        Features that are not reproduced in the lab, one sentence each.
    """

    system: System
    slower: float
    members: int | None
    left_out: tuple[str, ...]


def lab_system(system: System, *, slower: float, members: int | None, dataset: str) -> LabSystem:
    """Scale a system down for the lab: lower rates, longer periods, fewer devices.

    Parameters
    ----------
    dataset : str
        Dataset of the lab's hosts, by name or path.

    Raises
    ------
    VerificationError
        If the lab cannot build the system. The message names the reason and the alternatives.
    """
    _check_network(system)
    _check_streams(system)
    fewer = _with_fewer_members(system, members)
    left_out = list(_missing_features(fewer))
    if hosts := len(system.devices) - len(fewer.devices):
        streams = len(system.streams) - len(fewer.streams)
        left_out.insert(
            0,
            f"{plural(hosts, 'device')} and {plural(streams, 'stream')}: at most {members} of each group "
            "are built",
        )
    return LabSystem(_scaled(fewer, slower, dataset), slower, members, tuple(left_out))


def _check_network(system: System) -> None:
    for link in system.links.values():
        if link.interconnect != "ethernet":
            raise VerificationError(
                f"the link {link.name} is {link.interconnect}, but the lab's links are ethernet: "
                "verify a system of Ethernet links"
            )
        if "#" in link.name:
            raise VerificationError(
                f"the link {link.name} is one of several between the same two nodes, but the lab joins "
                "two nodes by one link: verify a system without parallel links"
            )
    for port in system.ports.values():
        if isinstance(port.scheduler, Gates | CreditBased | Dscp):
            raise VerificationError(
                f"the port {port.name} is scheduled by {port.scheduler.kind}, but the lab's ports are "
                "fifo, strict-priority, wrr or drr: use one of these"
            )


def _check_streams(system: System) -> None:
    for stream in system.streams.values():
        if stream.protocol not in PROTOCOLS:
            raise VerificationError(
                f"the stream {stream.name} is sent by {stream.protocol}, but icprobe only sends "
                f"{', '.join(PROTOCOLS)}: use one of these"
            )
        for option in stream.options.items():
            if option not in OPTIONS and option != ("nagle", "on"):
                raise VerificationError(
                    f"the stream {stream.name} has the option {option[0]} = {option[1]}, but the lab "
                    "only sets nagle: leave the option out"
                )
    if not system.streams:
        raise VerificationError(
            f"the system {system.name} has no streams, so nothing can be measured: add a [[streams]] table"
        )


def _with_fewer_members(system: System, members: int | None) -> System:
    """Copy a system with at most ``members`` devices of each group, and only the links and streams between them."""
    if members is None:
        return system
    groups: dict[str, list[str]] = {}
    for device in system.devices.values():
        groups.setdefault(device.group, []).append(device.name)
    kept = {*system.switches, *(name for group in groups.values() for name in group[:members])}
    links = {name: link for name, link in system.links.items() if kept.issuperset(link.ends)}
    return replace(
        system,
        devices={name: device for name, device in system.devices.items() if name in kept},
        links=links,
        ports={name: port for name, port in system.ports.items() if port.link in links},
        streams={
            name: stream
            for name, stream in system.streams.items()
            if {stream.source, stream.sink} <= kept
        },
        requirements=(),
    )


def _missing_features(system: System) -> Iterator[str]:
    """Yield the features of a system that the lab does not reproduce, one sentence each."""
    switches, devices = system.switches.values(), system.devices.values()
    streams, links = system.streams.values(), system.links.values()
    buffers = (None, LAB_BUFFER_BYTES)
    for missing, sentence in (
        (
            any(switch.latency_s for switch in switches),
            "latency of switches: the lab's switches are kernel bridges without added latency",
        ),
        (
            any(switch.forwarding == "cut-through" for switch in switches),
            "cut-through: the lab's switches store and forward",
        ),
        (
            any(switch.buffer_bytes not in buffers for switch in switches),
            f"buffers of switches: the lab's ports hold {LAB_BUFFER_BYTES:.0f} B",
        ),
        (any(link.delay_s for link in links), "length of cables: the lab has no cables"),
        (
            any(device.app_send_s or device.app_recv_s for device in devices),
            "the applications' own work: icprobe only sends and receives",
        ),
        (
            any(device.latency_s is not None for device in devices),
            "latency stated by devices: hosts of the lab replace these devices",
        ),
        (
            any(stream.multicast for stream in streams),
            "multicast: each sink gets a stream of its own",
        ),
        (
            any(stream.cores not in (None, 1) for stream in streams),
            "streams of several cores: the lab sends and receives each stream on one core",
        ),
    ):
        if missing:
            yield sentence


def _scaled(system: System, slower: float, dataset: str) -> System:
    """Copy a system with the lab's hosts and switches; divide rates and multiply periods by ``slower``."""
    links = {}
    for name, link in system.links.items():
        rate_bps = link.rate_bps / slower
        links[name] = replace(
            link,
            rate_bps=rate_bps,
            length_m=0.0,
            delay_s=0.0,
            dataset=dataset,
            burst_bytes=max(rate_bps / 8 * BURST_S, 2.0 * (link.mtu_bytes + FRAME_BYTES)),
        )
    streams = {}
    for name, stream in system.streams.items():
        paced, producer = stream.paced_fps, stream.producer
        if producer is not None:
            producer = replace(
                producer,
                period_s=producer.period_s * slower,
                within_s=None if producer.within_s is None else producer.within_s * slower,
            )
        streams[name] = replace(
            stream,
            producer=producer,
            paced_fps=None if paced is None else paced / slower,
            cores=1,
            multicast=None,
        )
    return replace(
        system,
        devices={
            name: Device(host.name, host.group, host.interfaces, cores=1, dataset=dataset)
            for name, host in system.devices.items()
        },
        switches={
            name: Switch(
                switch.name,
                switch.group,
                buffer_bytes=LAB_BUFFER_BYTES,
                scheduler=switch.scheduler,
            )
            for name, switch in system.switches.items()
        },
        links=links,
        ports={
            name: replace(port, rate_bps=port.rate_bps / slower)
            for name, port in system.ports.items()
        },
        streams=streams,
        requirements=(),
        usecase=None,
    )


# --- fitting the scale to the machine -----------------------------------------------------------


def machine_cores() -> tuple[int, ...]:
    """Return the indices of the processor cores that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def slowdown(system: System, cores: int) -> float:
    """Return the slowdown of a lab system: the factor by which all rates of the system are divided.

    It is the least of 1, 2, 5, 10, 20, … with which the streams keep at most the share `MOST_BUSY` of ``cores``
    processor cores busy.
    """
    needed = busy_cores(system) / (MOST_BUSY * cores)
    factors = (step * 10.0**power for power in count() for step in STEPS)
    return next(factor for factor in factors if factor >= needed)


def busy_cores(system: System) -> float:
    """Estimate how many cores of this machine the streams of a system keep busy at the system's unscaled rates."""

    def busy(stream: Stream) -> float:
        links = system.links_of(stream)
        narrowest_bps = min(link.rate_bps for link in links)
        goodput_bps = min(stream.requested_goodput_bps, narrowest_bps)
        frames = goodput_bps / (8 * stream.payload_bytes)
        packets = frames * math.ceil(stream.payload_bytes / min(link.mtu_bytes for link in links))
        paced = math.isfinite(stream.requested_goodput_bps)
        spinning = min(frames * SPIN_S, 1.0) if paced else 0.0
        return packets * (len(links) + 1) * PACKET_S + spinning

    return sum(busy(stream) for stream in system.streams.values())


def most_members(system: System) -> int | None:
    """Return the greatest number of devices per group with which a lab system has at most `MOST_HOSTS` hosts.

    The result is at least 1; it is ``None`` if all devices fit.
    """
    sizes = Counter(device.group for device in system.devices.values()).values()
    if sum(sizes) <= MOST_HOSTS:
        return None
    fewer = range(max(sizes), 0, -1)
    return next((n for n in fewer if sum(min(size, n) for size in sizes) <= MOST_HOSTS), 1)


def placed(system: System, cores: tuple[int, ...]) -> Mapping[str, int]:
    """Assign a processor core to each host of a lab system.

    Hosts that send more streams than they receive use the first half of the cores, other hosts the second half. So the
    sender and the receiver of a stream are on different cores if possible.
    """
    half = max(len(cores) // 2, 1)
    sending, receiving = cores[:half], cores[half:] or cores
    surplus = dict.fromkeys(system.devices, 0)
    for stream in system.streams.values():
        surplus[stream.source] += 1
        surplus[stream.sink] -= 1
    found: dict[str, int] = {}
    dealt = {True: 0, False: 0}
    for name, more_sent in surplus.items():
        sends = more_sent > 0
        group = sending if sends else receiving
        found[name] = group[dealt[sends] % len(group)]
        dealt[sends] += 1
    return found
