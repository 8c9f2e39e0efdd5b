"""The network the measuring tools are raced in: two hosts of `icprobe lab`, one core each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "calibration" / "target" / "release" / "icprobe"
TOPOLOGY = "direct"
SENDER, RECEIVER = "A", "B"
PATIENCE_S = 30.0
"""A tool that has not ended by then never will."""


class ToolError(RuntimeError):
    """A tool is missing, failed, or said something else than it should."""


class Lab:
    """Two hosts on one cable; what runs on a host is kept on its core, and so are its packets.

    The sender has the lowest core and the receiver the highest, as icprobe divides one machine.
    """

    def __init__(self, icprobe: Path, folder: Path, topology: str = TOPOLOGY) -> None:
        self.icprobe, self.folder, self.key = icprobe, folder, folder / "key"
        self.topology = topology
        self.name = f"bench-{os.getpid()}"
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise ToolError("two hosts need two cores: this process may run on one")
        self.core = {SENDER: cores[0], RECEIVER: cores[-1]}
        self.address: dict[str, str] = {}
        self.processes: list[Process] = []

    def up(self) -> None:
        """Build it, and have what each host receives processed on its own core."""
        run((self.icprobe, "key", self.key))
        told = json.loads(run((self.icprobe, "lab", "up", self.topology, "--as", self.name)))
        for host in told["hosts"]:
            name = host["name"]
            self.address[name] = host["addresses"][0]
            queue = f"/sys/class/net/{host['interface']}/queues/rx-0/rps_cpus"
            mask = cpu_mask(self.core[name])
            self.run(name, ("sh", "-c", f"echo {mask} > {queue}"), pinned=False)

    def down(self) -> None:
        """Take it away, which ends all that runs in it."""
        run((self.icprobe, "lab", "down", self.name), (0, 2))  # 2: it never stood
        for process in self.processes:
            if not process.told():
                process.interrupt()

    def command(self, host: str, words: Sequence[str | Path], *, pinned: bool = True) -> list[str]:
        """What runs some words on a host, on the host's core unless the tool pins itself."""
        there = (self.icprobe, "lab", "exec", "--lab", self.name, host, "--")
        core = ("taskset", "-c", str(self.core[host])) if pinned else ()
        return [str(word) for word in (*there, *core, *words)]

    def run(
        self,
        host: str,
        words: Sequence[str | Path],
        *,
        pinned: bool = True,
        codes: Sequence[int] = (0,),
    ) -> str:
        """Run some words on a host and return what they printed."""
        return run(self.command(host, words, pinned=pinned), codes)

    def start(self, host: str, words: Sequence[str | Path], *, pinned: bool = True) -> Process:
        """Start some words on a host; they end with the lab at the latest."""
        named = ("sh", "-c", 'echo $$; exec "$@"', "sh", *words)
        process = Process(self.command(host, named, pinned=pinned))
        self.processes = [one for one in self.processes if not one.told()]
        self.processes.append(process)
        return process


def cpu_mask(core: int) -> str:
    """A core as the kernel writes masks: groups of 32 bits, the highest first."""
    return f"{1 << core % 32:x}" + ",00000000" * (core // 32)


@contextmanager
def standing(icprobe: Path, topology: str = TOPOLOGY) -> Iterator[Lab]:
    """A lab that is taken away in the end."""
    with TemporaryDirectory() as folder:
        lab = Lab(icprobe, Path(folder), topology)
        try:
            lab.up()
            yield lab
        finally:
            lab.down()


class Process:
    """What was started on a host, and is still to be asked for what it printed."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = " ".join(command)
        self.process = subprocess.Popen(
            command,
            bufsize=0,  # what is not read yet stays in the pipe
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.number = int(self.output.readline())  # its own, not that of what leads to the host

    def told(self) -> bool:
        """Whether it has ended and all it printed was read."""
        return self.output.closed

    def hold_after(self, word: str) -> None:
        """Stop it where it has printed a line with a word, until its result is wanted.

        Raises
        ------
        ToolError
            If it ended without.
        """
        told = b""
        while word.encode() not in told:
            line = self.output.readline()
            if not line:
                self._rest(PATIENCE_S)
                raise ToolError(f"{self.command}: {told.decode(errors='replace').strip()}")
            told += line
        self._send(signal.SIGSTOP)

    def result(self) -> str:
        """Let it go on to its end, and return what it printed since.

        Raises
        ------
        ToolError
            If it does not end, or ends with a failure.
        """
        self._send(signal.SIGCONT)
        printed = self._rest(PATIENCE_S)
        if self.process.returncode != 0:
            raise ToolError(f"{self.command}: exit {self.process.returncode}: {printed.strip()}")
        return printed

    def interrupt(self) -> str:
        """Interrupt it, as Ctrl-C does, and return what it printed since it was last read."""
        if self.process.poll() is None:
            self._send(signal.SIGINT)
            self._send(signal.SIGCONT)
        return self._rest(5)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it has ended: what it printed says why
            os.kill(self.number, number)

    def _rest(self, patience_s: float) -> str:
        try:
            printed, _ = self.process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            printed, _ = self.process.communicate()
        return printed.decode(errors="replace")


def run(words: Sequence[str | Path], codes: Sequence[int] = (0,)) -> str:
    """Run a command and return what it printed.

    Raises
    ------
    ToolError
        If it takes too long or its exit code is none of ``codes``.
    """
    command = [str(word) for word in words]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{' '.join(command)}: did not end within {PATIENCE_S:g} s") from error
    if done.returncode not in codes:
        told = done.stderr.strip() or done.stdout.strip()
        raise ToolError(f"{' '.join(command)}: exit {done.returncode}: {told}")
    return done.stdout


def listening(lab: Lab, protocol: str, port: int) -> None:
    """Wait until somebody on the receiving host listens on a port.

    Raises
    ------
    ToolError
        If nobody does within five seconds.
    """
    kind = {"tcp": "-tln", "udp": "-uln"}[protocol]
    until = time.monotonic() + 5
    while time.monotonic() < until:
        told = lab.run(RECEIVER, ("ss", "-H", kind, f"sport = :{port}"), pinned=False)
        if told.strip():
            return
        time.sleep(0.02)
    raise ToolError(f"nobody listens on {protocol} port {port} of the receiving host")


def find_icprobe(given: Path | None) -> Path:
    """The given binary, else the one that was built here, else the one on the path.

    Raises
    ------
    ToolError
        If there is none.
    """
    found = given or (BUILT if BUILT.is_file() else shutil.which("icprobe"))
    if found is None or not Path(found).is_file():
        raise ToolError("there is no icprobe: build it with `make probe` or name it with --icprobe")
    return Path(found)
