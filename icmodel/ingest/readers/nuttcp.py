"""Reader of nuttcp 6.1.2 to 7.2.1: the line that ends a run, with or without ``-i``, and ``-fparse``.

MB are 2^20 B while Mbps are 10^6 b/s.  %TX and %RX are CPU of the process in whole per cent.  Under a rate
limit, which UDP has by default, the sender spins, so its %TX is not taken.  ::

    $ nuttcp -T1 -l64 192.0.2.2
       24.1729 MB /   1.00 sec =  203.1227 Mbps 53 %TX 44 %RX 0 retrans 0.16 msRTT
    megabytes=2369.4077 real_seconds=2.00 rate_Mbps=9941.1674 tx_cpu=52 rx_cpu=42 retrans=0 rtt_ms=0.13
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import (
    Layout,
    Pace,
    bits_per_second,
    check_last_line,
    check_loss,
    check_rate,
    pace_of,
)
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Assumed,
    Hosts,
    Limits,
    Number,
    Origin,
    Result,
    exact,
    printed,
)
from icmodel.ingest.source import Source, require

NAME = "nuttcp"
LAYOUT = Layout()
MEBIBYTE = 2**20
DEFAULT_BYTES, DEFAULT_BPS = 2**16, 1e6
"""Defaults of nuttcp: the size of a write to TCP [B], and the rate limit of UDP [b/s] (its manual)."""
SLACK = 5e-3
"""Relative tolerance between the printed rate and the quotient bytes / seconds, beyond rounding."""
TINY = 1e-12
"""Relative error that a floating-point division may have."""
_LINE = re.compile(
    r"^\s*(?P<megabytes>[0-9.]+) MB /\s*(?P<real_seconds>[0-9.]+) sec =\s*(?P<rate_Mbps>[0-9.]+) Mbps"
)
_CPU = re.compile(r"(?P<tx_cpu>\d+) %TX\s+(?P<rx_cpu>\d+) %RX")
_DROPS = re.compile(r"(?P<drop>\d+) /\s*(?P<pkt>\d+) drop/pkt(?:\s+(?P<data_loss>[0-9.]+) %loss)?")
_PARSED = re.compile(r"^\s*megabytes=[0-9.]+ real_seconds=[0-9.]+")
_ENDS = re.compile(r"(?:drop/pkt|%loss|msRTT)\s*$| (?:data_loss|rtt_ms)=[0-9.]+$")
"""Pattern of a complete line at the end of a file; after %RX, the packets of UDP may follow."""
_COMMAND = re.compile(r"(?:^|\s)nuttcp\s+(?P<options>-.*|[\w.:-]+)$")
_DIRECTION = re.compile(r"(?:^|\s)-(?P<way>[rt])(?=\s|$)")
_AFTER = re.compile(r"\s+(?:[|<>&;]|2>).*$")
"""Pattern of the end of a command line that is not nuttcp's: a pipe, a redirection, or another command."""
_HEADING = re.compile(r"[ \t]*[#=*~]")
"""Pattern of a line that looks like a heading; runs below the heading ignore any command line above it."""
_LENGTH = re.compile(r"-l\s*(?P<size>\d+)(?P<unit>[kKmM]?)\b")
_RATE = re.compile(r"-R(?:u|(?:i\s*)?(?P<rate>\d+(?:\.\d+)?)(?P<unit>[kKmMgG]?))\b")
"""Pattern of the rate limit in nuttcp's option -R; 0 and u mean no limit."""
_STREAMS = re.compile(r"-N\s*(?P<count>\d+)\b")
_MARK = re.compile(
    r"^[ \t]*[0-9.]+ \w?B /\s*[0-9.]+ sec =|^megabytes=[0-9.]+ real_seconds=|^nuttcp-[tr]:",
    re.M,
)


class _Options(NamedTuple):
    """Options in a command line of nuttcp: payload [B], rate limit [b/s], parallel streams, and the hosts that it names."""

    payload: int | None = None
    load: float | None = None
    streams: int = 1
    hosts: Hosts = Hosts()

    @classmethod
    def parse(cls, command: str) -> _Options:
        """Read the options from a command line of nuttcp, given as one text."""
        length, rate, streams = (one.search(command) for one in (_LENGTH, _RATE, _STREAMS))
        scales = {"": 1, "k": 1024, "m": MEBIBYTE}
        payload = int(length["size"]) * scales[length["unit"].lower()] if length else None
        # A bare number after -R is in kb/s.
        speeds = {"": 1e3, "k": 1e3, "m": 1e6, "g": 1e9}
        load = float(rate["rate"] or 0) * speeds[(rate["unit"] or "").lower()] if rate else None
        count = int(streams["count"]) if streams else 1
        # The last word is the server. With -r the server sends, otherwise it receives.
        typed = _AFTER.sub("", command)
        ways, server = _DIRECTION.findall(typed), typed.split()[-1]
        if server.startswith("-"):
            hosts = Hosts()
        else:
            hosts = Hosts(sender=server) if ways[-1:] == ["r"] else Hosts(receiver=server)
        return cls(payload, math.inf if load == 0 else load, count, hosts)


