"""Links to compare, and the datasets measured on them. A link is an interconnect with a line rate and a protocol."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from icmodel.dataset import Dataset, Interconnect
from icmodel.theory import infiniband, rapidio

ETHERNET = "ethernet"
ANY = ""
"""Wildcard protocol of a link: it accepts every protocol that a dataset has for this kind of link."""
PROTOCOLS = {
    ETHERNET: ("tcp", "udp", "zeromq"),
    "roce": (ANY,),
    "infiniband": (ANY,),
    "rapidio": (ANY,),
}
"""Protocols to compare, by kind of link; the kinds are in the order of the printed table."""
ETHERNET_RATES_BPS = (1e9, 10e9, 25e9, 40e9, 100e9, 200e9)
RATES_BPS = {
    ETHERNET: ETHERNET_RATES_BPS,
    "roce": ETHERNET_RATES_BPS[1:],
    "infiniband": tuple(infiniband.link_rate_bps(name) for name in ("qdr", "fdr", "edr", "hdr")),
    "rapidio": tuple(
        rapidio.link_rate_bps(baud=baud) for baud in (3.125e9, 5e9, 6.25e9, 10.3125e9, 25.78125e9)
    ),
}
"""Standard line rates to compare [b/s], by kind of link. Those of InfiniBand and RapidIO are data rates of four lanes,
after line coding."""
ANY_RATE = {ETHERNET: 0.0, "roce": 10e9}
"""Kinds of link that are compared at every requested line rate, from a least rate on [b/s]."""
NEAR_RATE = 0.03
"""Greatest relative difference between a requested line rate and the InfiniBand or RapidIO link compared for it."""
SAME_RATE = 1e-3
"""Relative difference up to which two line rates count as equal."""


@dataclass(frozen=True, slots=True)
class Link:
    """An interconnect with a line rate [b/s] and a protocol; the rate is ``None`` if no source states it."""

    kind: str
    line_rate_bps: float | None
    protocol: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """One link on which a dataset was measured: the options that select the link, and the protocols with rows."""

    data: Dataset
    options: tuple[tuple[str, str], ...]
    link: Interconnect
    protocols: tuple[str, ...]

    @property
    def own(self) -> bool:
        """Whether the dataset was measured with icprobe, icmodel's own measuring tool."""
        tool = self.data.document.get("tool")
        return isinstance(tool, dict) and tool.get("name") == "icprobe"

    def on(self, link: Link) -> tuple[str, ...]:
        """Return the protocols of the dataset that match the protocol of a link; empty if none does."""
        return tuple(name for name in self.protocols if link.protocol in (ANY, name))

    def at(self, link: Link) -> bool:
        """Whether the dataset was measured on a link of this kind and line rate, with this protocol."""
        own, other = self.link.line_rate_bps, link.line_rate_bps
        same = own == other or (
            own is not None and other is not None and math.isclose(own, other, rel_tol=SAME_RATE)
        )
        return self.link.kind == link.kind and same and bool(self.on(link))


def carriers(data: Dataset) -> Iterator[Carrier]:
    """Yield every link on which a dataset was measured; the options of the dataset select the link."""
    chosen: list[dict[str, str]] = [{}]
    chosen += [
        {axis: value} for axis, value in data.fabrics if value != data.option_defaults.get(axis)
    ]
    for options in chosen:
        protocols = tuple(name for name in data.protocols if data.select(name, options))
        yield Carrier(data, tuple(options.items()), data.link(options), protocols)


def compared_links(
    known: Iterable[Carrier], rates_bps: Sequence[float] | None = None
) -> tuple[Link, ...]:
    """Return the links to compare, standard and measured ones, sorted by kind, protocol and line rate.

    Links of an unknown line rate come last among the links of the same kind and protocol.

    Parameters
    ----------
    rates_bps : sequence of float, optional
        Line rates to compare [b/s]; by default all standard and measured rates. Ethernet and RoCE are compared at each
        of the given rates, if it is not below `ANY_RATE`. Links of other kinds are compared if their rate is near a
        given rate (`NEAR_RATE`).
    """
    found = {
        Link(kind, rate, protocol)
        for kind, protocols in PROTOCOLS.items()
        for protocol in protocols
        for rate in RATES_BPS[kind]
    }
    for carrier in known:
        kind, rate = carrier.link.kind, carrier.link.line_rate_bps
        for protocol in PROTOCOLS.get(kind, ()):
            link = Link(kind, rate, protocol)
            if carrier.on(link) and not any(
                carrier.at(link) for link in found if link.protocol == protocol
            ):
                found.add(link)
    if rates_bps is not None:
        exact = {
            Link(kind, rate, protocol)
            for kind, least_bps in ANY_RATE.items()
            for protocol in PROTOCOLS[kind]
            for rate in rates_bps
            if rate >= least_bps
        }
        found = exact | {
            link
            for link in found
            for rate in rates_bps
            if link.kind not in ANY_RATE
            and link.line_rate_bps is not None
            and math.isclose(link.line_rate_bps, rate, rel_tol=NEAR_RATE)
        }
    kinds = list(PROTOCOLS)
    return tuple(
        sorted(
            found,
            key=lambda link: (
                kinds.index(link.kind),
                PROTOCOLS[link.kind].index(link.protocol),
                math.inf if link.line_rate_bps is None else link.line_rate_bps,
            ),
        )
    )
