"""netperf's omni output: key=value, CSV and columns; -1 means not asked for."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.printed import MICRO, PER_CENT, Printed, exact, printed
from icmodel.ingest.readers.netperf_test import (
    UNITS,
    Test,
    check_equal,
    in_bps,
    labels_of,
    made,
    round_trip,
)
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Result, Side, printed_of
from icmodel.ingest.source import number

LATENCIES = {
    "MIN_LATENCY": "min",
    "MEAN_LATENCY": "mean",
    "STDDEV_LATENCY": "std",
    "P50_LATENCY": "p50",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MAX_LATENCY": "max",
}

COLUMNS = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Remote Send Size": "REMOTE_SEND_SIZE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Protocol": "PROTOCOL",
}
"""What omni's CSV calls the keys of its key=value form."""
SLACK = 0.02
"""How far mean and rate may lie apart beside what is rounded."""


def pairs_of(lines: Sequence[str]) -> dict[str, str]:
    """What omni printed by its keys, whichever of its three forms; empty if it is no omni."""
    pairs = dict(
        line.split("=", 1) for line in lines if re.match(r"[A-Z][A-Z0-9_]+=", line.strip())
    )
    if pairs:
        return pairs
    for head, row in pairwise(lines):
        if head.startswith("Throughput,") or ",Throughput" in head:
            return _keyed(next(csv.reader([head])), next(csv.reader([row])))
    return _columns(lines)


