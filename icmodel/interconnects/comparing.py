"""Compare: a use case on each interconnect, by the strongest source for it.

A row is answered by datasets that were measured on that link; if none has the goodput, also by the
nearest line rate of its kind and protocol, which ``hybrid`` extrapolates; else by theory alone.  What
physics refutes is not extrapolated.  One system that meets all requirements
shows that the interconnect can, so a row is met if one dataset meets it, and not met only if
all sources fail or physics refutes it.  Among equal verdicts the strongest source is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from icmodel.dataset import Dataset, catalogue, load
from icmodel.interconnects.choices import Carrier, Link, carriers, compared_links, measured_choices
from icmodel.interconnects.physics import judged_by_physics
from icmodel.interconnects.result import (
    EXTRAPOLATED,
    GROUNDS,
    MEASURED_HERE,
    PUBLISHED,
    THEORY,
    Comparison,
    Row,
    Source,
)
from icmodel.model import Model
from icmodel.requirement import NOT_MET, OUTCOMES, UNDECIDED
from icmodel.usecase import (
    CandidateResult,
    Finding,
    UseCase,
    derive,
    judge_candidates,
    load_usecase,
)
from icmodel.usecase.derivation import Derivations

KNOWING = "hybrid"
"""The variant that knows another line rate, and the application's work."""
GOODPUT = "goodput_bps"
Watch = Callable[[int, int], None]


def compare_interconnects(
    usecase: str | Path | UseCase,
    datasets: Iterable[Dataset | str | Path] | None = None,
    watch: Watch | None = None,
    *,
    cache: bool = True,
) -> Comparison:
    """Judge a use case on every interconnect and line rate, by what is known of each.

    Parameters
    ----------
    usecase : str, Path or UseCase
        Bundled name, path of a TOML file, or a loaded use case.
    datasets : iterable of Dataset, str or Path, optional
        Which ones may speak; all bundled ones by default.
    watch : callable, optional
        Told after each row how many of how many are done.
    cache : bool
        Whether fits of ``hybrid`` are kept in the user's cache folder.

    Raises
    ------
    UseCaseError, DatasetError
        If one of them is missing or damaged.
    """
    case = usecase if isinstance(usecase, UseCase) else load_usecase(usecase)
    names = catalogue() if datasets is None else datasets
    loaded = [one if isinstance(one, Dataset) else load(one) for one in names]
    known = tuple(carrier for data in loaded for carrier in carriers(data))
    asking = _Asking(case, derive(case), known, {}, cache)
    rows: list[Row] = []
    links = compared_links(known)
    for number, link in enumerate(links, 1):
        rows += asking.row(link)
        if watch is not None:
            watch(number, len(links))
    return Comparison(case, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Asking:
    """A use case, what may be asked of it, and the models that were made."""

    case: UseCase
    made: Derivations
    known: tuple[Carrier, ...]
    models: dict[tuple[str, str], Model]
    cache: bool

    def row(self, link: Link) -> tuple[Row, ...]:
        """Who answers for a link, and who else does; no row where nobody does, theory included."""
        asked = [self.measured(one, link) for one in self.known if one.at(link)]
        sources = [one for one in asked if _answers(one.result)]
        silent = tuple((one.dataset, _reason(one)) for one in asked if not _answers(one.result))
        physics = [
            Source(THEORY, "", "", None, result) for result in judged_by_physics(self.case, link)
        ]
        theory = [_best(physics)] if physics else []
        refuted = any(one.outcome == NOT_MET for one in theory)
        if not refuted and all(_silent_goodputs(one.result) for one in sources):
            sources += self.extrapolated(link)
        if not sources + theory:
            return ()
        used = _speaker(sources, theory)
        sources += theory
        return (Row(link, used, tuple(one for one in sources if one is not used), silent),)

    def measured(self, carrier: Carrier, link: Link) -> Source:
        """The answer of a dataset that was measured on a link, by the variant that knows the application's work."""
        ground = MEASURED_HERE if carrier.own else PUBLISHED
        works = any(self.case.work(stream.name) for stream in self.case.streams)
        variant = KNOWING if works else carrier.data.default_variant
        return self.asked(carrier, link, ground, variant)

    def extrapolated(self, link: Link) -> list[Source]:
        """What the nearest line rate of the kind says that answers; nothing where none does."""
        rate = link.line_rate_bps
        if rate is None:
            return []
        near = [
            (abs(math.log(own / rate)), not one.own, -len(one.data.points), one)
            for one in self.known
            if (own := one.link.line_rate_bps) is not None
            and one.link.kind == link.kind
            and one.on(link)
            and not one.at(link)
        ]
        for *_, carrier in sorted(near, key=lambda one: one[:3]):
            source = self.asked(carrier, link, EXTRAPOLATED, KNOWING)
            if _answers(source.result):
                return [source]
        return []

    def asked(self, carrier: Carrier, link: Link, ground: str, variant: str) -> Source:
        """The best of the choices a dataset is asked, at its own rate or extrapolated to the link's."""
        rate = link.line_rate_bps if ground == EXTRAPOLATED else None
        choices = measured_choices(self.case, carrier, carrier.on(link), rate)
        results = judge_candidates(
            self.case, choices, self.model(carrier.data, variant), self.made, brief=True
        )
        own = carrier.link.line_rate_bps
        return _best([Source(ground, carrier.data.id, variant, own, one) for one in results])

    def model(self, data: Dataset, variant: str) -> Model:
        """The model of a dataset, made once."""
        key = (str(data.folder), variant)
        if key not in self.models:
            self.models[key] = Model(data, variant, cache=self.cache)
        return self.models[key]


def _speaker(sources: Sequence[Source], theory: Sequence[Source]) -> Source:
    """Who answers for a link: theory where it alone refutes, or speaks alone; else the best of the others."""
    if not sources:
        return _best(theory)
    best = _best(sources)
    refuting = [one for one in theory if one.outcome == NOT_MET != best.outcome]
    return next(iter(refuting), best)


def _best(sources: Sequence[Source]) -> Source:
    return min(sources, key=_preference)


def _preference(source: Source) -> tuple[float, ...]:
    """Who answers more streams, and their goodputs, first; then the better verdict, the stronger ground.

    Then the fewer open and failed requirements, and the margin.
    """
    findings = source.result.findings
    margin = source.decisive.verdict.margin
    return (
        len({one.stream for one in findings} - {one.stream for one in findings if _number(one)}),
        _silent_goodputs(source.result),
        OUTCOMES.index(source.outcome),
        GROUNDS.index(source.ground),
        sum(not _number(one) for one in findings),
        sum(one.outcome == NOT_MET for one in findings),
        sum(one.outcome == UNDECIDED for one in findings),
        math.inf if math.isnan(margin) else -margin,
    )


def _silent_goodputs(result: CandidateResult) -> int:
    """How many required goodputs a dataset gives no number for."""
    return sum(
        not _number(one) for one in result.findings if one.verdict.requirement.metric == GOODPUT
    )


def _number(finding: Finding) -> bool:
    """Whether a dataset gives a number for a requirement, and not only theory's bounds."""
    return not finding.verdict.estimate.absent


def _answers(result: CandidateResult) -> bool:
    """Whether a dataset gives a number for any requirement."""
    return any(_number(finding) for finding in result.findings)


def _reason(source: Source) -> str:
    """Why a dataset answers nothing."""
    return next((finding.verdict.why for finding in source.result.findings), "")
