"""Reader of netperf up to 2.7.0: classic tables, and omni's CSV (``-o``), columns (``-O``) and key=value (``-k``).

The layout of a classic table follows from the test in its banner and the units in its head.  MBytes are
2^20 B.  CPU is a share of the whole host; -1 means not measured.  A request/response test measures round
trips.  Not taken: the "latency" of a STREAM test, which is the duration of a send call.  ::

    MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.2 () port 0 AF_INET
    Recv   Send    Send
    Socket Socket  Message  Elapsed
    Size   Size    Size     Time     Throughput
    bytes  bytes   bytes    secs.    10^6bits/sec
    131072  16384  16384    10.00     941.35
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    Pace,
    bits_per_second,
    check_last_line,
    check_rate,
    first_group,
    pace_of,
)
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    PER_CENT,
    RECEIVER,
    SENDER,
    Hosts,
    NotTakenError,
    Number,
    Origin,
    Printed,
    Result,
    exact,
    printed,
    printed_of,
)
from icmodel.ingest.source import Source, documents, number, require

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
"""Factor that converts each unit of netperf to b/s."""
FLAGS = {
    "k": "10^3bits/s",
    "m": "10^6bits/s",
    "g": "10^9bits/s",
    "K": "KBytes/s",
    "M": "MBytes/s",
    "G": "GBytes/s",
}
"""Unit that each value of netperf's option ``-f`` sets."""
PROTOCOLS = {"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}
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
"""Headings of the columns in omni's CSV, each with the key of the same number in omni's key=value form."""
SLACK, CLASSIC_SLACK = 0.02, 5e-3
"""Relative tolerances beyond rounding: for the mean round trip in omni, and for numbers of a classic table."""
NOT_MEASURED = -1
VERBOSE_CELLS = 8
"""Number of cells in the extra line that -v 2 adds to a request/response test whose table shows a throughput."""

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|OMNI)\b.*?)\s*TEST from (?P<rest>.*)$", re.M
)
LAYOUT = Layout(start=_BANNER)
_MARK = re.compile(r'(?:^|")(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI)\b[^"\n]*TEST from ', re.M)
"""Pattern of netperf's banner at the beginning of a line, or of a text in JSON."""
_BURST = re.compile(r"first burst (\d+)")
_TO = re.compile(r" to (\S+) \((\S*)\)")
_BROKEN = re.compile(
    r"TEST from.* AF_INET6? to\s*$|^(?:Throughput,|Local |Remote )"
    r".*(?:Percentile|Latency|Maximum|Minimum|Mean|Stddev)\s*$"
)
"""Pattern of a banner, or of a head of omni's CSV, that a terminal broke into two lines."""
_FAILED = re.compile(r"^(?:netperf: |send_|udp_send: |.*error: |alloc_|recv_response).*$", re.M)
_CELL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SIZE = re.compile(r"(?:^|\s)-(?P<key>[mr])\s*(?P<size>\d+)(?P<unit>[kKmM]?)\b")
_FLAG = re.compile(r"\s-f\s*([kmgKMG])\b")
_PAIR = re.compile(r"\s*[A-Z][A-Z0-9_]+=")
_PART_OF_PAIR = re.compile(r"\s*[A-Z][A-Z0-9_]*(?:=|$)")
_UNIT = re.compile(r"(10\^[369]bits/s(?:ec)?|[KMG]?[Bb]ytes/s(?:ec)?|per sec)")
_ENDS = re.compile(r"^THROUGHPUT=\d+\.\d\d$|^[^,=]*\.\d\d\d?$|[]\s]$")
"""Pattern of a complete last line: a number with its decimals, or the end of JSON."""
_SELECTED = re.compile(r"\s-k\s*\"?(?:[A-Z0-9_]+,)*(?P<last>[A-Z0-9_]+)")
"""Pattern of the option that selects omni's keys; netperf prints the keys in the order of this option."""
_CPU_HEAD = re.compile(r"Utilization|S\.dem|\bCPU\b")
_CONFIDENCE = re.compile(r"Throughput\s*:\s*([0-9.]+)%")


