"""Choices: candidates of a use case for a dataset, made by rule.

The rule: samples go in frames of one connection's payload; a stream with a known goodput in
those of the use case's default candidate; pictures in each of up to four sizes that `payloads` gives.
Frames have the rate that the stream needs, over the use case's greatest distance, through as many
switches as its default candidate has, on the least and the greatest measured core count and on that
with the greatest goodput.  Each protocol of the dataset is used, and each mixture where streams can have
different ones.  The number of endpoints follows from the devices, as in every evaluation.
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
from icmodel.usecase import UseCase, derive
from icmodel.usecase.derivation import Derivations
from icmodel.usecase.document import Candidate, Question, SampleStream, Stream

MOST_BYTES = 65507
"""Greatest frame [B] where none was measured: the greatest of UDP over IPv4."""
Sizes = Mapping[str, Sequence[int]]
"""Payloads [B] by protocol, as many of each."""
Carried = dict[str, tuple[str, int]]
"""Protocol and payload [B] of each stream."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all candidates of a link share."""

    options: tuple[tuple[str, str], ...] = ()
    line_rate_bps: float | None = None
    dataset: str = ""


def measured_choices(
    case: UseCase, carrier: Carrier, protocols: Sequence[str], line_rate_bps: float | None = None
) -> tuple[Candidate, ...]:
    """The candidates that are asked of a dataset, at its own line rate or at another."""
    setting = Setting(carrier.options, line_rate_bps, carrier.data.id)
    rows = {name: carrier.data.select(name, dict(carrier.options)) for name in protocols}
    sizes = {name: payloads(rows[name], Wire(name, carrier.link).framing) for name in protocols}
    counts = _cores([point for points in rows.values() for point in points])
    return _candidates(case, sizes, counts, setting)


def theory_choices(case: UseCase, protocol: str, framing: AnyFraming) -> tuple[Candidate, ...]:
    """The candidates of a link that nobody measured: one full packet, and the largest frame of full ones."""
    full = framing.aligned_payloads(MOST_BYTES)
    return _candidates(case, {protocol: (int(full[0]), int(full[-1]))}, (None,), Setting())


def payloads(points: Iterable[Point], framing: AnyFraming | None) -> tuple[int, int, int, int]:
    """Payloads [B] of some rows: the largest, the largest that fills its packets, one packet, the fastest.

    As far as they were measured; where one does not exist the largest stands in its place. Where the
    source says no size, up to `MOST_BYTES`.
    """
    rows = [(point.payload_bytes, point) for point in points if point.payload_bytes is not None]
    flowing = [(size, point) for size, point in rows if point.metric == "goodput_bps"]
    sizes = [size for size, _ in flowing or rows] or [1, MOST_BYTES]
    least, most = min(sizes), max(sizes)
    full = (
        []
        if framing is None
        else [int(one) for one in framing.aligned_payloads(most) if one >= least]
    )
    fastest = max(flowing, key=lambda one: one[1].value)[0] if flowing else most
    return most, full[-1] if full else most, full[0] if full else most, fastest


def _cores(points: Sequence[Point]) -> tuple[int | None, ...]:
    """The least and the most cores with a goodput, and those of the greatest; none where nobody says."""
    flowing = [p for p in points if p.metric == "goodput_bps" and p.cores is not None]
    if not flowing:
        return (None,)
    counts = [point.cores for point in flowing if point.cores is not None]
    fastest = max(flowing, key=lambda point: point.value).cores
    return tuple(dict.fromkeys((min(counts), fastest, max(counts))))


def _candidates(
    case: UseCase, sizes: Sizes, counts: Sequence[int | None], setting: Setting
) -> tuple[Candidate, ...]:
    made = derive(case)
    carried = dict.fromkeys(tuple(one.items()) for one in _carried(case, sizes, made))
    return tuple(
        _candidate(case, (number, dict(one)), cores, setting)
        for number, (one, cores) in enumerate(product(carried, counts), 1)
    )


def _carried(case: UseCase, sizes: Sizes, made: Derivations) -> Iterator[Carried]:
    """Each mixture of protocols, each with its first sizes, then its second, and so on."""
    for protocols in product(sizes, repeat=len(case.streams)):
        for at in range(len(next(iter(sizes.values())))):
            yield {
                stream.name: (protocol, _payload(case, stream, sizes[protocol][at], made))
                for stream, protocol in zip(case.streams, protocols, strict=True)
            }


def _payload(case: UseCase, stream: Stream, size: int, made: Derivations) -> int:
    if isinstance(stream, SampleStream):
        return int(made[f"{stream.name}.payload_bytes"].value)
    said = _default(case, stream)
    return said.payload_bytes if stream.kind == "goodput" and said is not None else size


