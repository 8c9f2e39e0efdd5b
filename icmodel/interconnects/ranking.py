"""Rank the interconnects of a comparison, the best first.

Each interconnect belongs to one of four classes, listed here from best to worst:

- *carries*: a dataset meets all requirements. Theory alone never gives this class.
- *hosts open*: the wire could carry the use case, but it is undecided whether the hosts can.
- *hosts fail*: the wire could carry the use case, but the measured hosts fail.
- *impossible*: the wire cannot carry the use case, whatever the hosts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from icmodel.estimate import metric_name, plural, quantity
from icmodel.interconnects.result import GOODPUT, GROUNDS, THEORY, Comparison, Row, Source
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.usecase import Finding

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
        """Class of the row: ``carries``, ``hosts open``, ``hosts fail`` or ``impossible``."""
        return class_of(self.row)

    @property
    def wire_headroom(self) -> float:
        """Goodput that the wire allows, divided by the required goodput, minus 1; NaN if unknown.

        If several goodputs are required, the least ratio counts. If it is negative, no host can meet the requirement.
        """
        theory = [one for one in (self.row.source, *self.row.others) if one.ground == THEORY]
        return _headroom(theory[0]) if theory else math.nan

    @property
    def host_headroom(self) -> float:
        """Predicted goodput of the hosts, divided by the required goodput, minus 1; NaN if unknown."""
        return math.nan if self.row.source.ground == THEORY else _margin(self.row.source)

    @property
    def least_cores(self) -> int | None:
        """Fewest tried cores of each host that reach the verdict; ``None`` if unknown or impossible."""
        return None if self.kind == IMPOSSIBLE else self.row.source.least_cores

    @property
    def sentence(self) -> str:
        """Reason why the row belongs to its class, in one sentence."""
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
        by = "" if source.ground == THEORY else f" by {source.dataset} ({source.ground})"
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

    The criteria, in order: class, predicted values within their limits, kind of evidence, line rate (the slowest link
    first), and headroom. Among impossible links, the fastest comes first.

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
    """Return the class of a row: ``carries``, ``hosts open``, ``hosts fail`` or ``impossible``."""
    if row.refuted:
        return IMPOSSIBLE
    return {MET: CARRIES, UNDECIDED: HOSTS_OPEN, NOT_MET: HOSTS_FAIL}[row.outcome]


def _headroom(theory: Source) -> float:
    """Return the least ratio of the wire's goodput to a required goodput, minus 1; NaN if none is required."""
    ratios = [
        finding.verdict.estimate.high / finding.verdict.requirement.limit - 1
        for finding in _goodputs(theory)
    ]
    return min((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)


def _margin(source: Source) -> float:
    margins = [finding.verdict.margin for finding in _goodputs(source)]
    return min((margin for margin in margins if math.isfinite(margin)), default=math.nan)


def _goodputs(source: Source) -> list[Finding]:
    """Return the findings of a source on required goodputs."""
    return [
        finding
        for finding in source.result.findings
        if finding.verdict.requirement.metric == GOODPUT and finding.verdict.requirement.limit > 0
    ]


def _decided(finding: Finding) -> str:
    """Describe a finding as text: metric, value (or the known bound of the value), and limit."""
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