@dataclass(frozen=True, slots=True)
class Test:
    """One test of netperf: its banner, its command line, and the lines below the banner.

    The banner states the name of the test (``words``), the other host (``host``), the number of further requests sent
    before the first response (``burst``), and whether the test waits between sends (``paced``).
    """

    words: str
    migrated: bool
    host: str
    command: str
    lines: tuple[str, ...]
    place: str
    burst: int
    paced: bool

    @classmethod
    def split(cls, source: Source) -> Iterator[Test]:
        """Split a text into the tests of netperf. The text may also be JSON: a list of lists of lines."""
        lines = source.lines
        if source.text.lstrip().startswith("["):
            parts = [part for document in documents(source.text) for part in document]
            lines = [line for part in parts if isinstance(part, list) for line in map(str, part)]
            lines = "\n".join(lines).split("\n")
        joined: list[str] = []
        for line in lines:
            if joined and _BROKEN.search(joined[-1]):
                joined[-1] = f"{joined[-1].rstrip()} {line}"
            else:
                joined.append(line)
        text = "\n".join(joined)
        banners = list(_BANNER.finditer(text))
        require(banners, "the output has no banner '... TEST from ...', which says what was tested")
        ends = [*(banner.start() for banner in banners[1:]), len(text)]
        starts = [0, *(banner.end() for banner in banners)]
        for banner, before, end in zip(banners, starts, ends, strict=False):
            peer = _TO.search(banner["rest"])
            typed = [
                line for line in text[before : banner.start()].split("\n") if "netperf " in line
            ]
            yield cls(
                words=banner["test"],
                migrated=banner[0].startswith("MIGRATED"),
                host=(peer[2] or peer[1]) if peer else "",
                command=typed[-1] if typed else "",
                lines=tuple(line for line in text[banner.end() : end].split("\n") if line.strip()),
                place=f"line {source.first + text.count(chr(10), 0, banner.start())}",
                burst=int(first_group(_BURST, banner["rest"]) or 0),
                paced=" : interval" in banner["rest"],
            )

    @property
    def protocol(self) -> str | None:
        """Protocol that the banner names; ``None`` if it names none."""
        return next((p for word, p in PROTOCOLS.items() if self.words.startswith(word)), None)

    @property
    def round_trips(self) -> bool:
        """Whether the test sends requests and waits for each response."""
        return "REQUEST/RESPONSE" in self.words.upper() or "SEND|RECV" in self.words.upper()

    @property
    def reverse(self) -> bool:
        """Whether the remote host sends (a MAERTS test, or an omni test that receives)."""
        return "MAERTS" in self.words or self.words.startswith("OMNI Receive")

    def typed_size(self) -> int | None:
        """Message size that the command line sets after ``--`` [B]; None without a size."""
        for match in _SIZE.finditer(self.command.partition(" -- ")[2]):
            if match["key"] == ("r" if self.round_trips else "m"):
                return int(match["size"]) * {"": 1, "k": 1024, "m": 2**20}[match["unit"].lower()]
        return None

    def round_trip(self, rate: Printed, notes: list[str]) -> list[Number]:
        """Make the numbers of a request/response test: transactions per second, and the mean round trip, 1 / rate.

        With several requests under way, 1 / rate is no round trip and is left out.
        """
        numbers = [Number.read("frames_per_s", rate, BOTH)]
        if self.burst:
            notes.append(
                f"{self.burst} further requests were under way, so 1 / rate is no round trip: not used"
            )
        elif rate.value > 0:
            trip = exact(1.0) / rate
            numbers.append(Number.read("rtt_mean_s", trip, BOTH)._replace(basis="derived"))
        return numbers

    def check_equal(self, request: int, response: int) -> None:
        """Raise RecordError if requests and responses have different sizes."""
        require(
            request == response,
            f"{self.place}: requests of {request} B and responses of {response} B differ in size: measure with "
            "equal sizes",
        )

    def result(
        self,
        numbers: Sequence[Number],
        notes: Sequence[str],
        payload: int | None,
        *,
        protocol: str | None = None,
        host_cores: int | None = None,
    ) -> Result:
        """Make a result from numbers, with the labels (conditions) of this test."""
        require(numbers, f"{self.place}: the test printed no number that icmodel knows")
        pace = Pace(Labels(load_bps=None if self.round_trips else math.inf))
        if self.paced and not self.round_trips:
            pace = pace_of(numbers[0].value, math.inf, "-b and -w")
        return Result(
            origin=Origin(NAME, "", self.place),
            labels=Labels(
                protocol=protocol or self.protocol,
                payload_bytes=payload or self.typed_size(),
                cores=1,
                host_cores=host_cores,
            ),
            numbers=tuple(numbers),
            implied=pace.implied,
            hosts=Hosts(sender=self.host) if self.reverse else Hosts(receiver=self.host),
            notes=(*notes, *pace.notes),
        )


