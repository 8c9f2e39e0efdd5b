"""Links to compare, the datasets measured on them, and the candidates that are generated for a dataset.

Rules for candidates:

- Payload of a stream of samples: the bytes that one of its connections sends per cycle, derived from the use case.
- Payload of a stream with a stated goodput: the payload of the use case's default candidate.
- If such a payload exceeds the greatest payload of the protocol, the greatest payload is used.
- Payload of a stream of pictures: several are tried, those that `payloads` returns.
- Frame rate: the rate that the stream needs.
- Path: the distance and the switches of the default candidate, or the use case's greatest distance if the candidate
  states none.
- Core counts: the least and the greatest measured count, and the count with the greatest measured goodput.
- Protocols: each protocol of the dataset for each stream, in all combinations.
- Endpoints: the number of streams that share an interface, computed as `icmodel.usecase.evaluate` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.estimate import plural
from icmodel.tables.wire import Wire
from icmodel.theory import AnyFraming, infiniband, rapidio
from icmodel.usecase import UseCase
from icmodel.usecase.derivation import Derivations
from icmodel.usecase.document import Candidate, Question, SampleStream

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
"""Standard line rates to compare [b/s], by kind of link.

Rates of InfiniBand and RapidIO are data rates of four lanes, after line coding.
"""
ANY_RATE = {ETHERNET: 0.0, "roce": 10e9}
"""Kinds of link that are compared at every requested rate, from the given rate up [b/s]."""
NEAR_RATE = 0.03
"""An InfiniBand or RapidIO link is compared if its line rate differs from a requested rate by at most this ratio."""
SAME_RATE = 1e-3
"""Relative difference up to which two line rates count as equal."""


@dataclass(frozen=True, slots=True)
class Link:
    """An interconnect with a line rate [b/s] and a protocol; the rate is ``None`` if no source states it."""

    kind: str
    line_rate_bps: float | None
    protocol: str


@dataclass(frozen=True, slots=True)
class MeasuredLink:
    """Link on which a dataset was measured: the options that select its rows, and the protocols that have rows."""

    data: Dataset
    options: tuple[tuple[str, str], ...]
    link: Interconnect
    protocols: tuple[str, ...]

    @property
    def by_icprobe(self) -> bool:
        """Whether the dataset was measured with icprobe, icmodel's own measuring tool."""
        tool = self.data.document.get("tool")
        return isinstance(tool, dict) and tool.get("name") == "icprobe"

    def matching_protocols(self, link: Link) -> tuple[str, ...]:
        """Return the protocols of the dataset that match the protocol of a link; empty if none does."""
        return tuple(name for name in self.protocols if link.protocol in (ANY, name))

    def matches(self, link: Link) -> bool:
        """Whether the dataset was measured on a link of this kind and line rate, with this protocol."""
        own, other = self.link.line_rate_bps, link.line_rate_bps
        same = own == other or (
            own is not None and other is not None and math.isclose(own, other, rel_tol=SAME_RATE)
        )
        return self.link.kind == link.kind and same and bool(self.matching_protocols(link))


def measured_links(data: Dataset) -> Iterator[MeasuredLink]:
    """Yield every link on which a dataset was measured.

    The first is the link at the default options. Each other one is the link at another value of an option axis.
    """
    chosen: list[dict[str, str]] = [{}]
    chosen += [
        {axis: value} for axis, value in data.fabrics if value != data.option_defaults.get(axis)
    ]
    for options in chosen:
        protocols = tuple(name for name in data.protocols if data.select(name, options))
        yield MeasuredLink(data, tuple(options.items()), data.link(options), protocols)


