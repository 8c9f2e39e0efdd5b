"""Fold records of icprobe into a dataset: points, held-out runs, document, and an account of every record."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.dataset.rows import Point
from icmodel.errors import RecordError
from icmodel.fold.account import APART, HELD_OUT, USED, Account, Fate, remarks
from icmodel.fold.axes import compare, option_axes
from icmodel.fold.document import dataset_document
from icmodel.fold.merging import (
    between_sessions,
    merged,
    place_of,
    single,
    spoilt_metrics,
    where,
)
from icmodel.fold.records import Record
from icmodel.fold.redaction import stored
from icmodel.fold.settings import Settings

SEARCH = "a trial of a search: its load was the search's choice"
SAME_CORES = (
    "another sender worked on the sender's own cores, so it sent what they had time for and not what "
    "its point names"
)
UNCOVERED = "a stream beside it did not run from before to after it"
ELSEWHERE = "its point is held out by the plan of another run, so a fit may not see it"
HELD = "the plan holds it out, so a fit may not see it"
SPOILT = "its flags spoil every metric"
EMPTY = "it measured nothing that a dataset can hold"


@dataclass(frozen=True, slots=True)
class Folded:
    """Result of folding records: the parts of a dataset, and the account of the records.

    Parameters
    ----------
    document : mapping
        The document of dataset.toml without checksums.
    option_axes : tuple of str
        The option axes, in alphabetical order.
    points : tuple of Point
        One row for each point and metric: mean, standard deviation and number of runs.
    held_out : mapping
        Name of each held-out run -> its rows.
    account : Account
        Outcome of every record: used, held out or kept apart.
    records : tuple of Record
        All records, in order of time.
    """

    document: Mapping[str, object]
    option_axes: tuple[str, ...]
    points: tuple[Point, ...]
    held_out: Mapping[str, tuple[Point, ...]]
    account: Account
    records: tuple[Record, ...]

    def answering(self, variant: str, why: str) -> Folded:
        """Copy this result with another default variant of the model, and with the reason in the account."""
        settings = {**self.account.settings, "default_variant": variant}
        account = replace(self.account, settings=settings, notes=(*self.account.notes, why))
        return replace(
            self, document={**self.document, "default_variant": variant}, account=account
        )

    def __repr__(self) -> str:
        return f"Folded({len(self.points)} rows, {len(self.held_out)} held out, {len(self.records)} records)"


def fold(
    records: Sequence[Record],
    settings: Settings | None = None,
    *,
    duplicates: int = 0,
    notes: Sequence[str] = (),
) -> Folded:
    """Fold records of icprobe into a dataset: repeats of a point become one row per metric.

    Parameters
    ----------
    records : sequence of Record
        Records in any order; each run occurs once.
    settings : Settings, optional
        Settings chosen by the user.
    duplicates, notes
        Number of duplicate records, and notes from reading the files; both appear in the account.

    Raises
    ------
    RecordError
        If the runs come from several pairs of hosts, or no run can be used for points.
    """
    chosen = settings or Settings()
    ordered = sorted(records, key=lambda record: (record.document.started_utc, record.run))
    apart = {one.run: why for one in ordered if (why := why_apart(one, chosen.most_steal))}
    if len(apart) == len(ordered):
        raise RecordError(f"no run can be used for points: {_counted(apart)}")

    # compare environments before redaction; all later steps use the redacted records, which the folder stores
    compared = compare([one for one in ordered if one.run not in apart], chosen.apart)
    ordered = [stored(one, chosen.withhold, chosen.histogram_digits) for one in ordered]
    rest = [one for one in ordered if one.run not in apart]
    axes = option_axes(rest, compared.labels)

    # if any run of a point is held out, no run of that point is used
    runs = [(place_of(one, axes), one) for one in rest]
    closed = {where(place) for place, one in runs if one.held_out}
    apart |= {
        one.run: ELSEWHERE for place, one in runs if where(place) in closed and not one.held_out
    }
    runs = [(place, one) for place, one in runs if one.run not in apart]

    # rows of each run; a run without a row is kept apart with a reason
    left_out = {one.run: spoilt_metrics(one, chosen) for _, one in runs}
    alone = {one.run: single(place, one, left_out[one.run]) for place, one in runs}
    for run in (run for run, rows in alone.items() if not rows):
        flags = sorted({flag for spoiling in left_out[run].values() for flag in spoiling})
        apart[run] = f"{SPOILT}: {', '.join(flags)}" if flags else EMPTY
    open_runs = [(place, one) for place, one in runs if not one.held_out]
    points = merged(open_runs, left_out)
    if not points:
        reasons = {one.run: apart.get(one.run, HELD) for one in ordered}
        raise RecordError(f"no run is left for points: {_counted(reasons)}")

    document = dataset_document(chosen, rest, points, axes, compared.meanings)
    sessions = between_sessions(open_runs, left_out)
    if sessions is not None:
        document["between_sessions"] = sessions
    fates = []
    for one in ordered:
        why = apart.get(one.run, "")
        fate = APART if why else HELD_OUT if one.held_out else USED
        fates.append(Fate(one.run, fate, why, left_out.get(one.run, {}), one.flags))
    account = Account(
        settings=chosen.document(),
        sha256=hashlib.sha256(records_text(ordered).encode()).hexdigest(),
        duplicates=duplicates,
        fates=tuple(fates),
        fixed=axes.fixed,
        explained=compared.explained,
        notes=tuple(notes),
        remarks=remarks(rest, document),
    )
    held_out = {one.run: rows for _, one in runs if one.held_out and (rows := alone[one.run])}
    return Folded(document, axes.names, points, held_out, account, tuple(ordered))


def why_apart(record: Record, most_steal: float | None) -> str:
    """Reason why a run cannot be used for the rows of its point; empty if it can.

    Parameters
    ----------
    most_steal : float, optional
        Greatest share of a core in use, 0…1, that the hypervisor may take.
    """
    plan = record.document.plan
    if plan is not None and plan.kind == "search":
        return SEARCH
    if plan is not None and not all(stream.covered for stream in plan.background):
        return UNCOVERED
    if record.same_cores and not record.offered:
        return SAME_CORES
    if most_steal is not None and record.steal > most_steal:
        return f"the hypervisor took more than {100 * most_steal:g} % of a core in use"
    return ""


def records_text(records: Sequence[Record]) -> str:
    """Join the records, as they were read, to a text with one record per line."""
    return "".join(f"{record.line}\n" for record in records)


def _counted(reasons: Mapping[str, str]) -> str:
    counts = Counter(reasons.values())
    return "; ".join(f"{n} runs: {why}" for why, n in sorted(counts.items()))
