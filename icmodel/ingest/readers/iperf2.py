"""iperf 2: its text, and the lines of ``-y C``.

Bits are in units of 10^6 and 10^9, MBytes are 2^20 B. Of several lines of a stream the one over the
whole run counts; of parallel streams their sum. A client of UDP repeats the server's report, from which
goodput and loss are taken. One-way latency of ``-e`` needs clocks that agree: not taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.iperf2_csv import DEFAULT_BPS, DEFAULT_BYTES, NAME, is_csv, of_csv
from icmodel.ingest.readers.modes import APART, Pace, check_loss, check_rate, command_of, pace_of
from icmodel.ingest.readers.table import Layout, told
from icmodel.ingest.result import (
    MICRO,
    RECEIVER,
    SENDER,
    Assumed,
    Ends,
    Limits,
    Number,
    Origin,
    Payloads,
    Printed,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source

__all__ = ["LAYOUT", "NAME", "read", "recognises"]

_START = re.compile(
    r"^(?P<role>Client connecting to|Server listening on) .*(?P<protocol>TCP|UDP) port (?P<port>\d+)",
    re.M,
)
_CONNECTED = re.compile(
    r"^\[\s*\*?(?P<id>\d+)\] local (?P<local>[^\s%]+)\S* port (?P<port>\d+) connected with "
    r"(?P<remote>[^\s%]+)\S* port \d+(?P<tail>.*)$"
)
_ROW = re.compile(
    r"^\[\s*(SUM|\*?\d+)\]\s+([0-9.]+)-\s*([0-9.]+) sec\s+([0-9.]+) ([KMGT]?)Bytes\s+"
    r"([0-9.]+) ([KMGT]?)(bits|Bytes)/sec(?:.*?\s(\d+)/\s*(\d+) \(([0-9.e+-]+)%\))?",
    re.M,
)
LAYOUT = Layout(start=_START, holds=_ROW)
_REPORT = re.compile(r"^\[.*\] Server Report:")
_DATAGRAM = re.compile(r"^Sending (\d+) byte datagrams(?:, IPG target: ([0-9.]+) us)?", re.M)
_BUFFER = re.compile(r"^Write buffer size: (\d+) (K?)Byte", re.M)
"""A whole number; in MByte it is rounded."""
_VERSION = re.compile(r"\(peer ([0-9.]+)")
_LATE = re.compile(r"\s(\d+) datagrams received out-of-order")
_FAILED = re.compile(
    r"^(connect failed|write failed|read failed|.*WARNING: did not receive ack).*$", re.M
)
SLACK = 5e-3
"""How far bytes, seconds and rate may lie apart beside their digits: streams end one after another."""
DIGITS = 3
"""Significant digits of a gap between datagrams from which a rate can be told."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of iperf 2."""
    return is_csv(text) or _START.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a run with all its streams: one for each direction, and for each client of a server.

    Raises
    ------
    RecordError
        If the run failed or was cut off.
    """
    text = source.text
    lines = of_csv(source) if is_csv(text) else []
    if lines and not _START.search(text):
        return lines
    if failed := _FAILED.search(text):
        raise RecordError(f"{source.place}: the run failed: iperf says “{failed[0].strip()}”")
    head = _Head.of(source)
    return [
        *(result for group in _groups(source) for result in _results(source, head, group)),
        *lines,
    ]


@dataclass(frozen=True, slots=True)
class _Line:
    """The line over a whole run: seconds, bits, rate [b/s], datagrams lost of how many."""

    seconds: Printed
    moved: Printed
    rate: Printed
    lost: tuple[int, int] | None


# --- text -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Head:
    """What the heads say: the protocol, whether a client wrote them, and the port it listens on, too."""

    protocol: str
    at_client: bool
    listens: str

    @classmethod
    def of(cls, source: Source) -> _Head:
        """The heads of a run; ``-d`` and ``-r`` have two."""
        starts = list(_START.finditer(source.text))
        if not starts:
            raise RecordError(
                f"{source.place}: it has neither head, of a client or of a server: it is cut off"
            )
        at_client = any(start["role"].startswith("Client") for start in starts)
        listening = [start["port"] for start in starts if start["role"].startswith("Server")]
        return cls(
            starts[0]["protocol"].lower(),
            at_client,
            listening[0] if at_client and listening else "",
        )


@dataclass(slots=True)
class _Group:
    """Streams of one run: connections by id, rows of their own and rows that the other end reported."""

    connections: dict[str, re.Match[str]]
    rows: list[re.Match[str]]
    reports: list[re.Match[str]]


def _groups(source: Source) -> Iterator[_Group]:
    """The runs under one head: each begins with its connections, behind the rows of the one before."""
    groups = [_Group({}, [], [])]
    reported = False
    for line in source.lines:
        connected, row = _CONNECTED.match(line), _ROW.match(line)
        if connected:
            if groups[-1].rows:
                groups.append(_Group({}, [], []))
            groups[-1].connections[connected["id"]] = connected
        elif _REPORT.match(line):
            reported = True
        elif row:
            id_ = row[1].lstrip("*")
            own = (one for one in reversed(groups) if id_ in one.connections)
            group = next(own, groups[-1])
            (group.reports if reported else group.rows).append(row)
            reported = False
    if reported:
        raise RecordError(f"{source.place}: a server's report has no line: the run was cut off")
    yield from groups


def _results(source: Source, head: _Head, group: _Group) -> Iterator[Result]:
    """The result of each direction of a group."""
    ways = [[row for row in group.rows if _sent(row, head, group) is way] for way in (True, False)]
    both = bool(ways[0] and ways[1])
    if both:  # whose [SUM] is of both directions
        ways = [[row for row in way if row[1] != "SUM"] for way in ways]
    if not group.rows:
        raise RecordError(f"{source.place}: it has no line of a result: the run was cut off")
    for rows, sends in zip(ways, (True, False), strict=True):
        if rows:
            yield _of_text(source, head, group, rows, sends=sends, both=both)


def _sent(row: re.Match[str], head: _Head, group: _Group) -> bool:
    """Whether the end that wrote a row sent what the row counts."""
    connection = group.connections.get(row[1].lstrip("*"))
    if connection is not None and head.listens:
        return connection["port"] != head.listens
    tails = [one["tail"] for one in group.connections.values()]
    reverse = row[1].startswith("*") or (
        "(full-duplex)" not in "".join(tails) and any("(reverse)" in tail for tail in tails)
    )
    return head.at_client != reverse


def _of_text(
    source: Source,
    head: _Head,
    group: _Group,
    rows: Sequence[re.Match[str]],
    *,
    sends: bool,
    both: bool,
) -> Result:
    text, protocol = source.text, head.protocol
    lines, streams = _whole(rows, summed=not both)
    numbers: list[Number] = []
    notes = ["text of iperf 2 has three digits: -y C has more"]
    reports = [_line(row) for row in group.reports] if sends else []
    command = command_of(source, "iperf")
    size, load = _datagrams(text, streams) if protocol == "udp" else (_buffer(text), None)
    typed = command.amount("-l", "--len", small=1000, large=1024)
    size = size or (int(typed) if typed else None)
    if reports:
        numbers += _received(_group_by_key(reports), size, protocol)
        numbers.append(Number.read("sent_bps", lines.rate, SENDER))
    elif sends and protocol == "udp":
        numbers.append(Number.read("sent_bps", lines.rate, SENDER))
        notes.append("without the server's report nothing says what arrived")
    elif sends:
        numbers.append(Number.read("goodput_bps", lines.rate, SENDER))
        notes.append(
            "a client counts what it handed to its socket, up to a window more than arrived"
        )
    else:
        numbers += _received(lines, size, protocol)
    payloads = _open_payloads(lines, text) if size is None else None
    if "Latency avg" in text:
        notes.append("one-way latency needs clocks that agree, of which nothing is said: not taken")
    limit = command.amount("-b", "--bandwidth", small=1000, large=1024)
    if load is None and limit is not None:
        load = limit * streams
    pace = Pace(Labels(load_bps=math.inf))  # TCP goes as fast as it can unless told otherwise
    if protocol == "udp":
        lost = lines.lost or (0, 1)
        sent = lines.rate.value / (1 - lost[0] / lost[1]) if lost[0] < lost[1] else lines.rate.value
        pace = pace_of(sent, DEFAULT_BPS * streams, "-b")
    default = DEFAULT_BYTES[protocol]
    fits = payloads is None or payloads.fits(default)
    return Result(
        origin=Origin(NAME, told(_VERSION, text), source.place),
        labels=Labels(
            protocol=protocol,
            payload_bytes=size,
            load_bps=load,
            cores=1 if streams == 1 else None,
            options=dict(APART) if both else {},
        ),
        unless=replace(pace.unless, payload_bytes=payloads.only if payloads else None),
        assumed=(*pace.assumed, *([Assumed("payload_bytes", default, "-l")] if fits else [])),
        numbers=tuple(numbers),
        hosts=_hosts(group, sends=sends),
        streams=streams,
        limits=Limits(payloads=payloads),
        notes=(*notes, *(pace.notes if load is None else ())),
    )


def _hosts(group: _Group, *, sends: bool) -> Ends:
    """The ends of a direction, if the connections are of one pair."""
    pairs = {(one["local"], one["remote"]) for one in group.connections.values()}
    if len(pairs) != 1:
        return Ends()
    local, remote = pairs.pop()
    return Ends(local, remote) if sends else Ends(remote, local)


def _open_payloads(line: _Line, text: str) -> Payloads | None:
    """What the bytes and datagrams of a server leave open; those out of order are in its bytes alone."""
    if line.lost is None or line.lost[1] <= line.lost[0]:
        return None
    arrived = line.lost[1] - line.lost[0]
    late = sum(int(count) for count in _LATE.findall(text))
    low, high = line.moved.low / 8, line.moved.high / 8
    said = f"iperf says {(high + low) / 2:.6g} B in {arrived} datagrams"
    return Payloads(low / (arrived + late), high / arrived, said)


def _group_by_key(lines: Sequence[_Line]) -> _Line:
    """Parallel streams as one."""
    lost = [line.lost for line in lines if line.lost is not None]
    whole = (
        (sum(one for one, _ in lost), sum(of for _, of in lost))
        if len(lost) == len(lines)
        else None
    )
    seconds = max((line.seconds for line in lines), key=lambda one: one.value)
    moved, rate = _sum([line.moved for line in lines]), _sum([line.rate for line in lines])
    return _Line(seconds, moved, rate, whole)


def _sum(some: Sequence[Printed]) -> Printed:
    """A sum, and what the digits of its parts leave open of it."""
    ends = zip(*((one.value, one.low, one.high) for one in some), strict=True)
    return Printed(*(sum(end) for end in ends))


def _whole(rows: Sequence[re.Match[str]], *, summed: bool) -> tuple[_Line, int]:
    """The line over the whole run, of parallel streams their sum, and how many streams there are.

    Parameters
    ----------
    summed
        Whether parallel streams have a line of their sum, which must be theirs.
    """
    last = max(float(row[3]) for row in rows)
    every = [row for row in rows if float(row[2]) == 0 and float(row[3]) > last / 2]
    streams = {row[1]: row for row in every if row[1] != "SUM"}
    sums = [row for row in every if row[1] == "SUM"]
    if not every:
        raise RecordError("it has no line over the whole run: the run was cut off")
    if not summed:
        return _group_by_key([_line(row) for row in streams.values()]), len(streams)
    if sums or len(streams) > 1:
        _check_sum(sums, list(streams.values()))
        every = sums
    return _line(max(every, key=lambda row: float(row[3]))), max(len(streams), 1)


def _check_sum(sums: Sequence[re.Match[str]], streams: Sequence[re.Match[str]]) -> None:
    """Hold the bytes of a sum against those of its streams."""
    if not sums or len(streams) < 2:
        raise RecordError(
            "it has a line [SUM] and not those of its streams, or the other way round: it was cut off"
        )
    if not _moved(sums[-1]).meets(_sum([_moved(row) for row in streams]), SLACK):
        raise RecordError(
            f"[SUM] has {sums[-1][4]} {sums[-1][5]}Bytes, which its {len(streams)} streams have not "
            "together: a line is missing or was changed"
        )


def _moved(row: re.Match[str]) -> Printed:
    """The bytes of a line, in bits."""
    return printed(row[4], 8 * 1024 ** " KMGT".index(row[5] or " "))


def _line(row: re.Match[str]) -> _Line:
    """One line of a result."""
    lost = (int(row[9]), int(row[10])) if row[9] else None
    if lost:
        check_loss(printed(row[11]), *lost, f"the line up to {row[3]} s")
    seconds, moved, rate = printed(row[3]), _moved(row), _rate(row[6], row[7], row[8])
    if seconds.value > 0:
        check_rate(rate, moved / seconds, f"{row[4]} {row[5]}Bytes in {row[3]} s", SLACK)
    return _Line(seconds, moved, rate, lost)


def _rate(number: str, prefix: str, unit: str) -> Printed:
    """A rate [b/s]: prefixes of bits are powers of 1000, those of bytes of 1024."""
    power = " KMGT".index(prefix or " ")
    return printed(number, 1000**power if unit == "bits" else 8 * 1024**power)


def _received(line: _Line, size: int | None, protocol: str) -> Iterator[Number]:
    if protocol == "udp" and line.lost is None:
        raise RecordError("the line of a receiver of UDP has no losses: it was cut off or changed")
    rate = line.rate
    if line.lost is not None:
        lost, of = line.lost
        if of:
            yield Number("loss_rate", lost / of, RECEIVER)
        if size is not None and line.seconds.value > 0:
            counted = exact(8.0 * size * (of - lost)) / line.seconds
            arrived = f"{of - lost} datagrams of {size} B in {line.seconds.value:g} s"
            check_rate(rate, counted, arrived, SLACK)
            rate = rate.finer(counted)
    yield Number.read("goodput_bps", rate, RECEIVER)


def _datagrams(text: str, streams: int) -> tuple[int | None, float | None]:
    """The size of a datagram [B] and the load of all streams by the gap between two of one [b/s]."""
    found = _DATAGRAM.search(text)
    if found is None:
        return None, None
    size, gap = int(found[1]), found[2]
    if gap is None or len(gap.replace(".", "").lstrip("0")) < DIGITS:
        return size, None
    return size, float(streams * round(Decimal(8 * size) / (Decimal(gap) * MICRO)))


def _buffer(text: str) -> int | None:
    """The bytes that a client writes at once, where ``-e`` says them."""
    found = _BUFFER.search(text)
    return int(Decimal(found[1]) * 1024 ** " K".index(found[2] or " ")) if found else None