def recognises(text: str) -> bool:
    """Whether a text looks like output of netperf."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the results of a run of netperf: one for each test, which begins with a banner.

    Raises
    ------
    RecordError
        If a test failed or its table cannot be read.
    """
    last = source.lines[-1]
    if _PART_OF_PAIR.match(last) or "," in last or _cells(last):
        check_last_line(source, _ENDS)
    results = []
    for test in Test.split(source):
        if "CONNECT" in test.words.upper():
            raise NotTakenError(
                f"{test.place}: {test.words} opens a connection for every transaction, so its time is not "
                "the latency of a frame: measure with TCP_RR"
            )
        failed = _FAILED.search("\n".join(test.lines))
        if failed and not any(map(_cells, test.lines)):
            raise RecordError(f"{test.place}: the run failed: netperf says {failed[0].strip()!r}")
        omni = _Omni.of(test)
        results.append(omni.result() if omni.pairs else _Table.of(test).result())
    return results


def _cells(line: str) -> list[str]:
    """Split a line that consists of numbers only into cells; empty for any other line."""
    cells = line.split()
    return cells if len(cells) > 2 and all(map(_CELL.fullmatch, cells)) else []


def _rate(cell: str, unit: str) -> Printed:
    """Convert a printed throughput to b/s."""
    number(cell, "the throughput")
    return printed(cell, UNITS[unit.removesuffix("ec")])


def _cpu(cells: Sequence[str], *, local_sends: bool) -> list[Number]:
    """Read the CPU utilisation of whole hosts; the first cell is for the local host, the second for the remote host."""
    numbers = []
    for cell, sends in zip(cells, (local_sends, not local_sends), strict=False):
        percent = number(cell, "the CPU utilisation")
        require(
            percent >= 0 or percent == NOT_MEASURED,
            f"a CPU utilisation is {cell} %: its row was changed",
        )
        if percent >= 0:
            metric, side = ("cpu_send_host", SENDER) if sends else ("cpu_recv_host", RECEIVER)
            numbers.append(Number.read(metric, printed(cell, PER_CENT), side))
    return numbers


