"""Result of judging one use case on every interconnect: the comparison, its ranking and its JSON form.

Each interconnect belongs to one of four classes, listed here from best to worst:

- *carries*: a dataset meets all requirements. Theory alone never gives this class.
- *hosts open*: the wire could carry the use case, but it is undecided whether the hosts can.
- *hosts fail*: the wire could carry the use case, but the measured hosts fail.
- *impossible*: the wire cannot carry the use case, whatever the hosts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from icmodel import units
from icmodel.documents import json_form, json_of
from icmodel.estimate import BASES, metric_name, plural, quantity, weakest
from icmodel.interconnects.links import Link
from icmodel.reading import SourceFile
from icmodel.requirement import EXIT_CODES, MET, NOT_MET, OUTCOMES, UNDECIDED, outcome_text
from icmodel.table import Coloured, html_table
from icmodel.usecase import CandidateResult, Finding, UseCase
from icmodel.usecase.judging import CAPACITIES
from icmodel.usecase.result import needed_measurement

SCHEMA_VERSION = 1
MEASURED_HERE, PUBLISHED, EXTRAPOLATED, THEORY = (
    "measured here",
    "published",
    "extrapolated",
    "theory only",
)
GROUNDS = (MEASURED_HERE, PUBLISHED, EXTRAPOLATED, THEORY)
"""Kinds of source for a verdict on a link: three kinds of dataset, and theory; the strongest first."""
GOODPUT = "goodput_bps"


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a verdict (a dataset or theory), with its result for a use case on a link.

    Parameters
    ----------
    ground : str
        Kind of source, one of `GROUNDS`.
    dataset, variant : str
        Dataset and variant of the model; empty for theory.
    measured_bps : float, optional
        Line rate at which the dataset was measured [b/s]; ``None`` for theory, or if the dataset does not state it.
    result : CandidateResult
        Result of the best candidate.
    least_cores : int, optional
        Least core count with which a tried candidate has the outcome of ``result``. It is ``None`` for the outcome *not
        met*, since no tried core count suffices, for theory, and if no candidate has a core count.
    """

    ground: str
    dataset: str
    variant: str
    measured_bps: float | None
    result: CandidateResult
    least_cores: int | None = None

    @property
    def outcome(self) -> str:
        """Outcome of the use case: met, not met or undecided."""
        return self.result.outcome

    @property
    def protocols(self) -> tuple[str, ...]:
        """Protocols of the best candidate, each once, in the order of the use case's streams."""
        return tuple(dict.fromkeys(answer.asked.protocol for answer in self.result.answers))

    @property
    def decisive(self) -> Finding:
        """Finding (a judged requirement) that decides the outcome.

        If several requirements are not met, the one with the strongest basis (kind of evidence) decides. But a latency
        that grows without limit is only a consequence of too little goodput: it decides only if no other requirement
        fails. If no requirement fails, the undecided or met requirement with the least margin decides.
        """
        failed = [finding for finding in self.result.findings if finding.outcome == NOT_MET]
        if not failed:
            return self.result.decisive
        return min(
            failed,
            key=lambda finding: (
                finding.grows,
                BASES.index(finding.rests_on.basis),
                finding.verdict.margin,
            ),
        )

    @property
    def basis(self) -> str:
        """Basis (kind of evidence) on which the outcome rests; empty if nothing was predicted.

        For the outcome *not met*, it is the basis of the finding `decisive`. Otherwise, it is the weakest basis of all
        findings whose outcome equals the outcome of the use case.
        """
        if self.outcome == NOT_MET:
            return self.decisive.rests_on.basis
        deciding = [finding for finding in self.result.findings if finding.outcome == self.outcome]
        bases = [finding.rests_on.basis for finding in deciding if finding.rests_on.basis]
        return weakest(bases) if bases else ""

    def to_dict(self) -> dict[str, object]:
        """Convert the result of one source (dataset or theory) to a dict for JSON."""
        return {
            **json_of(self, "ground", "dataset", "variant"),
            "measured_line_rate_bps": self.measured_bps,
            **json_of(self, "protocols", "outcome", "basis"),
            "choice": self.result.description,
            "scenarios": {
                answer.stream: answer.scenario.to_dict() for answer in self.result.answers
            },
            "findings": json_form(self.result.findings),
            "notes": list(self.notes),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the predictions of the source (a dataset or theory), and reasons for missing ones, each once."""
        notes = [note for answer in self.result.answers for note in (*answer.notes, answer.why)]
        return tuple(dict.fromkeys(note for note in (*notes, *self.result.notes) if note))

    @property
    def answers(self) -> bool:
        """Whether the source (a dataset or theory) has a value, not only a bound, for at least one requirement."""
        return any(not finding.verdict.estimate.absent for finding in self.result.findings)

    @property
    def missing_goodputs(self) -> int:
        """Number of requirements on goodput for which the source (a dataset or theory) predicts no value."""
        return sum(
            finding.verdict.estimate.absent
            for finding in self.result.findings
            if finding.verdict.requirement.metric == GOODPUT
        )

    @property
    def order(self) -> tuple[float, ...]:
        """Sort key of the sources of a link; the best source has the least key.

        Each criterion counts only if all criteria before it are equal. The better source has:

        - fewer streams without a prediction, then fewer required goodputs without a prediction
        - the better outcome (*met*, *undecided*, *not met*), then the stronger kind of evidence
        - fewer requirements without a prediction, then fewer *not met*, then fewer *undecided*
        - the greater margin of the deciding requirement
        """
        findings = self.result.findings
        missing = [finding for finding in findings if finding.verdict.estimate.absent]
        margin = self.decisive.verdict.margin
        known = {finding.stream for finding in findings if not finding.verdict.estimate.absent}
        return (
            len({finding.stream for finding in findings} - known),
            self.missing_goodputs,
            OUTCOMES.index(self.outcome),
            GROUNDS.index(self.ground),
            len(missing),
            sum(finding.outcome == NOT_MET for finding in findings),
            sum(finding.outcome == UNDECIDED for finding in findings),
            math.inf if math.isnan(margin) else -margin,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a comparison: one link, the source that decides its verdict, and the other sources.

    A source is a dataset of the link, or theory alone. ``silent`` lists the datasets of the link that cannot answer,
    each with the reason.
    """

    link: Link
    source: Source
    others: tuple[Source, ...] = ()
    silent: tuple[tuple[str, str], ...] = ()

    @property
    def outcome(self) -> str:
        """Outcome of the use case: met, not met or undecided."""
        return self.source.outcome

    @property
    def protocol(self) -> str:
        """Protocol of the link, or the protocols of the best candidate joined by ``+``."""
        return self.link.protocol or "+".join(self.source.protocols)

    @property
    def refuted(self) -> bool:
        """Whether theory proves that no host can meet the use case on this link."""
        return any(
            source.ground == THEORY and source.outcome == NOT_MET
            for source in (self.source, *self.others)
        )

    @property
    def decisive(self) -> Finding:
        """Finding (a judged requirement) that decides the row.

        If theory refutes the link, it is the finding of theory.
        """
        sources = (self.source, *self.others)
        refuting = [source for source in sources if source.ground == THEORY and self.refuted]
        return next(iter(refuting), self.source).decisive

    @property
    def measurements(self) -> tuple[str, ...]:
        """Measurements that would decide an undecided row, one per stream; empty for a decided row."""
        if self.outcome != UNDECIDED:
            return ()
        found = []
        for answer in self.source.result.answers:
            metrics = dict.fromkeys(
                finding.verdict.requirement.metric
                for finding in self.source.result.findings
                if finding.outcome == UNDECIDED and finding.stream == answer.stream
            )
            if metrics:
                found.append(needed_measurement(" and ".join(metrics), answer.scenario))
        return tuple(found)

    def to_dict(self) -> dict[str, object]:
        """Convert the row to a dict for JSON."""
        return {
            "interconnect": self.link.kind,
            "line_rate_bps": self.link.line_rate_bps,
            "protocol": self.protocol,
            "outcome": self.outcome,
            "ground": self.source.ground,
            "basis": self.source.basis,
            "refuted_by_theory": self.refuted,
            "decided_by": self.decisive.verdict.requirement.name,
            **json_of(self, "measurements", "source", "others"),
            "silent": [{"dataset": name, "why": why} for name, why in self.silent],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of judging one use case on every link, one row per link.

    ``file`` is the file of the use case; ``None`` if it was given as an object. ``datasets`` names the datasets chosen
    by the caller; ``None`` if all bundled datasets were used.
    """

    usecase: UseCase
    rows: tuple[Row, ...]
    file: SourceFile | None = None
    datasets: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        counts = (
            f"{sum(row.outcome == outcome for row in self.rows)} {outcome}" for outcome in OUTCOMES
        )
        return f"Comparison({self.usecase.name!r}: {', '.join(counts)})"

    def _repr_html_(self) -> str:
        """Return a table of the compared links in HTML for a notebook, the best outcome first."""
        rows = []
        for row in sorted(self.rows, key=lambda one: OUTCOMES.index(one.outcome)):
            rate = row.link.line_rate_bps
            link = f"{row.link.kind} {'' if rate is None else units.format_bps(rate, 3)}"
            protocol = row.link.protocol or "+".join(row.source.protocols)
            source = row.source.dataset or row.source.ground
            outcome = Coloured(outcome_text(row.outcome), row.outcome)
            rows.append(
                (link.strip(), protocol, outcome, row.decisive.title, row.source.ground, source)
            )
        columns = ("link", "protocol", "verdict", "decided by", "based on", "source")
        title = f"{outcome_text(self.verdict)}: {self.usecase.title}, {len(self.rows)} links"
        return html_table(Coloured(title, self.verdict), columns, rows)

    @property
    def verdict(self) -> str:
        """Best outcome of all links: *met* ranks before *undecided*, and *undecided* before *not met*."""
        outcomes = {row.outcome for row in self.rows}
        return next(outcome for outcome in OUTCOMES if outcome in outcomes)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for the verdict: 0 met, 1 not met, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """Convert the comparison to a dict for JSON, as ``icmodel compare --usecase --json`` prints it."""
        keys = ("name", "title", "question", "source", "citation")
        return {
            "schema_version": SCHEMA_VERSION,
            "usecase": json_of(self.usecase, *keys),
            **json_of(self, "verdict", "rows"),
            "known_limits": list(self.usecase.known_limits),
        }


CARRIES, HOSTS_OPEN, HOSTS_FAIL, IMPOSSIBLE = (
    "carries",
    "hosts open",
    "hosts fail",
    "impossible",
)
CLASSES = (CARRIES, HOSTS_OPEN, HOSTS_FAIL, IMPOSSIBLE)
"""Classes of the rows of a ranking, best first; see the docstring of this module."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of a comparison (one link) with its place in the ranking.

    Parameters
    ----------
    rank : int
        Place in the ranking, 1 is the best.
    row : Row
        Row of the comparison.
    """

    rank: int
    row: Row

    @property
    def kind(self) -> str:
        """Class of the row: whether wire and hosts of this link meet the use case.

        ``carries``: they meet it. ``hosts open``: it is undecided. ``hosts fail``: the hosts do not meet it.
        ``impossible``: theory proves that no hosts can meet it on this wire.
        """
        return class_of(self.row)

    @property
    def wire_headroom(self) -> float:
        """Goodput that the wire allows, divided by the required goodput, minus 1; NaN if unknown.

        If several goodputs are required, the least headroom counts. If the headroom is negative, no host can meet the
        use case.
        """
        ratios = [
            finding.verdict.estimate.high / finding.verdict.requirement.limit - 1
            for source in (self.row.source, *self.row.others)
            if source.ground == THEORY
            for finding in _goodputs(source)
        ]
        return min((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)

    @property
    def host_headroom(self) -> float:
        """Goodput that the hosts can carry, divided by the required goodput, minus 1; NaN if unknown.

        If several goodputs are required, the least headroom counts. A stream carries no more than it requests, so its
        predicted goodput does not show what the hosts could carry. Therefore, if the prediction meets the required
        goodput, the capacity of the hosts is used if it is greater.
        """
        source = self.row.source
        if source.ground == THEORY:
            return math.nan
        predictions = {one.stream: one.prediction for one in source.result.answers}
        margins = []
        for finding in _goodputs(source):
            margin, prediction = finding.verdict.margin, predictions.get(finding.stream)
            if margin >= 0 and prediction is not None:
                bounds = [
                    prediction.bounds[name] for name in CAPACITIES if name in prediction.bounds
                ]
                capacity_bps = min(bounds, default=math.nan)
                margin = max(margin, capacity_bps / finding.verdict.requirement.limit - 1)
            margins.append(margin)
        return min((margin for margin in margins if math.isfinite(margin)), default=math.nan)

    @property
    def least_cores(self) -> int | None:
        """Least tried number of cores per host with which the use case has the outcome of this row.

        It is ``None`` if no candidate states its cores, or if the row has the class *impossible*: no number of cores
        helps on this link.
        """
        return None if self.kind == IMPOSSIBLE else self.row.source.least_cores

    @property
    def sentence(self) -> str:
        """Reason why this row of the ranking has its class (such as ``carries`` or ``impossible``), in one sentence."""
        decided, wire = _decided(self.row.decisive), self.wire_headroom
        source = self.row.source
        if self.kind == IMPOSSIBLE:
            return f"no host can: {decided}"
        beyond = "no source states the line rate"
        if wire == wire:
            beyond = f"the wire carries {1 + wire:.3g} times the required goodput"
        if self.kind == CARRIES:
            cores = "" if self.least_cores is None else f" with {plural(self.least_cores, 'core')}"
            count = plural(len(source.result.findings), "requirement")
            return f"{source.dataset} ({source.ground}) meets {count}{cores}; {beyond}"
        if self.kind == HOSTS_FAIL:
            return f"{beyond}; the hosts of {source.dataset} ({source.ground}) fail: {decided}"
        more = sum(one.outcome == UNDECIDED for one in source.result.findings) - 1
        others = f" and {more} more" if more else ""
        by = "" if source.ground == THEORY else f", judged by {source.dataset} ({source.ground})"
        return f"{beyond}; the hosts decide{by}: {decided}{others}"

    def to_dict(self) -> dict[str, object]:
        """Convert the ranked row to a dict for JSON."""
        numbers = {"wire_headroom": self.wire_headroom, "host_headroom": self.host_headroom}
        return {
            "rank": self.rank,
            "class": self.kind,
            "interconnect": self.row.link.kind,
            "line_rate_bps": self.row.link.line_rate_bps,
            "protocol": self.row.protocol,
            "outcome": self.row.outcome,
            "ground": self.row.source.ground,
            "basis": self.row.source.basis,
            **{name: value if value == value else None for name, value in numbers.items()},
            "least_cores": self.least_cores,
            "sentence": self.sentence,
        }


def ranked(comparison: Comparison) -> tuple[Ranked, ...]:
    """Rank the rows of a comparison.

    Rows are sorted by class: ``carries``, ``hosts open``, ``hosts fail``, ``impossible``. Within a class, rows whose
    predicted values are all within their limits come first. Among equal rows, stronger evidence decides, then the
    lower line rate, then the greater headroom. Among impossible links, the fastest comes first. In the example, no
    link of 1 Gb/s can carry the use case.

    Examples
    --------
    >>> import icmodel
    >>> from icmodel.interconnects import ranked
    >>> comparison = icmodel.compare_interconnects("imaging", datasets=[], rates_bps=(1e9, 10e9))
    >>> [(one.row.link.line_rate_bps, one.kind) for one in ranked(comparison)][:2]
    [(10000000000.0, 'hosts open'), (10000000000.0, 'hosts open')]
    """

    def order(row: Row) -> tuple[float, ...]:
        one = Ranked(0, row)
        rate = math.inf if row.link.line_rate_bps is None else row.link.line_rate_bps
        headroom = (
            one.wire_headroom if one.host_headroom != one.host_headroom else one.host_headroom
        )
        faster = -rate if one.kind == IMPOSSIBLE else rate
        return (
            CLASSES.index(one.kind),
            any(finding.verdict.margin < 0 for finding in row.source.result.findings),
            GROUNDS.index(row.source.ground) if one.kind != IMPOSSIBLE else 0,
            faster,
            -headroom if headroom == headroom else math.inf,
        )

    rows = sorted(comparison.rows, key=order)
    return tuple(Ranked(number, row) for number, row in enumerate(rows, 1))


def ranked_document(comparison: Comparison) -> dict[str, object]:
    """Return the JSON document that ``icmodel compare --usecase --json`` prints: a comparison and its ranking."""
    return {**comparison.to_dict(), "ranking": [one.to_dict() for one in ranked(comparison)]}


def class_of(row: Row) -> str:
    """Return the class of a link's row in the comparison.

    ``impossible``: theory proves that no host can meet the use case on this link. Otherwise the outcome decides:
    ``carries`` if it is met, ``hosts open`` if undecided, and ``hosts fail`` if not met.
    """
    if row.refuted:
        return IMPOSSIBLE
    return {MET: CARRIES, UNDECIDED: HOSTS_OPEN, NOT_MET: HOSTS_FAIL}[row.outcome]


def _goodputs(source: Source) -> list[Finding]:
    """Return the judged requirements on goodput of a source (a dataset, or theory).

    Requirements with a limit of 0 are left out, since the callers divide by the limit.
    """
    return [
        finding
        for finding in source.result.findings
        if finding.verdict.requirement.metric == GOODPUT and finding.verdict.requirement.limit > 0
    ]


def _decided(finding: Finding) -> str:
    """Describe a finding (a judged requirement) as text: metric, value or bound of the value, and limit."""
    verdict = finding.verdict
    requirement, estimate = verdict.requirement, verdict.estimate
    metric = requirement.metric
    if not estimate.absent:
        value = quantity(metric, estimate.value, 3)
    elif math.isfinite(estimate.high):
        value = f"at most {quantity(metric, estimate.high, 3)}"
    elif math.isinf(estimate.low):
        value = "grows without limit"
    elif estimate.low > 0:
        value = f"at least {quantity(metric, estimate.low, 3)}"
    else:
        value = "unknown"
    limit = f"{requirement.sign} {quantity(metric, requirement.limit, 3)}"
    return f"{metric_name(metric)} {value} ({limit})"
