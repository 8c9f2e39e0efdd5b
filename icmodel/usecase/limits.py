"""Convert the requirements of a use case to requirements with limits in SI units.

In the document, a limit is a quantity with a unit, or the name of a number derived from the use case.
"""

from __future__ import annotations

from collections.abc import Iterable

from icmodel import units
from icmodel.errors import UnitError, UseCaseError
from icmodel.mistakes import Mistakes, Place
from icmodel.reading import is_reference, quantity_kind
from icmodel.requirement import Requirement
from icmodel.usecase.derivation import Derivations, arriving_goodput, lookup, reference
from icmodel.usecase.document import Limit, UseCase

GOODPUT = "goodput_bps"
ARRIVES = "what is produced arrives"
"""Name of the implied requirement of every stream: all data produced by its source must arrive."""
RequiredLimits = tuple[tuple[Limit, Requirement], ...]
"""Pairs of two forms of a requirement: as written in the document, and with the limit in SI units."""


def required(case: UseCase, derived: Derivations) -> RequiredLimits:
    """Return the requirements of a use case, and the implied requirement that the data of each stream arrive.

    The implied one is left out if the file requires at least the same goodput, or if ``allowed_shortfall`` is 100 %.
    """
    stated = tuple(zip(case.requirements, requirements(case.requirements, derived), strict=True))
    implied = []
    for stream in case.streams:
        least = arriving_goodput(stream.name, derived)
        demanded = [
            requirement.at_least
            for limit, requirement in stated
            if limit.metric == GOODPUT and case.stream_of(limit) == stream.name
        ]
        if least.value <= 0 or any(one is not None and one >= least.value for one in demanded):
            continue
        implied.append(
            Limit(
                name=ARRIVES,
                metric=GOODPUT,
                at_least=least.name,
                kind="firm",
                stream=stream.name,
                source="required of every stream; allowed_shortfall lets some of it be lost",
            )
        )
    return (*stated, *zip(implied, requirements(implied, derived), strict=True))


def requirements(limits: Iterable[Limit], derived: Derivations) -> tuple[Requirement, ...]:
    """Convert requirements of a document to requirements with limits in SI units, in the same order.

    Raises
    ------
    UseCaseError
        If a limit names no derived number, or its unit does not fit the metric.
    """
    mistakes = Mistakes("the use case")
    made = [
        checked_requirement(limit, ("requirements", number), derived, mistakes)
        for number, limit in enumerate(limits)
    ]
    mistakes.refuse(UseCaseError)
    return tuple(made)


def checked_requirement(
    limit: Limit, place: Place, derived: Derivations, mistakes: Mistakes
) -> Requirement:
    """Convert a requirement of a document to one with limits in SI units.

    A wrong limit is a mistake; it becomes "at least 0", so that the rest of the file can be checked.
    """
    values: dict[str, float | None] = {}
    for side in ("at_least", "at_most"):
        text: str | None = getattr(limit, side)
        needs = ((*place, "metric"), *(reference(text) if text and is_reference(text) else ()))
        with mistakes.at(*place, side, needs=needs):
            values[side] = None if text is None else _limit_value(limit, text, derived)
    if len(values) == 2:
        with mistakes.at(*place):
            return Requirement(
                limit.name, limit.metric, **values, kind=limit.kind, source=limit.source
            )
    return Requirement(limit.name, limit.metric, at_least=0.0)


def _limit_value(limit: Limit, text: str, derived: Derivations) -> float:
    """Return a limit in SI units, from a quantity with a unit or from a derived number of the same kind."""
    in_cores = limit.metric.endswith("_cores")
    kind = None if in_cores else quantity_kind(limit.metric) or "ratio"
    if is_reference(text):
        try:
            derivation = lookup(derived, text)
        except UseCaseError as error:
            raise UseCaseError(f"the requirement {limit.name!r}: {error}") from error
        if quantity_kind(derivation.quantity) != kind:
            raise UseCaseError(
                f"the requirement {limit.name!r} limits {limit.metric} by {text} = {derivation.text}, which "
                "has another unit: name a number with the unit of the metric"
            )
        return derivation.value
    try:
        return _parse_cores(text) if kind is None else units.QUANTITIES[kind](text)
    except UnitError as error:
        raise UseCaseError(f"the requirement {limit.name!r}: {error}") from error


def _parse_cores(text: str) -> float:
    number = text.removesuffix("cores").removesuffix("core").strip()
    if number == text or not number.replace(".", "", 1).isdecimal():
        raise UnitError(f'{text!r} is not a number of cores: write a text such as "1.5 cores"')
    return float(number)
