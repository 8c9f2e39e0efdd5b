"""Bounds of goodput and latency for the framing of any link.

``icmodel.theory`` and the module of each link export these functions. Payloads are an int or an
array of ints [B]. The result is a numpy array of their shape: ``()`` for an int, which ``int()`` or
``float()`` converts. Line rates are data rates after coding [b/s]. The functions raise
ScenarioError for a payload that the link cannot carry, and for an impossible rate or path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from icmodel.theory import _wire

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from icmodel.theory._wire import AnyFraming

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
    The largest UDP datagram takes 45 Ethernet packets, since each carries at most 1480 B of it.

    >>> from icmodel.theory import ethernet
    >>> int(ethernet.packets(65507, ethernet.Framing("udp")))
    45
    """
    return framing.train(payload_bytes).packets


def wire_bits(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.int64]:
    """Bits of one frame on the wire, with all overhead; in the shape of `payload_bytes` [B].

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

    The latency ends with the last bit of the frame, before the interpacket gap, which delays only
    the next packet. IC2012 §6.2, and Ethernet's framing with ``padded=False``, include that gap.
    For a read, the result is the latency of the response, without the request.

    Parameters
    ----------
    distance_m, propagation_s_per_m : float
        Length of all cables [m], and their propagation delay [s/m]; by default that of the link's
        usual cable.
    switches, switch_latency_s : int, float
        Number of switches, and the latency of each [s].
    switching : "cut-through" or "store-and-forward"
        A store-and-forward switch receives a whole packet before it sends. So it adds the time of
        the longest packet.

    Examples
    --------
    1526 B of a full TCP segment at 1 Gb/s, without the gap; one store-and-forward switch sends them
    again.

    >>> from icmodel.theory import ethernet
    >>> path = {"switches": 1, "switching": "store-and-forward"}
    >>> direct = ethernet.min_latency_s(1448, ethernet.Framing("tcp"), 1e9)
    >>> switched = ethernet.min_latency_s(1448, ethernet.Framing("tcp"), 1e9, **path)
    >>> round(float(direct) * 1e6, 3), round(float(switched) * 1e6, 3)
    (12.208, 24.416)
    """
    if propagation_s_per_m is None:
        propagation_s_per_m = framing.propagation_s_per_m
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return framing.train(payload_bytes).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.bool_]:
    """Whether a frame fills its packets to the last byte; in the shape of `payload_bytes` [B]."""
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
    """Payloads up to `up_to_bytes` above which a frame needs one more packet [B], ascending.

    They are the aligned payloads below the largest payload.
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
