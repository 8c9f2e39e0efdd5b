"""Random questions for a dataset, drawn as columns: where answers change, beside it and beyond it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.model.domain import ProtocolDomain, protocol_domain
from icmodel.tables.wire import wire

Floats = NDArray[np.float64]

BESIDE = (1.0, 1.0, 1 - 1e-12, 1 + 1e-12, 1 - 1e-6, 1 + 1e-6, 0.97, 1.03)
"""What a load in the data is multiplied by: itself, within rounding of it, and near it."""
GREATEST_PAYLOAD_BYTES = 1 << 22
"""Beyond every payload in the bundled datasets."""
UNSAID = {"cores": np.nan, "distance_m": np.nan}
"""Numbers that stand for a parameter left out."""


@dataclass(frozen=True)
class Batch:
    """Questions about one protocol at one choice of options, one column a parameter, in SI.

    An infinite requested goodput is none; NaN cores or distance are not said.  ``hosts`` are a
    line rate [b/s] or a clock ratio other than the dataset's; ``metrics`` are all, or some.
    """

    protocol: str
    options: Mapping[str, str]
    columns: Mapping[str, Floats]
    hosts: Mapping[str, float]
    outside: str
    metrics: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.columns["payload_bytes"])

    def changed(self, **columns: Floats) -> Batch:
        """The same questions with some columns replaced."""
        return replace(self, columns={**self.columns, **columns})

    def keywords(self) -> dict[str, Any]:
        """What ``predict_many`` is asked."""
        return {
            "protocol": self.protocol,
            **self.columns,
            **self.hosts,
            **self.options,
            "outside": self.outside,
            "metrics": self.metrics,
        }

    def question(self, index: int) -> dict[str, Any]:
        """One of the questions, as keywords of ``predict`` (``outside`` apart)."""
        said: dict[str, Any] = {"protocol": self.protocol}
        for name, column in self.columns.items():
            value = float(column[index])
            if name == "requested_goodput_bps":
                if math.isfinite(value):
                    said[name] = value
            elif name in UNSAID:
                if not math.isnan(value):
                    said[name] = int(value) if name == "cores" else value
            else:
                said[name] = value if name == "other_goodput_bps" else int(value)
        return {**said, **self.hosts, **self.options}


def batches(data: Dataset, seed: int, size: int, *, hosts: bool = False) -> Iterator[Batch]:
    """Batches without end; the k-th is the same whatever was drawn before it.

    With ``hosts`` some are about another line rate or clock.
    """
    number = 0
    while True:
        yield batch(data, stream(seed, number), size, hosts=hosts)
        number += 1


def stream(*seed: int) -> np.random.Generator:
    """The random numbers of a seed."""
    return np.random.default_rng(seed)


def batch(data: Dataset, rng: np.random.Generator, size: int, *, hosts: bool = False) -> Batch:
    """Questions which no dataset of these rows and rules may call impossible."""
    protocol = data.protocols[rng.integers(len(data.protocols))]
    options = _options(data, protocol, rng)
    rules = protocol_domain(protocol, data.select(protocol, options), data.link(options))
    rows = [point for point in data.points if point.protocol == protocol]
    outside = ("nan", "extrapolate")[rng.integers(2)]
    endpoints, others = _sharing(rows, rules, size, rng)
    columns = {
        "payload_bytes": _payloads(data, protocol, options, size, rng),
        "requested_goodput_bps": _loads(data, rows, size, rng),
        "cores": _cores(rules, size, rng, beyond=outside == "extrapolate"),
        "switches": _switches(rules, size, rng),
        "endpoints": endpoints,
        "other_goodput_bps": others,
        "distance_m": _distances(rules, size, rng),
    }
    return Batch(protocol, options, columns, _hosts(data, rng) if hosts else {}, outside)


def _options(data: Dataset, protocol: str, rng: np.random.Generator) -> dict[str, str]:
    """Some of what a row of the protocol says; mostly at the dataset's defaults, or nothing."""
    rows = [point for point in data.points if point.protocol == protocol]
    if rng.random() < 0.4 and (ordinary := data.select(protocol, {})):
        rows = list(ordinary)
    row = rows[rng.integers(len(rows))]
    said = zip(data.option_axes, row.options, strict=True)
    return {axis: value for axis, value in said if value and rng.random() < 0.5}


