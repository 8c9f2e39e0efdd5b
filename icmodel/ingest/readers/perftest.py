"""perftest: the tables of ib_write_bw, ib_send_lat and their kin, raw Ethernet included.

"MB/sec" and "MiB/sec" are 2^20 B/s. Latencies are half a round trip, of READ and ATOMIC the whole.
t_max is the second largest sample and t_stdev is worked out in whole microseconds: not taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import check_rate, command_of, refuse_sum
from icmodel.ingest.readers.table import Layout, begins_row, told
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
from icmodel.ingest.source import Source

NAME = "perftest"
MEBI = 2**20
SLACK = 2e-3
"""How far bandwidth and messages times their size may lie apart beside what is rounded."""
_TITLE = re.compile(
    r"^[ \t]*(?P<verb>RDMA_Write|RDMA_Read|Send|Atomic\w*|Write|Read)(?P<mode>(?: \w+)*?) (?P<what>BW|Latency)"
    r"(?: \w+)* Test[ \t]*$",
    re.M,
)
LAYOUT = Layout(start=_TITLE, holds=re.compile(r"\s*#bytes"))
_CELL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_COLUMN = re.compile(r"\[(?:MB|MiB|Gb)/sec\]|\[Mpps\]|\[usec\]|\[%\]|tps average")
_QPS = re.compile(r"Number of qps\s*:\s*(\d+)")
_CONNECTION = re.compile(r"Connection type\s*:\s*(\w+)")
_LINK = re.compile(r"Link type\s*:\s*(\w+)")
_BANDWIDTH = re.compile(r"BW average\[(MB|MiB|Gb)/sec\]")
_WAITS = re.compile(r"^\s*\* Waiting for client to connect", re.M)
_OLD_JSON = re.compile(r"^\s*test_info:\s*\{", re.M)
OF_DURATION = 4
"""Columns of latencies of a run by time: size, iterations, mean, transactions a second."""
WIDTHS = {"MB": 8 * MEBI, "MiB": 8 * MEBI, "Gb": 10**9}
RATE_UNITS = {"g": 1e9, "M": 8.0 * MEBI}
"""What --rate_limit is in by --rate_units; messages have the unit p."""
VERBS = {"RDMA_Write": "rdma-write", "RDMA_Read": "rdma-read", "Send": "rdma-send"}


def recognises(text: str) -> bool:
    """Whether a text looks like output of perftest."""
    return _TITLE.search(text) is not None or _OLD_JSON.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a run: a row of its table each; rows that both ends print count once.

    Raises
    ------
    RecordError
        If it has no table, holds different tests, or sums both directions.
    """
    text = source.text
    if _OLD_JSON.search(text) or '"test_info"' in text:
        raise RecordError(
            "it is perftest's --out_json of before 2024, which is not valid JSON: keep the table "
            "it prints instead"
        )
    titles = list(_TITLE.finditer(text))
    for title in titles:
        refuse_sum(NAME, title[0].strip(), f"line {source.line_at(title.start())}")
    if len({(title["verb"], title["what"]) for title in titles}) != 1:
        raise RecordError("it holds several tests of perftest: keep each in a file of its own")
    side = _counts(titles[0]["verb"], at_server=len(titles) == 1 and bool(_WAITS.search(text)))
    results = [_result(source, titles[0], side, row, line) for line, row in _rows(source)]
    once = {result.labels.payload_bytes: result for result in reversed(results)}
    if not results:
        raise RecordError("its table has no row of numbers: the run failed or was cut off")
    if len({(r.labels.payload_bytes, r.numbers) for r in results}) != len(once):
        raise RecordError(
            "it has two different rows of one size: the table of one run has one of each"
        )
    return [once[size] for size in sorted(once, key=lambda size: size or 0)]


def _counts(verb: str, *, at_server: bool) -> Side:
    """The end that counted a bandwidth: the client, but both ends of Send, each for itself.

    The server of a one-sided test repeats what its client counted (perftest, write_bw.c and read_bw.c).
    """
    if at_server:
        return RECEIVER if verb == "Send" else CLIENT
    return RECEIVER if "Read" in verb else SENDER


