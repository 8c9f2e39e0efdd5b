"""Folding: records become points, held-out runs, a document and an account of every record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from icmodel.dataset_rows import Point
from icmodel.errors import RecordError
from icmodel.fold.account import APART, HELD_OUT, USED, Account, Fate
from icmodel.fold.axes import OptionAxes, option_axes
from icmodel.fold.document import dataset_document
from icmodel.fold.environment import compare
from icmodel.fold.histograms import coarser
from icmodel.fold.merging import merged, place_of, single, where
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
    set_aside = {r.run: why for r in ordered if (why := _set_aside(r, chosen.most_steal))}
    if len(set_aside) == len(ordered):
        raise RecordError(f"there is no run to make points of: {_counted(set_aside)}")
    compared = compare([record for record in ordered if record.run not in set_aside], chosen.apart)
    ordered = [_kept(record, chosen) for record in ordered]
    rest = [record for record in ordered if record.run not in set_aside]
    axes = option_axes(rest, compared.labels)
    sorting = _Sorting(rest, axes, chosen)
    fates = {run: Fate(run, APART, why) for run, why in set_aside.items()} | sorting.fates
    if not sorting.points:
        raise RecordError(
            f"no run is left to make points of: {_counted({f.run: f.why or HELD for f in fates.values()})}"
        )
    document = dataset_document(chosen, rest, sorting.points, axes, compared.meanings)
    if sorting.sessions is not None:
        document["between_sessions"] = sorting.sessions
    account = Account(
        settings=chosen.document(),
        sha256=hashlib.sha256(records_text(ordered).encode()).hexdigest(),
        duplicates=duplicates,
        fates=tuple(_with_flags(fates[record.run], record) for record in ordered),
        fixed=axes.fixed,
        explained=compared.explained,
        notes=tuple(notes),
        remarks=remarks(rest, document),
    )
    return Folded(
        document, axes.names, tuple(sorting.points), sorting.held_out, account, tuple(ordered)
    )


def records_text(records: Sequence[Record]) -> str:
    """The records as they were read, one on each line."""
    return "".join(f"{record.line}\n" for record in records)


class _Sorting:
    """Sorts runs into those merged into points, those held out and those kept apart."""

    def __init__(self, records: Sequence[Record], axes: OptionAxes, settings: Settings) -> None:
        placed = [(place_of(record, axes), record) for record in records]
        closed = {where(place) for place, record in placed if record.held_out}
        self.fates: dict[str, Fate] = {}
        self.held_out: dict[str, tuple[Point, ...]] = {}
        open_runs = []
        for place, record in placed:
            if record.held_out:
                self._hold_out(place, record, settings)
            elif where(place) in closed:
                self.fates[record.run] = Fate(record.run, APART, ELSEWHERE)
            else:
                open_runs.append((place, record))
        self.points = self._merge(open_runs, settings)

    def _hold_out(self, place: Point, record: Record, settings: Settings) -> None:
        rows, left_out = single(place, record, settings)
        if rows:
            self.held_out[record.run] = tuple(rows)
            self.fates[record.run] = Fate(record.run, HELD_OUT, left_out=left_out)
        else:
            self.fates[record.run] = _spoilt(record, left_out)

    def _merge(self, runs: Sequence[tuple[Point, Record]], settings: Settings) -> list[Point]:
        rows, left_out = merged(runs, settings)
        self.sessions = between_sessions(runs, left_out)
        for place, record in runs:
            gone = left_out.get(record.run, {})
            mine, _ = single(place, record, settings)
            fate = Fate(record.run, USED, left_out=gone) if mine else _spoilt(record, gone)
            self.fates[record.run] = fate
        return rows


def _spoilt(record: Record, left_out: Mapping[str, tuple[str, ...]]) -> Fate:
    why = SPOILT if left_out else EMPTY
    flags = sorted({flag for flags in left_out.values() for flag in flags})
    return Fate(record.run, APART, f"{why}: {', '.join(flags)}" if flags else why, left_out)


def _with_flags(fate: Fate, record: Record) -> Fate:
    return Fate(fate.run, fate.fate, fate.why, fate.left_out, record.flags)


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
    counts: dict[str, int] = {}
    for why in reasons.values():
        counts[why] = counts.get(why, 0) + 1
    return "; ".join(f"{n} runs: {why}" for why, n in sorted(counts.items()))
