"""The compact answer of an evaluation for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from icmodel.dataset import Dataset
from icmodel.estimate import (
    WIDTH,
    Prediction,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
    wrapped,
)
from icmodel.report.verdicts import (
    conclude,
    finding_rests,
    finding_text,
    headroom_text,
    limit_text,
    margin_text,
)
from icmodel.requirement import MET, NOT_MET, SIGNS
from icmodel.usecase import Answer, Derivation, Evaluation, Finding

READINGS = "read another way, which decides nothing"
GAP = "  "


def evaluation_text(evaluation: Evaluation, *, why: bool = False, width: int = WIDTH) -> str:
    """The verdict, each requirement, and what would meet or decide it.

    Parameters
    ----------
    why : bool
        With the basis of each verdict, derivations, predictions and reasons.
    width : int
        Characters a line may have.
    """
    lines = _wrapped(_whole(evaluation) if why else _short(evaluation), width)
    return "\n".join(_printable(line.rstrip()) for line in lines) + "\n"


def _printable(line: str) -> str:
    """A line without control characters of the terminal."""
    return "".join(char if char.isprintable() else "�" for char in line)


def _wrapped(lines: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Lines wrapped to the width, each with its own hanging indent."""
    for first, line in lines:
        yield from wrapped(line, first, " " * len(first), width) if line else (first,)


def _short(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Pairs of a label and a wrapped text: what decides."""
    findings = evaluation.chosen.findings
    yield from _verdict(evaluation)
    yield "", ""
    yield from map(_judged, findings)
    if readings := evaluation.chosen.readings:
        yield READINGS, ""
        yield from map(_judged, readings)
    for one in evaluation.chosen.answers:
        if one.prediction is None:
            yield "refused: ", f"{one.stream}: {one.why}"
    beyond = Counter(finding.others_beyond for finding in findings if finding.others_beyond)
    for what, count in beyond.items():
        yield "note: ", f"{what} of {plural(count, 'requirement')}"
    yield from (("note: ", note) for note in evaluation.notes)
    yield "asked: ", "; ".join(map(_asked, evaluation.chosen.answers))
    if len(evaluation.candidates) > 1:
        others = (f"{SIGNS[one.outcome]} {one.name}" for one in evaluation.candidates)
        yield "candidates: ", ", ".join(others)
    limits = ", ".join(f"{len(told)} of {whose}" for whose, told in _limits(evaluation))
    yield "", f"known limits: {limits}: --why shows them, and what each verdict rests on"


def _asked(answer: Answer) -> str:
    """The question of a stream, with the cores and so the connections that its answer uses."""
    asked = answer.scenario
    rate = "as fast as it goes" if asked.rate_fps is None else quantity("rate_fps", asked.rate_fps)
    cores = "cores as benchmarked" if asked.cores is None else plural(asked.cores, "core")
    return f"{answer.stream}: {asked.protocol}, {asked.payload_bytes} B a frame, {rate}, {cores}"


def _whole(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """The same with all limits and reasons, derivations and predictions."""
    chosen = evaluation.chosen
    yield from _verdict(evaluation)
    yield from _part("Requirements", (_finding(finding) for finding in chosen.findings))
    if chosen.readings:
        yield from _part(READINGS, (_finding(reading) for reading in chosen.readings))
    yield from _part("Derived", _derived((*evaluation.derivations, *chosen.derivations)))
    for one in chosen.answers:
        yield from _part(f"Predicted: {one.stream}", _answer(one))
    if len(evaluation.candidates) > 1:
        rows = [(f"{SIGNS[c.outcome]} {c.outcome}", c.name) for c in evaluation.candidates]
        yield from _part("Candidates", _columns(rows))
    if evaluation.notes:
        yield from _part("Notes", (("- ", note) for note in evaluation.notes))
    for whose, limits in _limits(evaluation):
        yield from _part(f"Known limits of {whose}", (("- ", limit) for limit in limits))


def _verdict(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """The question and the answer."""
    answer, chosen = conclude(evaluation), evaluation.chosen
    data = f"{evaluation.data.id}, variant {evaluation.variant}"
    yield "", f"{evaluation.usecase.title}: {evaluation.usecase.question}"
    yield "", f"Asked of {data}, candidate {chosen.name}."
    yield "", ""
    yield f"{SIGNS[answer.outcome]} {answer.outcome}{GAP}", answer.sentence
    if evaluation.strict:
        yield "", "Judged strictly: what is met on assumed or extrapolated rows is undecided."


def _limits(evaluation: Evaluation) -> Iterator[tuple[str, Sequence[str]]]:
    """Known limits of the dataset and of the use case, if there are any."""
    for whose in (evaluation.data, evaluation.usecase):
        if whose.known_limits:
            yield whose.id if isinstance(whose, Dataset) else whose.name, whose.known_limits


def _part(title: str, lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield "", ""
    yield title, ""
    for first, line in lines:
        yield f"{GAP}{first}", line


def _judged(finding: Finding) -> tuple[str, str]:
    """A requirement, its value and limit; if it is not met, what would meet or decide it."""
    parts = [finding_text(finding)]
    if finding.outcome != MET:
        ground = finding.rests_on
        measure = (
            ground.settle if ground.weak else ""
        )  # of a refused stream the reason is told once
        mends = finding.remedy if finding.outcome == NOT_MET else measure
        parts += [margin_text(finding.verdict), mends]
    return _outcome(finding), "; ".join(part for part in parts if part)


def _outcome(finding: Finding) -> str:
    shown = f"{SIGNS[finding.outcome]} {finding.outcome}"
    return f"{shown:<11}{GAP}"


def _finding(finding: Finding) -> tuple[str, str]:
    verdict = finding.verdict
    metric, estimate = verdict.requirement.metric, verdict.estimate
    span = interval(metric, estimate)
    value = estimated(metric, estimate)
    by = limit_name(verdict.limiting)
    parts = [
        f"{finding.title}: {metric_name(metric)} "
        f"{span if finding.grows else value + (f' ({span})' if span else '')}",
        finding_rests(finding),
        limit_text(verdict),
        headroom_text(finding),
        margin_text(verdict),
        f"limited by {by}" if by else "",
        finding.remedy,
        finding.others_beyond,
        verdict.why,
        finding.rests_on.settle,
    ]
    return _outcome(finding), "; ".join(dict.fromkeys(part for part in parts if part))


def _derived(derivations: Iterable[Derivation]) -> Iterator[tuple[str, str]]:
    return _columns([(one.name, one.text, one.formula) for one in derivations])


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Aligned rows; the last column wraps."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False))
        yield "".join(f"{cell}{GAP}" for cell in padded), row[-1]


def _answer(answer: Answer) -> Iterator[tuple[str, str]]:
    prediction = answer.prediction
    if prediction is None:
        yield "", f"no prediction: {answer.why}"
        return
    rows = [
        (metric_name(name), estimated(name, found), interval(name, found), found.basis)
        for name, found in prediction.metrics.items()
        if not found.absent
    ]
    yield from _columns(rows)
    yield from _why(prediction)
    yield from (("note: ", note) for note in answer.notes)


def _why(prediction: Prediction) -> Iterator[tuple[str, str]]:
    bounds = ", ".join(f"{k} {quantity('goodput_bps', v)}" for k, v in prediction.bounds.items())
    if bounds:
        yield "goodput is the least of: ", bounds
    terms = " + ".join(f"{k} {quantity('latency_mean_s', v)}" for k, v in prediction.terms.items())
    if terms:
        yield "mean latency is: ", terms
