"""Reader of sockperf 3.7 to 3.10: summaries of ping-pong, under-load and throughput, and the head of a full log.

Latencies are half a round trip unless --full-rtt was set.  "MBps" are 2^20 B/s and "Mbps" 2^20 b/s.
Throughput is the sent rate: it is computed from the message rate, and checked against the printed MBps.  ::

    sockperf: == version #3.7-no.git ==
    [ 0] IP = 192.0.2.2       PORT = 11111 # UDP
    sockperf: [Valid Duration] RunTime=9.550 sec; SentMessages=120000; ReceivedMessages=120000
    sockperf: ====> avg-latency=20.000 (std-dev=2.000)
    sockperf: Total 120000 observations; each percentile contains 1200.00 observations
    sockperf: ---> percentile 99.000 =   31.000
    sockperf: ---> <MIN> observation =   15.000
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    check_last_line,
    check_rate,
    command_of,
    first_group,
)
from icmodel.ingest.result import (
    BOTH,
    MICRO,
    SENDER,
    Assumed,
    Hosts,
    NotTakenError,
    Number,
    Origin,
    Result,
    printed,
)
from icmodel.ingest.source import Source, number, require

NAME = "sockperf"
MEBI = 2**20
SLACK = 2e-3
"""Relative tolerance between the printed bandwidth and the product messages × size, beyond truncation."""
_VERSION = re.compile(r"== version #(\S+) ==")
LAYOUT = Layout(start=re.compile(r"sockperf: +== version"))
_PEER = re.compile(r"IP = (\S+)\s+PORT =\s*\d+\s*# (TCP|UDP)")
_ADVICE = re.compile(r"For getting maximum.*|\(and consider.*")
"""Pattern of sockperf's advice, such as "consider using --msg-size=1472", which is not an option of the run."""
_SIZE = re.compile(r"(?:msg-size[= ]|(?<=\s)-m\s+)(\d+)")
_PACE = re.compile(r"\bmps[= ](\d+)\b")
_MEAN = re.compile(r"====> avg-(lat|latency|rtt)=\s*([0-9.]+) \(std-dev=\s*([0-9.]+)")
_VALID = re.compile(r"\[Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=(\d+)")
_COUNT = re.compile(r"Total (\d+) observations")
_QUANTILE = re.compile(r"---> (<MAX> observation|<MIN> observation|percentile (\S+)) =\s*(\S+)")
_EATEN = re.compile(r"--->\s+observation =")
"""Pattern of an extreme whose mark, <MAX> or <MIN>, a mail program removed as HTML."""
_ENDS = re.compile(r"\.\d{3}\s*$")
"""Pattern of a complete last line: a latency with its three decimals."""
_RATE = re.compile(r"Message Rate is (\d+) \[msg/sec\]")
_BANDWIDTH = re.compile(r"BandWidth is ([0-9.]+) (\w+) \(([0-9.]+) (\w+)\)")
_LOST = re.compile(
    r"dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)"
)
_MARK = re.compile(
    r"^sockperf(?:\[|: (?:=|\[|---> |Summary|Total|Starting|Warmup|Test end|ERROR|# dropped|NOTE: ))",
    re.M,
)
QUANTILES = {"50.000": "p50", "90.000": "p90", "99.000": "p99", "99.900": "p999"}
DEFAULT_BYTES, DEFAULT_MPS = 14, 10_000
"""Defaults of sockperf: the message size [B], and the messages per second under load (its README)."""
UNDER_LOAD = 0.9
"""Least ratio of observed latencies to sent messages in a ping-pong run; with a lower ratio, the run was under-load."""
PACED = 0.05
"""Relative tolerance within which the sent rate counts as sockperf's default rate."""
LEAST = {"p50": 2, "p90": 10, "p99": 100, "p999": 1000}
"""A quantile is used only if the run has at least this many observations."""


