"""The predictions of a report: the questions, every metric, and the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator

from icmodel.estimate import Estimate, Prediction
from icmodel.report.blocks import Bar, Bars, Block, Cell, Facts, Fold, Heading, Items, Table, Text
from icmodel.report.required import derivation_table
from icmodel.scenario import Scenario
from icmodel.usecase import Answer, CandidateResult, Evaluation
from icmodel.wording import (
    EXTRAPOLATED,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
)

INTERVAL = "The interval is the one that holds a new run on the dataset's hosts in 90 of 100 cases."
MEANINGS = {
    "measured": "measured by icmodel's own tool",
    "tabulated": "printed in a table or a published result file of the source",
    "stated": "a sentence of the source",
    "theory": "follows from the format of the frames and the rate of the wire",
    "derived": "computed from such numbers by a named rule",
    "interpolated": "between benchmarked points",
    "assumed": "a rule of the dataset's README, with a wide range",
    EXTRAPOLATED: "beyond the benchmarked points",
}


def predictions(evaluation: Evaluation) -> Iterator[Block]:
    """The question of each stream, and every metric with its interval and basis."""
    yield Text(
        f"{INTERVAL} The basis of a number is the weakest it rests on; all are listed from the "
        "strongest."
    )
    yield Fold("What the bases mean", (Facts(tuple(MEANINGS.items())),))
    chosen = evaluation.chosen
    for answer in chosen.answers:
        yield Heading(f"{chosen.name}: {answer.stream}")
        yield from _answer(answer)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(f"Predictions of {candidate.name}", tuple(_folded(candidate)))


def _folded(candidate: CandidateResult) -> Iterator[Block]:
    for answer in candidate.answers:
        yield Heading(f"{candidate.name}: {answer.stream}")
        yield from _answer(answer)


def _answer(answer: Answer) -> Iterator[Block]:
    yield Facts(tuple(asked(answer.scenario)))
    if answer.prediction is None:
        yield Text(f"No prediction: {answer.why}.")
    else:
        known = {n: e for n, e in answer.prediction.metrics.items() if not e.absent}
        yield Table(
            f"Predicted for {answer.stream}",
            ("metric", "#value", "#90 % interval", "rests on"),
            tuple(_metric(name, estimate) for name, estimate in known.items()),
        )
        absent = {n: e.why for n, e in answer.prediction.metrics.items() if e.absent}
        if absent:
            told = tuple(f"{metric_name(name)}: {why}" for name, why in absent.items())
            yield Fold(f"{plural(len(absent), 'metric')} without a number", (Items("", told),))
    if answer.derivations:
        yield derivation_table(f"Rates for {answer.stream}", answer.derivations)


def asked(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """The parameters of a scenario, as names and texts."""
    yield "protocol", scenario.protocol
    yield "payload", quantity("payload_bytes", scenario.payload_bytes)
    if scenario.rate_fps is None:
        yield "rate", "as fast as it goes"
    else:
        yield "rate", quantity("rate_fps", scenario.rate_fps)
        yield "requested goodput", quantity("goodput_bps", scenario.requested_goodput_bps)
    yield "cores", "as benchmarked" if scenario.cores is None else str(scenario.cores)
    yield "switches", str(scenario.switches)
    yield "endpoints", str(scenario.endpoints)
    if scenario.endpoints > 1:
        yield "others ask for", quantity("other_goodput_bps", scenario.other_goodput_bps)
    if scenario.distance_m is not None:
        yield "distance", quantity("distance_m", scenario.distance_m)
    if scenario.line_rate_bps is not None:
        yield "line rate", quantity("line_rate_bps", scenario.line_rate_bps)
    if scenario.cpu_clock_ratio != 1:
        yield "CPU clock", f"{scenario.cpu_clock_ratio:g} times that of the dataset's hosts"
    for name, value in scenario.work.to_dict().items():
        if value:
            yield name, quantity(name, value)
    yield from scenario.options


def _metric(name: str, estimate: Estimate) -> tuple[Cell, ...]:
    others = [basis for basis in estimate.bases if basis != estimate.basis]
    rests = f"{estimate.basis}; with {', '.join(others)}" if others else estimate.basis
    return (
        Cell(metric_name(name), name=name),
        Cell(estimated(name, estimate)),
        Cell(interval(name, estimate)),
        Cell(rests, note="" if estimate.basis == EXTRAPOLATED else estimate.why),
    )


def reasons(evaluation: Evaluation) -> Iterator[Block]:
    """The reasons of the judged candidate's predictions."""
    predicted = [one for one in evaluation.chosen.answers if one.prediction is not None]
    if not predicted:
        yield Text(f"There is no prediction of {evaluation.candidate} to explain.")
    for answer in predicted:
        if answer.prediction is not None:
            yield Heading(f"{evaluation.candidate}: {answer.stream}")
            yield from explained(answer.prediction)


def explained(prediction: Prediction) -> Iterator[Block]:
    """The bounds of the goodput and the terms of the mean latency."""
    bounds = dict(prediction.bounds)
    if bounds:
        by = f", limited by {by}" if (by := limit_name(prediction.bottleneck)) else ""
        yield Text(f"The goodput is the least of its bounds{by}.")
        yield Bars("Bounds of the goodput", tuple(_bound_bars(bounds)))
    if prediction.terms:
        mean = quantity("latency_mean_s", prediction.metrics["latency_mean_s"].value)
        yield Text(f"The terms of the latency add up to its mean, {mean}.")
        yield Bars("Terms of the mean latency", tuple(_term_bars(dict(prediction.terms))))
    else:
        yield Text("There is no one-way latency to explain.")


def _bound_bars(bounds: dict[str, float]) -> Iterator[Bar]:
    finite = [value for value in bounds.values() if math.isfinite(value)]
    longest, least = max(finite, default=1.0), min(finite, default=0.0)
    for name, value in bounds.items():
        share = 0.0 if math.isnan(value) else min(value / longest, 1.0)
        mark = "decides" if value == least else ""
        yield Bar(name, quantity("goodput_bps", value), share, mark)


def _term_bars(terms: dict[str, float]) -> Iterator[Bar]:
    longest = max(terms.values())
    for name, value in terms.items():
        share = max(value / longest, 0.0) if longest > 0 else 0.0
        mark = "longest" if value == longest else ""
        yield Bar(name, quantity("latency_mean_s", value), share, mark)
