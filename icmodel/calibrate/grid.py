"""Grid: the runs that may be asked for, on both sides of the model's breaks, and the domain."""

from __future__ import annotations

import math
from collections.abc import Sequence

from icmodel.calibrate.run import Run
from icmodel.calibrate.settings import Settings

MULTIPLES = (1, 2, 3, 5, 9, 17, 33)
"""Packets a frame fills at the breaks that are asked for."""
IP_HEADER_BYTES, UDP_HEADER_BYTES = 20, 8
TCP_OVERHEAD_BYTES = 52
"""IPv4, TCP and the timestamps that Linux sends."""
ZEROMQ_HEADER_BYTES = 9
LEAST_ETHERNET_BYTES = 46
MOST_UDP_BYTES = 65507
DOMAIN_STEPS = 24
"""Payloads of the domain, at equal ratios: where the error is thought of."""
DIGITS = 2


def payload_limit(protocol: str, settings: Settings) -> int:
    """The largest payload of a protocol within the settings [B]."""
    own = {"udp": MOST_UDP_BYTES, "ethernet": settings.mtu_bytes}
    return min(settings.most_payload_bytes, own.get(protocol, settings.most_payload_bytes))


def breaks(protocol: str, mtu_bytes: int) -> tuple[int, ...]:
    """The largest payloads of so many packets [B]."""
    segment = mtu_bytes - TCP_OVERHEAD_BYTES
    fragment = (mtu_bytes - IP_HEADER_BYTES) // 8 * 8
    if protocol == "ethernet":
        return (LEAST_ETHERNET_BYTES, mtu_bytes)
    if protocol == "udp":
        return tuple(n * fragment - UDP_HEADER_BYTES for n in MULTIPLES)
    less = ZEROMQ_HEADER_BYTES if protocol == "zeromq" else 0
    return tuple(n * segment - less for n in MULTIPLES)


def packets(protocol: str, payload_bytes: float, mtu_bytes: int) -> int:
    """Packets a frame needs when it is sent alone."""
    first = breaks(protocol, mtu_bytes)
    if protocol == "ethernet":
        return 1
    if protocol == "udp":
        fragment = first[0] + UDP_HEADER_BYTES
        return math.ceil((payload_bytes + UDP_HEADER_BYTES) / fragment)
    less = ZEROMQ_HEADER_BYTES if protocol == "zeromq" else 0
    return math.ceil((payload_bytes + less) / (first[0] + less))


def payloads(protocol: str, settings: Settings) -> tuple[int, ...]:
    """Powers of two, both ends, and both sides of every break."""
    least, most = settings.least_payload_bytes, payload_limit(protocol, settings)
    powers = [2**n for n in range(17)]
    sides = [side for size in breaks(protocol, settings.mtu_bytes) for side in (size, size + 1)]
    return tuple(sorted({size for size in (*powers, *sides, least, most) if least <= size <= most}))


def loads(settings: Settings, reference_bps: float) -> tuple[float, ...]:
    """The loads [b/s], rounded to two digits, least first."""
    return tuple(sorted({_rounded(share * reference_bps) for share in settings.loads}))


def candidates(settings: Settings, reference_bps: float) -> tuple[Run, ...]:
    """Every run that may be asked for, sorted."""
    return tuple(
        sorted(
            Run(protocol, size, load, settings.cores)
            for protocol in settings.protocols
            for size in payloads(protocol, settings)
            for load in loads(settings, reference_bps)
        )
    )


def domain(settings: Settings, reference_bps: float) -> tuple[Run, ...]:
    """Where the model shall be right: payloads at equal ratios, at every load."""
    return tuple(
        Run(protocol, size, load, settings.cores)
        for protocol in settings.protocols
        for size in _even(settings.least_payload_bytes, payload_limit(protocol, settings))
        for load in loads(settings, reference_bps)
    )


def pilot(settings: Settings) -> Run:
    """The first run: the largest payload of the first protocol, as fast as it goes."""
    protocol = settings.protocols[0]
    return Run(protocol, payload_limit(protocol, settings), math.inf, settings.cores)


def first_runs(settings: Settings, reference_bps: float) -> tuple[Run, ...]:
    """The first round: both ends of every load, and the sides of the first break at full load."""
    found: list[Run] = []
    for protocol in settings.protocols:
        sizes = payloads(protocol, settings)
        for load in loads(settings, reference_bps):
            inner = _beside_first_break(protocol, sizes, settings) if math.isinf(load) else ()
            found += [
                Run(protocol, size, load, settings.cores) for size in (sizes[0], *inner, sizes[-1])
            ]
    return tuple(found)


def _beside_first_break(protocol: str, sizes: Sequence[int], settings: Settings) -> tuple[int, ...]:
    at = breaks(protocol, settings.mtu_bytes)[0]
    return tuple(size for size in sizes[1:-1] if size in (at, at + 1))


def _even(least: int, most: int) -> tuple[int, ...]:
    ratio = (most / least) ** (1 / (DOMAIN_STEPS - 1))
    return tuple(sorted({round(least * ratio**step) for step in range(DOMAIN_STEPS)}))


def _rounded(load_bps: float) -> float:
    return load_bps if math.isinf(load_bps) else float(f"{load_bps:.{DIGITS - 1}e}")