def recognises(text: str) -> bool:
    """Whether a text looks like output of sockperf."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the result of a run of sockperf.

    Raises
    ------
    RecordError
        If the text has no run or several runs.
    """
    text = source.text.partition("\npacket, txTime")[0]
    require(
        len(_VERSION.findall(text)) <= 1 and len(_MEAN.findall(text)) <= 1,
        f"{source.place}: the output holds several runs of sockperf, but not the version line that "
        "begins each run: keep each run in a file of its own",
    )
    options = _ADVICE.sub("", text)
    size, pace_text = first_group(_SIZE, options), first_group(_PACE, options)
    payload = int(size) if size else None
    pace = float(pace_text) if pace_text else None
    load = None
    notes: list[str] = []

    rate, bandwidth = first_group(_RATE, text), first_group(_BANDWIDTH, text)
    if rate and bandwidth:
        per_second = float(rate)
        if payload is None and per_second:
            payload = round(float(bandwidth) * MEBI / per_second)
        if not payload or not per_second:
            raise RecordError("the run sent no message, so it failed: leave the file out")
        sent = printed(rate, truncated=True) * (payload * 8)
        what = f"{rate} messages/s of {payload} B"
        check_rate(printed(bandwidth, MEBI * 8, truncated=True), sent, what, SLACK)
        numbers = [Number.read("sent_bps", sent, SENDER)]
        load = math.inf if pace is None else None
        notes += [
            "the sender counted the rate, so it is sent_bps; the goodput is unknown",
            "MBps and Mbps have prefixes of 2^20: the rate is messages per second × size",
        ]
    elif _MEAN.search(text):
        if _QUANTILE.search(source.lines[-1]):
            check_last_line(source, _ENDS)
        numbers, pace = _latency(text, pace, notes)
    elif "[SERVER]" in text:
        raise NotTakenError(
            "the text is the output of a server, which measures nothing: ingest the client's output"
        )
    else:
        raise RecordError(
            "the output has neither a latency nor a message rate: the run of sockperf failed or was cut off"
        )

    peer = _PEER.search(text)
    typed = "tcp" if command_of(source, NAME).has("--tcp") else None
    past_kernel = "VMA INFO" in text
    if past_kernel:
        notes.append("VMA replaced the kernel's sockets: these rows have the option stack = vma")
    return [
        Result(
            origin=Origin(NAME, first_group(_VERSION, source.text), source.place),
            labels=Labels(
                protocol=peer[2].lower() if peer else typed,
                payload_bytes=payload,
                cores=1,
                options={"stack": "vma"} if past_kernel else {},
            ),
            numbers=tuple(numbers),
            hosts=Hosts(receiver=peer[1] if peer else ""),
            implied=Labels(load_bps=load),
            assumed=(Assumed("payload_bytes", DEFAULT_BYTES, "--msg-size"),),
            pace_fps=pace,
            notes=tuple(notes),
        )
    ]


def _latency(text: str, pace: float | None, notes: list[str]) -> tuple[list[Number], float | None]:
    """Read the latencies of a run, and its load in messages per second.

    The load is ``None`` for an unlimited ping-pong.
    """
    mean, valid, count = _MEAN.search(text), _VALID.search(text), _COUNT.search(text)
    if mean is None or valid is None or count is None:
        raise RecordError(
            "the output lacks the mean latency, the valid duration or the count of observations: it is cut off, so "
            "save the whole output"
        )
    seconds, sent, observations = float(valid[1]), int(valid[2]), int(count[1])
    require(
        seconds > 0 and observations >= 2,
        f"the output has only {observations} observation in {valid[1]} s of valid time, too few for "
        "percentiles: run longer",
    )
    kind = "rtt" if mean[1] == "rtt" else "rtt_half"
    numbers = [
        Number.read(f"{kind}_mean_s", printed(mean[2], MICRO), BOTH),
        Number.read(f"{kind}_std_s", printed(mean[3], MICRO), BOTH),
        *_quantiles(text, kind, observations, notes),
    ]
    lost = _LOST.search(text)
    if lost is not None and any(map(int, lost.groups())):
        notes.append(
            "dropped, doubled and reordered messages have no latency: the percentiles leave them out"
        )
    if _EATEN.search(text):
        notes.append(
            "the marks <MAX> and <MIN> are missing (mail programs remove them as HTML): the extremes are not used"
        )
    if pace is None and observations < UNDER_LOAD * sent:
        pace = float(f"{sent / seconds:.3g}")
        if abs(sent / seconds / DEFAULT_MPS - 1) < PACED:
            pace = float(DEFAULT_MPS)
            notes.append(
                f"{DEFAULT_MPS} messages per second are assumed, the default under load (--mps)"
            )
        else:
            notes.append("--mps is not stated: the load is the sent messages per second")
    return numbers, pace


def _quantiles(text: str, kind: str, observations: int, notes: list[str]) -> list[Number]:
    """Read quantiles and extremes of the latency, printed in descending order.

    Quantiles of too few observations are left out.
    """
    printed_quantiles = _QUANTILE.findall(text)
    require(
        _EATEN.search(text) or (printed_quantiles and printed_quantiles[-1][0].startswith("<MIN>")),
        "the output has no <MIN> observation, which sockperf prints last: it was cut off",
    )
    for (above, _, more), (below, _, less) in pairwise(printed_quantiles):
        require(
            number(more, above) >= number(less, below),
            f"its {below} of {less} us is above its {above} of {more} us: a number was changed, so measure again",
        )
    numbers, too_few = [], []
    for head, percentile, value in printed_quantiles:
        require(
            not percentile or 0 <= number(percentile, "a percentile") <= 100,
            f"the output has the percentile {percentile}: a number was changed, so measure again",
        )
        name = QUANTILES.get(percentile, "") if percentile else head[1:4].lower()
        if name and observations < LEAST.get(name, 2):
            too_few.append(name)
        elif name:
            numbers.append(Number.read(f"{kind}_{name}_s", printed(value, MICRO), BOTH))
    if too_few:
        notes.append(
            f"{', '.join(sorted(too_few))} not used: {observations} observations are too few"
        )
    return numbers
