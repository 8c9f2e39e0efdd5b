"""Finding and checking icprobe, with shell scripts in place of the binary."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import checkout
import probe_record
from conftest import Installed, clean_environment, empty_venv, run
from icmodel.calibrate import Progress, Result
from icmodel.calibrate.loop import Calibration
from icmodel.cli import main
from icmodel.cli.calibrate import exit_code, verdict_line
from icmodel.errors import ProbeMissing
from icmodel.probing import check_probe
from search import mostly_long

SELFCHECK = '{"clock_resolution_s": 1e-9, "max_rate_fps": 500000.5, "new": 3, "note": "x"}'
GOOD = f"""#!/bin/sh
case $1 in
  --version) echo "icprobe 0.1.0" ;;
  selfcheck) echo '{SELFCHECK}' ;;
  *) exit 2 ;;
esac
"""
BAD = {
    "no icprobe": ("#!/bin/sh\necho hello 1.0\n", "does not print icprobe's version"),
    "no version": ("#!/bin/sh\necho icprobe\n", "does not print icprobe's version"),
    "no JSON": ("#!/bin/sh\necho icprobe 0.1.0\n", "selfcheck` prints no JSON object"),
    "a failure": ("#!/bin/sh\necho broken >&2\nexit 3\n", "failed with exit code 3 (broken)"),
    "a silent failure": (
        "#!/bin/sh\nexit 1\n",
        "failed with exit code 1 (without an error message)",
    ),
    "no program": ("#!/no/such/interpreter\n", "does not start"),
    "a hang": ("#!/bin/sh\nexec sleep 60\n", "did not answer within 0.2 s"),
}


def executable(path: Path, text: str = GOOD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class Places:
    """Clone and environment without icprobe, and the places where it is looked for, in order."""

    python: Path
    clone: Path
    folders: tuple[Path, Path]

    @property
    def all(self) -> tuple[Path, Path, Path]:
        built = self.clone / "calibration" / "target" / "release" / "icprobe"
        return (self.folders[1] / "icprobe", self.python.parent / "icprobe", built)

    def found(self) -> str:
        """Result of `find_probe` in that environment, or its error message."""
        search = os.pathsep.join(map(str, self.folders))
        env = {"PATH": search, "PYTHONPATH": str(self.clone)}
        return run(self.python, "-c", FIND, cwd=self.clone, env=env).strip()


FIND = """
from icmodel.probing import find_probe
from icmodel.errors import ProbeMissing
try:
    print(find_probe())
except ProbeMissing as error:
    print(error)
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    clone = tmp_path / "clone"
    (clone / "icmodel").mkdir(parents=True)
    for name in (
        "__init__.py",
        "probing.py",
        "documents.py",
        "errors.py",
    ):
        shutil.copy2(checkout.ROOT / "icmodel" / name, clone / "icmodel" / name)
    folders = (tmp_path / "first", tmp_path / "second")
    return Places(empty_venv(tmp_path / "venv"), clone, folders)


def test_the_places_are_looked_at_in_their_order(places: Places) -> None:
    for place in reversed(places.all):
        executable(place)
        assert places.found() == str(place)


def test_what_cannot_be_executed_is_passed_over(places: Places) -> None:
    on_path, beside, built = places.all
    executable(on_path).chmod(0o644)
    beside.mkdir()
    executable(built)
    assert places.found() == str(built)


def test_none_at_all_is_said_with_what_to_install(places: Places) -> None:
    said = places.found()
    for words in ("icprobe", "icmodel[probe]", "Rust", "rustup.rs", "pip install ./calibration"):
        assert words in said
    assert "\n" not in said


def test_a_good_one_says_version_and_numbers(tmp_path: Path) -> None:
    probe = check_probe(executable(tmp_path / "icprobe"))
    assert (probe.path, probe.version) == (tmp_path / "icprobe", "0.1.0")
    assert probe.instrument == {"clock_resolution_s": 1e-9, "max_rate_fps": 500000.5, "new": 3}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_one_is_said_in_one_sentence(kind: str, tmp_path: Path) -> None:
    text, sentence = BAD[kind]
    path = executable(tmp_path / "icprobe", text)
    with pytest.raises(ProbeMissing) as caught:
        check_probe(path, longest_s=0.2 if kind == "a hang" else 60.0)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


LINES = [
    ("--check",),
    ("--lab", "--budget", "1 h", "-o", "here"),
    ("--hosts", "a", "b", "-o", "here"),
]


