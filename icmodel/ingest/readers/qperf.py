"""qperf: tcp_bw, udp_lat and their kin, short or verbose.

Prefixes of its units are of 1000, of its sizes as it spells them. Numbers have three digits: the
range they leave open goes along. A latency is half a round trip. CPU is of the whole host, in
per cent of one core.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Result, Side
from icmodel.ingest.source import Source

NAME = "qperf"
_TEST = re.compile(r"^((?:tcp|udp|sctp|rds|sdp|rc|uc|ud|xrc)_(?:\w+_)?(?:bw|lat)):\s*$", re.M)
_LINE = re.compile(r"^\s+(\w+)\s+=\s+(.*?)\s*$", re.M)
_VALUE = re.compile(r"([0-9][0-9,.]*)\s*(.*)")
_EXACT = re.compile(r"\(([0-9,]+)\)")
PREFIXES = {"": Decimal(1), "K": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
TIMES = {"ns": -9, "us": -6, "ms": -3, "sec": 0}
PROTOCOLS = ("tcp", "udp", "sctp", "rds")
CPU: tuple[tuple[str, str, Side], ...] = (
    ("send_cpus_used", "cpu_send_cores", SENDER),
    ("recv_cpus_used", "cpu_recv_cores", RECEIVER),
    ("loc_cpus_used", "cpu_send_cores", SENDER),
    ("rem_cpus_used", "cpu_recv_cores", RECEIVER),
)


def recognises(text: str) -> bool:
    """Whether a text looks like output of qperf."""
    return _TEST.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a file: one for each test in it.

    Raises
    ------
    RecordError
        If a test has no value, or is of no socket.
    """
    found = list(_TEST.finditer(source.text))
    if not found:
        raise RecordError("it has no line such as 'tcp_bw:', which begins a test of qperf")
    ends = [*(test.start() for test in found[1:]), len(source.text)]
    return [
        _result(test[1], dict(_LINE.findall(source.text[test.end() : end])), number)
        for number, (test, end) in enumerate(zip(found, ends, strict=True), start=1)
    ]


def _result(test: str, lines: Mapping[str, str], number: int) -> Result:
    protocol, _, what = test.partition("_")
    if protocol not in PROTOCOLS or what not in ("bw", "lat"):
        raise RecordError(f"test {number}, {test}, is of RDMA: use perftest for it")
    notes = ["numbers have three digits: low and high are what the rounding leaves open"]
    if what == "lat":
        numbers = [_required(lines, "latency", "rtt_half_mean_s", BOTH)]
        notes.append("latency is half a round trip, not a one-way measurement")
    else:
        numbers = _bandwidth(lines)
    numbers += [_read(lines[key], name, side) for key, name, side in CPU if key in lines]
    if any(part.metric.startswith("cpu_") for part in numbers):
        notes.append("CPU is of the whole host in busy cores, whatever else ran on it")
    return Result(
        tool=NAME,
        version="",
        place=f"test {number}",
        labels=Labels(
            protocol=protocol,
            payload_bytes=_size(lines),
            load_bps=math.inf if what == "bw" else None,
            cores=1,
        ),
        numbers=tuple(numbers),
        notes=tuple(notes),
    )


def _bandwidth(lines: Mapping[str, str]) -> list[Number]:
    if "recv_bw" in lines:
        sent = _required(lines, "send_bw", "sent_bps", SENDER)
        numbers = [_required(lines, "recv_bw", "goodput_bps", RECEIVER), sent]
        counts = [_count(lines.get(key, "")) for key in ("send_msgs", "recv_msgs")]
        if counts[0] and counts[1] is not None and counts[1] <= counts[0]:
            numbers.append(Number("loss_rate", 1 - counts[1] / counts[0], BOTH))
    else:
        numbers = [_required(lines, "bw", "goodput_bps", RECEIVER)]
    if "msg_rate" in lines:
        numbers.append(_read(lines["msg_rate"], "frames_per_s", RECEIVER))
    return numbers


def _required(lines: Mapping[str, str], key: str, metric: str, side: Side) -> Number:
    if key not in lines:
        raise RecordError(f"a test has no line {key!r}: the run failed or was cut off")
    return _read(lines[key], metric, side)


def _read(text: str, metric: str, side: Side) -> Number:
    """A number with its unit, and the range its rounding leaves open."""
    found = _VALUE.fullmatch(text)
    if found is None:
        raise RecordError(f"{text!r} is no value of qperf")
    digits, unit = found[1].replace(",", ""), found[2]
    half = Decimal((0, (5,), -len(digits.partition(".")[2]) - 1))
    value, scale = Decimal(digits), _scale(unit, text)
    low, high = max(value - half, Decimal(0)) * scale, (value + half) * scale
    return Number(metric, float(value * scale), side, float(low), float(high))


def _scale(unit: str, text: str) -> Decimal:
    if unit in TIMES:
        return Decimal(1).scaleb(TIMES[unit])
    if unit == "% cpus":
        return Decimal("0.01")
    found = re.fullmatch(r"([KMG]?)(B|bytes|b|bits)?/sec", unit.replace(" ", ""))
    if found is None:
        raise RecordError(f"{text!r} has a unit that icmodel does not know")
    return PREFIXES[found[1]] * (8 if found[2] in ("B", "bytes") else 1)


def _size(lines: Mapping[str, str]) -> int | None:
    text = lines.get("msg_size", "")
    exact = _EXACT.search(text) or re.match(r"([0-9,]+) (?:bytes|B)$", text)
    return int(exact[1].replace(",", "")) if exact else None


def _count(text: str) -> int | None:
    """A whole count; none where it is rounded, such as ``1.23 million``."""
    digits = text.strip().replace(",", "")
    return int(digits) if digits.isdigit() else None
