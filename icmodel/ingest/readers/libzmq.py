"""libzmq's perf tools: local_thr and remote_lat, as they print.

A latency is the time of all round trips over twice their number. local_thr starts its clock after
the first message and divides all messages by it: its rates are (N - 1) / N of what it prints. Its
Mb are 10^6 b.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import check_rate
from icmodel.ingest.readers.table import Layout, told
from icmodel.ingest.result import BOTH, RECEIVER, Number, Origin, Result, printed
from icmodel.ingest.source import Source

NAME = "libzmq"
_SIZE = re.compile(r"^message size: (\d+) \[B\]", re.M)
_COUNT = re.compile(r"^(?:message|roundtrip) count: (\d+)", re.M)
_LATENCY = re.compile(r"^average latency: ([0-9.]+) \[(us|µs|μs|ms|ns)\]", re.M)
_MESSAGES = re.compile(r"^mean throughput: ([0-9.]+) \[msg/s\]", re.M)
_BITS = re.compile(r"^mean throughput: ([0-9.]+) \[Mb/s\]", re.M)
_MARK = re.compile(r"^(?:average latency|mean throughput): ", re.M)
_NETMQ = re.compile(r"^=+ .*Latency Benchmark *$", re.M)
LAYOUT = Layout(start=_SIZE)
SLACK = 2e-3
"""How far bits and messages times their size may lie apart beside the digits cut off."""
POWERS = {"ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9}


def recognises(text: str) -> bool:
    """Whether a text looks like output of libzmq's perf tools, or of NetMQ's."""
    begins = _SIZE.search(text) is not None and _COUNT.search(text) is not None
    return begins or _MARK.search(text) is not None or _NETMQ.search(text) is not None


def read(source: Source) -> list[Result]:
    """The result of a run.

    Raises
    ------
    RecordError
        If it is NetMQ's own table, or incomplete.
    """
    if _NETMQ.search(source.text):
        raise RecordError(
            "it is the table of NetMQ's own benchmark, not of libzmq's perf tools: write it as CSV "
            "and ingest it with a column mapping (--map)"
        )
    size, count = told(_SIZE, source.text), told(_COUNT, source.text)
    if not size:
        raise RecordError("it has no line 'message size: N [B]': it is cut off")
    latency, messages = _LATENCY.search(source.text), _MESSAGES.search(source.text)
    if not count or (latency is None and messages is None):
        raise RecordError(f"{source.place}: it has no count or no value: it is cut off")
    return [_result(source, int(size), int(count), latency, messages)]


def _result(
    source: Source,
    payload: int,
    runs: int,
    latency: re.Match[str] | None,
    messages: re.Match[str] | None,
) -> Result:
    notes: list[str]
    if latency is not None:
        value = printed(latency[1], Decimal(1).scaleb(POWERS[latency[2]]))
        numbers = [Number.read("rtt_half_mean_s", value, BOTH)]
        load = None
        notes = ["no spread of the latency is printed"]
    else:
        assert messages is not None, "one of the two was found"
        numbers = _throughput(messages[1], payload, runs, _BITS.search(source.text))
        load = math.inf
        notes = [f"rates are {runs - 1}/{runs} of what is printed: the clock misses one message"]
    return Result(
        origin=Origin(NAME, "", source.place),
        labels=Labels(protocol="zeromq", payload_bytes=payload, load_bps=load, cores=1),
        numbers=tuple(numbers),
        notes=tuple(notes),
    )


def _throughput(messages: str, payload: int, runs: int, bits: re.Match[str] | None) -> list[Number]:
    if runs < 2 or payload < 1:
        raise RecordError("it counts fewer than two messages, or of no size: there is no rate")
    rate = printed(messages, cut=True)
    moved = rate * (payload * 8)
    if bits is not None:
        said = f"{rate.value:.0f} messages/s of {payload} B"
        check_rate(printed(bits[1], 10**6, cut=True), moved, said, SLACK)
    counted = (runs - 1) / runs
    return [
        Number.read("frames_per_s", rate * counted, RECEIVER),
        Number.read("goodput_bps", moved * counted, RECEIVER),
    ]
