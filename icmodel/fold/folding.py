"""Fold records of icprobe into a dataset: rows merged from repeats, held-out runs, dataset.toml, and account."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from statistics import fmean, median, stdev
from typing import Any

from icmodel.dataset.rows import AXES, METRIC_ENDINGS, POINT, RATIOS, Point
from icmodel.errors import RecordError
from icmodel.fold.account import APART, HELD_OUT, USED, Account, Fate, remarks
from icmodel.fold.axes import OptionAxes, compare, option_axes
from icmodel.fold.document import Settings, dataset_document
from icmodel.fold.records import Record, spoilers, stored

SEARCH = "a trial of a search, which chose its load"
SAME_CORES = "another sender used the sender's own cores, so that the requested load was not sent"
UNCOVERED = "another stream of the plan did not run during the whole run"
ELSEWHERE = "another run of its point is held out, so no fit may use it"
HELD = "the plan holds it out, so no fit may use it"
SPOILT = "its flags spoil every metric"
EMPTY = "it has no metric of a dataset"


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
        Rows of each held-out run, by name of the run.
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
        """Copy this result with the model variant ``variant`` as the dataset's default.

        The reason ``why`` is added to the notes of the account (folded.json).
        """
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
        raise RecordError(
            f"no run can be used for points ({_counted(apart)}): measure again, or add other records"
        )

    # Compare environments before redaction. All later steps use the redacted records, which the folder stores.
    compared = compare([one for one in ordered if one.run not in apart], chosen.apart)
    ordered = [stored(one, chosen.withhold, chosen.histogram_digits) for one in ordered]
    rest = [one for one in ordered if one.run not in apart]
    axes = option_axes(rest, compared.labels)

    # If any run of a point is held out, the other runs of that point are kept apart.
    runs = [(conditions_of(one, axes), one) for one in rest]
    closed = {point_key(row) for row, one in runs if one.held_out}
    apart |= {
        one.run: ELSEWHERE for row, one in runs if point_key(row) in closed and not one.held_out
    }
    runs = [(row, one) for row, one in runs if one.run not in apart]

    # Make the rows of each run; a run without a row is kept apart with a reason.
    left_out = {one.run: spoilt_metrics(one, chosen) for _, one in runs}
    alone = {one.run: single(row, one, left_out[one.run]) for row, one in runs}
    for run in (run for run, rows in alone.items() if not rows):
        flags = sorted({flag for spoiling in left_out[run].values() for flag in spoiling})
        apart[run] = f"{SPOILT}: {', '.join(flags)}" if flags else EMPTY
    open_runs = [(row, one) for row, one in runs if not one.held_out]
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
    """Reason why a run does not count in the dataset rows of its measuring point; empty if it counts.

    Parameters
    ----------
    most_steal : float, optional
        Greatest share of time, 0…1, that the hypervisor may take from a core in use.
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


NOT_METRICS = (
    "window_s",
    "latency_bound_s",
    "latency_steady_mean_s",
    "latency_steady_std_s",
    "longest_stall_s",
)
"""Results of a record that describe the run, not the interconnect; they do not become rows."""
DIGITS = 9
"""Number of significant digits of values in rows, more than twice the digits that a clock resolves."""

LEAST_SHARE = 1e-9
"""Least utilisation of a core; a smaller value is a rounding error and becomes 0."""

GAP_S = 1800.0
"""Longest pause between two runs of one measurement session [s]; a longer pause begins a new session."""
LEAST_POINTS = 10
"""The spread between sessions is estimated only if at least this many points were measured in several sessions."""
NORMAL = 1.4826 / math.sqrt(2)
"""Standard deviation of a normal distribution, divided by the median absolute difference between two draws."""

PointKey = tuple[object, ...]
"""Key of a measured point: the columns of a row that precede the metric."""
Runs = Sequence[tuple[Point, Record]]
"""Runs as pairs: a row with the axes of the run, and the record of the run."""
LeftOut = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Metrics that are left out of the rows, by run, each with the flags that make it unusable."""


def conditions_of(record: Record, axes: OptionAxes) -> Point:
    """Make a row that has only the conditions of a run (axes and options); its metric and value are empty.

    Raises
    ------
    RecordError
        If the value of an axis is not a number of the right kind.
    """
    axis = {name: axis_value(record, name) for name in AXES[1:]}
    if axis["load_bps"] is None:
        axis["load_bps"] = math.inf  # a run without a load was unlimited
    return Point(
        line=0,
        protocol=str(record.point["protocol"]).lower(),
        **axis,
        options=axes.cells[record.run],
        metric="",
        value=0.0,
        std=None,
        low=None,
        high=None,
        n=None,
        basis="measured",
        source=record.source,
    )


def axis_value(record: Record, name: str) -> Any:
    """Value of a numeric axis, such as the payload, in a record; ``None`` if the record does not state it."""
    value = record.point.get(name)
    if value is None:
        return None
    whole = not name.endswith("_bps")
    if isinstance(value, (bool, str)) or (whole and not isinstance(value, int)):
        kind = "a whole number" if whole else "a number in SI"
        raise RecordError(f"run {record.run} has {name} {value!r}: it must be {kind}")
    return value if whole else rounded(value)


def point_key(row: Point) -> PointKey:
    """Return the key of the point that a row measures: the values of the row's axes and options."""
    return tuple(row)[POINT]


def metrics_of(record: Record) -> dict[str, float]:
    """Metrics of a run that a dataset can hold, with their values."""
    return {
        metric: 0.0 if metric.startswith("cpu_") and abs(value) < LEAST_SHARE else value
        for metric, value in record.result.items()
        if metric not in NOT_METRICS and (metric in RATIOS or metric.endswith(METRIC_ENDINGS))
    }


