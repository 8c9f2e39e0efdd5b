"""Requirements of a use case in SI; a limit is a quantity with unit or the name of a derived number."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from icmodel import units
from icmodel.errors import UnitError, UseCaseError
from icmodel.reading import is_reference, quantity_kind
from icmodel.requirement import Requirement
from icmodel.usecase.derivation import Derivations, arriving_goodput, lookup
from icmodel.usecase.document import Limit, UseCase

GOODPUT = "goodput_bps"


ARRIVES = "what is produced arrives"
"""The requirement that every stream has."""
Judged = tuple[tuple[Limit, Requirement], ...]
"""Requirements as in the document and in SI."""


def required(case: UseCase, made: Derivations) -> Judged:
    """The requirements of a use case, and of every stream that what is produced arrives.

    The second is left out where the file itself requires that goodput, or allows that nothing arrives.
    """
    own = tuple(zip(case.requirements, requirements(case.requirements, made), strict=True))
    implied = [
        Limit(
            name=ARRIVES,
            metric=GOODPUT,
            at_least=least.name,
            kind="firm",
            stream=stream.name,
            source="required of every stream; allowed_shortfall lets some of it be lost",
        )
        for stream in case.streams
        for least in (arriving_goodput(stream.name, made),)
        if least.value > 0 and not _requires(case, own, stream.name, least.value)
    ]
    return (*own, *zip(implied, requirements(implied, made), strict=True))


def _requires(case: UseCase, own: Judged, stream: str, goodput_bps: float) -> bool:
    """Whether a requirement of the file demands a goodput of a stream."""
    return any(
        limit.metric == GOODPUT
        and case.stream_of(limit) == stream
        and wanted.at_least is not None
        and wanted.at_least >= goodput_bps
        for limit, wanted in own
    )


def requirements(limits: Iterable[Limit], made: Derivations) -> tuple[Requirement, ...]:
    """Requirements in the order of the document, limits in SI.

    Raises
    ------
    UseCaseError, UnitError
        If a limit names no derived number, or is of another kind than its metric.
    """
    return tuple(_requirement(limit, made) for limit in limits)


def _requirement(limit: Limit, made: Derivations) -> Requirement:
    def read(text: str | None) -> float | None:
        return None if text is None else _limit(limit, text, made)

    return Requirement(
        name=limit.name,
        metric=limit.metric,
        at_least=read(limit.at_least),
        at_most=read(limit.at_most),
        kind=limit.kind,
        source=limit.source,
    )


def _limit(limit: Limit, text: str, made: Derivations) -> float:
    if is_reference(text):
        derivation = lookup(made, text)
        if quantity_kind(derivation.quantity) != _metric_kind(limit.metric):
            raise UseCaseError(
                f"the requirement {limit.name!r} limits {limit.metric} by {text}, which is "
                f"{derivation.text}: name a number of the same kind"
            )
        return derivation.value
    parse = _cores if limit.metric.endswith("_cores") else _parser(limit.metric)
    try:
        return parse(text)
    except UnitError as error:
        raise UseCaseError(f"the requirement {limit.name!r}: {error}") from error


def _metric_kind(metric: str) -> str | None:
    if metric.endswith("_cores"):
        return None
    return quantity_kind(metric) or "ratio"


def _parser(metric: str) -> Callable[[str], float]:
    return units.QUANTITIES[_metric_kind(metric) or "ratio"]


def _cores(text: str) -> float:
    number = text.removesuffix("cores").removesuffix("core").strip()
    if number == text or not number.replace(".", "", 1).isdecimal():
        raise UnitError(f'{text!r} is no number of cores: write a text such as "1.5 cores"')
    return float(number)
