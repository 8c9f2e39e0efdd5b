"""Faults of disks, folders, clocks and networks are no defects: one sentence names the place and what to do."""

from __future__ import annotations

import errno
import importlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

import checkout
from conftest import clean_environment
from crash_case import COMMANDS as WRITERS
from crash_case import content, started
from fold_case import GOLDEN
from icmodel.cli import WRONG, main
from icmodel.documents import write, write_lock
from icmodel.errors import ClusterError, ReportError, is_disk_error, unwritable
from icmodel.fits import store
from icmodel.web.place import listen
from icmodel.workers import connect
from ingest_cases import CASES
from small_case import small_dataset

POOL = importlib.import_module("icmodel.workers")
RESULTS = CASES / "libzmq" / "local_thr.txt"
COMMANDS = {
    "x.csv": "sweep --payload '64 B..65535 B:300' --cores 1,4 -o {disk}/x.csv",
    "x.json": "sweep --payload '64 B..65535 B:300' -o {disk}/x.json",
    "x.nc": "sweep --payload '64 B..65535 B:300' --cores 1,4 -o {disk}/x.nc",
    "x.xlsx": "sweep --payload '64 B..65535 B:300' --cores 1,4 -o {disk}/x.xlsx",
    "x.txt": "datasets points ethernet-10g-2012 -o {disk}/x.txt",
    "x.svg": "plot goodput_bps -o {disk}/x.svg",
    "x.png": "plot goodput_bps -o {disk}/x.png",
    "x.html": "evaluate motion-control -o {disk}/x.html",
    "x.md": "evaluate motion-control -o {disk}/x.md",
    "x.toml": "usecases new camera -o {disk}/x.toml",
    "own": f"ingest {RESULTS} -o {{disk}}/own",
    "folded": f"fold {GOLDEN / 'tcp-unlimited.jsonl'} -o {{disk}}/folded",
    "x.zarr": "sweep --payload '64 B..65535 B:300' --cores 1,4 -o {disk}/x.zarr",
}
WAYS = ("x.csv", "x.nc", "x.txt", "x.png", "own")
"""One of each way to write: row by row, by a library, a text, bytes, a folder."""
LIKE_OTHERS = ("x.json", "x.svg", "x.html", "x.zarr")
"""Commands that write in the way of another one of the list; `make measure` tries them too."""
DEVICE = Path("/dev/full")
SIZE_KB = 24


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 kB, which can be mounted by root alone."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no right to mount a small disk: run it as root, on Linux")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def words(name: str, disk: Path) -> list[str]:
    """A command that writes to a disk."""
    return shlex.split(COMMANDS[name].format(disk=disk))


