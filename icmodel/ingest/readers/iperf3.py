"""iperf3: the JSON of ``-J`` and the lines of ``--json-stream``.

Bytes are divided by the seconds of the same block. CPU is that of the process alone, and which end
is ``host`` depends on who sends. Loss is made of gaps in a sequence number, so a lost tail is not
in it: where the sender's count is known, the range runs up to the loss with the tail.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import (
    APART,
    Command,
    Pace,
    check_count,
    check_rate,
    check_share,
    command_of,
    pace_of,
)
from icmodel.ingest.readers.table import Layout
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Ends,
    Limits,
    NotTakenError,
    Number,
    Origin,
    Result,
    exact,
)
from icmodel.ingest.source import Source, documents, real, shifted, table, tables, text_of

NAME = "iperf3"
LAYOUT = Layout(start=re.compile(r'\{(?!"event")|\{"event":\s*"start"'))
_TEXT = re.compile(r"^\[ *(?:ID|SUM|\d+) *\] +(?:Interval|local |[0-9.]+-)", re.M)
_OLDER = re.compile(r"^(?:Client connecting to|Server listening on (?:TCP|UDP) port)", re.M)
"""How iperf 2 begins, whose lines look alike."""
_JSON = re.compile(
    r'"(?:cpu_utilization_percent|connecting_to|accepted_connection|json-stream)"\s*:'
)
_OPENS = re.compile(r"^[ \t]*\{", re.M)
_FAILED = (re.compile(r'"start"\s*:'), re.compile(r'"intervals"\s*:'))
_EVENT = re.compile(r'^\{"event":', re.M)
_ERROR = re.compile(r"^iperf3: error - .*$", re.M)
_MULTITHREADED = (3, 16)
DEFAULT_BPS = 2.0**20
"""Rate limit of UDP unless told otherwise (iperf3's manual)."""
OMITTED = 1.5
"""With -O what was under way when the sender began to count arrives in the receiver's window."""
SLACK = 2e-3
"""How far a rate and its bytes over seconds may lie apart: windows of both are closed one after another."""
_SLACK = 1.1
"""A process' CPU may lie that much above its threads: the counters tick."""

Document = Mapping[str, object]


def recognises(text: str) -> bool:
    """Whether a text looks like output of iperf3."""
    failed = all(key.search(text) for key in _FAILED)
    json_like = _OPENS.search(text) and (failed or _JSON.search(text) or _EVENT.search(text))
    is_text = _TEXT.search(text) and "/sec" in text and not _OLDER.search(text)
    return bool(json_like or is_text)


def read(source: Source) -> list[Result]:
    """The results of a run: one, or with ``--bidir`` one for each direction.

    Raises
    ------
    RecordError
        If it is text, broken, or a run that failed.
    """
    if _TEXT.search(source.text) and not _OPENS.search(source.text):
        raise NotTakenError(
            "it is iperf3's text, which rounds to three digits and names no sides: run iperf3 "
            "with -J and ingest the JSON"
        )
    parts = [part for part in documents(source.text) if isinstance(part, dict)]
    runs = list(_streamed(parts)) if any("event" in part for part in parts) else parts
    if not runs:
        raise RecordError("it holds no JSON of iperf3: run iperf3 with -J")
    behind = source.text.rpartition("}")[2]
    if error := _ERROR.search(behind):
        raise RecordError(
            f"{source.place}: the run failed at its end: behind its JSON stands “{error[0].strip()}”, so run it "
            "again"
        )
    command = command_of(source, NAME)
    results = [_result(way, source.place, command) for run in runs for way in _ways(run)]
    if _TEXT.search(source.text):
        note = f"{source.place}: lines of iperf3's text stand beside its JSON, which alone is taken"
        results[0] = replace(results[0], notes=(*results[0].notes, note))
    return results


def _streamed(events: Sequence[Document]) -> Iterator[Document]:
    """The runs of a JSON stream: each from its start event to its end event."""
    start: object = None
    intervals: list[object] = []
    for event in events:
        name, data = event.get("event"), event.get("data")
        if name == "start":
            start, intervals = data, []
        elif name == "interval":
            intervals.append(data)
        elif name == "error":
            raise RecordError(f"the run failed: {data}")
        elif name == "end":
            yield {"start": start or {}, "intervals": intervals, "end": data}
            start, intervals = None, []
    if start is not None or intervals:
        raise RecordError(
            "its JSON stream has intervals without an end event: the run was cut off, or only "
            "intervals were kept, and those are no result"
        )


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of a run: its document with the sums of that direction alone, and whether it is reverse.

    Parameters
    ----------
    both
        Whether the other direction was loaded at the same time.
    """

    document: Document
    reverse: bool
    both: bool


def _ways(document: Document) -> Iterator[_Way]:
    """The directions of a run; with ``--bidir`` first from client to server, then back."""
    end, test = table(document, "end"), table(table(document, "start"), "test_start")
    back = {key.replace("_bidir_reverse", ""): end[key] for key in end if "_bidir_reverse" in key}
    if not (real(test, "bidir") or back):
        yield _Way(document, bool(real(test, "reverse")), both=False)
        return
    client = bool(table(table(document, "start"), "connecting_to"))
    kept = {key: end[key] for key in end if not key.startswith("cpu_") and "reverse" not in key}
    for sums, reverse in ((kept, False), (back, True)):
        sends = client != reverse
        streams = [one for one in tables(end, "streams") if _local_sends(one) is sends]
        way = {**document, "intervals": [{}], "end": {**sums, "streams": streams}}
        yield _Way(way, reverse, both=True)


def _local_sends(stream: Document) -> bool:
    """Whether the end that wrote the file sent a stream."""
    parts = (table(stream, key) for key in ("sender", "receiver", "udp"))
    return any(part.get("sender") is True for part in parts)


@dataclass(frozen=True, slots=True)
class _Run:
    """The parts of one direction that the readers below share."""

    start: Document
    end: Document
    test: Document
    protocol: str
    local_sends: bool
    at_server: bool
    sent_packets: float | None


def _result(way: _Way, place: str, command: Command) -> Result:
    run = _checked(way)
    notes: list[str] = []
    if way.both:
        notes.append(
            "both ends sent at once (--bidir): each direction has its rows under duplex = both; the CPU belongs "
            "to both and is not taken"
        )
    numbers = [*_goodput(run, notes), *_loss(run, notes), *_cpu(run)]
    if not any(n.metric in ("goodput_bps", "sent_bps") for n in numbers):
        raise RecordError("no end of the run counted a byte: the run is broken")
    if omitted := real(run.test, "omit"):
        notes.append(
            f"the first {omitted:g} s are left out at both ends by their own clocks, so the "
            "receiver may count more than the sender sent"
        )
    streams = int(real(run.test, "num_streams") or 1)
    labels, pace = _labels(run, streams, command), Pace(Labels(load_bps=math.inf))
    if run.protocol == "udp" and labels.load_bps is None:
        pace = pace_of(_offered(numbers), DEFAULT_BPS * streams, "-b")
        notes += pace.notes
    return Result(
        origin=Origin(
            NAME,
            text_of(run.start, "version").removeprefix("iperf").strip(),
            place,
            run=text_of(run.start, "cookie"),
        ),
        labels=replace(labels, options=dict(APART) if way.both else {}),
        unless=pace.unless,
        assumed=pace.assumed,
        numbers=tuple(numbers),
        hosts=_hosts(run),
        streams=streams,
        limits=Limits(
            most_cores=_SLACK * (1 + streams if _version(run) >= _MULTITHREADED else 1),
            windows=OMITTED if real(run.test, "omit") else 1.05,
        ),
        notes=tuple(notes),
    )


def _checked(way: _Way) -> _Run:
    document = way.document
    start, end = table(document, "start"), table(document, "end")
    if said := document.get("error"):
        raise RecordError(f"the run failed: iperf3 says {said!s}")
    if not start and not end:
        raise RecordError(
            "it is a fragment of iperf3's JSON: it has neither start nor end, so nothing says what "
            "was measured"
        )
    if not end or not tables(document, "intervals"):
        raise RecordError("the run ended before it measured: it has no intervals or no end")
    test = table(start, "test_start")
    if not test:
        raise RecordError("it has no test_start, which says protocol and size: the run is broken")
    if not real(test, "blksize"):
        raise RecordError("test_start has no blksize: the payload is not said")
    _check_test(start, end, test, both=way.both)
    client = bool(table(start, "connecting_to"))
    return _Run(
        start=start,
        end=end,
        test=test,
        protocol=text_of(test, "protocol").lower(),
        local_sends=client != way.reverse,
        at_server=not client,
        sent_packets=_sent_packets(document, end),
    )


def _check_test(start: Document, end: Document, test: Document, *, both: bool) -> None:
    """Hold the streams and the size that were asked for against what was connected and sent."""
    connected, streams = len(tables(start, "connected")), real(test, "num_streams")
    if connected and streams is not None and not both:
        check_count(streams, connected, "the connections at the start", "num_streams")
    block = table(end, "sum_sent")
    packets, size = real(block, "packets"), real(test, "blksize") or 0
    if text_of(test, "protocol").lower() == "udp" and packets:
        what = f"{packets:.0f} packets of {size:.0f} B"
        check_count(real(block, "bytes") or 0, packets * size, what, "the bytes sent")


def _version(run: _Run) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text_of(run.start, "version"))
    return tuple(map(int, found.groups())) if found else (0, 0)


def _offered(numbers: Sequence[Number]) -> float:
    """What a sender of UDP sent [b/s]; where it is not counted, what arrived and what was lost."""
    known = {number.metric: number.value for number in numbers}
    arrived = known.get("goodput_bps", 0.0) / max(1 - known.get("loss_rate", 0.0), SLACK)
    return known.get("sent_bps", arrived)


def _labels(run: _Run, streams: int, command: Command) -> Labels:
    target = real(run.test, "target_bitrate")
    if target is None:
        target = command.amount("-b", "--bitrate", "--bandwidth", small=1000, large=1000)
    load = None if target is None else target * streams or math.inf
    return Labels(
        protocol=run.protocol,
        payload_bytes=int(real(run.test, "blksize") or 0),
        load_bps=load,
        cores=1 if streams == 1 else None,
    )


def _hosts(run: _Run) -> Ends:
    ends = next(iter(tables(run.start, "connected")), {})
    local, remote = text_of(ends, "local_host"), text_of(ends, "remote_host")
    return Ends(local, remote) if run.local_sends else Ends(remote, local)


# --- counts -----------------------------------------------------------------------------------


def _goodput(run: _Run, notes: list[str]) -> list[Number]:
    _check_streams(run)
    received = _rate(table(run.end, "sum_received"), "sum_received")
    sent = _rate(table(run.end, "sum_sent"), "sum_sent")
    numbers = []
    if received:
        numbers.append(Number("goodput_bps", received, RECEIVER))
    if run.protocol == "udp" and not received:
        sent = sent or _rate(table(run.end, "sum"), "sum")
        numbers += _counted_goodput(run, notes)
    if sent:
        numbers.append(Number("sent_bps", sent, SENDER))
    return numbers


def _rate(block: Document, place: str) -> float | None:
    """Bytes over seconds of a block [b/s], held against the rate it says itself."""
    size, seconds, said = (real(block, key) for key in ("bytes", "seconds", "bits_per_second"))
    if not size or not seconds:
        return None
    if seconds < 0:
        raise RecordError(f"{place} took {seconds:g} s: a number was changed")
    rate = 8 * size / seconds
    if said:
        check_rate(exact(said), exact(rate), f"{place}: {size:.0f} B in {seconds:g} s", SLACK)
    return rate


def _check_streams(run: _Run) -> None:
    """Hold the bytes of both ends against the sums of their streams, which TCP's reports list."""
    streams = tables(run.end, "streams")
    for end, whole in (("sender", "sum_sent"), ("receiver", "sum_received")):
        parts = [real(table(stream, end), "bytes") for stream in streams]
        total = real(table(run.end, whole), "bytes")
        if parts and None not in parts and total is not None:
            counted = sum(part or 0 for part in parts)
            check_count(total, counted, f"the bytes of {len(parts)} streams' {end}", whole)


def _counted_goodput(run: _Run, notes: list[str]) -> list[Number]:
    """UDP of versions that print the sender's bytes alone: what arrived follows from packets."""
    block = table(run.end, "sum")
    packets, lost, seconds = (real(block, key) for key in ("packets", "lost_packets", "seconds"))
    size = real(run.test, "blksize")
    if not packets or lost is None or not seconds or not size or lost < 0:
        return []
    if block.get("sender") is True:
        notes.append("the report of a sender of UDP says nothing of what arrived")
        return []
    notes.append(
        "this version prints the sender's bytes alone: goodput is worked out of the packets that "
        "arrived, their size and the sender's seconds"
    )
    value = 8 * size * (packets - lost) / seconds
    return [Number("goodput_bps", value, RECEIVER, basis="derived")]


def _sent_packets(document: Document, end: Document) -> float | None:
    """UDP packets the sender counted over its intervals, or says it sent."""
    said = real(table(end, "sum_sent"), "packets")
    blocks = [table(interval, "sum") for interval in tables(document, "intervals")]
    counted = [real(block, "packets") for block in blocks if not block.get("omitted")]
    if any(block.get("sender") is False for block in blocks):
        return said
    whole = sum(count or 0 for count in counted)
    return max(said or 0, whole) or None


def _loss(run: _Run, notes: list[str]) -> list[Number]:
    if run.protocol != "udp":
        return []
    block = table(run.end, "sum_received") or table(run.end, "sum")
    packets, lost = real(block, "packets"), real(block, "lost_packets")
    if not packets or lost is None:
        return []
    if not 0 <= lost <= packets:
        raise RecordError(
            f"it counts {lost:.0f} lost of {packets:.0f} packets, which is impossible: iperf3's "
            "32-bit counter overflowed; run shorter or with --udp-counters-64bit"
        )
    if (said := real(block, "lost_percent")) is not None:
        check_share(said / 100, lost / packets, f"{lost:.0f} lost of {packets:.0f} packets")
    value = lost / packets
    sent, received = run.sent_packets, packets - lost
    if sent is None or sent <= packets or real(run.test, "omit"):
        return [Number("loss_rate", value, RECEIVER)]
    notes.append(
        f"{sent:.0f} packets were sent and {packets:.0f} are accounted for: the tail is lost or "
        "late, which loss_rate leaves out and its high takes in"
    )
    high = 1 - received / sent
    return [Number("loss_rate", value, RECEIVER, low=value, high=high, quality="tail not counted")]


def _cpu(run: _Run) -> list[Number]:
    """CPU of both processes; a server never learns that of its client and prints 0."""
    block = table(run.end, "cpu_utilization_percent")
    sides = {"host": run.local_sends, "remote": not run.local_sends}
    numbers = []
    for name, sends in sides.items():
        percent = real(block, f"{name}_total")
        if percent is not None and not (name == "remote" and run.at_server and percent == 0):
            metric = f"cpu_{'send' if sends else 'recv'}_process_cores"
            numbers.append(Number(metric, shifted(percent, -2), SENDER if sends else RECEIVER))
    return numbers
