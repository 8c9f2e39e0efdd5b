"""Evaluate a use case on a dataset: predict the streams of every candidate, and judge every requirement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.errors import UseCaseError
from icmodel.estimate import Prediction
from icmodel.keywords import checks_keywords
from icmodel.model import Model
from icmodel.requirement import ROUNDING
from icmodel.scenario import Scenario
from icmodel.solve import REFUSALS, least_rate_fps
from icmodel.usecase.derivation import (
    Derivation,
    Derivations,
    RequiredLimits,
    derive,
    exact,
    needed_goodput,
    produced_bps,
    required,
    requirements,
)
from icmodel.usecase.document import Candidate, ImageStream, SampleStream, UseCase
from icmodel.usecase.files import load_derived, usecase_file
from icmodel.usecase.hosts import (
    Interfaces,
    SharedInterface,
    capacities_alone,
    interface_derivations,
    interface_notes,
    interfaces,
    shared_interface,
)
from icmodel.usecase.judging import (
    Criterion,
    JudgingMode,
    as_one_connection,
    at_full_interface,
    judge_criterion,
    sum_derivation,
    with_delays,
)
from icmodel.usecase.result import Answer, CandidateResult, Evaluation, Objective


@checks_keywords
def evaluate(
    usecase: str | Path | UseCase,
    data: Dataset | str | Path,
    variant: str | None = None,
    candidate: str | None = None,
    *,
    strict: bool = False,
    cache: bool = True,
) -> Evaluation:
    """Judge every candidate (choice of protocol, frames and cores) of a use case on a dataset.

    Parameters
    ----------
    usecase : str, Path or UseCase
        Bundled name, path of a TOML file, or a loaded use case.
    data : Dataset, str or Path
        A dataset, or the name or path of a dataset.
    variant : str, optional
        Variant of the model; by default the default variant of the dataset.
    candidate : str, optional
        Candidate whose outcome is the verdict; by default ``default_candidate`` of the use case.
    strict : bool
        Whether a requirement met on assumed or extrapolated rows of the dataset counts as undecided.
    cache : bool
        Keep fits of the variant ``hybrid`` in the user's cache folder.

    Returns
    -------
    Evaluation
        ``verdict`` is met, not met or undecided; ``chosen.findings`` has the verdict on each requirement.

    Raises
    ------
    UseCaseError, DatasetError
        If the use case or the dataset is missing or damaged, or the candidate does not exist. A scenario that the
        dataset cannot answer is no error: its requirements are undecided, unless theory refutes them.

    Examples
    --------
    >>> import icmodel
    >>> evaluation = icmodel.evaluate("imaging", "ethernet-10g-2012")
    >>> evaluation.verdict
    'not met'
    >>> evaluation.chosen.decisive.title
    'every picture stream arrives whole'
    """
    if isinstance(usecase, UseCase):
        case, derived = usecase, derive(usecase)
    else:
        case, derived = load_derived(usecase)
    names = [known.name for known in case.candidates]
    if candidate is not None and candidate not in names:
        raise UseCaseError(
            f"{case.name} has no candidate {candidate!r}: name one of {', '.join(names)}"
        )
    model = Model(data, variant, cache=cache)
    return Evaluation(
        usecase=case,
        model=model,
        candidate=candidate or case.default_candidate,
        derivations=tuple(derived.values()),
        candidates=judge_candidates(case, case.candidates, model, derived, strict=strict),
        strict=strict,
        file=None if isinstance(usecase, UseCase) else usecase_file(usecase),
    )


def judge_candidates(
    case: UseCase,
    candidates: Iterable[Candidate],
    model: Model,
    derived: Derivations,
    *,
    strict: bool = False,
    brief: bool = False,
) -> tuple[CandidateResult, ...]:
    """Judge candidates for a use case by the predictions of a model.

    The candidates need not be in the document of the use case.

    Parameters
    ----------
    derived : mapping of Derivation
        Numbers that follow from the use case, as `derive` returns them.
    strict : bool
        Whether a requirement met on assumed or extrapolated rows of the dataset counts as undecided.
    brief : bool
        Whether to predict only the metrics that a requirement limits, which takes a tenth of the time. The results then
        lack readings (alternative interpretations of requirements) and remedies for a missed goodput.
    """
    must = required(case, derived)
    readings: RequiredLimits = ()
    metrics = None
    if brief:
        wanted = {limit.metric for limit, _ in must}
        bounding = any(name.startswith("latency_") for name in wanted)
        prefixes = ("latency_", "rtt_") if bounding else ()  # latencies can bound each other
        metrics = tuple(
            name for name in model.data.metrics if name in wanted or name.startswith(prefixes)
        )
    else:
        readings = tuple(zip(case.readings, requirements(case.readings, derived), strict=True))
    mode = JudgingMode(strict, brief)
    return tuple(
        _CandidatePrediction(case, candidate, model, derived, metrics).judged(must, readings, mode)
        for candidate in candidates
    )


def at_needed_rate(scenario: Scenario, stream: str, derived: Derivations) -> Scenario:
    """Set the rate of a scenario to the least frame rate that carries the needed goodput of its stream.

    A payload larger than a picture, or than the samples of a connection, is reduced to that size. A scenario with a rate
    is returned unchanged.
    """
    if scenario.rate_fps is not None:
        return scenario
    needed = needed_goodput(stream, derived).value
    whole = derived.get(f"{stream}.payload_bytes") or derived.get(f"{stream}.picture_bytes")
    if whole is not None and scenario.payload_bytes > whole.value:
        scenario = replace(scenario, payload_bytes=math.ceil(whole.value))
    return replace(scenario, rate_fps=float(least_rate_fps(needed, scenario.payload_bytes)))


@dataclass(frozen=True, slots=True)
class _CandidatePrediction:
    """Candidate of a use case (protocols with their settings), together with the model that predicts its streams.

    ``metrics`` names the metrics to predict; ``None`` means all metrics.
    """

    case: UseCase
    candidate: Candidate
    model: Model
    derived: Derivations
    metrics: tuple[str, ...] | None = None

    def judged(
        self, must: RequiredLimits, readings: RequiredLimits, mode: JudgingMode
    ) -> CandidateResult:
        """Predict all streams of the candidate, and judge the use case's requirements and readings by the predictions.

        A candidate is an interconnect that could carry the streams. A reading is an alternative interpretation of a
        requirement.
        """
        case, candidate = self.case, self.candidate
        found, shared, answers = self.answers()
        findings = tuple(
            judge_criterion(
                Criterion(
                    case=case,
                    candidate=candidate,
                    limit=limit,
                    requirement=requirement,
                    produced_bps=produced_bps(case.stream(case.stream_of(limit)), self.derived),
                    samples_bytes=self.samples_bytes(case.stream_of(limit)),
                    mode=mode,
                ),
                answers,
                self.model,
            )
            for limit, requirement in (*must, *readings)
        )
        sums = (sum_derivation(finding) for finding in findings if finding.streams > 1)
        predictions = [
            (name, answer.prediction.metrics)
            for name, answer in answers.items()
            if answer.prediction is not None
        ]
        return CandidateResult(
            name=candidate.name,
            description=candidate.description,
            answers=tuple(answers.values()),
            findings=findings[: len(must)],
            readings=findings[len(must) :],
            derivations=(
                *interface_derivations(found),
                *(
                    derivation
                    for at in shared.values()
                    if at is not None
                    for derivation in at.derivations
                ),
                *(derivation for derivation in sums if derivation is not None),
            ),
            objectives=tuple(
                Objective(stream, metric, metrics[metric].value)
                for stream, metrics in predictions
                for metric in case.minimise
                if metric in metrics and not metrics[metric].absent
            ),
            notes=interface_notes(found),
        )

    def answers(
        self,
    ) -> tuple[Mapping[str, Interfaces], Mapping[str, SharedInterface | None], dict[str, Answer]]:
        """Return three mappings: device -> its interfaces; stream -> interface that it shares; stream -> its answer.

        The second has ``None`` for a stream that shares no interface.

        Each stream is first predicted alone, which gives its goodput over one interface. These goodputs determine the
        number of interfaces, and so the streams that share an interface. Streams that share are then predicted again.
        """
        case, candidate, model, derived = self.case, self.candidate, self.model, self.derived
        scenarios = {}
        for stream in case.streams:
            if stream.name in candidate.scenarios:
                stated = candidate.scenarios[stream.name].scenario()
                if stated.distance_m is None and case.medium is not None:
                    stated = replace(stated, distance_m=case.medium.distance_m)
                rated = at_needed_rate(stated, stream.name, derived)
                worked = replace(rated, work=case.work(stream.name))
                scenarios[stream.name] = as_one_connection(worked, model)
        alone = {name: self.answer(name, scenario) for name, scenario in scenarios.items()}

        capacities_bps = {}
        for name, answer in alone.items():
            try:
                bound = model.greatest_goodput_bps(answer.scenario)
            except REFUSALS:
                continue
            if bound is not None:
                capacities_bps[name] = exact(bound)
        capacities_bps |= capacities_alone(alone)
        found = interfaces(case, candidate, capacities_bps, derived)

        shared = {
            name: shared_interface(case, candidate, name, found, derived) for name in scenarios
        }
        answers = {
            name: alone[name] if at is None else self.answer(name, scenarios[name], at)
            for name, at in shared.items()
        }
        full = {
            name
            for name, at in shared.items()
            if at is not None and at.is_full(capacities_bps, derived)
            # latencies of a stream with an allowed shortfall are those of received data
            if not case.stream(name).allowed_shortfall_ratio
        }
        answers = {
            name: at_full_interface(answer) if name in full else answer
            for name, answer in answers.items()
        }
        return found, shared, answers

    def answer(
        self, stream: str, scenario: Scenario, shared: SharedInterface | None = None
    ) -> Answer:
        """Predict a stream of the candidate, alone or beside the streams that share its interface.

        If the model cannot predict the scenario, the answer states the reason.
        """
        medium, model = self.case.medium, self.model
        if shared is not None:
            scenario = replace(
                scenario,
                endpoints=shared.endpoints,
                other_goodput_bps=shared.other_goodput_bps,
            )
        fitted, prediction, why = scenario, None, ""
        shorter = self.shorter_payload(stream, scenario)
        notes: tuple[str, ...] = ()
        try:
            fitted, notes = model.fit_question(scenario)
            prediction = model.predict(fitted, metrics=self.metrics)
            least_s = model.least_latency_s(replace(fitted, switches=scenario.switches))
            per_metre = model.data.interconnect.propagation_s_per_m or 0.0
            prediction = with_delays(prediction, scenario, medium, least_s, per_metre)
            prediction, note = self.as_produced(prediction, stream)
            notes = (*notes, *prediction.notes, *note)
        except REFUSALS as refusal:
            meant, why, notes = self.candidate.dataset, str(refusal), ()
            if meant not in ("", model.data.id):
                why += f"; this candidate is meant for {meant}"
        return Answer(
            stream=stream,
            asked=scenario,
            scenario=fitted,
            prediction=prediction,
            why=why,
            notes=(*shorter, *notes),
            derivations=self.least_rates(stream, scenario),
        )

    def samples_bytes(self, stream: str) -> float:
        """Return the size of all samples that one connection carries together [B]; 0 for streams without samples."""
        size = self.derived.get(f"{stream}.payload_bytes")
        return 0.0 if size is None else size.value

    def shorter_payload(self, stream: str, scenario: Scenario) -> tuple[str, ...]:
        """Return a note if `at_needed_rate` has reduced the payload of a stream's scenario."""
        stated_bytes = self.candidate.scenarios[stream].payload_bytes
        if scenario.payload_bytes == stated_bytes:
            return ()
        of = self.case.stream(stream)
        whole = "a picture" if isinstance(of, ImageStream) else "the samples of a connection"
        return (
            f"predicted with frames of {scenario.payload_bytes} B in place of {stated_bytes} B: a frame holds no more "
            f"than {whole}",
        )

    def as_produced(
        self, prediction: Prediction, stream: str
    ) -> tuple[Prediction, tuple[str, ...]]:
        """Limit the predicted goodput of a stream to the goodput that it produces; also return notes on this.

        There is a note only if the candidate states a frame rate that could carry more than the stream produces.
        Predictions for streams of samples are not limited: their goodput is that while samples are sent, which may
        exceed the goodput produced on average.
        """
        produced = needed_goodput(stream, self.derived)
        asked_bps = prediction.scenario.requested_goodput_bps
        samples = isinstance(self.case.stream(stream), SampleStream)
        if samples or not produced.value * (1 + ROUNDING) < asked_bps < math.inf:
            return prediction, ()
        metrics = dict(prediction.metrics)
        for name in ("goodput_bps", "sent_bps"):
            one = metrics.get(name)
            if one is None or one.absent:
                continue
            value, low, high = (min(end, produced.value) for end in one.ends)
            metrics[name] = replace(one, value=value, low=low, high=high)
        if self.candidate.scenarios[stream].scenario().rate_fps is None:
            return replace(prediction, metrics=metrics), ()
        note = (
            f"the stated rate would carry {units.format_bps(asked_bps)} in full frames, but only {produced.text} "
            "are produced and arrive"
        )
        return replace(prediction, metrics=metrics), (note,)

    def least_rates(self, stream: str, scenario: Scenario) -> tuple[Derivation, ...]:
        """Compute the lowest integer frame rate [1/s] at which frames of the scenario's payload carry the stream.

        Pictures have a second result: the lowest rate if each picture begins a new frame, so that its last frame may be
        shorter.
        """
        needed = needed_goodput(stream, self.derived)
        least = Derivation(
            f"{stream}.least_rate_fps",
            least_rate_fps(needed.value, scenario.payload_bytes),
            f"{needed.text} / ({scenario.payload_bytes} B × 8), rounded up",
            "least rate that carries the bytes of the stream",
        )
        pictures = self.case.stream(stream)
        if not isinstance(pictures, ImageStream):
            return (least,)
        size = self.derived[f"{stream}.picture_bytes"]
        frames = math.ceil(exact(size.value) / scenario.payload_bytes)
        whole = Derivation(
            f"{stream}.least_rate_whole_pictures_fps",
            math.ceil(frames * exact(pictures.rate_hz)),
            f"{size.text} / {scenario.payload_bytes} B rounded up is {frames}, × "
            f"{units.format_hertz(pictures.rate_hz)}",
            "least rate if no frame holds parts of two pictures; not used for the verdict",
        )
        return (least, whole)
