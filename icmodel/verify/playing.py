"""A copy in the lab: built, with a responder on each host that receives, and all its streams played at once."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icmodel.errors import MeasurementFailed, VerificationError
from icmodel.probing.probe import ended, printed
from icmodel.probing.responder import (
    BRIEF_S,
    PATIENCE_S,
    new_key,
    record_of,
    responder,
    short_name,
    until_told,
)
from icmodel.system import Stream, System
from icmodel.verify.lab import OPTIONS, Topology, code_point

Span = tuple[float, float]
"""When a run began and ended [s]."""
BASELINE_S = 0.2
"""Idle time before the traffic of a run [s]; others may send in it already."""


@dataclass(frozen=True, slots=True)
class Times:
    """Length of the measured window of a run, and of the traffic before and after it [s]."""

    window_s: float = 2.0
    warmup_s: float = 1.0
    tail_s: float = 1.0

    @property
    def run_s(self) -> float:
        """A whole run."""
        return BASELINE_S + self.warmup_s + self.window_s + self.tail_s

    def words(self) -> tuple[str, ...]:
        """The options of ``icprobe run`` for them."""
        return (
            *("--duration", f"{self.window_s:g} s"),
            *("--warmup", f"{self.warmup_s:g} s"),
            *("--tail", f"{self.tail_s:g} s"),
            *("--baseline", f"{BASELINE_S:g} s"),
        )


@dataclass(frozen=True, slots=True)
class Played:
    """One pass: the record of every stream by name, and the part of each window in which all surely ran."""

    records: Mapping[str, Mapping[str, Any]]
    overlap_ratio: float


@contextmanager
def staged(
    probe: Path,
    system: System,
    built: Topology,
    cores: Mapping[str, int],
    times: Times,
    folder: Path,
) -> Iterator[Stage]:
    """A copy that stands in the lab, with a responder on each host that receives.

    Parameters
    ----------
    probe : Path
        The icprobe that builds and measures.
    system : System
        The copy.
    built : Topology
        Its topology.
    cores : mapping
        The core of each host.
    times : Times
        Of each run.
    folder : Path
        Of the verification, where the topology stands as ``topology.toml``; a network that a killed
        verification left behind is replaced.
    """
    name = f"verify-{short_name(folder)}"
    with ExitStack() as stack:
        key = stack.enter_context(new_key(probe, folder))
        told = printed(
            (str(probe), "lab", "up", str(folder / "topology.toml"), "--as", name), BRIEF_S
        )
        addresses = {
            (host["name"], interface["neighbour"]): interface["address"]
            for host in json.loads(told)["hosts"]
            for interface in host["interfaces"]
        }
        stage = Stage(str(probe), name, str(key), system, built.nodes, addresses, cores, times)
        stack.callback(stage.down)
        for sink, port in sorted(stage.received()):
            stack.enter_context(responder(until_told(stage.serve(sink, port))))
        yield stage


@dataclass(frozen=True, slots=True)
class Stage:
    """A copy that stands in the lab, as `staged` gives it.

    Parameters
    ----------
    name, key : str
        The network's name, and the file of the responders' key.
    nodes : mapping
        The lab's name of each node.
    addresses : mapping
        The address of each host on the link to each neighbour, by the lab's names.
    """

    probe: str
    name: str
    key: str
    system: System
    nodes: Mapping[str, str]
    addresses: Mapping[tuple[str, str], str]
    cores: Mapping[str, int]
    times: Times

    def play(self) -> Played:
        """All streams at once, from the same moment on.

        Raises
        ------
        MeasurementFailed
            If one of them fails.
        """
        streams = list(self.system.streams.values())
        longest_s = self.times.run_s + PATIENCE_S
        with ThreadPoolExecutor(len(streams)) as pool:
            under_way = [pool.submit(_timed, self._run(one), longest_s) for one in streams]
            try:
                done = [one.result() for one in under_way]
            except BaseException:
                self.down()  # what still runs ends with its host
                raise
        overlap = overlap_ratio([span for _, span in done], self.times)
        records = {one.name: record for one, (record, _) in zip(streams, done, strict=True)}
        return Played(records, overlap)

    def down(self) -> None:
        """Remove the network and end the processes in it; once more does nothing."""
        ended((self.probe, "lab", "down", self.name), BRIEF_S)

    # --- commands -----------------------------------------------------------------------------

    def _on(self, host: str) -> list[str]:
        name = self.nodes[host]
        return [self.probe, "lab", "exec", "--lab", self.name, name, "--", self.probe]

    def received(self) -> set[tuple[str, str]]:
        """Each host that receives, and the neighbour from which."""
        return {self._last(one) for one in self.system.streams.values()}

    def _last(self, stream: Stream) -> tuple[str, str]:
        return stream.sink, self.system.ports[stream.path[-1]].node

    def _address(self, place: tuple[str, str]) -> str:
        return self.addresses[self.nodes[place[0]], self.nodes[place[1]]]

    def serve(self, sink: str, neighbour: str) -> list[str]:
        """``icprobe serve`` on a host, at its address on the link to a neighbour."""
        count = len(self.system.streams)
        return [
            *self._on(sink),
            "serve",
            *("--bind", self._address((sink, neighbour)), "--key", self.key),
            *("--cpus", str(self.cores[sink]), "--max-sessions", str(count)),
        ]

    def _run(self, stream: Stream) -> list[str]:
        return [
            *self._on(stream.source),
            "run",
            *("--to", self._address(self._last(stream)), "--key", self.key),
            *("--cpus", str(self.cores[stream.source])),
            *self.times.words(),
            *words(self.system, stream),
        ]


def words(system: System, stream: Stream) -> tuple[str, ...]:
    """The options of ``icprobe run`` that say what a stream sends, and the labels of its record."""
    rate = stream.rate_fps
    others = [one for one in system.streams.values() if one.path[-1] == stream.path[-1]]
    others = [one for one in others if one.name != stream.name]
    asked = math.fsum(one.requested_goodput_bps for one in others)
    known = ("--other-goodput", f"{asked:.0f} b/s") if 0 < asked < math.inf else ()
    return (
        *("--protocol", stream.protocol, "--payload", f"{stream.payload_bytes} B"),
        *(() if rate is None else ("--rate", f"{rate:.17g}/s")),
        *(("--dscp", str(code_point(stream.priority))) if stream.priority else ()),
        *(OPTIONS[one] for one in stream.options.items() if one in OPTIONS),
        *("--switches", str(len(stream.path) - 1), "--endpoints", str(1 + len(others)), *known),
        *("--option", f"system={system.name}", "--option", f"stream={stream.name}"),
    )


def _timed(command: Sequence[str], longest_s: float) -> tuple[Mapping[str, Any], Span]:
    """The record of a run, and when it began and ended by this machine's clock [s]."""
    begun_s = time.monotonic()
    done = ended(command, longest_s)
    return record_of(done), (begun_s, time.monotonic())


def overlap_ratio(spans: Sequence[Span], times: Times) -> float:
    """The least part of any window in which every stream surely sent.

    A run that began at S and ended at E took u = E - S longer than its traffic and idle time, at its begin
    or at its end.  So its traffic surely lies in what begins u late and ends as early as it may, and its
    window anywhere within u.  Another's window is covered as long as that is less than warm-up and tail.
    """
    begun = [begun_s for begun_s, _ in spans]
    spare = [max(ended_s - begun_s - times.run_s, 0.0) for begun_s, ended_s in spans]
    latest = max(start + late for start, late in zip(begun, spare, strict=True))
    apart = latest - min(begun)
    uncovered = max(apart - times.warmup_s, 0.0) + max(apart - times.tail_s, 0.0)
    return max(1.0 - uncovered / times.window_s, 0.0)


def check_wiring(probe: Path, system: System, file: Path) -> None:
    """Refuse a copy that icprobe cannot build, before anything is built.

    Raises
    ------
    VerificationError
        With icprobe's own reason.
    """
    try:
        printed((str(probe), "lab", "show", str(file)), BRIEF_S)
    except MeasurementFailed as error:
        raise VerificationError(f"the lab cannot build {system.name}: {error}") from error
