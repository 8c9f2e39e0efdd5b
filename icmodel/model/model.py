"""Model: predicts goodput, latency, loss and CPU of a stream from the benchmarks of a dataset and theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from icmodel import scenario as words
from icmodel.dataset import Dataset, check_variant, load
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate, Prediction
from icmodel.fits import SHIPPED, Constants
from icmodel.keywords import advice, checks_keywords, lists_keywords
from icmodel.laws import Fitting, TableRequest
from icmodel.laws.application import host_times
from icmodel.laws.metrics import ALWAYS, BOTTLENECK
from icmodel.laws.substitution import Rows
from icmodel.model.answering import Answered, answered, in_overload, needed, no_metric
from icmodel.model.cache import TableCache, table_cache
from icmodel.model.domain import BEYOND, columns_of, impossible_payload, problems, unmeasured_cores
from icmodel.model.explanation import prediction
from icmodel.scenario import NO_WORK, Hosts, Options, Scenario, ScenarioArrays, ScenarioKeywords
from icmodel.tables.wire import Wire, wire

if TYPE_CHECKING:
    import xarray

    from icmodel.model.many import QuestionTable

REFUSE, EXTRAPOLATE, NAN = "refuse", "extrapolate", "nan"
DELAYS = ("distance_m", "switches")
"""Parameters of a question that affect only the latency.