def spoilt_metrics(record: Record, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Metrics of a run that are left out of the rows, each with the flags that make it unusable."""
    found = {
        metric: spoilers(
            record.flags,
            metric,
            settings.tolerate,
            settings.refuse,
            others=record.others,
            same_cores=record.same_cores,
        )
        for metric in metrics_of(record)
    }
    return {metric: flags for metric, flags in found.items() if flags}


def merged(runs: Runs, left_out: LeftOut) -> tuple[Point, ...]:
    """Merge runs into rows with mean, standard deviation and number of runs; metrics in ``left_out`` are omitted."""
    rows = []
    for group in by_point(runs):
        by_metric: dict[str, list[tuple[float, str]]] = {}
        for _, record in group:
            for metric, value in metrics_of(record).items():
                if metric not in left_out[record.run]:
                    by_metric.setdefault(metric, []).append((value, record.source))
        for metric, found in by_metric.items():
            values = [value for value, _ in found]
            mean = fmean(values)
            row = group[0][0]._replace(
                metric=metric,
                value=rounded(mean),
                std=rounded(stdev(values, mean)) if len(values) > 1 else None,
                n=len(found),
                source="; ".join(dict.fromkeys(source for _, source in found)),
            )
            rows.append(row)
    return tuple(rows)


def by_point(runs: Runs) -> list[list[tuple[Point, Record]]]:
    """Group runs by the point that they measured."""
    groups: dict[PointKey, list[tuple[Point, Record]]] = {}
    for row, record in runs:
        groups.setdefault(point_key(row), []).append((row, record))
    return list(groups.values())


def single(row: Point, record: Record, left_out: Container[str]) -> tuple[Point, ...]:
    """Make the rows of a single run, one per metric; metrics in ``left_out`` are omitted."""
    plan = record.document.plan
    source = f"run {record.run}" if plan is None else f"plan {plan.name}"
    return tuple(
        row._replace(metric=metric, value=rounded(value), n=1, source=source)
        for metric, value in metrics_of(record).items()
        if metric not in left_out
    )


def rounded(value: float) -> float:
    """Round a number to nine significant digits."""
    return float(f"{value:.{DIGITS}g}")


def between_sessions(runs: Runs, left_out: LeftOut) -> dict[str, object] | None:
    """Estimate the spread of each metric between measurement sessions, for ``between_sessions`` in dataset.toml.

    Runs of one session share the state of the machine, such as caches, other guests and the placement of memory.  So
    the spread within a session understates the difference to another session.

    The spread between sessions is √(σ₁² − σ₂²), an estimate of the standard deviation of session means.  σ₁ is the
    standard deviation of runs of one point from different sessions, and σ₂ that of runs from the same session.  Both
    are estimated from median differences.  The spread is absolute for ratios and relative for other metrics.

    Parameters
    ----------
    runs : sequence of (row, record)
        Runs from which points are made: a row with the axes of the run (:func:`conditions_of`), and the run's record.
    left_out : mapping
        Metrics to omit, by run.

    Returns
    -------
    dict or None
        ``None`` if fewer than ten points were measured in more than one session.
    """
    session = session_numbers([record for _, record in runs])
    points = [[record for _, record in group] for group in by_point(runs)]
    repeated = [records for records in points if len({session[r.run] for r in records}) > 1]
    if len(repeated) < LEAST_POINTS:
        return None
    names = sorted({name for records in repeated for r in records for name in metrics_of(r)})
    spreads = {name: session_spread(name, repeated, session, left_out) for name in names}
    return {
        "sessions": len({session[r.run] for records in repeated for r in records}),
        "points": len(repeated),
        "spread": {name: spread for name, spread in spreads.items() if spread},
    }


def session_numbers(records: Sequence[Record]) -> dict[str, int]:
    """Number the measurement sessions in order of time, and return the session of each run.

    A pause longer than `GAP_S` begins a new session.
    """
    found: dict[str, int] = {}
    before, count = None, 0
    for record in sorted(records, key=lambda r: r.document.started_utc):
        now = datetime.fromisoformat(record.document.started_utc)
        if before is not None and (now - before).total_seconds() > GAP_S:
            count += 1
        found[record.run] = count
        before = now
    return found


def session_spread(
    metric: str,
    points: Sequence[Sequence[Record]],
    session: Mapping[str, int],
    left_out: LeftOut,
) -> float:
    """Standard deviation of a metric between measurement sessions.

    It is 0 if runs of different sessions differ no more than runs of one session.  It is also 0 if fewer than
    `LEAST_POINTS` points have runs of different sessions, or no point has several runs of one session.
    """
    within: list[float] = []
    between: list[float] = []
    for records in points:
        values = []
        for record in records:
            value = metrics_of(record).get(metric)
            if value is None or metric in left_out.get(record.run, ()):
                continue
            if metric in RATIOS:
                values.append((session[record.run], value))
            elif value > 0:
                values.append((session[record.run], math.log(value)))
        pairs = [(a == b, abs(x - y)) for (a, x), (b, y) in combinations(values, 2)]
        for found, one_session in ((within, True), (between, False)):
            if differences := [apart for same, apart in pairs if same == one_session]:
                found.append(median(differences))
    if len(between) < LEAST_POINTS or not within:
        return 0.0
    one, other = (NORMAL * median(found) for found in (within, between))
    return float(f"{math.sqrt(max(other**2 - one**2, 0.0)):.3g}")
