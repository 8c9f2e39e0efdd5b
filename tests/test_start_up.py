"""What a command imports before it answers: pinned lists instead of measured times."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import checkout
from conftest import clean_environment
from icmodel.cli import COMMANDS

HEAVY = {
    "IPython",
    "altair",
    "dask",
    "fastapi",
    "h5netcdf",
    "h5py",
    "highspy",
    "markdown_it",
    "matplotlib",
    "openpyxl",
    "pandas",
    "pyarrow",
    "pydantic",
    "pydantic_core",
    "pygments",
    "rich",
    "scipy",
    "uvicorn",
    "vl_convert",
    "xarray",
}
"""What costs more than numpy, or draws; none of it before it is needed."""
LIGHT = {"annotated_doc", "icmodel", "shellingham", "typer"}
"""What a command line costs with the pinned typer."""
QUESTION = ("--payload", "65535 B", "--rate", "6700/s", "--cores", "4", "--switches", "1")
ROOMS_OF_PREDICT = {
    "arrays",
    "cli",
    "dataset",
    "documents",
    "errors",
    "estimate",
    "frozen",
    "keywords",
    "fits",  # what arrives of carried loads
    "laws",
    "model",
    "questions",
    "ranges",
    "scenario",
    "table",
    "tables",
    "theory",
    "units",
}
LOADED = """
import json, sys
before = set(sys.modules)
from icmodel.cli import main
codes = [main(words) for words in json.loads(sys.argv[1])]
sys.stdout.flush()
print(json.dumps([codes, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


def loaded(folder: Path, *commands: Sequence[str], code: int = 0) -> set[str]:
    """The modules a new Python has loaded when it has run some commands with its output piped.

    ``code`` is the exit code of each. What one of them needs not have, none of several has loaded.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(commands)],
        cwd=folder,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    codes, modules = json.loads(done.stderr.splitlines()[-1])
    assert codes == [code] * len(commands), done.stderr
    return set(modules)


def packages(modules: set[str]) -> set[str]:
    """Top-level packages that are not Python's own."""
    tops = {name.partition(".")[0] for name in modules}
    return {name for name in tops if name not in sys.stdlib_module_names}


FORMS = ((), ("--json",), ("-o", "answer.csv"), ("-o", "answer.json"), ("-o", "answer.txt"))


def test_predict_loads_numpy_and_typer_and_nothing_above(tmp_path: Path) -> None:
    modules = loaded(tmp_path, *(("predict", *QUESTION, *form) for form in FORMS))
    assert packages(modules) == LIGHT | {"numpy"}


def test_a_payload_is_found_without_xarray(tmp_path: Path) -> None:
    solve = ("predict", "--solve", "payload", "--rate", "1000/s", "--goodput", "8 Mb/s")
    assert packages(loaded(tmp_path, solve)) == LIGHT | {"numpy"}


def test_predict_loads_only_the_rooms_a_question_passes(tmp_path: Path) -> None:
    modules = loaded(tmp_path, ("predict", *QUESTION))
    rooms = {name.split(".")[1] for name in modules if name.startswith("icmodel.")}
    assert rooms == ROOMS_OF_PREDICT
    assert {name for name in modules if name.startswith("icmodel.cli.")} == {
        "icmodel.cli.options",
        "icmodel.cli.output",
        "icmodel.cli.predict",
    }
    links = {"ethernet", "infiniband", "roce", "rapidio"}
    assert {name for name in links if f"icmodel.theory.{name}" in modules} == {"ethernet"}
    assert "icmodel.model.many" not in modules


def test_what_is_not_predicted_needs_not_even_numpy(tmp_path: Path) -> None:
    commands = (
        ("--version",),
        ("datasets", "list"),
        ("datasets", "show", "ethernet-10g-2012"),
        ("datasets", "points", "ethernet-10g-2012", "--metric", "loss_rate"),
    )
    assert packages(loaded(tmp_path, *commands)) == LIGHT


def test_help_theory_and_compare_load_nothing_heavy(tmp_path: Path) -> None:
    commands = (
        ("--help",),
        *((name, "--help") for name in COMMANDS),
        ("compare", "--protocol", "tcp,udp", "--payload", "1448 B"),
        ("theory", "ethernet", "--payload", "1448 B..9 kB"),
    )
    assert packages(loaded(tmp_path, *commands)) <= LIGHT | {"numpy"}


@pytest.mark.parametrize(
    ("commands", "needed"),
    [
        (
            (
                ("usecases", "show", "imaging"),
                ("evaluate", "imaging", "--candidate", "tcp-two-sets-of-cores"),
                ("datasets", "check", "ethernet-1g-2010"),
                ("plot", "goodput_bps", "--json"),
            ),
            {"pydantic"},
        ),
        # where dask is installed, xarray imports it, and dask imports scipy and pyarrow
        (
            (("sweep", "--payload", "64 B, 1448 B"),),
            {"xarray", "pandas", "scipy", "dask", "pyarrow"},
        ),
    ],
    ids=["pydantic", "xarray"],
)
def test_the_others_load_only_what_they_are_for(
    commands: tuple[tuple[str, ...], ...], needed: set[str], tmp_path: Path
) -> None:
    found = packages(loaded(tmp_path, *commands)) & (HEAVY - {"pydantic_core"})
    assert found <= needed


def test_a_system_loads_the_solver_of_its_bounds_and_nothing_that_draws(tmp_path: Path) -> None:
    shown = loaded(tmp_path, ("system", "list"), ("system", "show", "imaging"))
    assert packages(shown) & HEAVY <= {"pydantic", "pydantic_core"}
    predicted = loaded(tmp_path, ("system", "imaging"), code=1)
    assert packages(predicted) & HEAVY == {"pydantic", "pydantic_core", "highspy"}
    judged = loaded(tmp_path, ("evaluate", "imaging"), code=1)
    assert packages(judged) & HEAVY == {"pydantic", "pydantic_core"}


def test_the_check_sees_a_heavy_import(tmp_path: Path) -> None:
    modules = loaded(tmp_path, ("usecases", "list"))
    assert {"pydantic", "pydantic_core"} <= packages(modules)
