"""``icmodel theory``: what the wire allows, without any measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icmodel import units
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.cli.question import AsJson, Output, count, option, room, shares
from icmodel.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = room()

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


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames and the path, as typed."""

    payload: Annotated[
        str | None,
        option("payload", "SIZES", 'Useful bytes of one frame, e.g. "1472 B, 1473 B".'),
    ] = None
    distance: Annotated[str, option("distance", "LENGTH", "Length of cable.", "0 m")] = "0 m"
    switches: Annotated[str, option("switches", "N", "Switches on the path.", "0")] = "0"
    switch_latency: Annotated[
        str, option("switch-latency", "TIME", 'What a switch adds, e.g. "1 us".', "0 s")
    ] = "0 s"
    switching: Annotated[
        str, option("switching", "HOW", "cut-through or store-and-forward.", "cut-through")
    ] = "cut-through"

    def path(self) -> dict[str, Any]:
        """The path in the words of theory."""
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
Mtu = Annotated[str, option("mtu", "SIZE", "Most bytes of one packet.", "1500 B")]
VlanTags = Annotated[str, option("vlan-tags", "N", "VLAN tags: 0, 1 or 2.", "0")]
IpVersion = Annotated[str, option("ip-version", "N", "4 or 6.", "4")]
Operation = Annotated[str, option("operation", "NAME", "send, write, read or datagram.", "send")]
AsCounted = Annotated[
    bool, typer.Option("--as-counted", help="As port counters see it, not as on the wire.")
]


