"""A system as Saihu's output-port network: a server for each port, flows with their bits on the wire.

The format is that of `saihu_ports`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from icmodel.system.arrivals import arrival
from icmodel.system.formats.foreign import FAST_BPS
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing, packing

NOT_SAID = (
    "schedulers, priorities, buffers, datasets, cores and requirements have no place in Saihu's file: every "
    "port is first come, first served"
)


def exported(system: System) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Servers for all ports that send, flows with the bits they have on the wire; and remarks."""
    packed = packing(system)
    kept = [stream for stream in system.streams.values() if stream.producer is not None]
    used = dict.fromkeys(name for stream in kept for name in _path(system, stream))
    document: dict[str, object] = {
        "network": {
            "name": system.name,
            "packetizer": True,
            "multiplexing": "FIFO",
            "time_unit": "s",
            "data_unit": "b",
            "rate_unit": "bps",
        },
        "flows": [
            _flow(system, packed, name, copies)
            for (_, name), copies in system.copies().items()
            if copies[0].producer is not None
        ],
        "servers": [_server(system, name) for name in used],
    }
    return document, tuple(_remarks(system, len(used)))


def _remarks(system: System, servers: int) -> Iterator[str]:
    yield NOT_SAID
    yield "bursts and rates are those on the wire, with all that goes around a frame"
    streams = system.streams.values()
    if servers < len({name for one in streams if one.producer for name in one.path}):
        yield "ports of 1 Tb/s, which stand for links of which nobody said a rate, are left out"
    for stream in streams:
        if stream.producer is None:
            yield f"{stream.name} sends as fast as it goes, which no arrival curve says: left out"


def _path(system: System, stream: Stream) -> list[str]:
    """The ports of a stream, without those that stand for no link of a known rate."""
    said = [name for name in stream.path if system.ports[name].rate_bps != FAST_BPS]
    return said or list(stream.path)


def _server(system: System, name: str) -> dict[str, object]:
    port = system.ports[name]
    node = system.switches.get(port.node)
    latency = (node.latency_s if node else 0.0) + system.links[port.link].delay_s
    return {
        "name": name,
        "service_curve": {"latencies": [latency], "rates": [port.rate_bps]},
        "capacity": port.rate_bps,
    }


def _flow(system: System, packed: Packing, name: str, copies: list[Stream]) -> dict[str, object]:
    first = copies[0]
    each = [packed.of(one, link) for one in copies for link in system.links_of(one)]
    longest = max(on.waiting.longest_bits for on in each)
    buckets = arrival(first, each, longest, system.ports[first.path[0]].rate_bps).buckets
    found: dict[str, object] = {
        "name": name,
        "path": _path(system, first),
        "arrival_curve": {
            "bursts": [bucket.burst_bits for bucket in buckets],
            "rates": [bucket.rate_bps for bucket in buckets],
        },
        "max_packet_length": longest,
    }
    if copies[1:]:
        found["multicast"] = [{"name": one.name, "path": _path(system, one)} for one in copies[1:]]
    return found
