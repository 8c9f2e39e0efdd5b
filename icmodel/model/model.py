"""Model(dataset, variant): what a stream gets, answered from benchmarks and theory together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from icmodel import scenario as words
from icmodel.dataset import Dataset, load
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Prediction
from icmodel.interpolation import HIGH, LOW, VALUE
from icmodel.model import present
from icmodel.model.answer import (
    ALWAYS,
    VARIANTS,
    answer,
    metric_names,
    no_metric,
    only_of,
)
from icmodel.model.block import Block, Questions, block, wire_times
from icmodel.model.course import course
from icmodel.model.foundation import foundation, hosts_problem
from icmodel.model.goodput import asked_too_much
from icmodel.model.ground import Ground
from icmodel.model.physics import wire
from icmodel.model.rules import problems
from icmodel.scenario import Asked, AskedMany, Hosts, Scenario

if TYPE_CHECKING:
    import xarray

REFUSE, EXTRAPOLATE, NAN = "refuse", "extrapolate", "nan"
BEYOND = 'or use --extrapolate of predict, compare or sweep (in Python outside="extrapolate")'
"""How an answer beyond the data is had; what else refuses a question has no such option."""


class Model:
    """The interconnect model of IC2012 §7, on any dataset.

    Parameters
    ----------
    data : Dataset or str or path
        From :func:`icmodel.load`, or what that takes: the name of a bundled dataset or a folder.
    variant : "corrected", "appendix-h" or "hybrid", optional
        ``appendix-h`` is the original's pseudo-code to the letter where it can be executed;
        ``corrected`` mends what the background page on errata lists; ``hybrid`` answers as
        ``corrected`` does, from curves fitted to all rows.  Default: the dataset's.
    watch : callable, optional
        Told after each metric that ``hybrid`` fits, with the first question, how many of how many
        are done.

    Raises
    ------
    ScenarioError
        If there is no such variant.
    """

    def __init__(
        self,
        data: Dataset | str | Path,
        variant: str | None = None,
        watch: Callable[[int, int], None] | None = None,
    ) -> None:
        data = data if isinstance(data, Dataset) else load(data)
        chosen = variant or data.default_variant
        if chosen not in VARIANTS:
            raise ScenarioError(
                f"there is no variant {chosen!r}: it is one of {', '.join(VARIANTS)}"
            )
        self.data = data
        self.variant = chosen
        self._foundation = foundation(data, chosen, watch)

    def __repr__(self) -> str:
        return f"Model({self.data.id!r}, variant={self.variant!r})"

    # --- one question -------------------------------------------------------------------------

    def predict(
        self,
        scenario: Scenario | None = None,
        *,
        outside: str = REFUSE,
        metrics: tuple[str, ...] | list[str] | None = None,
        **question: Unpack[Asked],
    ) -> Prediction:
        """Predict every metric of one scenario.

        Parameters
        ----------
        scenario : Scenario, optional
            Or its parameters as keywords, in either spelling: ``payload="65535 B"`` or
            ``payload_bytes=65535``.
        outside : "refuse" or "extrapolate"
            Beyond the benchmarked payloads and cores: refuse, or answer marked ``extrapolated``.
        metrics : sequence of str, optional
            Only these beside those of every prediction (goodput, loss, mean latency and CPU), so
            that ``hybrid`` fits no others; all of the dataset by default.

        Raises
        ------
        UnitError, ScenarioError
            If the question could not be asked of any dataset.
        OutOfDomain
            If this dataset cannot answer it, or has none of a metric asked for.
        """
        asked = words.scenario(**question) if scenario is None else scenario
        if outside not in (REFUSE, EXTRAPOLATE):
            raise ScenarioError(f"outside={outside!r} is not one of {REFUSE}, {EXTRAPOLATE}")
        for metric in metrics or ():
            if metric not in (*ALWAYS, "bottleneck", *self.data.metrics):
                raise OutOfDomain(no_metric(self.data, metric))
        asked = self._complete(asked)
        extend = outside == EXTRAPOLATE
        base = self._foundation.changed(asked.hosts)
        only = only_of(self.data, metrics)
        ground = base.ground(asked.options, (asked.protocol,), extend=extend, only=only)
        self._check_parameters(asked, ground, extend=extend)
        limited = math.isfinite(asked.requested_goodput_bps)
        return self._predict(asked, ground, base.overloaded(ground) if limited else None)

    def _predict(self, asked: Scenario, ground: Ground, overloaded: Ground | None) -> Prediction:
        here = self._block(asked, ground)
        parts = (VALUE, LOW, HIGH)
        with np.errstate(invalid="ignore", divide="ignore"):
            way = course(ground, here, self.variant, parts)
            if overloaded and asked_too_much(overloaded, here, way.flows[VALUE])[0]:
                ground, way = overloaded, course(overloaded, here, self.variant, parts)
            wanted = frozenset(metric_names(ground))
            ends = [answer(ground, here, self.variant, way, part, wanted) for part in parts]
            return present.prediction(asked, ground, self.variant, here, way, ends)

    def _complete(self, asked: Scenario) -> Scenario:
        """The scenario with the dataset's default core count filled in."""
        if asked.protocol not in self.data.protocols:
            raise OutOfDomain(
                f"{self.data.id} has no protocol {asked.protocol!r}: it has "
                f"{', '.join(self.data.protocols)}"
            )
        counts = self._foundation.rules_of(asked.protocol, asked.options).cores
        if asked.cores is None and counts:
            return replace(asked, cores=max(counts))
        return asked

    def _check_parameters(self, asked: Scenario, ground: Ground, *, extend: bool) -> None:
        for problem in self._problems(asked).values():
            raise OutOfDomain(problem)
        limit = ground.wires[0].greatest_payload_bytes()
        if limit is not None and asked.payload_bytes > limit:
            raise OutOfDomain(
                f"payload {asked.payload_bytes} B is impossible for {asked.protocol}: its limit is "
                f"{limit} B; split the frame"
            )
        counts = self._foundation.rules_of(asked.protocol, asked.options).cores
        if asked.cores is not None and counts and asked.cores not in counts and not extend:
            raise OutOfDomain(
                f"{asked.cores} cores are outside {self.data.id}: goodput of {asked.protocol} was "
                f"measured with {_listed(counts)}; ask one of these, {BEYOND}"
            )
        first, last = present.goodput_domain(ground, self._block(asked, ground))
        if not extend and first <= last and not first <= asked.payload_bytes <= last:
            raise OutOfDomain(
                f"payload {asked.payload_bytes} B is outside {self.data.id}: {asked.protocol} was "
                f"measured from {first:.0f} to {last:.0f} B; ask within, {BEYOND}"
            )

    def _problems(self, asked: Scenario) -> dict[str, str]:
        rules = self._foundation.rules_of(asked.protocol, asked.options)
        found = problems(self.data, rules, asked)
        for name in ("line_rate_bps", "cpu_clock_ratio"):
            hosts = replace(Hosts(), **{name: getattr(asked, name)})
            if problem := hosts_problem(self.data, self.variant, hosts):
                found[name] = problem
        return found

    def fit_question(self, scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
        """The scenario without what this dataset has no axis or rule for, and a note on each."""
        known = tuple(pair for pair in scenario.options if pair[0] in self.data.option_axes)
        asked = replace(scenario, options=known)
        problems = self._problems(asked)
        least_switches = self._foundation.rules_of(asked.protocol, asked.options).least_switches
        blank: dict[str, object] = {"distance_m": None, "cores": None, "endpoints": 1}
        blank |= {"line_rate_bps": None, "cpu_clock_ratio": 1.0}
        blank["switches"] = least_switches
        changed = {name: blank[name] for name in problems}
        if "endpoints" in changed:
            changed["other_goodput_bps"] = 0.0
        unknown = [
            f"{self.data.id} has no axis {axis}: {axis} = {value} was left out"
            for axis, value in scenario.options
            if (axis, value) not in known
        ]
        return replace(asked, **changed), (*problems.values(), *unknown)  # type: ignore[arg-type]

    # --- theory -------------------------------------------------------------------------------

    def least_latency_s(self, scenario: Scenario) -> float | None:
        """Theory's minimum one-way latency [s]; ``None`` where the link's rate is not known."""
        data = self._foundation.changed(scenario.hosts).data
        link = data.link(dict(scenario.options))
        if link.line_rate_bps is None:
            return None
        payload = np.array([float(scenario.payload_bytes)])
        path = wire(data, scenario.protocol, dict(scenario.options))
        bits = float(path.lone_frame_s(payload)[0])
        distance = link.cable_length_m if scenario.distance_m is None else scenario.distance_m
        switches = scenario.switches * (link.switch_latency_s or 0.0)
        return bits + (distance or 0.0) * (link.propagation_s_per_m or 0.0) + switches

    def greatest_goodput_bps(self, scenario: Scenario) -> float | None:
        """Theory's bound on the goodput [b/s]; ``None`` where the link's rate is not known."""
        data = self._foundation.changed(scenario.hosts).data
        path = wire(data, scenario.protocol, dict(scenario.options))
        payload = np.array([float(scenario.payload_bytes)])
        bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
        return bound if math.isfinite(bound) else None

    # --- many questions -----------------------------------------------------------------------

    def predict_many(
        self,
        *,
        outside: str = REFUSE,
        metrics: tuple[str, ...] | list[str] | None = None,
        intervals: bool = True,
        threads: int | None = None,
        **question: Unpack[AskedMany],
    ) -> xarray.Dataset:
        """Predict whole arrays of scenarios at once.

        Parameters broadcast as numpy arrays do, labelled ones (xarray) by dimension; ``protocol``
        and options are one text, or codes into :attr:`Dataset.protocols`. Options stand in
        ``options={"nagle": "on"}``, or are keywords of their own.

        Parameters
        ----------
        outside : "refuse", "nan" or "extrapolate"
            What a question outside the dataset gets: an error naming the first and the count, NaN,
            or an answer marked ``extrapolated``.
        metrics : sequence of str, optional
            Only these.
        intervals : bool
            With ``<metric>_low``, ``<metric>_high`` and ``<metric>_basis``.
        threads : int, optional
            Worker threads; as many as the machine has by default.

        Returns
        -------
        xarray.Dataset
            A variable a metric, and ``bottleneck``.
        """
        from icmodel.model.many import Wishes, predict_many  # xarray only where it is used

        wishes = Wishes(outside, None if metrics is None else tuple(metrics), intervals, threads)
        asked = words.with_options(question)
        return predict_many(self._foundation, asked, wishes, self._refusal(outside))

    def _refusal(self, outside: str) -> Callable[[Mapping[str, object]], str]:
        """What tells why :meth:`predict` refuses a question."""
        alone = EXTRAPOLATE if outside == EXTRAPOLATE else REFUSE

        def reason(question: Mapping[str, object]) -> str:
            try:
                self.predict(words.scenario(**question), outside=alone)
            except OutOfDomain as refused:
                return str(refused)
            return "this dataset has no goodput there"

        return reason

    def _block(self, asked: Scenario, ground: Ground) -> Block:
        """One question as a block of length 1."""
        cores = asked.cores or 0
        nearest = self._foundation.rules_of(asked.protocol, asked.options).answering_cores(cores)
        cable = ground.link.cable_length_m
        extra = 0.0 if asked.distance_m is None or cable is None else asked.distance_m - cable
        payload = np.array([float(asked.payload_bytes)])
        protocol = np.array([ground.protocols.index(asked.protocol)])
        questions = Questions(
            protocol=protocol,
            payload_bytes=payload,
            request_bps=np.array([asked.requested_goodput_bps]),
            cores=np.array([ground.cores.index(nearest) if nearest in ground.cores else 0]),
            cores_count=np.array([float(cores)]),
            switches=np.array([asked.switches]),
            endpoints=np.array([float(asked.endpoints)]),
            others_bps=np.array([float(asked.other_goodput_bps)]),
            extra_distance_m=np.array([extra]),
        )
        return block(ground, questions, wire_times(ground, protocol, payload))


def _listed(counts: tuple[int, ...]) -> str:
    return ", ".join(str(count) for count in counts)
