"""Reader of iperf3 3.1.3 to 3.16: the JSON of ``-J`` and the lines of ``--json-stream``.

A rate is the quotient of bytes and seconds in one block. CPU numbers cover only the process; ``host_total`` is of the
end that wrote the JSON, either the sender or the receiver, and ``remote_total`` of the other end. Loss is counted by
gaps in a sequence number, so packets lost at the end of a run are missed. If the sender's count is known, the upper
limit of the loss includes these packets.  ::

    {"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 1448}},
     "intervals": [{}],
     "end": {"sum_sent": {"seconds": 1.0, "bytes": 1250000000, "bits_per_second": 1e10},
             "sum_received": {"seconds": 1.0, "bytes": 1249000000, "bits_per_second": 9.992e9},
             "cpu_utilization_percent": {"host_total": 41.2, "remote_total": 26.0}}}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    DUPLEX,
    Command,
    Layout,
    Pace,
    check_count,
    check_rate,
    check_share,
    command_of,
    pace_of,
)
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Hosts,
    Limits,
    NotTakenError,
    Number,
    Origin,
    Result,
    exact,
)
from icmodel.ingest.source import Source, documents, real, require, shifted, table, tables, text_of

NAME = "iperf3"
LAYOUT = Layout(start=re.compile(r'\{(?!"event")|\{"event":\s*"start"'))
_TEXT = re.compile(r"^\[ *(?:ID|SUM|\d+) *\] +(?:Interval|local |[0-9.]+-)", re.M)
_IPERF2 = re.compile(r"^(?:Client connecting to|Server listening on (?:TCP|UDP) port)", re.M)
"""Pattern of the first line of iperf 2, whose other lines look like those of iperf3."""
_JSON = re.compile(
    r'"(?:cpu_utilization_percent|connecting_to|accepted_connection|json-stream)"\s*:'
)
_OPENS = re.compile(r"^[ \t]*\{", re.M)
_FAILED = (re.compile(r'"start"\s*:'), re.compile(r'"intervals"\s*:'))
_EVENT = re.compile(r'^\{"event":', re.M)
_ERROR = re.compile(r"^iperf3: (?:error|interrupt) - .*$", re.M)
_MULTITHREADED = (3, 16)
DEFAULT_BPS = 2.0**20
"""Default rate limit of UDP in iperf3 [b/s] (its manual)."""
OMITTED = 1.5
"""Greatest plausible ratio of received to sent data with iperf3's option -O, which omits the first seconds.

It exceeds 1, since packets in flight at the end of the omitted seconds count only at the receiver.
"""
SLACK = 2e-3
"""Relative tolerance between a printed rate and the quotient bytes / seconds; their time windows may differ."""
CPU_SLACK = 1.1
"""Greatest plausible ratio of a process's busy cores to its number of threads, since CPU counters advance in ticks."""

Document = Mapping[str, object]


def recognises(text: str) -> bool:
    """Whether a text looks like output of iperf3."""
    failed = all(key.search(text) for key in _FAILED)
    is_json = _OPENS.search(text) and (failed or _JSON.search(text) or _EVENT.search(text))
    is_text = _TEXT.search(text) and "/sec" in text and not _IPERF2.search(text)
    return bool(is_json or is_text)


def read(source: Source) -> list[Result]:
    """Read the results of a run of iperf3: one, or with ``--bidir`` one for each direction.

    Raises
    ------
    RecordError
        If the output is text, is broken, or comes from a failed run.
    """
    if _TEXT.search(source.text) and not _OPENS.search(source.text):
        raise NotTakenError(
            "the output is iperf3's text, whose numbers are rounded to three digits: run iperf3 with -J and "
            "ingest the JSON"
        )
    parts = [part for part in documents(source.text) if isinstance(part, dict)]
    runs = list(_streamed_runs(parts)) if any("event" in part for part in parts) else parts
    require(runs, "the output holds no JSON of iperf3: run iperf3 with -J")
    if error := _ERROR.search(source.text.rpartition("}")[2]):
        raise RecordError(
            f"{source.place}: the run failed at its end; iperf3 wrote this error after the JSON: "
            f"“{error[0].strip()}”. Run the test again"
        )
    command = command_of(source, NAME)
    results = [
        direction.result(source.place, command) for run in runs for direction in _Direction.of(run)
    ]
    if _TEXT.search(source.text):
        note = f"{source.place}: the file also has lines of iperf3's text: only its JSON is used"
        results[0] = replace(results[0], notes=(*results[0].notes, note))
    return results


