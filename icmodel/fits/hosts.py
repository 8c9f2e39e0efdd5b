"""Scale predictions to hosts with another line rate or processor clock.

Wire time scales with the line rate, and host time with the clock.  Theory gives the wire time.  If
the wire is the limit, the utilisation law gives the host time: utilisation × time per frame.  The
time per frame is the longer of host time and wire time.  At a load below capacity, a latency is the
sum of host time and wire time, less the time in which hosts and wire work simultaneously.

Frames of a saturated stream on a slower wire wait in the sender's buffers.  Their latency is the
buffer content divided by the goodput (J. D. C. Little, A proof for the queuing formula L = λW,
Operations Research 9, 1961).  Buffers hold a fixed number of bytes, so a slower wire takes longer
to drain them.  Every host is assumed to have the default buffer sizes of Linux.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.fits.observations import UNLIMITED, Sites
from icmodel.scenario import Hosts

Floats = NDArray[np.float64]

ON_WIRE = 1.02
"""Ratio of the time per frame to theory's least time, up to which the wire counts as the limit."""
CHANGE_WIDENING, DISTANCE_WIDENING = 0.5, 0.1
"""Factors of two terms that widen the log half-width of intervals for other hosts (assumed).

The terms are |log change of the metric| and |log clock ratio| + |log rate ratio|.
"""
LATENCY = "latency_"
"""Prefix of the names of one-way latencies, to which Little's law applies."""


@dataclass(frozen=True, slots=True)
class FrameTimes:
    """Time per frame at full speed, on the dataset's hosts and on other hosts, at n sites.

    A site is a combination of payload, load and labels.

    Parameters
    ----------
    here_s, there_s : array (n,)
        Time on the dataset's hosts, and time on the other hosts [s].
    fastest_s : array (n,)
        Lower limit of ``there_s`` [s].  If the dataset's wire limits the rate, and the processor
        utilisation is unknown, the hosts may need less time than was measured: the limit is then the
        time per frame on the new wire.  Otherwise it equals ``there_s``.
    old, new : Sites
        The sites, with the wire times of the dataset's link (``old``) and of the other link
        (``new``).
    hosts : Hosts
        Line rate and processor clock of the other hosts.
    saturated : Saturated, optional
        Fill of the sender's buffers on a slower wire than the dataset's; ``None`` if the new wire is
        not slower, or the protocol's buffers are unknown.
    """

    here_s: Floats
    there_s: Floats
    fastest_s: Floats
    old: Sites
    new: Sites
    hosts: Hosts
    saturated: Saturated | None = None


def frame_times(here_s: Floats, busy: Floats, old: Sites, new: Sites, hosts: Hosts) -> FrameTimes:
    """Compute the times per frame at full speed on the dataset's hosts and on other hosts.

    Parameters
    ----------
    here_s : array (n,)
        Time per frame on the dataset's hosts [s] at n sites (points of payload, load and labels).
    busy : array (n,)
        Processor utilisation of the busier host, from 0 to 1; NaN if unknown.
    old, new : Sites
        The n sites, with the wire times of the dataset's link (``old``) and of the other link (``new``).
    hosts : Hosts
        Line rate and processor clock of the other hosts.
    """
    here_s = np.maximum(here_s, old.least_s)
    by_wire = here_s <= ON_WIRE * old.least_s
    share = np.where(by_wire & ~np.isnan(busy), np.clip(busy, 0.0, 1.0), 1.0)
    there_s = np.maximum(here_s * share / hosts.cpu_clock_ratio, new.least_s)
    fastest_s = np.where(by_wire & np.isnan(busy), new.least_s, there_s)
    return FrameTimes(here_s, there_s, fastest_s, old, new, hosts)


