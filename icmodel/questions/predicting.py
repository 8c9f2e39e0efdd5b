"""Answers to one question: from one dataset, or from several datasets, protocols and variants side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.documents import json_form
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Prediction
from icmodel.model import Model
from icmodel.questions.words import Question
from icmodel.ranges import MOST
from icmodel.scenario import Scenario, scenario
from icmodel.units import parse_bps

SOLVABLE = ("rate", "payload", "cores")
"""Parameters for `icmodel.solve`, which has a solver for each."""


class Extras(NamedTuple):
    """Optional parts of a question, as texts: the size of a whole message, and a parameter to solve for."""

    message: str | None = None
    message_within: str | None = None
    solve: str | None = None
    goodput: str | None = None


NONE = Extras()


def answer(
    model: Model,
    question: Question,
    protocol: str | None = None,
    extras: Extras = NONE,
    *,
    extrapolate: bool = False,
    metrics: tuple[str, ...] | None = None,
) -> tuple[Prediction, str]:
    """Answer a question whose parameters are texts. Return the prediction, and a sentence with the solved value.

    The sentence is empty if ``extras`` names no parameter to solve for.

    Parameters
    ----------
    protocol : str, optional
        Name of a protocol in the model's dataset; by default, the dataset's default protocol.
    metrics : tuple of str, optional
        Metrics to predict; all by default.

    Raises
    ------
    UnitError, ScenarioError
        If the question cannot be parsed, or is invalid for every dataset.
    OutOfDomain
        If this dataset cannot answer.

    Examples
    --------
    >>> question = Question(payload="65535 B", cores="4")
    >>> extras = Extras(solve="rate", goodput="3.54 Gb/s")
    >>> answer(Model("ethernet-10g-2012"), question, extras=extras)[1]
    'the least rate that carries 3.54 Gb/s: 6753/s'
    """
    check_pairs(extras)
    # A search for the payload can start from any payload.
    payload = "1 B" if extras.solve == "payload" else None
    asked = scenario(**question.parameters(protocol or model.data.default_protocol, payload))
    outside, line = "extrapolate" if extrapolate else "refuse", ""
    if extras.solve is not None and extras.goodput is not None:
        asked, line = solve_for(model, asked, extras.solve, units.parse_bps(extras.goodput))
    prediction = model.predict(asked, outside=outside, metrics=metrics)
    if extras.message is not None:
        from icmodel.message import Message, with_message  # rarely needed

        within = extras.message_within
        message = Message(
            units.parse_bytes(extras.message),
            None if within is None else units.parse_seconds(within),
        )
        prediction = with_message(model, prediction, message)
    return prediction, line


def check_pairs(extras: Extras) -> None:
    """Raise ScenarioError if an option, such as --goodput, lacks the option that it needs."""
    choice = "rate, payload or cores"
    solve, goodput = extras.solve, extras.goodput
    if solve is None and goodput is not None:
        raise ScenarioError(
            f"--goodput needs --solve: add --solve {choice}; to request a goodput instead, use "
            "--requested-goodput or --rate"
        )
    if solve is not None and solve not in SOLVABLE:
        raise ScenarioError(f"--solve {solve} is unknown: use {choice}")
    if solve is not None and goodput is None:
        raise ScenarioError('--solve needs a goodput to reach: add --goodput "3.5 Gb/s"')
    if extras.message is None and extras.message_within is not None:
        raise ScenarioError(
            '--message-within needs the size of the message: add --message "14.7 MB"'
        )


def solve_for(
    model: Model, asked: Scenario, parameter: str, goodput_bps: float
) -> tuple[Scenario, str]:
    """Find the least value of a parameter with which a stream reaches a goodput [b/s].

    Returns
    -------
    tuple
        Scenario with the found value, and a line that states this value.

    Raises
    ------
    OutOfDomain
        If the low end of the goodput's interval is below ``goodput_bps`` for every value of the parameter.
    """
    from icmodel.solve import SOLVERS, solved  # rarely needed

    rate = units.format_bps(goodput_bps)
    value = None if goodput_bps > MOST else SOLVERS[parameter](model, asked, goodput_bps)
    if value is None:
        noun = "count of cores" if parameter == "cores" else parameter
        raise OutOfDomain(
            f"no {noun} reaches {rate} on {model.data.id}: the low end of the goodput's 90 % interval always "
            "stays below it; give a lower goodput"
        )
    solution = solved(model, asked, parameter, value, goodput_bps)
    text = {
        "rate": units.format_quantity("rate_fps", solution.rate_fps or 0.0),
        "payload": units.format_quantity("payload_bytes", solution.payload_bytes),
        "cores": str(solution.cores),
    }[parameter]
    return solution, f"the least {parameter} that carries {rate}: {text}"


RATES_ALONE = "--rates needs --usecase: add --usecase NAME, or use --line-rate for one question"
"""Error message about line rates without a use case."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a comparison: a prediction, or the reason why there is none."""

    dataset: str
    variant: str
    protocol: str
    why: str
    prediction: Prediction | None


