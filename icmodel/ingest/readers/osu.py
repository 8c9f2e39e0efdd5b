"""Reader of OSU micro-benchmarks 5.0 to 7.5: the tables of osu_latency, osu_bw and osu_mbw_mr.

A latency is half a round trip, and MB are 10^6 B.  If the title names an accelerator's memory, this memory becomes the
option ``memory``.  Not taken: bandwidth of both directions, which is a sum, and collective operations.  ::

    # OSU MPI Bandwidth Test v7.5
    # Datatype: MPI_CHAR.
    # Size      Bandwidth (MB/s)
    1                       5.20
    2                      10.41
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    Row,
    Section,
    check_rate,
    first_group,
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
    Result,
    printed,
)
from icmodel.ingest.source import Source, require

NAME = "osu"
MB = 8 * 10**6
SLACK = 1e-3
"""Relative tolerance between the printed bandwidth and the product messages × size, beyond rounding."""
_TITLE = re.compile(
    r"^# OSU (?P<api>MPI)?(?:-(?P<memory>[A-Z]+))?(?P<test>.*?) Test(?: v(?P<version>\S+))?[ \t]*$",
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
"""Content of each column in OSU's tables, by the heading of the column."""
QUANTILES = ("mean", "p50", "p90", "p99")


def recognises(text: str) -> bool:
    """Whether a text looks like output of OSU micro-benchmarks."""
    return _TITLE.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the results of a run of an OSU benchmark: one for each row of its table.

    Raises
    ------
    RecordError
        If the table does not measure one stream, has no rows, or contradicts itself.
    """
    blocks = list(sections(_TITLE, source))
    require(
        len(blocks) == 1,
        f"the output names {len(blocks)} tests of OSU's, but exactly one is needed: it is cut off",
    )
    block = blocks[0]
    name = block.title[0].removeprefix("# ").partition(" Test")[0] + " Test"
    test = block.title["test"].strip()
    refuse_sum(NAME, name, f"line {block.first - 1}")
    if block.title["api"] is None or test not in (LATENCY, BANDWIDTH, PAIRS):
        raise NotTakenError(
            f"“{name}” does not measure one stream: ingest osu_latency, osu_bw or osu_mbw_mr"
        )

    heads = []
    for number, line in enumerate(block.lines, start=block.first):
        if line.startswith("# Size"):
            heads.append(re.split(r"\s{2,}", line.removeprefix("# Size").strip()))
            for head in heads[-1]:
                require(head in COLUMNS, f"line {number}: OSU has no column {head!r}")
    require(
        len(heads) == 1,
        f"“{name}” has {len(heads)} heads of a table, but exactly one is needed: the output was changed",
    )
    pairs = first_group(_PAIRS, "\n".join(block.lines))
    require(
        pairs or test != PAIRS,
        f"“{name}” does not state its pairs: the line was cut off or changed",
    )

    results, last = [], -1
    for row in rows(block, _ROW, name):
        if row.size < last:
            raise RecordError(
                f"line {row.line}: {row.size} B come after {last} B, but sizes rise in “{name}”: a row was "
                "changed, or rows of another run follow"
            )
        last = row.size
        if row.size > 0:
            columns = [COLUMNS[head] for head in heads[0]]
            results.append(_result(block, test, columns, row, int(pairs or 1)))
    return results


def _result(block: Section, test: str, columns: Sequence[str], row: Row, pairs: int) -> Result:
    """Make the result of one row of an OSU table.

    ``columns`` names what each column after the size holds, such as ``mean`` or ``MB/s``.
    """
    place = f"line {row.line}"
    require(
        len(row.cells) == 1 + len(columns),
        f"{place}: the row has {len(row.cells)} numbers, but the header has {1 + len(columns)}: it was cut off "
        "or changed",
    )
    cells = dict(zip(columns, row.cells[1:], strict=True))
    for name, cell in cells.items():
        require(
            name == "Validation" or _TWO_DECIMALS.fullmatch(cell),
            f"{place}: {cell} does not have two decimals, as all numbers of OSU do: a digit was lost",
        )
    require(
        cells.get("Validation") != "Fail",
        f"{place}: OSU's validation failed, so received and sent data differ: leave the run out",
    )
    is_latency = test == LATENCY
    require(
        ("mean" in cells) == is_latency,
        f"{place}: the columns are not those of “OSU MPI {test} Test”",
    )

    numbers = []
    if is_latency:
        for name in QUANTILES:
            if name in cells:
                half_trip = printed(cells[name], MICRO)
                numbers.append(Number.read(f"rtt_half_{name}_s", half_trip, BOTH))
    else:
        goodput = printed(cells["MB/s"], MB)
        if "Messages/s" in cells:
            rate = printed(cells["Messages/s"])
            moved = rate * (row.size * 8)
            messages = f"{place}: {cells['Messages/s']} messages/s of {row.size} B"
            check_rate(goodput, moved, messages, SLACK)
            numbers.append(Number.read("frames_per_s", rate, SENDER))
            goodput = goodput.finer(moved)
        numbers.append(Number.read("goodput_bps", goodput, SENDER))

    memory = block.title["memory"]
    return Result(
        origin=Origin(NAME, block.title["version"] or "", place),
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
