"""iperf 2's lines of ``-y C``: time, both ends, stream, interval, bytes, b/s; of UDP jitter and losses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import APART, Pace, check_loss, check_rate, command_of, pace_of
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Assumed,
    Ends,
    Number,
    Origin,
    Result,
    Side,
    exact,
    printed,
)
from icmodel.ingest.source import Source

NAME = "iperf2"
_LINE = re.compile(
    r"^[0-9:.+-]{14,},[0-9a-fA-F:.]+,\d+,[0-9a-fA-F:.]+,\d+,-?\d+,[0-9.]+-[0-9.]+,\d+,\d+"
    r"(?:,[0-9.]+,-?\d+,-?\d+,-?[0-9.]+(?:,-?\d+)?)?$",
    re.M,
)
CLOCK = 0.02
"""How far a rate and bytes over seconds may lie apart: these are those asked for, not those that went by."""
DEFAULT_BYTES, DEFAULT_BPS = {"tcp": 128 * 2**10, "udp": 1470}, 2.0**20
"""Size of a write, and rate limit of UDP, unless told otherwise (iperf 2's manual)."""
OF_TCP = 9
"""Fields of a line of TCP; one of UDP has more."""


def is_csv(text: str) -> bool:
    """Whether a text has lines of ``-y C``."""
    return _LINE.search(text) is not None


def of_csv(source: Source) -> list[Result]:
    """The results of some lines: one for each run and direction.

    Raises
    ------
    RecordError
        If a line was changed, or none is over the whole run.
    """
    rows = []
    for number, line in source.numbered():
        if _LINE.match(line):
            rows.append(line.split(","))
        elif line.count(",") >= OF_TCP - 2:
            raise RecordError(
                f"line {number}: {line!r} is no line of -y C: it was cut off or changed"
            )
    if len({len(row) for row in rows}) > 1:
        raise RecordError("its lines have not all as many fields: one was cut off")
    return [result for streams in _runs(_whole(rows)) for result in _of_run(source, streams)]


def _runs(streams: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """The streams of each run: an id that comes again begins the next."""
    run: list[Sequence[str]] = []
    for row in streams:
        if row[5] in {one[5] for one in run}:
            yield run
            run = []
        run.append(row)
    yield run


def _of_run(source: Source, streams: Sequence[Sequence[str]]) -> list[Result]:
    """The results of one run: one for each direction."""
    for row in streams:
        _check(row)
    sent, received = _directions(streams)
    if not received:
        return [_result(source, sent, SENDER)]
    options = dict(APART) if _at_once(sent, received) else {}
    client, server = sent[0][1], sent[0][3]
    return [
        _result(source, sent, SENDER, Ends(client, server), options),
        _result(source, received, RECEIVER, Ends(server, client), options),
    ]


def _directions(
    streams: Sequence[Sequence[str]],
) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """The lines of what a client of ``-d`` or ``-r`` sent, and of what it received at the port it listens on.

    Lines of one direction, whichever end wrote them, are all sent ones.  A report of UDP names the server's
    end first, so its lines are not told apart.
    """
    ports = {row[2] for row in streams} & {row[4] for row in streams}
    if len(ports) != 1 or len(streams[0]) > OF_TCP:
        return list(streams), []
    (listens,) = ports
    return (
        [row for row in streams if row[2] != listens],
        [row for row in streams if row[2] == listens],
    )


def _at_once(sent: Sequence[Sequence[str]], received: Sequence[Sequence[str]]) -> bool:
    """Whether both directions ended so close to each other that they ran at the same time."""
    ends = [datetime.strptime(row[0][:14], "%Y%m%d%H%M%S") for row in (sent[0], received[0])]
    apart = abs((ends[1] - ends[0]).total_seconds())
    return apart < float(sent[0][6].partition("-")[2]) / 2


def _result(
    source: Source,
    streams: Sequence[Sequence[str]],
    side: Side,
    hosts: Ends | None = None,
    options: Mapping[str, str] | None = None,
) -> Result:
    """The result of the streams of one direction."""
    udp = len(streams[0]) > OF_TCP
    size, numbers = _datagrams(streams) if udp else (None, [_of_tcp(streams, side)])
    command = command_of(source, "iperf")
    limit = command.amount("-b", "--bandwidth", small=1000, large=1024)
    typed = command.amount("-l", "--len", small=1000, large=1024)
    size = size or (int(typed) if typed else None)
    pace = Pace(Labels(load_bps=math.inf))
    if udp:
        pace = pace_of(_sent(streams), DEFAULT_BPS * len(streams), "-b")
    notes = []
    if not udp and hosts is None:
        notes = ["its lines do not say which end counted; a client counts up to a window more"]
    uncounted = not udp or not sum(int(row[11]) for row in streams)
    default = Assumed("payload_bytes", DEFAULT_BYTES["udp" if udp else "tcp"], "-l")
    return Result(
        origin=Origin(NAME, "", source.place),
        labels=Labels(
            protocol="udp" if udp else "tcp",
            payload_bytes=size,
            load_bps=None if limit is None else limit * len(streams),
            cores=1 if len(streams) == 1 else None,
            options=options or {},
        ),
        unless=pace.unless,
        assumed=(*pace.assumed, *([default] if uncounted else [])),
        numbers=tuple(numbers),
        hosts=hosts or Ends(),
        streams=len(streams),
        notes=(*notes, *(pace.notes if limit is None else ())),
    )


def _sent(streams: Sequence[Sequence[str]]) -> float:
    """What datagrams were sent [b/s], those that were lost among them."""
    rate = sum(float(row[8]) for row in streams)
    lost, of = (sum(int(row[place]) for row in streams) for place in (10, 11))
    return rate / (1 - lost / of) if 0 <= lost < of else rate


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


def _of_tcp(streams: Sequence[Sequence[str]], side: Side) -> Number:
    return Number("goodput_bps", sum(float(row[8]) for row in streams), side)


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
