"""``icmodel theory``: what the wire allows, without any measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, asdict, dataclass, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from icmodel import theory, units
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.cli.question import AsJson, Command, Output, count, given, option, room, shares
from icmodel.errors import ScenarioError
from icmodel.theory import ethernet as ethernet_link
from icmodel.theory import infiniband as infiniband_link
from icmodel.theory import rapidio as rapidio_link
from icmodel.theory import roce as roce_link

if TYPE_CHECKING:
    from collections.abc import Sequence

app = room()

TEN_GIGABIT = "10 Gb/s"
OFF = {"padded": "unpadded"}
"""The option that turns a switch off, if it is not its name with no- before it."""
COLUMNS = (
    "payload_bytes",
    "packets",
    "wire_bits",
    "max_goodput_bps",
    "send_interval_s",
    "min_latency_s",
    "aligned",
)


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames and the path, as typed."""

    payload: str | None = given("SIZES", 'Useful bytes of one frame, e.g. "1472 B, 1473 B".')
    distance: str = given("LENGTH", "Length of cable.", default="0 m")
    switches: str = given("N", "Switches on the path.", default="0")
    switch_latency: str = given("TIME", 'What a switch adds, e.g. "1 us".', default="0 s")
    switching: str = given("HOW", "cut-through or store-and-forward.", default="cut-through")

    def path(self) -> dict[str, Any]:
        """The path as theory takes it."""
        return {
            "distance_m": units.parse_metres(self.distance),
            "switches": count("switches", self.switches),
            "switch_latency_s": units.parse_seconds(self.switch_latency),
            "switching": self.switching,
        }


frames_shared = shares(Frames, "frames")
LineRate = Annotated[str, option("line-rate", "RATE", "Data rate after coding.", TEN_GIGABIT)]
OwnLineRate = Annotated[
    str | None, option("line-rate", "RATE", "Data rate in place of the one that lanes give.")
]


# --- the choices of a framing as options ------------------------------------------------------


def _typed(one: Field[Any]) -> tuple[str, type, Any]:
    """One field of a framing as an option: a switch, a size, a count or a name."""
    name, default, text = one.name.replace("_", "-"), one.default, one.metadata["text"]
    if isinstance(default, bool):
        off = f"/--{OFF.get(name, f'no-{name}')}" if default else ""
        return one.name, bool, given("", text, default=default, name=f"{name}{off}")
    if name.endswith("-bytes"):
        size = name.removesuffix("-bytes")
        return one.name, str, given("SIZE", text, default=f"{default} B", name=size)
    metavar = "N" if isinstance(default, int) else "NAME"
    return one.name, str, given(metavar, text, default=str(default))


def _read(one: Field[Any], said: Any) -> object:
    """What was typed for a field of a framing."""
    if one.name.endswith("_bytes"):
        return units.parse_bytes(said)
    return count(one.name.replace("_", "-"), said) if type(one.default) is int else said


def framed(kind: type[theory.AnyFraming]) -> Callable[[Command], Command]:
    """Give a command every parameter of a framing as an option; it takes them as ``chosen``.

    ``chosen.framing()`` is the resulting framing.
    """

    def framing(chosen: object) -> theory.AnyFraming:
        return kind(**{one.name: _read(one, getattr(chosen, one.name)) for one in fields(kind)})

    made = make_dataclass("Chosen", map(_typed, fields(kind)), namespace={"framing": framing})
    return shares(made, "chosen")


@app.callback(short_help="What the wire allows, by theory alone.")
def said_by_theory() -> None:
    """What the wire allows: packets, wire bits, goodput, send interval, latency, alignment.

    Bounds by theory alone, whatever the hosts. A range of payloads without a number of values
    ("64 B..9 kB") takes the sizes that fill their packets.

    \b
    icmodel theory ethernet --protocol udp --payload "1472 B, 1473 B"
    icmodel theory infiniband --generation edr --payload "4 KiB" --distance "50 m"
    icmodel theory rapidio --payload "256 B" --lanes 4 --baud "5 GHz"
    """  # noqa: D301


