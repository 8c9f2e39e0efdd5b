"""Generated datasets and scenarios for the tests of the model."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from hypothesis import strategies as st

from icmodel.dataset import Dataset, Point, build
from icmodel.scenario import Options, Scenario
from points import Row, points_csv

FOLDER = Path("generated")
LATENCIES = ("latency_max_s", "latency_mean_s", "latency_min_s", "latency_std_s")
UTILISATIONS = ("cpu_recv", "cpu_send")
FILE_BASES = ("measured", "tabulated", "stated", "theory", "derived", "assumed")
GREATEST = {"ethernet": 1500, "tcp": 65535, "udp": 65507, "zeromq": 1 << 20}


@dataclass(frozen=True)
class Plan:
    """What a generated dataset has; numbers come from ``seed``."""

    seed: int
    protocols: tuple[str, ...] = ("tcp", "udp")
    kind: str = "ethernet"
    line_rate_bps: float | None = 1e10
    payloads: int = 4
    loads: int = 2
    cores: tuple[int | None, ...] = (1, 4)
    switched: bool = False
    shared: bool = False
    limited_goodput: bool = False
    limited_loss: bool = False
    unlimited_curves: bool = True
    overloads: bool = True
    nagle: bool = False
    path: bool = True
    stated_limits: bool = False


def dataset(plan: Plan) -> Dataset:
    """A verified dataset made by a plan; the same plan gives the same dataset."""
    link: dict[str, object] = {"kind": plan.kind}
    if plan.line_rate_bps is not None:
        link["line_rate_bps"] = plan.line_rate_bps
    if plan.kind == "ethernet":
        link["mtu_bytes"] = 1500
    if plan.path:
        link |= {"switch_latency_s": 2e-6, "propagation_s_per_m": 5e-9, "cable_length_m": 3.0}
    more: dict[str, object] = {}
    if plan.nagle:
        more["axes"] = {"nagle": {"meaning": "Nagle's algorithm", "default": "on"}}
    if plan.stated_limits:
        more["stated_limits"] = [
            {"metric": "latency_mean_s", "min": 1e-6, "max": 5e-3, "source": "a test"},
            {"metric": "cpu_send", "protocol": "tcp", "max": 0.95, "source": "a test"},
        ]
    return from_rows(_Maker(plan).rows(), link, **more)


def from_rows(rows: Sequence[Row], interconnect: Mapping[str, object], **more: object) -> Dataset:
    """A verified dataset of some rows; ``more`` are further keys of its dataset.toml."""
    body = points_csv(rows)
    digest = hashlib.sha256(body).hexdigest()
    protocols = sorted({row.protocol for row in rows})
    document: dict[str, object] = {
        "schema_version": 1,
        "id": "generated",
        "title": "generated for tests",
        "sha256": digest,
        "default_variant": "corrected",
        "default_protocol": protocols[0],
        "protocols": protocols,
        "interconnect": dict(interconnect),
    }
    return build(FOLDER, document | more, body, digest)


class _Maker:
    """Draws the rows of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.random = random.Random(plan.seed)

    def rows(self) -> list[Row]:
        rows: list[Row] = []
        for protocol in self.plan.protocols:
            payloads = self.payloads(protocol)
            for value in ("on", "off") if self.plan.nagle and protocol == "tcp" else ("",):
                options = {"nagle": value} if self.plan.nagle else {}
                rows += self.protocol_rows(protocol, payloads, options)
        return rows

    def payloads(self, protocol: str) -> list[int]:
        most = GREATEST[protocol]
        found: set[int] = set()
        while len(found) < self.plan.payloads:
            found.add(round(math.exp(self.random.uniform(0, math.log(most)))))
        return sorted(found)

    def some(self, payloads: list[int]) -> list[int]:
        """A run of the payloads, mostly all of them."""
        if len(payloads) < 3 or self.random.random() < 0.6:
            return payloads
        first = self.random.randrange(2)
        return payloads[first : len(payloads) - self.random.randrange(2)]

    def protocol_rows(
        self, protocol: str, payloads: list[int], options: Mapping[str, str]
    ) -> list[Row]:
        top = self.plan.line_rate_bps or 1e9
        shares = [self.random.uniform(0.02, 1.05) for _ in range(self.plan.loads)]
        loads = sorted(float(round(top * share)) for share in shares)
        rows: list[Row] = []
        for cores in self.plan.cores:
            rows += self.goodput_rows(protocol, payloads, loads, cores, options)
        cores = self.plan.cores[-1]
        for switches in (0, 1) if self.plan.switched and protocol == "udp" else (0,):
            here = self.some(payloads)
            for metric in UTILISATIONS:
                rows += self.curves(metric, protocol, here, loads, cores, switches, options)
        for metric in LATENCIES:
            if self.random.random() < 0.8:
                here = self.some(payloads)
                rows += self.curves(metric, protocol, here, loads, cores, 0, options)
        return rows

    def goodput_rows(
        self,
        protocol: str,
        payloads: list[int],
        loads: list[float],
        cores: int | None,
        options: Mapping[str, str],
    ) -> list[Row]:
        plan, top = self.plan, self.plan.line_rate_bps or 1e9
        share = {p: self.random.uniform(0.2, 1.01) * min(1.0, p / 300) for p in payloads}
        if not plan.overloads:
            share = dict(zip(payloads, sorted(share.values()), strict=True))
        rows: list[Row] = []
        for payload in payloads:
            reached = share[payload] * top
            rows.append(
                self.row(protocol, payload, math.inf, cores, "goodput_bps", reached, options)
            )
            if plan.shared and self.random.random() < 0.7:
                part = reached * self.random.uniform(0.3, 0.6)
                rows.append(
                    self.row(
                        protocol,
                        payload,
                        math.inf,
                        cores,
                        "goodput_bps",
                        part,
                        options,
                        endpoints=2,
                    )
                )
        if plan.limited_goodput:
            load = loads[-1]
            rows += [
                self.row(
                    protocol,
                    p,
                    load,
                    cores,
                    "goodput_bps",
                    min(load, 1.2 * share[p] * top),
                    options,
                )
                for p in self.some(payloads)
            ]
        if protocol in ("udp", "ethernet"):
            rows += self.loss_rows(protocol, self.some(payloads), loads, cores, options)
        return rows

    def loss_rows(
        self,
        protocol: str,
        payloads: list[int],
        loads: list[float],
        cores: int | None,
        options: Mapping[str, str],
    ) -> list[Row]:
        kinds = [(math.inf, 0, 0.6)]
        if self.plan.switched and protocol == "udp":
            kinds.append((math.inf, 1, 0.7))
        if self.plan.limited_loss:
            kinds += [(load, 0, 0.05) for load in loads]
        return [
            self.row(
                protocol,
                payload,
                load,
                cores,
                "loss_rate",
                self.random.choice((0.0, self.random.uniform(0, most))),
                options,
                switches=switches,
            )
            for load, switches, most in kinds
            for payload in payloads
        ]

    def curves(
        self,
        metric: str,
        protocol: str,
        payloads: list[int],
        loads: list[float],
        cores: int | None,
        switches: int,
        options: Mapping[str, str],
    ) -> list[Row]:
        levels: list[float] = list(loads)
        if self.plan.unlimited_curves or not levels:
            levels.append(math.inf)
        return [
            self.row(
                protocol,
                payload,
                load,
                cores,
                metric,
                self.value(metric),
                options,
                switches=switches,
            )
            for load in levels
            for payload in (self.some(payloads) if self.random.random() < 0.3 else payloads)
        ]

    def value(self, metric: str) -> float:
        if metric in UTILISATIONS:
            return self.random.uniform(0.01, 0.9)
        return math.exp(self.random.uniform(math.log(2e-6), math.log(4e-3)))

    def row(
        self,
        protocol: str,
        payload: int,
        load: float,
        cores: int | None,
        metric: str,
        value: float,
        options: Mapping[str, str],
        *,
        switches: int = 0,
        endpoints: int = 1,
    ) -> Row:
        number = _decimal(value)
        basis = self.random.choice(FILE_BASES)
        std: Decimal | None = None
        low: Decimal | None = None
        high: Decimal | None = None
        n: int | None = None
        if basis == "assumed" or self.random.random() < 0.4:
            low = _decimal(float(number) * self.random.uniform(0.5, 1))
            most = 1.0 if metric in (*UTILISATIONS, "loss_rate") else math.inf
            high = _decimal(min(float(number) * self.random.uniform(1, 1.5), most))
        elif self.random.random() < 0.5:
            std = _decimal(float(number) * self.random.uniform(0, 0.2))
            n = self.random.choice((None, 2, 5, 40))
        limit = Decimal("inf") if math.isinf(load) else _decimal(load)
        return Row(
            protocol,
            metric,
            number,
            basis,
            "a test",
            payload_bytes=payload,
            load_bps=limit,
            cores=cores,
            switches=switches,
            endpoints=endpoints,
            options=dict(options),
            std=std,
            low=low,
            high=high,
            n=n,
        )


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(f"{value:.9g}")))