def _load(source: Source, payload: int) -> float:
    """The rate a sender was limited to [b/s], as its command line says; unlimited by default."""
    command = command_of(source, r"(?:ib|raw_ethernet)_\w+")
    limit = command.value("--rate_limit")
    unit = command.value("--rate_units") or "g"
    return float(limit) * RATE_UNITS.get(unit, 8.0 * payload) if limit else math.inf


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The rows of numbers under the heads, each with the number of its line.

    Raises
    ------
    RecordError
        If a row has not a number under each column.
    """
    columns = 0
    for number, line in source.numbered():
        cells = line.split()
        if cells[:1] == ["#bytes"]:
            columns = 2 + len(_COLUMN.findall(line))
        elif columns and begins_row(line) and "," not in line:  # samples of -U have commas
            if len(cells) != columns or not all(map(_CELL.fullmatch, cells)):
                raise RecordError(
                    f"line {number}: {line.strip()!r} has not a number under each of the {columns} columns: "
                    "it was cut off or changed"
                )
            yield number, cells


def _result(source: Source, title: re.Match[str], side: Side, row: list[str], line: int) -> Result:
    notes: list[str] = []
    text, verb, what = source.text, title["verb"], title["what"]
    connection, link = told(_CONNECTION, text), told(_LINK, text)
    raw = connection == "RawEth"
    if what == "BW":
        numbers = _bandwidth(text, row, line, side)
        notes.append("the peak is of single batches: not taken")
        notes.append("goodput is messages times their size where those have more digits")
        if "CPU_Util" in text:
            notes.append(
                "CPU_Util is user time over user and idle time of the whole host: not taken"
            )
    else:
        numbers = _latency(verb, row, line, notes)
    if raw:
        notes.append("frames go past the kernel: no model of a host's own stack")
    kind = "infiniband" if link == "IB" else "ethernet" if raw else "roce"
    return Result(
        origin=Origin(NAME, "", f"line {line}"),
        labels=Labels(
            protocol="ethernet" if raw else VERBS.get(verb, "rdma-atomic"),
            payload_bytes=int(row[0]),
            load_bps=_load(source, int(row[0])) if what == "BW" else None,
            cores=1,
            options={"transport": connection.lower()} if connection and not raw else {},
        ),
        numbers=tuple(numbers),
        kind=kind if link else "",
        streams=int(told(_QPS, text) or 1),
        notes=tuple(notes),
    )


def _bandwidth(text: str, row: list[str], line: int, side: Side) -> list[Number]:
    unit = told(_BANDWIDTH, text)
    if not unit or len(row) < 5:
        raise RecordError(f"line {line}: the head does not say the unit of the bandwidth")
    value, rate = printed(row[3], WIDTHS[unit]), printed(row[4], 10**6)
    moved = rate * (int(row[0]) * 8)
    check_rate(value, moved, f"line {line}: {row[4]} M messages/s of {row[0]} B", SLACK)
    return [
        Number.read("frames_per_s", rate, side),
        Number.read("goodput_bps", value.finer(moved), side),
    ]


def _latency(verb: str, row: list[str], line: int, notes: list[str]) -> list[Number]:
    whole = verb not in ("RDMA_Write", "Send", "Write")
    kind = "rtt" if whole else "rtt_half"
    if whole:
        notes.append("a read waits for its answer: perftest prints the whole round trip")
    if len(row) == OF_DURATION:
        return [_mean_of_duration(row, kind, line)]
    notes.append("t_max is the second largest sample and t_stdev of whole us: not taken")
    places = {"min": 2, "p50": 4, "mean": 5, "p99": 7, "p999": 8}
    least = {"p99": 100, "p999": 1000}
    numbers = []
    for name, place in places.items():
        if place < len(row) and int(float(row[1])) >= least.get(name, 1):
            numbers.append(Number.read(f"{kind}_{name}_s", printed(row[place], MICRO), BOTH))
    return numbers


def _mean_of_duration(row: list[str], kind: str, line: int) -> Number:
    """The mean of a run by time (``-D``), which must be the reciprocal of its transactions a second."""
    mean, rate = printed(row[2], MICRO), printed(row[3])
    trips = exact(1.0 if kind == "rtt" else 0.5)
    if not mean.meets(trips / rate, SLACK):
        raise RecordError(
            f"line {line}: {row[3]} transactions/s are not {row[2]} us each: a number was changed"
        )
    return Number.read(f"{kind}_mean_s", mean, BOTH)
