"""Build the lab network of a verification, start responders on the receiving hosts, and run passes.

A pass is one run of all streams of the system at the same time.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from icmodel.documents import toml_text
from icmodel.errors import MeasurementFailed, VerificationError
from icmodel.probing import (
    BRIEF_S,
    PATIENCE_S,
    new_key,
    output_of,
    record_of,
    responder,
    run_to_end,
    short_name,
    until_stdin_ends,
)
from icmodel.system import (
    DeficitRoundRobin,
    Port,
    Stream,
    StrictPriority,
    System,
    WeightedRoundRobin,
)
from icmodel.verify.lab_system import OPTIONS

Span = tuple[float, float]
"""Start and end of a run by this machine's clock [s]."""
BASELINE_S = 0.2
"""Idle time at the start of a run, before its traffic [s]; other streams may already send."""


@dataclass(frozen=True, slots=True)
class Times:
    """Lengths of the parts of a run [s]: measurement window, warm-up traffic before it, and tail traffic after it."""

    window_s: float = 2.0
    warmup_s: float = 1.0
    tail_s: float = 1.0

    @property
    def run_s(self) -> float:
        """Length of a whole run [s]: idle time, warm-up, window and tail."""
        return BASELINE_S + self.warmup_s + self.window_s + self.tail_s

    def arguments(self) -> tuple[str, ...]:
        """Return the options of ``icprobe run`` that set the window, warm-up, tail and idle time of a run."""
        return (
            *("--duration", f"{self.window_s:g} s"),
            *("--warmup", f"{self.warmup_s:g} s"),
            *("--tail", f"{self.tail_s:g} s"),
            *("--baseline", f"{BASELINE_S:g} s"),
        )


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of one run of all streams at the same time.

    ``records`` has the record of icprobe by stream. All streams sent at the same time during at least the fraction
    ``overlap_ratio`` of each stream's measurement window.
    """

    records: Mapping[str, Mapping[str, Any]]
    overlap_ratio: float


@contextmanager
def lab_network(
    probe: Path,
    system: System,
    built: Topology,
    cores: Mapping[str, int],
    times: Times,
    folder: Path,
) -> Iterator[LabNetwork]:
    """Build the network of a lab system, and start a responder on each receiving host; a context manager.

    If an earlier verification was killed, its network is replaced.

    Parameters
    ----------
    probe : Path
        Path of icprobe, which builds the network and measures.
    system : System
        The lab system.
    built : Topology
        Topology of the lab system.
    cores : mapping
        Index of the processor core that each host uses, by the host's name.
    times : Times
        Lengths of the parts of each run [s].
    folder : Path
        Folder of the verification, which holds ``topology.toml``.
    """
    name = f"verify-{short_name(folder)}"
    with ExitStack() as stack:
        key = stack.enter_context(new_key(probe, folder))
        text = output_of(
            (str(probe), "lab", "up", str(folder / "topology.toml"), "--as", name), BRIEF_S
        )
        addresses = {
            (host["name"], interface["neighbour"]): interface["address"]
            for host in json.loads(text)["hosts"]
            for interface in host["interfaces"]
        }
        network = LabNetwork(
            str(probe), name, str(key), system, built.nodes, addresses, cores, times
        )
        stack.callback(network.down)
        receivers = {network.receiver(stream) for stream in system.streams.values()}
        for sink, neighbour in sorted(receivers):
            stack.enter_context(responder(until_stdin_ends(network.serve_command(sink, neighbour))))
        yield network


@dataclass(frozen=True, slots=True)
class LabNetwork:
    """Running network of a lab system; create it with `lab_network`.

    Parameters
    ----------
    name, key : str
        Name of the network, and path of the file with the responders' key.
    nodes : mapping
        Name in the lab of each host and switch, by its name in the system.
    addresses : mapping
        IP address of a host on the link to a neighbour. The key is (host, neighbour), in the lab's names.
    """

    probe: str
    name: str
    key: str
    system: System
    nodes: Mapping[str, str]
    addresses: Mapping[tuple[str, str], str]
    cores: Mapping[str, int]
    times: Times

    def run_all_streams(self) -> RunResult:
        """Run all streams of the lab system at the same time, and collect their records.

        Raises
        ------
        MeasurementFailed
            If a run fails.
        """
        streams = list(self.system.streams.values())
        longest_s = self.times.run_s + PATIENCE_S
        with ThreadPoolExecutor(len(streams)) as pool:
            under_way = [
                pool.submit(_timed, self.run_command(stream), longest_s) for stream in streams
            ]
            try:
                done = [run.result() for run in under_way]
            except BaseException:
                self.down()  # ends the runs that have not finished
                raise
        overlap = overlap_ratio([span for _, span in done], self.times)
        records = {stream.name: record for stream, (record, _) in zip(streams, done, strict=True)}
        return RunResult(records, overlap)

    def down(self) -> None:
        """Tear down the network and its processes; calling it again is a no-op."""
        run_to_end((self.probe, "lab", "down", self.name), BRIEF_S)

    def receiver(self, stream: Stream) -> tuple[str, str]:
        """Return the name of a stream's receiving host, and of the neighbour from which the stream arrives."""
        return stream.sink, self.system.ports[stream.path[-1]].node

    def serve_command(self, sink: str, neighbour: str) -> list[str]:
        """Make the command that runs ``icprobe serve`` on a host, at its address on the link to a neighbour."""
        return [
            *self._on_host(sink),
            "serve",
            *("--bind", self._address(sink, neighbour), "--key", self.key),
            *("--cpus", str(self.cores[sink]), "--max-sessions", str(len(self.system.streams))),
        ]

    def run_command(self, stream: Stream) -> list[str]:
        """Make the command that runs ``icprobe run`` for a stream on its sending host."""
        return [
            *self._on_host(stream.source),
            "run",
            *("--to", self._address(*self.receiver(stream)), "--key", self.key),
            *("--cpus", str(self.cores[stream.source])),
            *self.times.arguments(),
            *stream_arguments(self.system, stream),
        ]

    def _on_host(self, host: str) -> list[str]:
        name = self.nodes[host]
        return [self.probe, "lab", "exec", "--lab", self.name, name, "--", self.probe]

    def _address(self, host: str, neighbour: str) -> str:
        return self.addresses[self.nodes[host], self.nodes[neighbour]]