def _streamed_runs(events: Sequence[Document]) -> Iterator[Document]:
    """Assemble the runs of iperf3's JSON stream, each from its start event to its end event."""
    start: object = None
    intervals: list[object] = []
    for event in events:
        name, data = event.get("event"), event.get("data")
        if name == "start":
            start, intervals = data, []
        elif name == "interval":
            intervals.append(data)
        elif name == "error":
            raise RecordError(f"the run failed: iperf3 says {data}")
        elif name == "end":
            yield {"start": start or {}, "intervals": intervals, "end": data}
            start, intervals = None, []
    require(
        start is None and not intervals,
        "the JSON stream has intervals but no end event, which holds the result: the run or the file was cut off",
    )


@dataclass(frozen=True, slots=True)
class _Direction:
    """One direction of a run of iperf3: its JSON document with the sums of that direction alone.

    Parameters
    ----------
    reverse
        Whether the direction is from the server to the client.
    duplex
        Whether the other direction was loaded at the same time.
    """

    document: Document
    reverse: bool
    duplex: bool

    @property
    def start(self) -> Document:
        """Block ``start`` of iperf3's JSON document: version, hosts and settings."""
        return table(self.document, "start")

    @property
    def end(self) -> Document:
        """Block ``end`` of iperf3's JSON document: sums and CPU utilisation."""
        return table(self.document, "end")

    @property
    def test(self) -> Document:
        """Block ``test_start`` of iperf3's JSON document: the settings of the test."""
        return table(self.start, "test_start")

    @property
    def protocol(self) -> str:
        """Transport protocol of the iperf3 test, in lower case."""
        return text_of(self.test, "protocol").lower()

    @property
    def at_client(self) -> bool:
        """Whether the client, not the server, wrote the JSON document."""
        return bool(table(self.start, "connecting_to"))

    @property
    def local_sends(self) -> bool:
        """Whether the host that wrote the document was the sender of this direction."""
        return self.at_client != self.reverse

    @classmethod
    def of(cls, document: Document) -> Iterator[_Direction]:
        """Split a run of iperf3 into its directions; with ``--bidir`` first from client to server, then back."""
        whole = cls(document, reverse=False, duplex=False)
        end = whole.end
        back = {
            key.replace("_bidir_reverse", ""): end[key] for key in end if "_bidir_reverse" in key
        }
        if not (real(whole.test, "bidir") or back):
            yield replace(whole, reverse=bool(real(whole.test, "reverse")))
            return
        forth = {
            key: end[key] for key in end if not key.startswith("cpu_") and "reverse" not in key
        }
        for sums, reverse in ((forth, False), (back, True)):
            direction = cls(document, reverse, duplex=True)
            streams = [
                stream
                for stream in tables(end, "streams")
                if direction.local_sends
                is any(
                    table(stream, key).get("sender") is True
                    for key in ("sender", "receiver", "udp")
                )
            ]
            own = {**document, "intervals": [{}], "end": {**sums, "streams": streams}}
            yield replace(direction, document=own)

    def result(self, place: str, command: Command) -> Result:
        """Make the result of this direction of the run; ``command`` is the command line of iperf3."""
        self.check()
        start, test = self.start, self.test
        omitted = real(test, "omit")
        notes: list[str] = []
        if self.duplex:
            notes.append(
                "both ends sent at the same time (--bidir): the rows of each direction have duplex = both; CPU is the "
                "sum of both and is not used"
            )
        numbers = [*self.rates(notes), *self.loss(notes), *self.cpu()]
        known = {number.metric: number.value for number in numbers}
        require(
            "goodput_bps" in known or "sent_bps" in known,
            "neither host counted a byte: the run is broken",
        )
        if omitted:
            notes.append(
                f"each end leaves out the first {omitted:g} s by its own clock, so the receiver may count more "
                "than the sender"
            )

        # The file or the command line states the load. Otherwise UDP's load is estimated from the sent rate, or from
        # the received rate and the loss.
        streams = int(real(test, "num_streams") or 1)
        target = real(test, "target_bitrate")
        if target is None:
            target = command.amount("-b", "--bitrate", "--bandwidth", small=1000, large=1000)
        load, pace = None, Pace(Labels(load_bps=math.inf))
        if target is not None:
            load = target * streams or math.inf
        elif self.protocol == "udp":
            arrived = known.get("goodput_bps", 0.0) / max(1 - known.get("loss_rate", 0.0), SLACK)
            pace = pace_of(known.get("sent_bps", arrived), DEFAULT_BPS * streams, "-b")
            notes += pace.notes

        ends = next(iter(tables(start, "connected")), {})
        local, remote = text_of(ends, "local_host"), text_of(ends, "remote_host")
        version = text_of(start, "version")
        release = re.search(r"(\d+)\.(\d+)", version)
        is_threaded = release and tuple(map(int, release.groups())) >= _MULTITHREADED
        return Result(
            origin=Origin(
                NAME, version.removeprefix("iperf").strip(), place, run=text_of(start, "cookie")
            ),
            labels=Labels(
                protocol=self.protocol,
                payload_bytes=int(real(test, "blksize") or 0),
                load_bps=load,
                cores=1 if streams == 1 else None,
                options=dict(DUPLEX) if self.duplex else {},
            ),
            implied=pace.implied,
            assumed=pace.assumed,
            numbers=tuple(numbers),
            hosts=Hosts(local, remote) if self.local_sends else Hosts(remote, local),
            streams=streams,
            limits=Limits(
                most_cores=CPU_SLACK * (1 + streams if is_threaded else 1),
                most_goodput_ratio=OMITTED if omitted else 1.05,
            ),
            notes=tuple(notes),
        )

    def check(self) -> None:
        """Raise RecordError if the run failed, or its counts contradict each other.

        The number of connections must be the requested one. The total of the bytes must equal the sum over the streams,
        and for UDP the number of packets times the payload.
        """
        start, end, test = self.start, self.end, self.test
        if error := self.document.get("error"):
            raise RecordError(f"the run failed: iperf3 says {error!s}")
        require(
            start or end,
            "the output is a fragment of iperf3's JSON, without start and end: the test is unknown",
        )
        require(
            end and tables(self.document, "intervals"),
            "the run ended before it measured: it has no intervals or no end",
        )
        require(test, "the output has no test_start with protocol and size: the run is broken")
        size = real(test, "blksize")
        require(size, "test_start has no blksize: the payload is not stated")
        connected, streams = len(tables(start, "connected")), real(test, "num_streams")
        if connected and streams is not None and not self.duplex:
            check_count(streams, connected, "the connections at the start", "num_streams")
        sent = table(end, "sum_sent")
        packets = real(sent, "packets")
        if self.protocol == "udp" and packets and size:
            what = f"{packets:.0f} packets of {size:.0f} B"
            check_count(real(sent, "bytes") or 0, packets * size, what, "the bytes sent")
        parts = tables(end, "streams")
        for side, whole in (("sender", "sum_sent"), ("receiver", "sum_received")):
            counts = [real(table(part, side), "bytes") for part in parts]
            total = real(table(end, whole), "bytes")
            if counts and None not in counts and total is not None:
                counted = sum(count or 0 for count in counts)
                check_count(total, counted, f"the bytes of {len(counts)} streams' {side}", whole)

    def rates(self, notes: list[str]) -> list[Number]:
        """Read goodput and sent rate; in old versions, UDP's goodput is computed from received packets."""
        end = self.end
        received, sent = (_rate(end, name) for name in ("sum_received", "sum_sent"))
        numbers = []
        if received:
            numbers.append(Number("goodput_bps", received, RECEIVER))
        elif self.protocol == "udp":
            sent = sent or _rate(end, "sum")
            block = table(end, "sum")
            packets, seconds = real(block, "packets"), real(block, "seconds")
            lost, size = real(block, "lost_packets"), real(self.test, "blksize") or 0
            if packets and seconds and lost is not None and lost >= 0:
                if block.get("sender") is True:
                    notes.append("the report of a UDP sender does not contain the goodput")
                else:
                    notes.append(
                        "this version prints only the sender's bytes: goodput is computed from received packets, "
                        "their size and the sender's seconds"
                    )
                    value = 8 * size * (packets - lost) / seconds
                    numbers.append(Number("goodput_bps", value, RECEIVER, basis="derived"))
        if sent:
            numbers.append(Number("sent_bps", sent, SENDER))
        return numbers

    def loss(self, notes: list[str]) -> list[Number]:
        """Read the loss rate of UDP, which the receiver counts by gaps in the sequence numbers.

        Packets lost at the end of the run leave no gap. So if the sender counted more packets than the receiver, the
        interval of the loss rate reaches up to the loss of all missing packets.
        """
        end = self.end
        block = table(end, "sum_received") or table(end, "sum")
        packets, lost = real(block, "packets"), real(block, "lost_packets")
        if self.protocol != "udp" or not packets or lost is None:
            return []
        require(
            0 <= lost <= packets,
            f"the output counts {lost:.0f} lost of {packets:.0f} packets, which is impossible: iperf3's "
            "32-bit counter overflowed; run shorter or with --udp-counters-64bit",
        )
        loss, per_cent = lost / packets, real(block, "lost_percent")
        if per_cent is not None:
            check_share(per_cent / 100, loss, f"{lost:.0f} lost of {packets:.0f} packets")

        # Packets that the sender counted: its total, or the sum over its intervals.
        sent = real(table(end, "sum_sent"), "packets")
        blocks = [table(interval, "sum") for interval in tables(self.document, "intervals")]
        if not any(one.get("sender") is False for one in blocks):
            counts = [real(one, "packets") for one in blocks if not one.get("omitted")]
            sent = max(sent or 0, sum(count or 0 for count in counts)) or None
        if sent is None or sent <= packets or real(self.test, "omit"):
            return [Number("loss_rate", loss, RECEIVER)]
        notes.append(
            f"{sent:.0f} packets were sent, but only {packets:.0f} are counted: the last ones are lost or "
            "late; only the upper limit (high) of loss_rate includes them"
        )
        high = 1 - (packets - lost) / sent
        return [
            Number("loss_rate", loss, RECEIVER, low=loss, high=high, quality="tail not counted")
        ]

    def cpu(self) -> list[Number]:
        """Read the CPU utilisation of both processes.

        A server prints 0 for the client's CPU, which it does not know, so this 0 is left out.
        """
        block = table(self.end, "cpu_utilization_percent")
        numbers = []
        for name, sends in (("host", self.local_sends), ("remote", not self.local_sends)):
            percent = real(block, f"{name}_total")
            if percent is not None and (name == "host" or self.at_client or percent):
                metric = f"cpu_{'send' if sends else 'recv'}_process_cores"
                numbers.append(Number(metric, shifted(percent, -2), SENDER if sends else RECEIVER))
        return numbers


def _rate(end: Document, name: str) -> float | None:
    """Compute the rate in a block of the document [b/s] from bytes and seconds, and check the printed rate."""
    block = table(end, name)
    size, seconds, rate = (real(block, key) for key in ("bytes", "seconds", "bits_per_second"))
    if not size or not seconds:
        return None
    require(seconds > 0, f"{name} took {seconds:g} s: a number was changed, so measure again")
    counted = 8 * size / seconds
    if rate:
        check_rate(exact(rate), exact(counted), f"{name}: {size:.0f} B in {seconds:g} s", SLACK)
    return counted
