"""Theory of the wire: packets, bits, and bounds of goodput and latency for the framing of a link.

``ethernet``, ``infiniband``, ``roce`` and ``rapidio`` each have a frozen ``Framing`` with the
parameters of that link. The functions below accept any of them, and each link's module exports the
same functions.

Payloads are an int or an array of ints [B]. The result is a numpy array of the same shape. For an
int the shape is ``()``; ``int()`` or ``float()`` converts such a result. Line rates are data rates
after coding [b/s]. The functions raise ScenarioError for a payload that the link cannot carry, and
for an impossible rate or path.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from icmodel.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import ArrayLike, NDArray


LARGEST_PAYLOAD_BYTES = 2**48
"""Greatest payload if the protocol has no limit [B]; the bit count of a frame still fits in int64."""


@dataclass(frozen=True, slots=True)
class Train:
    """Packets into which each frame is cut, and their bytes on the wire; one element per frame.

    Parameters
    ----------
    payload_bytes, packets, wire_bytes : array of int64, one shape
        Payload [B], number of packets, and bytes on the wire [B] of each frame.
    aligned : array of bool, the same shape
        Whether the last packet is full.
    full_packet_bytes : int
        Wire size of the first packet, in a frame of two or more packets [B].
    last_packet_bytes : array of int64, the same shape
        Wire size of the last packet of each frame [B]; it may be the only packet.
    gap_bytes : int
        Interpacket gap, included in the bytes of each packet [B].  The gap delays only the next
        packet.
    """

    payload_bytes: NDArray[np.int64]
    packets: NDArray[np.int64]
    wire_bytes: NDArray[np.int64]
    aligned: NDArray[np.bool_]
    full_packet_bytes: int
    last_packet_bytes: NDArray[np.int64]
    gap_bytes: int = 0

    @property
    def longest_packet_bytes(self) -> NDArray[np.int64]:
        """Size on the wire of each frame's longest packet [B]: its first or its last."""
        first = np.where(self.packets > 1, self.full_packet_bytes, 0)
        return np.maximum(first, self.last_packet_bytes)

    @property
    def shortest_packet_bytes(self) -> NDArray[np.int64]:
        """Size on the wire of the shortest packet into which each frame is cut [B]."""
        between = self.wire_bytes - self.full_packet_bytes - self.last_packet_bytes
        middle = between // np.maximum(self.packets - 2, 1)
        first = np.where(self.packets > 1, self.full_packet_bytes, self.last_packet_bytes)
        others = np.where(self.packets > 2, np.minimum(first, middle), first)
        return np.minimum(others, self.last_packet_bytes)

    @property
    def wire_bits(self) -> NDArray[np.int64]:
        """Bits of each frame on the wire, with all overhead."""
        return np.asarray(8 * self.wire_bytes)

    def goodput_bps(self, line_rate_bps: float) -> NDArray[np.float64]:
        """Goodput of back-to-back frames [b/s]: line rate × payload / bytes on the wire."""
        check_positive("line_rate_bps", line_rate_bps)
        return np.asarray(line_rate_bps * (self.payload_bytes / self.wire_bytes))

    def interval_s(self, line_rate_bps: float) -> NDArray[np.float64]:
        """Time [s] between the starts of back-to-back frames at line rate."""
        check_positive("line_rate_bps", line_rate_bps)
        return np.asarray(self.wire_bits / line_rate_bps)

    def latency_s(self, line_rate_bps: float, path: Path) -> NDArray[np.float64]:
        """One-way latency of each frame [s]: propagation + serialisation + switches.

        Serialisation on the first link takes the time of all packets, and ends with the last bit,
        before the gap. Each store-and-forward switch receives a whole packet before it sends the
        packet. So each switch adds the time of the longest packet.
        """
        fixed = path.distance_m * path.propagation_s_per_m + path.switches * path.switch_latency_s
        serialised = self.wire_bytes - self.gap_bytes
        if path.switching == "store-and-forward":
            serialised = serialised + path.switches * (self.longest_packet_bytes - self.gap_bytes)
        check_positive("line_rate_bps", line_rate_bps)
        return np.asarray(fixed + 8 * serialised / line_rate_bps)


