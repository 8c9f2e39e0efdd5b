"""SIGKILL at any moment: afterwards stands the old result or the new one, and the same command succeeds."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx
import pytest

from crash_case import COMMANDS, content, run, started
from icmodel.dataset import load
from icmodel.errors import DatasetError
from ingest_cases import CASES
from probe_lab import wait_until
from web_case import serving

SEED = 28
BRIEF = ("sweep.csv", "report.xlsx", "ingest.again", "fold")
"""Commands of which `make test` kills one process each; `make measure` does so before every operation."""
MOMENTS = 50
"""Moments at which `make measure` kills processes, at random times."""
UNFINISHED = (".partial", ".progress", ".replaced")
"""Endings of what an interrupted sweep leaves, from which the next one goes on."""


@dataclass
class Stage:
    """A command, and folders before and after it."""

    name: str
    place: Path

    @cached_property
    def before(self) -> Path:
        """A folder in which the command was not run yet."""
        folder = self.place / "before"
        folder.mkdir(parents=True)
        run(COMMANDS[self.name].before, folder)
        return folder

    @cached_property
    def after(self) -> tuple[Path, int, float]:
        """The folder after the command, its number of operations on files, and its time [s]."""
        folder, began = self.copied("after"), time.monotonic()
        return folder, run(COMMANDS[self.name].run, folder), time.monotonic() - began

    def copied(self, name: str) -> Path:
        """A copy of the folder before the command."""
        return Path(shutil.copytree(self.before, self.place / name))

    def check(self, folder: Path) -> None:
        """What a killed command left is old, new or refused; then the same command succeeds."""
        command = COMMANDS[self.name]
        old, new, found = (
            content(one, command.made) for one in (self.before, self.after[0], folder)
        )
        if not command.grows:
            for file, body in found.items():
                assert body in (old.get(file), new.get(file)), file
        strays = {one.name for one in folder.iterdir()} - {*command.made, "small.toml"}
        assert [
            name for name in strays if not name.startswith(".") and not name.endswith(UNFINISHED)
        ] == []
        for name in command.made:
            if (folder / name / "dataset.toml").exists():
                with suppress(DatasetError):  # old and new files, told apart by their checksums
                    load(folder / name)
        if not command.once or found != new:
            run(command.run, folder)
        again = content(folder, command.made)
        assert again.keys() == new.keys()
        assert again == new or self.name == "verify"  # whose prediction has the time it was made


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """The command of this name."""
    return Stage(request.param, tmp_path)


@pytest.mark.parametrize("stage", BRIEF, indirect=True)
def test_a_command_killed_before_an_operation_on_files(stage: Stage) -> None:
    killed_before(stage, random.Random(f"{SEED} {stage.name}").randrange(stage.after[1]))


@pytest.mark.long
@pytest.mark.parametrize("stage", COMMANDS, indirect=True)
def test_a_command_killed_before_each_operation_on_files(stage: Stage) -> None:
    for moment in range(stage.after[1]):
        killed_before(stage, moment)


def killed_before(stage: Stage, moment: int) -> None:
    """Kill a command before an operation of this number, and check what it left."""
    folder = stage.copied(f"{moment}")
    process, _ = started(COMMANDS[stage.name].run, folder, moment)
    process.join()
    assert process.exitcode == -signal.SIGKILL, moment
    stage.check(folder)


@pytest.mark.long
def test_commands_killed_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    stages = [Stage(name, tmp_path / name) for name in COMMANDS]
    for number in range(MOMENTS):
        stage = stages[number % len(stages)]
        took_s, folder = stage.after[2], stage.copied(f"{number}")
        process, _ = started(COMMANDS[stage.name].run, folder)
        time.sleep(rng.uniform(0, took_s))
        process.kill()
        process.join()
        stage.check(folder)


@pytest.mark.long
@pytest.mark.parametrize("delay_s", [0.05, 0.3, 1.0])
def test_a_server_killed_in_an_upload_leaves_no_process(
    delay_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of an upload lie in a temporary folder; the next server takes the same upload."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    text = (CASES / "libzmq" / "local_thr.txt").read_text(encoding="utf-8")
    body = {"files": [{"name": f"{number}.txt", "text": text} for number in range(200)]}
    with serving() as server, ThreadPoolExecutor(1) as client:
        upload = client.submit(server.post, "ingest", body)
        time.sleep(delay_s)
        server.process.kill()
        with suppress(httpx.HTTPError):
            upload.result()
        server.process.wait()
        wait_until(lambda: not is_alive(server.process.pid), "a worker process goes on")
    assert all(one.is_dir() for one in tmp_path.iterdir())
    with serving() as server:
        assert server.post("ingest", body).status_code == 200


def is_alive(group: int) -> bool:
    """Whether a group of processes has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
