"""A full disk is no defect: one sentence names the file and what to do, and nothing half is left."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkout
from conftest import clean_environment
from icmodel.cli import WRONG, main
from icmodel.errors import ReportError, is_disk_error, unwritable
from icmodel.files import write
from ingest_cases import CASES

COMMANDS = {
    "x.csv": "sweep --payload '64 B..65535 B:300' --cores 1,4",
    "x.json": "sweep --payload '64 B..65535 B:300'",
    "x.nc": "sweep --payload '64 B..65535 B:300' --cores 1,4",
    "x.txt": "datasets points ethernet-10g-2012",
    "x.svg": "plot goodput_bps",
    "x.png": "plot goodput_bps",
    "x.html": "evaluate motion-control",
    "x.md": "evaluate motion-control",
    "x.toml": "usecases new camera",
    "own": f"ingest {CASES / 'libzmq' / 'local_thr.txt'}",
}
WAYS = ("x.csv", "x.nc", "x.txt", "x.png", "own")
"""One of each way to write: row by row, by a library, a text, bytes, a folder."""
DEVICE = Path("/dev/full")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 kB, which can be mounted by root alone."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no right to mount a small disk: run it as root, on Linux")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("name", "free_kb"),
    [(name, 4) for name in COMMANDS] + [(name, kb) for name in WAYS for kb in (0, 8)],
)
def test_a_full_disk_is_reported_and_leaves_nothing(
    name: str, free_kb: int, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = disk / "fill"
    filled.write_bytes(b"x" * ((24 - free_kb) * 1024))
    before = sorted(disk.iterdir())
    code = main([*shlex.split(COMMANDS[name]), "-o", str(disk / name)])
    said = capsys.readouterr().err
    if code == 0:  # small enough for what is left
        assert free_kb
        return
    assert code == WRONG, said
    assert said.count("\n") == 1
    assert f"{disk / name} cannot be written: No space left on device; make space there" in said
    assert sorted(disk.iterdir()) == before


@pytest.mark.skipif(not DEVICE.exists(), reason="no /dev/full, as on Linux")
@pytest.mark.parametrize(
    "command",
    [
        "predict --payload '64 B' --json",
        "sweep --payload '64 B..65535 B:100'",
        "--version",
        "--help",
    ],
)
def test_a_full_output_is_reported(command: str, tmp_path: Path) -> None:
    with DEVICE.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "icmodel", *shlex.split(command)],
            cwd=tmp_path,
            env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == WRONG, done.stderr
    assert done.stderr.startswith("icmodel: the output cannot be written: No space left on device")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "make space"),
        (errno.EDQUOT, "make space"),
        (errno.EROFS, "may write to"),
        (errno.EACCES, "may write to"),
        (errno.EIO, "at fault"),
    ],
)
def test_each_fault_of_a_place_has_its_advice(code: int, advice: str) -> None:
    said = unwritable("x.csv", OSError(code, "a paragraph\nof a library"))
    assert said.startswith(f"x.csv cannot be written: {os.strerror(code)}; ")
    assert advice in said
    assert is_disk_error(OSError(code, ""))
    assert not is_disk_error(OSError(errno.ENOENT, ""))
    assert not is_disk_error(ValueError())


@pytest.mark.skipif(not DEVICE.exists(), reason="no /dev/full, as on Linux")
def test_a_full_device_is_reported_by_its_name() -> None:
    with pytest.raises(ReportError, match="/dev/full cannot be written: No space left"):
        write(DEVICE, b"x")
