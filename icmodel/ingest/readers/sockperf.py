"""sockperf: ping-pong, under-load and throughput summaries, and the head of a full log.

Latencies are half a round trip unless --full-rtt was asked for. "MBps" are 2^20 B/s, its "Mbps"
2^20 b/s, and both count what the sender sent: they are checked, and the rate of messages is taken.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.modes import check_rate, command_of
from icmodel.ingest.readers.table import Layout, told
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    SENDER,
    Assumed,
    Ends,
    NotTakenError,
    Number,
    Origin,
    Result,
    printed,
)
from icmodel.ingest.source import Source, number

NAME = "sockperf"
MEBI = 2**20
SLACK = 2e-3
"""How far bandwidth and messages times their size may lie apart beside the digits cut off."""
_VERSION = re.compile(r"== version #(\S+) ==")
LAYOUT = Layout(start=re.compile(r"sockperf: +== version"))
_PEER = re.compile(r"IP = (\S+)\s+PORT =\s*\d+\s*# (TCP|UDP)")
_SIZE = re.compile(r"(?:msg-size[= ]|(?<=\s)-m\s+)(\d+)")
_PACE = re.compile(r"\bmps[= ](\d+)\b")
_MEAN = re.compile(r"====> avg-(lat|latency|rtt)=\s*([0-9.]+) \(std-dev=\s*([0-9.]+)")
_VALID = re.compile(r"\[Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=(\d+)")
_COUNT = re.compile(r"Total (\d+) observations")
_AT = re.compile(r"---> (<MAX> observation|<MIN> observation|percentile (\S+)) =\s*(\S+)")
_EATEN = re.compile(r"--->\s+observation =")
"""An extreme whose mark, <MAX> or <MIN>, a mail program took for HTML."""
_RATE = re.compile(r"Message Rate is (\d+) \[msg/sec\]")
_WIDTH = re.compile(r"BandWidth is ([0-9.]+) (\w+) \(([0-9.]+) (\w+)\)")
_LOST = re.compile(
    r"dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)"
)
_MARK = re.compile(
    r"^sockperf(?:\[|: (?:=|\[|---> |Summary|Total|Starting|Warmup|Test end|ERROR|# dropped|NOTE: ))",
    re.M,
)
TAKEN = {"50.000": "p50", "90.000": "p90", "99.000": "p99", "99.900": "p999"}
DEFAULT_BYTES, DEFAULT_MPS = 14, 10_000
"""Message size, and messages per second under load, unless told otherwise (sockperf's README)."""
UNDER_LOAD = 0.9
"""With fewer answers per message than this the run is no ping-pong."""
PACED = 0.05
"""Greatest relative distance of the rate sent from the default that it is taken for."""
LEAST = {"p50": 2, "p90": 10, "p99": 100, "p999": 1000}
"""Observations under which a quantile says nothing."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of sockperf."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """The result of a run.

    Raises
    ------
    RecordError
        If it holds none, or several.
    """
    text = source.text.partition("\npacket, txTime")[0]
    if len(_VERSION.findall(text)) > 1 or len(_MEAN.findall(text)) > 1:
        raise RecordError(
            f"{source.place}: it holds several runs of sockperf without the line of its version, which "
            "begins each: keep each in a file of its own"
        )
    if _RATE.search(text) and _WIDTH.search(text):
        return [_throughput(source, text)]
    if _MEAN.search(text):
        return [_latency(source, text)]
    if "[SERVER]" in text:
        raise NotTakenError(
            "it is the output of a server, which measures nothing: ingest its client's"
        )
    raise RecordError(
        "it has neither a latency nor a message rate: the run of sockperf failed or was cut off"
    )


def _size(text: str) -> int | None:
    # "consider using --msg-size=1472" is advice, not what was done.
    size = told(_SIZE, re.sub(r"For getting maximum.*|\(and consider.*", "", text))
    return int(size) if size else None


def _pace(text: str) -> float | None:
    pace = told(_PACE, re.sub(r"For getting maximum.*", "", text))
    return float(pace) if pace else None


def _result(
    source: Source,
    payload: int | None,
    pace: float | None,
    numbers: list[Number],
    notes: list[str],
    load: float | None = None,
) -> Result:
    text = source.text
    peer = _PEER.search(text)
    protocol = "tcp" if command_of(source, NAME).has("--tcp") else None
    past_kernel = "VMA INFO" in text
    if past_kernel:
        notes.append("the sockets were taken over by VMA, past the kernel: kept apart by stack")
    return Result(
        origin=Origin(NAME, told(_VERSION, text), source.place),
        labels=Labels(
            protocol=peer[2].lower() if peer else protocol,
            payload_bytes=payload,
            cores=1,
            options={"stack": "vma"} if past_kernel else {},
        ),
        numbers=tuple(numbers),
        hosts=Ends(receiver=peer[1] if peer else ""),
        unless=Labels(load_bps=load),
        assumed=(Assumed("payload_bytes", DEFAULT_BYTES, "--msg-size"),),
        pace_fps=pace,
        notes=tuple(notes),
    )


# --- latency ----------------------------------------------------------------------------------


def _latency(source: Source, text: str) -> Result:
    mean, valid, count = _MEAN.search(text), _VALID.search(text), _COUNT.search(text)
    if mean is None or valid is None or count is None:
        raise RecordError("it has no valid duration or no count of observations: it is cut off")
    seconds, seen = float(valid[1]), int(count[1])
    if seconds <= 0 or seen < 2:
        raise RecordError(
            f"it rests on {seen} observation in {valid[1]} s of valid time: every percentile "
            "repeats it, so run longer"
        )
    kind = "rtt" if mean[1] == "rtt" else "rtt_half"
    notes: list[str] = []
    numbers = [
        Number.read(f"{kind}_mean_s", printed(mean[2], MICRO), BOTH),
        Number.read(f"{kind}_std_s", printed(mean[3], MICRO), BOTH),
        *_quantiles(text, kind, seen, notes),
    ]
    lost = _LOST.search(text)
    if lost is not None and any(map(int, lost.groups())):
        notes.append(
            "messages were dropped, doubled or out of order, and have no latency: the percentiles "
            "are of the others"
        )
    if _EATEN.search(text):
        notes.append(
            "the marks <MAX> and <MIN> are missing from its lines, as mail programs take them for HTML: the "
            "extremes are not taken"
        )
    return _result(source, _size(text), _offered(text, valid, seen, notes), numbers, notes)


def _offered(text: str, valid: re.Match[str], seen: int, notes: list[str]) -> float | None:
    """Messages per second that were sent whether answered or not; none of a ping-pong as fast as it goes."""
    pace, counted = _pace(text), int(valid[2]) / float(valid[1])
    if pace is not None or seen >= UNDER_LOAD * int(valid[2]):
        return pace
    if abs(counted / DEFAULT_MPS - 1) < PACED:
        notes.append(
            f"{DEFAULT_MPS} messages per second are assumed: the default under load, which --mps sets"
        )
        return float(DEFAULT_MPS)
    notes.append("the load is the messages sent a second, since --mps is not said")
    return float(f"{counted:.3g}")


def _quantiles(text: str, kind: str, seen: int, notes: list[str]) -> list[Number]:
    numbers, few = [], []
    found = _AT.findall(text)
    for (above, _, more), (below, _, less) in pairwise(found):
        if number(more, above) < number(less, below):
            raise RecordError(
                f"its {below} of {less} us is above its {above} of {more} us: a number was changed"
            )
    for what, percentile, value in found:
        if percentile and not 0 <= number(percentile, "a percentile") <= 100:
            raise RecordError(f"it has the percentile {percentile}: a number was changed")
        name = TAKEN.get(percentile) or {"<M": what[1:4].lower()}.get(what[:2], "")
        if not name:
            continue
        if seen < LEAST.get(name, 2):
            few.append(name)
            continue
        numbers.append(Number.read(f"{kind}_{name}_s", printed(value, MICRO), BOTH))
    if few:
        notes.append(f"{', '.join(sorted(few))} not taken: {seen} observations are too few for it")
    return numbers


# --- throughput -------------------------------------------------------------------------------


def _throughput(source: Source, text: str) -> Result:
    rate, width, payload = _RATE.search(text), _WIDTH.search(text), _size(text)
    assert rate is not None, "the caller looked for both"
    assert width is not None, "the caller looked for both"
    per_second = float(rate[1])
    if payload is None:
        payload = round(float(width[1]) * MEBI / per_second) if per_second else None
    if not payload or not per_second:
        raise RecordError("it sent no message: the run failed")
    sent = printed(rate[1], cut=True) * (payload * 8)
    said = f"{rate[1]} messages/s of {payload} B"
    check_rate(printed(width[1], MEBI * 8, cut=True), sent, said, SLACK)
    notes = [
        "counted where it was sent: what arrived is not known, so it is sent_bps, no goodput",
        "its MBps and Mbps are of 2^20; the rate of messages times their size is taken",
    ]
    numbers = [Number.read("sent_bps", sent, SENDER)]
    pace = _pace(text)
    load = math.inf if pace is None else None
    return _result(source, payload, pace, numbers, notes, load)
