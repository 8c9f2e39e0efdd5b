"""Grid: the runs that may be asked for, on both sides of the model's breaks, and the domain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

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


def domain(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Where the model shall be right: payloads at equal ratios on each curve of some runs."""
    return tuple(
        replace(curve[0], payload_bytes=size)
        for curve in curves(runs)
        for size in _even(curve[0].payload_bytes, curve[-1].payload_bytes)
    )


def curves(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that differ in payload alone, least first."""
    found: dict[tuple[str, float, int], list[Run]] = {}
    for run in sorted(runs):
        found.setdefault((run.protocol, run.load_bps, run.cores), []).append(run)
    return list(found.values())


def pilot(settings: Settings) -> Run:
    """The first run: the largest payload of the first protocol, as fast as it goes."""
    protocol = settings.protocols[0]
    return Run(protocol, payload_limit(protocol, settings), math.inf, settings.cores)


def first_runs(runs: Sequence[Run], settings: Settings) -> list[Run]:
    """The first round: at full load both ends, both sides of the first break, and between them.

    What the path carries follows from it; so does which loads make sense at which payloads.
    """
    found: list[Run] = []
    for curve in curves([run for run in runs if run.unlimited]):
        at = breaks(curve[0].protocol, settings.mtu_bytes)[0]
        below = [run for run in curve if run.payload_bytes <= at]
        above = [run for run in curve if run.payload_bytes > at]
        for part in (below, above):
            found += [part[index] for index in sorted({0, len(part) // 2, len(part) - 1}) if part]
    return found


def ends(runs: Sequence[Run]) -> list[Run]:
    """The least and the greatest payload of every curve."""
    return [run for curve in curves(runs) for run in dict.fromkeys((curve[0], curve[-1]))]


def _even(least: int, most: int) -> tuple[int, ...]:
    ratio = (most / least) ** (1 / (DOMAIN_STEPS - 1))
    return tuple(sorted({round(least * ratio**step) for step in range(DOMAIN_STEPS)}))


def _rounded(load_bps: float) -> float:
    return load_bps if math.isinf(load_bps) else float(f"{load_bps:.{DIGITS - 1}e}")
