"""One question for several datasets, protocols and variants, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from icmodel.dataset import Dataset
from icmodel.documents import json_form
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Prediction
from icmodel.questions.words import Question
from icmodel.scenario import Scenario, scenario
from icmodel.units import parse_bps

RATES_ALONE = "--rates needs --usecase: add --usecase NAME, or use --line-rate for one question"
"""Error message for line rates without a use case."""


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

    A dataset without any of ``protocols`` answers for its default protocol.

    Parameters
    ----------
    protocols, variants : list of str
        Names; if a list is empty, each dataset's default.
    predict : callable
        Predicts a scenario on a dataset by a variant of the model.

    Raises
    ------
    OutOfDomain
        If no dataset has one of the protocols, or no combination can answer.
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
    """Raise ScenarioError if an option is given that the use case already determines."""
    for name, value in options.items():
        if value:
            raise ScenarioError(
                f"--{name.replace('_', '-')} cannot be combined with --usecase, which "
                "determines the question: give only one"
            )


def parse_rates(text: str) -> tuple[float, ...]:
    """Parse line rates separated by commas: numbers of Gb/s, or quantities.

    Raises
    ------
    UnitError, ScenarioError
        If a part is not a rate, or the text has no rate.

    >>> parse_rates("10, 25 Gb/s,400 Mb/s")
    (10000000000.0, 25000000000.0, 400000000.0)
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ScenarioError(f"--rates {text!r} has no rate: give line rates such as 10,25,100")
    plain = re.compile(r"[0-9]+(\.[0-9]+)?")
    texts = (f"{part} Gb/s" if plain.fullmatch(part) else part for part in parts)
    return tuple(dict.fromkeys(map(parse_bps, texts)))
