"""Checks of goodput, sent rate and latency against the limits of the line rate."""

from __future__ import annotations

from collections.abc import Iterator
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


_rate, _time = partial(units.format_bps, digits=6), partial(units.format_seconds, digits=6)


def beyond_wire(result: Result, link: Interconnect) -> Iterator[str]:
    """A sentence for each number that is impossible at this line rate."""
    if link.line_rate_bps is None:
        return
    for metric, value, bound in _above(result, link, link.line_rate_bps, CLOCK):
        yield f"{_said(result, link, metric, value, bound)}{hint(value, bound, metric)}"
    yield from _too_fast(result, link, link.line_rate_bps)


def just_above(result: Result, link: Interconnect) -> Iterator[str]:
    """A remark on each number that is accepted although slightly above the line rate."""
    if link.line_rate_bps is None:
        return
    for metric, value, bound in _above(result, link, link.line_rate_bps, ROUNDING):
        yield (
            f"{_said(result, link, metric, value, bound)}: up to {CLOCK - 1:.0%} may be the clock "
            "of the tool, so it is taken; look at how long the run was"
        )


def _said(result: Result, link: Interconnect, metric: str, value: float, bound: float) -> str:
    line = f"a line of {_rate(link.line_rate_bps or 0.0)} carries of {result.labels.protocol}"
    return f"{metric} {_rate(value)} is above the {_rate(bound)} that {line}"


def _above(
    result: Result, link: Interconnect, line_rate_bps: float, slack: float
) -> Iterator[tuple[str, float, float]]:
    """Metric, value and bound [b/s] of each rate above ``slack`` times its bound."""
    payload, protocol = result.labels.payload_bytes, result.labels.protocol
    bound = _goodput_bound(link, protocol, payload, line_rate_bps)
    for metric in ("goodput_bps", "sent_bps"):
        flow = printed_of(result.numbers, metric)
        if flow is not None and flow.low > slack * bound:
            yield metric, flow.value, bound


def _too_fast(result: Result, link: Interconnect, line_rate_bps: float) -> Iterator[str]:
    """A sentence for each latency below the transmission time of the payload."""
    payload = result.labels.payload_bytes
    if payload is None:
        return
    least = _latency_bound(link, result.labels.protocol, payload, line_rate_bps)
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


def _goodput_bound(
    link: Interconnect, protocol: str | None, payload: int | None, line_rate_bps: float
) -> float:
    framing = _framing(link, protocol)
    if framing is None:
        return line_rate_bps
    if payload is None or framing.protocol == "tcp":
        return ethernet.stream_goodput_bps(framing, line_rate_bps)
    try:
        return float(ethernet.max_goodput_bps(payload, framing, line_rate_bps))
    except ScenarioError:
        return ethernet.stream_goodput_bps(framing, line_rate_bps)


def _latency_bound(
    link: Interconnect, protocol: str | None, payload: int, line_rate_bps: float
) -> float:
    framing = _framing(link, protocol)
    if framing is not None:
        try:
            return float(ethernet.min_latency_s(payload, framing, line_rate_bps))
        except ScenarioError:
            pass
    return 8 * payload / line_rate_bps
