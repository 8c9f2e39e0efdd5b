"""Judge a use case on every interconnect and line rate; each link is judged by its strongest source.

Each link is a row of the comparison. Its sources are the datasets measured on that link, and theory. If no dataset
predicts every required goodput, ``hybrid`` extrapolates from the nearest line rate of the same kind and protocol. A
link that theory refutes is not extrapolated. If no dataset can answer, theory is the only source.

A row is met if one dataset meets all requirements. A row is not met only if all sources fail, or if theory refutes the
link. Among equal verdicts, the strongest kind of evidence decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import ScenarioError
from icmodel.interconnects.choices import measured_choices
from icmodel.interconnects.links import Carrier, Link, carriers, compared_links
from icmodel.interconnects.physics import judged_by_physics
from icmodel.interconnects.result import (
    EXTRAPOLATED,
    MEASURED_HERE,
    PUBLISHED,
    THEORY,
    Comparison,
    Row,
    Source,
)
from icmodel.keywords import checks_keywords
from icmodel.model import Model
from icmodel.requirement import NOT_MET
from icmodel.usecase import UseCase, derive, judge_candidates, load_derived, usecase_file
from icmodel.usecase.derivation import Derivations

EXTRAPOLATING = "hybrid"
"""Variant of the model that can extrapolate to another line rate, and can include the application's work."""
Watch = Callable[[int, int], None]


@checks_keywords
def compare_interconnects(
    usecase: str | Path | UseCase,
    datasets: Iterable[Dataset | str | Path] | None = None,
    watch: Watch | None = None,
    *,
    rates_bps: Sequence[float] | None = None,
    cache: bool = True,
) -> Comparison:
    """Judge a use case on every interconnect and line rate, each by its strongest source (dataset or theory).

    Parameters
    ----------
    usecase : str, Path or UseCase
        Bundled name, path of a TOML file, or a loaded use case.
    datasets : iterable of Dataset, str or Path, optional
        Datasets to use; by default all bundled datasets.
    watch : callable, optional
        Called after each link with the number of judged links and the total number.
    rates_bps : sequence of float, optional
        Line rates to compare [b/s]; all standard and measured rates by default.
    cache : bool
        Keep fits of ``hybrid`` in the user's cache folder.

    Returns
    -------
    Comparison
        The result: ``rows`` holds the links with their sources, and ``verdict`` is met, not met or undecided.

    Raises
    ------
    UseCaseError, DatasetError
        If the use case or a dataset is missing or damaged.
    ScenarioError
        If a line rate is not above 0 and finite, or no rate is given.

    Examples
    --------
    >>> import icmodel
    >>> comparison = icmodel.compare_interconnects("imaging", datasets=[])
    >>> [row.link.kind for row in comparison.rows if row.refuted][:2]
    ['ethernet', 'ethernet']
    """
    if isinstance(usecase, UseCase):
        case, derived = usecase, derive(usecase)
    else:
        case, derived = load_derived(usecase)
    file = None if isinstance(usecase, UseCase) else usecase_file(usecase)
    names = catalogue() if datasets is None else datasets
    loaded = [data if isinstance(data, Dataset) else load(data) for data in names]
    known = tuple(carrier for data in loaded for carrier in carriers(data))
    sources = _Sources(case, derived, known, {}, cache)
    rows: list[Row] = []
    if rates_bps is not None and not (rates_bps and all(0 < rate < math.inf for rate in rates_bps)):
        raise ScenarioError(
            f"the line rates {list(rates_bps)} b/s are not possible: give at least one rate, each above 0"
        )
    links = compared_links(known, rates_bps)
    for number, link in enumerate(links, 1):
        rows += sources.row(link)
        if watch is not None:
            watch(number, len(links))
    used = None if datasets is None else tuple(data.reference for data in loaded)
    return Comparison(case, tuple(rows), file, used)


@dataclass(frozen=True, slots=True)
class _Sources:
    """Judges of a use case: all datasets and theory, with a cache of fitted models."""

    case: UseCase
    derived: Derivations
    known: tuple[Carrier, ...]
    models: dict[tuple[str, str], Model]
    cache: bool

    def row(self, link: Link) -> tuple[Row, ...]:
        """Judge one link by all its sources, and return its row; empty if neither a dataset nor theory can judge."""
        measured = [self.measured(carrier, link) for carrier in self.known if carrier.at(link)]
        sources = [source for source in measured if source.answers]
        silent = tuple(
            (source.dataset, next((finding.verdict.why for finding in source.result.findings), ""))
            for source in measured
            if not source.answers
        )
        theory = min(
            (
                Source(THEORY, "", "", None, result)
                for result in judged_by_physics(self.case, self.derived, link)
            ),
            key=lambda source: source.order,
            default=None,
        )
        refuted = theory is not None and theory.outcome == NOT_MET
        if not refuted and all(source.missing_goodputs for source in sources):
            sources += self.extrapolated(link)

        best = min(sources, key=lambda source: source.order, default=theory)
        if best is None:
            return ()
        if theory is not None:
            sources.append(theory)
            if refuted and best.outcome != NOT_MET:
                best = theory  # only theory can refute a link
        others = tuple(source for source in sources if source is not best)
        return (Row(link, best, others, silent),)

    def measured(self, carrier: Carrier, link: Link) -> Source:
        """Judge the use case by a dataset that was measured on the link.

        The variant is ``hybrid`` if the use case states the application's work, otherwise the dataset's default.
        """
        ground = MEASURED_HERE if carrier.own else PUBLISHED
        works = any(self.case.work(stream.name) for stream in self.case.streams)
        variant = EXTRAPOLATING if works else carrier.data.default_variant
        return self.source(carrier, link, ground, variant)

    def extrapolated(self, link: Link) -> list[Source]:
        """Judge the use case by extrapolation from another line rate; empty if no dataset can.

        Of the datasets with the same interconnect and protocol, the one with the nearest line rate that can answer is
        used.
        """
        rate = link.line_rate_bps
        if rate is None:
            return []
        near = [
            (abs(math.log(own / rate)), not carrier.own, -len(carrier.data.points), carrier)
            for carrier in self.known
            if (own := carrier.link.line_rate_bps) is not None
            and carrier.link.kind == link.kind
            and carrier.on(link)
            and not carrier.at(link)
        ]
        for *_, carrier in sorted(near, key=lambda entry: entry[:3]):
            source = self.source(carrier, link, EXTRAPOLATED, EXTRAPOLATING)
            if source.answers:
                return [source]
        return []

    def source(self, carrier: Carrier, link: Link, ground: str, variant: str) -> Source:
        """Judge all generated candidates by a dataset, and return the result of the best candidate.

        If ``ground`` is extrapolated, the dataset is extrapolated to the line rate of the link.
        """
        data, rate = carrier.data, link.line_rate_bps if ground == EXTRAPOLATED else None
        key = (str(data.folder), variant)
        if key not in self.models:
            self.models[key] = Model(data, variant, cache=self.cache)
        choices = measured_choices(self.case, self.derived, carrier, carrier.on(link), rate)
        results = judge_candidates(self.case, choices, self.models[key], self.derived, brief=True)
        own = carrier.link.line_rate_bps
        sources = [Source(ground, data.id, variant, own, result) for result in results]
        best = min(sources, key=lambda source: source.order)
        if best.outcome == NOT_MET:
            return best
        alike = (one for one in sources if one.outcome == best.outcome)
        tried = (
            [answer.asked.cores for answer in one.result.answers if answer.asked.cores is not None]
            for one in alike
        )
        return replace(
            best, least_cores=min((max(cores) for cores in tried if cores), default=None)
        )
