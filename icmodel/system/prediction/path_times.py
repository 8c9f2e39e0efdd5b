"""Times of a stream's path: theory's least of a frame, and what its dataset does not know of switches and cables.

Forwarding is decided switch by switch: a cut-through switch stores a packet that goes on to a faster line.  What of the
network is in a dataset's own latency is a path, too: as many switches as it answered for, of its kind, and lines of its
rate.  What is added to its answer is the difference between both paths, so nothing where they are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.estimate import Estimate, absent
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packed, Packets, Packing
from icmodel.system.prediction.asking import Spoken
from icmodel.system.prediction.latency import Added, later_s
from icmodel.system.sharing.transfer import Run, pipelined_s, storing

SWITCHES, CABLES, APPLICATION = "switches", "cables", "the application"
CUT_THROUGH = "cut-through"
CUTTING_KINDS = ("infiniband", "rapidio")
"""Interconnects whose datasets were measured over switches that cut through; on all others they store (assumed)."""
NO_WIRE = "loopback"
"""Kind of a dataset without any wire in its latency."""


def shifts(system: System, packed: Packing, spoken: Spoken) -> tuple[dict[str, float], ...]:
    """By stream the times [s] to add to what its dataset answers; 0 where that knows them.

    A dataset's switch latency is compared with a switch's as it is written; whether a packet is stored besides
    counts where the two paths differ in it.  Links whose token bucket passes a burst at once store nothing.
    """
    streams = list(system.streams.values())
    found = [{APPLICATION: application_s(system, stream)} for stream in streams]
    for index, own in _answered(spoken):
        stream = streams[index]
        latencies = [switch.latency_s for switch in system.switches_of(stream)]
        known = [own.latency_s] * own.switches if own.latency_s is not None else latencies
        added = math.fsum(latencies) - math.fsum(known[: own.switches])
        if not own.at_once:
            added += _stored_s(system, packed, stream) - own.stored_s(system, packed, stream)
        found[index][SWITCHES] = added
        if not own.cables:
            found[index][CABLES] = system.cables_s(stream)
    return tuple(found)


def contained_s(system: System, packed: Packing, spoken: Spoken) -> tuple[float, ...]:
    """By stream what of the network is in its dataset's latency at least [s]; 0 where nobody knows it.

    A switch that stores may have it in the latency that its dataset states, so that it counts for nothing.
    """
    streams = list(system.streams.values())
    found = [0.0] * len(streams)
    for index, own in _answered(spoken):
        stream = streams[index]
        if own.rate_bps is not None and not own.at_once:
            found[index] += replace(own, switches=0).stored_s(system, packed, stream)
        found[index] += own.switches * (own.latency_s or 0.0)
        found[index] += system.cables_s(stream) if own.cables else 0.0
    return tuple(found)


def application_s(system: System, stream: Stream) -> float:
    """What the applications of both ends do with a frame [s]."""
    return system.devices[stream.source].app_send_s + system.devices[stream.sink].app_recv_s


def least_s(system: System, packed: Packing, stream: Stream) -> float:
    """Theory's least time of a full frame over its links and switches, where it meets nothing [s]."""
    latencies = sum(switch.latency_s for switch in system.switches_of(stream))
    return system.cables_s(stream) + latencies + _stored_s(system, packed, stream)


def latency_by_theory(name: str, least: float, way: Added, why: str) -> Estimate:
    """A latency that no dataset speaks for: at least theory's time of the frame; hosts may add anything."""
    statistic = name.removeprefix("latency_").removesuffix("_s")
    if statistic == "std":
        return absent(why)
    if way.why:
        return Estimate(math.nan, least, math.inf, "theory", f"{why}; {way.why}", ("theory",))
    value = least + later_s(statistic, way)
    return Estimate(value, least, math.inf, "theory", f"{why}; hosts add to it", ("theory",))


# --- paths --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Own:
    """The path that a dataset answered for.

    Parameters
    ----------
    rate_bps : float, optional
        Of its lines [b/s]; ``None`` where its source does not say.
    latency_s : float, optional
        Of each of its switches [s].
    cables : bool
        Whether it answered for the cables of the system.
    """

    kind: str
    switches: int
    rate_bps: float | None
    latency_s: float | None
    at_once: bool
    cables: bool

    def stored_s(self, system: System, packed: Packing, stream: Stream) -> float:
        """Time of a frame's packets on its lines and in switches that store them [s].

        Lines of unknown rate are as fast as the slower of the stream's first and last link (assumed).
        """
        if self.kind == NO_WIRE:
            return 0.0
        links = system.links_of(stream)
        ends = min(links[0].rate_bps, links[-1].rate_bps)
        lines = self.switches + 1
        frame = [packed.of(stream, links[-1])] * lines
        stores = [self.kind not in CUTTING_KINDS] * self.switches
        return _packets_s(stream, frame, [self.rate_bps or ends] * lines, stores)


def _answered(spoken: Spoken) -> Iterator[tuple[int, _Own]]:
    """The streams that a dataset speaks for, by index, and the path it answered for."""
    for speaker in spoken.speakers:
        link = speaker.model.data.link(speaker.options)
        columns = ("switches", "distance_m", "line_rate_bps")
        rows = zip(
            speaker.streams.tolist(),
            *(speaker.columns[name].tolist() for name in columns),
            strict=True,
        )
        for index, switches, distance_m, rate_bps in rows:
            yield (
                index,
                _Own(
                    kind=link.kind,
                    switches=int(switches),
                    rate_bps=link.line_rate_bps if math.isnan(rate_bps) else rate_bps,
                    latency_s=link.switch_latency_s,
                    at_once=bool(link.burst_bytes),
                    cables=not math.isnan(distance_m),
                ),
            )


def _stored_s(system: System, packed: Packing, stream: Stream) -> float:
    """Time of a frame's packets on the system's lines and in switches that store them [s]."""
    links = system.links_of(stream)
    rates = [link.rate_bps for link in links]
    through = [switch.forwarding == CUT_THROUGH for switch in system.switches_of(stream)]
    frame = [packed.of(stream, link) for link in links]
    return _packets_s(stream, frame, rates, storing(through, rates))


def _packets_s(
    stream: Stream, packed: Sequence[Packed], rates_bps: Sequence[float], stores: Sequence[bool]
) -> float:
    """Time of a frame's packets on lines, given how they are packed on each [s]."""
    made = stream.producer
    short = made is not None and made.message_bytes < stream.payload_bytes
    frames = [one.message if short else one.frame for one in packed]
    gaps = np.array([one.gap_bits for one in packed])
    return pipelined_s(_runs(frames), rates_bps, stores, gaps)


def _runs(frames: Sequence[Packets]) -> list[Run]:
    """The packets of a frame, given those on each line: the first, those between, the last.

    A line on which a frame has fewer packets than on another is taken to cut it evenly into as many (assumed).
    """
    number = max(one.number for one in frames)
    cut = [one if one.number == number else _evenly(one, number) for one in frames]
    last = np.array([one.last_bits for one in cut])
    if number == 1:
        return [Run(1, last)]
    first = np.array([one.longest_bits for one in cut])
    rest = np.array([one.sum_bits for one in cut]) - first - last
    between = [Run(number - 2, rest / (number - 2))] if number > 2 else []
    return [Run(1, first), *between, Run(1, last)]


def _evenly(one: Packets, number: int) -> Packets:
    each = one.sum_bits / number
    return Packets(number, one.sum_bits, each, each, each)
