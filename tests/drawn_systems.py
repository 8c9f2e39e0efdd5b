"""Random systems as documents: every protocol, producer, payload, scheduler and forwarding, from idle to 20 times overloaded.

A document is drawn from its seed alone.  Numbers are in SI; `toml` gives it as a file.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from icmodel.documents import toml_text
from icmodel.errors import Mistakes, NetworkError
from icmodel.system.checking import check, refusal
from icmodel.system.document import Streams, SystemDocument
from icmodel.system.expansion import expand
from icmodel.system.network import Stream, System
from icmodel.system.requirements import stream_requirements
from simulated_packets import APART, CUTTINGS, carrier, cut
from system_simulation import Play, frames_of, senders

Table = dict[str, Any]
Drawn = dict[str, Any]

RATES_BPS = (1e7, 1e8, 1e9, 2.5e9, 1e10, 2.5e10, 1e11)
SCHEDULERS = ("fifo", "strict-priority", "wrr", "drr", "cbs", "gates")
PRODUCERS = ("burst", "samples", "image", "goodput")
PROTOCOLS = ("udp", "udp", "tcp", "tcp", "tcp", "ethernet")
MTUS = (1500, 1500, 1500, 576, 1492, 9000)
DATASETS = {"ethernet-10g-2012": 1e10, "lab-1g-2026": 1e9}
"""Datasets for hosts, each with the rate of its links."""
MOST_PACKETS = 120
"""Of a message, about."""
UDP_LIMIT = 65_507
FRAME_BITS = 12_304.0
TRIES = 20
MAY_FALL_SHORT = "allowed_shortfall_ratio"


def system_of(document: Drawn) -> System:
    """The system of a document.

    Raises
    ------
    NetworkError
        If it is unconnected or contradictory.
    """
    read = SystemDocument.model_validate(document)
    system = expand(read, stream_requirements(read, None, {}, Mistakes("drawn")))
    if wrong := refusal(check(system)):
        raise NetworkError(wrong)
    return system


def toml(document: Drawn) -> str:
    """The document as the text of a file."""
    return toml_text(document)


def document(seed: int, *, datasets: bool = True, settings: bool = True) -> Drawn:
    """The document of a seed, valid; a draw that does not fit together is drawn anew.

    Parameters
    ----------
    datasets : bool
        Whether some have datasets on their hosts.
    settings : bool
        Whether some have senders with a rate or a window, and devices that state their times and their work.
    """
    for attempt in range(TRIES):
        made = _Drawing(random.Random(f"{seed}/{attempt}"), f"drawn-{seed}", datasets).document()
        if settings:
            set_senders(made, random.Random(f"settings/{seed}"))
        try:
            system_of(made)
        except NetworkError:
            continue
        return made
    raise AssertionError(f"no system of the seed {seed} fits together")


def set_senders(made: Drawn, draw: random.Random) -> None:
    """Give half of the documents rates and windows of senders, ranges of latencies, core times and work."""
    if draw.random() < 0.5:
        return
    if draw.random() < 0.6:  # no dataset is asked where both ends state their latency
        reach = 10 ** draw.uniform(-7, -3)
        for device in made["devices"]:
            least = draw.choice((0.0, draw.uniform(0.0, reach)))
            device["latency_s"] = [least, least + draw.choice((0.0, 0.0, draw.uniform(0.0, reach)))]
            device["source"] = "drawn"
            if draw.random() < 0.3:
                device["cores"] = draw.choice((1, 2, 4))
                core_s = 10 ** draw.uniform(-8, -5)
                device["core_time_s"] = [core_s, core_s * draw.choice((1, 1, 3))]
            if draw.random() < 0.2:
                device["cores"] = draw.choice((1, 2, 4))
                for key in ("app_send_s", "app_recv_s"):
                    device[key] = draw.choice((0.0, 10 ** draw.uniform(-8, -5)))
    for stream in made["streams"]:
        message = _message(stream)
        if message and draw.random() < 0.3:
            frames, period_s = message
            factor = draw.choice((0.7, 1.0, 1.01, 1.3, 2.0, 10.0, 1000.0))
            stream["rate_fps"] = frames / period_s * factor
        if stream["protocol"] == "tcp" and draw.random() < 0.4:
            stream["window_bytes"] = int(10 ** draw.uniform(2.5, 7.0))


def _message(stream: Table) -> tuple[int, float] | None:
    """Frames of a message, and the time from one message to the next [s]; ``None`` of an unlimited stream."""
    made = stream["produces"]
    size = {
        "burst": lambda: made.get("burst", 1) * made["size_bytes"],
        "samples": lambda: made["samples"] * made["size_bits"] / 8,
        "image": lambda: made["width_px"] * made["height_px"] * made["depth_bits"] / 8,
        "goodput": lambda: stream["payload_bytes"],
    }.get(made["kind"])
    if size is None:
        return None
    payload = stream.get("payload_bytes") or made["size_bytes"]
    period_s = made.get("period_s") or 1 / (made.get("cycle_hz") or made.get("rate_hz") or math.inf)
    return math.ceil(size() / payload), period_s or 8 * payload / made["goodput_bps"]


@dataclass
class _Drawing:
    """What is being drawn."""

    draw: random.Random
    name: str
    datasets: bool
    devices: list[Table] = field(default_factory=list)
    switches: list[Table] = field(default_factory=list)
    links: list[Table] = field(default_factory=list)
    streams: list[Table] = field(default_factory=list)

    def document(self) -> Drawn:
        """All of it, loaded as much as is drawn."""
        draw = self.draw
        self.dataset = (
            draw.choice(tuple(DATASETS)) if self.datasets and draw.random() < 0.35 else None
        )
        self.interconnect = "plain" if not self.dataset and draw.random() < 0.1 else "ethernet"
        self.mtu = 1500 if self.dataset else draw.choice(MTUS)
        self._nodes()
        self._streams()
        made = self._whole()
        self._load(made)
        self._schedulers(made)
        made["requirements"] = list(self._requirements())
        return {key: value for key, value in made.items() if value != []}

    def _whole(self) -> Drawn:
        return {
            "schema_version": 1,
            "name": self.name,
            "title": "a random system",
            "source": "drawn",
            "devices": self.devices,
            "switches": self.switches,
            "links": self.links,
            "streams": self.streams,
        }

    def chance(self, probability: float) -> bool:
        """Whether something that likely happens."""
        return self.draw.random() < probability

    # --- nodes and links ----------------------------------------------------------------------

    def _nodes(self) -> None:
        """Switches in a tree, mostly a chain, and groups of hosts at them; or two hosts on a cable."""
        draw = self.draw
        one_rate = DATASETS[self.dataset] if self.dataset else draw.choice(RATES_BPS)
        first = RATES_BPS.index(one_rate) if one_rate in RATES_BPS else 0
        mixed = self.chance(0.35)
        self.rates = RATES_BPS[max(0, first - 1) : first + 2] if mixed else (one_rate,)
        count = draw.choice((0, 1, 1, 1, 2, 2, 3, 4))
        one_way = draw.choice(("store-and-forward", "cut-through", None))
        for k in range(count):
            self.switches.append(self._switch(k, one_way))
            if k:
                self._link(f"s{draw.choice((k - 1, draw.randrange(k)))}", f"s{k}", trunk=True)
        groups = 2 if count == 0 else draw.randint(2, 5)
        for k in range(groups):
            at = None if count == 0 else f"s{draw.randrange(count)}"
            members = 1 if at is None else draw.choice((1, 1, 1, 2, 3))
            self.devices.append(self._device(k, members))
            if at is not None:
                self.devices[-1]["interfaces"] = self._link(f"d{k}", at)
        if count == 0:
            cables = self._link("d0", "d1")
            for device in self.devices:
                device["interfaces"] = cables

    def _switch(self, k: int, one_way: str | None) -> Table:
        draw = self.draw
        way = one_way or draw.choice(("store-and-forward", "cut-through"))
        latency_s = draw.choice((0.0, 5e-7, 3e-6, draw.uniform(0.0, 2e-5)))
        made: Table = {"name": f"s{k}", "forwarding": way, "latency_s": latency_s}
        if self.chance(0.6 if self.dataset else 0.35):
            made["buffer_bytes"] = int(10 ** draw.uniform(3.3, 6.0))
        return made

    def _device(self, k: int, members: int) -> Table:
        made: Table = {"name": f"d{k}", "count": members}
        if self.dataset and self.chance(0.5):
            made["cores"] = self.draw.choice((1, 2, 4, 8))
        if self.dataset and self.chance(0.15):
            made["app_send_s"] = 10 ** self.draw.uniform(-7, -4)
            made["app_recv_s"] = 10 ** self.draw.uniform(-7, -4)
        return made | self._stated(made)

    def _stated(self, made: Table) -> Table:
        """A latency that a device states, as a number or a range, mostly with the core time; drawn apart."""
        draw = random.Random(f"{self.name}/{made['name']}")
        if draw.random() < 0.7:
            return {}
        least = draw.choice((0.0, 10 ** draw.uniform(-7, -3)))
        most = draw.choice((least, least + 10 ** draw.uniform(-7, -3)))
        stated: Table = {"latency_s": [least, most], "source": "drawn"}
        if draw.random() < 0.7:
            core_s = 10 ** draw.uniform(-8, -4)
            stated["core_time_s"] = [core_s, core_s * draw.choice((1, 1, 3))]
        if draw.random() < 0.6:
            stated["cores"] = draw.choice((1, 2, 4))
        return stated

    def _link(self, first: str, second: str, *, trunk: bool = False) -> int:
        """Join two groups; the number of cables each member of the first has."""
        draw = self.draw
        cables = draw.choice((1, 1, 1, 1, 1, 2, 3))
        made: Table = {
            "between": [first, second],
            "rate_bps": draw.choice(self.rates),
            "length_m": draw.choice((0.0, 0.0, 10.0, draw.uniform(1.0, 1000.0))),
        }
        if cables > 1:
            made["parallel"] = cables
        mtu = draw.choice((self.mtu, 9000)) if trunk else self.mtu
        if mtu != 1500 or self.chance(0.1):
            made["mtu_bytes"] = max(mtu, self.mtu)
        if self.interconnect != "ethernet":
            made["interconnect"] = self.interconnect
        if self.dataset and made["rate_bps"] == DATASETS[self.dataset] and self.chance(0.9):
            made["dataset"] = self.dataset
        self.links.append(made)
        return cables

    # --- streams ------------------------------------------------------------------------------

    def _streams(self) -> None:
        draw = self.draw
        priorities = draw.sample(range(8), draw.randint(1, 3))
        alike = draw.choice((None, None, *PRODUCERS))
        self.step_s = 1e-2 if self.chance(0.3) else None
        self.protocols = draw.choice(
            (PROTOCOLS, PROTOCOLS, PROTOCOLS, ("udp",), ("udp",), ("tcp",))
        )
        for k in range(draw.choice((1, 2, 2, 3, 3, 4, 5, 6))):
            self.streams.append(self._stream(f"f{k}", priorities, alike))

    def _stream(self, name: str, priorities: list[int], alike: str | None) -> Table:
        draw = self.draw
        source, sink = draw.sample(self.devices, 2)
        made: Table = {"name": name, "source": source["name"], "sink": sink["name"]}
        several = source["count"] > 1 and sink["count"] > 1
        if sink["count"] > 1 and self.chance(0.6):
            made["multicast"] = True
        elif several:
            equal = source["count"] == sink["count"]
            made["pairing"] = draw.choice(("each", "spread", *(("one-to-one",) if equal else ())))
        if self.chance(0.1):
            made["count"] = 2
        made["protocol"] = draw.choice(self.protocols)
        of_tcp = made["protocol"] == "tcp" and "multicast" in made  # it has one receiver
        if of_tcp or (self.dataset and made["protocol"] == "ethernet"):
            made["protocol"] = "udp"
        made["payload_bytes"] = self._payload(made["protocol"])
        if self.chance(0.8):
            made["priority"] = draw.choice(priorities)
        if (
            MAY_FALL_SHORT in Streams.model_fields
            and random.Random(name + self.name).random() < 0.05
        ):
            made[MAY_FALL_SHORT] = 0.5
        if self.chance(0.4):
            made["kind"] = draw.choice(("hard", "firm", "soft"))
        self._produce(made, alike)
        return made

    def _payload(self, protocol: str) -> int:
        """From 1 B to the protocol's limit, often at a border between packets or beside one."""
        draw = self.draw
        limit = {"udp": UDP_LIMIT, "ethernet": self.mtu}.get(protocol, 300_000)
        first, full = {
            "udp": (self.mtu - 28, (self.mtu - 20) // 8 * 8),
            "tcp": (self.mtu - 52, self.mtu - 52),
        }.get(protocol, (self.mtu, self.mtu))
        border = first + full * draw.choice((0, 0, 0, 1, 2, draw.randint(0, 40)))
        sizes = (
            draw.randint(1, 64),
            draw.randint(1, 2000),
            border + draw.choice((-2, -1, 0, 0, 1, 2)),
            border,
            limit - draw.choice((0, 0, 1)) if self.chance(0.3) else border,
            int(10 ** draw.uniform(0.0, math.log10(limit))),
        )
        return min(max(draw.choice(sizes), 1), limit)

    def _produce(self, made: Table, alike: str | None) -> None:
        """What produces a stream, at some rate; `_load` scales all of them."""
        draw, payload = self.draw, made["payload_bytes"]
        carried = carrier(made["protocol"], self.interconnect)
        a_frame = len(cut(payload, carried, self.mtu))
        frames = draw.choice((1, 1, 2, 3, 10, 30, 100, draw.randint(1, 200)))
        frames = max(1, min(frames, MOST_PACKETS // a_frame))
        message = max(1, payload * frames + draw.choice((0, 0, 1, -1, draw.randint(0, payload))))
        if self.chance(0.05):
            message = draw.randint(1, payload)
        seconds = self.step_s or message * 8 / 1e6 * 10 ** draw.uniform(-1.5, 0.5)
        kind = "unlimited" if self.chance(0.05) else alike or draw.choice(PRODUCERS)
        table: Table = {"kind": kind}
        if kind == "burst":
            parts = draw.choice([k for k in (1, 2, 3, 7, frames) if message % k == 0])
            table |= {"period_s": seconds, "burst": parts, "size_bytes": message // parts}
            if self.chance(0.1) and parts == frames:
                del made["payload_bytes"]
        elif kind == "samples":
            bits = draw.choice([b for b in (8, 16, 32, 64) if 8 * message % b == 0])
            table |= {
                "samples": 8 * message // bits,
                "size_bits": float(bits),
                "cycle_hz": 1 / seconds,
            }
        elif kind == "image":
            width = draw.choice([w for w in (1, 2, 3, 8, 16) if message % w == 0])
            table |= {"width_px": width, "height_px": message // width, "depth_bits": 8.0}
            table["rate_hz"] = 1 / seconds
        elif kind == "goodput":
            table["goodput_bps"] = 8 * message / seconds
        elif self.chance(0.4):
            made["rate_fps"] = 1e6 * 10 ** draw.uniform(-1.5, 0.5) / (8 * payload)
        made["produces"] = table
        if made["protocol"] == "tcp" and kind == "unlimited" and self.chance(0.2):
            made["window_bytes"] = draw.choice((20_000, 200_000))

    def _load(self, made: Drawn) -> None:
        """Scale what is produced so that the busiest port has the load that is drawn."""
        draw = self.draw
        system = expand(
            read := SystemDocument.model_validate(made),
            stream_requirements(read, None, {}, Mistakes("drawn")),
        )
        cutting = draw.choice(CUTTINGS[:2])
        busiest = max(load for load, _ in port_loads(system, cutting).values())
        wished = draw.uniform(0.02, 0.97)
        if self.chance(0.25):
            wished = draw.choice((1.0, draw.uniform(0.97, 1.1), 10 ** draw.uniform(0.0, 1.3)))
        factor = wished / busiest if busiest else 1.0
        for stream in self.streams:
            table = stream["produces"]
            for key in ("cycle_hz", "rate_hz", "goodput_bps"):
                if key in table:
                    table[key] *= factor
            if "period_s" in table:
                table["period_s"] /= factor
            if "rate_fps" in stream:
                stream["rate_fps"] *= factor
            self._due(table)

    def _due(self, table: Table) -> None:
        if table["kind"] in ("burst", "samples") and self.chance(0.15):
            period = table["period_s"] if "period_s" in table else 1 / table["cycle_hz"]
            table["within_s"] = period * self.draw.uniform(0.05, 0.999)

    # --- schedulers ---------------------------------------------------------------------------

    def _schedulers(self, made: Drawn) -> None:
        draw = self.draw
        system = expand(
            read := SystemDocument.model_validate(made),
            stream_requirements(read, None, {}, Mistakes("drawn")),
        )
        one_kind = draw.choice((None, *SCHEDULERS, *SCHEDULERS))
        self.by_class = _class_loads(system)
        for switch in self.switches:
            if self.chance(0.9):
                switch["scheduler"] = self._scheduler(one_kind or draw.choice(SCHEDULERS))
            if self.chance(0.1):
                peers = sorted({p.peer for p in system.ports.values() if p.node == switch["name"]})
                own = {
                    "to": draw.choice(peers),
                    "scheduler": self._scheduler(draw.choice(SCHEDULERS)),
                }
                switch["ports"] = [own]
        for device in self.devices:
            if self.chance(0.15):
                device["scheduler"] = self._scheduler(draw.choice(SCHEDULERS))

    def _scheduler(self, kind: str) -> Table:
        draw, classes = self.draw, sorted(self.by_class)
        rate = min(link["rate_bps"] for link in self.links)
        if kind == "wrr":
            return {"kind": kind, "weights": {str(name): draw.randint(1, 5) for name in classes}}
        if kind == "drr":
            quanta = (64, 500, 1538, 1538, 9038, 20_000)
            return {
                "kind": kind,
                "quanta_bytes": {str(name): draw.choice(quanta) for name in classes},
            }
        if kind == "cbs":
            shaped = draw.sample(classes, draw.randint(1, len(classes)))
            slopes = {
                str(name): rate
                * min(0.97 / len(shaped), max(self.by_class[name], 0.01) * draw.uniform(0.95, 2.5))
                for name in shaped
            }
            return {"kind": kind, "idle_slopes_bps": slopes}
        if kind == "gates":
            return {"kind": kind, "windows": list(self._windows(classes, rate))}
        return {"kind": kind}

    def _windows(self, classes: list[int], rate_bps: float) -> Iterator[Table]:
        """A window for each class at least, mostly wide enough for a packet.

        Short windows have a draw of their own, so that the rest of a system stays as it is.
        """
        draw = self.draw
        a_packet = 8 * (max(link.get("mtu_bytes", 1500) for link in self.links) + 38) / rate_bps
        cycle = a_packet * draw.uniform(3.0, 20.0)
        names = classes * draw.choice((1, 1, 2))
        draw.shuffle(names)
        for name in names:
            share = max(self.by_class[name], 0.05) * draw.uniform(0.9, 1.6) / names.count(name)
            also = [other for other in classes if other != name and self.chance(0.3)]
            duration = a_packet * draw.choice((1.0, 1.05, 1.3)) + share * cycle
            short = random.Random(f"{self.name}/{name}/{cycle}")
            if short.random() < 0.15:
                duration *= short.uniform(0.05, 0.9)
            yield {"open": sorted({name, *also}), "duration_s": duration}

    # --- requirements -------------------------------------------------------------------------

    def _requirements(self) -> Iterator[Table]:
        draw = self.draw
        metrics = (
            "latency_mean_s",
            "latency_p99_s",
            "latency_max_s",
            "goodput_bps",
            "message_latency_s",
        )
        for k in range(draw.choice((0, 0, 1, 1, 2))):
            stream, metric = draw.choice(self.streams), draw.choice(metrics)
            made: Table = {"name": f"r{k}", "metric": metric, "stream": stream["name"]}
            if metric == "goodput_bps":
                made["at_least"] = f"{10 ** draw.uniform(2, 9):.6g} b/s"
            else:
                made["at_most"] = f"{10 ** draw.uniform(-5, 0):.6g} s"
            made["kind"] = draw.choice(("hard", "firm", "soft"))
            yield made


# --- loads and times --------------------------------------------------------------------------


def port_loads(system: System, cutting: str = APART) -> dict[str, tuple[float, dict[int, float]]]:
    """What is asked of each port on average, over its rate: in all, and by priority; unlimited streams ask nothing."""
    asked: dict[str, dict[int, float]] = {name: {} for name in system.ports}
    for sender in senders(system, Play(cutting=cutting)):
        stream = sender.streams[0]
        if math.isinf(stream.requested_goodput_bps):
            continue
        bits = 8 * sum(p.line_bytes for one in sender.handovers for p in one.packets)
        for port in {name for one in sender.streams for name in one.path}:
            there = asked[port]
            share = bits / sender.period_s / system.ports[port].rate_bps
            there[stream.priority] = there.get(stream.priority, 0.0) + share
    return {name: (sum(there.values()), there) for name, there in asked.items()}


def least_loads(
    system: System,
    only: Stream | None = None,
    goodput_bps: float | None = None,
    *,
    thinned: bool = True,
) -> dict[str, float]:
    """The least that surely comes to each port on average, over its rate.

    TCP counts as full packets, which no merging beats; a stream behind a port that is asked for too much is
    left out, since less than all of it comes.

    Parameters
    ----------
    only : Stream, optional
        Counts alone, at ``goodput_bps`` if that is given.
    thinned : bool
        Whether streams behind such a port are left out.
    """
    loads = dict.fromkeys(system.ports, 0.0)
    streams = [some[0] for some in system.multicast_sets().values()] if only is None else [only]
    ways = {
        one.name: {p for s in system.multicast_sets()[one.multicast_key] for p in s.path}
        for one in streams
    }
    full: set[str] = set()
    while True:
        loads = dict.fromkeys(system.ports, 0.0)
        for one in streams:
            goodput = one.requested_goodput_bps if goodput_bps is None else goodput_bps
            if math.isinf(goodput):
                continue
            for port in ways[one.name]:
                before = one.path[: one.path.index(port)] if port in one.path else one.path
                if only is not None or not thinned or not full.intersection(before):
                    loads[port] += goodput * least_ratio(system, one) / system.ports[port].rate_bps
        more = {name for name, load in loads.items() if load > 1 + 1e-6}
        if more <= full:
            return loads
        full |= more


def least_ratio(system: System, stream: Stream) -> float:
    """The fewest bits on the line for each useful bit of a stream."""
    link, made = system.links_of(stream)[0], stream.producer
    carried = carrier(stream.protocol, link.interconnect)
    if carried == "tcp":
        (most,) = cut(link.mtu_bytes - 52, carried, link.mtu_bytes)
        return most[1] / most[0]
    full = sum(line for _, line in cut(stream.payload_bytes, carried, link.mtu_bytes))
    ratio = full / stream.payload_bytes
    if made is None or made.kind == "goodput":
        return ratio
    sizes = frames_of(math.ceil(made.message_bytes - 1e-9), stream.payload_bytes)
    whole = full * (len(sizes) - 1)
    whole += sum(line for _, line in cut(sizes[-1], carried, link.mtu_bytes))
    return (
        min(ratio, whole / made.message_bytes)
        if made.kind == "image" or stream.paced_fps is not None
        else whole / made.message_bytes
    )


def _class_loads(system: System) -> dict[int, float]:
    """The greatest load that each class asks of any port; of an unlimited one a tenth."""
    most = dict.fromkeys({stream.priority for stream in system.streams.values()}, 0.1)
    for _, by_class in port_loads(system).values():
        for name, load in by_class.items():
            most[name] = max(most[name] if most[name] != 0.1 else 0.0, load)
    return most
