"""A release: two builds of a commit are equal to the byte, and the wheel lists what it holds and needs."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

import build_release
import checkout
import icmodel
from conftest import empty_venv, pip, run

pytestmark = pytest.mark.long
"""Builds take half a minute; `test_wheel` checks what pip builds."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Wheel and source archive of the last commit, built of a clone."""
    return built(tmp_path_factory.mktemp("release"))


def built(folder: Path) -> tuple[Path, Path]:
    if not (checkout.ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", checkout.ROOT, clone], check=True)
    made = build_release.build(clone, folder / "dist")
    shutil.rmtree(clone)
    return made


def test_two_builds_of_a_commit_are_equal_to_the_byte(
    release: tuple[Path, Path], tmp_path: Path
) -> None:
    time.sleep(2.1)  # a zip archive counts times in steps of two seconds
    again = built(tmp_path)
    for one, other in zip(release, again, strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()


def test_the_wheel_names_its_parts_and_requirements(release: tuple[Path, Path]) -> None:
    info = f"icmodel-{icmodel.__version__}.dist-info"
    with zipfile.ZipFile(release[0]) as wheel:
        bill = json.loads(wheel.read(f"{info}/sboms/icmodel.cdx.json"))
        recorded = wheel.read(f"{info}/RECORD").decode()
        assert {line.split(",")[0] for line in recorded.splitlines()} == set(wheel.namelist())
        metadata = wheel.read(f"{info}/METADATA").decode()
    this = bill["metadata"]["component"]
    assert this["version"] == icmodel.__version__
    assert this["purl"] == f"pkg:generic/icmodel@{icmodel.__version__}"  # not that of PyPI
    requirements = {
        one["value"] for part in bill["components"] for one in part.get("properties", ())
    }
    said = {
        line.removeprefix("Requires-Dist: ").partition(";")[0].strip()
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist: ")
    }
    own = {requirement for requirement in said if requirement.startswith(("icmodel", "icprobe"))}
    names = {build_release.name_of(requirement) for requirement in requirements}
    assert names == {build_release.name_of(requirement) for requirement in said - own}


def test_the_wheel_of_a_release_installs_and_answers(
    release: tuple[Path, Path], tmp_path: Path
) -> None:
    python = empty_venv(tmp_path / "venv")
    pip(python, "install", "--no-deps", str(release[0]))
    assert "0.1.0" in run(python, "-c", "import icmodel; print(icmodel.__version__)", cwd=tmp_path)
