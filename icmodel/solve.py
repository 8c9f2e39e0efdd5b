"""Solving for the least rate, payload or core count at which a scenario achieves a goodput.

A goodput counts as achieved if the lower end of its interval is at least that goodput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from icmodel.arrays import Ints
from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement, judge
from icmodel.scenario import Scenario

REFUSALS = (OutOfDomain, ScenarioError, DatasetError)
"""Errors of a model for a question that its dataset cannot answer."""
AT_ONCE = 1 << 17
"""Most payloads predicted at once; a longer range is searched on a coarse grid, then refined."""
Goodput = Callable[[float | None], Estimate | None]
"""The goodput [b/s] at a rate [1/s], ``None`` for an unlimited one; none if it is not known."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A required goodput, the payload of the frames, and the model's goodput by rate."""

    requirement: Requirement
    payload_bytes: int
    goodput: Goodput

    def outcome(self, rate_fps: float | None) -> str:
        """The verdict at a rate; *undecided* if the goodput is not known."""
        found = self.goodput(rate_fps)
        return UNDECIDED if found is None else judge(self.requirement, found).outcome

    @property
    def least_fps(self) -> int:
        """The least whole rate [1/s] whose requested goodput meets the requirement."""
        return least_rate_fps(self.requirement.limit, self.payload_bytes)

    @property
    def greatest_fps(self) -> int:
        """The greatest whole rate [1/s] within capacity; 0 if the capacity is not known."""
        found = self.goodput(None)
        if found is None or found.absent:
            return 0
        return int(found.value / (8 * self.payload_bytes))


def least_rate_fps(goodput_bps: float, payload_bytes: int) -> int:
    """The least whole number of frames per second whose payload makes up a goodput [b/s]."""
    return math.ceil(Fraction(repr(goodput_bps)) / (payload_bytes * 8))


def carried(asked: Scenario, goodput_bps: float, model: Model) -> Trial:
    """The trial of a goodput [b/s] for a scenario whose rate is free."""
    wanted = Requirement("carried", "goodput_bps", at_least=goodput_bps)
    return Trial(wanted, asked.payload_bytes, asking(asked, model))


def least_rate(model: Model, asked: Scenario, goodput_bps: float) -> int | None:
    """The least whole rate [1/s] at which a scenario achieves a goodput [b/s]; none if no rate does."""
    return least_met_fps(carried(asked, goodput_bps, model))


def least_payload(model: Model, asked: Scenario, goodput_bps: float) -> int | None:
    """The least payload [B] that achieves a goodput [b/s] at unlimited rate; none if none does."""
    sizes = [p.payload_bytes for p in model.data.points if p.protocol == asked.protocol]
    known = [size for size in sizes if size is not None]
    if not known:
        return None
    least, most = min(known), max(known)
    while True:
        if most - least < AT_ONCE:
            payloads = np.arange(least, most + 1)
        else:
            payloads = np.unique(np.geomspace(least, most, AT_ONCE).astype(np.int64))
        met = np.flatnonzero(_carry(model, asked, payloads, goodput_bps))
        if not len(met):
            return None
        first = int(met[0])
        found, before = int(payloads[first]), int(payloads[max(first - 1, 0)])
        if found - before <= 1:
            return found
        least, most = before + 1, found


def _carry(model: Model, asked: Scenario, payloads: Ints, goodput_bps: float) -> np.ndarray:
    """Whether each payload achieves a goodput [b/s] at unlimited rate, shape (n,)."""
    predicted = model.predict_many(
        protocol=asked.protocol,
        payload_bytes=payloads,
        cores=asked.cores,
        switches=asked.switches,
        endpoints=asked.endpoints,
        other_goodput_bps=asked.other_goodput_bps,
        options=dict(asked.options),
        line_rate_bps=asked.line_rate_bps,
        cpu_clock_ratio=asked.cpu_clock_ratio,
        app_send_s=asked.work.send_s,
        app_recv_s=asked.work.recv_s,
        app_send_s_per_byte=asked.work.send_s_per_byte,
        app_recv_s_per_byte=asked.work.recv_s_per_byte,
        outside="nan",
        metrics=("goodput_bps",),
    )
    return np.asarray(predicted["goodput_bps_low"].to_numpy() >= goodput_bps)


def least_cores(model: Model, asked: Scenario, goodput_bps: float) -> int | None:
    """The least measured core count that achieves a goodput [b/s] at unlimited rate; none if none does."""
    counts = {p.cores for p in model.data.points if p.protocol == asked.protocol and p.cores}
    for cores in sorted(counts):
        found = asking(replace(asked, cores=cores), model)(None)
        if found is not None and not found.absent and found.low >= goodput_bps:
            return cores
    return None


SOLVERS: Mapping[str, Callable[[Model, Scenario, float], int | None]] = MappingProxyType(
    {"rate": least_rate, "payload": least_payload, "cores": least_cores}
)
"""Solvers by the parameter that they solve for."""


def solved(asked: Scenario, what: str, value: int, goodput_bps: float) -> Scenario:
    """The scenario with the solution; for payload or cores at the least rate that makes the goodput."""
    if what == "rate":
        return replace(asked, rate_fps=float(value))
    if what == "payload":
        with_it = replace(asked, payload_bytes=value)
    else:
        with_it = replace(asked, cores=value)
    return replace(with_it, rate_fps=float(least_rate_fps(goodput_bps, with_it.payload_bytes)))


def asking(scenario: Scenario, model: Model) -> Goodput:
    """The goodput of a scenario as a function of its rate."""

    def goodput(rate_fps: float | None) -> Estimate | None:
        try:
            return model.predict(replace(scenario, rate_fps=rate_fps)).metrics.get("goodput_bps")
        except REFUSALS:
            return None

    return goodput


def least_met_fps(trial: Trial) -> int | None:
    """The least whole rate [1/s] that meets the requirement; none if no rate tried does.

    It may lie above ``least_fps``, since the lower end of the goodput's interval can lie below the
    request.  Rates are tried in doubling steps up to capacity; then the last step is bisected, since
    a requirement that is met stays met at greater rates.
    """
    short = trial.least_fps - 1
    for rate in _upwards(trial.least_fps, trial.greatest_fps):
        if trial.outcome(rate) == MET:
            return _bisected(trial, short, rate)
        short = rate
    return None


def _upwards(least: int, greatest: int) -> Iterator[int]:
    """The least rate, rates at doubling distances from it, and the greatest."""
    yield least
    step = 1
    while least + step < greatest:
        yield least + step
        step *= 2
    if least < greatest:
        yield greatest


def _bisected(trial: Trial, short: int, met: int) -> int:
    """The least rate that meets the requirement, by bisection between ``short`` and ``met``."""
    while met - short > 1:
        middle = (short + met) // 2
        if trial.outcome(middle) == MET:
            met = middle
        else:
            short = middle
    return met
