"""Build data/zeromq-1g-2007 from the numbers that the ØMQ 0.1 test report states.

Usage: ``python tools/build_zeromq_1g_2007.py [FOLDER]`` writes below FOLDER, by default the
repository's data. dataset.toml and README.md are written by hand; this script writes points.csv
and seals dataset.toml.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

from points import DATA, Row, transcription, write_dataset

NAME = "zeromq-1g-2007"
MILLION = 10**6
LINE_RATE_BPS = 10**9
LEAST_MESSAGE_BITS = 8
RUNS = 3


def small_messages() -> Row:
    """Make the row of over 2 million small messages a second; its upper end is the wire's limit."""
    said = {row["key"]: row for row in transcription("zmq01/statements.csv")}
    low = Decimal(said["small_message_rate"]["low"]) * MILLION
    return Row(
        protocol="zeromq",
        metric="frames_per_s",
        value=low,
        low=low,
        high=LINE_RATE_BPS // LEAST_MESSAGE_BITS,
        n=RUNS,
        basis="stated",
        source="ZMQ01 conclusion: over; the open upper end is one byte a message at line rate",
        load_bps=Decimal("inf"),
        switches=1,
        endpoints=1,
    )


def main(folder: Path = DATA) -> None:
    """Write the dataset below ``folder``."""
    text = (DATA / NAME / "dataset.toml").read_text(encoding="utf-8")
    write_dataset(NAME, [small_messages()], text, folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
