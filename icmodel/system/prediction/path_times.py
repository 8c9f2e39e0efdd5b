"""Times of a stream's path: theory's least of a frame, and what its dataset does not know of switches and cables.

Forwarding is decided switch by switch: a cut-through switch stores a packet that goes on to a faster line.  What of the
network is in a dataset's own latency is a path, too: as many switches as it answered for, of its kind, and lines of its
rate.  What is added to its answer is the difference between both paths, so nothing where they are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Floats
from icmodel.estimate import Estimate, absent
from icmodel.system.bounds import Bound
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packed, Packets, Packing
from icmodel.system.prediction.lanes import Speaker, Spoken, ask, is_elastic
from icmodel.system.prediction.latency import Added, later_s
from icmodel.system.prediction.queues import sent_at_once
from icmodel.system.sharing.allocation import Windows
from icmodel.system.sharing.transfer import Run, pipelined_s, storing

SWITCHES, CABLES, APPLICATION = "switches", "cables", "the application"
CUT_THROUGH = "cut-through"
CUTTING_KINDS = ("infiniband", "rapidio")
"""Interconnects whose datasets were measured over switches that cut through; on all others they store (assumed)."""
HOSTS_ADD = "hosts add to it"
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
            found[index][CABLES] = system.propagation_s(stream)
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
        found[index] += system.propagation_s(stream) if own.cables else 0.0
    return tuple(found)


def application_s(system: System, stream: Stream) -> float:
    """What the applications of both ends do with a frame [s]."""
    return system.devices[stream.source].app_send_s + system.devices[stream.sink].app_recv_s


def least_s(system: System, packed: Packing, stream: Stream) -> float:
    """Theory's least time of a full frame over its links and switches, where it meets nothing [s]."""
    latencies = sum(switch.latency_s for switch in system.switches_of(stream))
    return system.propagation_s(stream) + latencies + _stored_s(system, packed, stream)


def worst_waits_s(system: System, packed: Packing, bounds: Mapping[str, Bound]) -> Floats:
    """The wait in the network that no frame of each stream exceeds [s], (streams,); infinite without a bound.

    A frame may also wait for what its hosts' dataset has a full token bucket let pass at once.
    """
    return np.array(
        [
            max(bounds[name].value_s - least_s(system, packed, stream), 0.0)
            + max(
                min(8 * link.burst_bytes, packed.of(stream, link).frame.sum_bits) / link.rate_bps
                for link in system.links_of(stream)
            )
            if name in bounds
            else math.inf
            for name, stream in system.streams.items()
        ]
    )


def latencies_by_theory(
    system: System, packed: Packing, stream: Stream, way: Added, why: str
) -> dict[str, Estimate]:
    """Latencies of a stream that no dataset speaks for: at least theory's times of its frames; hosts may add anything.

    Frames that are sent one by one are as long as each is; of those handed over at once the first one counts, which is full.
    """
    full_s, rest_s, frames = _frame_times_s(system, packed, stream)
    own_s = application_s(system, stream)
    least = own_s + min(full_s, rest_s)
    mean = own_s + full_s + (0.0 if sent_at_once(stream) else (rest_s - full_s) / frames)
    found = {"latency_std_s": absent(why)}
    for statistic, lone_s in (("mean", mean), ("p99", own_s + full_s), ("max", own_s + full_s)):
        value, said = (
            (math.nan, way.why) if way.why else (lone_s + later_s(statistic, way), HOSTS_ADD)
        )
        told = Estimate(value, least, math.inf, "theory", f"{why}; {said}", ("theory",))
        found[f"latency_{statistic}_s"] = told
    return found


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
        stores = [self.kind not in CUTTING_KINDS] * self.switches
        last = packed.of(stream, links[-1])
        frames = [_frame(stream, last)] * lines
        return _packets_s(frames, [self.rate_bps or ends] * lines, stores, [last.gap_bits] * lines)


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


def _frame_times_s(system: System, packed: Packing, stream: Stream) -> tuple[float, float, int]:
    """Times of a full frame and of the last one of a message, where they meet nothing [s], and frames of a message."""
    full_s = least_s(system, packed, stream)
    message = 0.0 if stream.producer is None else stream.producer.message_bytes
    whole, rest = divmod(max(math.ceil(message), 1), stream.payload_bytes)
    if not whole or not rest:
        return full_s, full_s, max(whole, 1)
    links = system.links_of(stream)
    last = [_last_frame(packed.of(stream, link), whole) for link in links]
    rest_s = (
        full_s - _stored_s(system, packed, stream) + _over_links_s(system, packed, stream, last)
    )
    return full_s, rest_s, whole + 1


