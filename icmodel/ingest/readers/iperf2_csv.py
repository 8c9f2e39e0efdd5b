"""iperf 2's lines of ``-y C``: time, both ends, stream, interval, bytes, b/s; of UDP jitter and losses."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.printed import exact, printed
from icmodel.ingest.readers.agreement import check_loss, check_rate
from icmodel.ingest.result import RECEIVER, SENDER, Number, Origin, Result

NAME = "iperf2"
_LINE = re.compile(
    r"^[0-9:.+-]{14,},[0-9a-fA-F:.]+,\d+,[0-9a-fA-F:.]+,\d+,-?\d+,[0-9.]+-[0-9.]+,\d+,\d+"
    r"(?:,[0-9.]+,-?\d+,-?\d+,-?[0-9.]+(?:,-?\d+)?)?$",
    re.M,
)
CLOCK = 0.02
"""How far a rate and bytes over seconds may lie apart: these are those asked for, not those that went by."""
OF_TCP = 9
"""Fields of a line of TCP; one of UDP has more."""


def is_csv(text: str) -> bool:
    """Whether a text has lines of ``-y C``."""
    return _LINE.search(text) is not None


def of_csv(lines: Sequence[str]) -> Result:
    """The run of some lines.

    Raises
    ------
    RecordError
        If a line was changed, or none is over the whole run.
    """
    rows = []
    for number, line in enumerate(lines, start=1):
        if _LINE.match(line):
            rows.append(line.split(","))
        elif line.count(",") >= OF_TCP - 2:
            raise RecordError(
                f"line {number}: {line!r} is no line of -y C: it was cut off or changed"
            )
    if len({len(row) for row in rows}) > 1:
        raise RecordError("its lines have not all as many fields: one was cut off")
    streams = _whole(rows)
    for row in streams:
        _check(row)
    udp = len(streams[0]) > OF_TCP
    size, numbers = _datagrams(streams) if udp else (None, [_of_tcp(streams)])
    note = "its lines do not say which end counted; a client counts up to a window more"
    return Result(
        origin=Origin(NAME, "", "the whole run"),
        labels=Labels(
            protocol="udp" if udp else "tcp",
            payload_bytes=size,
            cores=1 if len(streams) == 1 else None,
        ),
        unless=Labels(load_bps=None if udp else math.inf),
        numbers=tuple(numbers),
        streams=len(streams),
        notes=() if udp else (note,),
    )


def _whole(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The lines of streams over the whole run."""
    intervals = [tuple(map(float, row[6].split("-"))) for row in rows]
    last = max(end for _, end in intervals)
    found = [
        row
        for row, (start, end) in zip(rows, intervals, strict=True)
        if start == 0 and end > last / 2 and row[5] != "-1"
    ]
    if not found:
        raise RecordError("it has no line over the whole run: the run was cut off")
    return found


def _check(row: Sequence[str]) -> None:
    """Hold the rate of a line against its bytes and its seconds, which have few digits."""
    seconds = printed(row[6].partition("-")[2])
    if seconds.value > 0:
        moved = exact(8.0 * int(row[7])) / seconds
        check_rate(printed(row[8]), moved, f"{row[7]} B in {row[6]} s", CLOCK)


def _of_tcp(streams: Sequence[Sequence[str]]) -> Number:
    return Number("goodput_bps", sum(float(row[8]) for row in streams), SENDER)


def _datagrams(streams: Sequence[Sequence[str]]) -> tuple[int | None, list[Number]]:
    """The size of a datagram [B], and what arrived; of a client, which is told no count, what was sent."""
    rate = sum(float(row[8]) for row in streams)
    lost, of = (sum(int(row[place]) for row in streams) for place in (10, 11))
    late = sum(int(row[13]) for row in streams if len(row) > 13)
    if of <= 0:
        return None, [Number("sent_bps", rate, SENDER)]
    for row in streams:
        check_loss(printed(row[12]), int(row[10]), int(row[11]), f"stream {row[5]}")
    arrived, moved = of - lost + late, sum(int(row[7]) for row in streams)
    size = moved // arrived if arrived and moved % arrived == 0 else None
    return size, [
        Number("loss_rate", lost / of, RECEIVER),
        Number("goodput_bps", rate, RECEIVER),
    ]
