"""Build data/zeromq-100g-2019 from the numbers that the note on ZeroMQ over 100 GbE states.

Usage: ``python tools/build_zeromq_100g_2019.py [FOLDER]`` writes below FOLDER, by default the
repository's data. dataset.toml and README.md are written by hand; this script writes points.csv
and seals dataset.toml.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

from points import DATA, Row, transcription, write_dataset

NAME = "zeromq-100g-2019"
UNIT = {"us": Decimal("1e-6"), "Gbps": Decimal(10**9)}
LINE_RATE_BPS = Decimal(100 * 10**9)
UNLIMITED = Decimal("inf")
PING_ROUNDING_S = Decimal("5e-6")
SEVERAL_THREADS_ROUNDING_BPS = Decimal(5 * 10**9)
KB = 1000
DEFAULT_SETTING = {"io_threads": "1", "batch_bytes": "8192"}


class Statements:
    """Stated numbers by key, in SI."""

    def __init__(self) -> None:
        self._rows = {row["key"]: row for row in transcription("zmq100g/statements.csv")}

    def number(self, key: str, column: str) -> Decimal:
        """Return the printed ``low``, ``value`` or ``high`` of a statement [s or b/s]."""
        row = self._rows[key]
        return Decimal(row[column]) * UNIT[row["unit"]]

    def payload(self, key: str) -> int:
        """Return the message size of a statement [B]."""
        text = self._rows[key]["payload"]
        return KB if text == "one kB" else int(text.removesuffix(" bytes"))


def half_round_trips(said: Statements) -> list[Row]:
    """Make rows of half round trips of small messages: libzmq, and CZMQ with its addition."""
    low, high = (said.number("small_message_latency", end) for end in ("low", "high"))
    added = said.number("czmq_added_latency", "high")
    libzmq = Row(
        protocol="zeromq",
        metric="rtt_half_mean_s",
        value=(low + high) / 2,
        low=low,
        high=high,
        basis="stated",
        source="ZMQ100G §4.1 small messages; midpoint of the stated range",
        switches=1,
        endpoints=1,
        options={**DEFAULT_SETTING, "library": "libzmq"},
    )
    czmq = Row(
        protocol="zeromq",
        metric="rtt_half_mean_s",
        value=(low + high + added) / 2,
        low=low,
        high=high + added,
        basis="derived",
        source="ZMQ100G §4.1 small messages plus what CZMQ may add; README rule 2",
        switches=1,
        endpoints=1,
        options={**DEFAULT_SETTING, "library": "czmq"},
    )
    return [libzmq, czmq]


def pings(said: Statements) -> list[Row]:
    """Make rows of round trips of the ICMP ping tool at its default and at its largest size."""
    return [
        Row(
            protocol="icmp",
            metric="rtt_mean_s",
            value=said.number(key, "value"),
            low=said.number(key, "value") - PING_ROUNDING_S,
            high=said.number(key, "value") + PING_ROUNDING_S,
            basis="stated",
            source="ZMQ100G §4.1 ping",
            payload_bytes=said.payload(key),
            switches=1,
            endpoints=1,
        )
        for key in ("ping_default", "ping_largest")
    ]


def peak_one_thread(said: Statements) -> Row:
    """Make the row of the peak over all message sizes with one I/O thread and an MTU of 1500 B."""
    low, high = (said.number("peak_one_io_thread", end) for end in ("low", "high"))
    return Row(
        protocol="zeromq",
        metric="goodput_bps",
        value=(low + high) / 2,
        low=low,
        high=high,
        basis="stated",
        source="ZMQ100G §4.2 peak over the message sizes; midpoint of the stated range",
        load_bps=UNLIMITED,
        switches=1,
        endpoints=1,
        options={**DEFAULT_SETTING, "library": "libzmq", "mtu_bytes": "1500"},
    )


def peak_several_threads(said: Statements) -> Row:
    """Make the row of the peak at certain sizes, with several I/O threads and connections."""
    value = said.number("peak_several_io_threads", "value")
    return Row(
        protocol="zeromq",
        metric="goodput_bps",
        value=value,
        low=value - SEVERAL_THREADS_ROUNDING_BPS,
        high=value + SEVERAL_THREADS_ROUNDING_BPS,
        basis="stated",
        source="ZMQ100G §4.3 peak at certain message sizes; about",
        load_bps=UNLIMITED,
        switches=1,
        endpoints=1,
        options={"io_threads": "several", "batch_bytes": "8192", "library": "libzmq"},
    )


def tuned_buffers(said: Statements) -> Row:
    """Make the row of more than 15 Gb/s at 1 kB with tuned batch buffers.

    The open upper end is the line rate.
    """
    low = said.number("batch_buffers_small", "low")
    return Row(
        protocol="zeromq",
        metric="goodput_bps",
        value=low,
        low=low,
        high=LINE_RATE_BPS,
        basis="stated",
        source="ZMQ100G §4.4 more than; the open upper end is the line rate",
        payload_bytes=said.payload("batch_buffers_small"),
        load_bps=UNLIMITED,
        switches=1,
        endpoints=1,
        options={
            "io_threads": "several",
            "batch_bytes": "tuned",
            "library": "libzmq",
            "mtu_bytes": "9000",
        },
    )


def rows() -> list[Row]:
    """Return all rows of the dataset."""
    said = Statements()
    return [
        *half_round_trips(said),
        *pings(said),
        peak_one_thread(said),
        peak_several_threads(said),
        tuned_buffers(said),
    ]


def main(folder: Path = DATA) -> None:
    """Write the dataset below ``folder``."""
    text = (DATA / NAME / "dataset.toml").read_text(encoding="utf-8")
    write_dataset(NAME, rows(), text, folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