def scale_to_hosts(
    metric: str, regime: str, ends: Floats, times: FrameTimes, own_bps: float | None
) -> Floats:
    """Convert a metric from the dataset's hosts to other hosts; ``ends`` (3, n) has its value, low and high.

    ``regime`` is the state of load in which the rows were measured, such as ``unlimited`` or
    ``overload``.  ``times`` has the times per frame on both kinds of hosts, and ``own_bps`` is the
    dataset's line rate [b/s].
    """
    if metric.startswith(LATENCY) and regime == UNLIMITED and times.saturated is not None:
        # Little's law: latency = content of the sender's buffers / goodput.
        payload = times.new.payload_bytes
        statistic = metric.removeprefix(LATENCY).removesuffix("_s")
        own, new = payload / times.here_s, payload / times.there_s
        return times.saturated.latency_s(statistic, ends, payload, own, new)
    is_time = metric.endswith("_s") and regime != UNLIMITED
    if is_time:
        found = np.stack([_time_below_capacity(metric, end, times) for end in ends])
        found[2] += _hidden_s(metric, ends[2], times)  # in the high end, no host time is hidden
    else:
        found = ends * factor(metric, regime, ends[0], times)
    ratio = np.divide(found[0], ends[0], out=np.ones_like(ends[0]), where=ends[0] > 0)
    # Theory gives the time that a slower wire adds.  Any other change is uncertain.
    known = (is_time or metric == "goodput_bps") and times.hosts.cpu_clock_ratio == 1.0
    uncertain = ~(known & (times.new.least_s > times.old.least_s))
    wider = np.exp(widening(ratio, times.hosts, own_bps, uncertain=np.asarray(uncertain)))
    found = np.stack([found[0], found[1] / wider, found[2] * wider])
    if metric == "goodput_bps":
        by_wire = times.new.least_s > times.here_s
        found[1] = np.where(by_wire, np.fmin(found[0] / ON_WIRE, ends[1]), found[1])
    if metric == "loss_rate":  # a receiver that keeps up may lose as much as before
        found[2] = np.fmax(found[2], ends[2])
    return found


def factor(metric: str, regime: str, value: Floats, times: FrameTimes) -> Floats:
    """Ratio of a metric on other hosts to its ``value`` on the dataset's hosts.

    Both are arrays (n,).  The ratio does not apply to latencies at a load below capacity: see
    `_time_below_capacity`.
    """
    speed_up = times.here_s / times.there_s
    if metric.endswith(("_bps", "_per_s")):
        return speed_up
    if metric.startswith("cpu_"):
        flowing = speed_up if regime == UNLIMITED else np.ones_like(value)
        return flowing / times.hosts.cpu_clock_ratio
    if metric.endswith("_s"):
        return 1 / speed_up
    if metric == "loss_rate" and regime == UNLIMITED:
        # The receiver takes as many frames a second as before; a slower wire delivers fewer.
        takes = 1 / times.here_s
        arriving = np.minimum(takes / np.maximum(1 - value, 1e-9), 1 / times.new.least_s)
        slower = times.new.least_s > times.old.least_s
        lost = np.where(slower, np.maximum(1 - takes / arriving, 0.0), value)
        return np.divide(lost, value, out=np.ones_like(value), where=value > 0)
    return np.ones_like(value)


def _crossings(metric: str) -> int:
    """Number of wire times that a latency includes: 2 for a round trip, otherwise 1.

    It is 0 for a standard deviation, which a constant wire time does not change.
    """
    if metric.endswith("_std_s"):
        return 0
    return 2 if metric.startswith("rtt_") and not metric.startswith("rtt_half_") else 1


def _time_below_capacity(metric: str, value: Floats, times: FrameTimes) -> Floats:
    """Scale a latency at a load below capacity to other hosts and another line rate.

    The host time scales with the clock, and the wire time with the line rate.  On a slower wire, the
    part of the host time that passes while the wire sends is subtracted, see `_hidden_s`.
    """
    wire_s, host_s = _wire_and_host_s(metric, value, times)
    old_s, new_s = (_crossings(metric) * one.wire_s for one in (times.old, times.new))
    share = np.divide(wire_s, old_s, out=np.ones_like(value), where=old_s > 0)
    return host_s + new_s * share - _hidden_s(metric, value, times)


def _wire_and_host_s(metric: str, value: Floats, times: FrameTimes) -> tuple[Floats, Floats]:
    """Split a latency at a load below capacity into its wire time and its host time [s].

    The wire time is the time on the link of the dataset.  The host time is the rest of the latency,
    divided by the clock ratio: the processor clock of the requested hosts over that of the measured
    hosts.
    """
    wire_s = np.minimum(value, _crossings(metric) * times.old.wire_s)
    return wire_s, (value - wire_s) / times.hosts.cpu_clock_ratio


def _hidden_s(metric: str, value: Floats, times: FrameTimes) -> Floats:
    """Host time [s] to subtract from a latency on a slower wire, since hosts and wire work at once.

    While the wire sends one packet of a frame, the hosts work on its other packets.  So both times
    overlap.  The overlap, (1 − 1 / packets) × min(host time, added wire time), is subtracted.
    """
    _, host_s = _wire_and_host_s(metric, value, times)
    longer_s = np.maximum(_crossings(metric) * (times.new.wire_s - times.old.wire_s), 0.0)
    return np.asarray((1 - 1 / times.new.packets) * np.minimum(host_s, longer_s))


