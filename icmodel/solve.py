"""Solve for the least rate, payload or core count at which a scenario achieves a goodput.

A goodput counts as achieved if the low of the predicted interval is at least that goodput.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from icmodel.errors import DatasetError, OutOfDomain, ScenarioError
from icmodel.estimate import Estimate
from icmodel.model import Model
from icmodel.requirement import MET, UNDECIDED, Requirement, judge
from icmodel.scenario import Scenario

REFUSALS = (OutOfDomain, ScenarioError, DatasetError)
"""Errors that a model raises for a scenario that its dataset cannot predict."""
AT_ONCE = 1 << 17
"""Greatest number of payloads that are predicted together; a longer range is searched on a coarse grid, then refined."""
Goodput = Callable[[float | None], Estimate | None]
"""Type of a function that predicts the goodput [b/s] at a rate [1/s].

A rate of ``None`` is unlimited; a result of ``None`` is unknown.
"""


def least_rate(model: Model, scenario: Scenario, goodput_bps: float) -> int | None:
    """Find the least rate at which a scenario achieves a goodput, as a whole number of frames per second.

    Parameters
    ----------
    model : Model
        Model that predicts.
    scenario : Scenario
        Scenario to solve; its rate is ignored.
    goodput_bps : float
        Required goodput [b/s].

    Returns
    -------
    int or None
        Rate [frames/s]; ``None`` if no rate achieves the goodput.

    Examples
    --------
    >>> from icmodel import Model, Scenario
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> least_rate(model, Scenario("tcp", payload_bytes=65535), goodput_bps=3.5e9)
    6676
    """
    return least_met_fps(goodput_trial(scenario, goodput_bps, model))


def least_payload(model: Model, scenario: Scenario, goodput_bps: float) -> int | None:
    """Find the least payload with which a scenario achieves a goodput at unlimited rate.

    Parameters
    ----------
    model : Model
        Model that predicts.
    scenario : Scenario
        Scenario to solve; its payload and rate are ignored.
    goodput_bps : float
        Required goodput [b/s].

    Returns
    -------
    int or None
        Payload [B]; ``None`` if no payload in the measured range achieves the goodput.

    Examples
    --------
    >>> from icmodel import Model, Scenario
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> least_payload(model, Scenario("tcp", payload_bytes=1448), goodput_bps=5e9)
    147
    """
    sizes = [p.payload_bytes for p in model.data.points if p.protocol == scenario.protocol]
    known = [size for size in sizes if size is not None]
    if not known:
        return None
    # The distance does not change the goodput, and the dataset may have no rule for the distance.
    free = ("rate_fps", "requested_goodput_bps", "distance_m")
    keywords: dict[str, Any] = {**scenario.to_dict(), **dict.fromkeys(free)}
    least, most = min(known), max(known)
    while True:
        if most - least < AT_ONCE:
            payloads = np.arange(least, most + 1)
        else:
            payloads = np.unique(np.geomspace(least, most, AT_ONCE).astype(np.int64))
        keywords["payload_bytes"] = payloads
        predicted = model.predict_arrays(outside="nan", metrics=("goodput_bps",), **keywords)
        met = np.flatnonzero(predicted["goodput_bps_low"] >= goodput_bps)
        if not len(met):
            return None
        first = int(met[0])
        found, before = int(payloads[first]), int(payloads[max(first - 1, 0)])
        if found - before <= 1:
            return found
        least, most = before + 1, found


def least_cores(model: Model, scenario: Scenario, goodput_bps: float) -> int | None:
    """Find the least measured core count at which a scenario achieves a goodput at unlimited rate.

    Parameters
    ----------
    model : Model
        Model that predicts.
    scenario : Scenario
        Scenario to solve; its core count and rate are ignored.
    goodput_bps : float
        Required goodput [b/s].

    Returns
    -------
    int or None
        Core count; ``None`` if no measured core count achieves the goodput.

    Examples
    --------
    >>> from icmodel import Model, Scenario
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> least_cores(model, Scenario("udp", payload_bytes=1472), goodput_bps=1e9)
    1
    """
    counts = {p.cores for p in model.data.points if p.protocol == scenario.protocol and p.cores}
    for cores in sorted(counts):
        found = goodput_by_rate(replace(scenario, cores=cores), model)(None)
        if found is not None and not found.absent and found.low >= goodput_bps:
            return cores
    return None


SOLVERS: Mapping[str, Callable[[Model, Scenario, float], int | None]] = MappingProxyType(
    {"rate": least_rate, "payload": least_payload, "cores": least_cores}
)
"""Functions that solve a scenario, by the parameter that they solve for."""


def solved(
    model: Model, scenario: Scenario, parameter: str, value: int, goodput_bps: float
) -> Scenario:
    """Copy a scenario with the solution ``value`` of a parameter, so that the copy achieves the goodput [b/s].

    The parameter is ``rate``, ``payload`` or ``cores``. A payload or core count is solved at unlimited rate; the copy
    then has the least whole rate that achieves the goodput, or an unlimited rate if only this achieves it.
    """
    if parameter == "rate":
        return replace(scenario, rate_fps=float(value))
    if parameter == "payload":
        with_it = replace(scenario, payload_bytes=value)
    else:
        with_it = replace(scenario, cores=value)
    rate = least_rate(model, with_it, goodput_bps)
    return replace(with_it, rate_fps=None if rate is None else float(rate))


# --- search over rates ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """Inputs of a search for the least rate that meets a requirement on goodput.

    ``goodput`` is the function from a frame rate [1/s], or ``None`` for unlimited, to the predicted goodput.
    """

    requirement: Requirement
    payload_bytes: int
    goodput: Goodput

    def outcome(self, rate_fps: float | None) -> str:
        """Outcome of the requirement at a rate: met, not met, or *undecided*, for example if the goodput is unknown."""
        found = self.goodput(rate_fps)
        return UNDECIDED if found is None else judge(self.requirement, found).outcome

    @property
    def least_fps(self) -> int:
        """Least whole number of frames per second at which the requested goodput meets the requirement."""
        return least_rate_fps(self.requirement.limit, self.payload_bytes)

    @property
    def greatest_fps(self) -> int:
        """Greatest whole number of frames per second within the stream's capacity; 0 if the capacity is not known."""
        found = self.goodput(None)
        if found is None or found.absent:
            return 0
        return int(found.value / (8 * self.payload_bytes))


