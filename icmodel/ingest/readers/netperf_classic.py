"""netperf's classic tables: their layout follows from the test and from the units in the head."""

from __future__ import annotations

import re
from collections.abc import Sequence

from icmodel.errors import RecordError
from icmodel.ingest.printed import MICRO, PER_CENT, Printed, exact, printed
from icmodel.ingest.readers.agreement import check_rate, over
from icmodel.ingest.readers.netperf_test import (
    Test,
    cells_of,
    check_equal,
    in_bps,
    labels_of,
    made,
    round_trip,
)
from icmodel.ingest.readers.sections import told
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Result, Side
from icmodel.ingest.source import number

_UNIT = re.compile(r"(10\^[369]bits/s(?:ec)?|[KMG]?[Bb]ytes/s(?:ec)?|per sec)")
SLACK = 5e-3
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
        check_rate(rate, counted, said, SLACK)
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
    if not (rate * printed(microseconds, MICRO)).meets(exact(1.0), SLACK):
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