@app.command(short_help="TCP, UDP and direct Ethernet.")
@frames_shared
@framed(ethernet_link.Framing)
def ethernet(
    *,
    frames: Frames,
    line_rate: LineRate = TEN_GIGABIT,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """TCP, UDP with IP fragmentation, and frames straight on Ethernet.

    Preamble and gap are counted; a least latency ends before the last gap. With --unpadded short
    frames stay short and the last gap counts, as in the theory of the dataset ethernet-10g-2012;
    real wires fill frames to 64 B, VLAN tags included.

    \b
    icmodel theory ethernet --protocol udp --payload "1472 B, 1473 B"
    icmodel theory ethernet --payload "1448 B..65535 B" --line-rate "100 Gb/s" --mtu "9000 B"
    icmodel theory ethernet --protocol ethernet --payload "64 B" --unpadded --switches 1 \\
        --switch-latency "1.59 us" --distance "50 m"
    """  # noqa: D301
    wire = Wire("ethernet", chosen.framing(), units.parse_bps(line_rate))
    _emit(wire, frames, as_json, output)


@app.command(short_help="InfiniBand, SDR to NDR.")
@frames_shared
@framed(infiniband_link.Framing)
def infiniband(
    *,
    frames: Frames,
    generation: Annotated[
        str, option("generation", "NAME", "sdr, ddr, qdr, fdr, edr, hdr or ndr.", "qdr")
    ] = "qdr",
    lanes: Annotated[str, option("lanes", "N", "1, 2, 4, 8 or 12.", "4")] = "4",
    line_rate: OwnLineRate = None,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """InfiniBand messages, cut at the path MTU of 256 B to 4096 B.

    The data rate follows from generation and lanes, after coding; --line-rate replaces it.

    \b
    icmodel theory infiniband --payload "4096 B, 4097 B"
    icmodel theory infiniband --generation ndr --payload "64 KiB" --operation write --mtu "2 KiB"
    """  # noqa: D301
    rate = infiniband_link.link_rate_bps(generation, count("lanes", lanes))
    rate = units.parse_bps(line_rate) if line_rate else rate
    _emit(Wire("infiniband", chosen.framing(), rate), frames, as_json, output)


@app.command(short_help="RoCE version 1 and 2.")
@frames_shared
@framed(roce_link.Framing)
def roce(
    *,
    frames: Frames,
    line_rate: LineRate = TEN_GIGABIT,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """RDMA over Ethernet: version 1 straight on it, version 2 over UDP and IP.

    The MTU is that of RDMA, 256 B to 4096 B, not Ethernet's.

    \b
    icmodel theory roce --payload "1 KiB, 64 KiB"
    icmodel theory roce --version 1 --payload "4 KiB" --mtu "4 KiB" --line-rate "100 Gb/s"
    """  # noqa: D301
    _emit(Wire("roce", chosen.framing(), units.parse_bps(line_rate)), frames, as_json, output)


@app.command(short_help="RapidIO writes, reads and messages.")
@frames_shared
@framed(rapidio_link.Framing)
def rapidio(
    *,
    frames: Frames,
    lanes: Annotated[str, option("lanes", "N", "1, 2, 4, 8 or 16.", "4")] = "4",
    baud: Annotated[str, option("baud", "FREQUENCY", "Symbols of one lane.", "5 GHz")] = "5 GHz",
    line_rate: OwnLineRate = None,
    chosen: Any,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """RapidIO transfers in packets of at most 256 B of data.

    The data rate follows from lanes and baud, after coding; --line-rate replaces it.

    \b
    icmodel theory rapidio --payload "256 B, 257 B"
    icmodel theory rapidio --payload "4 KiB" --operation message --lanes 4 --baud "3.125 GHz"
    """  # noqa: D301
    rate = rapidio_link.link_rate_bps(count("lanes", lanes), units.parse_hertz(baud))
    rate = units.parse_bps(line_rate) if line_rate else rate
    _emit(Wire("rapidio", chosen.framing(), rate), frames, as_json, output)


# --- answering --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wire:
    """A link of theory with its choices."""

    kind: str
    framing: theory.AnyFraming
    line_rate_bps: float

    def payloads(self, text: str) -> tuple[int, ...]:
        """The payloads of a range [B]; those that fill their packets if no number of values is given."""
        from icmodel.sweep import range_values

        def filling(item: str, first: float, last: float) -> Sequence[float]:
            sizes = theory.aligned_payloads(self.framing, int(last)).tolist()
            found = [size for size in sizes if size >= first]
            if not found:
                raise ScenarioError(
                    f"no payload of {item!r} fills its packets: say how many values, such as "
                    f"{item}:25"
                )
            return found

        return tuple(int(size) for size in range_values("payload", text, filling))

    def points(self, payloads: tuple[int, ...], path: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Theory's numbers for each payload, in SI."""
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


def _emit(wire: Wire, frames: Frames, as_json: bool, output: Any) -> None:
    if frames.payload is None:
        raise ScenarioError('theory needs payloads: give some, e.g. --payload "1472 B, 1473 B"')
    path = frames.path()
    points = wire.points(wire.payloads(frames.payload), path)
    bound = theory.stream_goodput_bps(wire.framing, wire.line_rate_bps)
    said = {
        "kind": wire.kind,
        "line_rate_bps": wire.line_rate_bps,
        "framing": asdict(wire.framing),
        "path": {**path, "propagation_s_per_m": wire.framing.propagation_s_per_m},
        "stream_goodput_bps": bound,
    }
    answer = Answer(
        sections=lambda: _sections(said, points),
        document=lambda: {"schema_version": 1, **said, "points": points},
        records=lambda: points,
    )
    emit(answer, as_json=as_json, output=output)


def _sections(said: Mapping[str, Any], points: list[dict[str, Any]]) -> Iterator[Section]:
    choices = [f"{name} {_shown(name, value)}" for name, value in said["framing"].items()]
    way = [f"{name} {_shown(name, value)}" for name, value in said["path"].items()]
    rate = units.format_bps(said["line_rate_bps"])
    yield Section("", (f"{said['kind']} at {rate}: {', '.join(choices)}", ", ".join(way)))
    rows = tuple(tuple(_shown(name, point[name]) for name in COLUMNS) for point in points)
    *numbers, last = COLUMNS
    yield Section("", Table((*(f"#{name}" for name in numbers), last), rows))
    bound = units.format_bps(said["stream_goodput_bps"])
    yield Section("", (f"a stream of any payload carries at most {bound}",))


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    if name.endswith(("_bytes", "_bps", "_s", "_s_per_m", "_m")):
        return units.format_quantity(name, value)
    return str(value)