def _frame(stream: Stream, packed: Packed) -> Packets:
    """The packets of a full frame, or of a message that is less than one."""
    made = stream.producer
    less = made is not None and made.message_bytes < stream.payload_bytes
    return packed.message if less else packed.frame


def _last_frame(packed: Packed, whole: int) -> Packets:
    """The packets of what is left of a message behind so many full frames."""
    message, frame = packed.message, packed.frame
    number = message.number - whole * frame.number
    longest = message.last_bits if number == 1 else frame.longest_bits
    left = message.sum_bits - whole * frame.sum_bits
    return Packets(number, left, longest, message.last_bits, message.last_bits)


def _stored_s(system: System, packed: Packing, stream: Stream) -> float:
    """Time of a frame's packets on the system's lines and in switches that store them [s]."""
    links = system.links_of(stream)
    frames = [_frame(stream, packed.of(stream, link)) for link in links]
    return _over_links_s(system, packed, stream, frames)


def _over_links_s(
    system: System, packed: Packing, stream: Stream, frames: Sequence[Packets]
) -> float:
    """The same of given packets, by link."""
    links = system.links_of(stream)
    rates = [link.rate_bps for link in links]
    through = [switch.forwarding == CUT_THROUGH for switch in system.switches_of(stream)]
    gaps = [packed.of(stream, link).gap_bits for link in links]
    return _packets_s(frames, rates, storing(through, rates), gaps)


def _packets_s(
    frames: Sequence[Packets],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gaps_bits: Sequence[float],
) -> float:
    """Time of a frame's packets on lines, given those on each [s]."""
    return pipelined_s(_runs(frames), rates_bps, stores, np.array(gaps_bits))


def _runs(frames: Sequence[Packets]) -> list[Run]:
    """The packets of a frame, given those on each line: the first, those between, the last.

    A line on which a frame has fewer packets than on another is taken to cut it evenly into as many (assumed).
    """
    number = max(one.number for one in frames)
    cut = [one if one.number == number else _evenly(one, number) for one in frames]
    last = np.array([one.last_bits for one in cut])
    if number == 1:
        return [Run(1, last)]
    longest, total = (
        np.array([getattr(one, of) for one in cut]) for of in ("longest_bits", "sum_bits")
    )
    first = np.where(longest > last, longest, (total - last) / (number - 1))
    rest = total - first - last
    between = [Run(number - 2, rest / (number - 2))] if number > 2 else []
    return [Run(1, first), *between, Run(1, last)]


def _evenly(one: Packets, number: int) -> Packets:
    each = one.sum_bits / number
    return Packets(number, one.sum_bits, each, each, each)


def windows(system: System, packed: Packing, said: Spoken) -> Windows:
    """The windows that the system's file names, and the round trips of their streams.

    An acknowledgement is taken to need as long as a frame that meets nothing; theory's least time of a frame
    stands in where no dataset has its latency.
    """
    streams = list(system.streams.values())
    bits = np.array(
        [
            np.inf if one.window_bytes is None or not is_elastic(one) else 8.0 * one.window_bytes
            for one in streams
        ]
    )
    if not np.isfinite(bits).any():
        return Windows(bits, np.ones(len(streams)))
    lone = ask(said, {"rate_fps": np.ones(len(streams))}).value("latency_mean_s")
    added = np.array([sum(one.values()) for one in shifts(system, packed, said)])
    least = np.array([least_s(system, packed, one) for one in streams])
    return Windows(bits, 2 * np.where(np.isnan(lone), least, lone + added))


def paced(said: Spoken, limit_bps: Floats) -> Spoken:
    """The questions, none of them for more than a limit of its stream [b/s], (streams,)."""
    return replace(
        said, speakers=tuple(_paced(one, limit_bps[one.streams]) for one in said.speakers)
    )


def _paced(speaker: Speaker, limit_bps: Floats) -> Speaker:
    columns = dict(speaker.columns)
    most_fps = limit_bps / (8 * columns["payload_bytes"])
    return replace(
        speaker, columns={**columns, "rate_fps": np.minimum(columns["rate_fps"], most_fps)}
    )
