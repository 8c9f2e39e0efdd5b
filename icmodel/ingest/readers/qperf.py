"""Reader of qperf 0.4.11: tcp_bw, udp_lat and similar tests, short or verbose.

Prefixes of units are powers of 1000.  A size in KiB is followed by the exact number of bytes.  Numbers have three
digits, so each number has an interval: the values that round to it.  A latency is half a round trip.  CPU numbers cover
the whole host, in per cent of one core.  Each test has its own default message size.  If no message size is printed,
the printed bytes and messages give an interval for it.  ::

    tcp_bw:
        bw          =      211 MB/sec
        msg_rate    =      206 K/sec
        msg_size    =        1 KiB (1,024)
        send_bytes  =      213 MB
        send_msgs   =  207,702
        recv_bytes  =      213 MB
        recv_msgs   =  207,700
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    check_last_line,
    command_of,
    first_group,
    refuse_sum,
)
from icmodel.ingest.result import (
    BOTH,
    RECEIVER,
    SENDER,
    Assumed,
    Limits,
    NotTakenError,
    Number,
    Origin,
    Payloads,
    Printed,
    Result,
    Side,
    exact,
    printed,
)
from icmodel.ingest.source import Source, require

NAME = "qperf"
_TEST = re.compile(r"^((?:tcp|udp|sctp|rds|sdp|rc|uc|ud|xrc)_(?:\w+_)?(?:bw|lat)):\s*$", re.M)
_LINE = re.compile(r"^\s*(\w+)\s+=\s+(.*?)\s*$", re.M)
LAYOUT = Layout(start=_TEST, thousands=True)
_ALIGNED = re.compile(r"^\s*(?P<name>\w+)(?P<space> +)= ", re.M)
_UNIT_ENDS = re.compile(r"[A-Za-z)]\s*$|:\s*$")
"""Pattern of a complete last line: a number in front of its unit."""
_VALUE = re.compile(r"([0-9][0-9,.]*)\s*(.*)")
_EXACT = re.compile(r"\(([0-9,]+)\)")
_SPEED = re.compile(r"([KMG]?)(B|bytes|b|bits)?/sec")
SLACK = 0.01
"""Relative tolerance between the latency and the message rate of a test, beyond rounding."""
PREFIXES = {"": Decimal(1), "K": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
SIZES = {"bytes": 0, "KB": 3, "MB": 6, "GB": 9, "TB": 12}
COUNTS = {"": 0, "million": 6, "billion": 9, "trillion": 12}
COUNTED = ("send", "recv", "loc_send", "loc_recv", "rem_send", "rem_recv")
TIMES = {"ns": -9, "us": -6, "ms": -3, "sec": 0}
PROTOCOLS = ("tcp", "udp", "sctp", "rds")
DEFAULTS = {"tcp_bw": 2**16, "udp_bw": 2**15, "sctp_bw": 2**16}
"""Default message size of each bandwidth test of qperf [B]; a latency test has 1 B by default (its manual)."""
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
    """Read the result of a run of qperf, which is one test.

    Raises
    ------
    RecordError
        If the test has no value, or does not use sockets.
    """
    test = first_group(_TEST, source.text)
    require(test, "the output has no line such as 'tcp_bw:', which begins a test of qperf")
    refuse_sum(NAME, test, source.place)
    protocol, _, kind = test.partition("_")
    if protocol not in PROTOCOLS or kind not in ("bw", "lat"):
        raise NotTakenError(
            f"{source.place}: {test} is an RDMA test, which icmodel does not read: measure with perftest"
        )
    _check_complete(source)
    lines = dict(_LINE.findall(source.text))

    # The message size is printed or set by the command line; otherwise the default, if the counts allow it.
    size: float | None
    size_text = lines.get("msg_size", "")
    if match := _EXACT.search(size_text) or re.match(r"([0-9,]+) (?:bytes|B)$", size_text):
        size = int(match[1].replace(",", ""))
    else:
        size = command_of(source, NAME).amount("-m", "--msg_size", small=1000, large=1024)
    payloads = _payloads(test, lines)
    if size is not None and payloads is not None and not payloads.fits(int(size)):
        raise RecordError(
            f"{source.place}: {payloads.counts}, so payload_bytes is {payloads}, but msg_size is "
            f"{int(size)}: the output contradicts itself, so measure again"
        )
    default = DEFAULTS.get(test, 1 if kind == "lat" else None)
    is_possible = default is not None and (payloads is None or payloads.fits(default))

    if kind == "lat":
        numbers = [_number(lines, "latency", "rtt_half_mean_s", BOTH)]
        if "msg_rate" in lines:
            rate = _number(lines, "msg_rate", "frames_per_s", BOTH).printed
            require(
                (rate * numbers[0].printed).overlaps(exact(1.0), SLACK),
                f"{source.place}: the message rate of {lines['msg_rate']} contradicts {lines['latency']} "
                "each way: a number or a unit was changed",
            )
    else:
        numbers = _bandwidth(lines)
    numbers += [_number(lines, key, metric, side) for key, metric, side in CPU if key in lines]
    notes = ["numbers have three digits: low and high are the limits of their rounding"]
    if any(number.metric.startswith("cpu_") for number in numbers):
        notes.append("CPU is the busy cores of the whole host, other programs included")
    return [
        Result(
            origin=Origin(NAME, "", source.place),
            labels=Labels(
                protocol=protocol,
                payload_bytes=None if size is None else int(size),
                load_bps=math.inf if kind == "bw" else None,
                cores=1,
            ),
            numbers=tuple(numbers),
            limits=Limits(payloads=payloads if size is None else None),
            implied=Labels(payload_bytes=None if payloads is None else payloads.only),
            assumed=(Assumed("payload_bytes", default, "--msg_size"),)
            if default is not None and is_possible
            else (),
            notes=tuple(notes),
        )
    ]


def _check_complete(source: Source) -> None:
    """Raise RecordError if lines are missing at the end of a test.

    Either of two signs shows that lines are missing:

    - The column of values is further right than the names need: qperf aligns it to the longest name, so the line with
      this name is missing.
    - The other host's number is missing: ``send_`` numbers need ``recv_`` numbers, and ``loc_`` numbers ``rem_`` numbers.
    """
    if _LINE.match(source.lines[-1]):
        check_last_line(source, _UNIT_ENDS)
    names = [line["name"] for line in _ALIGNED.finditer(source.text)]
    widths = {line.end("space") - line.start("name") for line in _ALIGNED.finditer(source.text)}
    require(
        len(widths) != 1 or max(map(len, names)) + 2 >= widths.pop(),
        f"{source.place}: the values are aligned for a longer name than any in the output: lines were cut off",
    )
    for one, other in (("send_", "recv_"), ("loc_", "rem_")):
        missing = [
            name
            for name in names
            if name.startswith(one) and other + name.removeprefix(one) not in names
        ]
        require(
            not missing,
            f"{source.place}: the test has {', '.join(missing)}, but not the other host's value: it was cut off",
        )


def _bandwidth(lines: Mapping[str, str]) -> list[Number]:
    """Read the goodput of a bandwidth test; for UDP also the sent rate and the loss.

    The loss is known if both hosts print exact counts.
    """
    if "recv_bw" in lines:
        sent = _number(lines, "send_bw", "sent_bps", SENDER)
        numbers = [_number(lines, "recv_bw", "goodput_bps", RECEIVER), sent]
        counts = [lines.get(key, "").strip().replace(",", "") for key in ("send_msgs", "recv_msgs")]
        if all(count.isdigit() for count in counts):  # exact, unlike 1.23 million
            sends, arrivals = map(int, counts)
            if 0 < sends >= arrivals:
                numbers.append(Number("loss_rate", 1 - arrivals / sends, BOTH))
    else:
        numbers = [_number(lines, "bw", "goodput_bps", RECEIVER)]
    if "msg_rate" in lines:
        numbers.append(_number(lines, "msg_rate", "frames_per_s", RECEIVER))
    return numbers


def _number(lines: Mapping[str, str], key: str, metric: str, side: Side) -> Number:
    """Read the number on the line ``key`` of an output, in SI units, with its rounding interval.

    The interval holds all values that qperf prints as this number.
    """
    require(key in lines, f"a test has no line {key!r}: the run failed or was cut off")
    text = lines[key]
    match = _VALUE.fullmatch(text)
    if match is None:
        raise RecordError(
            f"the line {key!r} has {text!r}, which is not a number with a unit, such as '211 MB/sec': the "
            "file was changed"
        )
    unit = match[2]
    speed = _SPEED.fullmatch(unit.replace(" ", ""))
    if unit in TIMES:
        scale = Decimal(1).scaleb(TIMES[unit])
    elif unit == "% cpus":
        scale = Decimal("0.01")
    elif speed:
        scale = PREFIXES[speed[1]] * (8 if speed[2] in ("B", "bytes") else 1)
    else:
        raise RecordError(
            f"{text!r} has a unit that icmodel does not know: use an output with qperf's own units, such as us, "
            "MB/sec or % cpus"
        )
    value = printed(match[1].replace(",", ""), scale)
    return Number(metric, value.value, side, value.low, value.high, half=value.half)


def _payloads(test: str, lines: Mapping[str, str]) -> Payloads | None:
    """Range in which the payload of a test lies: count of bytes / count of messages, which qperf may have rounded.

    If both hosts print counts, the narrower range is used. Without counts, the result is ``None``.
    """
    allowed = []
    for end in COUNTED:
        size, count = lines.get(f"{end}_bytes", ""), lines.get(f"{end}_msgs", "")
        total, messages = _count(size, SIZES), _count(count, COUNTS)
        if total is not None and messages is not None and messages.low > 0:
            counts = f"{test} says {end}_bytes {size} for {end}_msgs {count}"
            each = total / messages
            allowed.append(Payloads(each.low, each.high, counts))
    return min(allowed, key=lambda one: one.high - one.low, default=None)


def _count(text: str, units: Mapping[str, int]) -> Printed | None:
    """Read a size such as ``1.25 GB``, or a count such as ``1.23 million``, with its rounding interval.

    A number without prefix or ``million`` is exact. If an exact number in parentheses follows, that one is read.
    """
    whole, match = _EXACT.search(text), _VALUE.fullmatch(text)
    if whole is not None:
        return exact(float(whole[1].replace(",", "")))
    if match is None or match[2] not in units:
        return None
    digits, places = match[1].replace(",", ""), units[match[2]]
    return printed(digits, 10**places) if places else exact(float(digits))
