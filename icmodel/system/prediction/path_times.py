"""Times of a stream's frames and packets on its path without other traffic.

Two kinds of time are computed: the whole time by theory, and the time to add to a dataset's latency.

A cut-through switch adds no time to receive a packet, unless the next line is faster: then it stores the packet like
any other switch. A dataset's latency includes the path of its measurement, with its switches and line rates. The
prediction adds the difference between the system's path and the measured path, 0 if both are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from icmodel.arrays import Floats
from icmodel.system.network import Stream, System
from icmodel.system.prediction.answers import StreamQuestions
from icmodel.system.sharing import SAME
from icmodel.system.traffic import Packed, Packets, Packing

SWITCHES, CABLES, APPLICATION = "switches", "cables", "the application"
CUT_THROUGH = "cut-through"
CUTTING_KINDS = ("infiniband", "rapidio")
"""Interconnects whose datasets were measured over cut-through switches (assumed).

The switches of all other interconnects store and forward.
"""
NO_WIRE = "loopback"
"""Kind of interconnect without a wire: sender and receiver of the dataset are one host."""


@dataclass(frozen=True, slots=True)
class PathTimes:
    """Times of a stream's frames on its path [s].

    Parameters
    ----------
    least_s : float
        Least time of a full frame over all links and switches, by theory.
    last_frame_s : float
        Least time of the last frame of a message, which may be short.
    frames : int
        Number of frames of a message.
    behind_bytes : float
        Payload of a message without its first frame [B]. Headers make a short last frame take more time per byte
        than a full frame. So the last frame counts as the bytes that full frames carry in the same time on the line.
    behind_s : float
        Time from the first frame of a message to the last, if they are sent at once: they then follow each other
        without pause on the slowest line.
    application_s : float
        Time of the applications at source and sink for a frame.
    bucket_s : float
        Longest wait because the token bucket of a link is empty. A dataset's latency does not include it, since the
        bucket was full in the measurement.
    shifts_s : dict
        Cause -> time to add to the dataset's latency; causes are the application, switches and cables.
    contained_s : float
        Least part of the dataset's latency that was spent on lines, cables and switches during its measurement, not in
        hosts; 0 without a dataset.
    passing_s : float
        Time in cables and switches; even the shortest packet takes this time.
    floor_s : float
        Least time that any frame takes on this path, less a tolerance for rounding. A link with a token bucket adds
        no transmission time to it, since a full bucket passes a frame at once.
    """

    least_s: float
    last_frame_s: float
    frames: int
    behind_bytes: float
    behind_s: float
    application_s: float
    bucket_s: float
    shifts_s: dict[str, float]
    contained_s: float
    passing_s: float
    floor_s: float

    def spaced_s(self, stream: Stream) -> float:
        """Time from the first to the last frame of a message, if the rate set at the sender determines it [s].

        The result is 0 in two other cases: no rate is set at the sender; or the slowest line of the path needs at
        least as long for these frames as the set rate. In the second case, ``behind_s`` has the time that the line
        needs.
        """
        return stream.last_frame_paced_s if stream.last_frame_paced_s > self.behind_s else 0.0


def path_times(
    system: System, packets: Packing, questions: StreamQuestions
) -> tuple[PathTimes, ...]:
    """Work out the path times of every stream, in the order of the system.

    The latency of a dataset includes the path where it was measured, so only differences are added to it:

    - latency of switches: that stated in the system file, minus that of the dataset's switches
    - time to send and store packets: that on the stream's path, minus that on the measured path; 0 if token buckets
      limit the lines of both paths, since token buckets store nothing
    """
    measured = _MeasuredPath.by_stream(questions)
    known: dict[tuple[_Path, _MeasuredPath | None], PathTimes] = {}
    found = []
    for index, stream in enumerate(system.streams.values()):
        key = _Path.of(system, packets, stream), measured.get(index)
        if key not in known:
            known[key] = _times(*key)
        found.append(known[key])
    return tuple(found)


def _times(path: _Path, measured: _MeasuredPath | None) -> PathTimes:
    """Compute the times of a stream's path, and corrections of a dataset's latency.

    The corrections convert a latency measured on the dataset's path (``measured``) to the stream's path; they are times
    to add.
    """
    stored_s = path.stored_s()
    cables_s = sum(path.cables_s)
    passing_s = cables_s + sum(path.latencies_s)
    least_s = passing_s + stored_s
    last_frame_s, frames = path.last_frame(least_s, stored_s)
    # token buckets may pass a whole frame at once
    floor_s = passing_s if path.buckets else min(least_s, last_frame_s)
    shifts_s, contained_s = {APPLICATION: path.application_s}, 0.0
    if measured is not None:
        switches, latency_s = measured.switches, measured.latency_s
        known_s = path.latencies_s if latency_s is None else [latency_s] * switches
        shifts_s[SWITCHES] = math.fsum(path.latencies_s) - math.fsum(known_s[:switches])
        if not (measured.burst_bytes and path.buckets):
            shifts_s[SWITCHES] += stored_s - measured.stored_s(path, switches)
        if not measured.cables:
            shifts_s[CABLES] = cables_s
        # no time to store packets in switches: the latency of a switch may include it
        if measured.rate_bps is not None:
            contained_s += measured.stored_s(path, 0)
        contained_s += switches * (latency_s or 0.0)
        contained_s += cables_s if measured.cables else 0.0
    return PathTimes(
        least_s=least_s,
        last_frame_s=last_frame_s,
        frames=frames,
        behind_bytes=path.behind_bytes,
        behind_s=max(
            8 * path.behind_bytes * packed.ratio / rate_bps
            for packed, rate_bps in zip(path.packed, path.rates_bps, strict=True)
        ),
        application_s=path.application_s,
        bucket_s=path.bucket_s(),
        shifts_s=shifts_s,
        contained_s=contained_s,
        passing_s=passing_s,
        floor_s=floor_s * (1 - SAME),
    )


@dataclass(frozen=True, slots=True)
class _MeasuredPath:
    """Path on which a dataset's latency was measured, as the dataset's answer states it.

    Parameters
    ----------
    rate_bps : float, optional
        Rate of the lines [b/s]; ``None`` if the dataset's source does not state it.
    latency_s : float, optional
        Latency of each switch [s].
    burst_bytes : float
        Depth of the token buckets [B], if the measurement limited the rate by token buckets in place of slower lines;
        otherwise 0.
    cables : bool
        Whether the dataset's latency already includes the delay of the system's cables.
    """

    kind: str
    switches: int
    rate_bps: float | None
    latency_s: float | None
    burst_bytes: float
    cables: bool

    @classmethod
    def by_stream(cls, questions: StreamQuestions) -> dict[int, _MeasuredPath]:
        """Map the index of each stream to the path on which its dataset was measured: line rate, switches and cable."""
        found = {}
        for dataset in questions.datasets:
            link = dataset.model.data.link(dataset.options)
            names = ("switches", "distance_m", "line_rate_bps")
            columns = [dataset.columns[name].tolist() for name in names]
            for index, switches, distance_m, rate_bps in zip(
                dataset.streams.tolist(), *columns, strict=True
            ):
                found[index] = cls(
                    kind=link.kind,
                    switches=int(switches),
                    rate_bps=link.line_rate_bps if math.isnan(rate_bps) else rate_bps,
                    latency_s=link.switch_latency_s,
                    burst_bytes=link.burst_bytes,
                    cables=not math.isnan(distance_m),
                )
        return found

    def stored_s(self, path: _Path, switches: int) -> float:
        """Time to send a frame over all links of the path on which the dataset was measured [s].

        It includes the time in which store-and-forward switches receive a packet before they send it. ``switches`` is
        the number of switches on the measured path. ``path`` is the path of the stream in the system; its last link
        sets the packets of the frame. If a token bucket limited the rate of the measured links, only the bits beyond
        the depth of the bucket take time.

        If the dataset's line rate is unknown, it is assumed to be the rate of the stream's first or last link in the
        system, whichever is slower.
        """
        if self.kind == NO_WIRE:
            return 0.0
        rate_bps = self.rate_bps or min(path.rates_bps[0], path.rates_bps[-1])
        lines, last = switches + 1, path.packed[-1]
        if self.burst_bytes:
            behind_bits = path.first_frame(last).sum_bits - 8 * self.burst_bytes
            return max(behind_bits, 0.0) / rate_bps
        stores = [self.kind not in CUTTING_KINDS] * switches
        frames = [path.first_frame(last)] * lines
        return _packets_s(frames, [rate_bps] * lines, stores, [last.gap_bits] * lines)


@dataclass(frozen=True, slots=True)
class _Path:
    """Path of a stream, with every property that affects its times. Streams with equal paths have equal times.

    Parameters
    ----------
    payload_bytes, message_bytes : float
        Size of a frame and of a message [B]; the latter is 0 for an unlimited sender.
    application_s : float
        Time of the applications at source and sink for a frame [s].
    packed, rates_bps, bursts_bytes, cables_s : tuples (lines,)
        Packets, rate [b/s], token bucket [B] and propagation delay [s] of each line.
    latencies_s, stores : tuples (switches,)
        Latency of each switch [s], and whether it stores packets.
    """

    payload_bytes: int
    message_bytes: float
    application_s: float
    packed: tuple[Packed, ...]
    rates_bps: tuple[float, ...]
    bursts_bytes: tuple[float, ...]
    cables_s: tuple[float, ...]
    latencies_s: tuple[float, ...]
    stores: tuple[bool, ...]

    @classmethod
    def of(cls, system: System, packets: Packing, stream: Stream) -> _Path:
        """Make the path of a stream from its links and switches."""
        links, switches = system.links_of(stream), system.switches_of(stream)
        rates_bps = tuple(link.rate_bps for link in links)
        kinds = pairwise(link.interconnect for link in links)
        cuts = [
            switch.forwarding == CUT_THROUGH and before == after
            for switch, (before, after) in zip(switches, kinds, strict=True)
        ]
        made = stream.producer
        return cls(
            payload_bytes=stream.payload_bytes,
            message_bytes=0.0 if made is None else made.message_bytes,
            application_s=(
                system.devices[stream.source].app_send_s + system.devices[stream.sink].app_recv_s
            ),
            packed=tuple(packets.of(stream, link) for link in links),
            rates_bps=rates_bps,
            bursts_bytes=tuple(link.burst_bytes for link in links),
            cables_s=tuple(link.delay_s for link in links),
            latencies_s=tuple(switch.latency_s for switch in switches),
            stores=tuple(storing(cuts, rates_bps)),
        )

    @property
    def buckets(self) -> bool:
        """Whether every line of the path is limited by a token bucket, as in the lab."""
        return all(self.bursts_bytes)

    def first_frame(self, packed: Packed) -> Packets:
        """Packets of a message's first frame: a full frame, or the whole message if it is shorter than a frame."""
        short = 0 < self.message_bytes < self.payload_bytes
        return packed.message if short else packed.frame

    def stored_s(self, frames: Sequence[Packets] = ()) -> float:
        """Time to send the packets of a frame on all lines of the path, and to store them in its switches [s].

        ``frames`` has the packets of the frame on each line; by default, the frame is the first of a message.
        """
        frames = frames or [self.first_frame(on) for on in self.packed]
        return _packets_s(frames, self.rates_bps, self.stores, [on.gap_bits for on in self.packed])

    def last_frame(self, full_s: float, stored_s: float) -> tuple[float, int]:
        """Time of the last frame of a message [s], and the number of frames of the message.

        Parameters
        ----------
        full_s, stored_s : float
            Time of a full frame on the path [s], and the part of it that depends on packet sizes: sending on lines and
            storing in switches [s]. If the last frame is shorter than a full frame, only this part becomes less.
        """
        whole, rest = divmod(max(math.ceil(self.message_bytes), 1), self.payload_bytes)
        if not whole or not rest:
            return full_s, max(whole, 1)
        last = []
        for on in self.packed:
            number = on.message.number - whole * on.frame.number
            left = on.message.sum_bits - whole * on.frame.sum_bits
            end = on.message.last_bits
            longest = end if number == 1 else on.frame.longest_bits
            last.append(Packets(number, left, longest, end, end))
        # A shorter frame takes no longer, except by errors of the estimate and by fragments rounded to 8 B.
        return min(full_s - stored_s + self.stored_s(last), full_s), whole + 1

    @property
    def behind_bytes(self) -> float:
        """Payload of a message behind its first frame, converted to payload of full frames [B].

        Full frames with the converted payload take as long on the lines as the frames behind the first. If the last
        frame is short, the converted payload exceeds the real one: a short frame takes more time per byte, since it has
        all its headers, and its packets have a minimum size. The result is 0 if the message has only one frame.
        """
        left = max(self.message_bytes - self.payload_bytes, 0.0)
        if not left:
            return 0.0
        frames = (on.merged.sum_bits / on.frame.sum_bits - 1 for on in self.packed)
        return max(left, *(frame * self.payload_bytes for frame in frames))

    def bucket_s(self) -> float:
        """Longest time that a frame waits because the token bucket of a link is empty [s].

        Without other traffic, the bucket is full, and the frame does not wait.
        """
        lines = zip(self.packed, self.rates_bps, self.bursts_bytes, strict=True)
        return max(min(8 * burst, on.frame.sum_bits) / rate for on, rate, burst in lines)


