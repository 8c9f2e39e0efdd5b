"""One question for one dataset: a prediction, a value solved for, or the latency of a whole message."""

from __future__ import annotations

from typing import NamedTuple

from icmodel import units
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Prediction
from icmodel.model import Model
from icmodel.questions.words import Question
from icmodel.ranges import MOST
from icmodel.scenario import Scenario, scenario

SOLVABLE = ("rate", "payload", "cores")
"""Parameters that can be solved for; `icmodel.solve` has a solver for each."""


class Extras(NamedTuple):
    """Optional parts of a question, as texts: the size of a whole message, or a parameter to solve for."""

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
    """Predict a question in words; also returns a line that states the solved value, or an empty text.

    Parameters
    ----------
    protocol : str, optional
        Name of a protocol in the model's dataset; by default the dataset's own.
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
    >>> wishes = Extras(solve="rate", goodput="3.54 Gb/s")
    >>> answer(Model("ethernet-10g-2012"), question, extras=wishes)[1]
    'the least rate that carries 3.54 Gb/s: 6753/s'
    """
    check_pairs(extras)
    # When solving for the payload, any payload will do as a start.
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
    """Raise ScenarioError if an option, such as --goodput, is given without the option that it needs."""
    choice = "rate, payload or cores"
    solve, goodput = extras.solve, extras.goodput
    if solve is None and goodput is not None:
        raise ScenarioError(
            f"--goodput needs --solve: add --solve {choice}. To set the request of the stream, "
            "use --requested-goodput or --rate"
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
        The scenario with that value, and a line that states it.

    Raises
    ------
    OutOfDomain
        If no value of the parameter reaches the goodput with the whole interval.
    """
    from icmodel.solve import SOLVERS, solved  # rarely needed

    rate = units.format_bps(goodput_bps)
    value = None if goodput_bps > MOST else SOLVERS[parameter](model, asked, goodput_bps)
    if value is None:
        noun = "count of cores" if parameter == "cores" else parameter
        raise OutOfDomain(
            f"{model.data.id} has no {noun} with which the whole interval reaches {rate}"
        )
    solution = solved(asked, parameter, value, goodput_bps)
    text = {
        "rate": units.format_quantity("rate_fps", solution.rate_fps or 0.0),
        "payload": units.format_quantity("payload_bytes", solution.payload_bytes),
        "cores": str(solution.cores),
    }[parameter]
    return solution, f"the least {parameter} that carries {rate}: {text}"