# --- omni -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Omni:
    """Output of one omni test: its values as texts, by their keys."""

    test: Test
    pairs: Mapping[str, str]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, test: Test) -> _Omni:
        """Read the values by name that an omni test prints, as key=value, CSV or columns; empty for other tests."""
        lines = test.lines
        pairs = dict(line.split("=", 1) for line in lines if _PAIR.match(line))
        if pairs:
            selected = _SELECTED.search(test.command)
            require(
                selected is None or selected["last"] in pairs,
                f"{test.place}: the output has no {selected and selected['last']}, which -k selects last: it was cut off",
            )
            return cls(test, pairs)
        for head, row in pairwise(lines):
            if head.startswith("Throughput,") or ",Throughput" in head:
                try:
                    names, cells = next(csv.reader([head])), next(csv.reader([row]))
                except csv.Error as error:
                    raise RecordError(
                        f"the table of omni is not CSV ({error}): give netperf's output unchanged"
                    ) from error
                require(
                    len(names) <= len(cells) <= len(names) + 1,
                    f"a row has {len(cells)} cells under {len(names)} names: the output was changed",
                )
                keys = [COLUMNS.get(name.strip(), name.strip()) for name in names]
                return cls(test, dict(zip(keys, cells, strict=False)))
        # The names of -O's columns span several lines; only two columns can be read without guessing.
        rows = [line.split() for line in lines]
        if len(rows) >= 3 and rows[0] == ["Throughput", "Throughput"] and rows[1] == ["Units"]:
            pairs = {"THROUGHPUT": rows[2][0], "THROUGHPUT_UNITS": " ".join(rows[2][1:])}
        return cls(test, pairs)

    def value(self, key: str) -> float | None:
        """Number under a key of the omni output; ``None`` if it is missing, empty or not measured."""
        text = self.pairs.get(key, "").strip()
        value = number(text, key) if text else float(NOT_MEASURED)
        require(
            value >= 0 or value == NOT_MEASURED,
            f"{key} is {text}, but it cannot be below 0: the output was changed",
        )
        return value if value >= 0 else None

    def result(self) -> Result:
        """Make the result of netperf's omni test.

        If the throughput is in Trans/s (transactions), or the banner names a request/response test, the result has the
        numbers of round trips. Otherwise it has the rate of a stream.
        """
        test, pairs = self.test, self.pairs
        require(
            "THROUGHPUT" in pairs,
            f"{test.place}: the output of omni has no THROUGHPUT: select it in omni's output",
        )
        unit = pairs.get("THROUGHPUT_UNITS", "").strip()
        if not unit and not test.round_trips:
            unit = FLAGS.get(first_group(_FLAG, test.command), "")
        text = pairs["THROUGHPUT"].strip()
        number(text, "THROUGHPUT")
        if unit == "Trans/s" or (test.round_trips and unit in UNITS):
            numbers = self.round_trips(text, unit)
        elif unit in UNITS:
            numbers = self.stream(_rate(text, unit))
        else:
            raise RecordError(
                f"{test.place}: THROUGHPUT has no unit: select THROUGHPUT_UNITS in omni's output"
            )
        utilisations = [
            pairs.get(key, "").strip() or str(NOT_MEASURED)
            for key in ("LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL")
        ]
        numbers += _cpu(utilisations[:: -1 if test.reverse else 1], local_sends=True)
        if width := self.value("THROUGHPUT_CONFID"):
            self.notes.append(
                f"netperf's confidence interval of the throughput is {width:g} % wide"
            )
        runs = self.value("CONFIDENCE_ITERATION") or 1
        if runs > 1:
            numbers = [part._replace(n=int(runs)) for part in numbers]

        size_key = "REMOTE_SEND_SIZE" if test.reverse else "LOCAL_SEND_SIZE"
        payload = self.value("REQUEST_SIZE" if test.round_trips else size_key)
        response = self.value("RESPONSE_SIZE")
        if test.round_trips and payload and response:
            test.check_equal(int(payload), int(response))
        protocol = pairs.get("PROTOCOL", "").strip().lower()
        cores = self.value("LOCAL_CPU_COUNT")
        return test.result(
            numbers,
            self.notes,
            int(payload) if payload else None,
            protocol=protocol if protocol in PROTOCOLS.values() else None,
            host_cores=int(cores) if cores else None,
        )

    def stream(self, rate: Printed) -> list[Number]:
        """Return the throughput of a stream test as a list of one measured value.

        The metric is the goodput. If this host sent UDP, it is the sent rate, since this host does not know how much
        arrived.
        """
        side = RECEIVER if self.test.reverse else SENDER
        metric = "goodput_bps"
        if self.test.protocol == "udp" and side == SENDER:
            metric = "sent_bps"
            self.notes.append("omni's THROUGHPUT of UDP is the sent rate, not the goodput")
        if any(key in self.pairs for key in LATENCIES):
            self.notes.append("the latency of a STREAM test is the time of a send call: not used")
        return [Number.read(metric, rate, side)]

    def round_trips(self, text: str, unit: str) -> list[Number]:
        """Make the numbers of a request/response test: its rate and round-trip times.

        The mean round trip is the one that omni measured, or 1 / rate if omni measured none.
        """
        test = self.test
        if unit == "Trans/s":
            rate = printed(text)
        else:  # the throughput is the sum of both directions
            size = self.value("REQUEST_SIZE") or 0
            require(
                size,
                f"{test.place}: the throughput of requests and responses has no REQUEST_SIZE: select it in "
                "omni's output",
            )
            rate = _rate(text, unit) / exact(16 * size)
        measured = []
        for key, name in LATENCIES.items():
            value = self.value(key)
            if value == 0:
                self.notes.append(
                    f"{key} is 0 us, which netperf prints for a missing value: not used"
                )
            elif value is not None:
                trip = printed(self.pairs[key].strip(), MICRO, truncated=True)
                measured.append(Number.read(f"rtt_{name}_s", trip, BOTH))
        metrics = {part.metric for part in measured}
        derived = [part for part in test.round_trip(rate, self.notes) if part.metric not in metrics]
        mean = printed_of(measured, "rtt_mean_s")
        if mean is not None and not test.burst and (mean * rate).low > 1 + SLACK:
            raise RecordError(
                f"{test.place}: {rate.value:.6g} transactions/s contradict the mean of "
                f"{mean.value * 1e6:.6g} us each: a number or a unit was changed"
            )
        return [*derived, *measured]


