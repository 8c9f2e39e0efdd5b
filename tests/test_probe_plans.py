"""The plans that datasets were measured by can still be carried out: they ask the points their records have."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import checkout

LAB = checkout.ROOT / "data" / "lab-1g-2026"
SESSIONS = checkout.ROOT / "benchmarks" / "sessions"
MEASURED = {LAB / "campaign": LAB, SESSIONS / "campaign": SESSIONS / "lab-1g-sessions"}
"""Plans, and the folder with the records that were made by them."""


def points_by_plan(folder: Path) -> dict[str, set[str]]:
    """The points of each plan of a folder's records."""
    found: dict[str, set[str]] = defaultdict(set)
    with gzip.open(folder / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            mark = json.loads(line.rpartition('"plan":')[2].rstrip()[:-1])  # the record's last key
            found[mark["name"]].add(mark["point"])
    return found


def dry_runs(probe: Path, plans: Path) -> Iterator[dict[str, Any]]:
    """What icprobe would measure by each plan of a folder."""
    for plan in sorted(plans.glob("plan-*.toml")):
        words = [str(probe), "campaign", plan.name, "--lab", "--dry-run"]
        said = subprocess.run(words, cwd=plans, capture_output=True, check=True, timeout=60)
        yield json.loads(said.stdout)


@pytest.mark.parametrize("plans", MEASURED, ids=lambda path: path.parent.name)
def test_a_plan_asks_the_points_that_its_records_have(probe: Path, plans: Path) -> None:
    recorded = points_by_plan(MEASURED[plans])
    asked = {
        run["name"]: {point["point"]["id"] for point in run["points"]}
        for run in dry_runs(probe, plans)
    }
    assert {name: len(points) for name, points in asked.items()} == {
        name: len(points) for name, points in recorded.items()
    }
