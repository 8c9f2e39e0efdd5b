"""Rows of data/rapidio-tsi721 from RRMAP's goodput tool.

``build_published.py`` writes them; the rules are in data/rapidio-tsi721/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from points import Row, transcription

NAME = "rapidio-tsi721"
ORIGIN = "RRMAP 0e73fd45"
MICRO = Decimal("0.000001")
MEGA = Decimal(1_000_000)  # RRMAP's MB
BITS = 8
HALF = Decimal("0.5")
PERCENT = Decimal("0.01")
UNLIMITED = Decimal("inf")
READ_TIMES = {"mean": "avg_us", "min": "min_us", "max": "max_us"}


def write_rows() -> Iterator[Row]:
    """Yield goodput and CPU of DMA writes; the computed link occupancy is left out."""
    for cells in transcription(f"{NAME}/dma_write_throughput.csv"):
        for metric, value in (
            ("goodput_bps", Decimal(cells["MBps"]) * MEGA * BITS),
            ("cpu_send_process_cores", Decimal(cells["cpu_occ_pct"]) * PERCENT),
        ):
            yield Row(
                protocol="dma-write",
                metric=metric,
                value=value,
                basis="tabulated",
                source=f"{ORIGIN} dma_write_throughput",
                payload_bytes=int(cells["size_bytes"]),
                load_bps=UNLIMITED,
            )


def read_rows() -> Iterator[Row]:
    """Yield round trips of processor loads through an outbound window, and half round trips."""
    for cells in transcription(f"{NAME}/obwin_read_latency.csv"):
        for statistic, column in READ_TIMES.items():
            round_trip_s = Decimal(cells[column]) * MICRO
            for metric, value, basis, rule in (
                (f"rtt_{statistic}_s", round_trip_s, "tabulated", ""),
                (f"rtt_half_{statistic}_s", round_trip_s * HALF, "derived", "; half of a read"),
            ):
                yield Row(
                    protocol="window-read",
                    metric=metric,
                    value=value,
                    basis=basis,
                    source=f"{ORIGIN} obwin_read_latency{rule}",
                    payload_bytes=int(cells["size_bytes"]),
                )


def rows() -> Iterator[Row]:
    """Yield every row of the dataset."""
    yield from write_rows()
    yield from read_rows()