def stream_arguments(system: System, stream: Stream) -> tuple[str, ...]:
    """Return the options of ``icprobe run`` that set the traffic of a stream and the labels of its record."""
    rate = stream.rate_fps
    others = [
        other
        for other in system.streams.values()
        if other.path[-1] == stream.path[-1] and other.name != stream.name
    ]
    others_bps = math.fsum(other.requested_goodput_bps for other in others)
    known = ("--other-goodput", f"{others_bps:.0f} b/s") if 0 < others_bps < math.inf else ()
    return (
        *("--protocol", stream.protocol, "--payload", f"{stream.payload_bytes} B"),
        *(() if rate is None else ("--rate", f"{rate:.17g}/s")),
        *(("--dscp", str(code_point(stream.priority))) if stream.priority else ()),
        *(OPTIONS[option] for option in stream.options.items() if option in OPTIONS),
        *("--switches", str(len(stream.path) - 1), "--endpoints", str(1 + len(others)), *known),
        *("--option", f"system={system.name}", "--option", f"stream={stream.name}"),
    )


def _timed(command: Sequence[str], longest_s: float) -> tuple[Mapping[str, Any], Span]:
    """Run a command of icprobe; return its record, and the times at which the command started and ended [s]."""
    begun_s = time.monotonic()
    done = run_to_end(command, longest_s)
    return record_of(done), (begun_s, time.monotonic())


def overlap_ratio(spans: Sequence[Span], times: Times) -> float:
    """Return a lower bound on the share of each stream's measurement window in which all streams sent.

    It is 1 - max(d - min(warm-up, tail), 0) / window, or 0 if this is negative. Here d is the greatest possible time
    between the start of the first stream and the start of the last stream.

    - d follows from the start and the end of the command that runs each stream. If a command took u longer than planned,
      its stream started at most u after the planned moment.
    - Each stream sends during its window, before it (warm-up) and after it (tail). So another stream may start later by
      the warm-up, or earlier by the tail, and still send during the whole window.

    ``spans`` has the start and end of the command of each stream [s].
    """
    begun = [begun_s for begun_s, _ in spans]
    spare = [max(ended_s - begun_s - times.run_s, 0.0) for begun_s, ended_s in spans]
    latest = max(start + late for start, late in zip(begun, spare, strict=True))
    apart = latest - min(begun)
    uncovered = max(apart - min(times.warmup_s, times.tail_s), 0.0)
    return max(1.0 - uncovered / times.window_s, 0.0)


def check_wiring(probe: Path, system: System, file: Path) -> None:
    """Ask icprobe whether it can build a lab system, without building it.

    Raises
    ------
    VerificationError
        If icprobe cannot build the lab system; the message gives icprobe's reason.
    """
    try:
        output_of((str(probe), "lab", "show", str(file)), BRIEF_S)
    except MeasurementFailed as error:
        raise VerificationError(f"the lab cannot build {system.name}: {error}") from error


