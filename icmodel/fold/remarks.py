"""Remarks: anomalies in the records that a person should look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from icmodel import units
from icmodel.fold.record import Record

WATCHED = ("goodput_bps", "latency_mean_s")
"""Metrics of the reference point whose drift is reported."""
ROUNDING = 1.02
"""Greatest goodput over the line rate; frames partly outside the window may count in full."""


def remarks(records: Sequence[Record], document: Mapping[str, object]) -> tuple[str, ...]:
    """Remarks on plans in several versions, a missing or exceeded line rate, drift of the hosts."""
    return (*_forms(records), *_line_rate(records, document), *_drift(records))


def _forms(records: Sequence[Record]) -> Iterator[str]:
    forms: dict[str, list[str]] = {}
    for plan in (record.document.plan for record in records):
        if plan is not None and plan.digest not in forms.setdefault(plan.name, []):
            forms[plan.name].append(plan.digest)
    for name, digests in sorted(forms.items()):
        if len(digests) > 1:
            yield (
                f"The plan {name} was carried out in {len(digests)} forms (another place, line "
                "rate, MTU, protocol or text): the records do not say which of them differ."
            )


def _line_rate(records: Sequence[Record], document: Mapping[str, object]) -> Iterator[str]:
    link = document.get("interconnect")
    if not isinstance(link, Mapping) or link.get("kind") != "ethernet":
        return
    if "line_rate_bps" not in link:
        yield (
            "The line rate is not known, since a virtual link states none or a fiction: say it "
            "with --line-rate, or no bound of theory applies."
        )
    elif too_fast := [one for one in records if _excess_bps(one, link) > 0]:
        fastest = max(too_fast, key=lambda one: one.result["goodput_bps"])
        rate, most = (
            units.format_bps(bps, 4)
            for bps in (link["line_rate_bps"], fastest.result["goodput_bps"])
        )
        yield (
            f"{len(too_fast)} runs reached more than the line rate of {rate}, up to {most} (run "
            f"{fastest.run}): that rate or these runs are wrong, and no prediction goes beyond it."
        )


def _excess_bps(record: Record, link: Mapping[str, Any]) -> float:
    """Goodput of a run beyond the line rate and the burst of a token bucket [b/s]."""
    seconds = record.document.settings.get("duration_s") or 1.0
    at_once = 8 * link.get("burst_bytes", 0.0) / seconds
    most = ROUNDING * link["line_rate_bps"] + at_once
    return float(record.result.get("goodput_bps", 0.0) - most)


def _drift(records: Sequence[Record]) -> Iterator[str]:
    """Remarks on differences between the first and the last third of the reference runs."""
    reference = [record for record in records if record.kind == "reference"]
    third = len(reference) // 3
    if third < 2:
        return
    for metric in WATCHED:
        values = [r.result[metric] for r in reference if metric in r.result]
        if len(values) == len(reference):
            first, last = (fmean(part) for part in (values[:third], values[-third:]))
            yield (
                f"The {len(values)} runs of the reference point: {metric} "
                f"{units.format_quantity(metric, first, 4)} in the first third, "
                f"{units.format_quantity(metric, last, 4)} in the last."
            )
