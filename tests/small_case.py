"""Small dataset and use case with known numbers, and texts that could break a page."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from icmodel.dataset import Dataset, load
from icmodel.usecase import Evaluation, evaluate
from points import Row, write_dataset

HOSTILE = "<script>alert('1')</script> & \"quoted\" | piped *starred* [a](b) `c`"
"""Text with characters that are special in HTML, Markdown or an attribute."""
HOSTILE_TOML = HOSTILE.replace('"', '\\"')
INF = Decimal("inf")

DATASET = f"""\
schema_version = 1
id = "small-1g"
title = "Small {HOSTILE_TOML}"
edition = "1"
sha256 = ""
default_variant = "corrected"
default_protocol = "tcp"
protocols = ["tcp"]
licence = "free {HOSTILE_TOML}"
citation = "Someone: Something. 2020. {HOSTILE_TOML}"
known_limits = ["Three sizes only. {HOSTILE_TOML}"]

[tool]
name = "ruler"
version = "1"

[interconnect]
kind = "ethernet"
line_rate_bps = 1_000_000_000
mtu_bytes = 1500
switch_latency_s = 2e-6
propagation_s_per_m = 5e-9
cable_length_m = 1.0

[[hosts]]
name = "one {HOSTILE_TOML}"
cpu = "a CPU"

[axes.payload_bytes]
meaning = "useful bytes"
unit = "B"
"""

USECASE = f"""\
schema_version = 1
name = "small"
title = "Small {HOSTILE_TOML}"
question = "Does it go? {HOSTILE_TOML}"
source = "here {HOSTILE_TOML}"
citation = "A person {HOSTILE_TOML}"
default_candidate = "slow"
minimise = ["cpu_recv"]
known_limits = ["Not much {HOSTILE_TOML}"]

[[streams]]
name = "video"
kind = "goodput"
goodput = "400 Mb/s"

[[requirements]]
name = "it arrives {HOSTILE_TOML}"
metric = "goodput_bps"
at_least = "video.goodput_bps"
source = "there {HOSTILE_TOML}"

[[requirements]]
name = "in time"
metric = "latency_mean_s"
at_most = "1 ms"

[[requirements]]
name = "always in time"
metric = "latency_max_s"
at_most = "2 ms"

[[candidates]]
name = "slow"
description = "Half of it {HOSTILE_TOML}"

[candidates.scenarios.video]
protocol = "tcp"
payload = "1024 B"
requested_goodput = "200 Mb/s"

[[candidates]]
name = "right"

[candidates.scenarios.video]
protocol = "tcp"
payload = "1024 B"
requested_goodput = "400 Mb/s"

[[candidates]]
name = "nowhere"

[candidates.scenarios.video]
protocol = "smoke"
payload = "1024 B"
"""

GOODPUT_BPS = {64: 100_000_000, 1024: 600_000_000, 4096: 900_000_000}
LATENCY_S = {64: "0.00002", 1024: "0.00004", 4096: "0.0001"}


LOADS = ((Decimal(10**7), 1, "0.1"), (Decimal(5 * 10**8), 2, "0.4"), (INF, 20, "0.7"))
"""Load [b/s], latency as a multiple of the least latency, and receiving CPU."""


def rows() -> list[Row]:
    """Goodput at unlimited rate; latency and receiving CPU at two loads and unlimited."""
    return [row for payload in GOODPUT_BPS for row in _rows_of(payload)]


def _rows_of(payload: int) -> Iterator[Row]:
    goodput = Decimal(GOODPUT_BPS[payload])
    yield _row("goodput_bps", "measured", payload, INF, goodput, min(goodput, Decimal(93 * 10**7)))
    for limit, times, cpu in LOADS:
        mean = Decimal(LATENCY_S[payload]) * times
        yield _row("latency_mean_s", "tabulated", payload, limit, mean, mean * 11 / 10)
        yield _row("latency_max_s", "stated", payload, limit, 10 * mean, 11 * mean)
        yield _row("cpu_recv", "assumed", payload, limit, Decimal(cpu), Decimal(cpu))


def _row(
    metric: str, basis: str, payload: int, load: Decimal, value: Decimal, high: Decimal
) -> Row:
    return Row(
        protocol="tcp",
        metric=metric,
        value=value,
        basis=basis,
        source=f"table {payload} {HOSTILE}",
        payload_bytes=payload,
        load_bps=load,
        cores=1,
        switches=0,
        endpoints=1,
        low=value * 9 / 10,
        high=high,
    )


def small_dataset(folder: Path) -> Dataset:
    """The dataset, written into a folder and loaded."""
    return load(write_dataset("small-1g", rows(), DATASET, folder))


def small_evaluation(folder: Path, candidate: str | None = None) -> Evaluation:
    """Use case evaluated on the dataset: one candidate fails, one meets all, one is undecided."""
    path = folder / "small.toml"
    path.write_text(USECASE, encoding="utf-8")
    return evaluate(path, small_dataset(folder), candidate=candidate)
