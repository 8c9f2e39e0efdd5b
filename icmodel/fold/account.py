"""Account of a fold: the outcome of every record, written to folded.json and README.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from icmodel import units
from icmodel.fold.axes import NOT_COMPARED
from icmodel.fold.records import BESIDE, BUSY, SPARE_PROCESS_CPU, SPOILS, WHY, Record

USED, HELD_OUT, APART = "used", "held out", "kept apart"
HELD_OUT_NOTE = " A held-out run has its own rows in `held-out.csv`, and is not part of any point."
BEGIN, END = "<!-- folded: begin -->", "<!-- folded: end -->"

WATCHED = ("goodput_bps", "latency_mean_s")
"""Metrics whose drift over the runs of the reference point is reported."""
ROUNDING = 1.02
"""Greatest ratio of goodput to line rate that gets no remark.

Frames that lie partly outside the measurement window may count in full.
"""

SPOILS_BY_OTHERS: Mapping[str, str] = {
    BESIDE: "everything; with other streams by plan only `cpu_recv*` and `packets_received*`",
    BUSY: "everything but `goodput_bps` and `loss_rate`, if other streams used the sender's own cores",
}
"""Texts for README.md that name the metrics spoilt by a flag, for flags whose effect depends on other streams."""


@dataclass(frozen=True, slots=True)
class Fate:
    """Outcome of one run when records are folded: used for points, held out for tests, or kept apart with a reason.

    Parameters
    ----------
    run : str
        Name of the run.
    fate : str
        ``used``, ``held out`` or ``kept apart`` (in no row).
    why : str
        Reason if the run was kept apart, else empty.
    left_out : mapping
        Metrics that are in no row, each with the flags that make it unusable.
    flags : tuple of str
        The run's flags.
    """

    run: str
    fate: str
    why: str = ""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Make the entry of the run in folded.json: its outcome, and its unused metrics.

        These metrics are grouped by the flags (warnings on the run) that made them unusable.
        """
        said: dict[str, object] = {"run": self.run, "fate": self.fate}
        if self.why:
            said["why"] = self.why
        if self.flags:
            said["flags"] = list(self.flags)
        by_flags: dict[tuple[str, ...], list[str]] = {}
        for metric, flags in self.left_out.items() if self.fate != APART else ():
            by_flags.setdefault(flags, []).append(metric)
        if by_flags:
            said["left_out"] = [
                {"flags": list(flags), "metrics": sorted(metrics)}
                for flags, metrics in sorted(by_flags.items())
            ]
        return said


@dataclass(frozen=True, slots=True)
class Account:
    """Account of a fold: the outcome of all records, and the options that the runs share.

    Parameters
    ----------
    settings : mapping
        Settings chosen by the user.
    sha256 : str
        SHA-256 of the uncompressed records.
    duplicates : int
        Number of records that occurred more than once in the given files.
    fates : tuple of Fate
        Outcome of each run, in order of time.
    fixed : mapping
        Options that all runs share.
    explained : mapping
        Properties of the hosts that differ only because the MTU or a label differs, each with all its values.
    notes, remarks : tuple of str
        Problems met while reading, and anomalies in the records.
    """

    settings: Mapping[str, object]
    sha256: str
    duplicates: int
    fates: tuple[Fate, ...]
    fixed: Mapping[str, str]
    explained: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def count(self, fate: str) -> int:
        """Number of runs with the given outcome.

        A run is used for rows of the dataset, held out for validation, or kept apart from both, such as a disturbed run.
        """
        return sum(item.fate == fate for item in self.fates)

    def reasons(self) -> dict[str, int]:
        """Number of runs that were kept apart (neither used for rows nor held out), by reason."""
        found = Counter(item.why for item in self.fates if item.fate == APART)
        return dict(sorted(found.items()))

    def flags(self) -> dict[str, dict[str, int]]:
        """Count, for each flag, the runs that have it (``runs``), and those that lost a metric because of it (``spoilt``)."""
        seen = Counter(flag for item in self.fates for flag in item.flags)
        spoilt = Counter(
            flag
            for item in self.fates
            for flag in {flag for flags in item.left_out.values() for flag in flags}
        )
        return {flag: {"runs": seen[flag], "spoilt": spoilt[flag]} for flag in sorted(seen)}

    def document(self) -> dict[str, object]:
        """Make the document of folded.json: counts, settings, and the outcome of every run."""
        return {
            "schema_version": 1,
            "settings": dict(self.settings),
            "records": {
                "runs": len(self.fates),
                "sha256": self.sha256,
                "given_twice": self.duplicates,
            },
            "used": self.count(USED),
            "held_out": self.count(HELD_OUT),
            "kept_apart": self.reasons(),
            "flags": self.flags(),
            "same_in_all_runs": dict(self.fixed),
            "environment": {
                "told_apart_by_axes": {name: list(v) for name, v in self.explained.items()},
                "not_compared": dict(NOT_COMPARED),
            },
            "notes": list(self.notes),
            "remarks": list(self.remarks),
            "runs": [item.document() for item in self.fates],
        }

    def json(self) -> bytes:
        """Make the content of the file folded.json, as bytes."""
        return (json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n").encode()


# --- README.md --------------------------------------------------------------------------------


def readme(id_: str, title: str, account: Account, before: str | None) -> str:
    """Write the README.md of a folded dataset; a part between two marks reports which records were used, and why.

    If there is an earlier README (``before``), its text outside the marks is kept.
    """
    made = "\n".join([BEGIN, *_prose(id_, account), END])
    if before is None:
        return f"# {title}\n\n{made}\n"
    head, begin, rest = before.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        return f"{before.rstrip()}\n\n{made}\n"
    return f"{head}{made}{tail}"


def _prose(id_: str, account: Account) -> list[str]:
    # Differences between the stored records and the records that icprobe wrote.
    names, digits = account.settings.get("withhold"), account.settings.get("histogram_digits")
    changes = []
    if isinstance(names, list):
        changes.append(f"with {', '.join(f'`{name}`' for name in names)} withheld")
    if digits is not None:
        changes.append(f"with histograms of {digits} significant digits")
    but = f", but {' and '.join(changes)}" if changes else ""

    outcomes = [(str(account.count(USED)), "used for points")]
    if held := account.count(HELD_OUT):
        outcomes.append((str(held), "held out by the plan"))
    outcomes += [(str(n), f"kept apart: {why}") for why, n in account.reasons().items()]
    if account.duplicates:
        outcomes.append((str(account.duplicates), "given twice, counted once"))

    refused = account.settings.get("refuse", ())
    flags = [
        (flag, str(n["runs"]), _spoils(flag, n["spoilt"], refused), WHY.get(flag, "not known here"))
        for flag, n in account.flags().items()
    ]
    told = (*account.notes, *account.remarks)
    return [
        f"`records.jsonl.gz` holds the {len(account.fates)} records of icprobe from which this dataset was "
        f"folded, as they were written{but}. `folded.json` lists the outcome of each record.",
        "",
        *_table(("runs", "outcome"), outcomes),
        *(_table(("flag", "runs", "spoils", "reason"), flags) if flags else ()),
        *[f"- {note}" for note in told],
        *([""] if told else []),
        "Each point is the mean over its runs, with their number and standard deviation."
        + (HELD_OUT_NOTE if any(one.fate == HELD_OUT for one in account.fates) else ""),
        "",
        "This command rebuilds the dataset from these records, byte for byte:",
        "",
        "```sh",
        f"icmodel fold {id_}",
        "```",
    ]


def _spoils(flag: str, spoilt: int, refused: object) -> str:
    if not spoilt:
        return "nothing"
    if isinstance(refused, Sequence) and flag in refused:
        return "everything"
    prefixes = SPOILS.get(flag, ("",)) or ("",)
    told = SPOILS_BY_OTHERS.get(flag) or (
        "everything" if "" in prefixes else ", ".join(f"`{p}*`" for p in prefixes)
    )
    return f"{told}, but `cpu_*_process_cores`" if flag in SPARE_PROCESS_CPU else told


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]


