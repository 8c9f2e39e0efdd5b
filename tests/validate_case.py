"""A dataset with a known law, so that every score of it is known too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from icmodel.dataset import Dataset, Point, load
from points import Row, write_dataset

PAYLOADS = tuple(2**k for k in range(4, 16))
LOADS = (Decimal(10**8), Decimal(5 * 10**8), Decimal("inf"))
METRICS = ("cpu_recv", "goodput_bps", "latency_mean_s")

DOCUMENT = """\
schema_version = 1
id = "law-1g"
title = "A law"
edition = "1"
sha256 = ""
default_variant = "corrected"
default_protocol = "tcp"
protocols = ["tcp"]
licence = "free"
citation = "Nobody"

[tool]
name = "a formula"
version = "1"

[interconnect]
kind = "ethernet"
line_rate_bps = 1_000_000_000
mtu_bytes = 1500
switch_latency_s = 2e-6
propagation_s_per_m = 5e-9
cable_length_m = 1.0

[[hosts]]
name = "none"
cpu = "none"

[axes.payload_bytes]
meaning = "useful bytes"
unit = "B"
"""


def goodput_bps(payload: int) -> int:
    """Goodput at 2 µs per frame and 8 ns per byte, in whole bits per second."""
    return round(payload * 8 / (2e-6 + payload * 8.6e-9))


def latency_s(payload: int, load: Decimal) -> float:
    """Latency: a base and the serialisation, which grow with the load."""
    times = 3.0 if load.is_infinite() else 1 + float(load) / 1e9
    return times * (10e-6 + payload * 8e-9)


def rows(basis: str = "measured") -> Iterator[Row]:
    """Goodput, latency and CPU over a grid of payloads and loads."""
    for payload in PAYLOADS:
        for limit in LOADS:
            reached = min(Decimal(goodput_bps(payload)), limit)
            yield _row("goodput_bps", payload, limit, reached, basis)
            latency = Decimal(f"{latency_s(payload, limit):.9f}")
            yield _row("latency_mean_s", payload, limit, latency, basis)
            yield _row(
                "cpu_recv", payload, limit, (reached / 10**9).quantize(Decimal("1e-6")), basis
            )


def _row(metric: str, payload: int, load: Decimal, value: Decimal, basis: str) -> Row:
    return Row(
        protocol="tcp",
        metric=metric,
        value=value,
        basis=basis,
        source="the law",
        payload_bytes=payload,
        load_bps=load,
        cores=1,
        switches=0,
        endpoints=1,
        std=(value / 100).quantize(Decimal("1e-12")),
        n=4,
    )


def law(folder: Path, extra: Iterable[Row] = ()) -> Dataset:
    """The dataset, written into a folder and loaded."""
    return load(write_dataset("law-1g", [*rows(), *extra], DOCUMENT, folder))


def edited(data: Dataset, edit: Callable[[Point], Point]) -> Dataset:
    """Dataset with a function applied to every row."""
    return replace(data, points=tuple(edit(point) for point in data.points))


def is_limited(point: Point) -> bool:
    return point.load_bps is not None and math.isfinite(point.load_bps)
