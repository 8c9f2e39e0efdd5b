"""Choose a dataset for each stream, form the questions to the dataset, and collect its predictions.

A dataset predicts a stream alone, or while other streams send. For the second case, the question also states the
goodput of the other streams, and the number of senders. `Model.predict_arrays` takes the questions as columns, with
one row per stream. So one call of a dataset answers for all its streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset, catalogue
from icmodel.documents import group_by_key
from icmodel.errors import IcmodelError, OutOfDomain
from icmodel.estimate import BASES, Estimate, absent, plural
from icmodel.laws.metrics import ALWAYS
from icmodel.model import Model
from icmodel.scenario import ApplicationWork, Options, Scenario
from icmodel.system.network import SIDES, Stream, System
from icmodel.tables.wire import FRAMED
from icmodel.usecase.judging import as_one_connection

COLUMNS = ("", "_low", "_high", "_basis")
"""Suffixes of a metric's four columns: value, low, high and basis."""
IF_MEASURED = (
    *(f"latency_{statistic}_s" for statistic in ("min", "p50", "p90", "p99", "p999", "max")),
    *(f"rtt_half_{statistic}_s" for statistic in ("mean", "p50", "p99", "max")),
    *(f"rtt_{statistic}_s" for statistic in ("mean", "p50", "p99", "max")),
    *(f"cpu_{side}_process_cores" for side in ("send", "recv")),
)
"""Metrics that are requested in addition to the default metrics, if the dataset has them."""


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """Dataset, variant and cache chosen by the caller, in place of the datasets named in the system file.

    Parameters
    ----------
    dataset : Model, Dataset, str, Path or mapping of Model, optional
        Used for all streams. A mapping has one model for each dataset name in the system file.
    variant : str, optional
        Variant of the model; by default the default variant of each dataset.
    cache : bool
        Whether fits of the variant ``hybrid`` are kept in the user's cache folder.
    """

    dataset: Model | Dataset | str | Path | Mapping[str, Model] | None = None
    variant: str | None = None
    cache: bool = True

    def model(self, dataset: Model | Dataset | str | Path) -> Model:
        """Return the model of a dataset; return a Model unchanged."""
        if isinstance(dataset, Model):
            return dataset
        return Model(dataset, self.variant, cache=self.cache)

    def options(self) -> dict[str, str]:
        """Dataset and variant as command-line options; empty if the caller chose neither."""
        model = self.dataset if isinstance(self.dataset, Model) else None
        variant = self.variant if model is None else model.variant
        data = self.dataset if model is None else model.data
        if isinstance(data, Dataset):
            data = data.id if data.id in catalogue() else data.folder
        options = {} if data is None or isinstance(data, Mapping) else {"dataset": str(data)}
        return options if variant is None else {**options, "variant": variant}


@dataclass(frozen=True, slots=True)
class DatasetQuestions:
    """Questions to one dataset about several streams; all have the same dataset options, such as ``nagle``.

    Parameters
    ----------
    streams : array of int (questions,)
        Index of each question's stream in the system.
    columns : mapping
        Name of a parameter, such as ``payload_bytes`` -> its value in each question, array (questions,). The values
        describe each stream without the other streams, at its requested rate.
    scenarios : tuple of Scenario
        The same questions, each as a `Scenario`.
    notes : tuple of str
        Assumptions that hold for all answers of the dataset.
    """

    model: Model
    options: Mapping[str, str]
    streams: Ints
    columns: Mapping[str, Floats]
    scenarios: tuple[Scenario, ...]
    notes: tuple[str, ...]

    def answers(self, columns: Mapping[str, Floats]) -> Mapping[str, NDArray[Any]] | None:
        """Answer all questions with the dataset; ``None`` if the dataset has no rows with these options.

        The optional metrics (`IF_MEASURED`, such as a latency quantile) are all answered, or none of them: if the
        dataset cannot answer one of them with these options, the answer has only the default metrics.
        """
        data = self.model.data
        extra = tuple(name for name in IF_MEASURED if name in data.metrics and name not in ALWAYS)
        protocol = columns["protocol"].astype(np.int64)
        questions: dict[str, object] = {**columns, "protocol": protocol}
        for metrics in ((*ALWAYS, "bottleneck", *extra), (*ALWAYS, "bottleneck")):
            try:
                return self.model.predict_arrays(
                    outside="nan",
                    metrics=metrics,
                    options=self.options,
                    **questions,  # type: ignore[arg-type]
                )
            except OutOfDomain:
                continue
        return None


