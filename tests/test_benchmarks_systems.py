"""The benchmark of whole systems, run tiny and without looking at a clock."""

from __future__ import annotations

import json

import pytest

from benchmarks import systems
from icmodel.system import check
from icmodel.system.document import SystemDocument
from icmodel.system.expansion import expand
from icmodel.system.traffic import port_loads


def test_the_smaller_system_is_predicted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert systems.main(["--streams", "100", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["systems"]
    assert (found["streams"], found["switches"], found["bounded"]) == (100, 20, 100)
    said = systems.text({"systems": [found]})
    assert said.startswith("100 streams over 20 switches")


def test_what_is_drawn_contradicts_nothing_and_overfills_no_port() -> None:
    system = expand(SystemDocument.model_validate(systems.tree(300, 30, seed=2)))
    assert check(system) == ()
    ratios = [one.ratio for one in port_loads(system)]
    assert 0.1 < max(ratios) < 0.6
