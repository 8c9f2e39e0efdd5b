"""netperf: classic tables, and omni's CSV (``-o``), columns (``-O``) and key=value (``-k``).

The layout of a classic table follows from the test in the banner and from the units in its head.
MBytes are 2^20 B. CPU is a share of the whole host. -1 means not asked for. The "latency" of a
STREAM test is how long a send call took. A request/response test measures round trips.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import Pace, check_rate, over, pace_of
from icmodel.ingest.readers.table import Layout, told
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    PER_CENT,
    RECEIVER,
    SENDER,
    Ends,
    NotTakenError,
    Number,
    Origin,
    Printed,
    Result,
    Side,
    exact,
    printed,
    printed_of,
)
from icmodel.ingest.source import Source, documents, number

NAME = "netperf"
UNITS = {
    "10^3bits/s": 10**3,
    "10^6bits/s": 10**6,
    "10^9bits/s": 10**9,
    "bytes/s": 8,
    "Bytes/s": 8,
    "KBytes/s": 8 * 2**10,
    "MBytes/s": 8 * 2**20,
    "GBytes/s": 8 * 2**30,
}
"""Bits per second of a unit; a B with a prefix is of 1024."""

PROTOCOLS = {"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}
_CELLS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SIZE = re.compile(r"(?:^|\s)-(?P<key>[mr])\s*(?P<size>\d+)(?P<unit>[kKmM]?)\b")


@dataclass(frozen=True, slots=True)
class Test:
    """One test: its banner's words, what was typed for it, and the lines under it."""

    words: str
    migrated: bool
    host: str
    command: str
    lines: tuple[str, ...]
    place: str
    burst: int
    paced: bool = False

    @property
    def protocol(self) -> str | None:
        """The protocol the banner names, if it names one."""
        return next((p for word, p in PROTOCOLS.items() if self.words.startswith(word)), None)

    @property
    def round_trips(self) -> bool:
        """Whether it sends requests and waits for each response."""
        return "REQUEST/RESPONSE" in self.words.upper() or "SEND|RECV" in self.words.upper()

    @property
    def reverse(self) -> bool:
        """Whether the remote end sends (MAERTS, or omni that receives)."""
        return "MAERTS" in self.words or self.words.startswith("OMNI Receive")


def cells_of(line: str) -> list[str]:
    """The cells of a line that is nothing but numbers; none of any other line."""
    cells = line.split()
    return cells if len(cells) > 2 and all(_CELLS.fullmatch(cell) for cell in cells) else []


def made(
    test: Test,
    labels: Labels,
    numbers: Sequence[Number],
    notes: Sequence[str],
) -> Result:
    """A result of a test.

    Raises
    ------
    RecordError
        If there is no number in it.
    """
    if not numbers:
        raise RecordError(f"{test.place}: the test printed no number that icmodel knows")
    pace = Pace(Labels(load_bps=None if test.round_trips else math.inf))
    if test.paced and not test.round_trips:
        pace = pace_of(numbers[0].value, math.inf, "-b and -w")
    return Result(
        origin=Origin(NAME, "", test.place),
        labels=labels,
        numbers=tuple(numbers),
        unless=pace.unless,
        hosts=Ends(sender=test.host) if test.reverse else Ends(receiver=test.host),
        notes=(*notes, *pace.notes),
    )


def _asked(test: Test) -> int | None:
    """The size that the command line asks for behind its ``--``, if it is there."""
    for found in _SIZE.finditer(test.command.partition(" -- ")[2]):
        if found["key"] == ("r" if test.round_trips else "m"):
            return int(found["size"]) * {"": 1, "k": 1024, "m": 2**20}[found["unit"].lower()]
    return None


def labels_of(test: Test, payload: int | None, protocol: str | None = None) -> Labels:
    """Where a test lies: what it printed, then what its command line asked for."""
    return Labels(
        protocol=protocol or test.protocol,
        payload_bytes=payload or _asked(test),
        cores=1,
    )