@dataclass(frozen=True, slots=True)
class Answers:
    """Predicted metrics of all streams of a system, as arrays; each stream is predicted from its own dataset.

    Parameters
    ----------
    count : int
        Number of streams.
    metrics : mapping
        Metric -> array (4, streams). Its rows are value, low, high and basis (kind of evidence, as an index in
        `icmodel.estimate.BASES`); NaN without an answer.
    bottleneck : array of int (streams,)
        Index in `icmodel.estimate.BOTTLENECKS`; −1 without an answer.
    datasets : mapping
        Index of a stream -> name of its dataset; only for streams that the dataset could answer.
    """

    count: int
    metrics: Mapping[str, Floats]
    bottleneck: Ints
    datasets: Mapping[int, str] = field(default_factory=dict)

    def ends(self, metric: str) -> Floats:
        """Return a metric of all streams as an array (4, streams); NaN for streams without an answer.

        Axis 0 holds value, low, high and basis (index in `icmodel.estimate.BASES`).
        """
        known = self.metrics.get(metric)
        return np.full((len(COLUMNS), self.count), np.nan) if known is None else known

    def value(self, metric: str) -> Floats:
        """Predicted values of a metric, array (streams,); NaN for a stream for which no dataset has an answer."""
        return np.asarray(self.ends(metric)[0])

    def estimate(self, metric: str, stream: int) -> Estimate:
        """One metric of one stream as an Estimate; an absent Estimate states the reason."""
        value, low, high, basis = self.ends(metric)[:, stream].tolist()
        if value != value:
            dataset = self.datasets.get(stream, "theory alone")
            return absent(f"{dataset} has no {metric} for this question")
        return Estimate(value, low, high, BASES[int(basis)])

    def latencies(self, stream: int) -> dict[str, Estimate]:
        """All latencies that the dataset gives for a stream, by metric."""
        names = [name for name in self.metrics if name.startswith("latency_")]
        found = {name: self.estimate(name, stream) for name in names}
        return {name: estimate for name, estimate in found.items() if not estimate.absent}


@dataclass(frozen=True, slots=True)
class LoneAnswers:
    """Answers of the datasets for each stream alone, before any resource is shared.

    Parameters
    ----------
    fastest, requested : Answers
        Answers at an unlimited rate, and at the requested rate.
    refused : mapping
        Index of a stream -> reason why no dataset gives its goodput.
    """

    fastest: Answers
    requested: Answers
    refused: Mapping[int, str]

    @property
    def capacity_bps(self) -> Floats:
        """Greatest goodput of each stream [b/s], array (streams,); infinite if no dataset gives one."""
        known = np.fmax(self.fastest.value("goodput_bps"), self.requested.value("goodput_bps"))
        return np.where(np.isnan(known), np.inf, known)


