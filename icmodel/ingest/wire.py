"""Checks of goodput, sent rate and latency against the limits of the line rate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from icmodel import units
from icmodel.dataset import Interconnect
from icmodel.errors import ScenarioError
from icmodel.ingest.result import Result, printed_of
from icmodel.ingest.slips import hint
from icmodel.theory import ethernet

ROUNDING = 1.005
"""Ratio to a bound accepted silently: frames partly outside a short window may count in full."""
CLOCK = 1.02
"""Ratio to a bound accepted with a remark: the tool's clock may cause it, a wrong unit cannot."""


SPEED = re.compile(r"^[ \t]*Speed: (\d+)Mb/s[ \t]*$", re.M)
"""The line rate as ethtool prints it."""
PORT_RATE = re.compile(
    r"^[ \t]*(?:Rate: (\d+)[ \t]*$|rate:[ \t]+(\d+) Gb/sec|active_speed: .*\((\d+)\)[ \t]*$)", re.M
)
"""The line rate as ibstat and ibstatus print it [Gb/s]."""

_rate, _time = partial(units.format_bps, digits=6), partial(units.format_seconds, digits=6)


def stated_link(text: str, link: Interconnect | None) -> Interconnect | None:
    """The interconnect that a person states, with the line rate that a text states if the person gives none."""
    if link is not None and link.line_rate_bps is not None:
        return link
    rates = [1e6 * float(mb) for mb in SPEED.findall(text)]
    rates += [1e9 * float(next(filter(None, found))) for found in PORT_RATE.findall(text)]
    if not rates:
        return link
    kind = "" if link is None else link.kind
    return replace(link or Interconnect(kind=kind), line_rate_bps=max(rates))


def beyond_wire(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each number that is impossible at this line rate."""
    for metric, value, bound, said in _above(result, link, CLOCK):
        yield f"{said}{hint(value, bound, metric)}"
    yield from _too_fast(result, link)


def just_above(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A remark on each number that is accepted although slightly above the line rate."""
    for *_, said in _above(result, link, ROUNDING):
        yield (
            f"{said}: up to {CLOCK - 1:.0%} may be the clock of the tool, so it is taken; look at "
            "how long the run was"
        )


def _above(
    result: Result, link: Interconnect | None, slack: float
) -> Iterator[tuple[str, float, float, str]]:
    """Metric, value and bound [b/s] of each rate above ``slack`` times its bound, and a sentence."""
    if link is None or link.line_rate_bps is None:
        return
    bound, _ = _bounds(result, link, link.line_rate_bps)
    line = f"a line of {_rate(link.line_rate_bps)} carries of {result.labels.protocol}"
    for metric in ("goodput_bps", "sent_bps"):
        flow = printed_of(result.numbers, metric)
        if flow is not None and flow.low > slack * bound:
            said = f"{metric} {_rate(flow.value)} is above the {_rate(bound)} that {line}"
            yield metric, flow.value, bound, said


def _too_fast(result: Result, link: Interconnect | None) -> Iterator[str]:
    """A sentence for each latency below the transmission time of the payload."""
    payload = result.labels.payload_bytes
    if link is None or link.line_rate_bps is None or payload is None:
        return
    _, least = _bounds(result, link, link.line_rate_bps)
    for family, trips in (("latency", 1), ("rtt_half", 1), ("rtt", 2)):
        for name in ("min", "p50", "mean"):
            metric = f"{family}_{name}_s"
            trip = printed_of(result.numbers, metric)
            if trip is not None and trip.high < trips * least / ROUNDING:
                yield (
                    f"{metric} {_time(trip.value)} is below the {_time(trips * least)} that "
                    f"{payload} B take on the wire{hint(trip.value, trips * least, metric)}"
                )
                break


def _framing(link: Interconnect, protocol: str | None) -> ethernet.Framing | None:
    """The framing of a protocol on Ethernet; none for other links or protocols.

    Without a known MTU the largest is taken, so that the bound is not too low.
    """
    if link.kind not in ("", "ethernet") or protocol not in ("tcp", "udp", "ethernet"):
        return None
    mtu = link.mtu_bytes or ethernet.MAX_MTU_BYTES
    try:
        return ethernet.Framing(
            protocol, mtu, ip_version=link.ip_version, timestamps=link.tcp_timestamps
        )
    except ScenarioError:
        return None


def _bounds(result: Result, link: Interconnect, line_rate_bps: float) -> tuple[float, float]:
    """The greatest goodput [b/s] and the least latency [s] of a result's payload."""
    payload, framing = result.labels.payload_bytes, _framing(link, result.labels.protocol)
    bits_alone_s = 8 * (payload or 0) / line_rate_bps
    if framing is None:
        return line_rate_bps, bits_alone_s
    most = ethernet.stream_goodput_bps(framing, line_rate_bps)
    if payload is None:
        return most, 0.0
    try:
        if framing.protocol != "tcp":
            most = float(ethernet.max_goodput_bps(payload, framing, line_rate_bps))
        return most, float(ethernet.min_latency_s(payload, framing, line_rate_bps))
    except ScenarioError:
        return most, bits_alone_s
