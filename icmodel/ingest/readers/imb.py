"""Intel MPI Benchmarks: the tables of PingPong and Uniband that IMB-MPI1 prints.

A time of PingPong is half a round trip, and its Mbytes/sec are size over time, the same number twice.
Megabytes are 10^6 B since 2017 or so and were 2^20 B before: which, each row says. Sendrecv, Exchange,
PingPing and Biband load both directions at once, and the others are no measurement of one stream.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import is_sum, refuse_sum
from icmodel.ingest.readers.table import Layout, Row, Section, rows, sections, told
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    SENDER,
    NotTakenError,
    Number,
    Origin,
    Printed,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source

NAME = "imb"
MEGA, MEBI = 8 * 10**6, 8 * 2**20
SLACK = 2e-3
"""How far a rate and what it is worked out of may lie apart beside what is rounded."""
_SUITE = re.compile(r"^#\s+Intel ?\(R\) MPI Benchmarks?(?: Suite)? (.+?), MPI-\d+ part", re.M)
_BLOCK = re.compile(r"^# Benchmarking (\S+)[ \t]*$", re.M)
LAYOUT = Layout(start=_SUITE)
_PROCESSES = re.compile(r"^# #processes = (\d+)", re.M)
_HEAD = re.compile(r"^\s*#bytes\s+#repetitions\s+(.*?)\s*$")
_ROW = re.compile(r"^\s*\d+\s+\d+(?:\s+[0-9.]+)+\s*$")
_LEFT_OUT = re.compile(r"^\s*(\d+)\s+out-of-mem.*$", re.M)
"""A size for which there was not memory enough."""
_LONGEST = re.compile(r"^# Maximum message length in bytes:\s+(\d+)", re.M)
PINGPONG, UNIBAND = "PingPong", "Uniband"
OF_GROUPS = ["t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"]
HEADS = {
    PINGPONG: (["t[usec]", "Mbytes/sec"], OF_GROUPS),
    UNIBAND: (["Mbytes/sec", "Msg/sec"],),
}
"""Columns behind size and repetitions of each benchmark that is taken, in either form."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of IMB."""
    return _BLOCK.search(text) is not None and "#repetitions" in text


def read(source: Source) -> list[Result]:
    """The results of a run: a row of PingPong or Uniband each.

    Raises
    ------
    RecordError
        If it has neither, or a table contradicts itself.
    """
    text = source.text
    blocks = list(sections(_BLOCK, source))
    taken = [block for block in blocks if block.title[1] in HEADS]
    if not blocks:
        raise RecordError("it names no benchmark: it is cut off")
    names = tuple(dict.fromkeys(block.title[1] for block in blocks))
    if not taken:
        refuse_sum(NAME, names[0], source.place)
        raise NotTakenError(
            f"it has {', '.join(names)}, which are no measurement of one stream: ingest PingPong or Uniband"
        )
    first = {(block.title[1], _processes(block)): block for block in reversed(taken)}
    for block in first.values():  # one that comes again has lost its own head
        _check_whole(block, int(told(_LONGEST, text) or 0))
    notes = tuple(
        f"{name} is not taken: it {'loads both directions at once' if is_sum(NAME, name) else 'is none of one stream'}"
        for name in names
        if name not in HEADS
    )
    version = told(_SUITE, text)
    return [result for block in taken for result in _results(block, version, notes)]


def _processes(block: Section) -> int:
    return int(told(_PROCESSES, "\n".join(block.lines)) or 2)


def _check_whole(block: Section, longest: int) -> None:
    """Refuse a table without the row of the longest message that the head announces [B]."""
    sizes = [
        int(line.split()[0]) for line in block.lines if _ROW.match(line) or _LEFT_OUT.match(line)
    ]
    if sizes and max(sizes) < longest:
        raise RecordError(
            f"{block.title[1]} ends at {max(sizes)} B, and its head announces messages up to {longest} B: "
            "it was cut off"
        )


def _results(block: Section, version: str, notes: Sequence[str]) -> Iterator[Result]:
    name = block.title[1]
    for number, line in enumerate(block.lines, start=block.first):
        head = _HEAD.match(line)
        if head and head[1].split() not in HEADS[name]:
            raise RecordError(f"line {number}: the columns are not those of {name}")
    measured = block._replace(lines=[_LEFT_OUT.sub("", line) for line in block.lines])
    for row in _check_megabytes(name, _whole(rows(measured, _ROW, name), name)):
        if row.size > 0:
            yield _result(block, version, row, notes)


def _whole(some: Iterable[Row], name: str) -> Iterator[Row]:
    """The rows, which have as many numbers as one of the benchmark's heads."""
    for row in some:
        if len(row.cells) not in {2 + len(head) for head in HEADS[name]}:
            raise RecordError(f"line {row.line}: {len(row.cells)} numbers are none of {name}")
        yield row


def _result(block: Section, version: str, row: Row, notes: Sequence[str]) -> Result:
    name = block.title[1]
    is_latency = name == PINGPONG
    if is_latency:  # half a round trip; of several groups the mean of theirs
        numbers = [Number.read("rtt_half_mean_s", printed(row.cells[-2], MICRO), BOTH)]
    else:
        rate = printed(row.cells[3])
        moved = rate * (8 * row.size)
        numbers = [
            Number.read("frames_per_s", rate, SENDER),
            Number.read("goodput_bps", moved, SENDER),
        ]
    pairs = 1 if is_latency else max(_processes(block) // 2, 1)
    return Result(
        origin=Origin(NAME, version, f"line {row.line}"),
        labels=Labels(
            protocol="mpi",
            payload_bytes=row.size,
            load_bps=None if is_latency else math.inf,
            cores=pairs,
        ),
        numbers=tuple(numbers),
        streams=pairs,
        notes=tuple(notes),
    )


def _check_megabytes(name: str, some: Iterable[Row]) -> Iterator[Row]:
    """The rows, whose Mbytes/sec are what the rest of each row says, of 10^6 or of 2^20 B in them all."""
    left = [MEGA, MEBI]
    for row in some:
        moved = _moved_by_time(row) if name == PINGPONG else printed(row.cells[3]) * (8 * row.size)
        said = row.cells[-1] if name == PINGPONG else row.cells[2]
        left = [mega for mega in left if moved is None or printed(said, mega).meets(moved, SLACK)]
        if moved is not None and not left:
            raise RecordError(
                f"line {row.line}: {said} Mbytes/sec are not the {moved.value / 1e6:.6g} Mb/s that the rest of "
                "the row says, in megabytes of the rows before: a number was changed"
            )
        yield row


def _moved_by_time(row: Row) -> Printed | None:
    """Size over time, of several groups the slowest one's [b/s]; none where the time is rounded to 0."""
    times = [printed(cell, MICRO) for cell in row.cells[2:-1]]
    slowest = max(times, key=lambda time: time.value)
    return exact(8.0 * row.size) / slowest if slowest.value > 0 else None