@st.composite
def plans(draw: st.DrawFn, *, overloads: bool | None = None) -> Plan:
    """Plans of datasets of every shape the model distinguishes."""
    kind = draw(st.sampled_from(("ethernet", "ethernet", "loopback")))
    return Plan(
        seed=draw(st.integers(0, 2**32)),
        protocols=draw(
            st.sampled_from((("tcp",), ("udp",), ("tcp", "udp"), ("ethernet", "udp", "zeromq")))
        ),
        kind=kind,
        line_rate_bps=draw(st.sampled_from((1e9, 1e10, 1e11))) if kind == "ethernet" else None,
        payloads=draw(st.integers(2, 6)),
        loads=draw(st.integers(0, 3)) or 1,
        cores=draw(st.sampled_from(((4,), (1, 4), (1, 2, 3), (None,)))),
        switched=draw(st.booleans()),
        shared=draw(st.booleans()),
        limited_goodput=draw(st.booleans()),
        limited_loss=draw(st.booleans()),
        unlimited_curves=draw(st.booleans()),
        overloads=draw(st.booleans()) if overloads is None else overloads,
        nagle=draw(st.booleans()),
        path=draw(st.booleans()),
        stated_limits=draw(st.booleans()),
    )


datasets = plans().map(dataset)


class Asker:
    """Draws scenarios that fit a dataset, near its points and between them, or ``beyond`` them."""

    def __init__(self, data: Dataset, seed: int, *, beyond: bool = False) -> None:
        self.data = data
        self.beyond = beyond
        self.random = random.Random(seed)
        self._known: dict[object, list[Point]] = {}

    def scenarios(self, count: int, protocol: str | None = None) -> list[Scenario]:
        """Some scenarios, of one protocol or of all."""
        protocols = [protocol] if protocol else list(self.data.protocols)
        return [self.scenario(self.random.choice(protocols)) for _ in range(count)]

    def scenario(self, protocol: str) -> Scenario:
        """One scenario inside the dataset's domain, or beyond it."""
        pick, link = self.random, self.data.interconnect
        options = self.options(protocol)
        rows = self.rows(protocol, options)
        known = sorted({p.payload_bytes for p in rows if p.payload_bytes})
        payload = self.payload(protocol, known or [1, 1000])
        shared = any(p.metric == "goodput_bps" for p in rows)
        endpoints = pick.choice((1, 1, 2, 3, 5)) if shared else 1
        distance = None not in (link.cable_length_m, link.propagation_s_per_m)
        return Scenario(
            protocol=protocol,
            payload_bytes=payload,
            rate_fps=pick.choice(
                (None, self.load(rows) / payload / 8, self.load(rows) / payload / 8)
            ),
            cores=self.cores(sorted({p.cores for p in rows if p.cores})),
            switches=self.switches(rows),
            endpoints=endpoints,
            other_goodput_bps=0.0 if endpoints == 1 else pick.choice((0.0, self.load(rows))),
            distance_m=pick.choice((None, 0.0, 30.0)) if distance else None,
            options=Options(options),
        )

    def rows(self, protocol: str, options: tuple[tuple[str, str], ...]) -> list[Point]:
        """The goodput of one stream alone at some options; other rows where there is none."""
        if (protocol, options) not in self._known:
            rows = self.data.select(protocol, dict(options))
            alone = [p for p in rows if p.endpoints in (None, 1)]
            goodput = [p for p in alone if p.metric == "goodput_bps"]
            self._known[protocol, options] = goodput or alone
        return self._known[protocol, options]

    def payload(self, protocol: str, known: list[int]) -> int:
        """A payload on, beside or between benchmarked ones, or beyond them."""
        if self.beyond and self.random.random() < 0.6:
            most = GREATEST.get(protocol, 1 << 20)
            return round(math.exp(self.random.uniform(0, math.log(most))))
        first, last = known[0], known[-1]
        if self.random.random() < 0.4:
            near = self.random.choice(known) + self.random.choice((-1, 0, 0, 1))
            return min(max(near, first), last)
        return round(math.exp(self.random.uniform(math.log(first), math.log(last))))

    def switches(self, rows: Sequence[Point]) -> int:
        """A count with rows, or more where there is a rule for more."""
        least = min(p.switches or 0 for p in rows)
        rule = self.data.interconnect.switch_latency_s is not None
        return least + self.random.choice((0, 0, 1, 2)) if rule else least

    def cores(self, counts: list[int]) -> int | None:
        """A measured count, the default, or one beyond."""
        if not counts or self.random.random() < 0.3:
            return None
        return self.random.choice([*counts, 3, 7] if self.beyond else counts)

    def load(self, rows: Sequence[Point]) -> float:
        """A goodput on, beside or far from benchmarked loads and reached goodputs [b/s]."""
        known = [p.load_bps for p in rows if p.load_bps is not None and math.isfinite(p.load_bps)]
        known += [p.load_bps for p in self.data.points if p.load_bps and math.isfinite(p.load_bps)]
        known += [p.value for p in rows if p.metric == "goodput_bps"] or [1e6]
        if self.random.random() < 0.6:
            return self.random.choice(known) * self.random.choice((1.0, 1.0, 0.999, 1.002))
        top = self.data.interconnect.line_rate_bps or 1e9
        return top * math.exp(self.random.uniform(math.log(1e-4), math.log(1.5)))

    def options(self, protocol: str) -> tuple[tuple[str, str], ...]:
        """The defaults, or what some row of the protocol has."""
        point = self.random.choice([p for p in self.data.points if p.protocol == protocol])
        named = zip(self.data.option_axes, point.options, strict=True)
        found = tuple((axis, value) for axis, value in named if value)
        if self.rows(protocol, ()) and self.random.random() < 0.6:
            return ()
        return found if self.rows(protocol, found) else self.options(protocol)
