"""The report of a recommendation: designs, costs, and what mends the file's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import checkout
from icmodel.recommend import Recommendation, recommend
from icmodel.report import page_of
from icmodel.report.blocks import Page, Table
from icmodel.report.markdown import markdown_text
from icmodel.report.recommendation import changes, design_cells, design_columns, designs
from icmodel.system import load, predict

COSTS = "\n[costs]\ncurrency = 'EUR'\ninterface = 100\nswitch = 500\ncore = 10\n"


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system with costs."""
    bundled = checkout.ROOT / "usecases" / "systems" / "lab-priorities.toml"
    path = tmp_path_factory.mktemp("priced") / "priced.toml"
    path.write_text(bundled.read_text(encoding="utf-8") + COSTS, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def imaging() -> Recommendation:
    return recommend("imaging")


def bought(page: Page) -> dict[str, str]:
    assert page.front is not None
    return dict(page.front.buy)


def test_the_cost_is_on_the_first_page_of_a_system_and_of_its_designs(priced: Path) -> None:
    system = load(priced)
    whole = 100 * system.interface_count + 500 * len(system.switches)
    whole += 10 * sum(one.cores or 0 for one in system.devices.values())
    assert system.cost == whole > 0
    assert bought(page_of(predict(system)))["cost"] == f"{whole} EUR"
    found = recommend(priced)
    cost = bought(page_of(found))["cost"]
    assert cost.endswith(" EUR")
    assert float(cost.removesuffix(" EUR")) > 0
    assert design_columns(found)[-2] == "cost EUR"
    assert len(design_cells(found, found.own)) == len(design_columns(found))


def test_the_designs_and_the_fewest_changes_are_told(imaging: Recommendation) -> None:
    page = page_of(imaging)
    assert page.front is not None
    row, *others = page.front.numbers.rows
    assert len(others) == len(imaging.front) - 1
    assert row[0].text == changes(imaging.front[0].changed)
    assert tuple(cell.text for cell in row[1:-1]) == design_cells(imaging, imaging.front[0])
    assert row[-1].outcome == imaging.verdict == page.answer.outcome
    assert page.front.change[0] == f"3 changes of the file: {changes(imaging.mends[0].changed)}."
    assert bought(page)["interfaces"] == f"{imaging.front[0].objective('interfaces'):.0f}"
    made = markdown_text(page)
    for one in designs(imaging):
        assert changes(one.changed) in made
    tables = [
        block for section in page.sections for block in section.blocks if isinstance(block, Table)
    ]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_designs_of_stated_devices_rest_on_them(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(
        """
schema_version = 1
name = "line"
title = "A sensor sends to a computer"
source = "made for this test"

[[devices]]
name = "sensor"
cores = 1
latency = "20 us .. 50 us"
core_time = "1 us .. 2 us"
source = "data sheet"

[[devices]]
name = "computer"
cores = 1
latency = "20 us .. 50 us"
core_time = "1 us .. 2 us"
source = "data sheet"

[[links]]
between = ["sensor", "computer"]
rate = "1 Gb/s"

[[streams]]
name = "values"
source = "sensor"
sink = "computer"
protocol = "udp"
payload = "64 B"
produces = { kind = "burst", period = "1 ms", size = "64 B" }

[[requirements]]
name = "in time"
stream = "values"
metric = "latency_mean_s"
at_most = "1 ms"
""",
        encoding="utf-8",
    )
    found = recommend(path)
    assert found.states_devices
    assert page_of(found).basis == "theory and stated times of devices"
    assert page_of(predict(load(path))).basis == "theory and stated times of devices"
