"""Rows of data/mpi-infiniband-roce from the single-pair results of hpc-tests.

``build_published.py`` writes them; the rules are in data/mpi-infiniband-roce/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from points import Row, transcription

NAME = "mpi-infiniband-roce"
ORIGIN = "hpc-tests f735aa2f"
MICRO = Decimal("0.000001")
MEGA = Decimal(1_000_000)  # the MB of OSU 5.6.3 and IMB 2019.5
BITS = 8
UNLIMITED = Decimal("inf")
SUITES = {"OSU": "osu", "IMB-2019.5": "imb"}
LATENCY_BENCHES = ("latency", "pingpong")  # both print half a round trip
Cells = dict[str, str]


def row(cells: Cells, metric: str, value: Decimal, load_bps: Decimal | None) -> Row:
    """Make the row of one printed number; one MPI process on each of two nodes."""
    return Row(
        protocol="mpi",
        metric=metric,
        value=value,
        basis="tabulated",
        source=f"{ORIGIN} {cells['test']}",
        payload_bytes=int(cells["size_bytes"]),
        load_bps=load_bps,
        cores=1,
        endpoints=1,
        options={"partition": cells["partition"], "suite": SUITES[cells["suite"]]},
    )


def rows() -> Iterator[Row]:
    """Yield half round trips and goodput of one stream.

    Empty messages, and sums of both directions, are left out.
    """
    for cells in transcription(f"{NAME}/p2p_single_pair.csv"):
        if cells["size_bytes"] == "0":
            continue
        if cells["bench"] in LATENCY_BENCHES:
            yield row(cells, "rtt_half_mean_s", Decimal(cells["latency_us"]) * MICRO, None)
        elif cells["bench"] == "bw":
            goodput_bps = Decimal(cells["bandwidth_MBps"]) * MEGA * BITS
            yield row(cells, "goodput_bps", goodput_bps, UNLIMITED)
