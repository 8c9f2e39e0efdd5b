"""Datasets of a system: whether they exist, fit the kind of their links, and have the streams' protocols.

Also protocols that neither they nor any bundled dataset has, if they are like one that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from icmodel.dataset import catalogue, find, read_document
from icmodel.errors import DatasetError
from icmodel.system.network import System

COMMON = {"tcp", "udp", "ethernet"}
"""Protocols that theory itself tells apart."""
Fault = tuple[object, float, str]
"""Key by which faults are grouped, severity, and sentence."""


@dataclass(frozen=True, slots=True)
class Voice:
    """Description of a dataset, without its rows: kinds of interconnect and protocols."""

    id: str
    kinds: tuple[str, ...]
    protocols: tuple[str, ...]


def _voice(name: str) -> Voice:
    document: dict[str, Any] = read_document(find(name))
    fabrics = document.get("fabrics")
    links = [document.get("interconnect"), *(fabrics.values() if isinstance(fabrics, dict) else ())]
    kinds = sorted({str(link.get("kind", "")) for link in links if isinstance(link, dict)})
    return Voice(str(document.get("id", name)), tuple(kinds), tuple(document.get("protocols", ())))


def datasets_of(system: System) -> tuple[Mapping[str, Voice], tuple[Fault, ...]]:
    """The datasets that links and devices name, and a fault for each that does not exist."""
    named = {link.dataset: f"the link {link.name}" for link in system.links.values()}
    named |= {device.dataset: device.name for device in system.devices.values()}
    known: dict[str, Voice] = {}
    faults: list[Fault] = []
    for name, where in named.items():
        if name is None:
            continue
        try:
            known[name] = _voice(name)
        except DatasetError as error:
            faults.append((name, 0.0, f"{where}: {error}"))
    return known, tuple(faults)


def other_kinds(system: System, known: Mapping[str, Voice]) -> Iterator[Fault]:
    """Links of another kind than their dataset was measured on."""
    for link in system.links.values():
        data = known.get(link.dataset or "")
        if data is None:
            continue
        if link.interconnect not in data.kinds:
            text = (
                f"the link {link.name} is {link.interconnect}, and {data.id} was measured on "
                f"{', '.join(data.kinds)}: name a dataset of its kind, or none for theory"
            )
            yield (data.id, link.interconnect), 0.0, text


def silent_streams(system: System, known: Mapping[str, Voice]) -> Iterator[Fault]:
    """Streams whose protocol is in none of the datasets on their route."""
    for stream in system.streams.values():
        names = dict.fromkeys(link.dataset for link in system.links_of(stream))
        data = [known[name] for name in names if name is not None and name in known]
        if data and not any(stream.protocol in one.protocols for one in data):
            have = "; ".join(f"{one.id} has {', '.join(one.protocols)}" for one in data)
            near = _nearest(stream.protocol, (name for one in data for name in one.protocols))
            meant = f"is {near} meant, or else " if near else ""
            text = (
                f"the stream {stream.name} speaks {stream.protocol}, of which no dataset on its way "
                f"has rows ({have}): {meant}name a protocol or a dataset that fits"
            )
            yield stream.group, 0.0, text


def misspelt_streams(system: System, known: Mapping[str, Voice]) -> Iterator[Fault]:
    """Streams whose protocol nobody knows, and which is like one that is known."""
    asked = {stream.protocol for stream in system.streams.values()} - COMMON
    if not asked:
        return
    voices = (*known.values(), *map(_voice, catalogue()))
    there = COMMON | {name for one in voices for name in one.protocols}
    for stream in system.streams.values():
        if stream.protocol in there:
            continue
        if near := _nearest(stream.protocol, there):
            text = (
                f"the stream {stream.name} speaks {stream.protocol}, which no dataset knows: is {near} "
                f"meant? Known are {', '.join(sorted(there))}"
            )
            yield stream.group, 0.0, text


def _nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like another; empty if none is."""
    return next(iter(get_close_matches(name.lower(), sorted(set(known)), 1)), "")
