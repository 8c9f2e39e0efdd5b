"""Rows of goodput and of sent rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

from ethernet_10g_2012.capacity import (
    LARGEST_ALIGNED,
    LARGEST_UDP,
    Goodput,
    between,
    ethernet_four_cores,
    one_core,
    tcp_four_cores,
    tcp_one_core,
    tcp_without_nagle,
    udp_four_cores,
    udp_limited,
    udp_one_core,
)
from ethernet_10g_2012.rows import (
    TCP,
    UDP,
    UDP_ALIGNED,
    UDP_LIMITED,
    UNLIMITED,
    place,
    rounding,
    rule,
    stated,
)
from points import Row, transcription

REPEATED = 1448
"""Payload of table 4-5 [B], whose ten runs give the point of the curve."""


def goodput_rows() -> Iterator[Row]:
    """Yield every goodput curve, and stated numbers of several senders and of sent rates."""
    yield from _tcp()
    yield from _udp()
    yield from _ethernet()
    yield from _sent()
    yield from _shared()


def _row(protocol: str, payload: int, cores: int, point: Goodput, load: Decimal) -> Row:
    return Row(
        protocol=protocol,
        payload_bytes=payload,
        load_bps=load,
        cores=cores,
        switches=0,
        endpoints=1,
        metric="goodput_bps",
        value=point.value,
        low=point.low,
        high=point.high,
        basis=point.basis,
        source=point.source,
    )


def _by_cores(
    protocol: str,
    payloads: list[int],
    one: Callable[[int], Goodput],
    four: Callable[[int], Goodput],
) -> Iterator[Row]:
    """Yield the curves of one, two and three cores."""
    for payload in payloads:
        least, most = one(payload), four(payload)
        yield _row(protocol, payload, 1, least, UNLIMITED)
        for cores in (2, 3):
            yield _row(protocol, payload, cores, between(cores, least, most), UNLIMITED)


def _tcp() -> Iterator[Row]:
    yield from _by_cores("tcp", TCP, tcp_one_core, tcp_four_cores)
    for payload in TCP:
        if payload != REPEATED:
            yield _row("tcp", payload, 4, tcp_four_cores(payload), UNLIMITED)
        off = _row("tcp", payload, 4, tcp_without_nagle(payload), UNLIMITED)
        yield _without_nagle(off)


def _without_nagle(row: Row) -> Row:
    return replace(row, options={"nagle": "off"})


def _udp() -> Iterator[Row]:
    yield from _by_cores("udp", UDP, udp_one_core, udp_four_cores)
    for payload in sorted({*UDP, *UDP_ALIGNED}):
        yield _row("udp", payload, 4, udp_four_cores(payload), UNLIMITED)
    for payload in [*UDP_ALIGNED, LARGEST_UDP]:
        yield _row("udp", payload, 4, udp_limited(payload), UDP_LIMITED)


def _ethernet() -> Iterator[Row]:
    payloads = [int(line["Payload size (B)"]) for line in transcription("ic2012/table_6_2.csv")]

    def one(payload: int) -> Goodput:
        return one_core("ethernet", payload, ethernet_four_cores(payload))

    yield from _by_cores("ethernet", payloads, one, ethernet_four_cores)
    for payload in payloads:
        yield _row("ethernet", payload, 4, ethernet_four_cores(payload), UNLIMITED)


def _sent() -> Iterator[Row]:
    """Yield the sent rate while the receiver lost frames (§6.1.2.2)."""
    low, high = rounding("udp sent in overload")
    for payload in (LARGEST_ALIGNED, LARGEST_UDP):
        yield Row(
            protocol="udp",
            payload_bytes=payload,
            load_bps=UNLIMITED,
            cores=4,
            switches=0,
            endpoints=1,
            metric="sent_bps",
            value=stated("udp sent in overload"),
            low=low,
            high=high,
            basis="stated",
            source=place("udp sent in overload"),
        )


def _shared() -> Iterator[Row]:
    """Yield rows of two unlimited senders to one receiver by a switch, one core each (§6.5)."""
    of_class = [
        ("af41 against af11", "af11 against af41"),
        ("af11 against af41", "af41 against af11"),
    ]
    for key, other in of_class:
        yield _two_senders("tcp", 65535, key, {"priority": key.replace(" ", "-")}, stated(other))
    for protocol in ("tcp", "udp"):
        yield _two_senders(protocol, None, "ef against none", {"priority": "ef-against-none"}, None)
    low, high = rounding("two udp senders sent")
    yield Row(
        protocol="udp",
        load_bps=UNLIMITED,
        cores=1,
        switches=1,
        endpoints=2,
        options={"test": "two-senders"},
        metric="sent_bps",
        value=stated("two udp senders sent") / 2,
        low=low / 2,
        high=high / 2,
        basis="derived",
        source=rule(32, place("two udp senders sent")),
    )


def _two_senders(
    protocol: str, payload: int | None, key: str, options: dict[str, str], other: Decimal | None
) -> Row:
    low, high = rounding(key)
    return Row(
        protocol=protocol,
        payload_bytes=payload,
        load_bps=UNLIMITED,
        cores=1,
        switches=1,
        endpoints=2,
        other_goodput_bps=other,
        options=options,
        metric="goodput_bps",
        value=stated(key),
        low=low,
        high=high,
        basis="stated",
        source=place(key),
    )
