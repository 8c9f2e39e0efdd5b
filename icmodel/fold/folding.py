"""Folding: records become points, held-out runs, a document and an account of every record."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from icmodel.dataset_rows import Point
from icmodel.errors import RecordError
from icmodel.fold.account import APART, HELD_OUT, USED, Account, Fate
from icmodel.fold.axes import OptionAxes, option_axes
from icmodel.fold.document import dataset_document
from icmodel.fold.environment import compare
from icmodel.fold.histograms import coarser
from icmodel.fold.merging import LeftOut, Runs, merged, place_of, single, spoilt_metrics, where
from icmodel.fold.record import Record
from icmodel.fold.remarks import remarks
from icmodel.fold.sessions import between_sessions
from icmodel.fold.settings import Settings
from icmodel.fold.withholding import without

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
    """The result of folding records.

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
        What became of every record.
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
        """A copy with another default variant, with the reason in the account."""
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
    """Fold records into a dataset.

    Parameters
    ----------
    records : sequence of Record
        Each run once, in any order.
    settings : Settings, optional
        The settings that a person chose.
    duplicates, notes
        Number of repeated records and notes from reading, for the account.

    Raises
    ------
    RecordError
        If the runs are not of one pair of hosts, or none of them can be used for points.
    """
    chosen = settings or Settings()
    ordered = sorted(records, key=lambda record: (record.document.started_utc, record.run))
    apart = {r.run: why for r in ordered if (why := _set_aside(r, chosen.most_steal))}
    if len(apart) == len(ordered):
        raise RecordError(f"there is no run to make points of: {_counted(apart)}")
    compared = compare([record for record in ordered if record.run not in apart], chosen.apart)
    ordered = [_kept(record, chosen) for record in ordered]
    rest = [record for record in ordered if record.run not in apart]
    axes = option_axes(rest, compared.labels)
    found = _sorted(rest, axes, chosen)
    apart |= found.apart
    if not found.points:
        reasons = {record.run: apart.get(record.run, HELD) for record in ordered}
        raise RecordError(f"no run is left to make points of: {_counted(reasons)}")
    document = dataset_document(chosen, rest, found.points, axes, compared.meanings)
    sessions = between_sessions(found.open_runs, found.left_out)
    if sessions is not None:
        document["between_sessions"] = sessions
    account = Account(
        settings=chosen.document(),
        sha256=hashlib.sha256(records_text(ordered).encode()).hexdigest(),
        duplicates=duplicates,
        fates=tuple(_fate(record, apart, found.left_out) for record in ordered),
        fixed=axes.fixed,
        explained=compared.explained,
        notes=tuple(notes),
        remarks=remarks(rest, document),
    )
    return Folded(document, axes.names, found.points, found.held_out, account, tuple(ordered))


def records_text(records: Sequence[Record]) -> str:
    """The records as they were read, one on each line."""
    return "".join(f"{record.line}\n" for record in records)


class _Sorted(NamedTuple):
    """Runs sorted into those merged into points, those held out and those kept apart, with reasons."""

    points: tuple[Point, ...]
    held_out: Mapping[str, tuple[Point, ...]]
    apart: Mapping[str, str]
    open_runs: Runs
    left_out: LeftOut


def _sorted(records: Sequence[Record], axes: OptionAxes, settings: Settings) -> _Sorted:
    runs = [(place_of(record, axes), record) for record in records]
    closed = {where(place) for place, record in runs if record.held_out}
    apart = {r.run: ELSEWHERE for place, r in runs if where(place) in closed and not r.held_out}
    runs = [(place, record) for place, record in runs if record.run not in apart]
    left_out = {record.run: spoilt_metrics(record, settings) for _, record in runs}
    alone = {record.run: single(place, record, left_out[record.run]) for place, record in runs}
    apart |= {run: _unusable(left_out[run]) for run, rows in alone.items() if not rows}
    open_runs = [(place, record) for place, record in runs if not record.held_out]
    held_out = {r.run: alone[r.run] for _, r in runs if r.held_out and alone[r.run]}
    return _Sorted(merged(open_runs, left_out), held_out, apart, open_runs, left_out)


def _unusable(left_out: Mapping[str, Sequence[str]]) -> str:
    """The reason why a run has no row."""
    flags = sorted({flag for flags in left_out.values() for flag in flags})
    return f"{SPOILT}: {', '.join(flags)}" if flags else EMPTY


def _fate(record: Record, apart: Mapping[str, str], left_out: LeftOut) -> Fate:
    why = apart.get(record.run, "")
    fate = APART if why else HELD_OUT if record.held_out else USED
    return Fate(record.run, fate, why, left_out.get(record.run, {}), record.flags)


def _kept(record: Record, settings: Settings) -> Record:
    """A record as it is stored in the folder."""
    shown = without(record, settings.withhold)
    digits = settings.histogram_digits
    return shown if digits is None else coarser(shown, digits)


def _set_aside(record: Record, most_steal: float | None) -> str:
    """The reason why a run cannot be used for its point; empty if it can."""
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


def _counted(reasons: Mapping[str, str]) -> str:
    counts = Counter(reasons.values())
    return "; ".join(f"{n} runs: {why}" for why, n in sorted(counts.items()))
