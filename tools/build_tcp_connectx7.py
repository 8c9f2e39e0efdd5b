"""Rows of data/tcp-connectx7 from iperf3 results of moc-training-scripts.

``build_published.py`` writes them; the rules are in data/tcp-connectx7/README.md.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal

from points import Row, transcription

NAME = "tcp-connectx7"
ORIGIN = "moc-training-scripts c27c4130"
FILES = ("streams_mtu1500", "streams_mtu9000")
GIGA = Decimal(1_000_000_000)
ONE_BPS = Decimal(1)
KIB = 1024
UNLIMITED = Decimal("inf")
Key = tuple[str, str, int, int]  # MTU, interface, block in bytes, streams


def runs() -> dict[Key, list[Decimal]]:
    """Return goodput at the receiver [b/s] of every run, by setting."""
    found: dict[Key, list[Decimal]] = {}
    for file in FILES:
        for cells in transcription(f"{NAME}/{file}.csv"):
            block = int(cells["block"].removesuffix("K")) * KIB
            key = (cells["mtu"], cells["interface"], block, int(cells["streams"]))
            found.setdefault(key, []).append(Decimal(cells["received_Gbps"]) * GIGA)
    return found


def rows() -> Iterator[Row]:
    """Yield mean and sample standard deviation of the runs of each setting."""
    for (mtu, interface, block_bytes, streams), goodputs in runs().items():
        yield Row(
            protocol="tcp",
            metric="goodput_bps",
            value=statistics.mean(goodputs).quantize(ONE_BPS, ROUND_HALF_EVEN),
            basis="tabulated",
            source=f"{ORIGIN} iperf3; mean of {len(goodputs)} runs",
            payload_bytes=block_bytes,
            load_bps=UNLIMITED,
            cores=streams,
            endpoints=1,
            options={"mtu": mtu, "interface": interface},
            std=statistics.stdev(goodputs).quantize(ONE_BPS, ROUND_HALF_EVEN),
            n=len(goodputs),
        )