def compared_links(
    known: Iterable[MeasuredLink], rates_bps: Sequence[float] | None = None
) -> tuple[Link, ...]:
    """Return the links to compare, standard and measured ones, sorted by kind, protocol and line rate.

    Links of an unknown line rate come last among the links of the same kind and protocol.

    Parameters
    ----------
    rates_bps : sequence of float, optional
        Line rates to compare [b/s]; by default all standard and measured rates. Ethernet is compared at each given
        rate, RoCE at each given rate from 10 Gb/s up. A link of another kind is compared if its rate differs from a
        given rate by at most 3 % (`NEAR_RATE`).
    """
    found = {
        Link(kind, rate, protocol)
        for kind, protocols in PROTOCOLS.items()
        for protocol in protocols
        for rate in RATES_BPS[kind]
    }
    for measured in known:
        kind, rate = measured.link.kind, measured.link.line_rate_bps
        for protocol in PROTOCOLS.get(kind, ()):
            link = Link(kind, rate, protocol)
            if measured.matching_protocols(link) and not any(
                measured.matches(link) for link in found if link.protocol == protocol
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


MOST_BYTES = 65507
"""Largest payload to try [B] if a dataset states no payload: the limit of UDP over IPv4."""
Sizes = Mapping[str, Sequence[int]]
"""Payloads to try [B], by protocol; all protocols have the same number of payloads."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters shared by all generated candidates for one link: options, line rate [b/s] and dataset."""

    options: tuple[tuple[str, str], ...] = ()
    line_rate_bps: float | None = None
    dataset: str = ""


def measured_choices(
    case: UseCase,
    derived: Derivations,
    measured: MeasuredLink,
    protocols: Sequence[str],
    line_rate_bps: float | None = None,
) -> tuple[Candidate, ...]:
    """Generate candidates for a use case from the protocols, payloads and core counts measured in a dataset.

    ``line_rate_bps`` is the target of an extrapolation to another line rate [b/s]; ``None`` without extrapolation.
    """
    setting = Setting(measured.options, line_rate_bps, measured.data.id)
    rows = {name: measured.data.select(name, dict(measured.options)) for name in protocols}
    wires = {name: Wire(name, measured.link) for name in protocols}
    sizes = {name: payloads(rows[name], wires[name].framing) for name in protocols}
    goodputs = [
        (point.value, point.cores)
        for points in rows.values()
        for point in points
        if point.metric == "goodput_bps" and point.cores is not None
    ]
    counts: tuple[int | None, ...] = (None,)
    if goodputs:
        cores = [count for _, count in goodputs]
        fastest = max(goodputs, key=lambda row: row[0])[1]
        counts = tuple(dict.fromkeys((min(cores), fastest, max(cores))))
    return _candidates(case, derived, wires, sizes, counts, setting)


def theory_choices(case: UseCase, derived: Derivations, wire: Wire) -> tuple[Candidate, ...]:
    """Generate candidates for a link without a dataset.

    Two frame sizes are tried: one full packet, and the largest frame that consists of full packets.
    """
    assert wire.framing is not None  # theory covers every compared kind of link
    full = wire.framing.aligned_payloads(MOST_BYTES)
    sizes = {wire.protocol: (int(full[0]), int(full[-1]))}
    return _candidates(case, derived, {wire.protocol: wire}, sizes, (None,), Setting())


def payloads(points: Iterable[Point], framing: AnyFraming | None) -> tuple[int, int, int, int]:
    """Choose four payloads [B] to try, within the range of the payloads in a dataset's rows.

    - the largest payload; `MOST_BYTES` if the rows state no payload
    - the largest payload that is cut into full packets only
    - the smallest such payload, usually that of one full packet
    - the payload of the row with the greatest goodput

    If one of the last three does not exist, the largest payload replaces it.
    """
    rows = [(point.payload_bytes, point) for point in points if point.payload_bytes is not None]
    goodputs = [(size, point) for size, point in rows if point.metric == "goodput_bps"]
    sizes = [size for size, _ in goodputs or rows] or [1, MOST_BYTES]
    least, most = min(sizes), max(sizes)
    full = (
        []
        if framing is None
        else [int(size) for size in framing.aligned_payloads(most) if size >= least]
    )
    fastest = max(goodputs, key=lambda row: row[1].value)[0] if goodputs else most
    return most, full[-1] if full else most, full[0] if full else most, fastest


def _candidates(
    case: UseCase,
    derived: Derivations,
    wires: Mapping[str, Wire],
    sizes: Sizes,
    counts: Sequence[int | None],
    setting: Setting,
) -> tuple[Candidate, ...]:
    """Generate a candidate for each combination of protocols (one per stream), payload and core count."""
    default = next(
        candidate for candidate in case.candidates if candidate.name == case.default_candidate
    )
    number_of_sizes = len(next(iter(sizes.values())))
    mixtures: dict[tuple[tuple[str, int], ...], None] = {}
    for protocols, at in product(product(sizes, repeat=len(case.streams)), range(number_of_sizes)):
        frames = []
        for stream, protocol in zip(case.streams, protocols, strict=True):
            stated = default.scenarios.get(stream.name)
            payload_bytes = sizes[protocol][at]
            if isinstance(stream, SampleStream):
                payload_bytes = int(derived[f"{stream.name}.payload_bytes"].value)
            elif stream.kind == "goodput" and stated is not None:
                payload_bytes = stated.payload_bytes
            greatest = wires[protocol].greatest_payload_bytes() or payload_bytes
            frames.append((protocol, min(payload_bytes, greatest)))
        mixtures[tuple(frames)] = None

    candidates = []
    for number, (mixture, cores) in enumerate(product(mixtures, counts), 1):
        scenarios, parts = {}, []
        for stream, (protocol, payload_bytes) in zip(case.streams, mixture, strict=True):
            stated = default.scenarios.get(stream.name)
            distance_m = None if stated is None else stated.distance_m
            if distance_m is None and case.medium is not None:
                distance_m = case.medium.distance_m
            parts.append(f"{stream.name} by {protocol} in {payload_bytes} B")
            scenarios[stream.name] = Question(
                protocol=protocol,
                payload_bytes=payload_bytes,
                cores=cores,
                switches=0 if stated is None else stated.switches,
                distance_m=distance_m,
                line_rate_bps=setting.line_rate_bps,
                options=dict(setting.options),
            )
        parts += [] if cores is None else [plural(cores, "core")]
        parts += [f"{axis} = {value}" for axis, value in setting.options]
        candidates.append(
            Candidate(
                name=f"choice-{number}",
                description=", ".join(parts),
                dataset=setting.dataset,
                scenarios=scenarios,
            )
        )
    return tuple(candidates)
