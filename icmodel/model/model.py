"""Model(dataset, variant): predicts a stream from benchmarks and theory together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from icmodel import scenario as words
from icmodel.dataset import Dataset, check_variant, load
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate, Prediction
from icmodel.fits.constants import SHIPPED, Constants
from icmodel.laws.host_time import host_times
from icmodel.laws.law import Fitting
from icmodel.laws.metrics import ALWAYS, BOTTLENECK
from icmodel.laws.substitution import Rows
from icmodel.model.answering import Answered, answered, needed, no_metric, too_much
from icmodel.model.cache import Key, TableCache, table_cache
from icmodel.model.domain import columns_of, problems
from icmodel.model.explanation import prediction
from icmodel.scenario import NO_WORK, Asked, AskedMany, Hosts, Scenario
from icmodel.tables.wire import Wire, wire

if TYPE_CHECKING:
    import xarray

REFUSE, EXTRAPOLATE, NAN = "refuse", "extrapolate", "nan"
DELAYS = ("distance_m", "switches")
"""Parameters on which the latency alone depends; `Model.fit_question` leaves out what the dataset does not know."""
BEYOND = 'or use --extrapolate of predict, compare or sweep (in Python outside="extrapolate")'
"""Ending of messages that refuse a question beyond the data; questions refused for other reasons have no such
option."""


class Model:
    """The interconnect model of IC2012 §7, on any dataset.

    Parameters
    ----------
    data : Dataset or str or path
        From :func:`icmodel.load`, or what that takes: the name of a bundled dataset or a folder.
    variant : "corrected", "appendix-h" or "hybrid", optional
        ``appendix-h`` follows the original's pseudo-code to the letter where it can be executed;
        ``corrected`` corrects what the background page on errata lists; ``hybrid`` answers as
        ``corrected`` does, from curves fitted to all rows.  Default: the dataset's.
    watch : callable, optional
        Called with the first question after each metric that ``hybrid`` fits, with the counts of finished fits
        and of all.
    cache : bool
        Whether fits of ``hybrid`` are read from the user's cache folder and kept there; those in
        the dataset's folder (`icmodel fit`) are read in any case.
    constants : Constants
        How the candidates of ``hybrid``'s fits are weighted; other values than the shipped ones serve to compare them.

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
        *,
        cache: bool = True,
        constants: Constants = SHIPPED,
    ) -> None:
        data = data if isinstance(data, Dataset) else load(data)
        chosen = variant or data.default_variant
        check_variant(chosen)
        self.data = data
        self.variant = chosen
        self._tables = table_cache(data, chosen, Fitting(watch, cache, constants))

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
            Only these besides those of every prediction (goodput, loss, mean latency and CPU), so
            that ``hybrid`` fits no others; all of the dataset by default.

        Raises
        ------
        UnitError, ScenarioError
            If no dataset could answer the question.
        OutOfDomain
            If this dataset cannot answer it, or does not have a wanted metric.
        """
        asked = words.scenario(**question) if scenario is None else scenario
        if outside not in (REFUSE, EXTRAPOLATE):
            raise ScenarioError(f"outside={outside!r} is not one of {REFUSE}, {EXTRAPOLATE}")
        for metric in metrics or ():
            if metric not in (*ALWAYS, BOTTLENECK, *self.data.metrics):
                raise OutOfDomain(no_metric(self.data, metric))
        asked = self._complete(asked)
        cache = self._tables.changed(asked.hosts, asked.options)
        key = cache.wanted(
            asked.options,
            (asked.protocol,),
            extend=outside == EXTRAPOLATE,
            only=needed(self.data, metrics),
        )
        return prediction(asked, self.variant, self._answer(cache, key, asked))

    def _answer(self, cache: TableCache, key: Key, asked: Scenario) -> Answered:
        """Answer a block of one question."""
        prepared = cache.prepared(key)
        tables = prepared.tables
        placer = cache.placer(key)
        q, _ = placer.place(columns_of(asked, tables.axes.protocols), 1)
        self._check_counts(
            asked,
            int(placer.greatest[0]) if placer.greatest[0] < np.inf else None,
            extend=tables.extend,
        )
        limited = math.isfinite(asked.requested_goodput_bps)
        over = cache.overload(key) if limited else None
        wanted = frozenset((*prepared.named, BOTTLENECK))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = answered(cache.law, prepared, q, wanted, intervals=True)
            if over is not None and cache.law.overload and too_much(cache.law, over, found)[0]:
                wanted = frozenset((*over.named, BOTTLENECK))
                found = answered(cache.law.overload.law, over, q, wanted, intervals=True)
        if found.outside()[0]:
            first, last = found.look.payloads(found.law.goodput)[:, 0]
            if first <= asked.payload_bytes <= last:
                raise OutOfDomain(
                    f"{self.data.id} measured {asked.protocol} at limited rates only, which say no capacity: ask for "
                    "no more than those runs reached, or measure as fast as it goes"
                )
            raise OutOfDomain(
                f"payload {asked.payload_bytes} B is outside {self.data.id}: {asked.protocol} was "
                f"measured from {first:.0f} to {last:.0f} B; ask within, {BEYOND}"
            )
        return found

    def _complete(self, asked: Scenario) -> Scenario:
        """The scenario with the dataset's default core count filled in; refused if a parameter is unknown."""
        self._check_protocol(asked.protocol)
        counts = self._tables.domain(asked.protocol, asked.options).cores
        if asked.cores is None and counts:
            asked = replace(asked, cores=max(counts))
        for problem in self._problems(asked).values():
            raise OutOfDomain(problem)
        return asked

    def _check_protocol(self, protocol: str) -> None:
        if protocol not in self.data.protocols:
            raise OutOfDomain(
                f"{self.data.id} has no protocol {protocol!r}: it has "
                f"{', '.join(self.data.protocols)}"
            )

    def _check_counts(self, asked: Scenario, greatest: int | None, *, extend: bool) -> None:
        """Refuse an impossible payload, and core counts that were not measured."""
        if greatest is not None and asked.payload_bytes > greatest:
            raise OutOfDomain(
                f"payload {asked.payload_bytes} B is impossible for {asked.protocol}: its limit is "
                f"{greatest} B; split the frame"
            )
        counts = self._tables.domain(asked.protocol, asked.options).cores
        if asked.cores is not None and counts and asked.cores not in counts and not extend:
            raise OutOfDomain(
                f"{asked.cores} cores are outside {self.data.id}: goodput of {asked.protocol} was "
                f"measured with {_listed(counts)}; ask one of these, {BEYOND}"
            )

    def _problems(self, asked: Scenario) -> dict[str, str]:
        """Parameters that refuse a scenario, each with its message; those of `DELAYS` last."""
        found: dict[str, str] = {}
        domain = self._tables.domain(asked.protocol, asked.options)
        for name in ("line_rate_bps", "cpu_clock_ratio"):
            hosts = replace(Hosts(), **{name: getattr(asked, name)})
            if problem := self._tables.hosts_problem(hosts, asked.options):
                found[name] = problem
        if asked.work and (problem := self._tables.work_problem()):
            found["work"] = problem
        return found | problems(self.data, domain, asked)

    def fit_question(self, scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
        """The scenario without delays of its path that this dataset does not know, and a note on each.

        This is the rule of every door (``evaluate``, ``system``, ``compare``, ``recommend``, ``sweep``): a
        parameter that :meth:`predict` refuses refuses the stream.  Two may be left out, since only the
        latency depends on them and the caller makes that safe: ``distance_m`` where the dataset states
        no cable, and ``switches`` of which it has neither rows nor a latency.  A system adds their delays
        by itself; an evaluation opens the latency's interval (`icmodel.usecase.judging`).

        Raises
        ------
        OutOfDomain
            As :meth:`predict` does, for a line rate, a CPU clock, the application's work, cores, endpoints or
            an option that the variant or the dataset does not know.
        """
        self._check_protocol(scenario.protocol)
        problems = self._problems(scenario)
        for name, problem in problems.items():
            if name not in DELAYS:
                raise OutOfDomain(problem)
        domain = self._tables.domain(scenario.protocol, scenario.options)
        known = min(max(scenario.switches, domain.least_switches), domain.most_switches)
        blank = {"distance_m": None, "switches": int(known)}
        changed = {name: blank[name] for name in problems}
        return replace(scenario, **changed), tuple(problems.values())  # type: ignore[arg-type]

    def core_counts(self, protocol: str, options: Mapping[str, str]) -> tuple[int, ...]:
        """Core counts at which the goodput of a protocol was measured; empty where the dataset states none.

        Raises
        ------
        OutOfDomain
            If the dataset does not have an option.
        """
        return self._tables.domain(protocol, tuple(sorted(options.items()))).cores

    def rows(self, protocol: str, options: Mapping[str, str]) -> Rows:
        """The rows that answer a protocol at some options, and the reason if they are of other options.

        Raises
        ------
        DatasetError
            If the dataset has no such axis or value.
        """
        return self._tables.law.rows(self.data, protocol, options)

    # --- theory -------------------------------------------------------------------------------

    def least_latency_s(self, scenario: Scenario) -> float | None:
        """Theory's minimum one-way latency [s]; ``None`` where the link's rate is not known."""
        path = self._wire(scenario)
        link = path.link
        if link.line_rate_bps is None:
            return None
        bits = float(path.lone_frame_s(np.array([float(scenario.payload_bytes)]))[0])
        distance = link.cable_length_m if scenario.distance_m is None else scenario.distance_m
        switches = scenario.switches * (link.switch_latency_s or 0.0)
        return bits + (distance or 0.0) * (link.propagation_s_per_m or 0.0) + switches

    def work_problem(self) -> str:
        """Why this variant cannot include the application's own work; empty where it can."""
        return self._tables.work_problem()

    def host_times_s(self, scenario: Scenario) -> tuple[Estimate, Estimate]:
        """Time that a core of the sender and of the receiver itself needs for a frame [s].

        It excludes the application's work. ``derived`` from the cores' utilisation, or ``assumed``.

        Raises
        ------
        OutOfDomain
            If the variant does not support it, or the dataset cannot answer the scenario.
        """
        if problem := self.work_problem():
            raise OutOfDomain(problem)
        asked = self._complete(replace(scenario, work=NO_WORK))
        cache = self._tables.changed(asked.hosts, asked.options)
        found = self._answer(cache, cache.wanted(asked.options, (asked.protocol,)), asked)
        told = host_times(found.look, found.flow)
        sender, receiver = (
            Estimate(value, low, high, "derived" if known else "assumed")
            for (value, low, high), known in zip(
                told.own_s[..., 0].tolist(), told.known[:, 0].tolist(), strict=True
            )
        )
        return sender, receiver

    def greatest_goodput_bps(self, scenario: Scenario) -> float | None:
        """Theory's bound on the goodput [b/s], in any variant; ``None`` where nothing bounds it.

        The wire at the rate that is asked bounds it, and the application's work, since a core handles a frame
        (bottleneck law: P. J. Denning, J. P. Buzen, ACM Computing Surveys 10, 1978).
        """
        path = self._wire(scenario)
        payload = np.array([float(scenario.payload_bytes)])
        work = scenario.work
        busy_s = max(
            work.sending_s(scenario.payload_bytes), work.receiving_s(scenario.payload_bytes)
        )
        by_work = math.inf
        if busy_s and scenario.cores is not None:
            by_work = scenario.cores * 8 * scenario.payload_bytes / busy_s
        bound = min(
            float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0]), by_work
        )
        return bound if math.isfinite(bound) else None

    def _wire(self, scenario: Scenario) -> Wire:
        """The wire of a scenario at the line rate that is asked, which theory knows in any variant."""
        path = wire(self.data, scenario.protocol, dict(scenario.options))
        if scenario.line_rate_bps is None:
            return path
        return Wire(scenario.protocol, replace(path.link, line_rate_bps=scenario.line_rate_bps))

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
        """Predict arrays of scenarios at once.

        Parameters broadcast as numpy arrays do, labelled ones (xarray) by dimension; ``protocol``
        and options are one text, or codes into :attr:`Dataset.protocols`. Options are given in
        ``options={"nagle": "on"}``, or as keywords of their own.

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
            A variable for each metric, and ``bottleneck``.
        """
        from icmodel.model.many import Wanted, predict_many  # imports xarray

        wanted = Wanted(outside, None if metrics is None else tuple(metrics), intervals, threads)
        asked = words.with_options(question)
        return predict_many(self._tables, asked, wanted, self._refusal(outside))

    def _refusal(self, outside: str) -> Callable[[Mapping[str, object]], str]:
        """A function that gives the reason why :meth:`predict` refuses a question."""
        alone = EXTRAPOLATE if outside == EXTRAPOLATE else REFUSE

        def reason(question: Mapping[str, object]) -> str:
            try:
                self.predict(words.scenario(**question), outside=alone)
            except OutOfDomain as refused:
                return str(refused)
            return "this dataset has no goodput there"

        return reason


def _listed(counts: tuple[int, ...]) -> str:
    return ", ".join(str(count) for count in counts)
