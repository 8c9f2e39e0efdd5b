"""What CI promises: the README's command alone, nothing of this environment, nothing skipped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

import checkout
from conftest import run
from search import EXAMPLES, times

SCRIPT = checkout.ROOT / ".ci" / "run"
SKIPPING = {
    "a test": "import pytest\n\ndef test_it():\n    pytest.skip('no browser here')\n",
    "a mark": "import pytest\n\n@pytest.mark.skip('no browser here')\ndef test_it(): pass\n",
    "a file": "import pytest\n\npytest.importorskip('no_browser_here')\n",
}
KEPT = (
    "import pytest\n\n@pytest.mark.xfail\ndef test_it(): assert False\n\ndef test_other(): pass\n"
)


def toy(folder: Path, readme: str, target: str) -> Path:
    """A repository with only .ci/run, a README and a Makefile, all committed."""
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@localhost")
    (folder / ".ci").mkdir(parents=True)
    shutil.copy2(SCRIPT, folder / ".ci" / "run")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    (folder / "Makefile").write_text(f"test:\n\t@{target}\n", encoding="utf-8")
    run(*git, "init", "--quiet", cwd=folder)
    run(*git, "add", "--all", cwd=folder)
    run(*git, "commit", "--quiet", "--message", "toy", cwd=folder)
    return folder


def test_ci_runs_the_readme_s_command_in_a_clean_place(tmp_path: Path) -> None:
    folder = toy(tmp_path / "toy", "# Toy\n\n$ make test\n", "env; pwd; ls ~ | wc -l")
    (folder / "left-by-hand").touch()
    printed = run("bash", ".ci/run", cwd=folder, env={"LEFT_BY_HAND": "1"})
    names = set(re.findall(r"(?m)^(\w+)=", printed))
    assert names <= {
        "CI",
        "HOME",
        "LANG",
        "MAKEFLAGS",
        "MAKELEVEL",
        "MAKE_TERMERR",
        "MAKE_TERMOUT",
        "MFLAGS",
        "OLDPWD",
        "PATH",
        "PWD",
        "SHLVL",
        "_",
    }
    assert "CI=true" in printed
    assert f"HOME={Path.home()}" not in printed.splitlines()
    place, files_at_home = printed.splitlines()[-2:]
    assert Path(place) != folder
    assert not Path(place).exists(), "the clean place is removed in the end"
    assert int(files_at_home) == 0


def test_ci_fails_when_the_command_does(tmp_path: Path) -> None:
    run("bash", ".ci/run", cwd=toy(tmp_path / "toy", "$ make test\n", "false"), code=2)


@pytest.mark.parametrize("readme", ["# Toy\n", "$ make test\n\n$ make test\n"])
def test_ci_wants_one_test_command_in_the_readme(readme: str, tmp_path: Path) -> None:
    run("bash", ".ci/run", cwd=toy(tmp_path / "toy", readme, "true"), code=1)


def test_ci_installs_nothing_by_itself() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    assert not re.search(r"\b(pip|pytest|mypy|ruff|apt-get|cargo|uv)\b", script)


def toolchain(path: Path, home: Path, code: int) -> subprocess.CompletedProcess[str]:
    """``make toolchain`` of this checkout, with nothing but these two variables."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make, which is not on this machine")
    done = subprocess.run(
        [make, "toolchain"],
        cwd=checkout.ROOT,
        env={"PATH": str(path), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize(
    ("proxies", "toolchains"), [(".cargo/bin", ".rustup"), ("cargo/bin", "rustup")]
)
def test_rustup_s_toolchain_is_found_from_ci_s_empty_home(
    proxies: str, toolchains: str, tmp_path: Path
) -> None:
    """A cargo that answers only when it is told where the toolchains of its machine are."""
    machine = tmp_path / "machine"
    (machine / toolchains / "toolchains").mkdir(parents=True)
    (machine / proxies).mkdir(parents=True)
    cargo = machine / proxies / "cargo"
    cargo.write_text(f'#!/bin/sh\n[ "$RUSTUP_HOME" = "{machine / toolchains}" ]\n')
    cargo.chmod(0o755)
    toolchain(cargo.parent, tmp_path / "empty-home", 0)
    shutil.rmtree(machine / toolchains)
    toolchain(cargo.parent, tmp_path / "empty-home", 2)


def test_make_says_what_is_missing_without_rust(tmp_path: Path) -> None:
    said = toolchain(tmp_path, tmp_path, 2).stderr
    for words in ("Rust 1.88", "cargo", "rustfmt", "clippy", "rustup.rs", "`make verdict`"):
        assert words in said


STEPS = (
    "-j2 compiled develop system",
    "-j3 tests-compiled linted check",
    "measured",
    "alone",
    "-j2 crate pytest",
)


@cache
def planned() -> list[str]:
    return run("make", "test", "--dry-run", cwd=checkout.ROOT).splitlines()


def test_pytest_comes_last() -> None:
    told = [line.split("--no-print-directory ") for line in planned()]
    assert tuple(line[1] for line in told if len(line) == 2 and line[1] in STEPS) == STEPS
    assert any(line.endswith("./calibration") for line in planned()), "pip installs the probe"
    runs = [line.partition("-m pytest ")[2] for line in planned() if "-m pytest " in line]
    parts = [run.partition(" --")[0] for run in runs]
    assert parts == ["-m 'alone and not long'", "-m 'not alone and not long'"]


def test_what_pytest_leaves_out_or_searches_quickly_is_measured_thoroughly() -> None:
    told = run("make", "measure", "--dry-run", cwd=checkout.ROOT).splitlines()
    alone, line = [line for line in told if "-m pytest " in line]
    assert alone.endswith("-m pytest -m 'alone and long'")
    assert line.startswith("HYPOTHESIS_PROFILE=thorough ")
    assert "-m '(hypothesis or sampled or long) and not alone'" in line


def test_measurements_are_ignored_tests_of_rust_and_run_by_one_command() -> None:
    told = run("make", "measure", "--dry-run", cwd=checkout.ROOT).splitlines()
    (line,) = [line for line in told if "cargo test" in line and "--ignored" in line]
    assert "--test '*'" in line


def test_every_test_of_rust_is_run_once() -> None:
    """Unit tests, and all the others twice: those that measure, and those that do not."""
    ran = [line for line in planned() if "cargo test" in line and "--no-run" not in line]
    units = [line for line in ran if "--lib" in line.split()]
    others = [line for line in ran if "--test '*'" in line]
    assert len(units) == 1
    assert len(ran) == 3
    assert [line.split("--test '*'")[1].split() for line in others] == [
        ["measured::"],
        ["--quiet", "--", "--skip", "measured::", "--test-threads=6"],
    ]
    assert (checkout.ROOT / "calibration/tests/integration/measured/mod.rs").is_file()


def test_the_probe_has_no_tests_that_nothing_runs() -> None:
    """Neither examples in comments nor tests beside `main`: Cargo.toml takes both out."""
    source = checkout.ROOT / "calibration" / "src"
    for path in source.rglob("*.rs"):
        fences = re.findall(r"^ *//[/!] *```(\w*)", path.read_text(encoding="utf-8"), re.M)
        assert set(fences[::2]) <= {"text"}, path
    assert "#[test]" not in (source / "main.rs").read_text(encoding="utf-8")


def run_pytest(texts: dict[str, str], folder: Path, environment: dict[str, str], code: int) -> str:
    """Run some files with the conftest of these tests, all of them though one cannot be read."""
    for name in ("checkout.py", "conftest.py", "search.py", "shared.py", "shared_answers.py"):
        shutil.copy2(checkout.ROOT / "tests" / name, folder / name)
    for name, text in texts.items():
        (folder / f"test_{name.replace(' ', '_')}.py").write_text(text, encoding="utf-8")
    options = ("-q", "-p", "no:cacheprovider", "--continue-on-collection-errors")
    return run(sys.executable, "-m", "pytest", *options, cwd=folder, env=environment, code=code)


def test_what_skips_fails_in_ci_and_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    printed = run_pytest(SKIPPING | {"kept": KEPT}, tmp_path, {"CI": "true"}, 1)
    assert printed.count("nothing may skip in CI, and this did: Skipped: ") >= len(SKIPPING)
    refused = set(re.findall(r"(?m)^(?:FAILED|ERROR) test_(\w+)\.py", printed))
    assert refused == {kind.replace(" ", "_") for kind in SKIPPING}
    assert "1 failed, 1 passed, 1 xfailed, 2 errors" in printed


def test_what_skips_elsewhere_says_why(tmp_path: Path) -> None:
    only = {"a test": SKIPPING["a test"]}
    assert "1 skipped" in run_pytest(only, tmp_path, {"CI": ""}, 0)


SEARCHED = f"""
import json, os, runpy
from hypothesis import given, settings, strategies as st

def examples(profile):
    os.environ["HYPOTHESIS_PROFILE"] = profile
    search = runpy.run_path({str(checkout.ROOT / "tests" / "search.py")!r})
    search["load_profile"]()
    seen = set()

    @settings(max_examples=search["times"](10))
    @given(st.integers())
    def said(number):
        seen.add(number)

    said()
    return len(seen), settings().max_examples

print(json.dumps({{name: examples(name) for name in ("", "quick", "ci", "thorough")}}))
"""
"""Searches under each profile: how many examples a property draws that says 10, and one that says nothing may."""


def test_the_profile_says_how_far_tests_search(tmp_path: Path) -> None:
    found = json.loads(run(sys.executable, "-c", SEARCHED, cwd=tmp_path, env={"CI": ""}))
    for name in ("", "quick", "ci"):
        said, own = found[name]
        assert 5 < said <= 10
        assert own == EXAMPLES
    said, own = found["thorough"]
    assert 200 < said <= 400
    assert own == 40 * EXAMPLES


def test_these_tests_search_as_far_as_the_profile_says() -> None:
    assert settings().max_examples == times(EXAMPLES)
