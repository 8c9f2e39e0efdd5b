"""The wheel in an empty environment, the source distribution, the editable install, the clone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

import checkout
import icmodel
from conftest import Distributions, Installed, empty_venv, pip, run

IN_THE_WHEEL = {"icmodel": "icmodel", "data": "icmodel/data", "usecases": "icmodel/usecases"}
NOT_IN_THE_SDIST = {".ci/run", ".gitignore"}
COMPILERS = ("cargo", "rustc", "rustup", "cc", "gcc", "c++", "g++")
STRANGERS = ("benchmarks", "calibration", "data", "docs", "tests", "tools", "usecases")
NOT_IN_THE_WHEEL = {"campaign", "folded.json", "records.jsonl.gz"}
"""What a dataset was measured by and folded from, and its account stay in the repository."""
DATASETS = sorted(path.parent.name for path in (checkout.ROOT / "data").glob("*/dataset.toml"))
USE_CASES = sorted(path.stem for path in (checkout.ROOT / "usecases").glob("*.toml"))
SYSTEMS = sorted(path.stem for path in (checkout.ROOT / "usecases" / "systems").glob("*.toml"))
WHERE = "import icmodel; print(icmodel.__file__)"
TITLE = "import icmodel, sys; print(icmodel.load(sys.argv[1]).document['title'])"
FINDABLE = """
import sys
from importlib.util import find_spec
print([name for name in sys.argv[1:] if find_spec(name)])
"""


def shipped(names: Iterable[Path]) -> set[str]:
    """Where each file of the package, the data and the use cases must stand in the wheel."""
    return {
        "/".join([IN_THE_WHEEL[name.parts[0]], *name.parts[1:]])
        for name in names
        if name.parts[0] in IN_THE_WHEEL and NOT_IN_THE_WHEEL.isdisjoint(name.parts)
    }


def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_wheel_holds_the_package_the_data_and_the_use_cases_and_nothing_else(
    distributions: Distributions,
) -> None:
    names = wheel_names(distributions.wheel)
    info = f"icmodel-{icmodel.__version__}.dist-info"
    described = {name for name in names if name.startswith(f"{info}/")}
    assert names - described == shipped(checkout.files())
    assert f"{info}/licenses/LICENSE" in described
    assert "icmodel/py.typed" in names


def test_the_wheel_is_pure_python(distributions: Distributions) -> None:
    info = f"icmodel-{icmodel.__version__}.dist-info"
    with zipfile.ZipFile(distributions.wheel) as archive:
        tags = archive.read(f"{info}/WHEEL").decode().splitlines()
    assert "Root-Is-Purelib: true" in tags
    assert "Tag: py3-none-any" in tags
    assert {Path(name).suffix for name in wheel_names(distributions.wheel)}.isdisjoint(
        {".so", ".pyd", ".pyc", ".dylib"}
    )


def test_the_source_distribution_holds_what_is_committed_and_nothing_built(
    distributions: Distributions,
) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
    written_by_setuptools = {name for name in names if name.startswith("icmodel.egg-info/")} | {
        "PKG-INFO",
        "setup.cfg",
    }
    committed = {
        name.as_posix()
        for name in checkout.files()
        if name.parts[0] != "calibration" and name.as_posix() not in NOT_IN_THE_SDIST
    }
    assert names - written_by_setuptools == committed - written_by_setuptools


def test_nothing_of_the_probe_travels_with_icmodel(distributions: Distributions) -> None:
    """It is a package of its own: nobody who installs icmodel compiles anything."""
    with tarfile.open(distributions.sdist) as archive:
        names = {*archive.getnames(), *wheel_names(distributions.wheel)}
    travels = [n for n in names if "calibration" in PurePosixPath(n).parts or n.endswith(".rs")]
    assert travels == []


def test_the_command_says_the_version(installed_wheel: Installed, tmp_path: Path) -> None:
    printed = run(installed_wheel.icmodel, "--version", cwd=tmp_path)
    assert icmodel.__version__ in printed


def test_every_dataset_loads_from_the_wheel(installed_wheel: Installed, tmp_path: Path) -> None:
    script = """
import json
from icmodel.dataset import catalogue, load
print(json.dumps({name: [load(name).id, str(load(name).folder)] for name in catalogue()}))
"""
    loaded = json.loads(run(installed_wheel.python, "-c", script, cwd=tmp_path))
    assert sorted(loaded) == DATASETS
    for name, (identity, folder) in loaded.items():
        assert identity == name
        assert Path(folder).is_relative_to(installed_wheel.python.parents[1])


def test_every_use_case_loads_from_the_wheel(installed_wheel: Installed, tmp_path: Path) -> None:
    script = """
import json, sys
from icmodel.dataset import shipped
from icmodel.usecase import load_usecase
names = sorted(path.stem for path in shipped("usecases").glob("*.toml"))
print(json.dumps({name: load_usecase(name).name for name in names}))
"""
    loaded = json.loads(run(installed_wheel.python, "-c", script, cwd=tmp_path))
    assert sorted(loaded) == USE_CASES
    assert all(identity == name for name, identity in loaded.items())


def test_every_system_loads_from_the_wheel(installed_wheel: Installed, tmp_path: Path) -> None:
    script = """
