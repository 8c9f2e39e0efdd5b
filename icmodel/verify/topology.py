"""The topology of a copy as the lab reads it: a TOML document of icprobe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from icmodel.system import (
    DeficitRoundRobin,
    Port,
    StrictPriority,
    System,
    WeightedRoundRobin,
)
from icmodel.toml_text import toml_text

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