@dataclass(frozen=True, slots=True)
class Path:
    """Path between two hosts: cable and switches, in SI units.

    Raises
    ------
    ScenarioError
        If a distance, delay or latency is negative or infinite, if the number of switches is not a
        count, or if the switching is unknown.
    """

    distance_m: float
    propagation_s_per_m: float
    switches: int
    switch_latency_s: float
    switching: str

    def __post_init__(self) -> None:
        for name in ("distance_m", "propagation_s_per_m", "switch_latency_s"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ScenarioError(f"{name} {value!r} is impossible: give a number from 0 up")
        if not 0 <= self.switches < math.inf or self.switches % 1:
            raise ScenarioError(f"switches {self.switches!r} is impossible: give a count from 0 up")
        check_choice("switching", self.switching, ("cut-through", "store-and-forward"))


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise ScenarioError if the value of the parameter `name` is not in `allowed`."""
    if value not in allowed:
        choices = ", ".join(str(choice) for choice in allowed)
        raise ScenarioError(f"{name} {value!r} is unknown: use one of {choices}")


def check_positive(name: str, value: float) -> None:
    """Raise ScenarioError if the value of the parameter `name` is not a finite number above 0."""
    if not 0 < value < math.inf:
        raise ScenarioError(f"{name} {value!r} is impossible: give a finite number above 0")


def payload_array(payload_bytes: ArrayLike, limit: int | None, carrier: str) -> NDArray[np.int64]:
    """Check payloads [B] and convert them to an array of int64.

    Raises
    ------
    ScenarioError
        If a payload is not whole, below 1, or above the limit of `carrier`. The message names the
        worst value and the limit.
    """
    payload = np.asarray(payload_bytes)
    if payload.size == 0:
        return np.zeros(payload.shape, dtype=np.int64)
    if payload.dtype.kind not in "iu":
        raise ScenarioError(
            f"payload_bytes has the type {payload.dtype}: give whole numbers from 1 to "
            f"{limit or LARGEST_PAYLOAD_BYTES}"
        )
    if payload.min() < 1:
        raise ScenarioError(f"payload_bytes {payload.min()} is too small: give at least 1 B")
    most, carrier = (LARGEST_PAYLOAD_BYTES, "icmodel") if limit is None else (limit, carrier)
    if payload.max() > most:
        raise ScenarioError(
            f"payload_bytes {payload.max()} is too large for {carrier}: give at most {most} B"
        )
    return payload.astype(np.int64, copy=False)


def ceil_div(dividend: NDArray[np.int64], divisor: int) -> NDArray[np.int64]:
    """Divide whole numbers and round up."""
    return -(-dividend // divisor)


def multiples(step: int, up_to_bytes: int, limit: int | None) -> NDArray[np.int64]:
    """List the multiples of `step` [B], ascending, up to the smaller of `up_to_bytes` and `limit`."""
    most = up_to_bytes if limit is None else min(up_to_bytes, limit)
    return np.arange(step, most + 1, step, dtype=np.int64)


def choice(default: object, text: str, allowed: Iterable[object] = ()) -> Any:
    """Make a dataclass field of a framing, with a default, a help text and the allowed values (none given: any)."""
    return field(default=default, metadata={"text": text, "allowed": tuple(allowed)})


@dataclass(frozen=True, slots=True)
class AnyFraming(ABC):
    """Base class of framings: the rules by which a link cuts frames into packets.

    All bounds follow from these rules.

    Raises
    ------
    ScenarioError
        If a field has a value that is not allowed.
    """

    propagation_s_per_m: ClassVar[float]
    """Propagation delay of the link's usual cable [s/m]."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if allowed := one.metadata["allowed"]:
                check_choice(one.name, getattr(self, one.name), allowed)

    @property
    @abstractmethod
    def max_payload_bytes(self) -> int | None:
        """Largest payload of a frame [B]; ``None`` if the protocol has no limit."""

    @property
    def gap_bytes(self) -> int:
        """Interpacket gap [B], which is part of a packet's bytes on the wire, but not of its latency."""
        return 0

    @abstractmethod
    def train(self, payload_bytes: ArrayLike) -> Train:
        """Cut frames into packets: the arrays in the result have the shape of `payload_bytes` [B].

        Raises
        ------
        ScenarioError
            If a payload is not a whole number of bytes from 1 to the largest frame.
        """

    @abstractmethod
    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""

    @abstractmethod
    def best_payloads(self) -> ArrayLike:
        """A few candidate payloads [B]; one of them has the greatest goodput of all payloads."""


__all__ = [
    "aligned",
    "aligned_payloads",
    "max_goodput_bps",
    "max_payload_bytes",
    "min_latency_s",
    "packet_breaks",
    "packets",
    "send_interval_s",
    "stream_goodput_bps",
    "wire_bits",
]


def packets(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.int64]:
    """Number of packets of one frame; the result has the shape of `payload_bytes` [B].

    Examples
    --------
    The largest UDP datagram takes 45 Ethernet packets, since each packet carries at most 1480 B.

    >>> from icmodel.theory import ethernet
    >>> int(ethernet.packets(65507, ethernet.Framing("udp")))
    45
    """
    return framing.train(payload_bytes).packets


def wire_bits(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.int64]:
    """Bits of one frame on the wire, with all overhead; the result has the shape of `payload_bytes` [B].

    The overhead includes preambles and gaps on Ethernet, and control symbols on RapidIO.

    Examples
    --------
    IC2012 table 6-3: 800 B with UDP 8, IP 20 and Ethernet 38 are 866 B.

    >>> from icmodel.theory import ethernet
    >>> int(ethernet.wire_bits(800, ethernet.Framing("udp"))) / 8
    866.0
    """
    return framing.train(payload_bytes).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: AnyFraming, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput [b/s] of back-to-back frames that share no packets.

    The goodput is line rate × payload / bytes on the wire. TCP may merge small frames into full
    packets, and then exceeds this goodput: see `stream_goodput_bps`.

    Examples
    --------
    A full TCP segment at 1 Gb/s: 1448 of 1538 B.

    >>> from icmodel.theory import ethernet
    >>> round(float(ethernet.max_goodput_bps(1448, ethernet.Framing("tcp"), 1e9)) / 1e6, 1)
    941.5
    """
    return framing.train(payload_bytes).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: AnyFraming, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two frames [s]: bits on the wire / line rate.

    Examples
    --------
    >>> from icmodel.theory import ethernet
    >>> round(float(ethernet.send_interval_s(1448, ethernet.Framing("tcp"), 1e9)) * 1e6, 3)
    12.304
    """
    return framing.train(payload_bytes).interval_s(line_rate_bps)


def min_latency_s(
    payload_bytes: ArrayLike,
    framing: AnyFraming,
    line_rate_bps: float,
    distance_m: float = 0.0,
    propagation_s_per_m: float | None = None,
    switches: int = 0,
    switch_latency_s: float = 0.0,
    switching: str = "cut-through",
) -> NDArray[np.float64]:
    """Least one-way latency of a frame [s]: propagation, serialisation, and the switches.

    The latency ends with the last bit of the frame. The interpacket gap behind it delays only the
    next packet. IC2012 §6.2 includes that gap, and so does Ethernet's framing with ``padded=False``.
    For a read, the result is the latency of the response, without the request.

    Parameters
    ----------
    payload_bytes : int or array of int
        Payload [B].
    framing : AnyFraming
        Framing of the link, such as `icmodel.theory.ethernet.Framing`.
    line_rate_bps : float
        Line rate after coding [b/s].
    distance_m, propagation_s_per_m : float
        Length of all cables [m], and their propagation delay [s/m]. The default delay is that of
        the link's usual cable.
    switches, switch_latency_s : int, float
        Number of switches, and the latency of each [s].
    switching : "cut-through" or "store-and-forward"
        A store-and-forward switch receives a whole packet before it sends the packet. This adds the
        time of the longest packet.

    Examples
    --------
    1526 B of a full TCP segment at 1 Gb/s, without the gap; one store-and-forward switch sends these bytes again.

    >>> from icmodel.theory import ethernet
    >>> path = {"switches": 1, "switching": "store-and-forward"}
    >>> direct = ethernet.min_latency_s(1448, ethernet.Framing("tcp"), 1e9)
    >>> switched = ethernet.min_latency_s(1448, ethernet.Framing("tcp"), 1e9, **path)
    >>> round(float(direct) * 1e6, 3), round(float(switched) * 1e6, 3)
    (12.208, 24.416)
    """
    if propagation_s_per_m is None:
        propagation_s_per_m = framing.propagation_s_per_m
    path = Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return framing.train(payload_bytes).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.bool_]:
    """Whether a frame fills its packets to the last byte; the result has the shape of `payload_bytes` [B]."""
    return framing.train(payload_bytes).aligned


