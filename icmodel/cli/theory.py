"""``icmodel theory``: limits of the wire, without measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, make_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from icmodel import theory, units
from icmodel.cli.options import AsJson, Command, Output, expand_options, make_app, option
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.errors import ScenarioError
from icmodel.questions.words import PAYLOAD_HELP, option_field, parse_count
from icmodel.theory import ethernet as ethernet_link
from icmodel.theory import infiniband as infiniband_link
from icmodel.theory import rapidio as rapidio_link
from icmodel.theory import roce as roce_link

if TYPE_CHECKING:
    from collections.abc import Sequence

app = make_app()

TEN_GIGABIT = "10 Gb/s"
COLUMNS = (
    "payload_bytes",
    "packets",
    "wire_bits",
    "max_goodput_bps",
    "send_interval_s",
    "min_latency_s",
    "aligned",
)
LIMITS = ("max_goodput_bps", "send_interval_s", "min_latency_s")
"""Columns with limits by theory. The limits are exact for a given framing and path."""


# --- options ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frames:
    """Options of ``icmodel theory`` for payloads and path, as the texts that the user typed."""

    payload: str | None = option_field("SIZES", f"{PAYLOAD_HELP.rstrip('.')}; a list or a range.")
    distance: str = option_field("LENGTH", "Cable length.", default="0 m")
    switches: str = option_field("N", "Number of switches on the path.", default="0")
    switch_latency: str = option_field(
        "TIME", 'Latency that a switch adds, e.g. "1 us".', default="0 s"
    )
    switching: str = option_field(
        "MODE", "Mode of the switches: cut-through or store-and-forward.", default="cut-through"
    )

    def path(self) -> dict[str, Any]:
        """Return the arguments of `icmodel.theory.min_latency_s`, in SI units."""
        return {
            "distance_m": units.parse_metres(self.distance),
            "switches": parse_count("switches", self.switches),
            "switch_latency_s": units.parse_seconds(self.switch_latency),
            "switching": self.switching,
        }


with_frames = expand_options(Frames, "frames")
LineRate = Annotated[
    str, option("line-rate", "RATE", "Data rate of the link after coding.", TEN_GIGABIT)
]
OtherLineRate = Annotated[
    str | None,
    option(
        "line-rate",
        "RATE",
        "Data rate of the link after coding, in place of the computed rate.",
    ),
]


def with_framing(kind: type[theory.AnyFraming]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command an option for each field of ``kind``, a class of framings.

    A framing is a packet format, such as Ethernet with its MTU. The command has a parameter ``chosen``, which holds
    the values of these options; ``chosen.framing()`` makes the framing. A boolean field becomes an option without a
    value. A field in bytes becomes an option for a size. Another integer field becomes an option for a count, and any
    other field an option for a name.
    """
    options = []
    parsers: dict[str, Callable[[Any], object]] = {}
    for one in fields(kind):
        name, default, text = one.name.replace("_", "-"), one.default, one.metadata["text"]
        parsers[one.name] = lambda value: value
        if isinstance(default, bool):
            off = "unpadded" if name == "padded" else f"no-{name}"
            switch = f"{name}/--{off}" if default else name
            field = option_field("", text, default=default, name=switch)
        elif name.endswith("-bytes"):
            field = option_field(
                "SIZE", text, default=f"{default} B", name=name.removesuffix("-bytes")
            )
            parsers[one.name] = units.parse_bytes
        elif isinstance(default, int):
            field = option_field("N", text, default=str(default))
            parsers[one.name] = partial(parse_count, name)
        else:
            field = option_field("NAME", text, default=str(default))
        options.append((one.name, bool if isinstance(default, bool) else str, field))

    def framing(chosen: object) -> theory.AnyFraming:
        return kind(**{name: parse(getattr(chosen, name)) for name, parse in parsers.items()})

    return expand_options(
        make_dataclass("Chosen", options, namespace={"framing": framing}), "chosen"
    )


# --- commands ---------------------------------------------------------------------------------


@app.callback(short_help="Compute the limits of the wire, by theory alone.")
def limits_by_theory() -> None:
    """Compute the limits of the wire: packets, wire bits, goodput, send interval and latency.

    The limits hold for any host. "64 B..9 kB:25" means 25 payloads at equal distances. Without ":25", the
    range means all its aligned payloads. A payload is aligned if its last packet is full.

    \b
    icmodel theory ethernet --protocol udp --payload "1472 B, 1473 B"
    icmodel theory infiniband --generation edr --payload "4 KiB" --distance "50 m"
    icmodel theory rapidio --payload "256 B" --lanes 4 --baud "5 GHz"
    """  # noqa: D301


