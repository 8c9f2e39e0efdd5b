"""Rows of data/dds-1g from Cyclone DDS's published performance files.

``build_published.py`` writes them; the rules are in data/dds-1g/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from points import Row, transcription

NAME = "dds-1g"
ORIGIN = "cyclonedds assets 27ec527f"
MICRO = Decimal("0.000001")
KILO = Decimal(1_000)
MEGA = Decimal(1_000_000)
PERCENT = Decimal("0.01")
UNLIMITED = Decimal("inf")
RATE_STEP = Decimal(10)  # kS/s are printed to two decimals
MODE = "ddsperf-2019"
COUNT_BYTES = 8  # counter that every sample of the throughput example has besides its payload
LATENCIES = ("mean", "min", "p50", "p90", "p99", "max")
PING = {"cpu_send_process_cores": "ping", "cpu_recv_process_cores": "pong"}
STREAM = {"cpu_send_process_cores": "pub", "cpu_recv_process_cores": "sub"}
Cells = dict[str, str]


def row(
    metric: str,
    value: Decimal,
    payload_bytes: int,
    *,
    source: str,
    basis: str = "tabulated",
    mode: str = MODE,
    load_bps: Decimal | None = UNLIMITED,
    step: Decimal | None = None,
) -> Row:
    """Make the row of one number; ``step`` is its last printed digit, if rounding matters."""
    return Row(
        protocol="dds",
        metric=metric,
        value=value,
        basis=basis,
        source=f"{ORIGIN} {source}",
        payload_bytes=payload_bytes,
        load_bps=load_bps,
        endpoints=1,
        options={"mode": mode},
        low=None if step is None else value - step / 2,
        high=None if step is None else value + step / 2,
    )


def cpu_rows(
    cells: Cells, sides: dict[str, str], source: str, load_bps: Decimal | None
) -> Iterator[Row]:
    """Yield busy cores of each process: median user plus median system percent of its threads."""
    for metric, side in sides.items():
        percent = sum(Decimal(cells[f"{side}_cpu_{mode}_pct_median"]) for mode in ("user", "sys"))
        yield row(
            metric,
            percent * PERCENT,
            int(cells["size_bytes"]),
            source=f"{source}; user + system",
            basis="derived",
            load_bps=load_bps,
        )


def latency_rows() -> Iterator[Row]:
    """Yield half round trips: for each statistic, its median over the seconds of a run."""
    for cells in transcription(f"{NAME}/latency_summary.csv"):
        for name in LATENCIES:
            yield row(
                f"rtt_half_{name}_s",
                Decimal(cells[f"{name}_us_median"]) * MICRO,
                int(cells["size_bytes"]),
                source="latency_summary",
                load_bps=None,
            )
        yield from cpu_rows(cells, PING, "latency_summary", None)


def throughput_rows() -> Iterator[Row]:
    """Yield rate, goodput, loss and CPU of one unlimited publisher."""
    source = "throughput_summary"
    for cells in transcription(f"{NAME}/throughput_summary.csv"):
        size = int(cells["size_bytes"])
        rate = Decimal(cells["rate_kSps_median"]) * KILO
        goodput_bps = Decimal(cells["app_Mbps_median"]) * MEGA
        lost = int(cells["lost_samples_sum"])
        received = rate * int(cells["n_seconds"])
        yield row("frames_per_s", rate, size, source=source, step=RATE_STEP)
        yield row("goodput_bps", goodput_bps, size, source=source)
        yield row(
            "loss_rate",
            lost / (lost + received),
            size,
            source=f"{source}; lost / sent",
            basis="derived",
        )
        yield from cpu_rows(cells, STREAM, source, UNLIMITED)


def polling_rows() -> Iterator[Row]:
    """Yield rate and goodput of whole samples, for the 2016 variants of delivery and subscriber."""
    for cells in transcription(f"{NAME}/throughput_polling_2016.csv"):
        size = int(cells["payload_bytes"]) + COUNT_BYTES
        for metric, value in (
            ("frames_per_s", Decimal(cells["rate_samples_per_s"])),
            ("goodput_bps", Decimal(cells["app_Mbps"]) * MEGA),
        ):
            yield row(metric, value, size, source="throughput_polling_2016", mode=cells["mode"])


def rows() -> Iterator[Row]:
    """Yield every row of the dataset."""
    yield from latency_rows()
    yield from throughput_rows()
    yield from polling_rows()
