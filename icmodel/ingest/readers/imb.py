"""Intel MPI Benchmarks: the tables of PingPong and Uniband that IMB-MPI1 prints.

A time of PingPong is half a round trip, and its Mbytes/sec are size over time, the same number twice.
Megabytes are 10^6 B since 2017 or so and were 2^20 B before: which, each row says. Sendrecv, Exchange,
PingPing and Biband load both directions at once, and the others are no measurement of one stream.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import MICRO, Printed, exact, printed
from icmodel.ingest.result import BOTH, SENDER, Number, Result
from icmodel.ingest.source import Source

NAME = "imb"
MEGA, MEBI = 8 * 10**6, 8 * 2**20
SLACK = 2e-3
"""How far a rate and what it is worked out of may lie apart beside what is rounded."""
_SUITE = re.compile(r"^#\s+Intel ?\(R\) MPI Benchmarks?(?: Suite)? (.+?), MPI-\d+ part", re.M)
_BLOCK = re.compile(r"^# Benchmarking (\S+)[ \t]*$", re.M)
_PROCESSES = re.compile(r"^# #processes = (\d+)", re.M)
_HEAD = re.compile(r"^\s*#bytes\s+#repetitions\s+(.*?)\s*$")
_ROW = re.compile(r"^\s*\d+\s+\d+(?:\s+[0-9.]+)+\s*$")
DIGITS = tuple("-0123456789")
"""How a line begins that was a row."""
PINGPONG, UNIBAND = "PingPong", "Uniband"
OF_GROUPS = ["t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"]
HEADS = {
    PINGPONG: (["t[usec]", "Mbytes/sec"], OF_GROUPS),
    UNIBAND: (["Mbytes/sec", "Msg/sec"],),
}
"""Columns behind size and repetitions of each benchmark that is taken, in either form."""


class _Block(NamedTuple):
    """One benchmark's table: its name, processes and lines, and the number of its first line."""

    name: str
    processes: int
    lines: list[str]
    first: int


def recognises(text: str) -> bool:
    """Whether a text looks like output of IMB."""
    return _BLOCK.search(text) is not None and "#repetitions" in text


def read(source: Source) -> list[Result]:
    """The results of a file: a row of PingPong or Uniband each.

    Raises
    ------
    RecordError
        If it has neither, or a table contradicts itself.
    """
    said = _SUITE.search(source.text)
    blocks = list(_blocks(source.text))
    taken = [block for block in blocks if block.name in HEADS]
    if not blocks:
        raise RecordError("it names no benchmark: it is cut off")
    if not taken:
        names = ", ".join(dict.fromkeys(block.name for block in blocks))
        raise RecordError(
            f"it has {names}, which load both directions or several pairs at once, or are none of "
            "one stream: ingest PingPong or Uniband"
        )
    if len({(block.name, block.processes) for block in taken}) < len(taken):
        raise RecordError("it has the same benchmark twice: keep each run in a file of its own")
    left = dict.fromkeys(block.name for block in blocks if block.name not in HEADS)
    version = said[1] if said else ""
    return [result for block in taken for result in _results(block, version, tuple(left))]


def _blocks(text: str) -> Iterator[_Block]:
    found = list(_BLOCK.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    for one, end in zip(found, ends, strict=False):
        body = text[one.end() + 1 : end]
        processes = _PROCESSES.search(body)
        first = text.count("\n", 0, one.end()) + 2
        yield _Block(one[1], int(processes[1]) if processes else 2, body.split("\n"), first)


def _results(block: _Block, version: str, left: Sequence[str]) -> Iterator[Result]:
    rows = 0
    for number, line in enumerate(block.lines, start=block.first):
        if head := _HEAD.match(line):
            if head[1].split() not in HEADS[block.name]:
                raise RecordError(f"line {number}: the columns are not those of {block.name}")
        elif _ROW.match(line):
            if int(line.split()[0]) > 0:
                rows += 1
                yield _result(block, version, line.split(), number, left)
        elif line.strip()[:1] in DIGITS:
            raise RecordError(
                f"line {number}: {line.strip()!r} is no row of {block.name}: it was changed"
            )
    if not rows:
        raise RecordError(f"{block.name} has no rows: the run failed or was cut off")


def _result(
    block: _Block, version: str, cells: Sequence[str], line: int, left: Sequence[str]
) -> Result:
    size = int(cells[0])
    if len(cells) not in {2 + len(head) for head in HEADS[block.name]}:
        raise RecordError(f"line {line}: {len(cells)} numbers are none of {block.name}")
    is_latency = block.name == PINGPONG
    numbers = _pingpong(cells, size, line) if is_latency else _uniband(cells, size, line)
    notes = [
        f"{name} is not taken: it loads both directions or several pairs, or is none of one stream"
        for name in left
    ]
    if is_latency:
        notes.append("latency is half a round trip, not a one-way measurement")
    pairs = max(block.processes // 2, 1)
    return Result(
        tool=NAME,
        version=version,
        place=f"line {line}",
        labels=Labels(
            protocol="mpi",
            payload_bytes=size,
            load_bps=None if is_latency else math.inf,
            cores=1 if is_latency else pairs,
        ),
        numbers=tuple(numbers),
        streams=1 if is_latency else pairs,
        notes=tuple(notes),
    )


def _pingpong(cells: Sequence[str], size: int, line: int) -> Iterator[Number]:
    """Half a round trip; of several groups the mean of theirs, whose slowest makes the rate."""
    times = [printed(cell, MICRO) for cell in cells[2:-1]]
    slowest = max(times, key=lambda time: time.value)
    if slowest.value > 0:
        _check(cells[-1], exact(8.0 * size) / slowest, line)
    yield Number.read("rtt_half_mean_s", times[-1], BOTH)


def _uniband(cells: Sequence[str], size: int, line: int) -> Iterator[Number]:
    rate = printed(cells[3])
    moved = rate * (8 * size)
    _check(cells[2], moved, line)
    yield Number.read("frames_per_s", rate, SENDER)
    yield Number.read("goodput_bps", moved, SENDER)


def _check(megabytes: str, bps: Printed, line: int) -> None:
    """Refuse Mbytes/sec that are neither 10^6 nor 2^20 B of what the row says besides."""
    if not any(printed(megabytes, unit).meets(bps, SLACK) for unit in (MEGA, MEBI)):
        raise RecordError(
            f"line {line}: {megabytes} Mbytes/sec are not {bps.value / 1e6:.4g} Mb/s, which the rest of "
            "the row says: a number was changed"
        )
