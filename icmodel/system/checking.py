"""Check a system: find unconnected, contradictory and overloaded parts, and routes that form a cycle.

A finding is one sentence. Equal faults of several members of a group are combined into one finding. The
finding names the worst fault and counts the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple

from icmodel import units
from icmodel.dataset import catalogue, find, read_document
from icmodel.errors import NODES, DatasetError, Fault, Place
from icmodel.estimate import plural
from icmodel.system.expansion import ANY_LINK, MOST_NAMES, NAMES
from icmodel.system.network import Stream, System
from icmodel.system.schedulers import CreditBased
from icmodel.system.traffic import overloads, port_cycle, port_loads, wire

REFUSED = ("unconnected", "contradictory")
"""Kinds of findings that make a system invalid; systems with other findings can be predicted."""
KINDS = (*REFUSED, "overloaded", "looped")
"""All kinds of findings about a system."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check: a sentence with names and numbers.

    ``kind`` is ``unconnected``, ``contradictory``, ``overloaded`` or ``looped``. ``fault`` has the sentence, its
    place in the file, and the places of the values from which it follows.
    """

    kind: str
    fault: Fault

    @property
    def text(self) -> str:
        """Sentence that states the fault and its fix."""
        return self.fault.text

    @property
    def refused(self) -> bool:
        """Whether the finding makes the system invalid."""
        return self.kind in REFUSED

    def to_dict(self) -> dict[str, str]:
        """Convert the finding to a dict for JSON."""
        return {"kind": self.kind, "text": self.text}


def check(system: System) -> tuple[Finding, ...]:
    """Check a system, and return all findings.

    Loads and cycles are checked only if no part is unconnected or contradictory. A cycle of ports is
    allowed, but reported.

    Examples
    --------
    >>> from icmodel.system import load
    >>> check(load("imaging"))
    ()
    """
    headers, missing = headers_of(system)
    refused = (
        *_findings("unconnected", "node", unlinked_nodes(system)),
        *_findings("contradictory", "node", too_many_links(system)),
        *_findings("contradictory", "dataset", missing),
        *_findings("contradictory", "link", datasets_of_other_kinds(system, headers)),
        *_findings("contradictory", "stream", fabrics_of_other_kinds(system, headers)),
        *_findings("contradictory", "stream", unmeasured_protocols(system, headers)),
        *_findings("contradictory", "stream", misspelt_protocols(system, headers)),
        *_findings("contradictory", "requirement", missing_subjects(system)),
        *_findings("contradictory", "stream", too_large_frames(system)),
        *_findings("contradictory", "stream", too_small_mtus(system)),
        *_findings("contradictory", "stream", unserved_priorities(system)),
        *_findings("contradictory", "port", too_steep_slopes(system)),
    )
    if refused:
        return refused

    findings = list(_findings("overloaded", "port", overloaded_ports(system)))
    if cycle := port_cycle(system.streams.values()):
        text = (
            f"the routes of streams form a cycle of ports, {', then '.join(cycle)}: only means are "
            "predicted; for worst-case bounds, give one of the streams another route"
        )
        findings.append(Finding("looped", Fault(text)))
    return tuple(findings)


def refusal(findings: Iterable[Finding]) -> str:
    """Text of the first finding that makes a system invalid; empty if the system is valid."""
    return next((finding.text for finding in findings if finding.refused), "")


def _findings(kind: str, part: str, faults: Iterable[PartFault]) -> Iterator[Finding]:
    """Combine faults with equal keys into one finding: the text of the most severe fault, and the number of others."""
    by_key: dict[object, list[PartFault]] = {}
    for fault in faults:
        by_key.setdefault(fault.key, []).append(fault)
    for alike in by_key.values():
        worst = max(alike, key=lambda fault: fault.severity).fault
        more = f" (likewise {plural(len(alike) - 1, part)} more)" if alike[1:] else ""
        yield Finding(kind, worst._replace(text=worst.text + more))


THEORY_PROTOCOLS = {"tcp", "udp", "ethernet"}
"""Protocols whose streams theory can predict without a dataset."""


class PartFault(NamedTuple):
    """A fault: one part that breaks a rule.

    Parameters
    ----------
    key : object
        Faults with equal keys are reported as one finding.
    severity : float
        Rank of the fault: of all faults with one key, only the text of the most severe one is reported.
    fault : Fault
        A sentence with names, numbers and a fix, and its place in the file.
    """

    key: object
    severity: float
    fault: Fault


# --- nodes, ports and requirements ------------------------------------------------------------


def unlinked_nodes(system: System) -> Iterator[PartFault]:
    """Find devices and switches without a link."""
    linked = {end for link in system.links.values() for end in link.ends}
    for name in (*system.devices, *system.switches):
        if name not in linked:
            text = f"{name} has no link: connect it, or remove it"
            group = system.node(name).group
            yield PartFault(group, 0.0, Fault(text, (NODES, group, "links"), (ANY_LINK,)))


def too_many_links(system: System) -> Iterator[PartFault]:
    """Find devices with more links than interfaces."""
    count = Counter(end for link in system.links.values() for end in link.ends)
    for device in system.devices.values():
        if count[device.name] > device.interfaces:
            text = (
                f"{device.name} has {count[device.name]} links and interfaces = {device.interfaces}: "
                "set interfaces to the number of links, or remove links"
            )
            place = ("devices", device.group, "interfaces")
            yield PartFault(device.group, count[device.name], Fault(text, place))


def too_steep_slopes(system: System) -> Iterator[PartFault]:
    """Find ports with a credit-based shaper whose idle slopes add up to more than the port's rate."""
    for port in system.ports.values():
        if isinstance(port.scheduler, CreditBased):
            total = sum(port.scheduler.idle_slopes_bps.values())
            if total > port.rate_bps:
                text = (
                    f"the idle slopes of {port.name} add up to {units.format_bps(total)}, more than its "
                    f"{units.format_bps(port.rate_bps)}: give the classes smaller slopes"
                )
                group = system.node(port.node).group
                link = system.links[port.link].group
                needs = (("links", link, "rate_bps"), (NODES, group, "ports"))
                fault = Fault(text, (NODES, group, "scheduler"), needs)
                yield PartFault(port.node, total / port.rate_bps, fault)


