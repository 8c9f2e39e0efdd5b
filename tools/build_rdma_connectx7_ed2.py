"""Rows of data/rdma-connectx7-ed2: those of the first edition, and rows between GPU memories.

``build_published.py`` writes them; the rules are in data/rdma-connectx7-ed2/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import build_rdma_connectx7 as first
from points import Row, transcription

NAME = "rdma-connectx7-ed2"
MEGA = Decimal(1_000_000)


def rows() -> Iterator[Row]:
    """Yield every row with the kind of memory between which it was measured."""
    for row in first.rows():
        yield replace(row, options={**row.options, "memory": "host"})
    for cells in transcription(f"{first.NAME}/perftest_gpu_rdma.csv"):
        run = Row(
            protocol=first.PROTOCOLS[cells["test"]],
            metric="goodput_bps",
            value=Decimal(cells["average_Gbps"]) * first.GIGA,
            basis="tabulated",
            source=f"{first.ORIGIN} {cells['test']} GPU 0 to GPU 0; one run",
            payload_bytes=int(cells["size_bytes"]),
            load_bps=first.UNLIMITED,
            cores=1,
            endpoints=1,
            options={"queue_pairs": cells["qp"], "memory": "gpu"},
        )
        yield run
        yield replace(run, metric="frames_per_s", value=Decimal(cells["Mpps"]) * MEGA)
