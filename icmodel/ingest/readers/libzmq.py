"""Reader of the perf tools of libzmq 2.1.1 to 4.3.4: local_thr and remote_lat.

A latency is the time of all round trips divided by twice their number. local_thr starts its clock after the first of N
messages, but divides all N messages by the time. So the true rates are (N - 1) / N of the printed rates. Mb are 10^6 b.
::

    message size: 64 [B]
    roundtrip count: 10000
    average latency: 21.500 [us]
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import Layout, check_rate, first_group
from icmodel.ingest.result import BOTH, RECEIVER, Number, Origin, Result, printed
from icmodel.ingest.source import Source, require

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
"""Relative tolerance between printed bits and the product messages × size, beyond truncation."""
POWERS = {"ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9}


def recognises(text: str) -> bool:
    """Whether a text looks like output of libzmq's perf tools, or of NetMQ's."""
    has_head = _SIZE.search(text) is not None and _COUNT.search(text) is not None
    return has_head or _MARK.search(text) is not None or _NETMQ.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the result of a run of libzmq's perf tools.

    Raises
    ------
    RecordError
        If the output is incomplete, or is the table of NetMQ's own benchmark, which this reader cannot read.
    """
    text = source.text
    if _NETMQ.search(text):
        raise RecordError(
            "the output is the table of NetMQ's own benchmark, not of libzmq's perf tools: write it as CSV "
            "and map its columns with columns=ColumnMap(...)"
        )
    size, count = first_group(_SIZE, text), first_group(_COUNT, text)
    require(size, "the output has no line 'message size: N [B]': it is cut off")
    latency, messages = _LATENCY.search(text), first_group(_MESSAGES, text)
    require(
        count and (latency or messages),
        f"{source.place}: the output has no count or no value: it is cut off",
    )
    payload, runs = int(size), int(count)

    if latency:
        half_trip = printed(latency[1], Decimal(1).scaleb(POWERS[latency[2]]))
        numbers = [Number.read("rtt_half_mean_s", half_trip, BOTH)]
        note = "no spread of the latency is printed"
    else:
        require(
            runs >= 2 and payload >= 1,
            "the output counts fewer than two messages, or empty messages, so it has no rate: run it again",
        )
        rate = printed(messages, truncated=True)
        moved = rate * (payload * 8)
        if bits := first_group(_BITS, text):
            what = f"{rate.value:.0f} messages/s of {payload} B"
            check_rate(printed(bits, 10**6, truncated=True), moved, what, SLACK)
        counted = (runs - 1) / runs
        numbers = [
            Number.read("frames_per_s", rate * counted, RECEIVER),
            Number.read("goodput_bps", moved * counted, RECEIVER),
        ]
        note = (
            f"rates are {runs - 1}/{runs} of the printed rates: the clock misses the first message"
        )

    load = None if latency else math.inf
    return [
        Result(
            origin=Origin(NAME, "", source.place),
            labels=Labels(protocol="zeromq", payload_bytes=payload, load_bps=load, cores=1),
            numbers=tuple(numbers),
            notes=(note,),
        )
    ]
