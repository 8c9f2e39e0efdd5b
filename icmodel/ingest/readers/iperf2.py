"""iperf 2: its text, and the lines of ``-y C``.

Bits are in units of 10^6 and 10^9, MBytes are 2^20 B. Of several lines of a stream the one over the
whole run counts; of parallel streams their sum. A client of UDP repeats the server's report, from which
goodput and loss are taken. One-way latency of ``-e`` needs clocks that agree: not taken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import MICRO, Printed, exact, printed
from icmodel.ingest.readers.agreement import check_loss, check_rate
from icmodel.ingest.readers.iperf2_csv import NAME, is_csv, of_csv
from icmodel.ingest.readers.sections import told
from icmodel.ingest.result import RECEIVER, SENDER, Limits, Number, Origin, Payloads, Result
from icmodel.ingest.source import Source

__all__ = ["NAME", "read", "recognises"]

_START = re.compile(r"^(Client connecting to|Server listening on) .*(TCP|UDP) port", re.M)
_ROW = re.compile(
    r"^\[\s*(SUM|\*?\d+)\]\s+([0-9.]+)-\s*([0-9.]+) sec\s+([0-9.]+) ([KMGT]?)Bytes\s+"
    r"([0-9.]+) ([KMGT]?)(bits|Bytes)/sec(?:.*?\s(\d+)/\s*(\d+) \(([0-9.e+-]+)%\))?",
    re.M,
)
_REPORT = re.compile(r"^\[.*\] Server Report:", re.M)
_DATAGRAM = re.compile(r"^Sending (\d+) byte datagrams(?:, IPG target: ([0-9.]+) us)?", re.M)
_BUFFER = re.compile(r"^Write buffer size: (\d+) (K?)Byte", re.M)
"""A whole number; in MByte it is rounded."""
_VERSION = re.compile(r"\(peer ([0-9.]+)")
_LATE = re.compile(r"\s(\d+) datagrams received out-of-order")
_BOTH_WAYS = re.compile(r"\(full-duplex\)|\(bidir\)")
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
    """The result of a file: one run, with all its streams.

    Raises
    ------
    RecordError
        If a run failed, went both ways, or says several things at once.
    """
    text = source.text
    if is_csv(text):
        return [of_csv(source.lines)]
    if failed := _FAILED.search(text):
        raise RecordError(f"the run failed: iperf says “{failed[0].strip()}”")
    starts = list(_START.finditer(text))
    if len(starts) > 1 or _BOTH_WAYS.search(text):
        raise RecordError(
            "it holds several runs, or both ends sent at once (-d, -r, --full-duplex): keep one way of "
            "one run in a file"
        )
    if not starts:
        raise RecordError("it has neither head, of a client or of a server: it is cut off")
    at_client = starts[0][1].startswith("Client")
    sends = at_client != ("(reverse)" in text)
    return [_of_text(text, starts[0][2].lower(), sends=sends)]


@dataclass(frozen=True, slots=True)
class _Line:
    """The line over a whole run: seconds, bits, rate [b/s], datagrams lost of how many."""

    seconds: Printed
    moved: Printed
    rate: Printed
    lost: tuple[int, int] | None


# --- text -------------------------------------------------------------------------------------


def _of_text(text: str, protocol: str, *, sends: bool) -> Result:
    own, reports = _reports(text)
    lines, streams = _whole(own)
    numbers: list[Number] = []
    notes = ["text of iperf 2 has three digits: -y C has more"]
    size, load = _datagrams(text, streams) if protocol == "udp" else (_buffer(text), None)
    if reports:
        numbers += _received(_together(reports), size, protocol)
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
    return Result(
        origin=Origin(NAME, told(_VERSION, text), "the whole run"),
        labels=Labels(
            protocol=protocol,
            payload_bytes=size,
            load_bps=load,
            cores=1 if streams == 1 else None,
        ),
        unless=Labels(  # TCP goes as fast as it can unless told otherwise, which is not said
            load_bps=math.inf if protocol == "tcp" else None,
            payload_bytes=payloads.only if payloads else None,
        ),
        numbers=tuple(numbers),
        streams=streams,
        limits=Limits(payloads=payloads),
        notes=tuple(notes),
    )


def _open_payloads(line: _Line, text: str) -> Payloads | None:
    """What the bytes and datagrams of a server leave open; those out of order are in its bytes alone."""
    if line.lost is None or line.lost[1] <= line.lost[0]:
        return None
    arrived = line.lost[1] - line.lost[0]
    late = sum(int(count) for count in _LATE.findall(text))
    low, high = line.moved.low / 8, line.moved.high / 8
    said = f"iperf says {(high + low) / 2:.6g} B in {arrived} datagrams"
    return Payloads(low / (arrived + late), high / arrived, said)


def _reports(text: str) -> tuple[str, list[_Line]]:
    """What a client prints of its own, and the server's report of each stream."""
    found, own, end = [], [], 0
    for report in _REPORT.finditer(text):
        row = _ROW.search(text, report.end())
        if row is None:
            raise RecordError("a server's report has no line: the run was cut off")
        found.append(_line(row))
        own.append(text[end : report.start()])
        end = row.end()
    return "".join((*own, text[end:])), found


def _together(lines: Sequence[_Line]) -> _Line:
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


def _whole(text: str) -> tuple[_Line, int]:
    """The line over the whole run, of parallel streams their sum, and how many streams there are."""
    rows = list(_ROW.finditer(text))
    if not rows:
        raise RecordError("it has no line of a result: the run was cut off")
    last = max(float(row[3]) for row in rows)
    every = [row for row in rows if float(row[2]) == 0 and float(row[3]) > last / 2]
    streams = {row[1]: row for row in every if row[1] != "SUM"}
    sums = [row for row in every if row[1] == "SUM"]
    if sums or len(streams) > 1:
        _check_sum(sums, list(streams.values()))
        every = sums
    if not every:
        raise RecordError("it has no line over the whole run: the run was cut off")
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
