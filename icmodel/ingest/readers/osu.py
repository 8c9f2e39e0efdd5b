"""OSU micro-benchmarks: the tables of osu_latency, osu_bw and osu_mbw_mr.

A latency is half a round trip; MB are 10^6 B; of an accelerator's memory it says whose. Bandwidth of both directions at once is a sum and no
goodput of one stream, collective operations are none of one stream either: neither is taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import check_rate, refuse_sum
from icmodel.ingest.readers.table import Layout, Row, Section, rows, sections, told
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    SENDER,
    NotTakenError,
    Number,
    Origin,
    Result,
    printed,
)
from icmodel.ingest.source import Source

NAME = "osu"
MB = 8 * 10**6
SLACK = 1e-3
"""How far bandwidth and messages times their size may lie apart beside what is rounded."""
_TITLE = re.compile(
    r"^# OSU (?P<api>MPI)?(?:-(?P<memory>[A-Z]+))?(?P<what>.*?) Test(?: v(?P<version>\S+))?[ \t]*$",
    re.M,
)
LAYOUT = Layout(start=_TITLE)
_TWO_DECIMALS = re.compile(r"\d+\.\d\d")
_PAIRS = re.compile(r"\[ pairs: (\d+) \]")
_ROW = re.compile(r"^\s*\d+(?:\s+[0-9.]+)+(?:\s+(?:Pass|Fail|-))?\s*$")
LATENCY, BANDWIDTH, PAIRS = "Latency", "Bandwidth", "Multiple Bandwidth / Message Rate"
COLUMNS = {
    "Latency (us)": "mean",
    "Avg Latency(us)": "mean",
    "P50 Tail Lat(us)": "p50",
    "P90 Tail Lat(us)": "p90",
    "P99 Tail Lat(us)": "p99",
    "Bandwidth (MB/s)": "MB/s",
    "MB/s": "MB/s",
    "Messages/s": "Messages/s",
    "Validation": "Validation",
}
"""Heads of columns, by what they hold."""
QUANTILES = ("mean", "p50", "p90", "p99")


def recognises(text: str) -> bool:
    """Whether a text looks like output of OSU micro-benchmarks."""
    return _TITLE.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a run: a row of its table each.

    Raises
    ------
    RecordError
        If the table is none of one stream, has no rows, or contradicts itself.
    """
    blocks = list(sections(_TITLE, source))
    if len(blocks) != 1:
        raise RecordError(
            f"it names {len(blocks)} tests of OSU's where one is needed: it is cut off"
        )
    return list(_results(blocks[0]))


def _results(block: Section) -> Iterator[Result]:
    name = block.title[0].removeprefix("# ").partition(" Test")[0] + " Test"
    what = block.title["what"].strip()
    refuse_sum(NAME, name, f"line {block.first - 1}")
    if block.title["api"] is None or what not in (LATENCY, BANDWIDTH, PAIRS):
        raise NotTakenError(
            f"“{name}” is no measurement of one stream: ingest osu_latency, osu_bw or osu_mbw_mr"
        )
    heads = [
        _heads(line, number)
        for number, line in enumerate(block.lines, start=block.first)
        if line.startswith("# Size")
    ]
    if len(heads) != 1:
        raise RecordError(
            f"“{name}” has {len(heads)} heads of a table where one is needed: it was changed"
        )
    pairs = told(_PAIRS, "\n".join(block.lines))
    if what == PAIRS and not pairs:
        raise RecordError(f"“{name}” does not say its pairs: the line was cut off or changed")
    for row in _rising(rows(block, _ROW, name), name):
        if row.size > 0:
            yield _result(block, what, heads[0], row, int(pairs or 1))


def _rising(some: Iterable[Row], name: str) -> Iterator[Row]:
    """The rows, whose sizes rise as the benchmark goes through them."""
    last = -1
    for row in some:
        if row.size < last:
            raise RecordError(
                f"line {row.line}: {row.size} B come after {last} B, and sizes rise in “{name}”: a row was "
                "changed, or rows of another run follow"
            )
        last = row.size
        yield row


def _heads(line: str, number: int) -> list[str]:
    found = re.split(r"\s{2,}", line.removeprefix("# Size").strip())
    unknown = [head for head in found if head not in COLUMNS]
    if unknown:
        raise RecordError(f"line {number}: no column of OSU's is called {unknown[0]!r}")
    return [COLUMNS[head] for head in found]


def _result(block: Section, what: str, heads: Sequence[str], row: Row, pairs: int) -> Result:
    if len(row.cells) != 1 + len(heads):
        raise RecordError(
            f"line {row.line}: {len(row.cells)} numbers where the head has {1 + len(heads)}"
        )
    named = dict(zip(heads, row.cells[1:], strict=True))
    for cell in (cell for head, cell in named.items() if head != "Validation"):
        if _TWO_DECIMALS.fullmatch(cell) is None:
            raise RecordError(
                f"line {row.line}: {cell} has not the two decimals of each of OSU's numbers: a digit was lost"
            )
    if named.get("Validation") == "Fail":
        raise RecordError(
            f"line {row.line}: the messages that arrived were not those that were sent"
        )
    is_latency = what == LATENCY
    if ("mean" in named) != is_latency:
        raise RecordError(f"line {row.line}: the columns are not those of “OSU MPI {what} Test”")
    numbers = _latency(named) if is_latency else _bandwidth(named, row)
    memory = block.title["memory"]
    return Result(
        origin=Origin(NAME, block.title["version"] or "", f"line {row.line}"),
        labels=Labels(
            protocol="mpi",
            payload_bytes=row.size,
            load_bps=None if is_latency else math.inf,
            cores=pairs,
            options={"memory": memory.lower()} if memory else {},
        ),
        numbers=tuple(numbers),
        streams=pairs,
    )


def _latency(named: dict[str, str]) -> Iterator[Number]:
    for name in QUANTILES:
        if name in named:
            yield Number.read(f"rtt_half_{name}_s", printed(named[name], MICRO), BOTH)


def _bandwidth(named: dict[str, str], row: Row) -> Iterator[Number]:
    goodput = printed(named["MB/s"], MB)
    if "Messages/s" in named:
        rate = printed(named["Messages/s"])
        moved = rate * (row.size * 8)
        messages = f"line {row.line}: {named['Messages/s']} messages/s of {row.size} B"
        check_rate(goodput, moved, messages, SLACK)
        yield Number.read("frames_per_s", rate, SENDER)
        goodput = goodput.finer(moved)
    yield Number.read("goodput_bps", goodput, SENDER)
