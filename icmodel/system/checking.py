"""Check a system: unconnected, contradictory, overloaded or looped parts, one sentence a finding.

Findings that are alike for several members of a group are one, which counts them and names the worst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from icmodel import units
from icmodel.system.cycles import port_cycle
from icmodel.system.datasets import (
    Fault,
    datasets_of,
    misspelt_streams,
    other_kinds,
    silent_streams,
)
from icmodel.system.groups import MOST_NAMES
from icmodel.system.network import Device, Stream, System
from icmodel.system.overloads import overloads
from icmodel.system.packing import wire
from icmodel.system.schedulers import CreditBased
from icmodel.wording import plural

REFUSED = ("unconnected", "contradictory")
"""Kinds of findings that make a system invalid; systems with other findings can be predicted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check, as a sentence with names and numbers.

    ``kind`` is ``unconnected``, ``contradictory``, ``overloaded`` or ``looped``.
    """

    kind: str
    text: str

    @property
    def refused(self) -> bool:
        """Whether the finding makes the system invalid."""
        return self.kind in REFUSED

    def to_dict(self) -> dict[str, str]:
        """JSON form."""
        return {"kind": self.kind, "text": self.text}


def check(system: System) -> tuple[Finding, ...]:
    """All findings; loads and cycles are checked only if nothing is unconnected or contradictory.

    A cycle of ports is allowed, and reported.
    """
    refused = (
        *_told("unconnected", "node", _unconnected(system)),
        *_told("contradictory", "node", _too_many_links(system)),
        *_unfit_datasets(system),
        *_told("contradictory", "requirement", _unknown_wanted(system)),
        *_told("contradictory", "stream", _impossible_frames(system)),
        *_told("contradictory", "stream", _small_links(system)),
        *_told("contradictory", "stream", _unserved(system)),
        *_told("contradictory", "port", _slopes(system)),
    )
    return refused or (*_told("overloaded", "port", _overloaded(system)), *_looped(system))


def refusal(findings: Iterable[Finding]) -> str:
    """The first finding that makes a system invalid; empty where there is none."""
    return next((one.text for one in findings if one.refused), "")


def _told(kind: str, what: str, faults: Iterable[Fault]) -> Iterator[Finding]:
    """One finding for each key of faults: the most severe, with the count of the others."""
    alike: dict[object, list[Fault]] = {}
    for fault in faults:
        alike.setdefault(fault[0], []).append(fault)
    for some in alike.values():
        _, _, text = max(some, key=lambda fault: fault[1])
        more = f" (likewise {plural(len(some) - 1, what)} more)" if some[1:] else ""
        yield Finding(kind, text + more)


# --- unconnected ------------------------------------------------------------------------------


def _unconnected(system: System) -> Iterator[Fault]:
    linked = {end for link in system.links.values() for end in link.ends}
    for name in (*system.devices, *system.switches):
        if name not in linked:
            yield system.node(name).group, 0.0, f"{name} has no link: connect it, or remove it"


# --- contradictory ----------------------------------------------------------------------------


def _too_many_links(system: System) -> Iterator[Fault]:
    count = Counter(end for link in system.links.values() for end in link.ends)
    for device in system.devices.values():
        if count[device.name] > device.interfaces:
            text = (
                f"{device.name} has {count[device.name]} links and interfaces = {device.interfaces}: "
                "give it as many interfaces as links, or fewer links"
            )
            yield device.group, count[device.name], text


def _unfit_datasets(system: System) -> tuple[Finding, ...]:
    """Datasets that do not fit the links or devices that name them."""
    known, missing = datasets_of(system)
    found = (
        *_told("contradictory", "dataset", missing),
        *_told("contradictory", "link", other_kinds(system, known)),
    )
    return (
        found
        or tuple(_told("contradictory", "stream", silent_streams(system, known)))
        or tuple(_told("contradictory", "stream", misspelt_streams(system, known)))
    )


def _unknown_wanted(system: System) -> Iterator[Fault]:
    """Requirements about streams or devices that do not exist."""
    streams, devices = _named(system.streams.values()), _named(system.devices.values())
    for one in system.requirements:
        for what, name, there in (("stream", one.stream, streams), ("device", one.device, devices)):
            if name is not None and name not in there:
                some = ", ".join(list(dict.fromkeys(there.values()))[:MOST_NAMES]) or "none"
                text = (
                    f"the requirement {one.requirement.name!r} is about the {what} {name}, which is "
                    f"not there: name one of {some}"
                )
                yield name, 0.0, text


def _named(members: Iterable[Stream | Device]) -> dict[str, str]:
    """Every name that a requirement can use, with its group."""
    return {name: one.group for one in members for name in (one.group, one.name)}


def _impossible_frames(system: System) -> Iterator[Fault]:
    """Frames that the protocol of a stream cannot carry over its first link."""
    for stream in system.streams.values():
        link = system.links[system.ports[stream.path[0]].link]
        most = wire(stream.protocol, link).greatest_payload_bytes()
        if most is not None and stream.payload_bytes > most:
            text = (
                f"the stream {stream.name} sends {stream.payload_bytes} B a frame, and "
                f"{stream.protocol} carries at most {most} B over {link.name}: give a smaller payload"
            )
            yield stream.group, stream.payload_bytes, text


def _small_links(system: System) -> Iterator[Fault]:
    """Links with a smaller MTU than the first link of a stream."""
    for stream in system.streams.values():
        for before, after in pairwise(system.links_of(stream)):
            if after.mtu_bytes < before.mtu_bytes:
                text = (
                    f"the stream {stream.name} comes over {before.name} in packets of "
                    f"{before.mtu_bytes} B, and {after.name} takes {after.mtu_bytes} B: give all "
                    "links on its way one MTU"
                )
                yield stream.group, before.mtu_bytes, text


def _unserved(system: System) -> Iterator[Fault]:
    """Streams whose priority is never sent by a port on their route."""
    for stream in system.streams.values():
        ports = (system.ports[name] for name in stream.path)
        port = next((one for one in ports if not one.scheduler.serves(stream.priority)), None)
        if port is not None:
            text = (
                f"the stream {stream.name} has the priority {stream.priority}, which the "
                f"{port.scheduler.kind} scheduler of {port.name} never serves: name it there, "
                "or give the stream another"
            )
            yield stream.group, 0.0, text


def _slopes(system: System) -> Iterator[Fault]:
    for port in system.ports.values():
        if isinstance(port.scheduler, CreditBased):
            total = sum(port.scheduler.idle_slopes_bps.values())
            if total > port.rate_bps:
                text = (
                    f"the idle slopes of {port.name} add up to {units.format_bps(total)} of its "
                    f"{units.format_bps(port.rate_bps)}: give the classes less"
                )
                yield port.node, total / port.rate_bps, text


# --- overloaded and looped --------------------------------------------------------------------


def _overloaded(system: System) -> Iterator[Fault]:
    for over in overloads(system):
        greatest = max(over.load.streams, key=lambda stream: stream.requested_goodput_bps)
        alike = (greatest.group, over.most_bps, over.when)
        yield alike, over.ratio, over.sentence(system)


def _looped(system: System) -> Iterator[Finding]:
    """A cycle in which the streams of each port wait for those of the next."""
    cycle = port_cycle(system.streams.values())
    if cycle:
        yield Finding(
            "looped",
            f"the ways of streams close a cycle of ports, {', then '.join(cycle)} and again: means "
            "are predicted, and worst-case bounds need another route for one of the streams",
        )