# --- a full disk ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "free_kb"),
    [
        *(
            pytest.param(name, 4, marks=[pytest.mark.long] * (name in LIKE_OTHERS))
            for name in COMMANDS
        ),
        *((name, kb) for name in WAYS for kb in (0, 8)),
    ],
)
def test_a_full_disk_is_reported_and_leaves_nothing(
    name: str, free_kb: int, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = disk / "fill"
    filled.write_bytes(b"x" * ((SIZE_KB - free_kb) * 1024))
    before = sorted(disk.iterdir())
    code = main(words(name, disk))
    said = capsys.readouterr().err
    if code == 0:  # small enough for what is left
        assert free_kb
        return
    assert code == WRONG, said
    assert said.count("\n") == 1
    assert f"{disk / name}" in said
    assert " cannot be written: No space left on device; make space there" in said
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


def test_a_dataset_on_a_full_disk_keeps_its_files(
    disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fit is made and cannot be kept; a new seal does not replace the old one."""
    folder = small_dataset(disk).folder
    before = content(folder.parent, (folder.name,))
    (disk / "fill").write_bytes(b"x" * (os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
    for command in ("fit", "datasets check --seal"):
        assert main([*command.split(), str(folder)]) == WRONG
        said = capsys.readouterr().err
        assert "cannot be written: No space left on device; make space there" in said
        assert said.count("\n") == 1
    assert content(folder.parent, (folder.name,)) == before


# --- a closed folder --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in WAYS)) for name in COMMANDS]
)
def test_a_read_only_disk_is_reported(
    name: str, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert main(words(name, disk)) == WRONG
    said = capsys.readouterr().err
    assert f"{disk / name}" in said
    assert " cannot be written: Read-only file system; choose a place that you may" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    ["predict --payload '64 B' -o closed/x.json", f"ingest {RESULTS} -o closed/own", "fit closed"],
)
def test_a_folder_without_permission_is_reported(command: str, tmp_path: Path) -> None:
    """Root has every permission, until it gives up that capability."""
    closed = tmp_path / "closed"
    small_dataset(tmp_path).folder.rename(closed)
    closed.chmod(0o500)
    setpriv = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*setpriv, sys.executable, "-m", "icmodel", *shlex.split(command)],
        cwd=tmp_path,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT), "ICMODEL_CACHE": "closed"},
        capture_output=True,
        text=True,
        check=False,
    )
    closed.chmod(0o700)
    assert done.returncode == WRONG, done.stderr
    assert "cannot be written: Permission denied; choose a place that you may" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "evaluate {name}",
        "system {name}",
        "predict --payload '64 B' --dataset {name}",
        "predict --payload '64 B' -o {name}.json",
        "predict --payload '64 B' -o {name}/one.json",
        "usecases new own -o {name}.toml",
        "sweep --payload '64 B' -o {name}.zarr",
        f"ingest {RESULTS} -o {{name}}",
        "fold {name} -o own",
    ],
)
def test_a_name_that_no_disk_can_hold_is_reported(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command.format(name="x" * 300))) == WRONG
    said = capsys.readouterr().err
    assert "File name too long" in said
    assert said.count("\n") == 1


# --- several processes at once ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("report.xlsx", "ingest.again"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("seal", "sweep.csv", "sweep.zarr")
        ),
    ],
)
def test_processes_that_write_one_place_leave_one_whole_result(name: str, tmp_path: Path) -> None:
    command = WRITERS[name]
    for folder in ("alone", "shared"):
        (tmp_path / folder).mkdir()
        before, _ = started(command.before, tmp_path / folder)
        before.join()
    running = [started(command.run, tmp_path / place) for place in ("alone", *["shared"] * 3)]
    for process, _ in running:
        process.join()
    codes = [process.exitcode for process, _ in running]
    assert codes[0] in (0, 1)
    assert codes[0] in codes[1:]
    assert {*codes} <= {codes[0], WRONG}  # told to wait
    assert content(tmp_path / "shared", command.made) == content(tmp_path / "alone", command.made)


def test_a_place_in_work_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "grid.csv"
    with (
        write_lock(path),
        pytest.raises(ReportError, match=r"another process is writing .*: wait"),
        write_lock(path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
    with write_lock(path):
        pass


# --- clocks -----------------------------------------------------------------------------------


def test_a_clock_set_back_removes_no_fit_that_was_just_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older fits are of the future; one of them goes, though all seem newer."""
    monkeypatch.setattr(store, "MOST_BYTES", 1500)
    for number in range(3):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / store.TEXT).write_bytes(b"x" * 1000)
        if number < 2:
            ahead = time.time() + 1e6 + number
            os.utime(folder / store.TEXT, (ahead, ahead))
    store._make_room(tmp_path / "2")
    assert (tmp_path / "2" / store.TEXT).exists()
    assert len(list(tmp_path.iterdir())) < 3


# --- networks ---------------------------------------------------------------------------------

SILENT = """
import socket, sys, threading, time
from icmodel.cli import main
asked = []
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def listen():
    while True:
        asked.append(server.recv(512))
threading.Thread(target=listen, daemon=True).start()
code = main(["serve", "--host", "slow.example.com", "--no-browser"])
print(len(asked))
sys.exit(code)
"""


def test_a_name_server_that_never_answers_is_asked_once(tmp_path: Path) -> None:
    resolver = tmp_path / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", encoding="utf-8")
    script = (
        f"ip link set lo up && mount --bind {resolver} $(realpath /etc/resolv.conf) && "
        f"exec {sys.executable} -c {shlex.quote(SILENT)}"
    )
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == WRONG, done.stderr
    assert "slow.example.com does not resolve: Temporary failure" in done.stderr
    assert done.stderr.count("\n") == 1
    assert int(done.stdout) <= 4  # both families, with and without the search domain


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "no such host"])
def test_a_host_that_is_no_name_is_reported(host: str) -> None:
    with pytest.raises(ReportError, match=r"does not resolve: .*; choose another --host"):
        listen(host, 0)


def silent(connection: socket.socket) -> None:
    """Answer nothing, and hold the connection."""


def closing(connection: socket.socket) -> None:
    """Close the connection in the middle of a message."""
    connection.sendall(b"\x01")
    connection.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("answer", [silent, closing])
def test_a_scheduler_that_is_half_there_is_reported(
    answer: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(POOL, "WAIT_S", 1)
    accepted = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return
                answer(accepted[-1])

        thread = Thread(target=serve, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClusterError, match="no Dask scheduler answers"):
            connect(address)
    for connection in accepted:
        connection.close()
