"""Testbeds: systems to measure, such as two hosts over SSH, a lab or recorded runs."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from icmodel.calibrate.runs import Record, Run
from icmodel.calibrate.settings import Settings
from icmodel.errors import CalibrationError, MeasurementFailed
from icmodel.probing import (
    BRIEF_S,
    PATIENCE_S,
    REFUSED,
    RESPONDER,
    error_line,
    new_key,
    output_of,
    record_of,
    responder,
    run_to_end,
    short_name,
    until_stdin_ends,
)


@dataclass(frozen=True, slots=True)
class Refused:
    """Refusal of a run by the hosts, with the reason; the run is not tried again."""

    why: str


class Testbed(AbstractContextManager["Testbed", None], Protocol):
    """Interface class of testbeds, on which a calibration measures: context managers that measure runs."""

    @property
    def description(self) -> str:
        """Short description of the testbed; a calibration can be continued only if it stays the same."""
        ...

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Measure a run once, and return its record or a refusal.

        Raises
        ------
        MeasurementFailed
            If the peer or the network failed; the same run may succeed later.
        """
        ...


class Hosts:
    """Testbed of two hosts, over SSH or in a lab.

    Parameters
    ----------
    probe : Path
        Path of icprobe on this machine.
    pair : Pair
        The two hosts.
    settings : Settings
        Settings, with the times of a run.
    folder : Path
        Folder of the calibration, from which the key's folder gets its name. (The key lets icprobe on one host start
        runs on the other.) A key that a killed calibration left behind is replaced.
    """

    def __init__(self, probe: Path, pair: Pair, settings: Settings, folder: Path) -> None:
        self.description = pair.description
        self._probe = probe
        self._pair = pair
        self._folder = folder
        self._stack = ExitStack()
        self._times = (
            *("--duration", f"{settings.timing.window_s:g} s"),
            *("--warmup", f"{settings.timing.warmup_s:g} s"),
            *("--baseline", f"{settings.timing.baseline_s:g} s"),
        )
        self._longest_s = settings.timing.cost_s + PATIENCE_S
        self._responder: subprocess.Popen[bytes] | None = None

    def measure(self, run: Run, repeat: int) -> Record | Refused:
        """Measure a run once with icprobe, and return its record, or `Refused` if icprobe cannot measure the run.

        A run counts as refused if icprobe on host A exits with the code for refused runs, and icprobe on host B still
        runs. If icprobe on host B has ended too, the measurement failed.
        """
        done = run_to_end(self._pair.run_command((*run.words(), *self._times)), self._longest_s)
        if done.returncode == REFUSED and self._responder and self._responder.poll() is None:
            return Refused(error_line(done.stderr))
        return record_of(done)

    # --- context ------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            key = stack.enter_context(new_key(self._probe, self._folder))
            self._pair.up(key)
            stack.callback(self._pair.down)
            self._responder = stack.enter_context(responder(self._pair.serve_command()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


KEEP_KEY = (
    'umask 077; d="${{TMPDIR:-/tmp}}/{name}"; rm -rf "$d"; '
    'mkdir "$d" && cat >"$d/key" && printf %s "$d/key"'
)
"""Shell command that stores a calibration's key on a host in a new folder.

A folder that a killed calibration left behind is replaced.
"""


@dataclass(frozen=True, slots=True)
class Link:
    """Properties of the path between the two hosts that are known before any run; ``None`` if unknown.

    ``burst_bytes`` is the depth of the token bucket that enforces ``line_rate_bps``.
    """

    line_rate_bps: float | None = None
    burst_bytes: float | None = None
    mtu_bytes: int | None = None


class LabPair:
    """Pair of hosts A and B in a lab: two namespaces of a test network that is built for one calibration.

    Parameters
    ----------
    probe : Path
        Path of the icprobe that builds the network and measures.
    topology : str
        Name or file of a topology with hosts A and B.
    folder : Path
        Folder of the calibration, from which the network gets its name. A network that a killed calibration left
        behind is replaced.
    """

    def __init__(self, probe: Path, topology: str, folder: Path) -> None:
        self.description = f"lab {topology}"
        self.address = ""
        self._probe = str(probe)
        self._topology = topology
        self.name = f"cal-{short_name(folder)}"
        self._key = ""

    def link(self) -> Link:
        """Properties of the path between the hosts, as the lab's topology states them."""
        shown = json.loads(output_of((self._probe, "lab", "show", self._topology), BRIEF_S))
        return Link(shown["line_rate_bps"], shown["burst_bytes"], shown["mtu_bytes"])

    def up(self, key: Path) -> None:
        """Build the lab's network, and store the path of the icprobe key that its runs use."""
        self._key = str(key)
        built = json.loads(
            output_of((self._probe, "lab", "up", self._topology, "--as", self.name), BRIEF_S)
        )
        hosts = {host["name"]: host for host in built["hosts"]}
        if not {"A", "B"} <= hosts.keys():
            self.down()
            raise CalibrationError(
                f"the topology {self._topology} has no hosts A and B: use one that has them, "
                "such as direct-1g"
            )
        self.address = hosts["B"]["addresses"][0]

    def run_command(self, words: Sequence[str]) -> list[str]:
        """Make the command that runs ``icprobe run`` with the given options in the namespace of host A."""
        return [*self._on("A"), "run", "--to", self.address, "--key", self._key, *words]

    def serve_command(self) -> list[str]:
        """Make the command that runs ``icprobe serve`` in the namespace of host B."""
        serve = (*self._on("B"), "serve", "--bind", self.address, "--key", self._key)
        return until_stdin_ends(serve)

    def down(self) -> None:
        """Remove the lab's network, and end the processes in it."""
        output_of((self._probe, "lab", "down", self.name), BRIEF_S)

    def _on(self, host: str) -> list[str]:
        return [self._probe, "lab", "exec", "--lab", self.name, host, "--", self._probe]


class SshPair:
    """Pair of hosts A and B that the OpenSSH client reaches; both have icprobe.

    Parameters
    ----------
    local : Path
        Path of icprobe on this machine. It makes the key with which the hosts authenticate runs.
    first, second : str
        Destinations of A and B for ``ssh``.
    address : str or None
        Address of B on the measured network; by default the address that ``ssh`` connects to.
    probe : str
        Name or path of icprobe on the hosts.
    options : sequence of str
        Further options of ``ssh``.
    """

    def __init__(
        self,
        local: Path,
        first: str,
        second: str,
        address: str | None = None,
        probe: str = "icprobe",
        options: Sequence[str] = (),
    ) -> None:
        self.description = f"hosts {first} {second}" + (f" over {address}" if address else "")
        self.address = address or ""
        self._local = local
        self._hosts = (first, second)
        self._probe = probe
        self.keys: list[str] = []
        self._given = tuple(options)
        self._options = self._given

    def link(self) -> Link:
        """Return a `Link` without values: the properties of the path between real hosts are not known before a run."""
        return Link()

    def up(self, key: Path) -> None:
        """Connect to both hosts and copy the key of the calibration to them; runs reuse these connections.

        If one host fails, the key is removed from the other.
        """
        self.address = _number(self.address or self._host_name(self._hosts[1]))
        sockets = key.parent / "%C"
        self._options = (
            *self._given,
            *("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15"),
            *("-o", "ControlMaster=auto", "-o", "ControlPersist=60"),
            *("-o", f"ControlPath={sockets}"),
        )
        for host in self._hosts:
            self._check(host)
        secret = key.read_bytes()
        try:
            for role, host in zip("AB", self._hosts, strict=True):
                keep = KEEP_KEY.format(name=f"{key.parent.name}-{role}")
                self.keys.append(output_of(self._ssh(host, keep), BRIEF_S, secret).strip())
        except BaseException:
            with suppress(MeasurementFailed):  # report the first failure, not this one
                self.down()
            raise

    def run_command(self, words: Sequence[str]) -> list[str]:
        """Make the command that runs ``icprobe run`` with the given options on host A, over SSH."""
        command = (self._probe, "run", "--to", self.address, "--key", self.keys[0], *words)
        return self._ssh(self._hosts[0], shlex.join(command))

    def serve_command(self) -> list[str]:
        """Make the command that runs ``icprobe serve`` on host B, over SSH; the server ends with the connection."""
        serve = (self._probe, "serve", "--bind", self.address, "--key", self.keys[1])
        return self._ssh(self._hosts[1], RESPONDER.format(serve=shlex.join(serve)))

    def down(self) -> None:
        """Remove icprobe's keys, by which it authenticates runs, from both hosts, and end the SSH connections.

        Raises
        ------
        MeasurementFailed
            If a host fails. The other host is still cleared.
        """
        failures = []
        for host, key in zip(self._hosts, self.keys, strict=False):
            remove = self._ssh(host, f"rm -rf {shlex.quote(str(Path(key).parent))}")
            for command in (remove, ["ssh", *self._options, "-O", "exit", host]):
                try:
                    output_of(command, BRIEF_S)
                except MeasurementFailed as failure:
                    failures.append(failure)
        self.keys = []
        if failures:
            raise failures[0]

    def _check(self, host: str) -> None:
        """Raise CalibrationError if the non-interactive shell of a host does not find icprobe."""
        look = f"command -v {shlex.quote(self._probe)} || true"
        if not output_of(self._ssh(host, look), BRIEF_S).strip():
            raise CalibrationError(
                f"{self._probe} was not found on {host}: install it there, in a folder of the PATH that "
                f"`ssh {host} 'echo $PATH'` prints, and start again"
            )

    def _host_name(self, host: str) -> str:
        """Host name that the configuration of ``ssh`` gives for a destination."""
        lines = output_of(["ssh", *self._options, "-G", host], BRIEF_S).splitlines()
        named = (line.partition(" ") for line in lines)
        return next((value for key, _, value in named if key == "hostname"), host)

    def _ssh(self, host: str, command: str) -> list[str]:
        return ["ssh", *self._options, host, command]


Pair = LabPair | SshPair
"""Type of a pair of hosts: A sends and runs ``icprobe run``, B receives and runs ``icprobe serve``."""


def _number(address: str) -> str:
    """Resolve a host name to a numeric IP address, so that both hosts use the same address."""
    try:
        found = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise CalibrationError(
            f"the host name {address} does not resolve here ({reason}): give the host's "
            "address in the measured network with SshPair(address=...)"
        ) from error
    return str(found[0][4][0])