def round_trip(test: Test, rate: Printed, notes: list[str]) -> list[Number]:
    """Transactions per second, and the round trip they are the reciprocal of."""
    numbers = [Number.read("frames_per_s", rate, BOTH)]
    if test.burst:
        notes.append(
            f"{test.burst} further requests were under way, so 1 / rate is no round trip: not taken"
        )
    elif rate.value > 0:
        trip = exact(1.0) / rate
        numbers.append(Number.read("rtt_mean_s", trip, BOTH)._replace(basis="derived"))
    return numbers


def check_equal(test: Test, request: int, response: int) -> None:
    """Refuse requests and responses of two sizes.

    Raises
    ------
    RecordError
        If they differ.
    """
    if request != response:
        raise RecordError(
            f"{test.place}: requests of {request} B and responses of {response} B have no payload "
            "in common: measure with equal sizes"
        )


def in_bps(text: str, unit: str) -> Printed:
    """A printed throughput in bits per second, converted exactly."""
    return printed(text, UNITS[unit.removesuffix("ec")])


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


_UNIT = re.compile(r"(10\^[369]bits/s(?:ec)?|[KMG]?[Bb]ytes/s(?:ec)?|per sec)")
CLASSIC_SLACK = 5e-3
"""How far the rate and messages over seconds may lie apart beside what is rounded."""
NOT_ASKED = -1
"""What stands in place of a CPU utilisation that was not measured."""
VERBOSE_CELLS = 8
"""Numbers in the line that -v 2 prints under a request/response test given as throughput."""
_CONFIDENCE = re.compile(r"Throughput\s*:\s*([0-9.]+)%")


def from_table(test: Test, body: str) -> Result:
    """The result of a classic table.

    Raises
    ------
    RecordError
        If it is cut off, or the two ends contradict each other.
    """
    head, rows = _head(test.lines), [cells for line in test.lines if (cells := cells_of(line))]
    unit = _UNIT.findall(head)
    if not rows or not unit:
        raise RecordError(
            f"{test.place}: {test.words} has no line of numbers that icmodel can read: the run was "
            "cut off, or it is omni's -O, in whose place -o or -k prints the same"
        )
    notes = _warnings(body)
    quality = "confidence not reached" if notes else ""
    if test.round_trips:
        return _classic_rr(test, rows, unit, notes)
    if test.protocol == "udp":
        return _classic_udp(test, rows, unit[-1], notes, quality)
    return _classic_stream(test, rows[0], unit[-1], notes, quality)


def _head(lines: Sequence[str]) -> str:
    """The lines before the first row of numbers, progress left out."""
    head = []
    for line in lines:
        if cells_of(line):
            break
        if not line.startswith(("Interim", "!!!")):
            head.append(line)
    return "\n".join(head)


def _warnings(body: str) -> list[str]:
    if "Desired confidence was not achieved" not in body:
        return []
    width = told(_CONFIDENCE, body)
    said = f", its interval is {width} % wide" if width else ""
    return [f"netperf warns that the confidence asked for was not reached{said}"]


def _speed(cell: str, unit: str) -> Printed:
    number(cell, "the throughput")
    return in_bps(cell, unit)


def _classic_stream(
    test: Test, row: Sequence[str], unit: str, notes: list[str], quality: str
) -> Result:
    if len(row) < 5:
        raise RecordError(f"{test.place}: its row has {len(row)} numbers where 5 are needed")
    counted: Side = RECEIVER if test.reverse or not test.migrated else SENDER
    goodput = Number.read("goodput_bps", _speed(row[4], unit), counted, quality=quality)
    numbers = [goodput, *_cpu(row[5:7], local_sends=not test.reverse)]
    if len(row) > 5:
        notes.append("service demand is CPU over throughput: not taken")
    return made(test, labels_of(test, int(float(row[2]))), numbers, notes)