def recognises(text: str) -> bool:
    """Whether a text looks like output of nuttcp."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """Read the results in an output of nuttcp: one for each line that ends a run.

    Raises
    ------
    RecordError
        If no line ends a run.
    """
    results = []
    options = _Options()
    for number, text in source.numbered():
        if command := _COMMAND.search(text):
            options = _Options.parse(command["options"])
        elif _HEADING.match(text):
            options = _Options()
        if fields := _fields(text, number):
            if number == source.first + len(source.lines) - 1:
                check_last_line(source, _ENDS)
            results.append(_result(fields, number, options))
    require(
        results,
        "the output has no line with %TX and %RX, which ends a run of nuttcp: interval lines and the old style "
        "of -v contain no result",
    )
    return results


def _fields(text: str, number: int) -> dict[str, str]:
    """Read the fields of a line that ends a run, by their names in ``-fparse``; empty for other lines."""
    if _PARSED.match(text):
        fields = dict(re.findall(r"(\w+)=([0-9.]+)", text))
        udp = ("drop", "pkt") if " drop=" in text or " pkt=" in text else ()
        for name in ("rate_Mbps", "tx_cpu", "rx_cpu", *udp):
            require(name in fields, f"line {number} has no {name}: the line is cut off")
        return fields
    line = _LINE.match(text)
    rest = text[line.end() :] if line else ""
    cpu, drops = _CPU.search(rest), _DROPS.search(rest)
    if line is None or cpu is None:
        return {}
    require(
        drops or "drop" not in rest,
        f"line {number}: its packets lost and sent are not numbers: the output was changed",
    )
    groups = line.groupdict() | cpu.groupdict() | (drops.groupdict() if drops else {})
    return {name: value for name, value in groups.items() if value is not None}


def _result(fields: Mapping[str, str], number: int, options: _Options) -> Result:
    """Make the result of a line that ends a run, with the options of the command line above it."""
    place = f"line {number}"
    is_udp = "pkt" in fields
    lost, packets = int(fields.get("drop", 0)), int(fields.get("pkt", 1))
    require(packets, f"{place} counts no packet: the run failed")
    loss = printed(fields["data_loss"]) if "data_loss" in fields else exact(100 * lost / packets)
    check_loss(loss, lost, packets, place)
    rate, seconds = (
        printed(fields["rate_Mbps"], 10**6),
        printed(fields["real_seconds"], truncated=True),
    )
    if seconds.value > 0:
        moved = printed(fields["megabytes"], MEBIBYTE)
        what = f"{place}: {fields['megabytes']} MB of 2^20 B in {fields['real_seconds']} s"
        check_rate(rate, bits_per_second(moved, seconds), what, SLACK)

    numbers = [Number.read("goodput_bps", rate, RECEIVER)]
    notes = ["round trip and retransmissions describe the connection, not frames: not used"]
    if not is_udp and options.load in (None, math.inf):
        numbers.append(_cpu("cpu_send_process_cores", fields["tx_cpu"]))
    else:
        notes.append(
            "%TX is not used: a sender with a rate limit (UDP by default) spins while it waits"
        )
    payload = options.payload
    pace = Pace(Labels(load_bps=math.inf), (Assumed("payload_bytes", DEFAULT_BYTES, "-l"),))
    if is_udp:
        # Compute the size of a datagram if the bytes that arrived allow only one size, or only one power of two.
        counted = None
        if arrived := packets - lost:
            each = printed(fields["megabytes"], MEBIBYTE) * (1 / arrived)
            first, last = math.ceil(each.low * (1 - TINY)), math.floor(each.high * (1 + TINY))
            powers = [2**power for power in range(17) if first <= 2**power <= last]
            if first == last or len(powers) == 1:
                counted = first if first == last else powers[0]
        if None not in (counted, payload) and counted != payload:
            raise RecordError(
                f"{place}: bytes and packets give {counted} B a packet, but the command line has {payload} B: "
                "a number was changed, so measure again"
            )
        payload = counted or payload
        numbers.append(Number("loss_rate", lost / packets, RECEIVER))
        sent = float(fields["rate_Mbps"]) * 1e6 / max(1 - lost / packets, TINY)
        pace = pace_of(sent, DEFAULT_BPS, "-R")
    numbers.append(_cpu("cpu_recv_process_cores", fields["rx_cpu"]))
    return Result(
        origin=Origin(NAME, "", place),
        labels=Labels(
            protocol="udp" if is_udp else "tcp",
            payload_bytes=payload,
            load_bps=options.load,
            cores=1 if options.streams == 1 else None,
        ),
        implied=pace.implied,
        assumed=pace.assumed,
        numbers=tuple(numbers),
        hosts=options.hosts,
        streams=options.streams,
        limits=Limits(most_cores=1.1),
        notes=(*notes, *(pace.notes if options.load is None else ())),
    )


def _cpu(metric: str, text: str) -> Number:
    """Convert the CPU utilisation of a process from whole per cent to busy cores."""
    percent = int(text)
    side = SENDER if "send" in metric else RECEIVER
    low, high = max(percent - 0.5, 0) / 100, (percent + 0.5) / 100
    return Number(
        metric, percent / 100, side, low=low, high=high, quality="whole per cent", half=0.005
    )
