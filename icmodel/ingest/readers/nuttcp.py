"""nuttcp: its one line a run, with ``-i`` or without, and ``-fparse``.

MB are 2^20 B while Mbps are 10^6 b/s. %TX and %RX are of the process in whole per cent; under a
rate limit the sender spins, so %TX of UDP, which has a limit unless told otherwise, is not taken.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import Pace, check_loss, check_rate, over, pace_of
from icmodel.ingest.readers.table import Layout
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Assumed,
    Limits,
    Number,
    Origin,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source

NAME = "nuttcp"
LAYOUT = Layout()
MEBIBYTE = 2**20
DEFAULT_BYTES, DEFAULT_BPS = 2**16, 1e6
"""Size of a write to TCP, and rate limit of UDP, unless told otherwise (nuttcp's manual)."""
SLACK = 5e-3
"""How far the rate and bytes over seconds may lie apart beside what is rounded."""
TINY = 1e-12
"""What a division may be off in the last places."""
_LINE = re.compile(
    r"^\s*(?P<mb>[0-9.]+) MB /\s*(?P<s>[0-9.]+) sec =\s*(?P<mbps>[0-9.]+) Mbps(?P<rest>.*)$"
)
_PARSED = re.compile(r"^\s*megabytes=(?P<mb>[0-9.]+) real_seconds=(?P<s>[0-9.]+)(?P<rest>.*)$")
_CPU = re.compile(r"(?P<tx>\d+) %TX\s+(?P<rx>\d+) %RX")
_DROPS = re.compile(r"(?P<drop>\d+) /\s*(?P<pkt>\d+) drop/pkt(?:\s+(?P<loss>[0-9.]+) %loss)?")
_COMMAND = re.compile(r"(?:^|\s)nuttcp\s+(?P<options>-.*)$")
_HEADING = re.compile(r"[ \t]*[#=*~]")
"""A line behind which a command typed before says nothing."""
_LENGTH = re.compile(r"-l\s*(?P<size>\d+)(?P<unit>[kKmM]?)\b")
_RATE = re.compile(r"-R(?:u|(?:i\s*)?(?P<rate>\d+(?:\.\d+)?)(?P<unit>[kKmMgG]?))\b")
"""A rate limit; 0 and u are none."""
_STREAMS = re.compile(r"-N\s*(?P<count>\d+)\b")
_MARK = re.compile(
    r"^[ \t]*[0-9.]+ \w?B /\s*[0-9.]+ sec =|^megabytes=[0-9.]+ real_seconds=|^nuttcp-[tr]:",
    re.M,
)


def recognises(text: str) -> bool:
    """Whether a text looks like output of nuttcp."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a file: every line that ends a run.

    Raises
    ------
    RecordError
        If there is none.
    """
    results = []
    told = _Told()
    for number, text in source.numbered():
        if found := _COMMAND.search(text):
            told = _told(found["options"])
        elif _HEADING.match(text):
            told = _Told()
        line = _line(text, number)
        if line is not None:
            results.append(_result(line, told))
    if not results:
        raise RecordError(
            "it has no line with %TX and %RX, which ends a run of nuttcp: interval lines alone and "
            "the old style of -v are no result"
        )
    return results


class _Told(NamedTuple):
    """What the command line says: payload [B], load [b/s] and parallel streams."""

    payload: int | None = None
    load: float | None = None
    streams: int = 1


class _Line(NamedTuple):
    """A line that ends a run: its number, what it prints, and of UDP the packets lost and sent."""

    number: int
    mebibytes: str
    seconds: str
    mbps: str
    tx: int
    rx: int
    counts: tuple[int, int] | None


def _line(text: str, number: int) -> _Line | None:
    """A line that ends a run in either form; none where it is no such line."""
    if (parsed := _PARSED.match(text)) is not None:
        return _parsed(parsed, number)
    final = _LINE.match(text)
    cpu = _CPU.search(final["rest"]) if final else None
    if final is None or cpu is None:
        return None
    drops = _DROPS.search(final["rest"])
    if drops is None and "drop" in final["rest"]:
        raise RecordError(
            f"line {number}: its packets lost and sent are no numbers: it was changed"
        )
    counts = _counts(drops["drop"], drops["pkt"], drops["loss"], number) if drops else None
    tx, rx = int(cpu["tx"]), int(cpu["rx"])
    return _Line(number, final["mb"], final["s"], final["mbps"], tx, rx, counts)


def _parsed(line: re.Match[str], number: int) -> _Line:
    pairs = dict(re.findall(r"(\w+)=([0-9.]+)", line["rest"]))
    udp = ("drop", "pkt") if " drop=" in line["rest"] or " pkt=" in line["rest"] else ()
    needed = ("rate_Mbps", "tx_cpu", "rx_cpu", *udp)
    missing = [key for key in needed if key not in pairs]
    if missing:
        raise RecordError(f"line {number} has no {missing[0]}: the line is cut off")
    loss = pairs.get("data_loss")
    counts = _counts(pairs["drop"], pairs["pkt"], loss, number) if "pkt" in pairs else None
    tx, rx = int(pairs["tx_cpu"]), int(pairs["rx_cpu"])
    return _Line(number, line["mb"], line["s"], pairs["rate_Mbps"], tx, rx, counts)


def _counts(lost: str, of: str, loss: str | None, number: int) -> tuple[int, int]:
    """Packets lost and sent, held against the loss in per cent."""
    counts = (int(lost), int(of))
    if counts[1] == 0:
        raise RecordError(f"line {number} counts no packet: the run failed")
    said = exact(100 * counts[0] / counts[1]) if loss is None else printed(loss)
    check_loss(said, *counts, f"line {number}")
    return counts


def _check(line: _Line) -> None:
    """Hold the rate of a line against its bytes and seconds."""
    seconds = printed(line.seconds, cut=True)
    if seconds.value > 0:
        moved = over(printed(line.mebibytes, MEBIBYTE), seconds)
        what = f"line {line.number}: {line.mebibytes} MB of 2^20 B in {line.seconds} s"
        check_rate(printed(line.mbps, 10**6), moved, what, SLACK)


def _result(line: _Line, told: _Told) -> Result:
    """The result of a line, with what the command line says besides."""
    _check(line)
    pace = Pace(Labels(load_bps=math.inf), (Assumed("payload_bytes", DEFAULT_BYTES, "-l"),))
    payload, counts = told.payload, line.counts
    numbers = [Number.read("goodput_bps", printed(line.mbps, 10**6), RECEIVER)]
    notes = ["the round trip and retransmissions are of the connection, not of frames: not taken"]
    if counts is None and told.load in (None, math.inf):
        numbers.append(_cpu("cpu_send_process_cores", line.tx))
    else:
        notes.append(
            "%TX is not taken: a sender keeps its rate by spinning, and UDP has a rate unless told "
            "otherwise, so it says what the waiting costs"
        )
    if counts is not None:
        payload = _agreed(_payload(line.mebibytes, counts), payload, line.number)
        numbers.append(Number("loss_rate", counts[0] / counts[1], RECEIVER))
        sent = float(line.mbps) * 1e6 / max(1 - counts[0] / counts[1], TINY)
        pace = pace_of(sent, DEFAULT_BPS, "-R")
    numbers.append(_cpu("cpu_recv_process_cores", line.rx))
    return Result(
        origin=Origin(NAME, "", f"line {line.number}"),
        labels=Labels(
            protocol="udp" if counts else "tcp",
            payload_bytes=payload,
            load_bps=told.load,
            cores=1 if told.streams == 1 else None,
        ),
        unless=pace.unless,
        assumed=pace.assumed,
        numbers=tuple(numbers),
        streams=told.streams,
        limits=Limits(most_cores=1.1),
        notes=(*notes, *(pace.notes if told.load is None else ())),
    )


def _cpu(metric: str, percent: int) -> Number:
    side = SENDER if "send" in metric else RECEIVER
    low, high = max(percent - 0.5, 0) / 100, (percent + 0.5) / 100
    return Number(
        metric, percent / 100, side, low=low, high=high, quality="whole per cent", half=0.005
    )


def _agreed(counted: int | None, told: int | None, number: int) -> int | None:
    """The size of a datagram that bytes and packets make, held against that of the command line."""
    if counted is not None and told is not None and counted != told:
        raise RecordError(
            f"line {number}: its bytes and packets are of {counted} B each, and the command line says {told}: "
            "a number was changed"
        )
    return counted or told


def _payload(mebibytes: str, counts: tuple[int, int]) -> int | None:
    """The size of a datagram, if one whole number alone explains the bytes that arrived."""
    arrived = counts[1] - counts[0]
    if arrived <= 0:
        return None
    moved = printed(mebibytes, MEBIBYTE) * (1 / arrived)
    first, last = math.ceil(moved.low * (1 - TINY)), math.floor(moved.high * (1 + TINY))
    if first == last:
        return first
    powers = [2**power for power in range(17) if first <= 2**power <= last]
    return powers[0] if len(powers) == 1 else None


def _told(command: str) -> _Told:
    length, rate, streams = (found.search(command) for found in (_LENGTH, _RATE, _STREAMS))
    scales = {"": 1, "k": 1024, "m": MEBIBYTE}
    payload = int(length["size"]) * scales[length["unit"].lower()] if length else None
    # A bare number after -R is in kb/s.
    speeds = {"": 1e3, "k": 1e3, "m": 1e6, "g": 1e9}
    load = float(rate["rate"] or 0) * speeds[(rate["unit"] or "").lower()] if rate else None
    return _Told(payload, math.inf if load == 0 else load, int(streams["count"]) if streams else 1)
