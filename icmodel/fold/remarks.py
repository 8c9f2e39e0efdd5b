"""Remarks: what the records show of themselves that a person should look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from icmodel import units
from icmodel.fold.merging import mean_and_std
from icmodel.fold.record import Record

WATCHED = ("goodput_bps", "latency_mean_s")
"""Metrics of the reference point whose drift is told."""


def remarks(records: Sequence[Record], document: Mapping[str, object]) -> tuple[str, ...]:
    """What to look at: plans in several forms, a line rate that is missing, drift of the hosts."""
    return (*_forms(records), *_line_rate(document), *_drift(records))


def _forms(records: Sequence[Record]) -> Iterator[str]:
    forms: dict[str, list[str]] = {}
    for plan in (record.document.plan for record in records):
        if plan is not None and plan.digest not in forms.setdefault(plan.name, []):
            forms[plan.name].append(plan.digest)
    for name, digests in sorted(forms.items()):
        if len(digests) > 1:
            yield (
                f"The plan {name} was carried out in {len(digests)} forms (another place, line "
                "rate, MTU or text): the records do not say which of them differ."
            )


def _line_rate(document: Mapping[str, object]) -> Iterator[str]:
    link = document.get("interconnect")
    if isinstance(link, Mapping) and link.get("kind") == "ethernet" and "line_rate_bps" not in link:
        yield (
            "The line rate is not known, since a virtual link states none or a fiction: say it "
            "with --line-rate, or no bound of theory applies."
        )


def _drift(records: Sequence[Record]) -> Iterator[str]:
    """First and last third of the reference runs, where there are enough of them."""
    reference = [record for record in records if record.kind == "reference"]
    third = len(reference) // 3
    if third < 2:
        return
    for metric in WATCHED:
        values = [r.result[metric] for r in reference if metric in r.result]
        if len(values) == len(reference):
            first, last = (mean_and_std(part)[0] for part in (values[:third], values[-third:]))
            yield (
                f"The {len(values)} runs of the reference point: {metric} "
                f"{units.format_quantity(metric, first, 4)} in the first third, "
                f"{units.format_quantity(metric, last, 4)} in the last."
            )
