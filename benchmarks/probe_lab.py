"""Test network for the comparison of measuring tools: two hosts of `icprobe lab`, one core each."""

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
"""Time after which a command or tool counts as hung [s]."""


class ToolError(RuntimeError):
    """A tool is missing, failed, or printed something unexpected."""


class Lab:
    """Two hosts on one cable; the processes and packets of a host are kept on its core.

    The sender has the lowest core and the receiver the highest, as icprobe divides a single
    machine.
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
        self.space: dict[str, str] = {}
        self.processes: list[Process] = []

    def up(self) -> None:
        """Build the network, and steer received packets of each host to its own core (RPS)."""
        run((self.icprobe, "key", self.key))
        built = json.loads(run((self.icprobe, "lab", "up", self.topology, "--as", self.name)))
        for host in built["hosts"]:
            name = host["name"]
            self.address[name] = host["addresses"][0]
            space = self.run(name, ("readlink", "/proc/self/ns/net"), pinned=False)
            self.space[name] = space.strip()
            queue = f"/sys/class/net/{host['interface']}/queues/rx-0/rps_cpus"
            mask = cpu_mask(self.core[name])
            self.run(name, ("sh", "-c", f"echo {mask} > {queue}"), pinned=False)

    def down(self) -> None:
        """Tear down the network, which ends all processes in it."""
        run((self.icprobe, "lab", "down", self.name), (0, 2))  # 2: it was never built
        for process in self.processes:
            if not process.has_finished():
                process.interrupt()

    def command(self, host: str, words: Sequence[str | Path], *, pinned: bool = True) -> list[str]:
        """Return the command line that runs ``words`` on a host, by default on the host's core."""
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
        """Run a command on a host and return its output."""
        return run(self.command(host, words, pinned=pinned), codes)

    def start(self, host: str, words: Sequence[str | Path], *, pinned: bool = True) -> Process:
        """Start a command on a host; it ends with the lab at the latest."""
        named = ("sh", "-c", 'echo $$; exec "$@"', "sh", *words)
        process = Process(self.command(host, named, pinned=pinned))
        self.processes = [one for one in self.processes if not one.has_finished()]
        self.processes.append(process)
        return process


def cpu_mask(core: int) -> str:
    """Return a core as a CPU mask of the kernel: groups of 32 bits, the highest first."""
    return f"{1 << core % 32:x}" + ",00000000" * (core // 32)


@contextmanager
def standing(icprobe: Path, topology: str = TOPOLOGY) -> Iterator[Lab]:
    """Build a lab, yield it, and tear it down afterwards."""
    with TemporaryDirectory() as folder:
        lab = Lab(icprobe, Path(folder), topology)
        try:
            lab.up()
            yield lab
        finally:
            lab.down()


class Process:
    """Process started on a host, whose output is still to be read."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = " ".join(command)
        self.process = subprocess.Popen(
            command,
            bufsize=0,  # unread output stays in the pipe
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.number = int(self.output.readline())  # PID of the tool, not of its launcher

    def has_finished(self) -> bool:
        """Whether the process has ended and all its output was read."""
        return self.output.closed

    def hold_after(self, word: str) -> None:
        """Stop the process (SIGSTOP) when it has printed ``word``, until `result` is called.

        Raises
        ------
        ToolError
            If the process ends without printing the word.
        """
        printed = b""
        while word.encode() not in printed:
            line = self.output.readline()
            if not line:
                self._rest(PATIENCE_S)
                raise ToolError(f"{self.command}: {printed.decode(errors='replace').strip()}")
            printed += line
        self._send(signal.SIGSTOP)

    def result(self) -> str:
        """Continue the process (SIGCONT) to its end, and return its further output.

        Raises
        ------
        ToolError
            If the process does not end in time, or fails.
        """
        self._send(signal.SIGCONT)
        printed = self._rest(PATIENCE_S)
        if self.process.returncode != 0:
            raise ToolError(f"{self.command}: exit {self.process.returncode}: {printed.strip()}")
        return printed

    def interrupt(self) -> str:
        """Interrupt the process like Ctrl-C, and return its unread output."""
        if self.process.poll() is None:
            self._send(signal.SIGINT)
            self._send(signal.SIGCONT)
        return self._rest(5)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it has ended; its output says why
            os.kill(self.number, number)

    def _rest(self, patience_s: float) -> str:
        try:
            printed, _ = self.process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            printed, _ = self.process.communicate()
        return printed.decode(errors="replace")


def run(words: Sequence[str | Path], codes: Sequence[int] = (0,)) -> str:
    """Run a command and return its output.

    Raises
    ------
    ToolError
        If the command takes too long, or its exit code is not in ``codes``.
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
        reason = done.stderr.strip() or done.stdout.strip()
        raise ToolError(f"{' '.join(command)}: exit {done.returncode}: {reason}")
    return done.stdout


def listening(lab: Lab, protocol: str, port: int) -> None:
    """Wait until a process on the receiving host listens on a port.

    Raises
    ------
    ToolError
        If no process listens within five seconds.
    """
    kind = {"tcp": "-tln", "udp": "-uln"}[protocol]
    until = time.monotonic() + 5
    while time.monotonic() < until:
        sockets = lab.run(RECEIVER, ("ss", "-H", kind, f"sport = :{port}"), pinned=False)
        if sockets.strip():
            return
        time.sleep(0.02)
    raise ToolError(f"nobody listens on {protocol} port {port} of the receiving host")


def find_icprobe(given: Path | None) -> Path:
    """Return the path of icprobe: the given binary, the one built here, or the one on PATH.

    Raises
    ------
    ToolError
        If there is no icprobe.
    """
    found = given or (BUILT if BUILT.is_file() else shutil.which("icprobe"))
    if found is None or not Path(found).is_file():
        raise ToolError("there is no icprobe: build it with `make probe` or name it with --icprobe")
    return Path(found)
