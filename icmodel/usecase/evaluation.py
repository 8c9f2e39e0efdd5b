"""Evaluation of a use case on a dataset: predict every candidate, judge every requirement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.errors import UseCaseError
from icmodel.model import Model
from icmodel.scenario import Scenario
from icmodel.solve import REFUSALS, least_rate_fps
from icmodel.usecase.derivation import (
    MEDIUM_DELAY,
    Derivation,
    Derivations,
    derive,
    exact,
    needed_goodput,
    produced_bps,
)
from icmodel.usecase.document import Candidate, ImageStream, Limit, UseCase
from icmodel.usecase.files import load_derived
from icmodel.usecase.hosts import (
    Interfaces,
    Meeting,
    carried_alone,
    interface_derivations,
    interface_notes,
    interfaces,
    meeting,
)
from icmodel.usecase.judging import (
    Ask,
    Way,
    as_one_connection,
    find,
    sum_derivation,
    with_delays,
)
from icmodel.usecase.limits import Judged, required, requirements
from icmodel.usecase.result import Answer, CandidateResult, Evaluation, Wish


def evaluate(
    usecase: str | Path | UseCase,
    data: Dataset | str | Path,
    variant: str | None = None,
    candidate: str | None = None,
    *,
    strict: bool = False,
    cache: bool = True,
) -> Evaluation:
    """Judge every candidate of a use case on a dataset.

    Parameters
    ----------
    usecase : str, Path or UseCase
        Bundled name, path of a TOML file, or a loaded use case.
    data : Dataset, str or Path
        Dataset, or name or path of one.
    variant : str, optional
        Variant of the model; the dataset's own by default.
    candidate : str, optional
        Whose verdict is the evaluation's; the use case's default by default.
    strict : bool
        Take what is met on assumed or extrapolated rows for undecided.
    cache : bool
        Whether fits of ``hybrid`` are kept in the user's cache folder.

    Raises
    ------
    UseCaseError, DatasetError
        If one of them is missing or damaged, or there is no such candidate. A question the
        dataset cannot answer is no error: its requirements are undecided, with the reason.
    """
    if isinstance(usecase, UseCase):
        case, made = usecase, derive(usecase)
    else:
        case, made = load_derived(usecase)
    model = Model(data, variant, cache=cache)
    return Evaluation(
        usecase=case,
        model=model,
        candidate=_chosen(case, candidate),
        derivations=tuple(made.values()),
        candidates=judge_candidates(case, case.candidates, model, made, strict=strict),
        strict=strict,
    )


def judge_candidates(
    case: UseCase,
    candidates: Iterable[Candidate],
    model: Model,
    made: Derivations,
    *,
    strict: bool = False,
    brief: bool = False,
) -> tuple[CandidateResult, ...]:
    """Judge some candidates of a use case, its own or others, by what a model answers.

    Parameters
    ----------
    made : mapping of Derivation
        What follows from the use case, as `derive` gives it.
    strict : bool
        As of `evaluate`.
    brief : bool
        Judge the requirements alone, which takes a tenth of the time: no change is looked for that
        would mend a goodput that is not met, and no metric predicted that no requirement needs.
    """
    must = required(case, made)
    read = () if brief else case.readings
    beside = tuple(zip(read, requirements(read, made), strict=True))
    metrics = _needed_metrics((limit for limit, _ in must), model.data) if brief else None
    way = Way(strict, brief)
    return tuple(
        _judge_candidate(_Asked(case, one, model, made, metrics), must, beside, way)
        for one in candidates
    )


def _needed_metrics(limits: Iterable[Limit], data: Dataset) -> tuple[str, ...]:
    """Metrics of a dataset that requirements need: their own, and for a latency all that may bound it."""
    wanted = {limit.metric for limit in limits}
    times = ("latency_", "rtt_") if any(name.startswith("latency_") for name in wanted) else ()
    return tuple(name for name in data.metrics if name in wanted or name.startswith(times))


def _chosen(case: UseCase, candidate: str | None) -> str:
    names = [one.name for one in case.candidates]
    if candidate is not None and candidate not in names:
        raise UseCaseError(
            f"{case.name} has no candidate {candidate!r}: name one of {', '.join(names)}"
        )
    return candidate or case.default_candidate


@dataclass(frozen=True, slots=True)
class _Asked:
    """A candidate to predict by a model; ``made`` are the numbers derived from the use case alone.

    ``metrics`` are the metrics to predict, ``None`` for all.
    """

    case: UseCase
    candidate: Candidate
    model: Model
    made: Derivations
    metrics: tuple[str, ...] | None = None


def _judge_candidate(asked: _Asked, must: Judged, read: Judged, way: Way) -> CandidateResult:
    case, candidate = asked.case, asked.candidate
    found, met, answers = _answers(asked)
    findings = tuple(
        find(
            Ask(
                case=case,
                candidate=candidate,
                limit=limit,
                requirement=wanted,
                produced_bps=produced_bps(case.stream(case.stream_of(limit)), asked.made),
                way=way,
            ),
            answers,
            asked.model,
        )
        for limit, wanted in (*must, *read)
    )
    sums = tuple(sum_derivation(finding) for finding in findings if finding.streams > 1)
    decide = len(must)
    return CandidateResult(
        name=candidate.name,
        description=candidate.description,
        answers=tuple(answers.values()),
        findings=findings[:decide],
        readings=findings[decide:],
        derivations=(
            *interface_derivations(found),
            *(one for crowd in met.values() if crowd is not None for one in crowd.derivations),
            *(one for one in sums if one is not None),
        ),
        wishes=_wishes(case, answers),
        notes=interface_notes(found),
    )


# --- asking -----------------------------------------------------------------------------------


def at_needed_rate(asked: Scenario, stream: str, made: Derivations) -> Scenario:
    """The scenario with a rate; without a given one, the least for the goodput its stream needs."""
    if asked.rate_fps is not None:
        return asked
    needed = needed_goodput(stream, made).value
    return replace(asked, rate_fps=float(least_rate_fps(needed, asked.payload_bytes)))


def _answers(
    asked: _Asked,
) -> tuple[Mapping[str, Interfaces], Mapping[str, Meeting | None], Mapping[str, Answer]]:
    """The interfaces of each device, the streams that share them, and each stream's prediction."""
    case, candidate, made = asked.case, asked.candidate, asked.made
    scenarios = {
        stream.name: as_one_connection(
            replace(
                at_needed_rate(candidate.scenarios[stream.name].scenario(), stream.name, made),
                work=case.work(stream.name),
            ),
            asked.model,
        )
        for stream in case.streams
        if stream.name in candidate.scenarios
    }
    alone = {name: _answer(asked, name, one) for name, one in scenarios.items()}
    found = interfaces(case, candidate, _carried(asked.model, alone), made)
    met = {name: meeting(case, candidate, name, found, made) for name in scenarios}
    answers = {
        name: answer
        if (crowd := met[name]) is None
        else _answer(asked, name, scenarios[name], crowd)
        for name, answer in alone.items()
    }
    return found, met, answers


