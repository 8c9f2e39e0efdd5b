"""Reader of Intel MPI Benchmarks 3.2 to 2021.3: the tables of PingPong and Uniband that IMB-MPI1 prints.

A time of PingPong is half a round trip. Its Mbytes/sec are the size divided by that time, so they only serve as a check.
Megabytes are 10^6 B since about 2017, and were 2^20 B before; the rows show which size applies.  Not taken: Sendrecv,
Exchange, PingPing and Biband, which load both directions simultaneously, and collective operations.  ::

    #    Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part
    # Benchmarking PingPong
    # #processes = 2
           #bytes #repetitions      t[usec]   Mbytes/sec
                0         1000         1.05         0.00
                8         1000         1.10         7.27
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    Section,
    first_group,
    is_sum,
    refuse_sum,
    rows,
    sections,
)
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
from icmodel.ingest.source import Source, require

NAME = "imb"
MEGA, MEBI = 8 * 10**6, 8 * 2**20
SLACK = 2e-3
"""Relative tolerance between a printed rate and the rate computed from other numbers, beyond rounding."""
_SUITE = re.compile(r"^#\s+Intel ?\(R\) MPI Benchmarks?(?: Suite)? (.+?), MPI-\d+ part", re.M)
_BLOCK = re.compile(r"^# Benchmarking (\S+)[ \t]*$", re.M)
LAYOUT = Layout(start=_SUITE)
_PROCESSES = re.compile(r"^# #processes = (\d+)", re.M)
_HEAD = re.compile(r"^\s*#bytes\s+#repetitions\s+(.*?)\s*$")
_ROW = re.compile(r"^\s*\d+\s+\d+(?:\s+[0-9.]+)+\s*$")
_OUT_OF_MEMORY = re.compile(r"^\s*(\d+)\s+out-of-mem.*$", re.M)
"""Pattern of the row of a message size that IMB skipped because memory was too small."""
_LONGEST = re.compile(r"^# Maximum message length in bytes:\s+(\d+)", re.M)
PINGPONG, UNIBAND = "PingPong", "Uniband"
HEADS = {
    PINGPONG: (
        ["t[usec]", "Mbytes/sec"],
        ["t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"],  # several groups
    ),
    UNIBAND: (["Mbytes/sec", "Msg/sec"],),
}
"""Headings of the columns after size and repetitions, by benchmark, in each version of the table."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of IMB."""
    return _BLOCK.search(text) is not None and "#repetitions" in text


def read(source: Source) -> list[Result]:
    """Read the results of a run of IMB: one for each row of PingPong or Uniband.

    Raises
    ------
    RecordError
        If the run has neither PingPong nor Uniband, or a table contradicts itself.
    """
    text = source.text
    blocks = list(sections(_BLOCK, source))
    require(blocks, "the output names no benchmark: it is cut off")
    names = tuple(dict.fromkeys(block.title[1] for block in blocks))
    taken = [block for block in blocks if block.title[1] in HEADS]
    if not taken:
        refuse_sum(NAME, names[0], f"line {blocks[0].first - 1}")
        raise NotTakenError(
            f"the output has {', '.join(names)}, which do not measure one stream: ingest PingPong or Uniband"
        )

    # The head announces the longest message. A repeated block has no head of its own.
    longest = int(first_group(_LONGEST, text) or 0)
    first = {(block.title[1], _processes(block)): block for block in reversed(taken)}
    for block in first.values():
        lines = [line for line in block.lines if _ROW.match(line) or _OUT_OF_MEMORY.match(line)]
        last = max((int(line.split()[0]) for line in lines), default=longest)
        require(
            last >= longest,
            f"{block.title[1]} ends at {last} B, but its head announces messages up to {longest} B: "
            "the output was cut off",
        )

    notes = tuple(
        f"{name} is not used: "
        f"{'it loads both directions at once' if is_sum(NAME, name) else 'it does not measure one stream'}"
        for name in names
        if name not in HEADS
    )
    version = first_group(_SUITE, text)
    return [result for block in taken for result in _results(block, version, notes)]


def _results(block: Section, version: str, notes: Sequence[str]) -> Iterator[Result]:
    """Read the results of one benchmark's table: one for each row with a payload.

    All rows must agree on the size of a megabyte.
    """
    name = block.title[1]
    for number, line in enumerate(block.lines, start=block.first):
        head = _HEAD.match(line)
        require(
            head is None or head[1].split() in HEADS[name],
            f"line {number}: the columns are not those of {name}",
        )
    pairs = 1 if name == PINGPONG else max(_processes(block) // 2, 1)
    widths = {2 + len(head) for head in HEADS[name]}
    megabytes = [MEGA, MEBI]
    measured = block._replace(lines=[_OUT_OF_MEMORY.sub("", line) for line in block.lines])
    for row in rows(measured, _ROW, name):
        size, cells = row.size, row.cells
        require(
            len(cells) in widths,
            f"line {row.line}: a row of {name} cannot have {len(cells)} numbers: it was changed",
        )
        moved: Printed | None
        if name == PINGPONG:
            # A cell is half a round trip. With several groups, it is their mean; Mbytes/sec are of the slowest group.
            numbers = [Number.read("rtt_half_mean_s", printed(cells[-2], MICRO), BOTH)]
            times = [printed(cell, MICRO) for cell in cells[2:-1]]
            slowest = max(times, key=lambda time: time.value)
            moved = exact(8.0 * size) / slowest if slowest.value > 0 else None
            rate_text = cells[-1]
        else:
            rate = printed(cells[3])
            moved = rate * (8 * size)
            numbers = [
                Number.read("frames_per_s", rate, SENDER),
                Number.read("goodput_bps", moved, SENDER),
            ]
            rate_text = cells[2]

        if moved is not None:
            possible = [m for m in megabytes if printed(rate_text, m).overlaps(moved, SLACK)]
            if not possible:
                raise RecordError(
                    f"line {row.line}: {rate_text} Mbytes/sec contradict the rest of the row, which gives "
                    f"{moved.value / 8:.6g} B/s (a megabyte is 10^6 or 2^20 B, the same in all rows): "
                    "a number was changed, so measure again"
                )
            megabytes = possible
        if size > 0:
            yield Result(
                origin=Origin(NAME, version, f"line {row.line}"),
                labels=Labels(
                    protocol="mpi",
                    payload_bytes=size,
                    load_bps=None if name == PINGPONG else math.inf,
                    cores=pairs,
                ),
                numbers=tuple(numbers),
                streams=pairs,
                notes=tuple(notes),
            )


def _processes(block: Section) -> int:
    return int(first_group(_PROCESSES, "\n".join(block.lines)) or 2)