def _payloads(
    data: Dataset,
    protocol: str,
    options: Mapping[str, str],
    size: int,
    rng: np.random.Generator,
) -> Floats:
    """On benchmarked payloads, a byte beside them, between and beyond them."""
    points = [point for point in data.points if point.protocol == protocol]
    known = np.array(sorted({p.payload_bytes for p in points if p.payload_bytes}) or [1, 1000])
    most = wire(data, protocol, options).greatest_payload_bytes() or GREATEST_PAYLOAD_BYTES
    near = rng.choice(known, size) + rng.choice((-1, 0, 0, 0, 1), size)
    between = np.exp(rng.uniform(np.log(known[0]), np.log(known[-1]), size))
    beyond = np.exp(rng.uniform(0.0, math.log(most), size))
    kind = rng.random(size)
    drawn = np.where(kind < 0.45, near, np.where(kind < 0.85, np.rint(between), np.rint(beyond)))
    return np.asarray(np.clip(drawn, 1, most), dtype=np.float64)


def _loads(data: Dataset, rows: list[Point], size: int, rng: np.random.Generator) -> Floats:
    """At benchmarked loads and reached goodputs, beside, between and beyond them, or unlimited."""
    said = {p.load_bps for p in rows if p.load_bps and math.isfinite(p.load_bps)}
    reached = {p.value for p in rows if p.metric in ("goodput_bps", "sent_bps") and p.value > 0}
    top = data.interconnect.line_rate_bps or max(reached, default=1e9)
    known = np.array(sorted(said | reached | {top}))
    at = rng.choice(known, size) * rng.choice(BESIDE, size)
    anywhere = np.exp(rng.uniform(math.log(1e3), math.log(4 * top), size))
    kind = rng.random(size)
    return np.where(kind < 0.2, np.inf, np.where(kind < 0.6, at, anywhere))


def _cores(rules: ProtocolDomain, size: int, rng: np.random.Generator, *, beyond: bool) -> Floats:
    """Measured counts, mostly; not said; beyond them."""
    if not rules.cores:
        return np.full(size, np.nan)
    asked = rng.choice(np.array([*rules.cores, *rules.cores, np.nan]), size)
    if beyond:
        more = rng.integers(1, 2 * max(rules.cores) + 1, size)
        asked = np.where(rng.random(size) < 0.3, more, asked)
    return np.asarray(asked, dtype=np.float64)


def _switches(rules: ProtocolDomain, size: int, rng: np.random.Generator) -> Floats:
    least, most = rules.least_switches, min(rules.most_switches, rules.least_switches + 5)
    drawn = rng.integers(least, int(most) + 1, size)
    return np.where(rng.random(size) < 0.6, least, drawn).astype(np.float64)


def _sharing(
    rows: list[Point], rules: ProtocolDomain, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Counts of senders to an interface, and what the others offer in all [b/s]."""
    if not rules.sharing:
        return np.ones(size), np.zeros(size)
    reached = max((p.value for p in rows if p.metric == "goodput_bps"), default=1e9)
    many = np.where(rng.random(size) < 0.1, 1000, 8)
    endpoints = np.where(rng.random(size) < 0.5, 1, rng.integers(2, many + 1, size))
    kind = rng.random(size)
    little = np.exp(rng.uniform(math.log(1e3), math.log(reached), size))
    others = np.where(
        kind < 0.2, 0.0, np.where(kind < 0.4, little, rng.uniform(0, 3, size) * reached)
    )
    return endpoints.astype(np.float64), np.where(endpoints > 1, others, 0.0)


def _distances(rules: ProtocolDomain, size: int, rng: np.random.Generator) -> Floats:
    if not rules.distance:
        return np.full(size, np.nan)
    said = rng.choice((0.0, 1.0, 100.0, 10_000.0), size)
    return np.where(rng.random(size) < 0.6, np.nan, said)


def _hosts(data: Dataset, rng: np.random.Generator) -> dict[str, float]:
    """Other hosts in a part of the batches; of few kinds, since each has tables of its own."""
    kind, rate = rng.integers(6), data.interconnect.line_rate_bps
    if kind == 0:
        return {"cpu_clock_ratio": (0.5, 2.0)[rng.integers(2)]}
    if kind == 1 and rate is not None:
        return {"line_rate_bps": rate * (0.1, 10.0)[rng.integers(2)]}
    return {}


def wild(data: Dataset, rng: np.random.Generator) -> dict[str, Any]:
    """One question of any kind, as keywords of ``predict``: much of it no dataset can answer."""
    question = batch(data, rng, 1).question(0)
    if data.option_axes and rng.random() < 0.5:
        axis = data.option_axes[rng.integers(len(data.option_axes))]
        values = data.option_values(axis)
        question[axis] = values[rng.integers(len(values))]
    for name, choices in {
        "switches": (0, 1, 7),
        "cores": (1, 2, 3, 64),
        "endpoints": (1, 2, 50),
        "distance_m": (0.0, 1e4),
        "payload_bytes": (1, 1500, 65507, 65508, 1 << 24),
        "line_rate_bps": (1e9,),
    }.items():
        if rng.random() < 0.15:
            question[name] = choices[rng.integers(len(choices))]
    if question["endpoints"] == 1:
        question["other_goodput_bps"] = 0.0
    return question