def _carried(model: Model, alone: Mapping[str, Answer]) -> dict[str, Fraction]:
    """Goodput [b/s] one interface carries of each stream, by theory's bound where none is predicted."""
    bounds = {}
    for name, answer in alone.items():
        try:
            bound = model.greatest_goodput_bps(answer.scenario)
        except REFUSALS:
            continue
        if bound is not None:
            bounds[name] = exact(bound)
    return bounds | carried_alone(alone)


def _answer(of: _Asked, stream: str, asked: Scenario, crowd: Meeting | None = None) -> Answer:
    """The prediction of a stream, alone or with the streams that share its interface."""
    case, model, made = of.case, of.model, of.made
    if crowd is not None:
        asked = replace(asked, endpoints=crowd.endpoints, other_goodput_bps=crowd.other_goodput_bps)
    scenario, prediction, why = asked, None, ""
    notes: tuple[str, ...] = ()
    try:
        scenario, notes = model.fit_question(asked)
        prediction = model.predict(scenario, metrics=of.metrics)
        least_s = model.least_latency_s(replace(scenario, switches=asked.switches))
        prediction = with_delays(prediction, asked, case.medium, least_s)
        notes = (*notes, *prediction.notes, *_distance_note(case, asked, made))
    except REFUSALS as refusal:
        meant = of.candidate.dataset
        hint = f"; this candidate is meant for {meant}" if meant not in ("", model.data.id) else ""
        why = f"{refusal}{hint}"
        notes = ()
    return Answer(
        stream=stream,
        asked=asked,
        scenario=scenario,
        prediction=prediction,
        why=why,
        notes=notes,
        derivations=_rates(case, stream, asked, made),
    )


def _distance_note(case: UseCase, asked: Scenario, made: Derivations) -> tuple[str, ...]:
    if asked.distance_m is not None or case.medium is None:
        return ()
    delay = made[MEDIUM_DELAY]
    return (
        f"asked without a distance, so at the cable of the benchmarks; the longest of this use "
        f"case takes {delay.text} ({delay.formula})",
    )


def _rates(
    case: UseCase, stream: str, asked: Scenario, made: Derivations
) -> tuple[Derivation, ...]:
    """The least whole rates of frames of the candidate's payload that make a stream's goodput."""
    needed = needed_goodput(stream, made)
    frame = f"{asked.payload_bytes} B × 8"
    least = Derivation(
        f"{stream}.least_rate_fps",
        least_rate_fps(needed.value, asked.payload_bytes),
        f"{needed.text} / ({frame}), rounded up",
        "least rate that carries the stream taken as bytes",
    )
    pictures = case.stream(stream)
    if not isinstance(pictures, ImageStream):
        return (least,)
    size = made[f"{stream}.picture_bytes"]
    frames = math.ceil(exact(size.value) / asked.payload_bytes)
    whole = Derivation(
        f"{stream}.least_rate_whole_pictures_fps",
        math.ceil(frames * exact(pictures.rate_hz)),
        f"{size.text} / {asked.payload_bytes} B rounded up is {frames}, × "
        f"{units.format_hertz(pictures.rate_hz)}",
        "least rate when each picture takes frames of its own; not judged by",
    )
    return (least, whole)


def _wishes(case: UseCase, answers: Mapping[str, Answer]) -> tuple[Wish, ...]:
    return tuple(
        Wish(answer.stream, metric, answer.prediction.metrics[metric].value)
        for answer in answers.values()
        for metric in case.minimise
        if answer.prediction is not None
        and metric in answer.prediction.metrics
        and not answer.prediction.metrics[metric].absent
    )
