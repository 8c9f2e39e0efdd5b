"""qperf: tcp_bw, udp_lat and their kin, short or verbose.

Prefixes of its units are of 1000, of its sizes as it spells them (KiB with the exact number behind).
Numbers have three digits: the range they leave open goes along. A latency is half a round trip. CPU
is of the whole host, in per cent of one core. Each test has a message size of its own unless it is
told one; where it is not printed, bytes and messages are held against the label.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import command_of, refuse_sum
from icmodel.ingest.readers.table import Layout, told
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
from icmodel.ingest.source import Source

NAME = "qperf"
_TEST = re.compile(r"^((?:tcp|udp|sctp|rds|sdp|rc|uc|ud|xrc)_(?:\w+_)?(?:bw|lat)):\s*$", re.M)
_LINE = re.compile(r"^\s*(\w+)\s+=\s+(.*?)\s*$", re.M)
LAYOUT = Layout(start=_TEST, parts_thousands=True)
_VALUE = re.compile(r"([0-9][0-9,.]*)\s*(.*)")
_EXACT = re.compile(r"\(([0-9,]+)\)")
SLACK = 0.01
"""How far a latency and the messages of its test may lie apart beside what is rounded."""
PREFIXES = {"": Decimal(1), "K": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
SIZES = {"bytes": 0, "KB": 3, "MB": 6, "GB": 9, "TB": 12}
COUNTS = {"": 0, "million": 6, "billion": 9, "trillion": 12}
COUNTED = ("send", "recv", "loc_send", "loc_recv", "rem_send", "rem_recv")
TIMES = {"ns": -9, "us": -6, "ms": -3, "sec": 0}
PROTOCOLS = ("tcp", "udp", "sctp", "rds")
DEFAULTS = {"tcp_bw": 2**16, "udp_bw": 2**15, "sctp_bw": 2**16}
"""Message size of a test [B] unless it is told one; of a latency 1 B (qperf's manual)."""
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
    """The result of a run: one test.

    Raises
    ------
    RecordError
        If a test has no value, or is of no socket.
    """
    test = told(_TEST, source.text)
    if not test:
        raise RecordError("it has no line such as 'tcp_bw:', which begins a test of qperf")
    return [_result(source, test, dict(_LINE.findall(source.text)))]


def _result(source: Source, test: str, lines: Mapping[str, str]) -> Result:
    protocol, _, what = test.partition("_")
    refuse_sum(NAME, test, source.place)
    if protocol not in PROTOCOLS or what not in ("bw", "lat"):
        raise NotTakenError(f"{source.place}: {test} is of RDMA: use perftest for it")
    size, payloads = _size(source, lines), _payloads(test, lines)
    if size is not None and payloads is not None and not payloads.fits(size):
        raise RecordError(
            f"{source.place}: {payloads.said}, which is payload_bytes {payloads}, and msg_size says "
            f"{size}: it contradicts itself, so measure again"
        )
    notes = ["numbers have three digits: low and high are what the rounding leaves open"]
    if what == "lat":
        numbers = [_required(lines, "latency", "rtt_half_mean_s", BOTH)]
        _check_rate(lines, numbers[0].printed, source.place)
    else:
        numbers = _bandwidth(lines)
    numbers += [_read(lines[key], name, side) for key, name, side in CPU if key in lines]
    if any(part.metric.startswith("cpu_") for part in numbers):
        notes.append("CPU is of the whole host in busy cores, whatever else ran on it")
    return Result(
        origin=Origin(NAME, "", source.place),
        labels=Labels(
            protocol=protocol,
            payload_bytes=size,
            load_bps=math.inf if what == "bw" else None,
            cores=1,
        ),
        numbers=tuple(numbers),
        limits=Limits(payloads=payloads if size is None else None),
        unless=Labels(payload_bytes=None if payloads is None else payloads.only),
        assumed=_assumed(test, payloads),
        notes=tuple(notes),
    )


def _assumed(test: str, payloads: Payloads | None) -> tuple[Assumed, ...]:
    """The default size of a test's messages, unless its bytes and messages contradict it."""
    size = DEFAULTS.get(test, 1 if test.endswith("_lat") else None)
    if size is None or (payloads is not None and not payloads.fits(size)):
        return ()
    return (Assumed("payload_bytes", size, "--msg_size"),)


def _check_rate(lines: Mapping[str, str], latency: Printed, place: str) -> None:
    """Hold a latency against the messages a second, which go there and back one after another."""
    if "msg_rate" not in lines:
        return
    rate = _read(lines["msg_rate"], "frames_per_s", BOTH).printed
    if not (rate * latency).meets(exact(1.0), SLACK):
        raise RecordError(
            f"{place}: {lines['msg_rate']} messages one after another are not of {lines['latency']} "
            "each way: a number or a unit was changed"
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
    value = printed(found[1].replace(",", ""), _scale(found[2], text))
    return Number(metric, value.value, side, value.low, value.high, half=value.half)


def _scale(unit: str, text: str) -> Decimal:
    if unit in TIMES:
        return Decimal(1).scaleb(TIMES[unit])
    if unit == "% cpus":
        return Decimal("0.01")
    found = re.fullmatch(r"([KMG]?)(B|bytes|b|bits)?/sec", unit.replace(" ", ""))
    if found is None:
        raise RecordError(f"{text!r} has a unit that icmodel does not know")
    return PREFIXES[found[1]] * (8 if found[2] in ("B", "bytes") else 1)


def _size(source: Source, lines: Mapping[str, str]) -> int | None:
    """The message size that a test prints, or its command line says [B]."""
    text = lines.get("msg_size", "")
    found = _EXACT.search(text) or re.match(r"([0-9,]+) (?:bytes|B)$", text)
    if found:
        return int(found[1].replace(",", ""))
    size = command_of(source, "qperf").amount("-m", "--msg_size", small=1000, large=1024)
    return None if size is None else int(size)


def _payloads(test: str, lines: Mapping[str, str]) -> Payloads | None:
    """The payloads that bytes and messages leave open, of the end whose digits say most."""
    found = []
    for end in COUNTED:
        size, count = lines.get(f"{end}_bytes", ""), lines.get(f"{end}_msgs", "")
        total, messages = _counted(size, SIZES), _counted(count, COUNTS)
        if total is not None and messages is not None and messages.low > 0:
            said = f"{test} says {end}_bytes {size} for {end}_msgs {count}"
            each = total / messages
            found.append(Payloads(each.low, each.high, said))
    return min(found, key=lambda one: one.high - one.low, default=None)


def _counted(text: str, units: Mapping[str, int]) -> Printed | None:
    """A size or a count, exact where its unit has no prefix or the exact number stands behind it."""
    whole, found = _EXACT.search(text), _VALUE.fullmatch(text)
    if whole is not None:
        return exact(float(whole[1].replace(",", "")))
    if found is None or found[2] not in units:
        return None
    digits, places = found[1].replace(",", ""), units[found[2]]
    return printed(digits, 10**places) if places else exact(float(digits))


def _count(text: str) -> int | None:
    """A whole count; none where it is rounded, such as ``1.23 million``."""
    digits = text.strip().replace(",", "")
    return int(digits) if digits.isdigit() else None
