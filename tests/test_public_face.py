"""The public names are pinned, and so is what `import icmodel` loads."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

import checkout
import icmodel
from conftest import run
from icmodel.dataset import catalogue
from icmodel.validate import ValidationOptions, validate
from icmodel.validate.validation import KINDS
from ingest_cases import read

NAMES = {
    "Dataset": "dataset",
    "ClusterError": "errors",
    "DatasetError": "errors",
    "Estimate": "estimate",
    "IcmodelError": "errors",
    "Model": "model",
    "NetworkError": "errors",
    "OutOfDomain": "errors",
    "Prediction": "estimate",
    "ProbeMissing": "errors",
    "RecordError": "errors",
    "ReportError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "UnitError": "errors",
    "UseCaseError": "errors",
    "compare_interconnects": "interconnects",
    "evaluate": "usecase",
    "load": "dataset",
    "recommend": "recommend",
    "report": "report",
    "sweep": "sweep",
    "sweep_to_file": "sweep",
    "verify": "verify",
}
LOADED = {
    "icmodel",
    "importlib",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "types",
    "warnings",
}
ROOMS = (
    "dataset",
    "errors",
    "ingest",
    "plotting",
    "probing",
    "requirement",
    "scenario",
    "sheets",
    "system",
    "theory",
    "units",
    "usecase",
    "validate",
)
"""Rooms that a program reaches without importing them."""
VERBS = ("recommend", "report", "sweep", "verify")


def answer(script: str, folder: Path) -> object:
    """What a script prints as JSON in a new Python that finds this checkout."""
    path = {"PYTHONPATH": str(checkout.ROOT)}
    answered: object = json.loads(run(sys.executable, "-c", script, cwd=folder, env=path))
    return answered


def test_the_names_are_these_and_no_others() -> None:
    assert set(icmodel.__all__) == {*NAMES, "__version__"}
    assert list(icmodel.__all__) == sorted(icmodel.__all__)


@pytest.mark.parametrize(("name", "room"), NAMES.items())
def test_a_name_is_what_its_room_defines(name: str, room: str) -> None:
    assert getattr(icmodel, name) is getattr(importlib.import_module(f"icmodel.{room}"), name)


def test_every_error_is_an_icmodel_error() -> None:
    errors = [getattr(icmodel, name) for name, room in NAMES.items() if room == "errors"]
    assert all(issubclass(error, icmodel.IcmodelError) for error in errors)


def test_import_icmodel_loads_nothing_else(tmp_path: Path) -> None:
    script = """
import sys
before = set(sys.modules)
import icmodel
after = set(sys.modules)
import json
print(json.dumps(sorted(after - before)))
"""
    loaded = answer(script, tmp_path)
    assert isinstance(loaded, list)
    assert set(loaded) <= LOADED
    assert "icmodel" in loaded


FIRST = (
    "import icmodel",
    "import icmodel.{verb}",
    "from icmodel.{verb} import {verb}",
    "import importlib; importlib.import_module('icmodel.{verb}')",
)
"""What a program may import first."""
IMPORTED_ANEW = f"""
import json, sys
told = {{}}
for verb in {VERBS}:
    for first in {FIRST}:
        for name in {{"icmodel", f"icmodel.{{verb}}"}} & set(sys.modules):
            del sys.modules[name]
        exec(first.format(verb=verb))
        exec(f"import icmodel, icmodel.{{verb}}")
        room = sys.modules[f"icmodel.{{verb}}"]
        told[f"{{first}} {{verb}}"] = [callable(getattr(icmodel, verb)), type(room).__name__]
print(json.dumps(told))
"""
"""In one process, which forgets icmodel and the room before each; what these import is kept, for it names neither."""


def test_a_verb_keeps_its_name_beside_the_room_of_that_name(tmp_path: Path) -> None:
    told = answer(IMPORTED_ANEW, tmp_path)
    assert told == {f"{first} {verb}": [True, "module"] for verb in VERBS for first in FIRST}


def test_a_room_is_an_attribute_without_an_import(tmp_path: Path) -> None:
    script = f"""
import icmodel, json, types
rooms = [type(getattr(icmodel, room)).__name__ for room in {ROOMS}]
print(json.dumps([rooms, icmodel.system.load("lab-switch").name, sorted(dir(icmodel))]))
"""
    told = answer(script, tmp_path)
    assert told == [["module"] * len(ROOMS), "lab-switch", sorted({*icmodel.__all__, *ROOMS})]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'predict'"):
        getattr(icmodel, "predict")  # noqa: B009  (the type checker knows it is not there)


def test_the_names_can_be_listed_and_starred(tmp_path: Path) -> None:
    assert set(dir(icmodel)) == {*icmodel.__all__, *ROOMS}
    script = "from icmodel import *\nimport json\nprint(json.dumps(sorted(globals())))"
    starred = answer(script, tmp_path)
    assert isinstance(starred, list)
    assert set(starred) >= set(icmodel.__all__)


# --- what an interpreter shows ------------------------------------------------------------------


def shown_objects(name: str) -> list[object]:
    """One of every kind of object that a dataset leads to."""
    data = icmodel.load(name)
    shown: list[object] = [data, data.interconnect, *data.points[:50], *data.stated_limits]
    for variant in ("corrected", "appendix-h"):
        model = icmodel.Model(data, variant)
        shown.append(model)
        for point in data.points[:: max(1, len(data.points) // 3)]:
            options = dict(zip(data.option_axes, point.options, strict=True))
            try:
                told = model.predict(
                    protocol=point.protocol,
                    payload_bytes=point.payload_bytes or 64,
                    options={axis: value for axis, value in options.items() if value},
                    outside="extrapolate",
                )
            except icmodel.IcmodelError:
                continue
            shown += [told, told.scenario, told.explain(), *told.rows, *told.metrics.values()]
    return shown


@pytest.mark.parametrize("name", catalogue())
def test_what_an_interpreter_shows_of_an_object_is_a_short_line(name: str) -> None:
    shown = shown_objects(name)
    assert len(shown) >= 5
    for one in shown:
        said = repr(one)
        assert len(said) < 400, said
        assert "\n" not in said
        assert said.startswith(type(one).__name__), said


def test_what_is_shown_of_results_is_a_short_line(tmp_path: Path) -> None:
    data = icmodel.load("ethernet-10g-2012")
    found = validate(data, "corrected", ValidationOptions(KINDS[:1], ("goodput_bps",), most=2))
    got = read("perftest/write_bw_gb.txt")
    for one in (found, got, found.trials[0]):
        assert len(repr(one)) < 400, type(one)


def test_a_model_takes_the_name_of_a_dataset_or_its_folder() -> None:
    name = "ethernet-10g-2012"
    folder = icmodel.load(name).folder
    asked = {"protocol": "tcp", "payload_bytes": 64}
    said = [
        icmodel.Model(one).predict(**asked).to_dict()  # type: ignore[arg-type]
        for one in (name, folder, icmodel.load(name))
    ]
    assert said[0] == said[1] == said[2]
    with pytest.raises(icmodel.DatasetError, match="nowhere"):
        icmodel.Model("nowhere")
