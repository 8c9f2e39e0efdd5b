"""Bounds of goodput and latency for the framing of any link.

``icmodel.theory`` and the module of each link have these functions by the same names. Payloads are an int or an
array of ints [B]; the result is a numpy array of their shape: ``()`` for an int, which ``int()`` or ``float()``
converts. Line rates are data rates after coding [b/s]. A payload that the link cannot carry, and an impossible
rate or path, raises ScenarioError.
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
    """Packets one frame becomes; shape of `payload_bytes` [B]."""
    return framing.train(payload_bytes).packets


def wire_bits(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.int64]:
    """Bits of one frame on the wire, with all overhead of its packets; shape of `payload_bytes` [B].

    On Ethernet with preambles and gaps, on RapidIO with control symbols.
    """
    return framing.train(payload_bytes).wire_bits


def max_goodput_bps(
    payload_bytes: ArrayLike, framing: AnyFraming, line_rate_bps: float
) -> NDArray[np.float64]:
    """Goodput of frames back to back, each in packets of its own [b/s].

    TCP may merge small frames into full packets and exceed it: see `stream_goodput_bps`.
    """
    return framing.train(payload_bytes).goodput_bps(line_rate_bps)


def send_interval_s(
    payload_bytes: ArrayLike, framing: AnyFraming, line_rate_bps: float
) -> NDArray[np.float64]:
    """Least time between the starts of two frames [s]."""
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
    """Least one-way latency: propagation, all bits of the frame, and the switches [s].

    It ends with the last bit of the frame, before the gap that only the next packet waits for; IC2012 §6.2, and
    Ethernet's framing with ``padded=False``, have that gap in. A switch adds its latency; one that stores and
    forwards receives a whole packet before it sends. The default propagation is that of the
    link's usual cable. Of a read only the answer is counted, not the request before it.
    """
    if propagation_s_per_m is None:
        propagation_s_per_m = framing.propagation_s_per_m
    path = _wire.Path(distance_m, propagation_s_per_m, switches, switch_latency_s, switching)
    return framing.train(payload_bytes).latency_s(line_rate_bps, path)


def aligned(payload_bytes: ArrayLike, framing: AnyFraming) -> NDArray[np.bool_]:
    """Whether a frame fills its packets to the last byte; shape of `payload_bytes` [B]."""
    return framing.train(payload_bytes).aligned


def aligned_payloads(framing: AnyFraming, up_to_bytes: int) -> NDArray[np.int64]:
    """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""
    return framing.aligned_payloads(up_to_bytes)


def packet_breaks(framing: AnyFraming, up_to_bytes: int) -> NDArray[np.int64]:
    """Payloads up to `up_to_bytes` above which a frame needs one more packet [B], ascending.

    They are the aligned payloads below the largest frame, which has none above it.
    """
    full, most = framing.aligned_payloads(up_to_bytes), framing.max_payload_bytes
    return full if most is None else full[full < most]


def stream_goodput_bps(framing: AnyFraming, line_rate_bps: float) -> float:
    """Bound for any stream [b/s]: of TCP in full packets, of other protocols at their best payload."""
    return float(max_goodput_bps(framing.best_payloads(), framing, line_rate_bps).max())


def max_payload_bytes(framing: AnyFraming) -> int | None:
    """Largest frame [B]; ``None`` where the protocol has no limit.

    UDP 65 507 (IPv6: 65 527), direct Ethernet the MTU, TCP none (a stream); InfiniBand and RoCE
    2**31, a datagram one packet; RapidIO messages 4096, writes and reads none.
    """
    return framing.max_payload_bytes
