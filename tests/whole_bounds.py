"""Bounds of random whole systems over what the packet simulator shows of them: how tight they are, and which break."""

from __future__ import annotations

from dataclasses import dataclass

from drawn_systems import document
from icmodel.system.network import Stream, System
from icmodel.system.prediction.bounding import NETWORK
from simulated_packets import carrier, cut
from system_contradictions import ARRIVING, Case, broken, ports_of

BROKEN = (
    "no bound is below a simulation",
    "no backlog is above its bound",
    "no bound is below a simulation with hosts that hold frames back",
    "no bound is below a simulation with the buffers that are said",
)
MIXED = "mixed"


@dataclass(frozen=True)
class Tightness:
    """Bound over simulated, of a stream's delay or a port's backlog.

    Bounds that have hosts in them or stated buffers are left out, since these runs have neither.  ``scheduler`` is that of its ports beside first come, first served, ``forwarding`` that of its switches, ``form`` how
    its frames are packets.
    """

    what: str
    scheduler: str
    forwarding: str
    form: str
    ratio: float


@dataclass(frozen=True)
class Held:
    """Bounds of one system held against simulations of it."""

    ratios: list[Tightness]
    unbounded: int
    broken: list[str]


def held(seed: int) -> Held:
    """Bound and simulate the system of a seed."""
    case = Case(document(seed), seed)
    found: list[Tightness] = []
    unbounded = 0
    for name, one in case.prediction.streams.items():
        most = case.seen.streams[name].frames.greatest_s
        if one.latency_bound is None:
            unbounded += 1
        elif (
            most > 0
            and NETWORK in one.latency_bound.covers
            and ARRIVING not in one.latency_bound.covers
        ):
            kinds = _kinds(case.system, one.stream)
            found.append(Tightness("delay", *kinds, one.latency_bound.value_s / most))
    for name, port in ports_of(case):
        most, node = case.seen.backlogs_bytes[name], case.system.node(case.system.ports[name].node)
        lossless = getattr(node, "buffer_bytes", None) is None
        if lossless and port.backlog_bound_bytes is not None and most > 0:
            kind = case.system.ports[name].scheduler.kind
            found.append(Tightness("backlog", kind, "", "", port.backlog_bound_bytes / most))
    return Held(found, unbounded, [str(one) for one in broken(case, BROKEN)])


def _kinds(system: System, stream: Stream) -> tuple[str, str, str]:
    """Scheduler, forwarding and form of a stream."""
    schedulers = {system.ports[name].scheduler.kind for name in stream.path} - {"fifo"}
    ways = {switch.forwarding for switch in system.switches_of(stream)}
    return (
        MIXED if len(schedulers) > 1 else next(iter(schedulers), "fifo"),
        MIXED if len(ways) > 1 else next(iter(ways), "no switch"),
        _form(system, stream),
    )


def _form(system: System, stream: Stream) -> str:
    link, made = system.links_of(stream)[0], stream.producer
    carried = carrier(stream.protocol, link.interconnect)
    lines = {line for _, line in cut(stream.payload_bytes, carried, link.mtu_bytes)}
    whole = made is None or made.message_bytes % stream.payload_bytes == 0
    (full, *_) = sorted(lines, reverse=True)
    most = max(line for _, line in cut(100_000, carried, link.mtu_bytes))
    return f"{carried}, {'full packets' if whole and lines == {full} and full == most else 'short packets too'}"
