"""Build data/ethernet-10g-2012 from the thesis' tables and sentences by the README's rules.

Usage: ``python tools/build_ethernet_10g_2012.py [FOLDER]`` writes below FOLDER, by default the
repository's data. dataset.toml and README.md are written by hand; this script writes points.csv
and seals dataset.toml.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ethernet_10g_2012.cpu import cpu_rows
from ethernet_10g_2012.goodput import goodput_rows
from ethernet_10g_2012.latency import latency_rows
from ethernet_10g_2012.loss import loss_rows
from ethernet_10g_2012.rows import with_options
from ethernet_10g_2012.tables import table_rows
from points import DATA, Row, write_dataset

NAME = "ethernet-10g-2012"


def rows() -> list[Row]:
    """Return every row of the dataset."""
    return with_options(
        [*goodput_rows(), *loss_rows(), *latency_rows(), *cpu_rows(), *table_rows()]
    )


def main(folder: Path = DATA) -> None:
    """Write the dataset below ``folder``."""
    text = (DATA / NAME / "dataset.toml").read_text(encoding="utf-8")
    write_dataset(NAME, rows(), text, folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
