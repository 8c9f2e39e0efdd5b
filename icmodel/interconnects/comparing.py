"""Judge a use case on every interconnect and line rate, by the strongest source of each link.

Each link is a row of the comparison. The sources of a link are the datasets measured on the link, and theory. If no
dataset predicts every required goodput, ``hybrid`` extrapolates from the nearest line rate of the same kind and
protocol. A link that theory refutes is not extrapolated. If no dataset can answer, theory is the only source.

If a requirement exceeds a bound of theory, no host can meet the requirement on that wire: theory refutes the link, and
its verdict is *not met*. Otherwise, the verdict is *met* if one dataset meets all requirements, and *not met* only if
all sources fail. Among sources with equal verdicts, the one with the strongest kind of evidence decides.

For the bounds of theory, Ethernet is assumed to have jumbo frames (MTU 9000), so that a refutation also holds for
smaller packets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from icmodel import units
from icmodel.dataset import Dataset, Interconnect, catalogue, load
from icmodel.errors import ScenarioError
from icmodel.estimate import Estimate, absent
from icmodel.interconnects.links import (
    ETHERNET,
    Link,
    MeasuredLink,
    compared_links,
    measured_choices,
    measured_links,
    theory_choices,
)
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
from icmodel.message import AT_ONCE, MESSAGE_METRICS
from icmodel.model import Model
from icmodel.requirement import NOT_MET, judge, while_all_passes
from icmodel.scenario import Scenario
from icmodel.tables.wire import Wire
from icmodel.usecase import (
    Answer,
    CandidateResult,
    Derivation,
    Finding,
    UseCase,
    derive,
    judge_candidates,
    load_derived,
    usecase_file,
)
from icmodel.usecase.derivation import Derivations, produced_bps, required
from icmodel.usecase.document import Candidate, ImageStream, Limit
from icmodel.usecase.evaluation import at_needed_rate
from icmodel.usecase.hosts import (
    SharedInterface,
    interface_derivations,
    interfaces,
    shared_interface,
)
from icmodel.usecase.judging import share_bps
from icmodel.usecase.result import NO_EVIDENCE, Evidence

EXTRAPOLATING = "hybrid"
"""Variant of the model that extrapolates to other line rates and includes the application's work."""
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
    known = tuple(link for data in loaded for link in measured_links(data))
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
    """Sources of verdicts on one use case: theory, and the datasets measured on the links ``known``.

    Loaded models are kept in ``models``, since the next link may need them too.
    """

    case: UseCase
    derived: Derivations
    known: tuple[MeasuredLink, ...]
    models: dict[tuple[str, str], Model]
    cache: bool

    def row(self, link: Link) -> tuple[Row, ...]:
        """Judge one link by all its sources (datasets and theory), and return its row of the comparison.

        The result is a tuple of one row; it is empty if no source can judge the link.
        """
        measured = [self.measured(known, link) for known in self.known if known.matches(link)]
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

    def measured(self, known: MeasuredLink, link: Link) -> Source:
        """Judge the use case by a dataset that was measured on the link.

        The variant is ``hybrid`` if the use case states the application's work, otherwise the dataset's default.
        """
        ground = MEASURED_HERE if known.by_icprobe else PUBLISHED
        works = any(self.case.work(stream.name) for stream in self.case.streams)
        variant = EXTRAPOLATING if works else known.data.default_variant
        return self.source(known, link, ground, variant)

    def extrapolated(self, link: Link) -> list[Source]:
        """Judge the use case by extrapolation from another line rate; empty if no dataset can.

        Datasets with the same interconnect and protocol are tried, the nearest line rate first, until one can answer.
        """
        rate = link.line_rate_bps
        if rate is None:
            return []
        near = [
            (abs(math.log(own / rate)), not known.by_icprobe, -len(known.data.points), known)
            for known in self.known
            if (own := known.link.line_rate_bps) is not None
            and known.link.kind == link.kind
            and known.matching_protocols(link)
            and not known.matches(link)
        ]
        for *_, known in sorted(near, key=lambda entry: entry[:3]):
            source = self.source(known, link, EXTRAPOLATED, EXTRAPOLATING)
            if source.answers:
                return [source]
        return []

    def source(self, known: MeasuredLink, link: Link, ground: str, variant: str) -> Source:
        """Judge the use case by one dataset of a link, and return the result of the best candidate.

        The candidates are all combinations of protocols, payloads and core counts that `measured_choices` generates.
        ``ground`` is the kind of source, one of `GROUNDS`. For the kind ``extrapolated``, all predictions are
        extrapolated from the dataset's line rate to the line rate of the link.
        """
        data, rate = known.data, link.line_rate_bps if ground == EXTRAPOLATED else None
        key = (str(data.folder), variant)
        if key not in self.models:
            self.models[key] = Model(data, variant, cache=self.cache)
        protocols = known.matching_protocols(link)
        choices = measured_choices(self.case, self.derived, known, protocols, rate)
        results = judge_candidates(self.case, choices, self.models[key], self.derived, brief=True)
        own = known.link.line_rate_bps
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