def _classic_udp(
    test: Test, rows: Sequence[Sequence[str]], unit: str, notes: list[str], quality: str
) -> Result:
    if len(rows) < 2 or len(rows[0]) < 6 or len(rows[1]) < 4:
        raise RecordError(f"{test.place}: UDP needs a line of each end, and one is missing")
    send, receive = rows[0], rows[1]
    okay, arrived = float(send[3]), float(receive[2])
    if okay <= 0:
        raise RecordError(f"{test.place}: no message was sent: the run failed")
    if arrived <= 0:
        raise RecordError(
            f"{test.place}: of {okay:.0f} messages none arrived: the receiver's socket was too "
            "small for one or the way was shut, so it says nothing of the link"
        )
    if arrived > okay:
        raise RecordError(
            f"{test.place}: {arrived:.0f} messages arrived of {okay:.0f} sent: the lines of the "
            "two ends are swapped or changed"
        )
    sent, goodput = _speed(send[5], unit), _speed(receive[3], unit)
    for rate, messages, seconds in ((sent, send[3], send[2]), (goodput, receive[2], receive[1])):
        counted = over(exact(float(messages) * float(send[1])), printed(seconds))
        said = f"{test.place}: {messages} messages of {send[1]} B in {seconds} s"
        check_rate(rate, counted, said, CLASSIC_SLACK)
    numbers = [
        Number.read("sent_bps", sent, SENDER, quality=quality),
        Number.read("goodput_bps", goodput, RECEIVER, quality=quality),
        Number("loss_rate", (okay - arrived) / okay, BOTH),
        *_cpu([*send[6:7], *receive[4:5]], local_sends=True),
    ]
    notes.append("a message that the sender could not send counts as an error, not as lost")
    return made(test, labels_of(test, int(float(send[1]))), numbers, notes)


def _classic_rr(
    test: Test, rows: Sequence[Sequence[str]], unit: Sequence[str], notes: list[str]
) -> Result:
    row = rows[0]
    if len(row) < 6:
        raise RecordError(f"{test.place}: its row has {len(row)} numbers where 6 are needed")
    request, response = int(float(row[2])), int(float(row[3]))
    check_equal(test, request, response)
    if request < 1:
        raise RecordError(f"{test.place}: its requests are of {request} B: its row was changed")
    verbose = rows[-1] if len(rows[-1]) == VERBOSE_CELLS else None
    if unit[0] == "per sec":
        rate = _rate(row[5])
    elif verbose:
        rate = _rate(verbose[5])  # -v 2 prints it besides
    else:  # as throughput, both ways together
        rate = _speed(row[5], unit[0]) / exact(16 * request)
        notes.append(f"the rate is worked out of the throughput in {unit[0]}, both ways together")
    if verbose and not test.burst:
        _check_trip(test, rate, verbose[4])
    numbers = [*round_trip(test, rate, notes), *_cpu(row[6:8], local_sends=True)]
    return made(test, labels_of(test, request), numbers, notes)


def _check_trip(test: Test, rate: Printed, microseconds: str) -> None:
    """Hold a rate against the round trip that ``-v 2`` prints besides."""
    if not (rate * printed(microseconds, MICRO)).meets(exact(1.0), CLASSIC_SLACK):
        raise RecordError(
            f"{test.place}: {rate.value:.6g} transactions/s are not of {microseconds} us each: a number "
            "was changed"
        )


def _rate(cell: str) -> Printed:
    number(cell, "the rate")
    return printed(cell)


def _cpu(cells: Sequence[str], *, local_sends: bool) -> list[Number]:
    """CPU as a share of the whole host, local first; it becomes cores when they are known."""
    numbers = []
    for cell, sends in zip(cells, (local_sends, not local_sends), strict=False):
        percent = number(cell, "the CPU utilisation")
        if percent < 0 and percent != NOT_ASKED:
            raise RecordError(f"a CPU utilisation is {cell} %: its row was changed")
        if percent >= 0:
            name, side = ("cpu_send_host", SENDER) if sends else ("cpu_recv_host", RECEIVER)
            numbers.append(Number.read(name, printed(cell, PER_CENT), side))
    return numbers