def widening(
    ratio: Floats, hosts: Hosts, own_bps: float | None, *, uncertain: NDArray[np.bool_]
) -> Floats:
    """Logarithm (n,) of the factor by which intervals widen for other hosts or another line rate.

    It is a fraction of the sum of two distances: abs(log of the clock ratio) and abs(log of the line
    rate ratio).  If ``uncertain``, a fraction of abs(log of ``ratio``) is added.

    Parameters
    ----------
    ratio : array (n,)
        Ratio of the metric on other hosts to the metric on the dataset's hosts.
    hosts : Hosts
        Line rate and processor clock of the other hosts.
    own_bps : float, optional
        Line rate of the dataset [b/s].
    uncertain : array of bool (n,)
        Whether the change of the metric is uncertain.
    """
    distance = abs(math.log(hosts.cpu_clock_ratio))
    if hosts.line_rate_bps is not None and own_bps is not None:
        distance += abs(math.log(hosts.line_rate_bps / own_bps))
    change = np.where(uncertain, np.abs(np.log(np.maximum(ratio, 1e-12))), 0.0)
    return np.asarray(CHANGE_WIDENING * change + DISTANCE_WIDENING * distance)


Bools = NDArray[np.bool_]

HELD = 0.25
"""Relative uncertainty of the content of a sender's buffers (assumed)."""
FRAGMENTS_BYTES, DESCRIPTOR_BYTES = 320, 256
"""Memory of a packet's metadata on Linux [B]: ``skb_shared_info`` and ``sk_buff`` (64 bit)."""
HEADERS_BYTES = 59
"""Bytes that Linux adds to a datagram: IP and UDP header, and room for the link's header.

The function ``__ip_append_data`` adds 28, 16 and 15.
"""
START_PACKETS = 160
"""TCP window [packets] at the end of a long stream's startup.

The initial window of 10 packets (RFC 6928) doubles in each of four rounds.  After three rounds
without more throughput, BBR leaves startup (draft-ietf-ccwg-bbr §5.3.1.2).
"""
PER_WINDOW = 3
"""Ratio of TCP send buffer to window with BBR (Linux, ``bbr_sndbuf_expand``).

With other congestion controls, the ratio is 2.
"""
MOST_BYTES = 2**22
"""Greatest memory of a TCP send buffer [B] (Linux, ``tcp_wmem``)."""
GROWTH = 0.5
"""Exponent by which an autotuned buffer grows with the line rate (assumed).

An exponent of 0 keeps the size in bytes; 1 keeps the time in which the wire drains the buffer.
"""
LEVELS = {"p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999, "max": 1.0}
"""Statistic of the latency -> fill level of the send buffer that a frame with this latency finds.

Level 0 is the content at which the writer wakes up, and level 1 is a full buffer.  The levels are
assumed to be uniformly distributed.  Statistics that are not listed have the level 0.5.
"""


def datagram_memory(packet_bytes: Floats) -> Floats:
    """Memory that Linux takes for a datagram in a send buffer [B].

    It is the sum of data, headers and metadata, rounded up to a power of two (``kmalloc``), plus the
    size of a descriptor.
    """
    needed = packet_bytes + HEADERS_BYTES + FRAGMENTS_BYTES
    return np.asarray(np.exp2(np.ceil(np.log2(needed))) + DESCRIPTOR_BYTES)


def segment_memory(packet_bytes: Floats) -> Floats:
    """Memory of a TCP segment in a send buffer [B]: its bytes, its metadata and two descriptors.

    One of the descriptors is for a retransmission.
    """
    return np.asarray(packet_bytes + FRAGMENTS_BYTES + 2 * DESCRIPTOR_BYTES)


@dataclass(frozen=True, slots=True)
class Sender:
    """Send buffers of one protocol, and the behaviour of the program that fills them (the writer).

    A writer that finds its buffer full sleeps until a part of the buffer is free.

    Parameters
    ----------
    memory_bytes : float
        Memory for packets and their metadata [B]; the least size if the memory is autotuned.
    wakes_at : float
        Content at which a sleeping writer continues, as a fraction of the full content.
    own_frames : float
        Number of frames outside the buffer that add to the latency: being written, or in flight.
    autotuned : bool
        Whether the memory grows with the TCP window.
    queued_frames : int
        Greatest number of frames in the send queue of a messaging library; 0 without a queue.
    """

    memory_bytes: float
    wakes_at: float
    own_frames: float
    autotuned: bool = False
    queued_frames: int = 0

    def content_bytes(self, payload: Floats, packet: Floats, memory_bytes: Floats) -> Floats:
        """Payload bytes that buffers hold when full, (n,), given their memory [B].

        ``payload`` and ``packet`` (n,) are the payload of a frame and of one packet [B].
        """
        one = segment_memory(packet) if self.autotuned else datagram_memory(packet)
        return np.asarray(memory_bytes * packet / one + self.queued_frames * payload)

    def memory_of(self, content: float, payload: float, packet: float) -> float:
        """Memory that the send buffers take [B] if they hold ``content`` payload bytes when full.

        Without autotuning, it is the documented size of the buffers, whatever the content.  With
        autotuning, it is computed from the content, and clipped to the documented limits.
        """
        if not self.autotuned:
            return self.memory_bytes
        of_socket = content - self.queued_frames * payload
        memory = of_socket * float(segment_memory(np.array(packet))) / packet
        return min(max(memory, self.memory_bytes), MOST_BYTES)

    def level(self, statistic: str) -> float:
        """Fill level of the send buffers, from 0 (empty) to 1 (full), as a statistic such as ``p99``.

        The sending process stops when the buffers are full, and continues when they have drained to the
        fraction ``wakes_at``.  So the fill level is assumed to be uniformly distributed from
        ``wakes_at`` to 1.  ``p99`` is the 99th percentile of this distribution, and ``std`` its standard
        deviation.
        """
        if statistic == "min":
            return self.wakes_at
        if statistic == "std":
            return (1 - self.wakes_at) / math.sqrt(12)
        return self.wakes_at + (1 - self.wakes_at) * LEVELS.get(statistic, 0.5)


STREAM_BYTES = PER_WINDOW * START_PACKETS * float(datagram_memory(np.array(1448.0)))
DATAGRAM = Sender(212_992, 1 / 2, 1.75)
"""Send buffer of datagrams on Linux: ``net.core.wmem_default``; a writer continues when it is half full.

The 1.75 own frames follow from this model.  Half the buffer holds h packets, and a frame has k.  A
frame is written whole if there is room for its first packet.  So m = ⌈h / k⌉ frames are written after
each pause.  Frame j (1 to m) finds h + j k packets before it; the mean over j is h + k (m + 1) / 2.
The frame's own k packets are added.  With the mean m = h / k + 1/2, the sum is 1.5 h + 1.75 k packets:
three quarters of the buffer, and 1.75 frames.
"""
SENDERS = {
    "tcp": Sender(STREAM_BYTES, 2 / 3, 1.0, autotuned=True),
    "udp": DATAGRAM,
    "ethernet": DATAGRAM,
    "zeromq": Sender(STREAM_BYTES, 1 / 2, 1.0, autotuned=True, queued_frames=1000),
}
"""Send buffers on Linux, by protocol.

The writer of a byte stream continues at two thirds (``sk_stream_min_wspace``).  ZeroMQ continues at
half of ``ZMQ_SNDHWM``.
"""


@dataclass(frozen=True, slots=True)
class Saturated:
    """Send buffers of a saturated stream on a slower wire than the dataset's own, at n payloads.

    Parameters
    ----------
    sender : Sender
        Send buffers of the protocol.
    full_bytes : array (3, n)
        Payload bytes in full buffers [B]: value, low and high.
    filled : array (n,)
        Content of the buffers on the slower wire, from 0 (the content on the dataset's own wire) to
        1 (full).
    at_sender : array of bool (n,)
        Whether frames already waited at the sender, since the dataset's own wire was the limit.
    """

    sender: Sender
    full_bytes: Floats
    filled: Floats
    at_sender: Bools

    def latency_s(
        self, statistic: str, own_s: Floats, payload: Floats, own: Floats, new: Floats
    ) -> Floats:
        """Scale a statistic of the latency from the dataset's own wire to the slower wire.

        Most of the latency is a wait in send buffers, so ``own_s`` × ``own`` is the number of bytes
        buffered on the dataset's own wire.  The slower wire needs longer to send these bytes, and
        the buffers may fill further.  Two rules raise the high end of the interval:

        - For a quantile from ``p90`` and for the maximum, it also allows for a stall of the hosts:
          at most the high of ``own_s`` is added.
        - For any other statistic, it is at least the time in which the slower wire sends the bytes
          buffered on the dataset's own wire.

        Parameters
        ----------
        statistic : str
            Statistic of the latency, such as ``mean`` or ``p99``.
        own_s : array (3, n)
            Value, low and high of the latency on the dataset's own wire [s].
        payload : array (n,)
            Payload [B].
        own, new : array (n,)
            Payload bytes per second on the dataset's own wire, and on the slower wire.

        Returns
        -------
        array (3, n)
            Value, low and high of the latency on the slower wire [s].
        """
        frames = 0.0 if statistic == "std" else self.sender.own_frames * payload
        full = self.sender.level(statistic) * self.full_bytes + frames
        held = own_s * own
        if not (self.sender.autotuned or statistic in LEVELS):
            # A fixed buffer may be larger than documented.
            full = np.where(self.at_sender, np.maximum(full, held), full)
        found = (held + (full - held) * self.filled) / new
        if statistic in LEVELS:
            found[2] += own_s[2] * self.filled
        else:
            found[2] = np.maximum(found[2], held[2] / new)
        return np.sort(found, axis=0)[[1, 0, 2]]


def saturated(
    sender: Sender,
    payload: Floats,
    packet: Floats,
    memory_bytes: float,
    slowdown: Floats,
    rate_ratio: float,
    at_sender: Bools,
) -> Saturated:
    """Estimate how full the send buffers of a saturated stream are on a slower wire, at n payloads.

    If the sending program is faster than the wire, it fills the buffers.  The mean fill is that of an
    M/M/1/K queue (L. Kleinrock, Queueing Systems I, 1975).  If program and wire are equally fast, the
    mean fill is one half; this is assumed for the dataset's own wire.

    Parameters
    ----------
    sender : Sender
        Send buffers of the protocol.
    payload, packet : array (n,)
        Payload of a frame and of one packet [B].
    memory_bytes : float
        Memory of the buffers on the dataset's own wire [B].
    slowdown : array (n,)
        Time per frame on the slower wire, divided by the time per frame on the dataset's own wire, both
        at full speed; at least 1.
    rate_ratio : float
        Ratio of the new line rate to the dataset's own, at most 1.
    at_sender : array of bool (n,)
        Whether frames already waited at the sender, since the dataset's own wire was the limit.
    """
    exponents = (GROWTH, 1.0, 0.0) if sender.autotuned else (0.0, 0.0, 0.0)
    least = min(sender.memory_bytes, memory_bytes)
    memories = [max(memory_bytes * rate_ratio**one, least) for one in exponents]
    unsure = (1.0, 1 - HELD, 1 + HELD)
    full = np.stack(
        [
            sender.content_bytes(payload, packet, np.array(memory)) * factor
            for memory, factor in zip(memories, unsure, strict=True)
        ]
    )
    packets = np.maximum(full[0] / packet, 1.0)
    level = level_of(packets * np.log(slowdown))
    return Saturated(sender, full, 2 * level - 1, at_sender)


def level_of(ahead: Floats) -> Floats:
    """Mean fill level of an M/M/1/K queue with a load of at least 1, from 0 (empty) to 1 (full).

    ``ahead`` is K × ln(load), where K is the capacity of the queue.

    >>> import numpy as np
    >>> level_of(np.array([0.0, 4.0, 40.0])).round(3).tolist()
    [0.5, 0.769, 0.975]
    """
    small = ahead < 1e-3
    safe = np.where(small, 1.0, ahead)
    return np.where(small, 0.5 + ahead / 12, -1 / np.expm1(-safe) - 1 / safe)


def memory_by_rows(data: Dataset, protocol: str, packet_bytes: float) -> float:
    """Estimate the memory of send buffers on the dataset's own wire [B], from rows at unlimited load.

    In such a row, latency × goodput is the amount of data under way.  Most of it is in the send
    buffers; the frames elsewhere are subtracted.  This content of the buffers gives an estimate of their
    memory.  The estimate is too small if the hosts are not faster than the wire, since they then do not
    fill the buffers.  So the result is the greatest estimate of all rows, or the documented size if this
    is larger.  ``packet_bytes`` is the payload of one packet, without headers.
    """
    sender = SENDERS[protocol]
    goodput = {_row_key(p): p.value for p in data.of_metric("goodput_bps")}
    found = [sender.memory_bytes]
    for row in data.of_metric("latency_mean_s"):
        flowing = goodput.get(_row_key(row))
        if row.protocol == protocol and row.load_bps == math.inf and flowing and row.payload_bytes:
            held = row.value * flowing / 8 - sender.own_frames * row.payload_bytes
            content = held / sender.level("mean")
            found.append(sender.memory_of(content, row.payload_bytes, packet_bytes))
    return max(found)


def _row_key(row: Point) -> tuple[object, ...]:
    """Key of the conditions of a row: rows of different metrics with equal keys belong together.

    The conditions are protocol, payload, load, options and counts (such as cores).
    """
    counts = row.cores, row.switches, row.endpoints, row.other_goodput_bps
    return row.protocol, row.payload_bytes, row.load_bps, row.options, *counts