def overloaded_ports(system: System) -> Iterator[PartFault]:
    """Find ports whose load exceeds the port's rate."""
    for over in overloads(port_loads(system)):
        greatest = max(over.load.streams, key=lambda stream: stream.requested_goodput_bps)
        key = (greatest.group, over.most_bps, over.when)
        yield PartFault(key, over.ratio, Fault(over.sentence(system)))


def missing_subjects(system: System) -> Iterator[PartFault]:
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
                subject = "streams" if part == "stream" else NODES
                yield PartFault(
                    name,
                    0.0,
                    Fault(
                        text,
                        ("requirements", each.requirement.name, part),
                        ((subject, name), ("streams", None, "name"), *NAMES),
                        cause=f"no {part}s {name}",
                    ),
                )


# --- streams on their routes ------------------------------------------------------------------


def too_large_frames(system: System) -> Iterator[PartFault]:
    """Find streams whose frames are too large for the protocol on the first link."""
    for stream in system.streams.values():
        link = system.links[system.ports[stream.path[0]].link]
        most = wire(stream.protocol, link).greatest_payload_bytes()
        if most is not None and stream.payload_bytes > most:
            text = (
                f"the stream {stream.name} sends {stream.payload_bytes} B a frame, and "
                f"{stream.protocol} carries at most {most} B over {link.name}: give a smaller payload"
            )
            needs = (
                ("streams", stream.group, "protocol"),
                ("streams", stream.group, "produces"),
                ("links", link.group, "mtu_bytes"),
                ("links", link.group, "interconnect"),
            )
            fault = Fault(text, ("streams", stream.group, "payload_bytes"), needs)
            yield PartFault(stream.group, stream.payload_bytes, fault)


def too_small_mtus(system: System) -> Iterator[PartFault]:
    """Find streams with a link whose MTU is smaller than the MTU of the previous link."""
    for stream in system.streams.values():
        for before, after in pairwise(system.links_of(stream)):
            if after.mtu_bytes < before.mtu_bytes:
                text = (
                    f"the stream {stream.name} has packets of {before.mtu_bytes} B on {before.name}, but "
                    f"the next link {after.name} has an MTU of {after.mtu_bytes} B: give all links on "
                    "the route the same MTU"
                )
                needs = (
                    ("links", before.group, "mtu_bytes"),
                    ("links", before.group, "interconnect"),
                    ("links", after.group, "interconnect"),
                )
                fault = Fault(text, ("links", after.group, "mtu_bytes"), needs)
                yield PartFault(stream.group, before.mtu_bytes, fault)


