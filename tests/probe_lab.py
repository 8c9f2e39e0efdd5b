"""icprobe at work in test networks of its own: both ends, and the counters that know the truth."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import probe_record
import probe_wire
from probe_record import Record
from probe_wire import Seen

PATIENCE_S = 40.0
"""Nothing here lasts longer on any machine; a hang ends as a failure that says so."""
NUMBERS = itertools.count()
WATCHER = Path(probe_wire.__file__)
STOOD_STILL = {"stalled", "steal"}
"""Flags of a run during which the machine stood still."""
TRIES = 40
BRIEF = (("--baseline", "0 s"), ("--warmup", "50 ms"))
REALTIME = ("--realtime", "10")
"""Other programs of the machine then take nothing from the data threads, where that is permitted."""


def ended(command: list[str]) -> subprocess.CompletedProcess[str]:
    """A command that has ended by itself."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def printed(*command: str | Path) -> str:
    """What a command prints that ends well."""
    done = ended([str(word) for word in command])
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Look until something holds, or fail and say what did not."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.005)


def children(process: int) -> list[int]:
    """The processes that a process has started and not outlived."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    return [int(number) for number in listed.split()]


def frames(count: int) -> tuple[str, ...]:
    """Options of a run that is its window: so many frames, none before and none after."""
    return ("--frames", str(count), "--warmup", "0 s")


@dataclass(frozen=True)
class CommandResult:
    """How an `icprobe run` ended."""

    code: int
    out: str
    said: str

    @property
    def record(self) -> Record:
        """The record of a run that was made: one line, flags in the code, consistent in itself."""
        assert self.code in (0, 1), f"exit code {self.code}: {self.said}"
        assert self.out.endswith("}\n"), self.out
        assert self.out.count("\n") == 1, self.out
        record: Record = json.loads(self.out)
        assert self.code == bool(record["flags"]), record["flags"]
        faults = probe_record.faults(record)
        assert not faults, faults
        return record


@dataclass(frozen=True)
class Responder:
    """An `icprobe serve` in a network."""

    launcher: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def has_begun(self) -> bool:
        assert self.launcher.poll() is None, self.said
        return "answers on" in self.said

    @property
    def process(self) -> int:
        """The number of the process itself, below the one that brought it into the network."""
        return children(self.launcher.pid)[0]

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal; the one that brought it into the network ends with it."""
        if self.launcher.poll() is None:
            os.kill(self.process, number)

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process}/task").iterdir()))

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process}/fd").iterdir()))


@dataclass
class Lab:
    """A test network that stands, where hosts may answer and ask."""

    probe: Path
    topology: str
    folder: Path
    name: str = field(init=False)
    hosts: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"truth-{os.getpid()}-{next(NUMBERS)}"
        self.key = self.folder / f"{self.name}.key"
        printed(self.probe, "key", self.key)
        self.build()

    def build(self) -> None:
        """Build it, or build it anew: all counters are zero then."""
        done = ended([str(self.probe), "lab", "up", self.topology, "--as", self.name])
        if done.returncode == 2:
            pytest.skip(f"needs a test network: {done.stderr}")
        assert done.returncode == 0, done.stderr
        self.hosts = {host["name"]: host for host in json.loads(done.stdout)["hosts"]}

    def down(self) -> None:
        printed(self.probe, "lab", "down", self.name)

    def address(self, host: str) -> str:
        return str(self.hosts[host]["addresses"][0])

    def interface(self, host: str) -> str:
        return str(self.hosts[host]["interface"])

    def within(self, host: str, *command: str | Path) -> list[str]:
        """The words of a command that runs on a host."""
        words = (self.probe, "lab", "exec", "--lab", self.name, host, "--", *command)
        return [str(word) for word in words]

    def on(self, host: str, *command: str | Path) -> str:
        """What a command on a host prints."""
        return printed(*self.within(host, *command))

    def counters(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(printed(self.probe, "lab", "counters", self.name))
        return found

    def dropped(self) -> int:
        """Packets that the dropping rules of this network have taken since it was built."""
        return sum(rule["dropped_packets"] for rule in self.counters()["loss"])

    @contextlib.contextmanager
    def serving(self, *options: str, host: str = "B") -> Iterator[Responder]:
        """A responder on a host."""
        log = self.folder / f"serve-{next(NUMBERS)}.log"
        bind = ("--bind", self.address(host), "--key", self.key)
        with log.open("w", encoding="utf-8") as errors:
            words = self.within(host, self.probe, "serve", *bind, *options)
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=errors)
        responder = Responder(process, log)
        try:
            wait_until(responder.has_begun, "the responder answers")
            yield responder
        finally:
            responder.send(signal.SIGKILL)
            process.wait(PATIENCE_S)

    @contextlib.contextmanager
    def watching(self, host: str, *options: str) -> Iterator[list[Seen]]:
        """The frames that pass a host's interface; the list is filled when the watch ends."""
        words = self.within(host, sys.executable, WATCHER, self.interface(host), *options)
        watcher = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        seen: list[Seen] = []
        try:
            assert watcher.stdout
            assert watcher.stdout.readline() == "ready\n"
            yield seen
            out, errors = watcher.communicate(timeout=PATIENCE_S)
            assert watcher.returncode == 0, errors
            seen += [Seen(**frame) for frame in json.loads(out)]
        finally:
            watcher.kill()
            watcher.communicate()

    def command(self, *options: str | Path, host: str = "A", to: str = "B") -> list[str]:
        """The words of an `icprobe run` between two hosts, with this network's key unless one is given."""
        target = ("--to", self.address(to), "--key", self.key)
        words = [*target, *options] if "--key" not in options else [*target[:2], *options]
        return self.within(host, self.probe, "run", *words)

    def ask(self, *options: str | Path, host: str = "A", to: str = "B") -> CommandResult:
        """One `icprobe run`, whatever comes of it."""
        done = ended(self.command(*options, host=host, to=to))
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def run(self, protocol: str, payload_bytes: int, *options: str) -> Record:
        """One run that must succeed: no idle baseline and a brief warm-up unless options say else."""
        traffic = ("--protocol", protocol, "--payload", f"{payload_bytes} B")
        brief = (word for pair in BRIEF if pair[0] not in options for word in pair)
        return self.ask(*traffic, *brief, *options).record


def undisturbed(run: Callable[[], Record]) -> Record:
    """The first of a few runs in which the kernel came to serve all packets, and frames flowed.

    Where other programs keep a core long enough, the queue of its received packets runs over; the
    interface counts these. No frame may be lost without any counter that says so.
    """
    for _ in range(TRIES):
        record = run()
        loss = record["loss"]
        if not loss["interface_recv_dropped"] and "incomplete" not in record["flags"]:
            return record
    pytest.fail(f"other programs disturbed each of {TRIES} runs: try when the machine is quiet")


@contextlib.contextmanager
def standing(probe: Path, topology: str | Path, folder: Path) -> Iterator[Lab]:
    """A network of a topology, taken down in the end."""
    lab = Lab(probe, str(topology), folder)
    try:
        yield lab
    finally:
        lab.down()