def _packets_s(
    frames: Sequence[Packets],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gaps_bits: Sequence[float],
) -> float:
    """Time in which all packets of a frame pass a series of lines [s], given the frame's packets on each line."""
    number = frames[0].number
    several = max(frame.number for frame in frames) > 1
    if several and any(frame.sum_bits != frames[0].sum_bits for frame in frames):
        return _recut_s(frames, rates_bps, stores, gaps_bits)
    last = np.array([frame.last_bits for frame in frames])
    runs = [Run(1, last)]
    if number > 1:
        longest = np.array([frame.longest_bits for frame in frames])
        total = np.array([frame.sum_bits for frame in frames])
        first = np.where(longest > last, longest, (total - last) / (number - 1))
        rest = total - first - last
        between = [Run(number - 2, rest / (number - 2))] if number > 2 else []
        runs = [Run(1, first), *between, Run(1, last)]
    return pipelined_s(runs, rates_bps, stores, np.array(gaps_bits))


def _recut_s(
    frames: Sequence[Packets],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gaps_bits: Sequence[float],
) -> float:
    """Time of a frame on lines that cut it into packets of different sizes [s], such as Ethernet and InfiniBand.

    A switch between two such lines sends a packet of the next line when it has received all bytes of this packet.
    """
    started = arrived = shares = np.zeros(1)
    for i, frame in enumerate(frames):
        number, last = frame.number, frame.last_bits
        bits = np.full(number, last)
        if number > 1:
            bits[:-1] = (frame.sum_bits - last) / (number - 1)
        sent_s = bits / rates_bps[i]
        before_s = np.cumsum(sent_s) - sent_s
        ends = np.cumsum(bits) / frame.sum_bits
        ready = np.zeros(number)
        if i and frame.sum_bits == frames[i - 1].sum_bits:
            ready = arrived if stores[i - 1] else started
        elif i:
            needed = np.searchsorted(shares, ends * (1 - SAME_SHARE))
            ready = arrived[np.minimum(needed, len(arrived) - 1)]
        started = before_s + np.maximum.accumulate(ready - before_s)
        arrived = started + (bits - gaps_bits[i]) / rates_bps[i]
        shares = ends
    return float(arrived[-1])


