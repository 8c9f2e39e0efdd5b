"""The way of a stream: what its dataset does not know of switches, cables and applications, and theory's least."""

from __future__ import annotations

import math

import numpy as np

from icmodel.estimate import Estimate, absent
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing
from icmodel.system.prediction.asking import Spoken
from icmodel.system.prediction.latency import Added
from icmodel.system.sharing.transfer import pipelined_s

SWITCHES, CABLES, APPLICATION = "switches", "cables", "the application"


def shifts(system: System, packed: Packing, spoken: Spoken) -> tuple[dict[str, float], ...]:
    """By stream the times [s] to add to what its dataset answers; 0 where that knows them."""
    streams = list(system.streams.values())
    found = [{APPLICATION: application_s(system, stream)} for stream in streams]
    for speaker in spoken.speakers:
        own_s = speaker.model.data.link(speaker.options).switch_latency_s
        rows = zip(
            speaker.streams.tolist(),
            speaker.columns["switches"].tolist(),
            speaker.columns["distance_m"].tolist(),
            strict=True,
        )
        for index, switches, distance_m in rows:
            stream = streams[index]
            asked = len(stream.path) - 1
            beside = 0.0 if switches == asked or own_s is None else own_s * switches
            if switches != asked:
                found[index][SWITCHES] = switching_s(system, packed, stream) - beside
            elif own_s is not None:
                differ = sum(switch.latency_s - own_s for switch in system.switches_of(stream))
                found[index][SWITCHES] = differ
            if math.isnan(distance_m):
                found[index][CABLES] = system.cables_s(stream)
    return tuple(found)


def application_s(system: System, stream: Stream) -> float:
    """What the applications of both ends do with a frame [s]."""
    return system.devices[stream.source].app_send_s + system.devices[stream.sink].app_recv_s


def switching_s(system: System, packed: Packing, stream: Stream) -> float:
    """What switches add to a frame [s]: their latency, and of those that store it receiving a packet."""
    added = 0.0
    for switch, link in zip(system.switches_of(stream), system.links_of(stream), strict=False):
        stores = switch.forwarding != "cut-through"
        stored_s = packed.of(stream, link).packet_bits / link.rate_bps if stores else 0.0
        added += switch.latency_s + stored_s
    return added


def least_s(system: System, packed: Packing, stream: Stream) -> float:
    """Theory's least time of one frame over its links and switches [s]: its packets follow one another."""
    links, switches = system.links_of(stream), system.switches_of(stream)
    frames = [packed.of(stream, link) for link in links]
    stores = any(switch.forwarding != "cut-through" for switch in switches)
    packet = max(one.packet_bits for one in frames) if stores else 0.0
    latencies = [link.delay_s for link in links]
    return float(
        pipelined_s(
            stream.payload_bytes * 8 * max(one.ratio for one in frames),
            np.array(packet),
            [link.rate_bps for link in links],
            latencies,
        )
    ) + sum(switch.latency_s for switch in switches)


def latency_by_theory(name: str, least: float, way: Added, why: str) -> Estimate:
    """A latency that no dataset speaks for: at least theory's time of the frame; hosts may add anything."""
    statistic = name.removeprefix("latency_").removesuffix("_s")
    if statistic == "std":
        return absent(why)
    wait = way.mean_s  # a quantile or maximum waits no less
    if way.why:
        return Estimate(math.nan, least, math.inf, "theory", f"{why}; {way.why}", ("theory",))
    return Estimate(least + wait, least, math.inf, "theory", f"{why}; hosts add to it", ("theory",))
