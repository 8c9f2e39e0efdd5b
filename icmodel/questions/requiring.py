"""Parse requirements in words, such as ``latency mean <= 100 us``."""

from __future__ import annotations

import re

from icmodel import units
from icmodel.errors import UseCaseError
from icmodel.estimate import metric_name
from icmodel.reading import quantity_kind
from icmodel.requirement import Requirement

LIMIT = re.compile(r"(?P<metric>.+?)\s*(?P<sign><=|>=|≤|≥|<|>|at most|at least)\s*(?P<limit>.+)")
AT_MOST = ("<=", "≤", "<", "at most")
ALIKE = {
    "max": "greatest",
    "maximum": "greatest",
    "min": "least",
    "cpu": "CPU",
    "receive": "receiving",
}
"""Synonyms in a requirement: word of the user -> word in the name of the metric."""


def parse_requirement(text: str, metrics: tuple[str, ...]) -> Requirement:
    """Parse a requirement in words, such as ``latency mean <= 100 us``.

    The words of the metric may be in any order; the field name of the metric also works.

    Raises
    ------
    UseCaseError, UnitError
        If the text has no comparison sign or names no metric, or the limit has no unit.

    Examples
    --------
    >>> parse_requirement("latency mean <= 100 us", ("goodput_bps", "latency_mean_s"))
    Requirement(name='mean latency', metric='latency_mean_s', at_least=None, at_most=0.0001, kind='soft', source='')
    """
    match = LIMIT.fullmatch(text.strip())
    if match is None:
        raise UseCaseError(
            f"{text!r} is not a requirement: write a metric, ≤ or ≥, and a limit with its unit, such as "
            "mean latency ≤ 100 us"
        )
    words = {ALIKE.get(word.lower(), word).lower() for word in match["metric"].split()}
    named = (
        name
        for name in metrics
        if name == match["metric"] or set(metric_name(name).lower().split()) == words
    )
    metric = next(named, "latency_mean_s" if words == {"latency"} else "")
    if metric not in metrics:
        known = ", ".join(metric_name(name) for name in metrics)
        raise UseCaseError(f"{match['metric']!r} is not a metric here: use one of {known}")
    kind = quantity_kind(metric) or ("ratio" if not metric.endswith("_cores") else "count")
    limit = (
        units.parse_factor(match["limit"]) if kind == "count" else units.parse(kind, match["limit"])
    )
    at_most = match["sign"] in AT_MOST
    return Requirement(
        metric_name(metric), metric, None if at_most else limit, limit if at_most else None
    )
