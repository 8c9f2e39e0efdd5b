"""Rows of data/rdma-connectx7 from perftest results of moc-training-scripts.

``build_published.py`` writes them; the rules are in data/rdma-connectx7/README.md.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal

from points import Row, transcription

NAME = "rdma-connectx7"
ORIGIN = "moc-training-scripts c27c4130"
GIGA = Decimal(1_000_000_000)
ONE_BPS = Decimal(1)
UNLIMITED = Decimal("inf")
STEP_BPS = Decimal(10_000_000)  # Gb/s have two decimals,
FINE_STEP_BPS = Decimal(1_000)  # and six below 0.1
FINE_BELOW_BPS = Decimal(100_000_000)
PROTOCOLS = {"ib_read_bw": "rdma-read", "ib_write_bw": "rdma-write"}
Key = tuple[str, str, int]  # test, queue pairs, payload in bytes


def repeats() -> dict[Key, list[Decimal]]:
    """Return average goodput [b/s] by setting: one run in each direction between the two hosts."""
    found: dict[Key, list[Decimal]] = {}
    for cells in transcription(f"{NAME}/perftest_cpu_rdma.csv"):
        key = (cells["test"], cells["qp"], int(cells["size_bytes"]))
        found.setdefault(key, []).append(Decimal(cells["Gbps"]) * GIGA)
    return found


def rounding(runs: list[Decimal]) -> Decimal:
    """Return half a unit of the last digit that perftest prints [b/s]."""
    return (FINE_STEP_BPS if max(runs) < FINE_BELOW_BPS else STEP_BPS) / 2


def spread(runs: list[Decimal]) -> Decimal | None:
    """Return the sample standard deviation [b/s], or None if all runs print the same number."""
    if len(set(runs)) == 1:
        return None
    return statistics.stdev(runs).quantize(ONE_BPS, ROUND_HALF_EVEN)


def rows() -> Iterator[Row]:
    """Yield mean, sample standard deviation and range of the runs of each setting."""
    for (test, queue_pairs, payload_bytes), runs in repeats().items():
        yield Row(
            protocol=PROTOCOLS[test],
            metric="goodput_bps",
            value=statistics.mean(runs),
            basis="tabulated",
            source=f"{ORIGIN} {test}; mean of {len(runs)} runs",
            payload_bytes=payload_bytes,
            load_bps=UNLIMITED,
            cores=1,
            endpoints=1,
            options={"queue_pairs": queue_pairs},
            std=spread(runs),
            low=min(runs) - rounding(runs),
            high=max(runs) + rounding(runs),
            n=len(runs),
        )
