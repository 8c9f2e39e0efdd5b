"""Synthetic systems with known truth: costs per frame, byte and packet on both sides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.chooser.ready import Ready
from icmodel.calibrate.runs import Record, Run, packets
from icmodel.calibrate.testbed import Refused

HOST = {"hostname": "made up"}


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of one core for one frame [s]: per frame, packet and byte, and extra above a break."""

    frame_s: float
    packet_s: float
    byte_s: float
    break_bytes: int = 1 << 30
    break_s: float = 0.0
    break_byte_s: float = 0.0

    def of(self, payload_bytes: int, count: int) -> float:
        """Return the time of one frame that takes ``count`` packets [s]."""
        extra = 0.0
        if payload_bytes > self.break_bytes:
            extra = self.break_s + self.break_byte_s * (payload_bytes - self.break_bytes)
        return self.frame_s + self.packet_s * count + self.byte_s * payload_bytes + extra


@dataclass(frozen=True, slots=True)
class Truth:
    """True costs of both hosts and the wire; TCP costs ``tcp_factor`` times as much as UDP."""

    name: str
    send: Cost
    recv: Cost
    line_rate_bps: float
    mtu_bytes: int
    base_s: float
    buffer_bytes: float
    tcp_factor: float
    waiting: float

    def result(self, run: Run) -> dict[str, float]:
        """Return the undisturbed results of a run."""
        count = int(packets([run], self.mtu_bytes)[0])
        factor = self.tcp_factor if run.protocol == "tcp" else 1.0
        send_s = factor * self.send.of(run.payload_bytes, count)
        recv_s = factor * self.recv.of(run.payload_bytes, count)
        bits = 8.0 * run.payload_bytes
        wire_s = (bits + 8.0 * 66 * count) / self.line_rate_bps
        asked = run.load_bps / bits
        can_send = 1.0 / max(send_s, wire_s)
        can_receive = 1.0 / recv_s
        loses = run.protocol in ("udp", "ethernet")
        sent = min(asked, can_send) if loses else min(asked, can_send, can_receive)
        received = min(sent, can_receive)
        return {
            "goodput_bps": received * bits,
            "sent_bps": sent * bits,
            "loss_rate": 1.0 - received / sent,
            "latency_mean_s": self._latency(asked, send_s, recv_s, wire_s, received * bits),
            "cpu_send": min(sent * send_s, 1.0),
            "cpu_recv": min(received * recv_s, 1.0),
        }

    def _latency(
        self, asked_fps: float, send_s: float, recv_s: float, wire_s: float, goodput_bps: float
    ) -> float:
        """Return the mean latency [s]: base, service at each station, and waiting at the slowest.

        Waiting is at most the time of a full buffer.
        """
        slowest = max(send_s, recv_s, wire_s)
        full = 8.0 * self.buffer_bytes / goodput_bps
        load = asked_fps * slowest
        queue = full if load >= 1.0 else min(self.waiting * slowest * load / (1.0 - load), full)
        return self.base_s + send_s + wire_s + recv_s + queue


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of a run: relative deviations, and absolute deviation of a CPU share."""

    goodput: float = 0.02
    latency: float = 0.08
    cpu: float = 0.01

    def times(self, factor: float) -> Noise:
        """Return the noise times a factor; with 0 a run measures the truth."""
        return Noise(self.goodput * factor, self.latency * factor, self.cpu * factor)


class Synthetic(Ready):
    """Testbed that measures a truth with noise; the same repeat always gives the same record.

    Parameters
    ----------
    truth : Truth
        True costs of the system.
    seed : int
        Seed of the noise.
    noise : Noise
        Amount of noise.
    """

    def __init__(self, truth: Truth, seed: int, noise: Noise | None = None) -> None:
        self.truth = truth
        self.description = f"synthetic {truth.name}, seed {seed}"
        self._seed = seed
        self._noise = noise or Noise()

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Measure one run: the truth with noise that follows from seed, run and repeat."""
        draw = np.random.default_rng([self._seed, int(run.identity, 16), repeat])
        true, noise = self.truth.result(run), self._noise
        common, late, first, second = draw.standard_normal(4)
        slower = math.exp(-abs(noise.goodput * common))
        asked = run.load_bps
        goodput = min(true["goodput_bps"] * slower, asked) if self._full(run) else min(asked, 1e18)
        result = {
            "goodput_bps": goodput,
            "latency_mean_s": true["latency_mean_s"] * math.exp(noise.latency * late),
            "cpu_send": _share(true["cpu_send"] + noise.cpu * first),
            "cpu_recv": _share(true["cpu_recv"] + noise.cpu * second),
            "loss_rate": true["loss_rate"],
        }
        return {
            "schema_version": 1,
            "run": f"{self._seed}-{run.identity}-{repeat}",
            "started_utc": "2026-01-01T00:00:00Z",
            "tool": {"name": "synthetic", "version": "1"},
            "point": _point(run),
            "result": result,
            "environment": {"send": HOST, "recv": HOST},
            "flags": [],
        }

    def _full(self, run: Run) -> bool:
        """Whether the path carries less than the offered load."""
        return self.truth.result(run)["goodput_bps"] < run.load_bps * (1.0 - 1e-9)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _point(run: Run) -> dict[str, Any]:
    point: dict[str, Any] = {
        "protocol": run.protocol,
        "payload_bytes": run.payload_bytes,
        "cores": run.cores,
        "pattern": "stream",
        "switches": 0,
        "endpoints": 1,
    }
    if not run.unlimited:
        point |= {"load_bps": run.load_bps, "rate_fps": run.load_bps / 8 / run.payload_bytes}
    return point


TUNING = Truth(
    "tuning", Cost(0.8e-6, 0.5e-6, 0.12e-9), Cost(1.1e-6, 0.9e-6, 0.2e-9),
    10e9, 1500, 18e-6, 2e6, 0.8, 0.5,
)  # fmt: skip
"""System on which the chooser was tuned; it is in no result."""

TRUTHS = (
    Truth(
        "ten gigabit, two hosts alike",
        Cost(1.6e-6, 0.25e-6, 0.05e-9), Cost(1.9e-6, 0.4e-6, 0.09e-9),
        10e9, 1500, 12e-6, 1e6, 1.3, 0.5,
    ),
    Truth(
        "jumbo packets, a copy break at 16 KiB",
        Cost(2.4e-6, 0.6e-6, 0.03e-9, 16384, 6e-6, 0.15e-9), Cost(2.0e-6, 1.4e-6, 0.06e-9),
        40e9, 9000, 25e-6, 4e6, 0.7, 1.0,
    ),
    Truth(
        "one gigabit, dear packets, a slow receiver above 4 KiB",
        Cost(5e-6, 2e-6, 0.4e-9), Cost(6e-6, 5e-6, 0.6e-9, 4096, 20e-6, 0.5e-9),
        1e9, 1500, 60e-6, 0.25e6, 0.9, 0.3,
    ),
)  # fmt: skip
"""Systems of the results."""