def unserved_priorities(system: System) -> Iterator[PartFault]:
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
            node = system.node(port.node).group
            needs = ((NODES, node, "scheduler"), (NODES, node, "ports"))
            fault = Fault(text, ("streams", stream.group, "priority"), needs)
            yield PartFault(stream.group, 0.0, fault)


# --- datasets ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DatasetHeader:
    """Header of a dataset: its id, its links and its protocols, but not its measurements.

    Parameters
    ----------
    kind : str
        Kind of interconnect on which the dataset was measured, such as ``ethernet``. Rows with an option value in
        ``fabrics`` were measured on the kind given there instead.
    fabrics : mapping
        (Option, value) -> kind of interconnect on which the rows with this value of the option were measured.
    defaults : mapping
        Option in ``fabrics`` -> value that the option has if a stream does not set it.
    """

    id: str
    kind: str
    fabrics: Mapping[tuple[str, str], str]
    defaults: Mapping[str, str]
    protocols: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of interconnect on which the dataset was measured, such as ``ethernet``, sorted."""
        return tuple(sorted({self.kind, *self.fabrics.values()}))

    def kind_at(self, options: Mapping[str, str]) -> str:
        """Kind of interconnect on which the rows with the given options were measured."""
        chosen = {**self.defaults, **options}
        kinds = (self.fabrics.get((axis, chosen[axis])) for axis in self.defaults)
        return next((kind for kind in kinds if kind is not None), self.kind)


def dataset_header(name: str) -> DatasetHeader:
    """Read the header of a dataset (id, links, protocols) by name or path.

    Raises
    ------
    DatasetError
        If the dataset does not exist.
    """
    document: dict[str, Any] = read_document(find(name))
    link, fabrics, axes = (document.get(key) or {} for key in ("interconnect", "fabrics", "axes"))
    kinds = {
        (str(fabric.get("axis")), str(value)): str(fabric.get("kind"))
        for value, fabric in fabrics.items()
    }
    return DatasetHeader(
        id=str(document.get("id", name)),
        kind=str(link.get("kind", "")),
        fabrics=kinds,
        defaults={
            axis: str(axes.get(axis, {}).get("default", ""))
            for axis in dict.fromkeys(axis for axis, _ in kinds)
        },
        protocols=tuple(document.get("protocols", ())),
    )


def headers_of(system: System) -> tuple[Mapping[str, DatasetHeader], tuple[PartFault, ...]]:
    """Read the headers (dataset.toml) of all datasets that links and devices name.

    Returns the headers by name, and a fault for each dataset that cannot be read.
    """
    named: dict[str | None, tuple[str, Place]] = {
        link.dataset: (f"the link {link.name}", ("links", link.group))
        for link in system.links.values()
    }
    named |= {
        device.dataset: (device.name, ("devices", device.group))
        for device in system.devices.values()
    }
    headers: dict[str, DatasetHeader] = {}
    faults: list[PartFault] = []
    for name, (where, place) in named.items():
        if name is None:
            continue
        try:
            headers[name] = dataset_header(name)
        except DatasetError as error:
            fault = Fault(f"{where}: {error}", (*place, "dataset"))
            faults.append(PartFault(name, 0.0, fault))
    return headers, tuple(faults)


def datasets_of_other_kinds(
    system: System, headers: Mapping[str, DatasetHeader]
) -> Iterator[PartFault]:
    """Find links with a dataset that was not measured on the link's interconnect.

    The datasets of the devices at the link are checked in the same way.
    """
    for link in system.links.values():
        hosts = (system.devices[name] for name in link.ends if name in system.devices)
        owners = [(host.name, host.dataset, ("devices", host.group)) for host in hosts]
        for owner, dataset, place in [*owners, (link.name, link.dataset, ("links", link.group))]:
            data = headers.get(dataset or "")
            if data is None or link.interconnect in data.kinds:
                continue
            text = (
                f"{owner} has the dataset {data.id}, which was measured on {', '.join(data.kinds)}, but "
                f"the link {link.name} is {link.interconnect}: name a dataset measured on "
                f"{link.interconnect}, or none for theory"
            )
            needs = (("links", link.group, "interconnect"),)
            fault = Fault(text, (*place, "dataset"), needs)
            yield PartFault((data.id, link.interconnect), 0.0, fault)


def fabrics_of_other_kinds(
    system: System, headers: Mapping[str, DatasetHeader]
) -> Iterator[PartFault]:
    """Find streams whose options select dataset rows of the wrong interconnect.

    Such rows were measured on another interconnect than that of the stream's link.
    """
    for stream in system.streams.values():
        links = system.links_of(stream)
        source, sink = system.devices[stream.source], system.devices[stream.sink]
        asked = [(source.dataset, links[0]), (sink.dataset, links[-1])]
        for dataset, link in [*asked, *((link.dataset, link) for link in links)]:
            data = headers.get(dataset or "")
            if data is None or link.interconnect not in data.kinds:
                continue
            kind = data.kind_at(stream.options)
            if kind == link.interconnect:
                continue
            fabrics = (
                f'options = {{ {axis} = "{value}" }}'
                for (axis, value), of in data.fabrics.items()
                if of == link.interconnect
            )
            text = (
                f"the stream {stream.name} has options that select {kind} in {data.id}, but its link "
                f"{link.name} is {link.interconnect}: give the stream {next(fabrics, 'other options')}"
            )
            needs = (("links", link.group, "interconnect"), ("links", link.group, "dataset"))
            fault = Fault(text, ("streams", stream.group, "options"), needs)
            yield PartFault((stream.group, data.id, link.interconnect), 0.0, fault)
            break


def route_headers(
    system: System, stream: Stream, headers: Mapping[str, DatasetHeader]
) -> list[DatasetHeader] | None:
    """Return the headers (id, links and protocols) of all datasets along a stream's route, each dataset once.

    Each link of the route may name a dataset. The result is None if ``headers`` lacks one of these datasets, or if one
    was measured on another interconnect than that of its link.
    """
    found = dict[str, DatasetHeader]()
    for link in system.links_of(stream):
        if link.dataset is None:
            continue
        header = headers.get(link.dataset)
        if header is None or link.interconnect not in header.kinds:
            return None
        found[link.dataset] = header
    return list(found.values())


def unmeasured_protocols(
    system: System, headers: Mapping[str, DatasetHeader]
) -> Iterator[PartFault]:
    """Find streams whose protocol is in no dataset on their route."""
    for stream in system.streams.values():
        data = route_headers(system, stream, headers)
        if data and not any(stream.protocol in header.protocols for header in data):
            have = "; ".join(f"{header.id} has {', '.join(header.protocols)}" for header in data)
            near = _most_similar(
                stream.protocol, (name for header in data for name in header.protocols)
            )
            meant = f"is {near} meant, or else " if near else ""
            text = (
                f"the stream {stream.name} has the protocol {stream.protocol}, but no dataset on its "
                f"route has rows of this protocol ({have}): {meant}name a protocol or a dataset that fits"
            )
            needs = (("links", None, "dataset"),)
            fault = Fault(text, ("streams", stream.group, "protocol"), needs)
            yield PartFault(stream.group, 0.0, fault)


def misspelt_protocols(system: System, headers: Mapping[str, DatasetHeader]) -> Iterator[PartFault]:
    """Find streams whose protocol is unknown to every dataset, but similar to a known protocol.

    Only streams without a dataset on their route are checked here; see `unmeasured_protocols` for the others.
    """
    if {stream.protocol for stream in system.streams.values()} <= THEORY_PROTOCOLS:
        return
    every = (*headers.values(), *map(dataset_header, catalogue()))
    known = THEORY_PROTOCOLS | {name for header in every for name in header.protocols}
    for stream in system.streams.values():
        if stream.protocol in known or route_headers(system, stream, headers) != []:
            continue
        if near := _most_similar(stream.protocol, known):
            text = (
                f"the stream {stream.name} has the protocol {stream.protocol}, which no dataset knows: "
                f"is {near} meant? Known are {', '.join(sorted(known))}"
            )
            fault = Fault(text, ("streams", stream.group, "protocol"))
            yield PartFault(stream.group, 0.0, fault)


def _most_similar(name: str, known: Iterable[str]) -> str:
    """Known name that is most similar to the given name; empty if no name is similar."""
    return next(iter(get_close_matches(name.lower(), sorted(set(known)), 1)), "")