JUMBO_MTU_BYTES = 9000
OF_THEORY = Evidence("theory", ("theory",), (), "")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds that theory sets for one stream on a wire, whatever the hosts.

    ``alone_bps`` is the greatest goodput without other streams. ``goodput_bps`` is the greatest goodput while the other
    streams of the interface ``shared`` are sent too; if ``shared`` is ``None``, no other streams use it. ``latency_s``
    is the least latency.
    """

    scenario: Scenario
    alone_bps: float
    goodput_bps: float
    latency_s: float
    shared: SharedInterface | None


def judged_by_physics(
    case: UseCase, derived: Derivations, link: Link
) -> tuple[CandidateResult, ...]:
    """Judge a use case on a link by the bounds of theory.

    The result has one element for each frame size that `theory_choices` suggests for the link. It is empty if the line
    rate is unknown.
    """
    if link.line_rate_bps is None:
        return ()
    mtu = JUMBO_MTU_BYTES if link.kind == ETHERNET else None
    wire = Wire(link.protocol or "message", Interconnect(link.kind, link.line_rate_bps, mtu))
    choices = theory_choices(case, derived, wire)
    return tuple(_judged(case, candidate, wire, derived) for candidate in choices)


def _judged(
    case: UseCase, candidate: Candidate, wire: Wire, derived: Derivations
) -> CandidateResult:
    bounds, derivations = _stream_bounds(case, candidate, wire, derived)
    findings = []
    for limit, requirement in required(case, derived):
        name = case.stream_of(limit)
        estimate = _estimate(case, limit, bounds[name], wire)
        if limit.metric.startswith("latency_") or limit.metric in MESSAGE_METRICS:
            passing = _interval(0.0, bounds[name].goodput_bps, "")
            produced = produced_bps(case.stream(name), derived)
            estimate = while_all_passes(estimate, passing, produced)
        known = not math.isnan(estimate.low)
        verdict = judge(requirement, estimate, "wire" if known else "")
        evidence = OF_THEORY if known else NO_EVIDENCE
        findings.append(Finding(verdict, name, limit.device or "", 1, rests_on=evidence))
    answers = []
    for name, bound in bounds.items():
        shared = () if bound.shared is None else bound.shared.derivations
        why = "theory does not describe hosts"
        answers.append(Answer(name, bound.scenario, bound.scenario, None, why, (), shared))
    return CandidateResult(
        name=candidate.name,
        description=candidate.description,
        answers=tuple(answers),
        findings=tuple(findings),
        readings=(),
        derivations=derivations,
        objectives=(),
        notes=(),
    )


def _stream_bounds(
    case: UseCase, candidate: Candidate, wire: Wire, derived: Derivations
) -> tuple[Mapping[str, _Bounds], tuple[Derivation, ...]]:
    """Compute bounds of each stream on the wire: its greatest goodput and its least latency, whatever the hosts.

    The goodput is bounded twice: for the stream alone, and with the other streams at its busiest interface. The least
    latency is the transmission time of one frame plus the delay of the use case's cable; switches add no delay.
    """
    scenarios, alone_bps = {}, {}
    for name, question in candidate.scenarios.items():
        scenarios[name] = at_needed_rate(question.scenario(), name, derived)
        payload = np.array([float(scenarios[name].payload_bytes)])
        alone_bps[name] = float(wire.goodput_bound_bps(payload, wire.serialisation_s(payload))[0])
    capacities_bps = {name: Fraction(goodput_bps) for name, goodput_bps in alone_bps.items()}
    found = interfaces(case, candidate, capacities_bps, derived)

    per_metre = 0.0 if case.medium is None else case.medium.propagation_s_per_m
    bounds = {}
    for name, scenario in scenarios.items():
        shared = shared_interface(case, candidate, name, found, derived)
        goodput_bps = alone_bps[name]
        if shared is not None:
            goodput_bps = share_bps(goodput_bps, shared.endpoints, shared.other_goodput_bps)
        frame_s = float(wire.lone_frame_s(np.array([float(scenario.payload_bytes)]))[0])
        latency_s = frame_s + (scenario.distance_m or 0.0) * per_metre
        bounds[name] = _Bounds(scenario, alone_bps[name], goodput_bps, latency_s, shared)
    return bounds, interface_derivations(found)


def _estimate(case: UseCase, limit: Limit, bounds: _Bounds, wire: Wire) -> Estimate:
    """Return the interval that theory gives for a metric: it follows from the wire alone, and holds for any hosts.

    If theory has no bound of the metric, the result is an estimate without a value; it states this as the reason.
    """
    metric, payload_bytes = limit.metric, bounds.scenario.payload_bytes
    rate, alone = (
        units.format_bps(wire.link.line_rate_bps or 0.0),
        units.format_bps(bounds.alone_bps),
    )
    if metric in ("goodput_bps", "sent_bps"):
        why = f"frames of {payload_bytes} B carry at most {alone} of {rate}"
        if (shared := bounds.shared) is not None:
            others = units.format_bps(shared.other_goodput_bps)
            why += f"; {shared.endpoints} endpoints share this, and the others need {others}"
        return _interval(0.0, bounds.goodput_bps, why)
    if metric.startswith("latency_") and metric != "latency_std_s":
        metres = units.format_metres(bounds.scenario.distance_m or 0.0)
        why = f"{payload_bytes} B with all headers at {rate}, and {metres} of cable"
        return _interval(bounds.latency_s, math.inf, why)
    stream = case.stream(case.stream_of(limit))
    if metric == AT_ONCE and isinstance(stream, ImageStream):
        size = stream.picture.size_bytes
        why = f"{units.format_bytes(size)} at {alone}"
        return _interval(8 * size / bounds.alone_bps, math.inf, why)
    return absent(f"theory has no bound of {metric}: it depends on the hosts")


def _interval(low: float, high: float, why: str) -> Estimate:
    return Estimate(math.nan, low, high, "theory", why, ("theory",))