@dataclass(frozen=True, slots=True)
class StreamQuestions:
    """Questions to the datasets about all streams of a system.

    Parameters
    ----------
    count : int
        Number of streams.
    datasets : tuple of DatasetQuestions
        Groups of questions; each combination of dataset and options has one group.
    unanswered : mapping
        Index of a stream -> reason why no dataset is asked for the stream.
    """

    count: int
    datasets: tuple[DatasetQuestions, ...]
    unanswered: Mapping[int, str]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the datasets' answers, one sentence for each assumption."""
        return tuple(note for dataset in self.datasets for note in dataset.notes)

    def between_virtual_machines(self) -> set[int]:
        """Indices of the streams whose dataset was measured between virtual machines."""
        return {
            index
            for dataset in self.datasets
            if any("virtual machine" in limit for limit in dataset.model.data.known_limits)
            for index in dataset.streams.tolist()
        }

    def gaps(self, system: System) -> Iterator[str]:
        """Yield a sentence for each reason why streams have no dataset, such as ``camera, sensor: no dataset answers``.

        The names before the colon are those of the streams' ``[[streams]]`` tables in the system file. Streams without
        a dataset are predicted by theory alone. If theory does not know the protocol of such a stream on Ethernet, it
        assumes packets of TCP, and another sentence says so.
        """
        streams = list(system.streams.values())
        reasons = [(why, streams[k].group) for k, why in self.unanswered.items()]
        for k in self.unanswered:
            protocol, first = streams[k].protocol, system.links_of(streams[k])[0]
            if first.interconnect == "ethernet" and protocol not in ("tcp", *FRAMED):
                why = f"theory knows no protocol {protocol}: its packets are assumed to be those of tcp"
                reasons.append((why, streams[k].group))
        for why, names in group_by_key(reasons).items():
            yield f"{', '.join(dict.fromkeys(names))}: {why}"

    def limited_to(self, limit_bps: Floats) -> StreamQuestions:
        """Copy the questions, so that each stream requests at most the goodput ``limit_bps``.

        ``limit_bps`` is an array (streams,) [b/s].
        """
        limited = []
        for dataset in self.datasets:
            most_fps = limit_bps[dataset.streams] / (8 * dataset.columns["payload_bytes"])
            rate_fps = np.minimum(dataset.columns["rate_fps"], most_fps)
            limited.append(replace(dataset, columns={**dataset.columns, "rate_fps": rate_fps}))
        return replace(self, datasets=tuple(limited))

    def ask_alone(self) -> LoneAnswers:
        """Ask every dataset about each stream without the others, at an unlimited and at the requested rate."""
        fastest = self.ask(rate_fps=np.full(self.count, np.inf))
        requested = self.ask()
        return LoneAnswers(fastest, requested, self._refusals(requested))

    def _refusals(self, answers: Answers) -> dict[int, str]:
        """Reasons why no dataset gives a goodput for a stream, by stream index.

        The arrays of an answer contain no reasons. So each distinct question without a goodput is asked once
        more by itself, at an unlimited rate.
        """
        reasons = dict(self.unanswered)
        missing = np.isnan(answers.value("goodput_bps"))
        known: dict[tuple[str, Scenario], str] = {}
        for dataset in self.datasets:
            model = dataset.model
            for row in np.flatnonzero(missing[dataset.streams]).tolist():
                scenario = replace(dataset.scenarios[row], rate_fps=None)
                key = model.data.id, scenario
                if key not in known:
                    known[key] = f"{model.data.id} has no goodput there"
                    try:
                        model.predict(model.fit_question(scenario)[0], metrics=())
                    except IcmodelError as error:
                        known[key] = str(error)
                reasons[int(dataset.streams[row])] = known[key]
        return reasons

    def ask(self, **changed: Floats) -> Answers:
        """Ask every dataset once about its streams, with some parameters changed.

        ``changed`` maps the name of a parameter to its new values, array (streams,).
        """
        metrics: dict[str, Floats] = {}
        bottleneck = np.full(self.count, -1)
        datasets: dict[int, str] = {}
        for dataset in self.datasets:
            columns = {**dataset.columns}
            columns |= {name: values[dataset.streams] for name, values in changed.items()}
            if "endpoints" in columns:
                alone = columns["endpoints"] == 1
                columns["other_goodput_bps"] = np.where(alone, 0.0, columns["other_goodput_bps"])
            found = dataset.answers(columns)
            if found is None:
                continue
            for name in (each for each in found if f"{each}_basis" in found):
                ends = metrics.setdefault(name, np.full((len(COLUMNS), self.count), np.nan))
                for row, suffix in enumerate(COLUMNS):
                    ends[row, dataset.streams] = found[name + suffix]
            bottleneck[dataset.streams] = found["bottleneck"]
            datasets |= dict.fromkeys(dataset.streams.tolist(), dataset.model.data.id)
        return Answers(self.count, metrics, bottleneck, datasets)


