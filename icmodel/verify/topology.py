"""Topology of a lab system: the TOML document from which icprobe builds the network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from icmodel.documents import toml_text
from icmodel.system import DeficitRoundRobin, Port, StrictPriority, System, WeightedRoundRobin

PLAIN = re.compile(r"[A-Za-z0-9_]{1,12}")
"""Pattern of the node names that the lab accepts (calibration/src/lab/topology/check.rs)."""
MOST_NAME = 40
"""Greatest number of characters in a topology's name."""
LEAST_CLASS_BPS = 8000.0
"""Least guaranteed rate of a traffic class at a port of the lab [b/s].

Under strict priority, each class is guaranteed this rate; the classes borrow the remaining rate in order of priority.
"""
SELECTOR_BITS = 3
"""Number of bits by which a priority is shifted left to give its DSCP.

The DSCP of priority p is its class selector code point, p × 8 (RFC 2474 §4.2.2).
"""


@dataclass(frozen=True, slots=True)
class Topology:
    """Topology of a lab system: its TOML text, and the lab's name for each node of the system."""

    text: str
    nodes: Mapping[str, str]


def topology(system: System) -> Topology:
    """Make the topology of a lab system, from which icprobe builds the network.

    A node keeps its name if the lab accepts that name. Other hosts are named h1, h2 …, other switches s1, s2 ….
    """
    nodes: dict[str, str] = {}
    for letter, group in (("h", system.devices), ("s", system.switches)):
        for number, name in enumerate(group, start=1):
            plain = PLAIN.fullmatch(name) and not re.fullmatch(r"[hs]\d+", name)
            nodes[name] = name if plain else f"{letter}{number}"

    links = [
        {
            "a": nodes[link.ends[0]],
            "b": nodes[link.ends[1]],
            "rate": _rate_text(link.rate_bps),
            "mtu": f"{link.mtu_bytes} B",
        }
        for link in system.links.values()
    ]
    classes = []
    for port in system.ports.values():
        rates_bps = _class_rates_bps(system, port)
        strict = isinstance(port.scheduler, StrictPriority)
        # Class 0 comes last, since it matches all packets of no other class.
        for priority in sorted({0, *rates_bps}, reverse=True) if rates_bps else ():
            classes.append(
                {
                    "from": nodes[port.node],
                    "to": nodes[port.peer],
                    "dscp": [code_point(priority)] if priority else [],
                    "rate": _rate_text(rates_bps.get(priority, LEAST_CLASS_BPS)),
                    "ceil": _rate_text(port.rate_bps),
                    "priority": 7 - priority if strict else 0,
                }
            )
    document = {
        "name": system.name[:MOST_NAME],
        "description": system.title,
        "hosts": [nodes[name] for name in system.devices],
        "switches": [nodes[name] for name in system.switches],
        "links": links,
        **({"classes": classes} if classes else {}),
    }
    return Topology(toml_text(document), nodes)


def code_point(priority: int) -> int:
    """Return the DSCP (code point in the IP header) of packets of a priority."""
    return priority << SELECTOR_BITS


def _rate_text(rate_bps: float) -> str:
    return f"{rate_bps:.0f} b/s"


def _class_rates_bps(system: System, port: Port) -> Mapping[int, float]:
    """Return the guaranteed rate of each priority at a port [b/s]; empty if the port has a single queue.

    Round robin shares the port's rate by weight, after `LEAST_CLASS_BPS` is reserved for packets of no class. A weight
    in packets is multiplied by the mean packet size of its priority.
    """
    streams = [stream for stream in system.streams.values() if port.name in stream.path]
    here = sorted({stream.priority for stream in streams})
    match port.scheduler:
        case StrictPriority():
            return dict.fromkeys(here, LEAST_CLASS_BPS)
        case WeightedRoundRobin(weights=frames):
            sizes: dict[int, list[float]] = {}
            for stream in streams:
                mtu_bytes = min(link.mtu_bytes for link in system.links_of(stream))
                packet_bytes = min(stream.payload_bytes, mtu_bytes)
                sizes.setdefault(stream.priority, []).append(packet_bytes)
            weights = {k: frames[k] * fmean(sizes[k]) for k in here if k in frames}
        case DeficitRoundRobin(quanta_bytes=quanta):
            weights = {k: float(quanta[k]) for k in here if k in quanta}
        case _:
            return {}
    spare_bps = port.rate_bps - (0.0 if 0 in weights else LEAST_CLASS_BPS)
    total = sum(weights.values())
    return {priority: spare_bps * weight / total for priority, weight in weights.items()}