If the dataset has no rule for one of them, `Model.fit_question` leaves it out.
"""


class Model:
    """Interconnect model on a dataset: predicts goodput, latency, loss and CPU of a stream.

    The model is that of the thesis *High speed local area interconnects* (2012), §7, cited as IC2012.

    Parameters
    ----------
    data : Dataset or str or path
        A dataset, the name of a bundled dataset, or the folder of another dataset.
    variant : "corrected", "appendix-h" or "hybrid", optional
        ``appendix-h`` follows the pseudo-code in IC2012's appendix H to the letter, as far as it can be executed.
        ``corrected`` corrects the errors of IC2012 (errata) that the background page lists.  ``hybrid`` uses the rules
        of ``corrected`` on curves fitted to all rows.  The default is the dataset's default variant.
    watch : callable, optional
        Progress callback for the fits of ``hybrid``.  It receives the number of finished fits and the number of
        all fits.
    cache : bool
        Whether fits of ``hybrid`` are read from the user's cache folder and written to it.  Fits in the dataset's
        folder (`icmodel fit`) are always read.
    constants : Constants
        Constants of the fits of ``hybrid``.  Change them only to compare with the shipped values.

    Raises
    ------
    ScenarioError
        If ``variant`` is not a variant of the model.

    Examples
    --------
    >>> from icmodel import Model
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> answer = model.predict(protocol="tcp", payload="1448 B", rate="6700/s")
    >>> print(f"{answer.goodput_bps.value / 1e6:.1f} Mb/s, limited by the {answer.bottleneck}")
    77.6 Mb/s, limited by the request
    """

    @checks_keywords
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
        self._cache, self._constants = cache, constants
        self._tables = table_cache(data, chosen, Fitting(watch, cache, constants))

    def __repr__(self) -> str:
        return f"Model({self.data.id!r}, variant={self.variant!r})"

    def _repr_html_(self) -> str:
        """Return the variant and the facts of the dataset as a table for a notebook."""
        return self.data.html_facts(f"model {self.variant} on {self.data.id}: {self.data.title}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self._settings == other._settings

    def __hash__(self) -> int:
        return hash((self.data, self.variant))

    @property
    def _settings(self) -> tuple[object, ...]:
        return self.data, self.variant, self._cache, self._constants

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the dataset and the settings of the model, without its look-up tables."""
        return _made, self._settings

    # --- one question -------------------------------------------------------------------------

    @lists_keywords(ScenarioKeywords)
    def predict(
        self,
        scenario: Scenario | None = None,
        *,
        outside: str = REFUSE,
        metrics: tuple[str, ...] | list[str] | None = None,
        **question: Unpack[ScenarioKeywords],
    ) -> Prediction:
        """Predict goodput, latency, loss, CPU and further metrics of one stream (one question).

        The question is a `Scenario`, or its parameters as keywords.  A keyword with a unit suffix takes a number in
        SI, and a keyword without a suffix takes a text with a unit.

        Parameters
        ----------
        scenario : Scenario, optional
            The question, in place of the keywords below.
        outside : "refuse" or "extrapolate"
            Treatment of payloads and core counts outside the benchmarked range.  "refuse" raises OutOfDomain, and
            "extrapolate" marks the answer ``extrapolated``.
        metrics : sequence of str, optional
            Wanted metrics besides goodput, loss, mean latency and CPU; all metrics of the dataset by default.
            ``hybrid`` fits only wanted metrics.
        protocol : str
            Protocol as the dataset names it, e.g. ``"tcp"``; the dataset's default protocol by default.
        payload_bytes, payload : int [B], or text such as ``"1448 B"``
            Useful bytes per frame.
        rate_fps, rate : float [frames/s], or text such as ``"6700/s"``
            Requested rate; unlimited by default.
        requested_goodput_bps, requested_goodput : float [b/s], or text such as ``"5 Gb/s"``
            Requested goodput, in place of a rate.
        cores : int
            Parallel processes, one per core; by default the greatest measured count.
        switches : int
            Switches on the path; 0 by default.
        endpoints : int
            Endpoints that send to the receiving interface, this stream included; 1 by default.
        other_goodput_bps, other_goodput : float [b/s], or text
            Sum of the goodputs that the other endpoints request; 0 by default.
        distance_m, distance : float [m], or text such as ``"100 m"``
            Cable length; by default the length in the dataset.
        line_rate_bps, line_rate : float [b/s], or text
            Rate of the link (variant hybrid only); by default the dataset's.
        cpu_clock_ratio, cpu_clock : float, or text such as ``"80 %"``
            Clock of the hosts relative to the dataset's (variant hybrid only); 1 by default.
        app_send_s, app_send, app_recv_s, app_recv : float [s], or text such as ``"2 us"``
            Time that the application adds per frame at the sender and at the receiver (variant hybrid only).
        app_send_s_per_byte, app_send_per_byte, app_recv_s_per_byte, app_recv_per_byte : float [s/B], or text
            Time that the application adds per byte of payload (variant hybrid only).
        options : mapping
            Values on the dataset's own axes, e.g. ``{"nagle": "on"}``.

        Returns
        -------
        Prediction
            Estimates by metric, the bottleneck, and an explanation.

        Raises
        ------
        UnitError, ScenarioError
            If no dataset could answer the question.
        OutOfDomain
            If this dataset cannot answer the question, or does not have a wanted metric.

        Examples
        --------
        >>> from icmodel import Model
        >>> model = Model("ethernet-10g-2012", "corrected")
        >>> answer = model.predict(protocol="udp", payload_bytes=1472, rate_fps=50_000)
        >>> answer.goodput_bps.value
        588800000.0
        >>> round(answer.latency_mean_s.value * 1e6, 1)
        13.4
        """
        if scenario is None:
            scenario = words.from_keywords(
                self.question(question, ("scenario", "outside", "metrics"))
            )
        elif question:
            raise ScenarioError(
                f"the question is given as a Scenario and as keywords ({', '.join(question)}): give only one of them"
            )
        if outside not in (REFUSE, EXTRAPOLATE):
            raise ScenarioError(f"outside={outside!r} is unknown: use {REFUSE} or {EXTRAPOLATE}")
        for metric in metrics or ():
            if metric not in (*ALWAYS, BOTTLENECK, *self.data.metrics):
                raise OutOfDomain(no_metric(self.data, metric))
        scenario, options = self.complete(scenario)
        cache = self._tables.for_hosts(scenario.hosts, options)
        only = needed(self.data, metrics)
        request = TableRequest(options, (scenario.protocol,), outside == EXTRAPOLATE, only)
        return prediction(scenario, self.variant, self._answer(cache, request, scenario))

    def question(
        self, keywords: Mapping[str, object], others: tuple[str, ...] = ()
    ) -> dict[str, object]:
        """Check the names of a question's keywords; if no protocol is given, add the dataset's default protocol.

        Parameters
        ----------
        keywords : mapping
            Keywords of `predict`, `predict_many` or `icmodel.sweep`.
        others : tuple of str
            Keywords of the calling function that are not part of the question.  An error for a misspelt keyword may
            suggest them.

        Raises
        ------
        ScenarioError
            If a keyword is neither a parameter of a question nor an option axis of the dataset.
        """
        known = (*words.PARAMETERS, *self.data.option_axes, *others)
        for name in keywords:
            if name not in known:
                raise ScenarioError(
                    f"there is no parameter {name!r}, and {self.data.id} has no such option axis: "
                    f"{advice(name, known)}"
                )
        asked = dict(keywords)
        if asked.get("protocol") is None:
            asked["protocol"] = self.data.default_protocol
        return asked

    def _answer(self, cache: TableCache, request: TableRequest, scenario: Scenario) -> Answered:
        """Answer one complete question from the tables; the question becomes arrays of length 1.

        Raises
        ------
        OutOfDomain
            If the dataset cannot answer the question.
        """
        prepared, placer = cache.prepared(request), cache.placer(request)
        q, _, too_large, other_cores = placer.place(columns_of(scenario, request.protocols))
        if too_large[0]:
            raise OutOfDomain(impossible_payload(scenario, placer.greatest[0]))
        domain = self._tables.domain(scenario.protocol, request.options)
        if other_cores[0] and domain.cores and not request.extend:
            raise OutOfDomain(unmeasured_cores(self.data, domain, scenario))
        over = cache.overload(request) if scenario.rate_fps is not None else None
        with np.errstate(invalid="ignore", divide="ignore"):
            wanted = frozenset((*prepared.named, BOTTLENECK))
            answer = answered(cache.law, prepared, q, wanted, intervals=True)
            overload = cache.law.overload
            if over is not None and overload and in_overload(cache.law, over, answer)[0]:
                wanted = frozenset((*over.named, BOTTLENECK))
                answer = answered(overload.law, over, q, wanted, intervals=True)
        if answer.outside()[0]:
            first, last = answer.query.payloads(answer.law.goodput)[:, 0]
            if first <= scenario.payload_bytes <= last:
                raise OutOfDomain(
                    f"{self.data.id} measured {scenario.protocol} at limited rates only, so its capacity is unknown: request "
                    "at most the goodput that those runs reached, or measure at unlimited rate"
                )
            raise OutOfDomain(
                f"payload {scenario.payload_bytes} B is outside {self.data.id}: {scenario.protocol} was "
                f"measured from {first:.0f} to {last:.0f} B; use a payload in this range, {BEYOND}"
            )
        return answer

    def complete(self, scenario: Scenario) -> tuple[Scenario, Options]:
        """Return the scenario with a core count, and its options that differ from the dataset's defaults.

        A scenario without a core count gets the greatest measured count.

        Raises
        ------
        OutOfDomain
            If the variant or the dataset does not support a parameter.
        """
        options, found = self._problems(scenario)
        counts = self._tables.domain(scenario.protocol, options).cores
        for problem in found.values():
            raise OutOfDomain(problem)
        return (
            scenario if scenario.cores or not counts else replace(scenario, cores=max(counts))
        ), options

    def _problems(self, scenario: Scenario) -> tuple[Options, dict[str, str]]:
        """Return the options of a scenario that differ from the defaults, and the parameters that cannot be predicted.

        The second result maps each parameter that cannot be predicted to its error message.  Parameters that only add
        delay (`DELAYS`) come last.
        """
        if scenario.protocol not in self.data.protocols:
            raise OutOfDomain(
                f"{self.data.id} has no protocol {scenario.protocol!r}: it has "
                f"{', '.join(self.data.protocols)}"
            )
        tables, found = self._tables, dict[str, str]()
        options = tables.non_default_options(scenario.options)
        domain = tables.domain(scenario.protocol, options)
        if scenario.hosts != Hosts():
            for name in ("line_rate_bps", "cpu_clock_ratio"):
                hosts = replace(Hosts(), **{name: getattr(scenario, name)})
                if problem := tables.hosts_problem(hosts, options):
                    found[name] = problem
        if scenario.work and (problem := tables.work_problem()):
            found["work"] = problem
        return options, found | problems(self.data, domain, scenario)

    def fit_question(self, scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
        """Drop ``distance_m`` and ``switches`` of a scenario if this dataset has no rule for them.

        ``evaluate``, ``system``, ``compare`` and ``recommend`` use this method.  Only the latency depends on the two
        parameters.  ``distance_m`` is dropped if the dataset states no cable.  ``switches`` is dropped if the dataset
        has neither rows with switches nor a switch latency.  Any other refused parameter raises OutOfDomain.

        The caller accounts for the dropped delay.  A system adds it to the latency, and an evaluation widens the
        interval of the latency (`icmodel.usecase.judging`).

        Returns
        -------
        scenario : Scenario
            Scenario that the dataset can answer.
        notes : tuple of str
            One note per dropped parameter, with the value that is used instead.

        Raises
        ------
        OutOfDomain
            If the variant or the dataset does not support the line rate, CPU clock, application's work, core count,
            endpoints or option.
        """
        options, found = self._problems(scenario)
        for name, problem in found.items():
            if name not in DELAYS:
                raise OutOfDomain(problem)
        domain = self._tables.domain(scenario.protocol, options)
        known = min(max(scenario.switches, domain.least_switches), domain.most_switches)
        blank = {"distance_m": None, "switches": int(known)}
        notes = problems(self.data, domain, scenario, changed=True)
        changed = {name: blank[name] for name in notes}
        return replace(scenario, **changed), tuple(notes.values())  # type: ignore[arg-type]

    def core_counts(self, protocol: str, options: Mapping[str, str]) -> tuple[int, ...]:
        """Core counts at which the goodput of a protocol was measured; empty if the dataset states none.

        Raises
        ------
        OutOfDomain
            If the dataset does not have an option.
        """
        return self._tables.domain(
            protocol, self._tables.non_default_options(Options(options))
        ).cores

    def rows(self, protocol: str, options: Mapping[str, str]) -> Rows:
        """Find the dataset rows from which a protocol is predicted at given options.

        If the dataset has no rows at these options, a variant may use rows with other options; ``substituted`` of the
        result is a sentence that says so.

        Raises
        ------
        DatasetError
            If the dataset has no such axis or value.
        """
        return self._tables.law.rows(protocol, options)

    # --- theory -------------------------------------------------------------------------------

    def least_latency_s(self, scenario: Scenario) -> float | None:
        """Least one-way latency of a scenario by theory [s]; ``None`` if the link's rate is unknown.

        The latency includes the time on the wire, in the cable and in the switches, but not in the hosts.
        """
        path = self._wire(scenario)
        link = path.link
        if link.line_rate_bps is None:
            return None
        bits = float(path.lone_frame_s(np.array([float(scenario.payload_bytes)]))[0])
        distance = link.cable_length_m if scenario.distance_m is None else scenario.distance_m
        switches = scenario.switches * (link.switch_latency_s or 0.0)
        return bits + (distance or 0.0) * (link.propagation_s_per_m or 0.0) + switches

    def packets(self, scenario: Scenario) -> int:
        """Number of packets of a frame that is sent alone; 1 if theory does not cover the kind of interconnect."""
        return int(self._wire(scenario).packets(np.array([float(scenario.payload_bytes)]))[0])

    def greatest_goodput_bps(self, scenario: Scenario) -> float | None:
        """Upper bound of the goodput by theory [b/s], equal for all variants; ``None`` if there is no bound.

        It is the smaller of two bounds.  One is the goodput of the wire at the requested line rate.  The other follows
        from the application's work, since a core works on one frame at a time: ``cores * 8 * payload_bytes / work_s``
        (bottleneck law: P. J. Denning, J. P. Buzen, ACM Computing Surveys 10, 1978).  Here ``work_s`` is the larger of
        the application's times per frame at the sender and at the receiver.
        """
        path, payload_bytes = self._wire(scenario), scenario.payload_bytes
        payload = np.array([float(payload_bytes)])
        bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
        work = scenario.work
        busy_s = max(work.sending_s(payload_bytes), work.receiving_s(payload_bytes))
        if busy_s and scenario.cores is not None:
            bound = min(bound, scenario.cores * 8 * payload_bytes / busy_s)
        return bound if math.isfinite(bound) else None

    def _wire(self, scenario: Scenario) -> Wire:
        """Wire of a scenario (protocol headers and line rate), from which theory computes bounds."""
        path = wire(self.data, scenario.protocol, scenario.options)
        if scenario.line_rate_bps is None:
            return path
        return Wire(scenario.protocol, replace(path.link, line_rate_bps=scenario.line_rate_bps))

    def work_problem(self) -> str:
        """Reason why this variant cannot include the application's own work; empty if the variant can."""
        return self._tables.work_problem()

    def host_times_s(self, scenario: Scenario) -> tuple[Estimate, Estimate]:
        """Core time per frame without the application's work, at the sender and at the receiver [s].

        The basis is ``derived`` if the dataset states the utilisation of the cores, and ``assumed`` if not.

        Raises
        ------
        OutOfDomain
            If the variant does not support the application's work, or the dataset cannot answer the scenario.
        """
        if problem := self.work_problem():
            raise OutOfDomain(problem)
        scenario, options = self.complete(replace(scenario, work=NO_WORK))
        cache = self._tables.for_hosts(scenario.hosts, options)
        answer = self._answer(cache, TableRequest(options, (scenario.protocol,)), scenario)
        times = host_times(answer.query, answer.flow)
        sender, receiver = (
            Estimate(value, low, high, "derived" if known else "assumed")
            for (value, low, high), known in zip(
                times.own_s[..., 0].tolist(), times.known[:, 0].tolist(), strict=True
            )
        )
        return sender, receiver

    # --- many questions -----------------------------------------------------------------------

    @lists_keywords(ScenarioArrays)
    def predict_many(
        self,
        *,
        outside: str = REFUSE,
        metrics: tuple[str, ...] | list[str] | None = None,
        intervals: bool = True,
        threads: int | None = None,
        **question: Unpack[ScenarioArrays],
    ) -> xarray.Dataset:
        """Predict the metrics of many streams (questions) together, with arrays as parameters.

        Plain arrays broadcast by the rules of numpy; labelled arrays (xarray) broadcast by dimension.

        Parameters
        ----------
        outside : "refuse", "nan" or "extrapolate"
            Treatment of questions outside the dataset.  "refuse" raises OutOfDomain; its message gives the number of
            refused questions, and the first of them.  "nan" answers NaN.  "extrapolate" marks the answer
            ``extrapolated``.
        metrics : sequence of str, optional
            Metrics to predict; all by default.
        intervals : bool
            Whether to add ``<metric>_low``, ``<metric>_high`` and ``<metric>_basis``.
        threads : int, optional
            Number of threads; as many as the machine has processors by default.
        protocol : str, or array of int
            One protocol as a text, or an array of indices into `Dataset.protocols`; by default the dataset's default
            protocol.
        payload_bytes, payload : int or array [B], or text such as ``"1448 B"``
            Useful bytes per frame.
        rate_fps, rate : float or array [frames/s], or text such as ``"6700/s"``
            Requested rate; unlimited by default.
        requested_goodput_bps, requested_goodput : float or array [b/s], or text such as ``"5 Gb/s"``
            Requested goodput, in place of a rate.
        cores : int or array
            Parallel processes, one per core; by default the greatest measured count.
        switches : int or array
            Switches on the path; 0 by default.
        endpoints : int or array
            Endpoints that send to the receiving interface, this stream included; 1 by default.
        other_goodput_bps, other_goodput : float or array [b/s], or text
            Sum of the goodputs that the other endpoints request; 0 by default.
        distance_m, distance : float or array [m], or text such as ``"100 m"``
            Cable length; by default the length in the dataset.
        line_rate_bps, line_rate : float or array [b/s], or text
            Rate of the link (variant hybrid only); by default the dataset's.
        cpu_clock_ratio, cpu_clock : float or array, or text such as ``"80 %"``
            Clock of the hosts relative to the dataset's (variant hybrid only); 1 by default.
        app_send_s, app_send, app_recv_s, app_recv : float or array [s], or text such as ``"2 us"``
            Time that the application adds per frame at the sender and at the receiver (variant hybrid only).
        app_send_s_per_byte, app_send_per_byte, app_recv_s_per_byte, app_recv_per_byte : float or array [s/B], or text
            Time that the application adds per byte of payload (variant hybrid only).
        options : mapping
            Values on the dataset's own axes: texts, or arrays of indices into `Dataset.option_values`.

        Returns
        -------
        xarray.Dataset
            A variable for each metric, and ``bottleneck``, in the broadcast shape.

        Raises
        ------
        UnitError, ScenarioError
            If a parameter cannot be broadcast, or no dataset could answer a value.
        OutOfDomain
            If this dataset cannot answer a question and ``outside`` is "refuse".

        Examples
        --------
        >>> from icmodel import Model
        >>> model = Model("ethernet-10g-2012", "corrected")
        >>> grid = model.predict_many(protocol="tcp", payload_bytes=[64, 1448], rate_fps=1000)
        >>> grid["goodput_bps"].values.tolist()
        [512000.0, 11584000.0]
        """
        from icmodel.model.labelled import labelled  # imports xarray

        chosen = None if metrics is None else tuple(metrics)
        options = outside, chosen, intervals, threads
        return labelled(self._tables, *self._columns(question, *options))

    @lists_keywords(ScenarioArrays)
    def predict_arrays(
        self,
        *,
        outside: str = REFUSE,
        metrics: tuple[str, ...] | list[str] | None = None,
        intervals: bool = True,
        threads: int | None = None,
        **question: Unpack[ScenarioArrays],
    ) -> dict[str, NDArray[Any]]:
        """Predict as `predict_many`, but return plain arrays; xarray is not needed.

        Parameters
        ----------
        outside, metrics, intervals, threads, **question
            As in `predict_many`.

        Returns
        -------
        dict of array
            Name of each variable of `predict_many` -> its values.

        Raises
        ------
        UnitError, ScenarioError, OutOfDomain
            As in `predict_many`.

        Examples
        --------
        >>> from icmodel import Model
        >>> model = Model("ethernet-10g-2012", "corrected")
        >>> answers = model.predict_arrays(protocol="tcp", payload_bytes=[64, 1448], rate_fps=1000)
        >>> answers["goodput_bps"].tolist()
        [512000.0, 11584000.0]
        """
        chosen = None if metrics is None else tuple(metrics)
        return self._columns(question, outside, chosen, intervals, threads)[1]

    def _columns(
        self,
        question: ScenarioArrays,
        outside: str,
        metrics: tuple[str, ...] | None,
        intervals: bool,
        threads: int | None,
    ) -> tuple[QuestionTable, dict[str, NDArray[Any]]]:
        """Make a table of questions from keywords and answer them; return the table, and the answers by column."""
        from icmodel.model.many import BatchOptions, answer_columns, question_table  # for arrays

        def reason(keywords: Mapping[str, object]) -> str:
            try:
                alone = EXTRAPOLATE if outside == EXTRAPOLATE else REFUSE
                self.predict(words.from_keywords(keywords), outside=alone)
            except OutOfDomain as refused:
                return str(refused)
            return "this dataset has no goodput there"

        batch = BatchOptions(outside, metrics, intervals, threads)
        own = ("outside", "metrics", "intervals", "threads")
        questions = question_table(self.question(question, own), self.data.protocols)
        return questions, answer_columns(self._tables, questions, batch, reason)


def _made(data: Dataset, variant: str, cache: bool, constants: Constants) -> Model:
    return Model(data, variant, cache=cache, constants=constants)