PLAIN = re.compile(r"[A-Za-z0-9_]{1,12}")
"""Pattern of the node names that the lab accepts (calibration/src/lab/topology/check.rs)."""
MOST_NAME = 40
"""Greatest number of characters in a topology's name."""
LEAST_CLASS_BPS = 8000.0
"""Least guaranteed rate of a traffic class at a port of the lab [b/s].

Under strict priority each class has this guarantee, and borrows the remaining rate in order of priority.
"""
SELECTOR_BITS = 3
"""Number of bits by which a priority is shifted left to give its DSCP.

The DSCP of priority p is its class selector code point, p × 8 (RFC 2474 §4.2.2).
"""


@dataclass(frozen=True, slots=True)
class Topology:
    """Topology of a lab system: its TOML text, and the lab's name for each node of the system."""

    text: str
    nodes: Mapping[str, str]


def topology(system: System) -> Topology:
    """Make the topology of a lab system, from which icprobe builds the network.

    A node keeps its name if the lab accepts that name. Other hosts are named h1, h2 …, other switches s1, s2 ….
    """
    nodes: dict[str, str] = {}
    for letter, group in (("h", system.devices), ("s", system.switches)):
        for number, name in enumerate(group, start=1):
            plain = PLAIN.fullmatch(name) and not re.fullmatch(r"[hs]\d+", name)
            nodes[name] = name if plain else f"{letter}{number}"

    links = [
        {
            "a": nodes[link.ends[0]],
            "b": nodes[link.ends[1]],
            "rate": _rate_text(link.rate_bps),
            "mtu": f"{link.mtu_bytes} B",
        }
        for link in system.links.values()
    ]
    classes = []
    for port in system.ports.values():
        rates_bps = _class_rates_bps(system, port)
        strict = isinstance(port.scheduler, StrictPriority)
        # Class 0 comes last, since it matches all packets of no other class.
        for priority in sorted({0, *rates_bps}, reverse=True) if rates_bps else ():
            classes.append(
                {
                    "from": nodes[port.node],
                    "to": nodes[port.peer],
                    "dscp": [code_point(priority)] if priority else [],
                    "rate": _rate_text(rates_bps.get(priority, LEAST_CLASS_BPS)),
                    "ceil": _rate_text(port.rate_bps),
                    "priority": 7 - priority if strict else 0,
                }
            )
    document = {
        "name": system.name[:MOST_NAME],
        "description": system.title,
        "hosts": [nodes[name] for name in system.devices],
        "switches": [nodes[name] for name in system.switches],
        "links": links,
        **({"classes": classes} if classes else {}),
    }
    return Topology(toml_text(document), nodes)


def code_point(priority: int) -> int:
    """Return the DSCP (code point in the IP header) of packets of a priority."""
    return priority << SELECTOR_BITS


def _rate_text(rate_bps: float) -> str:
    return f"{rate_bps:.0f} b/s"


def _class_rates_bps(system: System, port: Port) -> Mapping[int, float]:
    """Return the guaranteed rate of each priority at a port [b/s]; empty if the port has a single queue.

    - Strict priority guarantees only `LEAST_CLASS_BPS` to each priority.
    - Round robin shares the port's rate by weight. A weight in packets is multiplied by the mean packet size of its
      priority.
    - Packets without a priority have priority 0. If round robin has no weight for priority 0, the rate `LEAST_CLASS_BPS`
      is reserved for such packets, and the weights share the rest.
    """
    streams = [stream for stream in system.streams.values() if port.name in stream.path]
    here = sorted({stream.priority for stream in streams})
    match port.scheduler:
        case StrictPriority():
            return dict.fromkeys(here, LEAST_CLASS_BPS)
        case WeightedRoundRobin(weights=frames):
            sizes: dict[int, list[float]] = {}
            for stream in streams:
                mtu_bytes = min(link.mtu_bytes for link in system.links_of(stream))
                packet_bytes = min(stream.payload_bytes, mtu_bytes)
                sizes.setdefault(stream.priority, []).append(packet_bytes)
            weights = {k: frames[k] * fmean(sizes[k]) for k in here if k in frames}
        case DeficitRoundRobin(quanta_bytes=quanta):
            weights = {k: float(quanta[k]) for k in here if k in quanta}
        case _:
            return {}
    spare_bps = port.rate_bps - (0.0 if 0 in weights else LEAST_CLASS_BPS)
    total = sum(weights.values())
    return {priority: spare_bps * weight / total for priority, weight in weights.items()}