def stream_questions(system: System, choice: DatasetChoice) -> StreamQuestions:
    """Find the dataset that covers each stream, and form the question about the stream to this dataset.

    Raises
    ------
    DatasetError, ScenarioError
        If a dataset is missing or damaged, or has no such variant.
    """
    models = dict(choice.dataset) if isinstance(choice.dataset, Mapping) else {}
    named = None if isinstance(choice.dataset, Mapping) else choice.dataset
    for_all = None if named is None else choice.model(named)

    groups: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, Stream]] = {}
    unanswered: dict[int, str] = {}
    for index, stream in enumerate(system.streams.values()):
        if len(system.stating_devices(stream)) == len(SIDES):
            unanswered[index] = "both devices state their latency: no dataset is asked"
            continue
        name = dataset_of(system, stream) if for_all is None else for_all.data.id
        if name is None:
            unanswered[index] = (
                "no dataset answers: theory alone limits the goodput to the rate of the links"
            )
        else:
            options = tuple(sorted(stream.options.items()))
            groups.setdefault((name, options), {})[index] = stream

    datasets = []
    for (name, options), streams in groups.items():
        model = models[name] = for_all or models.get(name) or choice.model(name)
        questions, refused = _questions_to(model, system, streams, dict(options))
        unanswered |= refused
        if questions is not None:
            datasets.append(questions)
    return StreamQuestions(len(system.streams), tuple(datasets), unanswered)


def dataset_of(system: System, stream: Stream) -> str | None:
    """Name of the dataset that answers for a stream; ``None`` if the system names none.

    This is the dataset of the sink. If the sink has none, it is the dataset of the source. If both have none, it is the
    dataset of a link on the stream's path. If several of these links have a dataset, the link nearest to the sink counts.
    """
    hosts = (system.devices[stream.sink].dataset, system.devices[stream.source].dataset)
    links = [link.dataset for link in reversed(system.links_of(stream))]
    return next((name for name in (*hosts, *links) if name is not None), None)


def _questions_to(
    model: Model, system: System, streams: Mapping[int, Stream], options: Mapping[str, str]
) -> tuple[DatasetQuestions | None, dict[int, str]]:
    """Form the questions to one dataset, one for each stream that it can answer.

    The second result has the reason for each stream that the dataset cannot answer, by the stream's index.

    If the dataset has no rule for switches or cables, `Model.fit_question` drops them from a question, and the system
    prediction adds their delays later. Questions that differ only in payload, rate and cable length share one call of
    `Model.fit_question`.
    """
    fits: dict[tuple[object, ...], Scenario | str] = {}
    rows: dict[int, dict[str, float]] = {}
    scenarios: list[Scenario] = []
    refused: dict[int, str] = {}
    notes: dict[str, None] = {}
    for index, stream in streams.items():
        scenario = _scenario(system, model, stream, options)
        kind = (
            scenario.protocol,
            scenario.cores,
            scenario.switches,
            scenario.distance_m is None,
            scenario.line_rate_bps,
            scenario.cpu_clock_ratio,
            scenario.work,
        )
        if kind not in fits:
            length_m = None if scenario.distance_m is None else 1.0
            first = replace(scenario, payload_bytes=1, rate_fps=None, distance_m=length_m)
            try:
                fits[kind], assumptions = model.fit_question(first)
                notes |= dict.fromkeys(assumptions)
            except IcmodelError as error:
                fits[kind] = str(error)
        fit, lacking = fits[kind], few_cores(system, stream, scenario)
        lacking = lacking or other_interconnect(system, stream, model)
        if lacking or isinstance(fit, str):
            refused[index] = lacking or str(fit)
        else:
            rows[index] = _row(model, scenario, fit)
            scenarios.append(scenario)
        if stream.cores is None and scenario.cores is not None:
            notes[f"streams without cores use one, by {model.data.id}: one connection"] = None
    if not rows:
        return None, refused
    names = next(iter(rows.values()))
    columns = {name: np.array([row[name] for row in rows.values()]) for name in names}
    questions = DatasetQuestions(
        model, options, np.array(list(rows)), columns, tuple(scenarios), tuple(notes)
    )
    return questions, refused