# --- remarks ---


def remarks(records: Sequence[Record], document: Mapping[str, object]) -> tuple[str, ...]:
    """Write remarks on anomalies in the records, one sentence each.

    Anomalies are several versions of one measuring plan, an unknown or exceeded line rate, and drift of the hosts.
    """
    return (*_forms(records), *_line_rate(records, document), *_drift(records))


def _forms(records: Sequence[Record]) -> Iterator[str]:
    forms: dict[str, list[str]] = {}
    for plan in (record.document.plan for record in records):
        if plan is not None and plan.digest not in forms.setdefault(plan.name, []):
            forms[plan.name].append(plan.digest)
    for name, digests in sorted(forms.items()):
        if len(digests) > 1:
            yield (
                f"The plan {name} was run in {len(digests)} versions: its place, line rate, MTU, protocol "
                "or text differs, and the records do not tell which of these."
            )


def _line_rate(records: Sequence[Record], document: Mapping[str, object]) -> Iterator[str]:
    link = document.get("interconnect")
    if not isinstance(link, Mapping) or link.get("kind") != "ethernet":
        return
    if "line_rate_bps" not in link:
        yield (
            "The line rate is unknown, since a virtual link states no rate or a meaningless one: state it; "
            "without it, no bound of theory applies."
        )
    elif too_fast := [one for one in records if _excess_bps(one, link) > 0]:
        fastest = max(too_fast, key=lambda one: one.result["goodput_bps"])
        rate, most = (
            units.format_bps(bps, 4)
            for bps in (link["line_rate_bps"], fastest.result["goodput_bps"])
        )
        yield (
            f"{len(too_fast)} runs exceeded the line rate of {rate}, up to {most} (run {fastest.run}): "
            "the line rate or these runs are wrong, and no prediction exceeds the line rate."
        )


def _excess_bps(record: Record, link: Mapping[str, Any]) -> float:
    """Goodput of a run minus the greatest possible goodput [b/s]; above 0, the run or the line rate is wrong.

    The greatest possible goodput is the line rate, plus the burst of the link's token bucket divided by the run time.
    """
    known = record.document.settings.get("duration_s")
    seconds = known if isinstance(known, int | float) and known > 0 else 1.0
    at_once = 8 * link.get("burst_bytes", 0.0) / seconds
    most = ROUNDING * link["line_rate_bps"] + at_once
    return float(record.result.get("goodput_bps", 0.0) - most)


def _drift(records: Sequence[Record]) -> Iterator[str]:
    """Write a remark on the drift of each watched metric during a campaign.

    A campaign repeats one point, the reference point.  The remark compares the metric's mean over the first third of
    these repeats with its mean over the last third.
    """
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