__all__ = ["LAYOUT", "NAME", "read", "recognises"]

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|OMNI)\b.*?)\s*TEST from (?P<rest>.*)$", re.M
)
LAYOUT = Layout(start=_BANNER)
_MARK = re.compile(r'(?:^|")(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI)\b[^"\n]*TEST from ', re.M)
"""A banner at the beginning of a line, or of a text in JSON."""
_BURST = re.compile(r"first burst (\d+)")
_TO = re.compile(r" to (\S+) \((\S*)\)")
BROKEN_BEHIND = ("Percentile", "Latency", "Maximum", "Minimum", "Mean", "Stddev")
"""Words at which a broken line of omni's CSV head was seen to end."""
_FAILED = re.compile(r"^(?:netperf: |send_|udp_send: |.*error: |alloc_|recv_response).*$", re.M)


def recognises(text: str) -> bool:
    """Whether a text looks like output of netperf."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a run: one, or of a list in JSON one under each banner.

    Raises
    ------
    RecordError
        If a test failed or its table cannot be read.
    """
    return [_result(test) for test in _tests(source, _text(source))]


def _text(source: Source) -> str:
    """The text; a list of lists in JSON, as harnesses keep it, is written out in lines."""
    if not source.text.lstrip().startswith("["):
        return source.text
    parts = [part for document in documents(source.text) for part in document]
    return "\n".join(line for part in parts if isinstance(part, list) for line in map(str, part))


def _unwrapped(text: str) -> str:
    """Lines that a terminal broke put together: a banner, and the CSV head behind it."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and _goes_on(lines[-1]):
            lines[-1] = f"{lines[-1].rstrip()} {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _goes_on(line: str) -> bool:
    end = line.rstrip()
    if "TEST from" in end:
        return end.endswith((" AF_INET to", " AF_INET6 to"))
    return end.startswith(("Throughput,", "Local ", "Remote ")) and end.endswith(BROKEN_BEHIND)


def _tests(source: Source, text: str) -> Iterator[Test]:
    text = _unwrapped(text)
    found = list(_BANNER.finditer(text))
    if not found:
        raise RecordError("it has no banner '... TEST from ...', which says what was tested")
    ends = [*(banner.start() for banner in found[1:]), len(text)]
    starts = [0, *(banner.end() for banner in found)]
    for banner, before, end in zip(found, starts, ends, strict=False):
        peer = _TO.search(banner["rest"])
        typed = [line for line in text[before : banner.start()].split("\n") if "netperf " in line]
        yield Test(
            words=banner["test"],
            migrated=banner[0].startswith("MIGRATED"),
            host=(peer[2] or peer[1]) if peer else "",
            command=typed[-1] if typed else "",
            lines=tuple(line for line in text[banner.end() : end].split("\n") if line.strip()),
            place=f"line {source.first + text.count(chr(10), 0, banner.start())}",
            paced=" : interval" in banner["rest"],
            burst=int(told(_BURST, banner["rest"]) or 0),
        )


def _result(test: Test) -> Result:
    body = "\n".join(test.lines)
    if "CONNECT" in test.words.upper():
        raise NotTakenError(
            f"{test.place}: {test.words} sets a connection up for every transaction, which is no "
            "latency of a frame: measure with TCP_RR"
        )
    if (failed := _FAILED.search(body)) is not None and not any(map(cells_of, test.lines)):
        raise RecordError(f"{test.place}: the run failed: netperf says {failed[0].strip()!r}")
    if pairs := pairs_of(test.lines):
        return from_omni(test, pairs)
    return from_table(test, body)
