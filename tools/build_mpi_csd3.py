"""Rows of data/mpi-csd3 from the results of hpc-tests on the system csd3.

``build_published.py`` writes them; the rules are in data/mpi-csd3/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from points import Row, transcription

NAME = "mpi-csd3"
ORIGIN = "hpc-tests f735aa2f csd3"
MICRO = Decimal("0.000001")
MEGA = Decimal(1_000_000)  # the MB of OSU 5.6.3 and IMB 2019.5
BITS = 8
UNLIMITED = Decimal("inf")
SUITES = {"latency": "osu", "bw": "osu-bw", "pingpong": "imb", "mbw_mr": "osu"}
Cells = dict[str, str]


def row(cells: Cells, metric: str, value: Decimal, load_bps: Decimal | None) -> Row:
    """Make the row of one printed number, of one process or several on each of two nodes."""
    return Row(
        protocol="mpi",
        metric=metric,
        value=value,
        basis="tabulated",
        source=f"{ORIGIN} {cells['test']}",
        payload_bytes=int(cells["size_bytes"]),
        load_bps=load_bps,
        cores=int(cells.get("pairs", "1")),
        endpoints=1,
        options={"partition": cells["partition"], "suite": SUITES[cells["bench"]]},
    )


def rows() -> Iterator[Row]:
    """Yield half round trips of one pair, and goodput of one pair and of several.

    Empty messages are left out.
    """
    for cells in transcription(f"{NAME}/single_pair.csv"):
        if cells["size_bytes"] == "0":
            continue
        if cells["bench"] == "bw":
            yield row(cells, "goodput_bps", goodput_bps(cells), UNLIMITED)
        else:
            yield row(cells, "rtt_half_mean_s", Decimal(cells["latency_us"]) * MICRO, None)
    for cells in transcription(f"{NAME}/pairs.csv"):
        yield row(cells, "goodput_bps", goodput_bps(cells), UNLIMITED)
        yield row(cells, "frames_per_s", Decimal(cells["msg_per_s"]), UNLIMITED)


def goodput_bps(cells: Cells) -> Decimal:
    """Return the printed MB/s in b/s."""
    return Decimal(cells["bandwidth_MBps"]) * MEGA * BITS