def aligned_payloads(framing: AnyFraming, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending.

    Examples
    --------
    >>> from icmodel.theory import ethernet
    >>> ethernet.aligned_payloads(ethernet.Framing("tcp"), 5000).tolist()
    [1448, 2896, 4344]
    """
    return framing.aligned_payloads(up_to_bytes)


def packet_breaks(framing: AnyFraming, up_to_bytes: int) -> NDArray[np.int64]:
    """Packet breaks up to `up_to_bytes` [B], ascending: payloads above which a frame needs one more packet.

    At such a payload, all packets are full.  The largest possible payload of a frame is left out: no
    frame exceeds it.
    """
    full, most = framing.aligned_payloads(up_to_bytes), framing.max_payload_bytes
    return full if most is None else full[full < most]


def stream_goodput_bps(framing: AnyFraming, line_rate_bps: float) -> float:
    """Greatest goodput of any stream [b/s]: for TCP in full packets, otherwise at the best payload.

    Examples
    --------
    >>> from icmodel.theory import ethernet
    >>> round(ethernet.stream_goodput_bps(ethernet.Framing("tcp"), 10e9) / 1e9, 3)
    9.415
    """
    return float(max_goodput_bps(framing.best_payloads(), framing, line_rate_bps).max())


def max_payload_bytes(framing: AnyFraming) -> int | None:
    """Largest payload of a frame [B]; ``None`` if the protocol has no limit.

    - UDP: 65 507 (IPv6: 65 527); raw Ethernet: the MTU; TCP: no limit.
    - InfiniBand and RoCE: 2**31, or one packet for a datagram.
    - RapidIO: 4096 for messages; no limit for writes and reads.
    """
    return framing.max_payload_bytes
