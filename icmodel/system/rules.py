"""Rules that every system must keep. Each rule is a function that yields the parts that break the rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple

from icmodel import units
from icmodel.dataset import catalogue, find, read_document
from icmodel.errors import DatasetError
from icmodel.system.expansion import MOST_NAMES
from icmodel.system.loads import loads, overloads
from icmodel.system.network import System
from icmodel.system.packing import wire
from icmodel.system.schedulers import CreditBased

THEORY_PROTOCOLS = {"tcp", "udp", "ethernet"}
"""Protocols whose streams theory can predict without a dataset."""


class Fault(NamedTuple):
    """A fault: one part that breaks a rule.

    Parameters
    ----------
    key : object
        Faults with equal keys are reported as one finding.
    severity : float
        Severity. Of the faults with one key, only the text of the most severe fault is reported.
    text : str
        A sentence with names, numbers and a fix.
    """

    key: object
    severity: float
    text: str


# --- nodes, ports and requirements ------------------------------------------------------------


def unlinked_nodes(system: System) -> Iterator[Fault]:
    """Find devices and switches without a link."""
    linked = {end for link in system.links.values() for end in link.ends}
    for name in (*system.devices, *system.switches):
        if name not in linked:
            text = f"{name} has no link: connect it, or remove it"
            yield Fault(system.node(name).group, 0.0, text)


def too_many_links(system: System) -> Iterator[Fault]:
    """Find devices with more links than interfaces."""
    count = Counter(end for link in system.links.values() for end in link.ends)
    for device in system.devices.values():
        if count[device.name] > device.interfaces:
            text = (
                f"{device.name} has {count[device.name]} links and interfaces = {device.interfaces}: "
                "set interfaces to the number of links, or remove links"
            )
            yield Fault(device.group, count[device.name], text)


def too_steep_slopes(system: System) -> Iterator[Fault]:
    """Find ports with a credit-based shaper whose idle slopes add up to more than the port's rate."""
    for port in system.ports.values():
        if isinstance(port.scheduler, CreditBased):
            total = sum(port.scheduler.idle_slopes_bps.values())
            if total > port.rate_bps:
                text = (
                    f"the idle slopes of {port.name} add up to {units.format_bps(total)}, more than its "
                    f"{units.format_bps(port.rate_bps)}: give the classes smaller slopes"
                )
                yield Fault(port.node, total / port.rate_bps, text)


def overloaded_ports(system: System) -> Iterator[Fault]:
    """Find ports whose load exceeds the port's rate."""
    for over in overloads(loads(system)):
        greatest = max(over.load.streams, key=lambda stream: stream.requested_goodput_bps)
        key = (greatest.group, over.most_bps, over.when)
        yield Fault(key, over.ratio, over.sentence(system))


def missing_subjects(system: System) -> Iterator[Fault]:
    """Find requirements about streams or devices that do not exist."""
    # Each name that a requirement can use, with its group.
    group_of = {
        part: {name: member.group for member in members for name in (member.group, member.name)}
        for part, members in (
            ("stream", list(system.streams.values())),
            ("device", list(system.devices.values())),
        )
    }
    for each in system.requirements:
        for part, name in (("stream", each.stream), ("device", each.device)):
            groups = group_of[part]
            if name is not None and name not in groups:
                some = ", ".join(list(dict.fromkeys(groups.values()))[:MOST_NAMES]) or "none"
                text = (
                    f"the requirement {each.requirement.name!r} is about the {part} {name}, which does "
                    f"not exist: use one of {some}"
                )
                yield Fault(name, 0.0, text)


# --- streams on their routes ------------------------------------------------------------------


def too_large_frames(system: System) -> Iterator[Fault]:
    """Find streams whose frames are too large for the protocol on the first link."""
    for stream in system.streams.values():
        link = system.links[system.ports[stream.path[0]].link]
        most = wire(stream.protocol, link).greatest_payload_bytes()
        if most is not None and stream.payload_bytes > most:
            text = (
                f"the stream {stream.name} sends {stream.payload_bytes} B a frame, and "
                f"{stream.protocol} carries at most {most} B over {link.name}: give a smaller payload"
            )
            yield Fault(stream.group, stream.payload_bytes, text)


def too_small_mtus(system: System) -> Iterator[Fault]:
    """Find streams with a link whose MTU is smaller than the MTU of the previous link."""
    for stream in system.streams.values():
        for before, after in pairwise(system.links_of(stream)):
            if after.mtu_bytes < before.mtu_bytes:
                text = (
                    f"the stream {stream.name} comes over {before.name} in packets of "
                    f"{before.mtu_bytes} B, and {after.name} takes {after.mtu_bytes} B: give all "
                    "links on its route the same MTU"
                )
                yield Fault(stream.group, before.mtu_bytes, text)