def _scenario(system: System, model: Model, stream: Stream, options: Mapping[str, str]) -> Scenario:
    """Describe a stream as a question to a dataset, without the other streams.

    If the stream states no ``cores``, the question has one core (one connection), unless the dataset has no core
    counts. If the last frame of each message is short, the question has frames of the mean size, and a rate that keeps
    the goodput equal; see `Stream.mean_frame_bytes`.
    """
    links = system.links_of(stream)
    rate_bps = min(links[0].rate_bps, links[-1].rate_bps)
    measured_bps = model.data.link(options).line_rate_bps
    source, sink = system.devices[stream.source], system.devices[stream.sink]
    measured = [device for device in (source, sink) if device.latency_s is None]
    payload_bytes, rate_fps = stream.payload_bytes, stream.rate_fps
    if stream.mean_frame_bytes < payload_bytes:
        payload_bytes = math.ceil(stream.mean_frame_bytes)
        rate_fps = stream.requested_goodput_bps / (8 * payload_bytes)
    scenario = Scenario(
        protocol=stream.protocol,
        payload_bytes=payload_bytes,
        rate_fps=rate_fps,
        cores=stream.cores,
        switches=len(stream.path) - 1,
        distance_m=sum(link.length_m for link in links) or None,
        options=Options(options),
        line_rate_bps=None if measured_bps is None or rate_bps == measured_bps else rate_bps,
        cpu_clock_ratio=min((device.cpu_clock_ratio for device in measured), default=1.0),
        work=ApplicationWork(source.app_send_s, sink.app_recv_s),
    )
    return as_one_connection(scenario, model)


def other_interconnect(system: System, stream: Stream, model: Model) -> str:
    """Reason why a dataset cannot answer for a stream: it was measured on another interconnect; empty if it can answer.

    A dataset can answer if its interconnect is that of the first or the last link on the stream's path.
    """
    links, kind = system.links_of(stream), model.data.link(stream.options).kind
    if kind in (links[0].interconnect, links[-1].interconnect):
        return ""
    return (
        f"{model.data.id} was measured on {kind} at these options, and {links[-1].name} is "
        f"{links[-1].interconnect}"
    )


def few_cores(system: System, stream: Stream, scenario: Scenario) -> str:
    """Error message if a host has fewer cores than a stream requests; empty if both hosts have enough."""
    ends = (system.devices[end] for end in (stream.source, stream.sink))
    counts = {
        device.name: device.cores
        for device in ends
        if device.cores is not None and device.latency_s is None
    }
    name = min(counts, key=lambda device: counts[device], default="")
    if scenario.cores is None or not name or scenario.cores <= counts[name]:
        return ""
    return (
        f"the stream {stream.name} asks for {plural(scenario.cores, 'core')}, and {name} has "
        f"{counts[name]}: give the stream at most that many"
    )


def _row(model: Model, scenario: Scenario, fit: Scenario) -> dict[str, float]:
    """Convert the question ``scenario`` to numbers, by name of the parameter; NaN for a parameter without a value.

    ``scenario`` has all switches and the cable length of the path. ``fit`` is the same question with only those
    switches that the dataset can predict, and without a cable if it cannot predict one. The result has the number of
    switches from ``fit``. The cable length is that of ``scenario``, or NaN if ``fit`` has no cable. All other parameters
    are equal in both questions.
    """

    def known(value: float | None) -> float:
        return np.nan if value is None else float(value)

    return {
        "protocol": model.data.protocols.index(scenario.protocol),
        "payload_bytes": float(scenario.payload_bytes),
        "rate_fps": np.inf if scenario.rate_fps is None else scenario.rate_fps,
        "cores": known(scenario.cores),
        "switches": float(fit.switches),
        "distance_m": known(None if fit.distance_m is None else scenario.distance_m),
        "line_rate_bps": known(scenario.line_rate_bps),
        "cpu_clock_ratio": scenario.cpu_clock_ratio,
        **scenario.work.to_dict(),
    }
