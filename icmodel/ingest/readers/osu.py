"""OSU micro-benchmarks: the tables of osu_latency, osu_bw and osu_mbw_mr.

A latency is half a round trip; MB are 10^6 B. Bandwidth of both directions at once is a sum and no
goodput of one stream, collective operations are none of one stream either: neither is taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import MICRO, printed
from icmodel.ingest.result import BOTH, SENDER, Number, Result
from icmodel.ingest.source import Source

NAME = "osu"
MB = 8 * 10**6
SLACK = 1e-3
"""How far bandwidth and messages times their size may lie apart beside what is rounded."""
_TITLE = re.compile(r"^# OSU (\S.*?) Test(?: v([0-9.]+))?\s*$", re.M)
_PAIRS = re.compile(r"\[ pairs: (\d+) \]")
_ROW = re.compile(r"^\s*\d+(?:\s+[0-9.]+)+(?:\s+(?:Pass|Fail|-))?\s*$")
DIGITS = tuple("-0123456789")
"""How a line begins that was a row."""
LATENCY, BANDWIDTH, PAIRS = (
    "MPI Latency",
    "MPI Bandwidth",
    "MPI Multiple Bandwidth / Message Rate",
)
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


class _Block(NamedTuple):
    """One benchmark's table: its title, version and lines, and the number of its first line."""

    title: str
    version: str
    lines: list[str]
    first: int


def recognises(text: str) -> bool:
    """Whether a text looks like output of OSU micro-benchmarks."""
    return _TITLE.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a file: a row of its tables each.

    Raises
    ------
    RecordError
        If a table is none of one stream, has no rows, or contradicts itself.
    """
    blocks = list(_blocks(source.text))
    if not blocks:
        raise RecordError("it names no test of OSU's: it is cut off")
    found = [result for block in blocks for result in _results(block)]
    seen: set[tuple[object, ...]] = set()
    for result in found:
        key = (result.labels.payload_bytes, result.labels.cores, result.numbers[0].metric)
        if key in seen:
            raise RecordError("it has two rows of one size: keep each run in a file of its own")
        seen.add(key)
    return found


def _blocks(text: str) -> Iterator[_Block]:
    titles = list(_TITLE.finditer(text))
    ends = [title.start() for title in titles[1:]] + [len(text)]
    for title, end in zip(titles, ends, strict=False):
        first = text.count("\n", 0, title.end()) + 2
        yield _Block(title[1], title[2] or "", text[title.end() + 1 : end].split("\n"), first)


def _results(block: _Block) -> Iterator[Result]:
    if block.title not in (LATENCY, BANDWIDTH, PAIRS):
        raise RecordError(
            f"“OSU {block.title} Test” is no measurement of one stream, or sums both directions: "
            "ingest osu_latency, osu_bw or osu_mbw_mr"
        )
    heads: list[str] = []
    said = _PAIRS.search("\n".join(block.lines))
    pairs = int(said[1]) if said else 1
    rows = 0
    for number, line in enumerate(block.lines, start=block.first):
        if line.startswith("# Size"):
            heads = _heads(line, number)
        elif _ROW.match(line):
            cells = line.split()
            if int(cells[0]) > 0:
                rows += 1
                yield _result(block, heads, cells, pairs, number)
        elif line.strip()[:1] in DIGITS:
            raise RecordError(
                f"line {number}: {line.strip()!r} is no row of a table: it was changed"
            )
    if not rows:
        raise RecordError(f"“OSU {block.title} Test” has no rows: the run failed or was cut off")


def _heads(line: str, number: int) -> list[str]:
    found = re.split(r"\s{2,}", line.removeprefix("# Size").strip())
    unknown = [head for head in found if head not in COLUMNS]
    if unknown:
        raise RecordError(f"line {number}: no column of OSU's is called {unknown[0]!r}")
    return [COLUMNS[head] for head in found]


def _result(
    block: _Block, heads: Sequence[str], cells: Sequence[str], pairs: int, line: int
) -> Result:
    if len(cells) != 1 + len(heads):
        raise RecordError(f"line {line}: {len(cells)} numbers where the head has {1 + len(heads)}")
    named, size = dict(zip(heads, cells[1:], strict=True)), int(cells[0])
    if named.get("Validation") == "Fail":
        raise RecordError(f"line {line}: the messages that arrived were not those that were sent")
    is_latency = block.title == LATENCY
    if ("mean" in named) != is_latency:
        raise RecordError(f"line {line}: the columns are not those of “OSU {block.title} Test”")
    numbers = _latency(named) if is_latency else _bandwidth(named, size, line)
    notes = ["latency is half a round trip, not a one-way measurement"] if is_latency else []
    return Result(
        tool=NAME,
        version=block.version,
        place=f"line {line}",
        labels=Labels(
            protocol="mpi",
            payload_bytes=size,
            load_bps=None if is_latency else math.inf,
            cores=pairs,
        ),
        numbers=tuple(numbers),
        streams=pairs,
        notes=tuple(notes),
    )


def _latency(named: dict[str, str]) -> Iterator[Number]:
    for name in QUANTILES:
        if name in named:
            yield Number.read(f"rtt_half_{name}_s", printed(named[name], MICRO), BOTH)


def _bandwidth(named: dict[str, str], size: int, line: int) -> Iterator[Number]:
    goodput = printed(named["MB/s"], MB)
    if "Messages/s" in named:
        rate = printed(named["Messages/s"])
        moved = rate * (size * 8)
        if not goodput.meets(moved, SLACK):
            raise RecordError(
                f"line {line}: {named['MB/s']} MB/s is not {named['Messages/s']} messages/s of "
                f"{size} B: a number was changed"
            )
        yield Number.read("frames_per_s", rate, SENDER)
        goodput = goodput.finer(moved)
    yield Number.read("goodput_bps", goodput, SENDER)
