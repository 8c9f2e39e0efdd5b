"""Sheet of 100 000 scenarios: read, answered and written, with the processor time and the memory of each part.

Run ``python -m benchmarks.sheets``, or with another number of scenarios.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from icmodel.sheets import Cell, Sheet, answer_sheet, read_sheet, write_sheet

SCENARIOS = 100_000
DATASET = "ethernet-10g-2012"


def scenarios(count: int, seed: int = 30) -> Sheet:
    """Draw scenarios of three protocols, all within the dataset, with one additional column."""
    rng = np.random.default_rng(seed)
    head = ("camera", "protocol", "payload [B]", "rate [1/s]", "cores", "switches")
    greatest = {"tcp": 65_535, "udp": 65_507, "ethernet": 1500}
    rows: list[tuple[Cell, ...]] = []
    for k in range(count):
        protocol = str(rng.choice(list(greatest)))
        payload = int(rng.integers(64, greatest[protocol]))
        rate = round(float(np.exp(rng.uniform(0, 12))), 2)
        rows.append((f"camera {k}", protocol, payload, rate, int(rng.integers(1, 5)), 0))
    return Sheet(head, tuple(rows))


def main(arguments: Sequence[str]) -> int:
    """Print the time of each part, and the greatest memory of the process."""
    count = int(arguments[0]) if arguments else SCENARIOS
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "scenarios.xlsx", Path(folder) / "answers.xlsx"
        write_sheet(scenarios(count), asked)
        start, cpu = time.perf_counter(), time.process_time()
        every = [(start, cpu)]
        sheet = read_sheet(asked)
        every.append((time.perf_counter(), time.process_time()))
        found = answer_sheet(sheet, DATASET)
        every.append((time.perf_counter(), time.process_time()))
        write_sheet(found, answered)
        every.append((time.perf_counter(), time.process_time()))
        size = answered.stat().st_size
    for name, before, after in zip(("read", "answer", "write"), every, every[1:], strict=False):
        elapsed, busy = after[0] - before[0], after[1] - before[1]
        print(f"{name}: {elapsed:.1f} s, {busy:.1f} s of processor time")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count} scenarios in {every[-1][0] - start:.1f} s ({every[-1][1] - cpu:.1f} s of processor time), "
        f"{len(found.head)} columns, {size / 2**20:.0f} MiB, at most {most:.0f} MiB of memory"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
