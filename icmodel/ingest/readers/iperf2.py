"""Reader of iperf 2 up to 2.1.8: its text, and the lines of ``-y C``.

Prefixes of bits are 10^6 and 10^9; MBytes are 2^20 B. If a stream has several lines, the line over the whole run
counts. For parallel streams, the sum of all streams counts. A client of UDP repeats the server's report, which gives
the goodput and the loss.  Not read: one-way latency of ``-e``, which needs synchronised clocks.  ::

    Client connecting to 192.0.2.2, TCP port 5001
    [  1] local 192.0.2.1 port 41000 connected with 192.0.2.2 port 5001
    [ ID] Interval       Transfer     Bandwidth
    [  1] 0.00-1.00 sec   112 MBytes   940 Mbits/sec

A line of ``-y C`` has time, both ends, stream, interval, bytes and b/s; for UDP also jitter and losses::

    20261101100000,192.0.2.1,41000,192.0.2.2,5001,1,0.0-1.0,117440512,939524096
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    DUPLEX,
    Layout,
    Pace,
    check_last_line,
    check_loss,
    check_rate,
    command_of,
    first_group,
    pace_of,
)
from icmodel.ingest.result import (
    MICRO,
    RECEIVER,
    SENDER,
    Assumed,
    Hosts,
    Limits,
    Number,
    Origin,
    Payloads,
    Printed,
    Result,
    exact,
    printed,
    total_of,
)
from icmodel.ingest.source import Source, require

NAME = "iperf2"
_START = re.compile(
    r"^(?P<role>Client connecting to|Server listening on) .*(?P<protocol>TCP|UDP) port (?P<port>\d+)",
    re.M,
)
_CONNECTED = re.compile(
    r"^\[\s*\*?(?P<id>\d+)\] local (?P<local>[^\s%]+)\S* port (?P<port>\d+) connected with "
    r"(?P<remote>[^\s%]+)\S* port \d+(?P<tail>.*)$"
)
_ROW = re.compile(
    r"^\[\s*(?P<id>SUM|\*?\d+)\]\s+(?P<start>[0-9.]+)-\s*(?P<end>[0-9.]+) sec"
    r"\s+(?P<moved>[0-9.]+) (?P<moved_unit>[KMGT]?)Bytes"
    r"\s+(?P<rate>[0-9.]+) (?P<prefix>[KMGT]?)(?P<rate_unit>bits|Bytes)/sec"
    r"(?:.*?\s(?P<lost>\d+)/\s*(?P<of>\d+) \((?P<loss>[0-9.e+-]+)%\))?",
    re.M,
)
LAYOUT = Layout(start=_START, holds=_ROW)
_ENDS = re.compile(r"datagrams(?: received out-of-order)?\s*$")
"""Pattern of the end of a stream's line that is complete although it has no rate."""
_REPORT = re.compile(r"^\[.*\] Server Report:")
_DATAGRAM = re.compile(r"^Sending (\d+) byte datagrams(?:, IPG target: ([0-9.]+) us)?", re.M)
_BUFFER = re.compile(r"^Write buffer size: (\d+) (K?)Byte", re.M)
"""Pattern of the size of a write, if it is a whole number of Byte or KByte; a size in MByte is rounded."""
_VERSION = re.compile(r"\(peer ([0-9.]+)")
_LATE = re.compile(r"\s(\d+) datagrams received out-of-order")
_FAILED = re.compile(
    r"^(connect failed|write failed|read failed|.*WARNING: did not receive ack).*$", re.M
)
_CSV = re.compile(
    r"^[0-9:.+-]{14,},[0-9a-fA-F:.]+,\d+,[0-9a-fA-F:.]+,\d+,-?\d+,[0-9.]+-[0-9.]+,\d+,\d+"
    r"(?:,[0-9.]+,-?\d+,-?\d+,-?[0-9.]+(?:,-?\d+)?)?$",
    re.M,
)
TCP_FIELDS = 9
"""Number of fields in a line of iperf 2's CSV for TCP; a line for UDP has more fields."""
SLACK = 5e-3
"""Relative tolerance between a printed rate and the quotient bytes / seconds, beyond rounding.

The tolerance allows for parallel streams that do not end at the same time.
"""
CSV_SLACK = 0.02
"""Relative tolerance between the printed rate and the quotient of bytes and seconds in CSV.

They differ, since the seconds in CSV are the requested duration, and the rate is computed from the measured one.
"""
DIGITS = 3
"""The printed gap between datagrams gives the load only if the gap has at least this many significant digits."""
DEFAULT_BYTES, DEFAULT_BPS = {"tcp": 128 * 2**10, "udp": 1470}, 2.0**20
"""Defaults of iperf 2: the size of a write [B], by protocol, and the rate limit of UDP [b/s] (its manual)."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of iperf 2."""
    return _CSV.search(text) is not None or _START.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the results of a run of iperf 2: one for each direction, and for each client of a server.

    Raises
    ------
    RecordError
        If the run failed or was cut off.
    """
    text = source.text
    csv_results = read_csv(source) if _CSV.search(text) else []
    starts = list(_START.finditer(text))
    if csv_results and not starts:
        return csv_results
    if failed := _FAILED.search(text):
        raise RecordError(f"{source.place}: the run failed: iperf says “{failed[0].strip()}”")
    require(
        starts,
        f"{source.place}: the output has neither the head of a client nor that of a server: it is cut off",
    )
    last = source.lines[-1]
    if last.startswith("[") and not _ROW.match(last):
        check_last_line(source, _ENDS)
    results = []
    for group in _Group.split(source, _Head.of(starts)):
        require(
            group.rows, f"{source.place}: the output has no line of a result: the run was cut off"
        )
        group.check_complete(source.place)
        directions = {
            sends: [row for row in group.rows if group.sends(row) is sends]
            for sends in (True, False)
        }
        duplex = all(directions.values())
        for sends, rows in directions.items():
            # If both directions ran, [SUM] is the sum of both directions.
            taken = [row for row in rows if row["id"] != "SUM"] if duplex else rows
            if taken:
                results.append(group.result(source, taken, sends=sends, duplex=duplex))
    return [*results, *csv_results]


def _result(
    source: Source,
    protocol: str,
    numbers: Sequence[Number],
    *,
    payload: int | None,
    load: float | None = None,
    sent_bps: float,
    streams: int,
    hosts: Hosts,
    duplex: bool,
    payloads: Payloads | None,
    notes: Sequence[str],
    assumes_payload: bool,
) -> Result:
    """Make the result of one direction of a run of iperf 2.

    The output or ``-b`` states the load. Otherwise TCP is unlimited, and UDP's load comes from its sent rate.
    """
    limit = command_of(source, "iperf").amount("-b", "--bandwidth", small=1000, large=1024)
    if load is None and limit is not None:
        load = limit * streams
    pace = Pace(Labels(load_bps=math.inf))  # TCP is unlimited by default
    if protocol == "udp":
        pace = pace_of(sent_bps, DEFAULT_BPS * streams, "-b")
    default = Assumed("payload_bytes", DEFAULT_BYTES[protocol], "-l")
    return Result(
        origin=Origin(NAME, first_group(_VERSION, source.text), source.place),
        labels=Labels(
            protocol=protocol,
            payload_bytes=payload,
            load_bps=load,
            cores=1 if streams == 1 else None,
            options=dict(DUPLEX) if duplex else {},
        ),
        implied=replace(pace.implied, payload_bytes=payloads.only if payloads else None),
        assumed=(*pace.assumed, *([default] if assumes_payload else [])),
        numbers=tuple(numbers),
        hosts=hosts,
        streams=streams,
        limits=Limits(payloads=payloads),
        notes=(*notes, *(pace.notes if load is None else ())),
    )


def _typed_size(source: Source) -> int | None:
    """Size of a write or datagram that the command line of iperf 2 sets [B]; ``None`` without a size."""
    size = command_of(source, "iperf").amount("-l", "--len", small=1000, large=1024)
    return int(size) if size else None


def _before_loss(rate_bps: float, lost: int, of: int) -> float:
    """Compute the sent rate: the received rate divided by the fraction of packets that arrived.

    If no packet was sent or none arrived, this is impossible, and the result is the received rate.
    """
    return rate_bps / (1 - lost / of) if 0 <= lost < of else rate_bps


# --- text -------------------------------------------------------------------------------------


class _Head(NamedTuple):
    """Content of the first lines of a run of iperf 2.

    ``at_client`` tells whether a client wrote the output. With ``-d`` or ``-r``, the client also listens for the data
    from the server; ``listens`` is the port on which it listens, otherwise empty.
    """

    protocol: str
    at_client: bool
    listens: str

    @classmethod
    def of(cls, starts: Sequence[re.Match[str]]) -> _Head:
        """Read the first lines of a run, given as matches of the pattern for such lines.

        A run has one such line; with ``-d`` or ``-r`` it has two, since the host is both client and server.
        """
        at_client = any(start["role"].startswith("Client") for start in starts)
        ports = [start["port"] for start in starts if start["role"].startswith("Server")]
        listens = ports[0] if at_client and ports else ""
        return cls(starts[0]["protocol"].lower(), at_client, listens)


@dataclass(slots=True)
class _Group:
    """Lines of one run of iperf 2: connections by id, rows of this host, and rows that the other host reported."""

    head: _Head
    connections: dict[str, re.Match[str]] = field(default_factory=dict)
    rows: list[re.Match[str]] = field(default_factory=list)
    reports: list[re.Match[str]] = field(default_factory=list)

    @classmethod
    def split(cls, source: Source, head: _Head) -> Iterator[_Group]:
        """Split an output into runs; each run begins with the lines of its connections."""
        groups = [cls(head)]
        is_report = False
        for line in source.lines:
            connected, row = _CONNECTED.match(line), _ROW.match(line)
            if connected:
                if groups[-1].rows:
                    groups.append(cls(head))
                groups[-1].connections[connected["id"]] = connected
            elif _REPORT.match(line):
                is_report = True
            elif row:
                stream = row["id"].lstrip("*")
                own = (group for group in reversed(groups) if stream in group.connections)
                group = next(own, groups[-1])
                (group.reports if is_report else group.rows).append(row)
                is_report = False
        require(
            not is_report, f"{source.place}: a server's report has no line: the run was cut off"
        )
        yield from groups

    def check_complete(self, place: str) -> None:
        """Raise RecordError if the output was cut off.

        It was cut off if a connection or a direction has no result, or if the server reported only some of the
        connections. An output without any report of the server may be complete.
        """
        tails = "".join(one["tail"] for one in self.connections.values())
        directions = {self.sends(row) for row in self.rows if row["id"] != "SUM"}
        require(
            "(full-duplex)" not in tails or len(directions) == 2,
            f"{place}: one direction of --full-duplex has no line of a result: the run was cut off",
        )
        for rows, what in ((self.rows, "line of a result"), (self.reports, "server's report")):
            streams = {row["id"].lstrip("*") for row in rows}
            missing = sorted(set(self.connections) - streams, key=int)
            require(
                not streams or not missing,
                f"{place}: stream {', '.join(missing)} has no {what}: the run was cut off",
            )

    def sends(self, row: re.Match[str]) -> bool:
        """Whether the host that wrote a row was the sender, so that the row counts sent data."""
        connection = self.connections.get(row["id"].lstrip("*"))
        if connection is not None and self.head.listens:
            return connection["port"] != self.head.listens
        tails = "".join(one["tail"] for one in self.connections.values())
        is_reverse = row["id"].startswith("*") or (
            "(full-duplex)" not in tails and "(reverse)" in tails
        )
        return self.head.at_client != is_reverse

    def result(
        self, source: Source, rows: Sequence[re.Match[str]], *, sends: bool, duplex: bool
    ) -> Result:
        """Make the result of one direction of this run from its rows."""
        text, protocol = source.text, self.head.protocol
        whole, streams = _Sum.whole(rows, duplex=duplex)
        notes = ["iperf 2 prints three digits in its text: -y C prints more"]

        # The size is printed by -e, set by -l, or computed from a server's counts.
        size, load = None, None
        if protocol == "udp" and (datagram := _DATAGRAM.search(text)):
            size, gap = int(datagram[1]), datagram[2] or ""
            if len(gap.replace(".", "").lstrip("0")) >= DIGITS:
                load = float(streams * round(Decimal(8 * size) / (Decimal(gap) * MICRO)))
        elif protocol == "tcp" and (buffer := _BUFFER.search(text)):
            size = int(buffer[1]) * (1024 if buffer[2] else 1)
        size = size or _typed_size(source)
        payloads = None
        if size is None and whole.lost and whole.lost[1] > whole.lost[0]:
            arrived = whole.lost[1] - whole.lost[0]
            late = sum(int(count) for count in _LATE.findall(text))  # not among `arrived`
            low, high = whole.moved.low / 8, whole.moved.high / 8
            counts = f"iperf says {(high + low) / 2:.6g} B in {arrived} datagrams"
            payloads = Payloads(low / (arrived + late), high / arrived, counts)

        if sends and self.reports:
            numbers = _Sum.total([_Sum.of(row) for row in self.reports]).received(size, protocol)
            numbers.append(Number.read("sent_bps", whole.rate, SENDER))
        elif sends and protocol == "udp":
            numbers = [Number.read("sent_bps", whole.rate, SENDER)]
            notes.append("the server's report is missing, so the goodput is unknown")
        elif sends:
            numbers = [Number.read("goodput_bps", whole.rate, SENDER)]
            notes.append(
                "a client counts the bytes written to its socket, up to one window more than arrived"
            )
        else:
            numbers = whole.received(size, protocol)
        if "Latency avg" in text:
            notes.append(
                "one-way latency needs synchronised clocks, which iperf does not check: not used"
            )

        # The hosts are known if all connections are between the same two hosts.
        pairs = {(one["local"], one["remote"]) for one in self.connections.values()}
        local, remote = pairs.pop() if len(pairs) == 1 else ("", "")
        return _result(
            source,
            protocol,
            numbers,
            payload=size,
            load=load,
            sent_bps=_before_loss(whole.rate.value, *(whole.lost or (0, 1))),
            streams=streams,
            hosts=Hosts(local, remote) if sends else Hosts(remote, local),
            duplex=duplex,
            payloads=payloads,
            notes=notes,
            assumes_payload=payloads is None or payloads.fits(DEFAULT_BYTES[protocol]),
        )


class _Sum(NamedTuple):
    """Counts of a stream over a whole run of iperf 2: seconds, bits, rate [b/s], and datagrams lost and sent."""

    seconds: Printed
    moved: Printed
    rate: Printed
    lost: tuple[int, int] | None

    @classmethod
    def of(cls, row: re.Match[str]) -> _Sum:
        """Read the counts of one line; Kbits are 1000 bits, KBytes are 1024 bytes, and so on."""
        lost = (int(row["lost"]), int(row["of"])) if row["lost"] else None
        if lost:
            check_loss(printed(row["loss"]), *lost, f"the line up to {row['end']} s")
        seconds = printed(row["end"])
        moved = printed(row["moved"], 8 * 1024 ** " KMGT".index(row["moved_unit"] or " "))
        power = " KMGT".index(row["prefix"] or " ")
        unit = 1000**power if row["rate_unit"] == "bits" else 8 * 1024**power
        rate = printed(row["rate"], unit)
        if seconds.value > 0:
            what = f"{row['moved']} {row['moved_unit']}Bytes in {row['end']} s"
            check_rate(rate, moved / seconds, what, SLACK)
        return cls(seconds, moved, rate, lost)

    @classmethod
    def whole(cls, rows: Sequence[re.Match[str]], *, duplex: bool) -> tuple[_Sum, int]:
        """Sum of all streams over the whole run, and the number of streams.

        With ``duplex``, no line gives the sum of the streams of one direction, so the streams are added. Otherwise the
        printed sum is used and checked.
        """
        last = max(float(row["end"]) for row in rows)
        whole = [row for row in rows if float(row["start"]) == 0 and float(row["end"]) > last / 2]
        streams = {row["id"]: row for row in whole if row["id"] != "SUM"}
        sums = [row for row in whole if row["id"] == "SUM"]
        require(whole, "the output has no line over the whole run: the run was cut off")
        if duplex:
            return cls.total([cls.of(row) for row in streams.values()]), len(streams)
        if sums or len(streams) > 1:
            require(
                sums and len(streams) > 1,
                "the output lacks the line [SUM] or the lines of its streams: it was cut off",
            )
            parts = cls.total([cls.of(row) for row in streams.values()])
            require(
                cls.of(sums[-1]).moved.overlaps(parts.moved, SLACK),
                f"[SUM] has {sums[-1]['moved']} {sums[-1]['moved_unit']}Bytes, but the total of its {len(streams)} "
                "streams differs: a line is missing or was changed",
            )
            whole = sums
        return cls.of(max(whole, key=lambda row: float(row["end"]))), max(len(streams), 1)

    @classmethod
    def total(cls, sums: Sequence[_Sum]) -> _Sum:
        """Add parallel streams; the loss of the sum is known only if the loss of each stream is known."""
        lost = [one.lost for one in sums if one.lost is not None]
        seconds = max((one.seconds for one in sums), key=lambda time: time.value)
        moved, rate = total_of([one.moved for one in sums]), total_of([one.rate for one in sums])
        total = (sum(one for one, _ in lost), sum(of for _, of in lost))
        return cls(seconds, moved, rate, total if len(lost) == len(sums) else None)

    def received(self, size: int | None, protocol: str) -> list[Number]:
        """Make the goodput and, for UDP, the loss that a receiver counted.

        UDP's goodput is printed, and also follows from the count of datagrams and their size ``size`` [B]. The one with
        the smaller rounding error is used.
        """
        require(
            protocol != "udp" or self.lost is not None,
            "the line of a receiver of UDP has no losses: the output was cut off or changed",
        )
        numbers, rate = [], self.rate
        if self.lost is not None:
            lost, of = self.lost
            if of:
                numbers.append(Number("loss_rate", lost / of, RECEIVER))
            if size is not None and self.seconds.value > 0:
                counted = exact(8.0 * size * (of - lost)) / self.seconds
                what = f"{of - lost} datagrams of {size} B in {self.seconds.value:g} s"
                check_rate(rate, counted, what, SLACK)
                rate = rate.finer(counted)
        return [*numbers, Number.read("goodput_bps", rate, RECEIVER)]


# --- CSV --------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """Line of iperf 2's CSV (``-y C``), with its fields as texts; the counts of datagrams are empty for TCP."""

    time: str
    local: str
    local_port: str
    remote: str
    remote_port: str
    stream: str
    interval: str
    moved: str
    rate: str
    jitter: str = ""
    lost: str = ""
    of: str = ""
    loss: str = ""
    late: str = "0"

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of the interval that the line covers [s]."""
        start, _, end = self.interval.partition("-")
        return float(start), float(end)


def read_csv(source: Source) -> list[Result]:
    """Read the results of iperf 2's CSV (``-y C``): one for each run and direction.

    Raises
    ------
    RecordError
        If a line was changed, or no line covers the whole run.
    """
    if source.lines[-1][:1].isdigit():
        check_last_line(source)
    lines = []
    for number, text in source.numbered():
        if _CSV.match(text):
            lines.append(_Line(*text.split(",")))
        else:
            require(
                text.count(",") < TCP_FIELDS - 2,
                f"line {number}: {text!r} is not a line of -y C: the output was cut off or changed",
            )
    widths = {text.count(",") for text in source.lines if _CSV.match(text)}
    require(len(widths) == 1, "the lines differ in their number of fields: one was cut off")
    last = max(line.span[1] for line in lines)
    whole = [
        line
        for line in lines
        if line.span[0] == 0 and line.span[1] > last / 2 and line.stream != "-1"
    ]
    require(whole, "the output has no line over the whole run: the run was cut off")

    # If the id of a stream occurs again, the next run begins.
    runs: list[list[_Line]] = [[]]
    for line in whole:
        if line.stream in {one.stream for one in runs[-1]}:
            runs.append([])
        runs[-1].append(line)

    # With -d or -r, the client receives on the port on which it listens.  Lines of a single direction count as sent,
    # whichever end wrote them.  UDP reports name the server's end first, so they do not distinguish directions.
    results = []
    for run in runs:
        ports = {line.local_port for line in run} & {line.remote_port for line in run}
        if len(ports) != 1 or run[0].of:
            results.append(_csv_result(source, run))
            continue
        sent = [line for line in run if line.local_port not in ports]
        received = [line for line in run if line.local_port in ports]
        ends = [datetime.strptime(one[0].time[:14], "%Y%m%d%H%M%S") for one in (sent, received)]
        duplex = abs((ends[1] - ends[0]).total_seconds()) < sent[0].span[1] / 2
        client, server = sent[0].local, sent[0].remote
        results.append(_csv_result(source, sent, Hosts(client, server), duplex=duplex))
        results.append(
            _csv_result(source, received, Hosts(server, client), sends=False, duplex=duplex)
        )
    return results


def _csv_result(
    source: Source,
    lines: Sequence[_Line],
    hosts: Hosts | None = None,
    *,
    sends: bool = True,
    duplex: bool = False,
) -> Result:
    """Make the result of one direction from the CSV lines of its streams.

    A client of UDP may not know how much arrived; then the result has only the sent rate.
    """
    for line in lines:
        seconds = printed(line.interval.partition("-")[2])
        if seconds.value > 0:
            counted = exact(8.0 * int(line.moved)) / seconds
            check_rate(
                printed(line.rate), counted, f"{line.moved} B in {line.interval} s", CSV_SLACK
            )
    protocol = "udp" if lines[0].of else "tcp"
    rate = sum(float(line.rate) for line in lines)
    lost, of = (
        sum(int(line.lost or 0) for line in lines),
        sum(int(line.of or 0) for line in lines),
    )
    size, notes = None, []
    if of > 0:
        for line in lines:
            check_loss(printed(line.loss), int(line.lost), int(line.of), f"stream {line.stream}")
        arrived = of - lost + sum(int(line.late) for line in lines)
        moved = sum(int(line.moved) for line in lines)
        size = moved // arrived if arrived and moved % arrived == 0 else None
        numbers = [
            Number("loss_rate", lost / of, RECEIVER),
            Number("goodput_bps", rate, RECEIVER),
        ]
    elif protocol == "udp":
        numbers = [Number("sent_bps", rate, SENDER)]
    else:
        numbers = [Number("goodput_bps", rate, SENDER if sends else RECEIVER)]
        if hosts is None:
            notes.append(
                "the lines do not name the end that counted: a client counts up to one window more than arrived"
            )
    return _result(
        source,
        protocol,
        numbers,
        payload=size or _typed_size(source),
        sent_bps=_before_loss(rate, lost, of),
        streams=len(lines),
        hosts=hosts or Hosts(),
        duplex=duplex,
        payloads=None,
        notes=notes,
        assumes_payload=not of,
    )
