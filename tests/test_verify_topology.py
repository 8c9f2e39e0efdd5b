"""The topology of a lab system, as icprobe reads it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from icmodel.probing.probe import output_of
from icmodel.system import (
    DeficitRoundRobin,
    Scheduler,
    StrictPriority,
    System,
    WeightedRoundRobin,
    load,
)
from icmodel.verify.lab_system import lab_system
from icmodel.verify.running import LEAST_CLASS_BPS, code_point, topology


def lab_copy(name: str, slower: float = 1.0, members: int | None = None) -> System:
    return lab_system(load(name), slower=slower, members=members, dataset="lab-1g-2026").system


def document(system: System) -> dict[str, Any]:
    return tomllib.loads(topology(system).text)


def scheduled(scheduler: Scheduler) -> list[dict[str, Any]]:
    """The classes of the port to B, scheduled like this."""
    system = lab_copy("lab-priorities")
    port = replace(system.ports["S->B"], scheduler=scheduler)
    found: list[dict[str, Any]] = document(replace(system, ports={**system.ports, "S->B": port}))[
        "classes"
    ]
    return found


def test_links_have_the_rate_of_the_lab_system() -> None:
    found = document(lab_copy("lab-chain", 5.0))
    assert found["hosts"] == ["A", "B", "C", "D", "E"]
    assert found["switches"] == ["S", "T"]
    assert {one["rate"] for one in found["links"]} == {"20000000 b/s"}
    assert "classes" not in found


def test_strict_priority_guarantees_the_least_rate_and_borrows_in_order() -> None:
    urgent, other = scheduled(StrictPriority())
    assert urgent["dscp"] == [code_point(5)]
    assert other["dscp"] == []
    assert urgent["rate"] == other["rate"] == f"{LEAST_CLASS_BPS:.0f} b/s"
    assert urgent["ceil"] == "100000000 b/s"
    assert urgent["priority"] < other["priority"]


def test_round_robin_weights_become_guaranteed_rates() -> None:
    by_bytes = scheduled(DeficitRoundRobin(quanta_bytes={5: 3000, 0: 1000}))
    assert [one["rate"] for one in by_bytes] == ["75000000 b/s", "25000000 b/s"]
    by_frames = scheduled(WeightedRoundRobin(weights={5: 1, 0: 1}))
    assert [one["rate"] for one in by_frames] == ["50000000 b/s", "50000000 b/s"]
    assert {one["priority"] for one in by_frames} == {0}


def test_an_empty_default_class_gets_the_least_rate() -> None:
    classes = scheduled(DeficitRoundRobin(quanta_bytes={5: 3000}))
    assert classes[1]["rate"] == f"{LEAST_CLASS_BPS:.0f} b/s"
    assert classes[0]["rate"] == f"{1e8 - LEAST_CLASS_BPS:.0f} b/s"


def test_names_that_the_lab_refuses_are_numbered() -> None:
    system = lab_copy("industrial-line", members=1)
    built = topology(system)
    names = list(built.nodes.values())
    assert len(set(names)) == len(names)
    assert all(len(name) <= 12 and "-" not in name for name in names)


@pytest.mark.parametrize("name", ["lab-chain", "lab-priorities", "lab-six-streams", "lab-direct"])
def test_icprobe_reads_the_topology(name: str, probe: Path, tmp_path: Path) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(topology(lab_copy(name)).text, encoding="utf-8")
    shown = json.loads(output_of((str(probe), "lab", "show", str(file)), 30.0))
    assert shown["line_rate_bps"] == min(one.rate_bps for one in lab_copy(name).links.values())