@app.command(short_help="Limits of TCP, UDP and direct Ethernet.")
@with_frames
@with_framing(ethernet_link.Framing)
def ethernet(
    *,
    frames: Frames,
    line_rate: LineRate = TEN_GIGABIT,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compute limits of TCP, of UDP with IP fragmentation, and of frames directly on Ethernet.

    The wire bits include preamble and inter-frame gap. The latency excludes the gap after the last
    frame. Real links pad short frames to 64 B, VLAN tags included. With --unpadded, short frames stay
    short, and the latency includes the last gap. Use --unpadded to compare with the source of the
    dataset ethernet-10g-2012, which computes in this way.

    \b
    icmodel theory ethernet --protocol udp --payload "1472 B, 1473 B"
    icmodel theory ethernet --payload "1448 B..65535 B" --line-rate "100 Gb/s" --mtu "9000 B"
    icmodel theory ethernet --protocol ethernet --payload "64 B" --unpadded --switches 1 \\
        --switch-latency "1.59 us" --distance "50 m"
    """  # noqa: D301
    link = Link("ethernet", chosen.framing(), units.parse_bps(line_rate))
    emit_limits(link, frames, as_json=as_json, output=output)


@app.command(short_help="Limits of InfiniBand, SDR to NDR.")
@with_frames
@with_framing(infiniband_link.Framing)
def infiniband(
    *,
    frames: Frames,
    generation: Annotated[
        str,
        option("generation", "NAME", "Generation: sdr, ddr, qdr, fdr, edr, hdr or ndr.", "qdr"),
    ] = "qdr",
    lanes: Annotated[str, option("lanes", "N", "Lanes: 1, 2, 4, 8 or 12.", "4")] = "4",
    line_rate: OtherLineRate = None,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compute limits of InfiniBand messages. A path MTU of 256 B to 4096 B splits them into packets.

    The data rate after coding follows from --generation and --lanes, unless --line-rate is given.

    \b
    icmodel theory infiniband --payload "4096 B, 4097 B"
    icmodel theory infiniband --generation ndr --payload "64 KiB" --operation write --mtu "2 KiB"
    """  # noqa: D301
    rate_bps = infiniband_link.link_rate_bps(
        generation, parse_count("lanes", lanes, 1, max(infiniband_link.LANES))
    )
    if line_rate:
        rate_bps = units.parse_bps(line_rate)
    link = Link("infiniband", chosen.framing(), rate_bps)
    emit_limits(link, frames, as_json=as_json, output=output)


@app.command(short_help="Limits of RoCE version 1 and 2.")
@with_frames
@with_framing(roce_link.Framing)
def roce(
    *,
    frames: Frames,
    line_rate: LineRate = TEN_GIGABIT,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compute limits of RDMA over Ethernet: version 1 directly on Ethernet, version 2 over UDP and IP.

    --mtu is the MTU of RDMA, 256 B to 4096 B, not the MTU of Ethernet.

    \b
    icmodel theory roce --payload "1 KiB, 64 KiB"
    icmodel theory roce --version 1 --payload "4 KiB" --mtu "4 KiB" --line-rate "100 Gb/s"
    """  # noqa: D301
    link = Link("roce", chosen.framing(), units.parse_bps(line_rate))
    emit_limits(link, frames, as_json=as_json, output=output)


@app.command(short_help="Limits of RapidIO writes, reads and messages.")
@with_frames
@with_framing(rapidio_link.Framing)
def rapidio(
    *,
    frames: Frames,
    lanes: Annotated[str, option("lanes", "N", "Lanes: 1, 2, 4, 8 or 16.", "4")] = "4",
    baud: Annotated[
        str, option("baud", "FREQUENCY", "Symbol rate of one lane.", "5 GHz")
    ] = "5 GHz",
    line_rate: OtherLineRate = None,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Compute limits of RapidIO transfers in packets of at most 256 B of data.

    The data rate after coding follows from --lanes and --baud, unless --line-rate is given.

    \b
    icmodel theory rapidio --payload "256 B, 257 B"
    icmodel theory rapidio --payload "4 KiB" --operation message --lanes 4 --baud "3.125 GHz"
    """  # noqa: D301
    rate_bps = rapidio_link.link_rate_bps(
        parse_count("lanes", lanes, 1, max(rapidio_link.LANES)), units.parse_hertz(baud)
    )
    if line_rate:
        rate_bps = units.parse_bps(line_rate)
    link = Link("rapidio", chosen.framing(), rate_bps)
    emit_limits(link, frames, as_json=as_json, output=output)


# --- answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """Link for computations by theory: its kind, its framing (packet format) and its data rate after coding."""

    kind: str
    framing: theory.AnyFraming
    line_rate_bps: float

    def payloads(self, text: str) -> tuple[int, ...]:
        """Parse a list or a range of payloads, and return the payloads [B].

        The range ``64 B..9 kB:25`` means 25 payloads at equal distances. Without ``:25``, the range means all its
        aligned payloads, whose last packet is full.
        """
        from icmodel.sweep import range_values

        def filling(item: str, first: float, last: float) -> Sequence[float]:
            sizes = theory.aligned_payloads(self.framing, int(last)).tolist()
            filled = [size for size in sizes if size >= first]
            if not filled:
                raise ScenarioError(
                    f"no payload in the range {item!r} fills its last packet: write {item}:25 for 25 "
                    "payloads at equal distances"
                )
            return filled

        return tuple(int(size) for size in range_values("payload", text, filling))

    def points(self, payloads: tuple[int, ...], path: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return one dictionary per payload: name of a column in `COLUMNS` -> theoretical limit in SI units."""
        framing, rate = self.framing, self.line_rate_bps
        columns = (
            payloads,
            theory.packets(payloads, framing).tolist(),
            theory.wire_bits(payloads, framing).tolist(),
            theory.max_goodput_bps(payloads, framing, rate).tolist(),
            theory.send_interval_s(payloads, framing, rate).tolist(),
            theory.min_latency_s(payloads, framing, rate, **path).tolist(),
            theory.aligned(payloads, framing).tolist(),
        )
        return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def emit_limits(link: Link, frames: Frames, *, as_json: bool, output: Path | None) -> None:
    """Print or write the limits of a link for the payloads of ``frames``."""
    if frames.payload is None:
        raise ScenarioError(
            'the payloads are missing: add --payload, e.g. --payload "1472 B, 1473 B"'
        )
    path = frames.path()
    points = link.points(link.payloads(frames.payload), path)
    head = {
        "kind": link.kind,
        "line_rate_bps": link.line_rate_bps,
        "framing": asdict(link.framing),
        "path": {**path, "propagation_s_per_m": link.framing.propagation_s_per_m},
        "stream_goodput_bps": theory.stream_goodput_bps(link.framing, link.line_rate_bps),
    }
    answer = Answer(
        sections=lambda: limit_sections(head, points),
        document=lambda: {"schema_version": 1, **head, "points": points},
        records=lambda: points,
        estimates=lambda: {"points": [limits_document(point) for point in points]},
    )
    emit(answer, as_json=as_json, output=output)


def limits_document(point: Mapping[str, Any]) -> dict[str, object]:
    """Return the limits of one payload as estimates for JSON: value, low and high are equal, the basis is theory."""
    theory_alone = {"basis": "theory", "bases": ["theory"]}
    limits = {
        name: {"value": point[name], "low": point[name], "high": point[name], **theory_alone}
        for name in LIMITS
    }
    return {"name": f"{point['payload_bytes']} B", **limits}


def limit_sections(head: Mapping[str, Any], points: list[dict[str, Any]]) -> Iterator[Section]:
    """Yield the printed sections: link and path, a table with a row for each payload, and the goodput bound."""

    def text(name: str, value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        has_unit = name.endswith(("_bytes", "_bps", "_s", "_s_per_m", "_m"))
        if isinstance(value, int | float) and has_unit:
            return units.format_quantity(name, value)
        return str(value)

    framing, path = (
        ", ".join(f"{name} {text(name, value)}" for name, value in head[part].items())
        for part in ("framing", "path")
    )
    rate = units.format_bps(head["line_rate_bps"])
    yield Section("", (f"{head['kind']} at {rate}: {framing}", path))
    *numbers, last = COLUMNS
    rows = tuple(tuple(text(name, point[name]) for name in COLUMNS) for point in points)
    yield Section("", Table((*(f"#{name}" for name in numbers), last), rows))
    bound = units.format_bps(head["stream_goodput_bps"])
    yield Section("", (f"a stream of any payload carries at most {bound}",))
