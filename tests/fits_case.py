"""A simulated lab with known truth: costs a frame, a byte and a packet, and noise between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

import icmodel
from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.fits.observations import Sites
from icmodel.theory import ethernet

Floats = NDArray[np.float64]

LINE_RATE_BPS = 10e9
PAYLOADS = (16, 64, 256, 512, 1024, 1448, 1449, 2048, 4096, 8192, 16384, 32768, 65000)
LOADS_BPS = (0.05e9, 0.2e9, 1e9, 3e9, 6e9, math.inf)
REPEATS = 3
NOISE = 0.02
SEND = (0.9e-6, 0.25e-9, 0.15e-6)
"""Cost a frame [s], a byte [s/B] and a packet [s]."""
RECEIVE = (0.7e-6, 0.3e-9, 0.2e-6)


def packets(payload: Floats, protocol: str) -> Floats:
    """Packets a frame becomes."""
    framing = ethernet.Framing(protocol, 1500)
    return ethernet.packets(payload.astype(np.int64), framing).astype(float)


def cost_s(payload: Floats, protocol: str, costs: tuple[float, float, float]) -> Floats:
    """What a frame costs one side."""
    frame, byte, packet = costs
    return frame + byte * payload + packet * packets(payload, protocol)


def truth(protocol: str, payload_bytes: float, load_bps: float) -> dict[str, float]:
    """Every metric without noise."""
    payload = np.array([float(payload_bytes)])
    framing = ethernet.Framing(protocol, 1500)
    wire_s = float(ethernet.send_interval_s(payload.astype(np.int64), framing, LINE_RATE_BPS)[0])
    least_s = 8 * payload_bytes / ethernet.stream_goodput_bps(framing, LINE_RATE_BPS)
    if protocol == "udp":
        least_s = wire_s
    send = float(cost_s(payload, protocol, SEND)[0])
    receive = float(cost_s(payload, protocol, RECEIVE)[0])
    able = 1 / max(send, least_s)
    taken = 1 / max(send, receive, least_s)
    asked = load_bps / (8 * payload_bytes)
    sent = min(asked, able if protocol == "udp" else taken)
    fps = min(sent, taken)
    rho = min(fps / taken, 0.97)
    latency = 9e-6 + wire_s + send + receive + 2e-6 * rho / (1 - rho)
    if asked > taken:
        latency = 200 / taken
    return {
        "goodput_bps": fps * 8 * payload_bytes,
        "sent_bps": sent * 8 * payload_bytes,
        "loss_rate": 1 - fps / sent if protocol == "udp" else 0.0,
        "latency_mean_s": latency,
        "latency_p99_s": 3 * latency,
        "cpu_send": min(fps * send, 1.0),
        "cpu_recv": min(fps * receive, 1.0),
    }


@cache
def lab(
    seed: int = 1,
    payloads: tuple[int, ...] = PAYLOADS,
    loads: tuple[float, ...] = LOADS_BPS,
    noise: float = NOISE,
    protocols: tuple[str, ...] = ("tcp", "udp"),
) -> Dataset:
    """A dataset of this lab: the mean of some runs at each point, and their spread."""
    random = np.random.default_rng(seed)
    points = []
    for protocol in protocols:
        for payload in payloads:
            for load in loads:
                for metric, value in sorted(truth(protocol, payload, load).items()):
                    runs = value * np.exp(noise * random.standard_normal(REPEATS))
                    if metric in ("cpu_send", "cpu_recv", "loss_rate"):
                        runs = np.minimum(runs, 1.0)
                    if metric in ("goodput_bps", "sent_bps"):
                        runs = np.minimum(runs, load)
                    points.append(row(protocol, payload, load, metric, runs))
    return dataset(points)


def few() -> Dataset:
    """The lab at few points."""
    return lab(payloads=(64, 512, 1448, 1449, 8192), loads=(0.2e9, 3e9, math.inf))


def row(protocol: str, payload: int, load: float, metric: str, runs: Floats) -> Point:
    """One measured row of some runs."""
    return Point(
        line=0, protocol=protocol, payload_bytes=payload, load_bps=load, cores=1, switches=0,
        endpoints=1, other_goodput_bps=None, options=(), metric=metric,
        value=float(runs.mean()), std=float(runs.std(ddof=1)) if len(runs) > 1 else None,
        low=None, high=None, n=len(runs), basis="measured", source="simulated",
    )  # fmt: skip


def dataset(points: Sequence[Point]) -> Dataset:
    """A dataset of some rows on a 10 Gb/s Ethernet."""
    return replace(
        icmodel.load("ethernet-10g-2012"),
        id="simulated",
        points=tuple(points),
        protocols=tuple(sorted({point.protocol for point in points})),
        default_variant="hybrid",
        interconnect=Interconnect("ethernet", LINE_RATE_BPS, 1500),
        option_axes=(),
        option_defaults={},
        stated_limits=(),
        absences=(),
        variants={},
        fabrics={},
    )


def sites(payload_bytes: object, labels: object = None) -> Sites:
    """Sites of one configuration, or of those some labels say."""
    payload = np.asarray(payload_bytes, dtype=float)
    names = np.full((len(payload), 1), "one") if labels is None else np.asarray(labels)
    nothing = np.zeros_like(payload)
    return Sites(
        payload, np.ones_like(payload), np.ceil(payload / 1448), payload / 1448,
        nothing, nothing, names, nothing, nothing,
    )  # fmt: skip