@pytest.mark.parametrize("line", LINES)
def test_the_wheel_s_command_says_what_to_install(
    line: tuple[str, ...], installed_wheel: Installed, tmp_path: Path
) -> None:
    """The environment of the wheel and PATH have no icprobe."""
    done = subprocess.run(
        [installed_wheel.icmodel, "calibrate", *line],
        cwd=tmp_path,
        env={**clean_environment(), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("icmodel: the measuring tool icprobe is not installed")
    assert "pip install ./calibration" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_question_is_said_without_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for line, said in WRONG[:-1]:
        assert main(["calibrate", *line]) == 2
        assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the script above first on PATH."""
    path = executable(tmp_path / "bin" / "icprobe")
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def test_the_check_shows_what_the_probe_says(
    stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--check"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["icprobe", "works"],
        ["what", "value"],
        ["path", str(stand_in)],
        ["version", "0.1.0"],
        ["clock_resolution_s", "1", "ns"],
        ["max_rate_fps", "500000.5/s"],
        ["new", "3"],
    ]
    assert main(["calibrate", "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema_version": 1,
        "probe": {"path": str(stand_in), "version": "0.1.0"},
        "selfcheck": {"clock_resolution_s": 1e-9, "max_rate_fps": 500000.5, "new": 3},
    }


WRONG = [
    ((), "the folder for the measurements is missing"),
    (("--hosts", "a", "b"), "the folder for the measurements is missing"),
    (
        ("--hosts", "a", "-o", "here"),
        "--hosts has the option -o in place of a host: name two hosts",
    ),
    (("--lab", "--hosts", "a", "b", "-o", "here"), "--lab and --hosts are both given"),
    (("--budget", "10", "-o", "here"), "has no unit"),
    (("--error", "0 %", "-o", "here"), "an error of 0 % is not possible"),
    (("--protocol", "pigeon", "-o", "here"), "missing protocols (pigeon): give"),
    (("--usecase", "pigeons", "-o", "here"), "pigeons"),
    (("--usecase", "imaging", "-o", "here"), "no run can decide the use case imaging"),
    (("--variant", "pigeon", "-o", "here"), "pigeon"),
    (("--address", "192.0.2.1", "-o", "here"), "--address needs --hosts"),
    (
        ("--hosts", "a", "b", "--topology", "direct", "-o", "here"),
        "--topology cannot be combined with --hosts",
    ),
    (("--cores", "0", "-o", "here"), "0 cores are not possible"),
    (("--error", "100 %", "-o", "here"), "an error of 100 % is not possible"),
    (("-o", "Bad Name"), "'Bad Name' cannot be the id of a dataset"),
    (("-o", "here"), "ended with exit code 2"),
]


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_what_cannot_be_calibrated_is_said_in_one_sentence(
    line: tuple[str, ...],
    said: str,
    stand_in: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The script only prints its version, so no loop begins."""
    monkeypatch.chdir(stand_in.parent)
    assert main(["calibrate", *line]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1
    assert not (stand_in.parent / "here" / "points.csv").exists()


SLEEPER = """#!/bin/sh
trap 'echo put away >> "$0.log"; exit 1' TERM INT
echo started >> "$0.log"
sleep 30 & wait
"""


@pytest.mark.parametrize(
    "by", mostly_long((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), (signal.SIGTERM,))
)
def test_however_it_is_ended_it_says_how_to_go_on(by: signal.Signals, tmp_path: Path) -> None:
    """SIGHUP and SIGTERM end the command as Ctrl-C does."""
    executable(tmp_path / "icprobe", SLEEPER)
    begun = tmp_path / "icprobe.log"
    words = [sys.executable, "-m", "icmodel", "calibrate", "-o", "here"]
    env = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(checkout.ROOT),
    }
    with subprocess.Popen(
        words, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True, preexec_fn=_as_a_shell_does
    ) as process:
        for _ in range(200):
            if begun.exists():
                break
            time.sleep(0.05)
        process.send_signal(by)
        _, told = process.communicate(timeout=20)
    assert (process.returncode, told) == (
        130,
        "icmodel: interrupted: repeat the command to continue in here\n",
    )


def _as_a_shell_does() -> None:
    """Default signal handlers, as for a command at a terminal."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("verdict", "reason", "stated", "code"),
    [
        ("met", "verdict", True, 0),
        ("not met", "verdict", True, 1),
        ("undecided", "budget", True, 3),
        ("", "budget", True, 3),
        ("", "budget", False, 0),
        ("", "error", True, 0),
    ],
)
def test_the_exit_code_says_whether_the_stated_end_was_reached(
    verdict: str, reason: str, stated: bool, code: int, tmp_path: Path
) -> None:
    stand = Progress(0, 1, 0, 1.0, 2.0, None, (), verdict)
    made = Calibration("lab", tmp_path, "lab", "", "hybrid", Result(reason, (), (), stand))
    assert exit_code(made, has_target=stated) == code


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        ("met", "verdict of the use case: met"),
        ("not met", "verdict of the use case: not met: p99 latency"),
        ("undecided", "verdict of the use case: undecided: axes, loss"),
    ],
)
def test_a_verdict_names_the_requirements_it_is_due_to(verdict: str, line: str) -> None:
    others = {"axes": "undecided", "p99 latency": "not met", "loss": "undecided", "CPU": "met"}
    stand = Progress(0, 1, 0, 1.0, 2.0, None, (), verdict, others)
    assert verdict_line(stand) == line


def test_the_real_probe_works(
    probe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The icprobe built by `make probe` answers as the command expects."""
    monkeypatch.setenv("PATH", str(probe.parent))
    crate = (checkout.ROOT / "calibration" / "Cargo.toml").read_text(encoding="utf-8")
    schema = json.loads(probe_record.SCHEMA.read_text(encoding="utf-8"))
    assert main(["calibrate", "--check", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    version = tomllib.loads(crate)["package"]["version"]
    assert said["probe"] == {"path": str(probe), "version": version}
    measured = said["selfcheck"]
    assert measured.keys() == schema["$defs"]["Instrument"]["properties"].keys()
    assert 0 < measured["clock_read_s"] < 1e-4
    assert 0 < measured["clock_resolution_s"] < 0.02
    assert 0 <= measured["sleep_error_p50_s"] <= measured["sleep_error_max_s"]
    assert measured["max_rate_fps"] > 1000
    assert 0 < measured["loopback_rtt_half_s"] < 0.01
    assert main(["calibrate", "--check"]) == 0
    assert capsys.readouterr().out.startswith("icprobe works")
