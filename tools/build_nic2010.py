"""Build data/ethernet-1g-2010 and data/zeromq-1g-2010 from the ten tables of NIC2010.

Run ``python tools/build_nic2010.py [FOLDER]``; the default folder is ``data``. The description of
each dataset is the hand-written ``data/<id>/dataset.toml``; only its seal is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from points import DATA, Row, transcription, write_dataset

MICRO = Decimal("0.000001")
MEGA = Decimal(1_000_000)
PERCENT = Decimal("0.01")
UNLIMITED = Decimal("inf")
CUT_BPS = Decimal("1.01") * MEGA  # each run is cut to whole Mb/s, the mean to 0.01 Mb/s
LATENCY_REPEATS = 5  # section 4.1; stated for netperf's latency only

NETPERF_LATENCY = {
    "baseline": "Latency [us] Baseline",
    "checksum": "Latency [us] RX, TX checksum ON, GSO Off",
    "checksum-gso": "Latency [us] RX, TX checksum On, GSO On",
}
ZEROMQ_LATENCY = {
    "baseline": "Latency [us] Baseline",
    "checksum-tso-sg": "Latency [us] TX, RX checksum, TSO, Scatter-Gather ON",
}
NETPERF_STREAM = (
    ("4.2.1", "janos-csaba", "baseline"),
    ("4.2.2", "janos-csaba", "checksum"),
    ("4.2.3", "janos-csaba", "checksum-tso-sg"),
    ("4.2.4", "aladar-aranyka", "baseline"),
    ("4.2.5", "aladar-aranyka", "checksum"),
    ("4.2.6", "aladar-aranyka", "checksum-tso-sg"),
)
ZEROMQ_STREAM = (("4.2.7", "baseline"), ("4.2.8", "checksum-tso-sg"))
SENDER_CPU = {  # machine pair -> printed column, and metric of the sender
    "janos-csaba": ("CPU load [%]", "cpu_send_cores"),
    "aladar-aranyka": ("CPU load / proc [%]", "cpu_send"),
}


def printed(table: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield payload [B] and printed cells of each row of a table."""
    for cells in transcription(f"nic2010/table_{table.replace('.', '_')}.csv"):
        yield int(next(iter(cells.values()))), cells


def point(
    protocol: str,
    table: str,
    options: dict[str, str],
    payload_bytes: int,
    metric: str,
    value: Decimal,
    *,
    load_bps: Decimal | None = UNLIMITED,
    span: tuple[Decimal, Decimal] | tuple[None, None] = (None, None),
    n: int | None = None,
) -> Row:
    """Make the row of one number: one process at each end of a cable without other traffic."""
    return Row(
        protocol=protocol,
        metric=metric,
        value=value,
        basis="tabulated",
        source=f"NIC2010 table {table}",
        payload_bytes=payload_bytes,
        load_bps=load_bps,
        cores=1,
        switches=0,
        endpoints=1,
        options=options,
        low=span[0],
        high=span[1],
        n=n,
    )


def latency_rows(
    protocol: str, table: str, columns: dict[str, str], pair: dict[str, str], n: int | None
) -> Iterator[Row]:
    """Yield half round trips of an idle ping-pong; each column is an offload profile."""
    for payload_bytes, cells in printed(table):
        for offload, column in columns.items():
            yield point(
                protocol,
                table,
                {"offload": offload, **pair},
                payload_bytes,
                "rtt_half_mean_s",
                Decimal(cells[column]) * MICRO,
                load_bps=None,
                n=n,
            )


def netperf_stream_rows(table: str, machine: str, offload: str) -> Iterator[Row]:
    """Yield goodput (printed "MB/s" are Mb/s) and sending CPU of one netperf TCP stream."""
    options = {"offload": offload, "machine": machine}
    column, metric = SENDER_CPU[machine]
    for payload_bytes, cells in printed(table):
        goodput_bps = Decimal(cells["Throughput [MB/s]"]) * MEGA
        cpu = Decimal(cells[column]) * PERCENT
        yield point("tcp", table, options, payload_bytes, "goodput_bps", goodput_bps)
        yield point("tcp", table, options, payload_bytes, metric, cpu)


def span_of(
    one: Decimal, other: Decimal, agree: bool
) -> tuple[Decimal, Decimal] | tuple[None, None]:
    """Return the range between two values, or (None, None) if they agree."""
    return (None, None) if agree else (min(one, other), max(one, other))


def zeromq_stream_rows(table: str, offload: str) -> Iterator[Row]:
    """Yield goodput (printed "MB/s" are Mb/s), messages/s and receiving CPU of one ØMQ stream.

    If throughput and messages/s of a printed row contradict each other, both points keep their
    printed value, with a range that spans the two.
    """
    for payload_bytes, cells in printed(table):
        bits = payload_bytes * 8
        goodput_bps = Decimal(cells["Throughput [MB/s]"]) * MEGA
        frames_per_s = Decimal(cells["Throughput [msg/s]"])
        agree = 0 <= frames_per_s * bits - goodput_bps < CUT_BPS
        goodput_span = span_of(goodput_bps, frames_per_s * bits, agree)
        frames_span = span_of(frames_per_s, goodput_bps / bits, agree)
        for metric, value, span in (
            ("goodput_bps", goodput_bps, goodput_span),
            ("frames_per_s", frames_per_s, frames_span),
            ("cpu_recv_cores", Decimal(cells["CPU load [%]"]) * PERCENT, (None, None)),
        ):
            yield point(
                "zeromq", table, {"offload": offload}, payload_bytes, metric, value, span=span
            )


def ethernet_rows() -> Iterator[Row]:
    """Yield every number of tables 4.1.1 and 4.2.1 to 4.2.6."""
    pair = {"machine": "aladar-aranyka"}
    yield from latency_rows("tcp", "4.1.1", NETPERF_LATENCY, pair, LATENCY_REPEATS)
    for table, machine, offload in NETPERF_STREAM:
        yield from netperf_stream_rows(table, machine, offload)


def zeromq_rows() -> Iterator[Row]:
    """Yield every number of tables 4.1.2, 4.2.7 and 4.2.8."""
    yield from latency_rows("zeromq", "4.1.2", ZEROMQ_LATENCY, {}, None)
    for table, offload in ZEROMQ_STREAM:
        yield from zeromq_stream_rows(table, offload)


def build(data: Path = DATA) -> None:
    """Write both datasets below ``data``."""
    for name, rows in (("ethernet-1g-2010", ethernet_rows()), ("zeromq-1g-2010", zeromq_rows())):
        description = (DATA / name / "dataset.toml").read_text(encoding="utf-8")
        write_dataset(name, rows, description, data)


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:2]))