def answer_columns(
    question: Question,
    datasets: list[Dataset],
    protocols: list[str],
    variants: list[str],
    predict: Callable[[Dataset, str, Scenario], Prediction],
) -> list[Column]:
    """Answer the question for each combination of dataset, protocol and variant.

    If a dataset has none of ``protocols``, it answers for its default protocol.

    Parameters
    ----------
    protocols, variants : list of str
        Names. An empty list stands for each dataset's default.
    predict : callable
        Function that predicts a scenario on a dataset by a variant of the model.

    Raises
    ------
    OutOfDomain
        If a protocol is in none of the datasets, or no combination can answer.
    """
    for name in protocols:
        if not any(name in data.protocols for data in datasets):
            known = "; ".join(f"{data.id} has {', '.join(data.protocols)}" for data in datasets)
            raise OutOfDomain(f"none of the datasets has the protocol {name!r}: {known}")
    columns = []
    for data in datasets:
        available = [name for name in protocols if name in data.protocols]
        for protocol in available or [data.default_protocol]:
            asked = scenario(**question.parameters(protocol))
            for variant in variants or [data.default_variant]:
                prediction, why = None, ""
                try:
                    prediction = predict(data, variant, asked)
                except OutOfDomain as refusal:
                    why = str(refusal)
                columns.append(Column(data.id, variant, asked.protocol, why, prediction))
    if all(one.prediction is None for one in columns):
        raise OutOfDomain(columns[0].why)
    return columns


def columns_document(columns: list[Column]) -> dict[str, object]:
    """Return a comparison as JSON: a list of columns."""
    return {"schema_version": 1, "columns": json_form(columns)}


def refuse_others(options: dict[str, object]) -> None:
    """Raise ScenarioError if the user gave one of these options beside ``--usecase``.

    A use case already determines the question, so these options would contradict it. Commands call this function only
    if ``--usecase`` is given.
    """
    for name, value in options.items():
        if value:
            raise ScenarioError(
                f"--{name.replace('_', '-')} cannot be combined with --usecase, which "
                "determines the question: give only one"
            )


def parse_rates(text: str) -> tuple[float, ...]:
    """Parse line rates between commas: numbers of Gb/s, or quantities.

    Raises
    ------
    UnitError, ScenarioError
        If a part is not a rate, or the text has no rate.

    Examples
    --------
    >>> parse_rates("10, 25 Gb/s,400 Mb/s")
    (10000000000.0, 25000000000.0, 400000000.0)
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ScenarioError(f"--rates {text!r} has no rate: give line rates such as 10,25,100")
    plain = re.compile(r"[0-9]+(\.[0-9]+)?")
    texts = (f"{part} Gb/s" if plain.fullmatch(part) else part for part in parts)
    return tuple(dict.fromkeys(map(parse_bps, texts)))
