"""Reader of perftest: the tables of ib_write_bw, ib_send_lat and similar programs, including raw Ethernet.

"MB/sec" and "MiB/sec" are 2^20 B/s.  Latencies are half a round trip; for READ and ATOMIC they are a whole round trip.
Not read: t_max, which is the second largest sample, and t_stdev, which is computed in whole microseconds.  ::

                        RDMA_Write BW Test
     Number of qps   : 1            Transport type : IB
     Connection type : RC           Using SRQ      : OFF
     Link type       : IB
     #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
     65536      5000             2758.92            2758.80              0.044141
"""

from __future__ import annotations

import math
import re

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    begins_row,
    check_last_line,
    check_rate,
    command_of,
    first_group,
    refuse_sum,
)
from icmodel.ingest.result import (
    BOTH,
    CLIENT,
    MICRO,
    RECEIVER,
    SENDER,
    Number,
    Origin,
    Result,
    Side,
    exact,
    printed,
)
from icmodel.ingest.source import Source, require

NAME = "perftest"
MEBI = 2**20
SLACK = 2e-3
"""Relative tolerance between the printed bandwidth and the product messages × size, beyond rounding."""
_TITLE = re.compile(
    r"^[ \t]*(?P<verb>RDMA_Write|RDMA_Read|Send|Atomic\w*|Write|Read)(?P<mode>(?: \w+)*?) (?P<kind>BW|Latency)"
    r"(?: \w+)* Test[ \t]*$",
    re.M,
)
LAYOUT = Layout(start=_TITLE, holds=re.compile(r"\s*#bytes"))
_CELL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_COLUMN = re.compile(r"\[(?:MB|MiB|Gb)/sec\]|\[Mpps\]|\[usec\]|\[%\]|tps average")
_ENDS, _ENDS_RATE = re.compile(r"\.\d\d\s*$"), re.compile(r"\.\d{6}\s*$")
"""Patterns of a complete last row: a time or share has two decimals, and a message rate six."""
RATE_COLUMNS = 5
"""Number of columns in a table whose last column is the message rate."""
_QPS = re.compile(r"Number of qps\s*:\s*(\d+)")
_CONNECTION = re.compile(r"Connection type\s*:\s*(\w+)")
_LINK = re.compile(r"Link type\s*:\s*(\w+)")
_BANDWIDTH = re.compile(r"BW average\[(MB|MiB|Gb)/sec\]")
_WAITS = re.compile(r"^\s*\* Waiting for client to connect", re.M)
_OLD_JSON = re.compile(r"^\s*test_info:\s*\{", re.M)
DURATION_COLUMNS = 4
"""Number of columns in perftest's latency table with -D: size, iterations, mean, transactions per second."""
WIDTHS = {"MB": 8 * MEBI, "MiB": 8 * MEBI, "Gb": 10**9}
RATE_UNITS = {"g": 1e9, "M": 8.0 * MEBI}
"""Unit of perftest's --rate_limit [b/s] for each value of --rate_units; the value p means messages."""
VERBS = {"RDMA_Write": "rdma-write", "RDMA_Read": "rdma-read", "Send": "rdma-send"}
PLACES = {"min": 2, "p50": 4, "mean": 5, "p99": 7, "p999": 8}
"""Index of the column of each latency statistic that the reader uses."""
LEAST = {"p99": 100, "p999": 1000}
"""A quantile is used only if the run has at least this many iterations."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of perftest."""
    return _TITLE.search(text) is not None or _OLD_JSON.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the results of a run of perftest: one for each row of its table.

    A row that both hosts print counts once.

    Raises
    ------
    RecordError
        If the output has no table, has different tests, or sums both directions.
    """
    text = source.text
    if _OLD_JSON.search(text) or '"test_info"' in text:
        raise RecordError(
            "the output is --out_json of perftest before 2024, which is not valid JSON: ingest the printed table "
            "instead"
        )
    titles = list(_TITLE.finditer(text))
    for title in titles:
        refuse_sum(NAME, title[0].strip(), f"line {source.line_at(title.start())}")
    require(
        len({(title["verb"], title["kind"]) for title in titles}) == 1,
        "the output holds several tests of perftest: keep each in a file of its own",
    )

    results = []
    # If the file has a table of each end, a server's text may precede the second table.
    at_server = len(titles) == 1 and _WAITS.search(text[: titles[0].start()]) is not None
    columns = 0
    for number, line in source.numbered():
        cells = line.split()
        if cells[:1] == ["#bytes"]:
            columns = 2 + len(_COLUMN.findall(line))
        elif columns and begins_row(line) and "," not in line:  # samples of -U have commas
            require(
                len(cells) == columns and all(map(_CELL.fullmatch, cells)),
                f"line {number}: {line.strip()!r} does not have one number for each of the {columns} columns: "
                "the output was cut off or changed",
            )
            if number == source.first + len(source.lines) - 1:
                is_rate = titles[0]["kind"] == "BW" and columns == RATE_COLUMNS
                check_last_line(source, _ENDS_RATE if is_rate else _ENDS)
            results.append(_result(source, titles[0], cells, number, at_server=at_server))
    require(results, "its table has no row of numbers: the run failed or was cut off")
    once = {result.labels.payload_bytes: result for result in reversed(results)}
    require(
        len({(one.labels.payload_bytes, one.numbers) for one in results}) == len(once),
        "the output has two different rows of one size: keep each run in a file of its own",
    )
    return [once[size] for size in sorted(once, key=lambda size: size or 0)]


def _result(
    source: Source, title: re.Match[str], row: list[str], line: int, *, at_server: bool
) -> Result:
    """Make the result of one row of a perftest table."""
    text, verb = source.text, title["verb"]
    connection, link = first_group(_CONNECTION, text), first_group(_LINK, text)
    payload = int(row[0])
    load: float | None = None
    notes: list[str] = []

    if title["kind"] == "BW":
        # The client counts, but with Send each end counts for itself.  The server of a one-sided test
        # repeats its client's count (perftest, write_bw.c and read_bw.c).
        side: Side = RECEIVER if "Read" in verb else SENDER
        if at_server:
            side = RECEIVER if verb == "Send" else CLIENT
        unit = first_group(_BANDWIDTH, text)
        require(
            unit and len(row) >= 5, f"line {line}: the head does not name the unit of the bandwidth"
        )
        bandwidth, rate = printed(row[3], WIDTHS[unit]), printed(row[4], 10**6)
        moved = rate * (payload * 8)
        check_rate(bandwidth, moved, f"line {line}: {row[4]} M messages/s of {row[0]} B", SLACK)
        numbers = [
            Number.read("frames_per_s", rate, side),
            Number.read("goodput_bps", bandwidth.finer(moved), side),
        ]
        command = command_of(source, r"(?:ib|raw_ethernet)_\w+")
        limit, limit_unit = command.value("--rate_limit"), command.value("--rate_units") or "g"
        load = float(limit) * RATE_UNITS.get(limit_unit, 8.0 * payload) if limit else math.inf
        notes.append("the peak is the rate of a single batch: not used")
        notes.append(
            "goodput is messages/s × size if messages/s have more digits than the bandwidth"
        )
        if "CPU_Util" in text:
            notes.append(
                "CPU_Util is user time over user and idle time of the whole host: not used"
            )
    else:
        is_whole = verb not in ("RDMA_Write", "Send", "Write")
        kind = "rtt" if is_whole else "rtt_half"
        if is_whole:
            notes.append("a read waits for its answer: perftest prints the whole round trip")
        if len(row) == DURATION_COLUMNS:
            mean, per_second = printed(row[2], MICRO), printed(row[3])
            require(
                mean.overlaps(exact(1.0 if is_whole else 0.5) / per_second, SLACK),
                f"line {line}: {row[3]} transactions/s are not {row[2]} us each: a number was changed, "
                "so measure again",
            )
            numbers = [Number.read(f"{kind}_mean_s", mean, BOTH)]
        else:
            notes.append("t_max is the second largest sample, and t_stdev has whole us: not used")
            numbers = [
                Number.read(f"{kind}_{name}_s", printed(row[place], MICRO), BOTH)
                for name, place in PLACES.items()
                if place < len(row) and int(float(row[1])) >= LEAST.get(name, 1)
            ]

    is_raw = connection == "RawEth"
    if is_raw:
        notes.append("frames bypass the kernel, so they do not describe the host's network stack")
    kind_of_link = "infiniband" if link == "IB" else "ethernet" if is_raw else "roce"
    return Result(
        origin=Origin(NAME, "", f"line {line}"),
        labels=Labels(
            protocol="ethernet" if is_raw else VERBS.get(verb, "rdma-atomic"),
            payload_bytes=payload,
            load_bps=load,
            cores=1,
            options={"transport": connection.lower()} if connection and not is_raw else {},
        ),
        numbers=tuple(numbers),
        kind=kind_of_link if link else "",
        streams=int(first_group(_QPS, text) or 1),
        notes=tuple(notes),
    )