def _default(case: UseCase, stream: Stream) -> Question | None:
    """What the default candidate asks of a stream."""
    default = next(one for one in case.candidates if one.name == case.default_candidate)
    return default.scenarios.get(stream.name)


def _candidate(
    case: UseCase, numbered: tuple[int, Carried], cores: int | None, setting: Setting
) -> Candidate:
    number, carried = numbered
    parts = [f"{name} by {one[0]} in {one[1]} B" for name, one in carried.items()]
    parts += [] if cores is None else [plural(cores, "core")]
    parts += [f"{axis} = {value}" for axis, value in setting.options]
    scenarios = {
        stream.name: _question(case, stream, carried[stream.name], cores, setting)
        for stream in case.streams
    }
    return Candidate(
        name=f"choice-{number}",
        description=", ".join(parts),
        dataset=setting.dataset,
        scenarios=scenarios,
    )


def _question(
    case: UseCase, stream: Stream, carried: tuple[str, int], cores: int | None, setting: Setting
) -> Question:
    said = _default(case, stream)
    protocol, payload = carried
    return Question(
        protocol=protocol,
        payload_bytes=payload,
        cores=cores,
        switches=0 if said is None else said.switches,
        distance_m=None if case.medium is None else case.medium.distance_m,
        line_rate_bps=setting.line_rate_bps,
        options=dict(setting.options),
    )


ETHERNET = "ethernet"
ANY = ""
"""Of a link whose protocols are its own: whichever a dataset has."""
PROTOCOLS = {
    ETHERNET: ("tcp", "udp", "zeromq"),
    "roce": (ANY,),
    "infiniband": (ANY,),
    "rapidio": (ANY,),
}
"""Kinds of link in the order they are told, and what is compared on each."""
ETHERNET_RATES_BPS = (1e9, 10e9, 25e9, 40e9, 100e9, 200e9)
RATES_BPS = {
    ETHERNET: ETHERNET_RATES_BPS,
    "roce": ETHERNET_RATES_BPS[1:],
    "infiniband": tuple(infiniband.link_rate_bps(name) for name in ("qdr", "fdr", "edr", "hdr")),
    "rapidio": tuple(
        rapidio.link_rate_bps(baud=baud) for baud in (3.125e9, 5e9, 6.25e9, 10.3125e9, 25.78125e9)
    ),
}
"""Data rates after coding [b/s] that are compared in any case: four lanes of InfiniBand and RapidIO."""
SAME_RATE = 1e-3
"""Relative difference up to which two line rates are one."""


@dataclass(frozen=True, slots=True)
class Link:
    """An interconnect at a line rate with a protocol; a rate of ``None`` is one no source states."""

    kind: str
    line_rate_bps: float | None
    protocol: str


@dataclass(frozen=True, slots=True)
class Carrier:
    """A dataset at the options that choose one of its links, and its protocols with rows there."""

    data: Dataset
    options: tuple[tuple[str, str], ...]
    link: Interconnect
    protocols: tuple[str, ...]

    @property
    def own(self) -> bool:
        """Whether it was measured with the probe of icmodel."""
        tool = self.data.document.get("tool")
        return isinstance(tool, dict) and tool.get("name") == "icprobe"

    def on(self, link: Link) -> tuple[str, ...]:
        """Its protocols that a link is compared with."""
        return tuple(name for name in self.protocols if link.protocol in (ANY, name))

    def at(self, link: Link) -> bool:
        """Whether it was measured on such a link, at that line rate and with that protocol."""
        own, asked = self.link.line_rate_bps, link.line_rate_bps
        same = own == asked or (
            own is not None and asked is not None and math.isclose(own, asked, rel_tol=SAME_RATE)
        )
        return self.link.kind == link.kind and same and bool(self.on(link))


def carriers(data: Dataset) -> Iterator[Carrier]:
    """Each link of a dataset: that of its defaults, and the fabrics its options choose."""
    chosen: list[dict[str, str]] = [{}]
    chosen += [
        {axis: value} for axis, value in data.fabrics if value != data.option_defaults.get(axis)
    ]
    for options in chosen:
        protocols = tuple(name for name in data.protocols if data.select(name, options))
        yield Carrier(data, tuple(options.items()), data.link(options), protocols)


def compared_links(known: Iterable[Carrier]) -> tuple[Link, ...]:
    """The links of the table, by kind, protocol and line rate: those of every table, and those measured.

    A rate that no source states comes last.
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
                carrier.at(one) for one in found if one.protocol == protocol
            ):
                found.add(link)
    kinds = list(PROTOCOLS)
    return tuple(
        sorted(
            found,
            key=lambda one: (
                kinds.index(one.kind),
                PROTOCOLS[one.kind].index(one.protocol),
                math.inf if one.line_rate_bps is None else one.line_rate_bps,
            ),
        )
    )
