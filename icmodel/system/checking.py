"""Check a system: unconnected, contradictory, overloaded or looped parts, one sentence a finding.

Findings that are alike for several members of a group are one, which counts them and names the worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from icmodel import units
from icmodel.system.cycles import port_cycle
from icmodel.system.datasets import datasets_of, other_kinds, silent_streams
from icmodel.system.groups import MOST_NAMES
from icmodel.system.loads import wire
from icmodel.system.network import Device, Stream, System
from icmodel.system.overloads import overloads
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
        *_unconnected(system),
        *_too_many_links(system),
        *_unfit_datasets(system),
        *_unknown_wanted(system),
        *_impossible_frames(system),
        *_small_links(system),
        *_unserved(system),
        *_slopes(system),
    )
    return refused or (*_overloaded(system), *_looped(system))


def _counted(found: Iterable[tuple[object, float, str]], what: str) -> Iterator[str]:
    """One sentence for each key: that with the greatest number, with the count of the others."""
    worst: dict[object, tuple[float, str, int]] = {}
    for key, amount, text in found:
        known = worst.get(key)
        if known is None:
            worst[key] = amount, text, 0
        else:
            best = known if known[0] >= amount else (amount, text, 0)
            worst[key] = best[0], best[1], known[2] + 1
    for _, text, more in worst.values():
        yield f"{text} (likewise {plural(more, what)} more)" if more else text


# --- unconnected ------------------------------------------------------------------------------


def _unconnected(system: System) -> Iterator[Finding]:
    linked = {end for link in system.links.values() for end in link.ends}
    loose = (
        (system.node(name).group, 0.0, f"{name} has no link: connect it, or remove it")
        for name in (*system.devices, *system.switches)
        if name not in linked
    )
    yield from (Finding("unconnected", text) for text in _counted(loose, "node"))


# --- contradictory ----------------------------------------------------------------------------


def _too_many_links(system: System) -> Iterator[Finding]:
    count: dict[str, int] = {}
    for link in system.links.values():
        for end in link.ends:
            count[end] = count.get(end, 0) + 1
    over = (
        (
            device.group,
            count.get(device.name, 0),
            f"{device.name} has {count[device.name]} links and interfaces = {device.interfaces}: "
            "give it as many interfaces as links, or fewer links",
        )
        for device in system.devices.values()
        if count.get(device.name, 0) > device.interfaces
    )
    yield from (Finding("contradictory", text) for text in _counted(over, "node"))


def _unfit_datasets(system: System) -> Iterator[Finding]:
    """Datasets that do not fit the links or devices that name them."""
    known, missing = datasets_of(system)
    told = (*_counted(missing, "dataset"), *_counted(other_kinds(system, known), "link"))
    if not told:
        told = tuple(_counted(silent_streams(system, known), "stream"))
    yield from (Finding("contradictory", text) for text in told)


def _unknown_wanted(system: System) -> Iterator[Finding]:
    """Requirements about streams or devices that do not exist."""
    streams, devices = _named(system.streams.values()), _named(system.devices.values())
    found = []
    for one in system.requirements:
        for what, name, there in (("stream", one.stream, streams), ("device", one.device, devices)):
            if name is not None and name not in there:
                some = ", ".join(list(dict.fromkeys(there.values()))[:MOST_NAMES]) or "none"
                text = (
                    f"the requirement {one.requirement.name!r} is about the {what} {name}, which is "
                    f"not there: name one of {some}"
                )
                found.append((name, 0.0, text))
    yield from (Finding("contradictory", text) for text in _counted(found, "requirement"))


def _named(members: Iterable[Stream | Device]) -> dict[str, str]:
    """Every name that a requirement can use, with its group."""
    return {name: one.group for one in members for name in (one.group, one.name)}


def _impossible_frames(system: System) -> Iterator[Finding]:
    """Frames that the protocol of a stream cannot carry over its first link."""
    found = []
    for stream in system.streams.values():
        link = system.links[system.ports[stream.path[0]].link]
        most = wire(stream.protocol, link).greatest_payload_bytes()
        if most is not None and stream.payload_bytes > most:
            text = (
                f"the stream {stream.name} sends {stream.payload_bytes} B a frame, and "
                f"{stream.protocol} carries at most {most} B over {link.name}: give a smaller payload"
            )
            found.append((stream.group, float(stream.payload_bytes), text))
    yield from (Finding("contradictory", text) for text in _counted(found, "stream"))


def _small_links(system: System) -> Iterator[Finding]:
    """Links with a smaller MTU than the first link of a stream."""
    found = []
    for stream in system.streams.values():
        for before, after in pairwise(system.links_of(stream)):
            if after.mtu_bytes < before.mtu_bytes:
                text = (
                    f"the stream {stream.name} comes over {before.name} in packets of "
                    f"{before.mtu_bytes} B, and {after.name} takes {after.mtu_bytes} B: give all "
                    "links on its way one MTU"
                )
                found.append((stream.group, float(before.mtu_bytes), text))
    yield from (Finding("contradictory", text) for text in _counted(found, "stream"))


def _unserved(system: System) -> Iterator[Finding]:
    """Streams whose priority is never sent by a port on their route."""
    found = []
    for stream in system.streams.values():
        for port in (system.ports[name] for name in stream.path):
            if not port.scheduler.serves(stream.priority):
                text = (
                    f"the stream {stream.name} has the priority {stream.priority}, which the "
                    f"{port.scheduler.kind} scheduler of {port.name} never serves: name it there, "
                    "or give the stream another"
                )
                found.append((stream.group, 0.0, text))
                break
    yield from (Finding("contradictory", text) for text in _counted(found, "stream"))


def _slopes(system: System) -> Iterator[Finding]:
    found = []
    for port in system.ports.values():
        if isinstance(port.scheduler, CreditBased):
            total = sum(port.scheduler.idle_slopes_bps.values())
            if total > port.rate_bps:
                text = (
                    f"the idle slopes of {port.name} add up to {units.format_bps(total)} of its "
                    f"{units.format_bps(port.rate_bps)}: give the classes less"
                )
                found.append((port.node, total / port.rate_bps, text))
    yield from (Finding("contradictory", text) for text in _counted(found, "port"))


# --- overloaded and looped --------------------------------------------------------------------


def _overloaded(system: System) -> Iterator[Finding]:
    found = []
    for over in overloads(system):
        greatest = max(over.load.streams, key=lambda stream: stream.requested_goodput_bps)
        alike = (greatest.group, over.most_bps, over.when)
        found.append((alike, over.ratio, over.sentence(system)))
    yield from (Finding("overloaded", text) for text in _counted(found, "port"))


def _looped(system: System) -> Iterator[Finding]:
    """A cycle in which the streams of each port wait for those of the next."""
    cycle = port_cycle(system.streams.values())
    if cycle:
        yield Finding(
            "looped",
            f"the ways of streams close a cycle of ports, {', then '.join(cycle)} and again: means "
            "are predicted, and worst-case bounds need another route for one of the streams",
        )