def unserved_priorities(system: System) -> Iterator[Fault]:
    """Find streams whose priority is never served by a port on their route."""
    for stream in system.streams.values():
        ports = (system.ports[name] for name in stream.path)
        port = next((one for one in ports if not one.scheduler.serves(stream.priority)), None)
        if port is not None:
            text = (
                f"the stream {stream.name} has the priority {stream.priority}, which the "
                f"{port.scheduler.kind} scheduler of {port.name} never serves: add this priority there, "
                "or give the stream another"
            )
            yield Fault(stream.group, 0.0, text)


# --- datasets ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DatasetHeader:
    """Header of a dataset: its id, its kinds of interconnect and its protocols, but not its measurements."""

    id: str
    kinds: tuple[str, ...]
    protocols: tuple[str, ...]


def dataset_header(name: str) -> DatasetHeader:
    """Read the header of a dataset (id, kinds of interconnect, protocols) by name or path.

    Raises
    ------
    DatasetError
        If the dataset does not exist.
    """
    document: dict[str, Any] = read_document(find(name))
    fabrics = document.get("fabrics")
    links = [document.get("interconnect"), *(fabrics.values() if isinstance(fabrics, dict) else ())]
    kinds = sorted({str(link.get("kind", "")) for link in links if isinstance(link, dict)})
    protocols = tuple(document.get("protocols", ()))
    return DatasetHeader(str(document.get("id", name)), tuple(kinds), protocols)


def headers_of(system: System) -> tuple[Mapping[str, DatasetHeader], tuple[Fault, ...]]:
    """Headers of the datasets that links and devices name, and a fault for each missing dataset."""
    named = {link.dataset: f"the link {link.name}" for link in system.links.values()}
    named |= {device.dataset: device.name for device in system.devices.values()}
    headers: dict[str, DatasetHeader] = {}
    faults: list[Fault] = []
    for name, where in named.items():
        if name is None:
            continue
        try:
            headers[name] = dataset_header(name)
        except DatasetError as error:
            faults.append(Fault(name, 0.0, f"{where}: {error}"))
    return headers, tuple(faults)


def datasets_of_other_kinds(
    system: System, headers: Mapping[str, DatasetHeader]
) -> Iterator[Fault]:
    """Find links whose interconnect differs from the interconnects of their dataset."""
    for link in system.links.values():
        data = headers.get(link.dataset or "")
        if data is not None and link.interconnect not in data.kinds:
            text = (
                f"the link {link.name} is {link.interconnect}, and {data.id} was measured on "
                f"{', '.join(data.kinds)}: name a dataset of its kind, or none for theory"
            )
            yield Fault((data.id, link.interconnect), 0.0, text)


def unmeasured_protocols(system: System, headers: Mapping[str, DatasetHeader]) -> Iterator[Fault]:
    """Find streams whose protocol is in no dataset on their route."""
    for stream in system.streams.values():
        names = dict.fromkeys(link.dataset for link in system.links_of(stream))
        data = [headers[name] for name in names if name is not None and name in headers]
        if data and not any(stream.protocol in header.protocols for header in data):
            have = "; ".join(f"{header.id} has {', '.join(header.protocols)}" for header in data)
            near = _most_similar(
                stream.protocol, (name for header in data for name in header.protocols)
            )
            meant = f"is {near} meant, or else " if near else ""
            text = (
                f"the stream {stream.name} has the protocol {stream.protocol}, of which no dataset on "
                f"its route has rows ({have}): {meant}name a protocol or a dataset that fits"
            )
            yield Fault(stream.group, 0.0, text)


def misspelt_protocols(system: System, headers: Mapping[str, DatasetHeader]) -> Iterator[Fault]:
    """Find streams whose protocol is unknown to every dataset, but similar to a known protocol."""
    if {stream.protocol for stream in system.streams.values()} <= THEORY_PROTOCOLS:
        return
    every = (*headers.values(), *map(dataset_header, catalogue()))
    known = THEORY_PROTOCOLS | {name for header in every for name in header.protocols}
    for stream in system.streams.values():
        if stream.protocol in known:
            continue
        if near := _most_similar(stream.protocol, known):
            text = (
                f"the stream {stream.name} has the protocol {stream.protocol}, which no dataset knows: "
                f"is {near} meant? Known are {', '.join(sorted(known))}"
            )
            yield Fault(stream.group, 0.0, text)


def _most_similar(name: str, known: Iterable[str]) -> str:
    """Known name that is most similar to the given name; empty if no name is similar."""
    return next(iter(get_close_matches(name.lower(), sorted(set(known)), 1)), "")
