"""What several tests share: hypothesis profiles, the built distributions, an empty environment."""

from __future__ import annotations

import fcntl
import gc
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import checkout
import search
import shared
from search import IN_CI

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from web_case import Server

# Fits invert matrices of some hundred rows: threads that wait for each other make them several times
# slower on a busy machine. Read by numpy when it is imported, which is after this file.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

search.load_profile()
shared.share()


ALONE = {"test_probe_goodput", "test_probe_loss"}
"""Files whose tests measure: nothing runs beside them."""

PARTLY_ALONE = {
    "test_probe_clock",
    "test_probe_cpu",
    "test_probe_ends",
    "test_probe_latency",
    "test_verify_running",
}
"""Files of which some tests, marked there, measure."""

LONGEST = (
    "test_docs",
    "test_web_pages",
    "test_wheel",
    "test_contradictions",
    "test_system_contradictions",
    "test_benchmarks",
    "test_cli",
    "test_report",
    "test_sweep_to_file",
    "test_workbook",
    "test_interconnects_comparing",
    "test_interconnects_result",
    "test_web_api",
    "test_web_openapi",
    "test_calibrate_loop",
    "test_report_browser",
    "test_report_pdf",
    "test_report_front",
    "test_probe_ends",
    "test_calibrate_hosts",
    "test_benchmarks_probe",
    "test_ingest_disguises",
    "test_model_twin",
    "test_model_properties",
    "test_cli_fit",
    "test_report_plots",
    "test_cli_schemas",
    "test_tables_left_out",
    "test_hybrid",
    "test_fits_store",
    "test_notebooks",
    "test_docs_site",
    "test_cli_completion",
)
"""Files of the most seconds: begun first, in this order, so that all workers end at the same time."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep fits and searches for this session: a test, and what it starts, makes only what none before it made.

    A test that is about making fits has a cache of its own, or none. Workers of xdist use that of
    the process that starts them.
    """
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="icmodel-session-")
        config.add_cleanup(folder.cleanup)
        os.environ["ICMODEL_CACHE"] = os.environ[shared.FITS] = str(Path(folder.name) / "fits")


def pytest_collection(session: pytest.Session) -> None:
    """Collect garbage only while tests run: of what is imported and listed before them nothing goes."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to collect garbage, seldom, and never look through what is there already."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For the tests that run alone read no other files: to read all takes a quarter of a minute."""
    others = collection_path.stem not in ALONE | PARTLY_ALONE
    if config.option.markexpr.startswith("alone") and collection_path.is_file() and others:
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that are to run alone, and begin with the longest files, the longest first."""
    for item in items:
        if item.path.stem in ALONE:
            item.add_marker(pytest.mark.alone)
        elif item.get_closest_marker("alone") and item.path.stem not in PARTLY_ALONE:
            raise pytest.UsageError(f"name the file of {item.nodeid} in PARTLY_ALONE")
    place = {name: index for index, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


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


@pytest.fixture
def run_icmodel(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], object]:
    """Run a command line in an empty folder; returns a `cli_case.Printed`."""
    from cli_case import Printed
    from icmodel.cli import main

    monkeypatch.chdir(tmp_path)

    def run_line(line: str) -> Printed:
        code = main(shlex.split(line))
        captured = capsys.readouterr()
        return Printed(code, captured.out, captured.err)

    return run_line


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running `icmodel serve`, one for each worker."""
    from web_case import serving

    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium; of a module, since the loop it runs lets no other run in its thread."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from benchmarks.served import CHROMIUM, headless_browser

    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (apt-get install chromium-headless-shell)")
    with headless_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def probe() -> Path:
    """The icprobe that `make test` has built of this checkout."""
    if not checkout.PROBE.is_file():
        pytest.skip("needs icprobe, which `make probe` builds with Rust")
    return checkout.PROBE


def made_once(folder: Path, make: Callable[[Path], None]) -> None:
    """Make what is in a folder unless a worker of this session has, or let that one finish."""
    with folder.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if not lock.read():
            shutil.rmtree(folder, ignore_errors=True)  # what a worker left that failed
            folder.mkdir()
            make(folder)
            lock.write("made")


@pytest.fixture(scope="session")
def of_all_workers(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of this session, which workers of xdist share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def distributions(of_all_workers: Path) -> Distributions:
    """Built from a copy of the checkout in which earlier builds left their folders."""
    folder = of_all_workers / "distributions"
    made_once(folder, build)
    return Distributions(next(folder.glob("dist/*.tar.gz")), next(folder.glob("dist/*.whl")))


def build(folder: Path) -> None:
    """Build both distributions in ``dist`` of a folder."""
    source = checkout.copy(folder / "checkout")
    for left in ("build/lib/old.py", "dist/old.whl", "site/index.html", ".venv/pyvenv.cfg"):
        (source / left).parent.mkdir(parents=True, exist_ok=True)
        (source / left).write_text("left by an earlier build\n", encoding="utf-8")
    for cache in ("icmodel", "tests"):
        (source / cache / "__pycache__").mkdir(exist_ok=True)
        (source / cache / "__pycache__" / "old.cpython-311.pyc").write_bytes(b"old")
    out = folder / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=folder)


@pytest.fixture(scope="session")
def installed_wheel(distributions: Distributions, of_all_workers: Path) -> Installed:
    """The wheel and its requirements, no extras, in an environment that was empty."""
    folder = of_all_workers / "installed"
    made_once(folder, lambda empty: install(empty_venv(empty / "venv"), distributions.wheel))
    bin_folder = folder / "venv" / "bin"
    return Installed(bin_folder / "python", bin_folder / "icmodel")


def install(python: Path, wheel: Path) -> None:
    """Install a wheel into an environment, and link what it requires from this one, which pip has filled."""
    pip(python, "install", "--quiet", "--no-compile", "--no-deps", wheel)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", where, cwd=python.parent).strip())
    (own,) = metadata.distributions(path=[str(site)])
    for one in required(own, {}).values():
        for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
            (site / top).symlink_to(str(one.locate_file(top)))


def required(
    of: metadata.Distribution, found: dict[str, metadata.Distribution]
) -> dict[str, metadata.Distribution]:
    """What a distribution requires without extras, and what that requires in turn, by name."""
    for requirement in map(Requirement, of.requires or ()):
        needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        name = canonicalize_name(requirement.name)
        if needed and name not in found:
            found[name] = metadata.distribution(name)
            required(found[name], found)
    return found
