"""Systems predicted before they were measured: what is committed fits together, and the page tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import checkout
from benchmarks.verified.__main__ import MEASURED, PREDICTED
from benchmarks.verified.systems import DATASET, SLOWER, all_asked, asking
from benchmarks.verified.table import rows, text
from icmodel.dataset import load as load_dataset
from icmodel.system import load

PAGE = Path(checkout.ROOT) / "docs" / "background" / "verified.md"


def test_every_system_was_predicted_and_measured() -> None:
    names = {one.name for one in all_asked()}
    for folder in (PREDICTED, MEASURED):
        assert {place.stem for place in folder.glob("*.json")} == names


def test_what_was_measured_names_the_prediction_made_before() -> None:
    """`rows` compares hashes; the times in both say the order."""
    found, bounds = rows(PREDICTED, MEASURED)
    assert len(found) >= 100
    assert not any(one.held is False for one in bounds)
    for one in all_asked():
        made = json.loads((PREDICTED / f"{one.name}.json").read_bytes())["made_utc"]
        told = json.loads((MEASURED / f"{one.name}.json").read_bytes())
        for each in told["passes"]:
            assert all(result["started_utc"] > made for result in each["streams"].values())


def test_the_page_tells_what_the_files_hold() -> None:
    page = PAGE.read_text(encoding="utf-8")
    summary, _, table = text(PREDICTED, MEASURED).partition("\n\n| system")
    assert summary in page
    assert table in page


def test_requests_replace_those_of_the_file() -> None:
    system = asking(load("lab-unequal"), ["1 Mb/s", "unlimited", "2 Mb/s"])
    asked = [one.requested_goodput_bps for one in system.streams.values()]
    assert asked == pytest.approx([1e6, float("inf"), 2e6])


def test_the_hosts_were_measured_at_the_rate_of_the_copy() -> None:
    assert load_dataset(DATASET).interconnect.line_rate_bps == 1e8 / SLOWER
