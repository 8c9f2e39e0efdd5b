"""Measure the same streams in one lab with icprobe and with tools that work more on each frame."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.probe_lab import standing
from benchmarks.probe_others import Watch
from benchmarks.probe_tools import Icprobe, Iperf3, Question, Sockperf, Tool

RECORDS, RUNS = "records.jsonl", "runs.csv"
TOPOLOGY = "direct-1g"
PROTOCOLS = ("tcp", "udp")
PAYLOADS = (64, 128, 256, 512, 1448, 4096, 16384, 65507)
"""Payloads of a frame [B]; the last is the largest datagram, which limits sockperf with TCP too."""
PACED = ((64, 2000), (64, 20_000), (1448, 800), (1448, 8000), (65507, 20), (65507, 200))
"""Payloads and rates [1/s] of icprobe's paced runs: 1 and 10 Mb/s, 10 and 100 Mb/s."""
ROUNDS = 3
CALM_CORES = 0.05
"""A run during which other processes used more cores than this does not count and is repeated."""
HISTOGRAM_DIGITS = 2
LOOK_S = 0.3
"""Time for which the machine is watched before a run, repeated until it is calm [s]."""


class Run(NamedTuple):
    """One run of a tool: goodput at its receiver [b/s], and cores used by other processes."""

    round: int
    tool: str
    protocol: str
    payload_bytes: int
    rate_fps: int | None
    goodput_bps: float
    others_cores: float


class PlainIcprobe(Icprobe):
    """icprobe with default sockets of the system; keeps the last record."""

    def sockets(self, question: Question) -> Sequence[str]:
        """Return no options: sockets have the system's defaults."""
        return ()

    def record(self, question: Question) -> dict[str, Any]:
        """Run icprobe once, keep its record in ``last``, and return it."""
        self.last = super().record(question)
        return self.last


class PlainIperf3(Iperf3):
    """iperf3 with default sockets of the system."""

    def sockets(self, question: Question) -> Sequence[str]:
        """Return no options: sockets have the system's defaults."""
        return ()


class PlainSockperf(Sockperf):
    """sockperf with default sockets of the system; Nagle's algorithm stays on in this mode."""

    def sockets(self, question: Question) -> Sequence[str]:
        """Return no options: sockets have the system's defaults."""
        return ()

    def throughput(self, question: Question) -> Sequence[str]:
        """Return no options: Nagle's algorithm keeps its default."""
        return ()


def measure(icprobe: Path, folder: Path, within_s: float) -> bool:
    """Measure the runs that the folder lacks, tools in turn; return whether all are measured."""
    until = time.monotonic() + within_s
    done = {one[:5] for one in read_runs(folder / RUNS) if one.others_cores <= CALM_CORES}
    with standing(icprobe, TOPOLOGY) as lab:
        tools = (PlainIcprobe(lab), PlainIperf3(lab), PlainSockperf(lab))
        for tool in tools:
            tool.start()
        for number, question in _questions():
            wanted = tools if question.rate_fps is None else tools[:1]
            key = question.protocol, question.payload_bytes, question.rate_fps
            for tool in wanted:
                if (number, tool.name, *key) in done:
                    continue
                if not _calm(until):
                    return False
                _append(folder, number, question, tool)
    return True


def _calm(until: float) -> bool:
    """Wait until other processes are idle; return False if this takes beyond ``until``."""
    watch = Watch()
    while time.monotonic() < until:
        time.sleep(LOOK_S)
        if watch.cores() <= CALM_CORES:
            return True
    return False


def _questions() -> Iterator[tuple[int, Question]]:
    """Yield the questions of each round: all at full speed, and in every second paced ones."""
    for number in range(1, ROUNDS + 1):
        for protocol in PROTOCOLS:
            for payload in PAYLOADS:
                yield number, Question(protocol, payload, "goodput")
            if number % 2:
                for payload, rate in PACED:
                    yield number, Question(protocol, payload, "goodput", rate)


def read_runs(path: Path) -> list[Run]:
    """Read the runs of a file; return an empty list if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_run(row) for row in csv.DictReader(file)]


def _run(row: Mapping[str, str]) -> Run:
    rate = int(row["rate_fps"]) if row["rate_fps"] else None
    numbers = float(row["goodput_bps"]), float(row["others_cores"])
    size = int(row["payload_bytes"])
    return Run(int(row["round"]), row["tool"], row["protocol"], size, rate, *numbers)


def _append(folder: Path, number: int, question: Question, tool: Tool) -> None:
    """Measure once and append the run to the files, disturbed or not."""
    watch = Watch()
    goodput_bps = tool.ask(question)
    others = watch.cores()
    record = tool.last if isinstance(tool, PlainIcprobe) else None
    if record:
        with (folder / RECORDS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    path = folder / RUNS
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if new:
            rows.writerow(Run._fields)
        asked = question.protocol, question.payload_bytes, question.rate_fps
        rows.writerow(Run(number, tool.name, *asked, round(goodput_bps), round(others, 3)))


def calm_records(folder: Path) -> Path:
    """Write the records of icprobe's undisturbed runs to a file, and return its path."""
    runs = [run for run in read_runs(folder / RUNS) if run.tool == Icprobe.name]
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    kept = [line for line, run in zip(lines, runs, strict=True) if run.others_cores <= CALM_CORES]
    path = folder / "calm.jsonl"
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return path