def goodput_trial(scenario: Scenario, goodput_bps: float, model: Model) -> Trial:
    """Make the inputs of a search for the rate at which a scenario achieves a required goodput [b/s]."""
    wanted = Requirement("carried", "goodput_bps", at_least=goodput_bps)
    return Trial(wanted, scenario.payload_bytes, goodput_by_rate(scenario, model))


def goodput_by_rate(scenario: Scenario, model: Model) -> Goodput:
    """Make the function that predicts the goodput of a scenario at any rate."""

    def goodput(rate_fps: float | None) -> Estimate | None:
        try:
            return model.predict(replace(scenario, rate_fps=rate_fps)).metrics.get("goodput_bps")
        except REFUSALS:
            return None

    return goodput


def least_rate_fps(goodput_bps: float, payload_bytes: int) -> int:
    """Least whole frame rate [1/s] with ``rate * payload_bytes * 8 >= goodput_bps``.

    >>> least_rate_fps(8e6, payload_bytes=1000)
    1000
    """
    return math.ceil(Fraction(repr(goodput_bps)) / (payload_bytes * 8))


def least_met_fps(trial: Trial) -> int | None:
    """Find the least whole rate [1/s] that meets the required goodput; ``None`` if no tried rate does.

    The search begins at ``least_fps``, the rate whose request equals the required goodput.  A greater rate may be
    needed, since the low end of the goodput's interval can lie below the request.  Rates are tried in doubling steps up
    to the capacity, until one meets the requirement.  The last step is then bisected, since greater rates also meet it.
    """
    short = trial.least_fps - 1
    for rate in _doubling_rates(trial.least_fps, trial.greatest_fps):
        if trial.outcome(rate) == MET:
            met = rate
            while met - short > 1:
                middle = (short + met) // 2
                if trial.outcome(middle) == MET:
                    met = middle
                else:
                    short = middle
            return met
        short = rate
    return None


def _doubling_rates(least: int, greatest: int) -> Iterator[int]:
    """Yield the rates to try: ``least``, ``least`` + 1, + 2, + 4, + 8 and so on, and at last ``greatest``."""
    yield least
    step = 1
    while least + step < greatest:
        yield least + step
        step *= 2
    if least < greatest:
        yield greatest