SAME_SHARE = 1e-9
"""Relative tolerance within which two packets count as ending at the same byte of a frame."""


@dataclass(frozen=True, slots=True)
class Run:
    """Sequence of packets of equal size that are sent one after the other.

    Parameters
    ----------
    number : int
        Number of packets.
    bits : array (lines,)
        Size of each packet on every line [b].
    """

    number: int
    bits: Floats


def pipelined_s(
    runs: Sequence[Run],
    rates_bps: Sequence[float],
    stores: Sequence[bool],
    gap_bits: Floats | float = 0.0,
) -> float:
    """Transfer time of packets over a path of lines [s], from the first bit sent to the last bit received.

    Propagation in cables and latencies of switches are not included.

    A packet enters a line after two events: the packet has arrived, and the previous packet and its gap
    have been sent. The moment at which the last of n equal packets enters line i is a maximum over all lines j
    up to i. The term of line j is a sum of three times: until the first packet enters line j, until this packet
    reaches line i, and until the slowest line from j to i has sent n - 1 packets. The maximum is the longest
    path through a permutation flow shop (S. M. Johnson, Optimal two- and three-stage production schedules,
    Naval Research Logistics Quarterly 1, 1954).

    Parameters
    ----------
    runs : sequence of Run
        Packets, in the order of sending.
    rates_bps : sequence of float (lines,)
        Rate of each line [b/s].
    stores : sequence of bool (lines - 1,)
        Whether the switch behind a line is store-and-forward: it forwards a packet when the last bit has arrived, not
        the first.
    gap_bits : array (lines,)
        Gap at the end of each packet on each line [b]. The next packet waits for the end of the gap, but the packet
        has arrived before the gap.

    Examples
    --------
    Two packets of 1000 bits over 1 Mb/s, a switch that stores, and 1 Mb/s again:

    >>> pipelined_s([Run(2, np.array([1000.0, 1000.0]))], [1e6, 1e6], [True])
    0.003
    """
    rate = np.asarray(rates_bps, dtype=np.float64)
    stored = np.array([*stores, True])
    free = np.zeros(len(rate))
    for run in runs:
        whole = (run.bits - gap_bits) / rate
        onward = np.where(stored, whole, 0.0)
        behind = (run.number - 1) * run.bits / rate
        first, last = free.copy(), free.copy()
        for i in range(len(rate)):
            if i:
                first[i] = max(free[i], first[i - 1] + onward[i - 1])
            last[i] = max(
                first[j] + onward[j:i].sum() + behind[j : i + 1].max() for j in range(i + 1)
            )
        free = last + run.bits / rate
        arrived = last[-1] + whole[-1]
    return float(arrived)


def storing(cuts_through: Sequence[bool], rates_bps: Sequence[float]) -> list[bool]:
    """For each switch of a path, compute whether it stores a packet completely before it forwards the packet.

    A cut-through switch does so only if the next line is faster than the line before it; any other switch always does.

    Parameters
    ----------
    cuts_through : sequence of bool (switches,)
        Whether each switch is a cut-through switch.
    rates_bps : sequence of float (switches + 1,)
        Rates of the lines before and behind the switches [b/s].
    """
    lines = pairwise(rates_bps)
    return [
        not cuts or after > before
        for cuts, (before, after) in zip(cuts_through, lines, strict=True)
    ]