# --- classic tables ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Table:
    """Classic table of a netperf test: its rows of numbers, and the units in its head.

    ``quality`` is a reason for lower trust if netperf warns that it did not reach the requested confidence; otherwise
    empty.
    """

    test: Test
    rows: Sequence[Sequence[str]]
    units: Sequence[str]
    notes: list[str]
    quality: str

    @classmethod
    def of(cls, test: Test) -> _Table:
        """Read the classic table of a test; its head is above the first row of numbers."""
        body = "\n".join(test.lines)
        first = next((at for at, line in enumerate(test.lines) if _cells(line)), len(test.lines))
        head = [line for line in test.lines[:first] if not line.startswith(("Interim", "!!!"))]
        rows = [cells for line in test.lines if (cells := _cells(line))]
        units = _UNIT.findall("\n".join(head))
        require(
            rows and units,
            f"{test.place}: {test.words} has no line of numbers that icmodel can read: the run was "
            "cut off, or omni was run with -O; use -o or -k instead",
        )
        if _CPU_HEAD.search("\n".join(head)):
            # The first row of UDP is the sender's, and the second the receiver's.
            needed = [10] if test.round_trips else [8, 6] if test.protocol == "udp" else [9]
            require(
                all(len(row) >= cells for row, cells in zip(rows, needed, strict=False)),
                f"{test.place}: its table has fewer numbers than its head has columns: the run was cut off",
            )
        if "Desired confidence was not achieved" not in body:
            return cls(test, rows, units, [], "")
        width = first_group(_CONFIDENCE, body)
        interval = f", its interval is {width} % wide" if width else ""
        note = f"netperf warns that the requested confidence was not reached{interval}"
        return cls(test, rows, units, [note], "confidence not reached")

    def result(self) -> Result:
        """Convert the table to a result, by the method for its kind of test: request/response, UDP or stream."""
        if self.test.round_trips:
            return self.round_trips()
        return self.udp() if self.test.protocol == "udp" else self.stream()

    def stream(self) -> Result:
        """Make the result of a stream test from its row of numbers."""
        test, row = self.test, self.rows[0]
        require(len(row) >= 5, f"{test.place}: its row has {len(row)} numbers where 5 are needed")
        side = RECEIVER if test.reverse or not test.migrated else SENDER
        rate = _rate(row[4], self.units[-1])
        goodput = Number.read("goodput_bps", rate, side, quality=self.quality)
        if len(row) > 5:
            self.notes.append("service demand is CPU over throughput: not used")
        numbers = [goodput, *_cpu(row[5:7], local_sends=not test.reverse)]
        return test.result(numbers, self.notes, int(float(row[2])))

    def udp(self) -> Result:
        """Make the result of a UDP test from its two rows, one of the sender and one of the receiver."""
        place, rows = self.test.place, self.rows
        require(
            len(rows) >= 2 and len(rows[0]) >= 6 and len(rows[1]) >= 4,
            f"{place}: UDP needs a line of each end, but one is missing",
        )
        send, receive = rows[0], rows[1]
        okay, arrived = float(send[3]), float(receive[2])
        require(okay > 0, f"{place}: no message was sent: the run failed")
        require(
            arrived > 0,
            f"{place}: none of {okay:.0f} messages arrived: enlarge the receiver's socket buffer, or "
            "open firewalls on the path, and measure again",
        )
        require(
            arrived <= okay,
            f"{place}: {arrived:.0f} messages arrived of {okay:.0f} sent: the lines of the "
            "two ends are swapped or changed",
        )
        size, unit = send[1], self.units[-1]
        sent, goodput = _rate(send[5], unit), _rate(receive[3], unit)
        for rate, messages, seconds in (
            (sent, send[3], send[2]),
            (goodput, receive[2], receive[1]),
        ):
            counted = bits_per_second(exact(float(messages) * float(size)), printed(seconds))
            what = f"{place}: {messages} messages of {size} B in {seconds} s"
            check_rate(rate, counted, what, CLASSIC_SLACK)
        numbers = [
            Number.read("sent_bps", sent, SENDER, quality=self.quality),
            Number.read("goodput_bps", goodput, RECEIVER, quality=self.quality),
            Number("loss_rate", (okay - arrived) / okay, BOTH),
            *_cpu([*send[6:7], *receive[4:5]], local_sends=True),
        ]
        self.notes.append(
            "a message that the sender could not send counts as an error, not as lost"
        )
        return self.test.result(numbers, self.notes, int(float(size)))

    def round_trips(self) -> Result:
        """Make the result of a request/response test; with ``-v 2`` the rate is in a further line."""
        test, row, unit = self.test, self.rows[0], self.units[0]
        require(len(row) >= 6, f"{test.place}: its row has {len(row)} numbers where 6 are needed")
        request, response = int(float(row[2])), int(float(row[3]))
        test.check_equal(request, response)
        require(request >= 1, f"{test.place}: its requests are of {request} B: its row was changed")
        verbose = self.rows[-1] if len(self.rows[-1]) == VERBOSE_CELLS else None
        if unit == "per sec" or verbose:
            cell = verbose[5] if verbose and unit != "per sec" else row[5]
            number(cell, "the rate")
            rate = printed(cell)
        else:  # the throughput is the sum of both directions
            rate = _rate(row[5], unit) / exact(16 * request)
            self.notes.append(
                f"the rate is computed from the throughput in {unit}, the sum of both directions"
            )
        if verbose and not test.burst:
            require(
                (rate * printed(verbose[4], MICRO)).overlaps(exact(1.0), CLASSIC_SLACK),
                f"{test.place}: {rate.value:.6g} transactions/s contradict {verbose[4]} us each: a number "
                "was changed",
            )
        numbers = [*test.round_trip(rate, self.notes), *_cpu(row[6:8], local_sends=True)]
        return test.result(numbers, self.notes, request)
