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

NAMES = {
    "Dataset": "dataset",
    "DatasetError": "errors",
    "Estimate": "estimate",
    "IcmodelError": "errors",
    "Model": "model",
    "OutOfDomain": "errors",
    "Prediction": "estimate",
    "ProbeMissing": "errors",
    "RecordError": "errors",
    "ReportError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "UnitError": "errors",
    "UseCaseError": "errors",
    "evaluate": "usecase",
    "load": "dataset",
    "report": "report",
    "sweep": "sweep",
}
LOADED = {
    "icmodel",
    "importlib",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "types",
    "warnings",
}
VERBS = ("report", "sweep")


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


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "first",
    [
        "import icmodel",
        "import icmodel.{verb}",
        "from icmodel.{verb} import {verb}",
        "import importlib; importlib.import_module('icmodel.{verb}')",
    ],
)
def test_a_verb_keeps_its_name_beside_the_room_of_that_name(
    verb: str, first: str, tmp_path: Path
) -> None:
    script = f"""
import json
{first.format(verb=verb)}
import icmodel
import icmodel.{verb}
import sys
print(json.dumps([callable(icmodel.{verb}), type(sys.modules["icmodel.{verb}"]).__name__]))
"""
    assert answer(script, tmp_path) == [True, "module"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'predict'"):
        getattr(icmodel, "predict")  # noqa: B009  (the type checker knows it is not there)


def test_the_names_can_be_listed_and_starred(tmp_path: Path) -> None:
    assert set(dir(icmodel)) >= set(icmodel.__all__)
    script = "from icmodel import *\nimport json\nprint(json.dumps(sorted(globals())))"
    starred = answer(script, tmp_path)
    assert isinstance(starred, list)
    assert set(starred) >= set(icmodel.__all__)
