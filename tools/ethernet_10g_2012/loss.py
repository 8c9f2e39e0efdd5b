"""Rows of frames lost among those sent: UDP offered 10 or 9.6 Gb/s, and direct Ethernet."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ethernet_10g_2012.capacity import (
    LARGEST_ALIGNED,
    LARGEST_UDP,
    MOST_CORES,
    UDP_ONE_CORE_LARGEST_BPS,
    UDP_OVERLOADED_BPS,
    udp_four_cores,
    udp_one_core,
    udp_one_core_sent_bps,
)
from ethernet_10g_2012.rows import (
    UDP,
    UDP_ALIGNED,
    UDP_LIMITED,
    UNLIMITED,
    figures,
    rule,
    stated,
    to_step,
)
from points import Row, transcription

SMALL_END = 512
"""Greatest of the small sizes of §6.5.1 [B], at which the packet rate limits the sender."""
UNSEEN = Decimal("0.05")
"""Loss above which the thesis would have mentioned it."""


def loss_rows() -> Iterator[Row]:
    """Yield all loss curves; TCP loses nothing and has none."""
    for payload in sorted({*UDP, *UDP_ALIGNED}):
        cores = (1, 2, 3, 4) if payload in UDP else (4,)
        for count in cores:
            yield _unlimited(payload, count)
        yield _switched(payload)
    for payload in [*UDP_ALIGNED, LARGEST_UDP]:
        yield _limited(payload)
    yield from _ethernet()


def _row(
    payload: int,
    value: Decimal,
    basis: str,
    source: str,
    ends: tuple[Decimal, Decimal] | None,
    *,
    load: Decimal = UNLIMITED,
    cores: int = MOST_CORES,
    switches: int = 0,
    protocol: str = "udp",
) -> Row:
    low, high = ends or (None, None)
    return Row(
        protocol=protocol,
        payload_bytes=payload,
        load_bps=load,
        cores=cores,
        switches=switches,
        endpoints=1,
        metric="loss_rate",
        value=value,
        low=low,
        high=high,
        basis=basis,
        source=source,
    )


def _share_lost(received: Decimal, sent: Decimal) -> Decimal:
    return to_step(max(1 - received / sent, Decimal(0)), "1E-6")


def _overload_loss(cores: int) -> tuple[Decimal, tuple[Decimal, Decimal]]:
    """Return loss and its range by README rule R7 at one and four cores, and by R3 between.

    Loss is the share of the sent rate that does not arrive.
    """
    sent = stated("udp sent in overload")
    four = udp_four_cores(LARGEST_UDP)
    most = _share_lost(UDP_OVERLOADED_BPS, sent)
    high = _share_lost(four.low or four.value, sent)
    if cores == MOST_CORES:
        return most, (_share_lost(four.high or four.value, sent), high)
    one_sent = udp_one_core_sent_bps()
    least = _share_lost(UDP_ONE_CORE_LARGEST_BPS, one_sent)
    one_high = _share_lost(udp_one_core(LARGEST_UDP).low or one_sent, one_sent)
    if cores == 1:
        return least, (Decimal(0), one_high)
    weight = Decimal(cores - 1) / (MOST_CORES - 1)
    return to_step(least + weight * (most - least), "1E-6"), (Decimal(0), high)


def _unlimited(payload: int, cores: int) -> Row:
    if payload in (LARGEST_ALIGNED, LARGEST_UDP):
        value, ends = _overload_loss(cores)
        made = rule(7 if cores in (1, MOST_CORES) else 3, "IC2012 §6.1.2")
        return _row(payload, value, "assumed", made, ends, cores=cores)
    none = (Decimal(0), UNSEEN)
    return _row(payload, Decimal(0), "assumed", rule(12, "IC2012 §6.1.2"), none, cores=cores)


def _switched(payload: int) -> Row:
    """Make a row by README rule R13: the stated range at small sizes, else as without a switch."""
    if payload <= SMALL_END:
        low, high = stated("switched udp least loss"), stated("switched udp most loss")
        source = rule(13, "IC2012 §6.5.1.1, §6.5.1.4")
        return _row(payload, (low + high) / 2, "assumed", source, (low, high), switches=1)
    direct = _unlimited(payload, MOST_CORES)
    ends = (Decimal(direct.low or 0), Decimal(direct.high or 0))
    source = rule(13, "IC2012 §6.5.1")
    return _row(payload, Decimal(direct.value), "assumed", source, ends, switches=1)


def _limited(payload: int) -> Row:
    if payload == LARGEST_UDP:
        ends = (Decimal(0), _unlimited(payload, MOST_CORES).value)
        made = rule(8, "IC2012 §6.1.2.2")
        return _row(payload, Decimal(0), "assumed", made, _decimals(ends), load=UDP_LIMITED)
    return _row(payload, Decimal(0), "stated", "IC2012 §6.1.2.2", None, load=UDP_LIMITED)


def _decimals(ends: tuple[Decimal, Decimal | int]) -> tuple[Decimal, Decimal]:
    return ends[0], Decimal(ends[1])


def _ethernet() -> Iterator[Row]:
    """Yield rows by README rule R11: packets sent but not received in table 6-2."""
    for line in transcription("ic2012/table_6_2.csv"):
        sent = Decimal(line["Packets sent /second"])
        received = Decimal(line["Packets received /second"])
        value = figures(1 - received / sent, 6) if sent > received else Decimal(0)
        source = rule(11, "IC2012 table 6-2")
        payload = int(line["Payload size (B)"])
        yield _row(payload, value, "derived", source, None, protocol="ethernet")