@app.callback(short_help="What the wire allows, by theory alone.")
def theory() -> None:
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
def ethernet(
    *,
    frames: Frames,
    protocol: Annotated[str, option("protocol", "NAME", "tcp, udp or ethernet.", "tcp")] = "tcp",
    line_rate: LineRate = TEN_GIGABIT,
    mtu: Mtu = "1500 B",
    ip_version: IpVersion = "4",
    vlan_tags: VlanTags = "0",
    timestamps: Annotated[
        bool, typer.Option("--timestamps/--no-timestamps", help="TCP timestamps, 12 B a packet.")
    ] = True,
    padded: Annotated[
        bool, typer.Option("--padded/--unpadded", help="Fill short packets to 46 B.")
    ] = True,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """TCP, UDP with IP fragmentation, and frames straight on Ethernet.

    Preamble and gap are counted. With --unpadded short packets stay short, as in the theory of
    the dataset ethernet-10g-2012; real wires fill them to 46 B.

    \b
    icmodel theory ethernet --protocol udp --payload "1472 B, 1473 B"
    icmodel theory ethernet --payload "1448 B..65535 B" --line-rate "100 Gb/s" --mtu "9000 B"
    icmodel theory ethernet --protocol ethernet --payload "64 B" --unpadded --switches 1 \\
        --switch-latency "1.59 us" --distance "50 m"
    """  # noqa: D301
    from icmodel.theory import ethernet as link

    framing = link.Framing(
        protocol=protocol,
        mtu_bytes=units.parse_bytes(mtu),
        ip_version=count("ip-version", ip_version),
        timestamps=timestamps,
        vlan_tags=count("vlan-tags", vlan_tags),
        padded=padded,
    )
    _emit(Wire(link, "ethernet", framing, units.parse_bps(line_rate)), frames, as_json, output)


@app.command(short_help="InfiniBand, SDR to NDR.")
@frames_shared
def infiniband(
    *,
    frames: Frames,
    generation: Annotated[
        str, option("generation", "NAME", "sdr, ddr, qdr, fdr, edr, hdr or ndr.", "qdr")
    ] = "qdr",
    lanes: Annotated[str, option("lanes", "N", "1, 2, 4, 8 or 12.", "4")] = "4",
    line_rate: OwnLineRate = None,
    mtu: Annotated[str, option("mtu", "SIZE", "Path MTU, 256 B to 4096 B.", "4096 B")] = "4096 B",
    operation: Operation = "send",
    global_route: Annotated[
        bool, typer.Option("--global-route", help="With the 40 B global route header.")
    ] = False,
    as_counted: AsCounted = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """InfiniBand messages, cut at the path MTU of 256 B to 4096 B.

    The data rate follows from generation and lanes, after coding; --line-rate replaces it.

    \b
    icmodel theory infiniband --payload "4096 B, 4097 B"
    icmodel theory infiniband --generation ndr --payload "64 KiB" --operation write --mtu "2 KiB"
    """  # noqa: D301
    from icmodel.theory import infiniband as link

    rate = link.link_rate_bps(generation, count("lanes", lanes))
    framing = link.Framing(
        mtu_bytes=units.parse_bytes(mtu),
        operation=operation,
        global_route=global_route,
        as_counted=as_counted,
    )
    rate = units.parse_bps(line_rate) if line_rate else rate
    _emit(Wire(link, "infiniband", framing, rate), frames, as_json, output)


@app.command(short_help="RoCE version 1 and 2.")
@frames_shared
def roce(
    *,
    frames: Frames,
    version: Annotated[str, option("version", "N", "1 or 2.", "2")] = "2",
    line_rate: LineRate = TEN_GIGABIT,
    mtu: Annotated[
        str, option("mtu", "SIZE", "RDMA path MTU, 256 B to 4096 B.", "1024 B")
    ] = "1024 B",
    operation: Operation = "send",
    vlan_tags: VlanTags = "0",
    ip_version: IpVersion = "4",
    as_counted: AsCounted = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """RDMA over Ethernet: version 1 straight on it, version 2 over UDP and IP.

    The MTU is that of RDMA, 256 B to 4096 B, not Ethernet's.

    \b
    icmodel theory roce --payload "1 KiB, 64 KiB"
    icmodel theory roce --version 1 --payload "4 KiB" --mtu "4 KiB" --line-rate "100 Gb/s"
    """  # noqa: D301
    from icmodel.theory import roce as link

    framing = link.Framing(
        version=count("version", version),
        mtu_bytes=units.parse_bytes(mtu),
        operation=operation,
        vlan_tags=count("vlan-tags", vlan_tags),
        ip_version=count("ip-version", ip_version),
        as_counted=as_counted,
    )
    _emit(Wire(link, "roce", framing, units.parse_bps(line_rate)), frames, as_json, output)


@app.command(short_help="RapidIO writes, reads and messages.")
@frames_shared
def rapidio(
    *,
    frames: Frames,
    lanes: Annotated[str, option("lanes", "N", "1, 2, 4, 8 or 16.", "4")] = "4",
    baud: Annotated[str, option("baud", "FREQUENCY", "Symbols of one lane.", "5 GHz")] = "5 GHz",
    line_rate: OwnLineRate = None,
    operation: Annotated[
        str,
        option("operation", "NAME", "swrite, nwrite, nwrite_r, nread or message.", "swrite"),
    ] = "swrite",
    device_id_bits: Annotated[str, option("device-id-bits", "N", "8 or 16.", "8")] = "8",
    address_bits: Annotated[str, option("address-bits", "N", "34, 50 or 66.", "34")] = "34",
    control_symbol: Annotated[
        str, option("control-symbol", "SIZE", "4 B (IDLE1) or 8 B (IDLE2, IDLE3).", "4 B")
    ] = "4 B",
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """RapidIO transfers in packets of at most 256 B of data.

    The data rate follows from lanes and baud, after coding; --line-rate replaces it.

    \b
    icmodel theory rapidio --payload "256 B, 257 B"
    icmodel theory rapidio --payload "4 KiB" --operation message --lanes 4 --baud "3.125 GHz"
    """  # noqa: D301
    from icmodel.theory import rapidio as link

    rate = link.link_rate_bps(count("lanes", lanes), units.parse_hertz(baud))
    framing = link.Framing(
        operation=operation,
        device_id_bits=count("device-id-bits", device_id_bits),
        address_bits=count("address-bits", address_bits),
        control_symbol_bytes=units.parse_bytes(control_symbol),
    )
    rate = units.parse_bps(line_rate) if line_rate else rate
    _emit(Wire(link, "rapidio", framing, rate), frames, as_json, output)


# --- answering --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wire:
    """A link of theory with its choices."""

    link: ModuleType
    kind: str
    framing: Any
    line_rate_bps: float

    def payloads(self, text: str) -> tuple[int, ...]:
        """The payloads of a range [B]; one without a number of values takes those that fill."""
        from icmodel.sweep import range_values

        def filling(item: str, first: float, last: float) -> Sequence[float]:
            sizes = self.link.aligned_payloads(self.framing, int(last)).tolist()
            found = [size for size in sizes if size >= first]
            if not found:
                raise ScenarioError(
                    f"no payload of {item!r} fills its packets: say how many values, such as "
                    f"{item}:25"
                )
            return found

        return tuple(int(size) for size in range_values("payload", text, filling))

    def points(self, payloads: tuple[int, ...], path: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What theory says of each payload, in SI."""
        link, framing, rate = self.link, self.framing, self.line_rate_bps
        columns = (
            payloads,
            link.packets(payloads, framing).tolist(),
            link.wire_bits(payloads, framing).tolist(),
            link.max_goodput_bps(payloads, framing, rate).tolist(),
            link.send_interval_s(payloads, framing, rate).tolist(),
            link.min_latency_s(payloads, framing, rate, **path).tolist(),
            link.aligned(payloads, framing).tolist(),
        )
        return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def _emit(wire: Wire, frames: Frames, as_json: bool, output: Any) -> None:
    if frames.payload is None:
        raise ScenarioError('theory needs payloads: give some, e.g. --payload "1472 B, 1473 B"')
    path = frames.path()
    points = wire.points(wire.payloads(frames.payload), path)
    bound = wire.link.stream_goodput_bps(wire.framing, wire.line_rate_bps)
    said = {
        "kind": wire.kind,
        "line_rate_bps": wire.line_rate_bps,
        "framing": asdict(wire.framing),
        "path": {**path, "propagation_s_per_m": wire.link.PROPAGATION_S_PER_M},
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
    yield Section("", Table(COLUMNS, rows, frozenset(COLUMNS[:-1])))
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
