"""Datasets of made-up hosts that obey physics at every row, so that an answer has no excuse.

The rows of ``generated`` are drawn metric by metric, and contradict each other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

import generated
from icmodel.dataset import Dataset, Interconnect
from icmodel.tables.wire import Wire
from points import Row

QUANTILES = {"min": 0.8, "p50": 0.97, "mean": 1.0, "p90": 1.3, "p99": 2.0, "p999": 4.0, "max": 9.0}
"""Of a latency, what each statistic is of the mean; factors drawn for a row keep the order."""
WIRE = {"kind": "ethernet", "mtu_bytes": 1500}
SPREADS = ("nothing", "std", "range")


@dataclass(frozen=True)
class Host:
    """Made-up hosts and what was measured of them; numbers come from ``seed``."""

    seed: int
    protocols: tuple[str, ...]
    line_rate_bps: float
    frame_s: float
    byte_s: float
    payloads: int
    loads: int
    cores: tuple[int, ...]
    statistics: tuple[str, ...]
    path: bool
    spread: str
    packets: bool


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    """Hosts slower and faster than their line, with few and with many rows."""
    kept = st.sampled_from((("mean",), ("min", "mean", "max"), tuple(QUANTILES)))
    return Host(
        seed=draw(st.integers(0, 2**32)),
        protocols=draw(st.sampled_from((("tcp",), ("udp",), ("ethernet", "tcp", "udp")))),
        line_rate_bps=draw(st.sampled_from((1e9, 1e10, 1e11))),
        frame_s=draw(st.sampled_from((2e-7, 2e-6, 2e-5))),
        byte_s=draw(st.sampled_from((1e-11, 1e-10, 1e-9))),
        payloads=draw(st.integers(2, 7)),
        loads=draw(st.integers(1, 4)),
        cores=draw(st.sampled_from(((1,), (1, 4), (1, 2, 4)))),
        statistics=draw(kept),
        path=draw(st.booleans()),
        spread=draw(st.sampled_from(SPREADS)),
        packets=draw(st.booleans()),
    )


def dataset(host: Host) -> Dataset:
    """The rows of some hosts, as a verified dataset; the same hosts give the same rows."""
    link: dict[str, object] = {**WIRE, "line_rate_bps": host.line_rate_bps}
    if host.path:
        link |= {"switch_latency_s": 2e-6, "propagation_s_per_m": 5e-9, "cable_length_m": 3.0}
    return generated.from_rows(list(_Rows(host).every()), link)


class _Rows:
    """The rows of some hosts."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.random = random.Random(host.seed)

    def every(self) -> Iterator[Row]:
        for protocol in self.host.protocols:
            wire = Wire(protocol, Interconnect("ethernet", self.host.line_rate_bps, 1500))
            most = generated.GREATEST[protocol]
            for payload in self.payloads(most):
                for cores in self.host.cores:
                    yield from self.at(wire, payload, cores)

    def payloads(self, most: int) -> list[int]:
        found: set[int] = set()
        while len(found) < self.host.payloads:
            found.add(round(math.exp(self.random.uniform(0, math.log(most)))))
        return sorted(found)

    def at(self, wire: Wire, payload: int, cores: int) -> Iterator[Row]:
        """All loads of one payload and count of cores."""
        frame_s = (self.host.frame_s + payload * self.host.byte_s) / cores
        bits = 8.0 * payload
        sizes = np.array([float(payload)])
        bound = float(wire.goodput_bound_bps(sizes, wire.serialisation_s(sizes))[0])
        reached = min(bits / frame_s, bound) * self.random.uniform(0.95, 1.0)
        top = self.host.line_rate_bps
        loads = [top * 10.0 ** -(k + 0.5) for k in range(self.host.loads)]
        for load in (*sorted(float(round(x)) for x in loads), math.inf):
            carried = min(load, reached)
            if load <= reached or math.isinf(load):
                yield from self.load(wire, payload, cores, load, carried, frame_s)

    def load(
        self, wire: Wire, payload: int, cores: int, load: float, carried: float, frame_s: float
    ) -> Iterator[Row]:
        """Every metric of one run."""
        sizes = np.array([float(payload)])
        frames = carried / (8 * payload)
        full = math.isinf(load)
        yield self.row(wire, payload, cores, load, "goodput_bps", carried, carried)
        if wire.protocol != "tcp":
            loss = self.random.choice((0.0, 0.1)) if full else 0.0
            yield self.row(wire, payload, cores, load, "loss_rate", loss, 1.0)
        busy = min(frames * frame_s, 1.0)
        for side in ("cpu_send", "cpu_recv"):
            yield self.row(wire, payload, cores, load, side, busy, 1.0)
        if cores == self.host.cores[-1]:
            mean = float(wire.lone_frame_s(sizes)[0]) * 2 + 2 * frame_s + 2e-5
            mean *= 20.0 if full else 1.0
            noise = self.random.uniform(0.98, 1.02)
            for name in self.host.statistics:
                value = mean * QUANTILES[name] * noise
                yield self.row(wire, payload, cores, load, f"latency_{name}_s", value, math.inf)
        if self.host.packets:
            each = wire.least_packets(sizes) if full else wire.packets(sizes)
            packets = frames * float(each[0])
            yield self.row(wire, payload, cores, load, "packets_sent_per_s", packets, math.inf)

    def row(
        self,
        wire: Wire,
        payload: int,
        cores: int,
        load: float,
        metric: str,
        value: float,
        most: float,
    ) -> Row:
        """One row with its spread, which passes no limit."""
        number, spread = _decimal(value), self.host.spread
        ranged = spread == "range"
        return Row(
            wire.protocol,
            metric,
            number,
            "measured",
            "made up",
            payload_bytes=payload,
            load_bps=Decimal("inf") if math.isinf(load) else _decimal(load),
            cores=cores,
            switches=0,
            endpoints=1,
            options={},
            std=_decimal(0.01 * value) if spread == "std" else None,
            n=5 if spread == "std" else None,
            low=_decimal(0.98 * value) if ranged else None,
            high=max(_decimal(min(1.02 * value, most)), number) if ranged else None,
        )


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(f"{value:.9g}")))
