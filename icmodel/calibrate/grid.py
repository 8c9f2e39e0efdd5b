"""Grid: the runs that may be asked for, on both sides of the model's breaks, and the domain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from icmodel import theory
from icmodel.calibrate.run import Run
from icmodel.calibrate.settings import Settings
from icmodel.theory import ethernet

MULTIPLES = (1, 2, 3, 5, 9, 17, 33)
"""Packets a frame fills at the breaks that are asked for."""
HEADER_BYTES = {"zeromq": 9}
"""What a protocol puts before each frame in a stream of TCP."""
LEAST_ETHERNET_BYTES = 46
MOST_UDP_BYTES = 65507
DOMAIN_STEPS = 24
"""Payloads of the domain, at equal ratios: where the error is thought of."""
DIGITS = 2


def payload_limit(protocol: str, settings: Settings) -> int:
    """The largest payload of a protocol within the settings [B]."""
    own = {"udp": MOST_UDP_BYTES, "ethernet": settings.mtu_bytes}
    return min(settings.most_payload_bytes, own.get(protocol, settings.most_payload_bytes))


def framing(protocol: str, mtu_bytes: int) -> ethernet.Framing:
    """How a protocol's frames are cut, over IPv4 and with the timestamps that Linux sends."""
    return ethernet.Framing(protocol if protocol in ("udp", "ethernet") else "tcp", mtu_bytes)


def breaks(protocol: str, mtu_bytes: int) -> tuple[int, ...]:
    """The largest payloads of so many packets [B]; of direct Ethernet, where padding ends."""
    if protocol == "ethernet":
        return (LEAST_ETHERNET_BYTES, mtu_bytes)
    full = theory.packet_breaks(framing(protocol, mtu_bytes), MULTIPLES[-1] * mtu_bytes)
    own = HEADER_BYTES.get(protocol, 0)
    return tuple(int(full[count - 1]) - own for count in MULTIPLES if count <= len(full))


def packets(runs: Sequence[Run], mtu_bytes: int) -> NDArray[np.int64]:
    """Packets a frame of each run needs when it is sent alone."""
    found = np.ones(len(runs), dtype=np.int64)
    for protocol in {run.protocol for run in runs}:
        where = [at for at, run in enumerate(runs) if run.protocol == protocol]
        sizes = [runs[at].payload_bytes + HEADER_BYTES.get(protocol, 0) for at in where]
        found[where] = theory.packets(sizes, framing(protocol, mtu_bytes))
    return found


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