import json
from icmodel.system import load, system_names
print(json.dumps({name: load(name).name for name in system_names()}))
"""
    loaded = json.loads(run(installed_wheel.python, "-c", script, cwd=tmp_path))
    assert sorted(loaded) == SYSTEMS
    assert all(identity == name for name, identity in loaded.items())


def test_the_wheel_makes_nothing_else_importable(
    installed_wheel: Installed, tmp_path: Path
) -> None:
    assert run(installed_wheel.python, "-c", FINDABLE, *STRANGERS, cwd=tmp_path) == "[]\n"


def test_the_extras_are_not_needed(installed_wheel: Installed, tmp_path: Path) -> None:
    """The environment is the bare one, so what passes there passes without the extras."""
    extras = (
        "vl_convert",
        "h5netcdf",
        "h5py",
        "pyarrow",
        "fastapi",
        "uvicorn",
        "pytest",
        "hypothesis",
    )
    assert run(installed_wheel.python, "-c", FINDABLE, *extras, cwd=tmp_path) == "[]\n"


def test_a_missing_extra_is_named(installed_wheel: Installed, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed_wheel.icmodel, "serve"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith("run `pip install 'icmodel[web]'`\n")


def titled(folder: Path, title: str) -> None:
    """Give a dataset another title; the seal covers points.csv, so it still loads."""
    path = folder / "dataset.toml"
    text = path.read_text(encoding="utf-8")
    old = f'title = "{tomllib.loads(text)["title"]}"'
    assert old in text
    path.write_text(text.replace(old, f'title = "{title}"'), encoding="utf-8")


@pytest.mark.long
def test_an_editable_install_sees_an_edited_data_file_at_once(tmp_path: Path) -> None:
    source = checkout.copy(tmp_path / "checkout")
    python = empty_venv(tmp_path / "venv")
    lend_requirements(python)
    pip(python, "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", source)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert Path(run(python, "-c", WHERE, cwd=elsewhere).strip()).is_relative_to(source)
    titled(source / "data" / DATASETS[0], "edited a moment ago")
    assert run(python, "-c", TITLE, DATASETS[0], cwd=elsewhere) == "edited a moment ago\n"
    assert run(python, "-c", FINDABLE, *STRANGERS, cwd=elsewhere) == "[]\n"


def lend_requirements(python: Path) -> None:
    """Let an empty environment see this one's packages, but none of its .pth files."""
    site = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=python.parent
    )
    lent = sysconfig.get_path("purelib")
    (Path(site.strip()) / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")


def test_a_bare_checkout_works(tmp_path: Path) -> None:
    source = checkout.copy(tmp_path / "checkout")
    titled(source / "data" / DATASETS[0], "of the bare checkout")
    path = {"PYTHONPATH": str(source)}
    assert Path(run(sys.executable, "-c", WHERE, cwd=tmp_path, env=path).strip()).is_relative_to(
        source
    )
    titles = run(sys.executable, "-c", TITLE, DATASETS[0], cwd=tmp_path, env=path)
    assert titles == "of the bare checkout\n"


def broken_compilers(folder: Path) -> Path:
    """A folder of compilers that fail; the file returned is there when one had to compile.

    pip asks ``rustc --version`` at every download, to tell the server.
    """
    folder.mkdir()
    called = folder / "called"
    script = f'#!/bin/sh\n[ "$*" = --version ] || echo "$0 $*" >>"{called}"\nexit 1\n'
    for name in COMPILERS:
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    return called


def needs_make() -> str:
    """The path of make."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make, which is not on this machine")
    return make


VERDICTS = ("imaging", "motion-control", "ethernet-10g-2012", "not met")


def test_the_readme_s_first_command_prints_the_verdicts(tmp_path: Path) -> None:
    """By the environment of these tests, which the same Makefile installs: in CI into a fresh clone."""
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "bin").symlink_to(Path(sys.executable).parent)
    for step in ("pip", "icmodel"):
        (installed / step).touch()
    printed = run(needs_make(), "verdict", f"VENV={installed}", cwd=checkout.ROOT)
    for words in VERDICTS:
        assert words in printed


@pytest.mark.long
def test_the_readme_s_first_command_installs_without_a_compiler(tmp_path: Path) -> None:
    make = needs_make()
    source = checkout.copy(tmp_path / "checkout")
    called = broken_compilers(tmp_path / "compilers")
    path = f"{called.parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "PIP_NO_COMPILE": "no"}  # pip reads it so: what is imported is compiled
    printed = run(make, "verdict", f"PYTHON={sys.executable}", cwd=source, env=env)
    assert not called.exists(), f"this needs none of these: {called.read_text(encoding='utf-8')}"
    for words in VERDICTS:
        assert words in printed
