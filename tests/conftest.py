"""What several tests share: hypothesis profiles, the built distributions, an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

import checkout

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

# Fits invert matrices of some hundred rows: threads that wait for each other make them several times
# slower on a busy machine. Read by numpy when it is imported, which is after this file.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if IN_CI else "here")


ALONE = {
    "test_probe_clock",
    "test_probe_cpu",
    "test_probe_goodput",
    "test_probe_latency",
    "test_probe_loss",
}
"""Files whose tests measure: nothing runs beside them."""

PARTLY_ALONE = {"test_calibrate_hosts", "test_probe_ends", "test_verify_playing"}
"""Files of which some tests, marked there, measure."""

LONGEST = (
    "test_docs",
    "test_wheel",
    "test_benchmarks",
    "test_contradictions",
    "test_probe_ends",
    "test_calibrate_hosts",
    "test_benchmarks_probe",
    "test_calibrate",
)
"""Files of the most seconds: begun first, so that none of them runs on when all else is done."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep fits for this session: a test, and what it starts, makes only those that none before it made.

    A test that is about making fits has a cache of its own, or none. Workers of xdist use that of
    the process that starts them.
    """
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="icmodel-fits-")
        config.add_cleanup(folder.cleanup)
        os.environ["ICMODEL_CACHE"] = folder.name


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For the tests that run alone read no other files: to read all takes a quarter of a minute."""
    others = collection_path.stem not in ALONE | PARTLY_ALONE
    if config.option.markexpr == "alone" and collection_path.is_file() and others:
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that are to run alone, and begin with the longest files."""
    for item in items:
        if item.path.stem in ALONE:
            item.add_marker(pytest.mark.alone)
        elif item.get_closest_marker("alone") and item.path.stem not in PARTLY_ALONE:
            raise pytest.UsageError(f"name the file of {item.nodeid} in PARTLY_ALONE")
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI nothing may skip: turn a skipped report into a failed one that says why."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"nothing may skip in CI, and this did: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_if_skipped(report)
    return report


def run(
    *command: str | Path, cwd: Path, env: Mapping[str, str] | None = None, code: int = 0
) -> str:
    """Run a command, expect its exit code, and return what it printed on standard output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**clean_environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean_environment() -> dict[str, str]:
    """The environment of this process without what would lead Python or make back to it."""
    back = ("PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
    return {name: value for name, value in os.environ.items() if not name.startswith(back)}


def empty_venv(folder: Path) -> Path:
    """The Python of a new virtual environment with nothing in it, not even pip."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    return folder / "bin" / "python"


def pip(python: Path, *words: str | Path) -> None:
    """Run this environment's pip on another one."""
    quiet = ("--python", python, "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", *quiet, *words, cwd=python.parent)


@dataclass(frozen=True)
class Distributions:
    """The source distribution, and the wheel that was built from it."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and what it requires, nothing else."""

    python: Path
    icmodel: Path


@pytest.fixture(scope="session")
def probe() -> Path:
    """The icprobe that `make test` has built of this checkout."""
    if not checkout.PROBE.is_file():
        pytest.skip("needs icprobe, which `make probe` builds with Rust")
    return checkout.PROBE


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Build both from a copy of the checkout in which earlier builds left their folders."""
    folder = tmp_path_factory.mktemp("distributions")
    source = checkout.copy(folder / "checkout")
    for left in ("build/lib/old.py", "dist/old.whl", "site/index.html", ".venv/pyvenv.cfg"):
        (source / left).parent.mkdir(parents=True, exist_ok=True)
        (source / left).write_text("left by an earlier build\n", encoding="utf-8")
    for cache in ("icmodel", "tests"):
        (source / cache / "__pycache__").mkdir(exist_ok=True)
        (source / cache / "__pycache__" / "old.cpython-311.pyc").write_bytes(b"old")
    out = folder / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=folder)
    return Distributions(next(out.glob("*.tar.gz")), next(out.glob("*.whl")))


@pytest.fixture(scope="session")
def installed_wheel(
    distributions: Distributions, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """Install the wheel and its requirements, no extras, into an empty environment."""
    python = empty_venv(tmp_path_factory.mktemp("installed") / "venv")
    constraints = checkout.ROOT / "constraints.txt"
    quiet = ("--quiet", "--no-compile")  # what is imported is compiled then
    pip(python, "install", *quiet, "--constraint", constraints, distributions.wheel)
    return Installed(python, python.parent / "icmodel")