def _keyed(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    if len(cells) > len(names) + 1:
        raise RecordError(f"a row has {len(cells)} cells under {len(names)} names: it was changed")
    return {
        COLUMNS.get(name.strip(), name.strip()): cell
        for name, cell in zip(names, cells, strict=False)
    }


def _columns(lines: Sequence[str]) -> dict[str, str]:
    """Omni's columns of names over several lines; only the two that need no guess are read."""
    rows = [line.split() for line in lines if line.strip()]
    if len(rows) >= 3 and rows[0] == ["Throughput", "Throughput"] and rows[1] == ["Units"]:
        return {"THROUGHPUT": rows[2][0], "THROUGHPUT_UNITS": " ".join(rows[2][1:])}
    return {}


def from_omni(test: Test, pairs: Mapping[str, str]) -> Result:
    """The result of what omni printed by its keys.

    Raises
    ------
    RecordError
        If it has no throughput, or one without a unit.
    """
    unit = pairs.get("THROUGHPUT_UNITS", "").strip() or _flagged(test)
    if "THROUGHPUT" not in pairs:
        raise RecordError(f"{test.place}: omni was not asked for THROUGHPUT: nothing to take")
    text = pairs["THROUGHPUT"].strip()
    number(text, "THROUGHPUT")
    notes: list[str] = []
    if unit == "Trans/s" or (test.round_trips and unit in UNITS):
        rate = printed(text) if unit == "Trans/s" else _per_second(test, in_bps(text, unit), pairs)
        numbers = _round_trips(test, rate, pairs, notes)
    elif unit in UNITS:
        numbers = _omni_stream(test, in_bps(text, unit), notes)
        if any(key in pairs for key in LATENCIES):
            notes.append("the latency of a STREAM test is how long a send call took: not taken")
    else:
        raise RecordError(
            f"{test.place}: THROUGHPUT has no unit: ask omni for THROUGHPUT_UNITS beside it"
        )
    numbers += _omni_cpu(pairs, local_sends=not test.reverse)
    width, runs = _known(pairs, "THROUGHPUT_CONFID"), _known(pairs, "CONFIDENCE_ITERATION")
    if width:
        notes.append(f"netperf's confidence interval of the throughput is {width:g} % wide")
    if runs and runs > 1:
        numbers = [part._replace(n=int(runs)) for part in numbers]
    payload = _known(pairs, _size_key(test))
    response = _known(pairs, "RESPONSE_SIZE")
    if test.round_trips and payload and response:
        check_equal(test, int(payload), int(response))
    labels = labels_of(test, int(payload) if payload else None, _omni_protocol(pairs))
    cores = _known(pairs, "LOCAL_CPU_COUNT")
    if cores:
        labels = replace(labels, host_cores=int(cores))
    return made(test, labels, numbers, notes)


def _round_trips(
    test: Test, rate: Printed, pairs: Mapping[str, str], notes: list[str]
) -> list[Number]:
    """The rate and its round trips: those measured stand in place of the rate's reciprocal."""
    measured = _latencies(pairs, notes)
    kinds = {number.metric for number in measured}
    derived = [part for part in round_trip(test, rate, notes) if part.metric not in kinds]
    mean = printed_of(measured, "rtt_mean_s")
    if mean is not None and not test.burst and (mean * rate).low > 1 + SLACK:
        raise RecordError(
            f"{test.place}: {rate.value:.6g} transactions/s one after another are not of "
            f"{mean.value * 1e6:.6g} us each: a number or a unit was changed"
        )
    return [*derived, *measured]


def _per_second(test: Test, moved: Printed, pairs: Mapping[str, str]) -> Printed:
    """Transactions per second of a throughput, which is of both ways together."""
    size = _known(pairs, "REQUEST_SIZE")
    if not size:
        raise RecordError(
            f"{test.place}: a throughput of requests and responses needs REQUEST_SIZE beside it: ask omni "
            "for it"
        )
    return moved / exact(16 * size)


def _flagged(test: Test) -> str:
    """The unit of ``-f`` on the command line; without it none is known."""
    flag = re.search(r"\s-f\s*([kmgKMG])\b", test.command)
    names = {"k": "10^3bits/s", "m": "10^6bits/s", "g": "10^9bits/s"}
    names |= {"K": "KBytes/s", "M": "MBytes/s", "G": "GBytes/s"}
    return names[flag[1]] if flag and not test.round_trips else ""


def _size_key(test: Test) -> str:
    if test.round_trips:
        return "REQUEST_SIZE"
    return "REMOTE_SEND_SIZE" if test.reverse else "LOCAL_SEND_SIZE"


def _omni_stream(test: Test, value: Printed, notes: list[str]) -> list[Number]:
    if test.protocol == "udp" and not test.reverse:
        notes.append("omni's THROUGHPUT of UDP is what was sent: no goodput")
        return [Number.read("sent_bps", value, SENDER)]
    return [Number.read("goodput_bps", value, RECEIVER if test.reverse else SENDER)]


def _omni_protocol(pairs: Mapping[str, str]) -> str | None:
    said = pairs.get("PROTOCOL", "").strip().lower()
    return said if said in ("tcp", "udp", "sctp") else None


def _known(pairs: Mapping[str, str], key: str) -> float | None:
    """The number of a key; none where it is missing, empty or -1, which is not asked for."""
    text = pairs.get(key, "").strip()
    value = number(text, key) if text else -1.0
    if value < 0 and value != -1:
        raise RecordError(f"{key} is {text}, and none can be below 0: it was changed")
    return value if value >= 0 else None


def _latencies(pairs: Mapping[str, str], notes: list[str]) -> list[Number]:
    numbers = []
    for key, name in LATENCIES.items():
        value = _known(pairs, key)
        if value == 0:
            notes.append(f"{key} is 0 us, which netperf prints where it has none: not taken")
        elif value is not None:
            trip = printed(pairs[key].strip(), MICRO, cut=True)
            numbers.append(Number.read(f"rtt_{name}_s", trip, BOTH))
    return numbers


def _omni_cpu(pairs: Mapping[str, str], *, local_sends: bool) -> list[Number]:
    keys = ("LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL")[:: 1 if local_sends else -1]
    ends: tuple[tuple[str, str, Side], ...] = (
        (keys[0], "cpu_send_host", SENDER),
        (keys[1], "cpu_recv_host", RECEIVER),
    )
    return [
        Number.read(name, printed(pairs[key].strip(), PER_CENT), side)
        for key, name, side in ends
        if _known(pairs, key) is not None
    ]
