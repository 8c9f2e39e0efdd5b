"""The spread between sessions: how much the same points differ when measured at other times.

Runs of one session share the state of the machine, such as caches, other guests and the placement
of memory.  So their spread understates how far the next session may differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from statistics import median

from icmodel.dataset_rows import RATIOS
from icmodel.fold.merging import LeftOut, Runs, by_point, metrics_of
from icmodel.fold.record import Record

GAP_S = 1800.0
"""A pause of this length begins another session."""
LEAST_POINTS = 10
"""Points measured in several sessions that an estimate of the spread needs."""
NORMAL = 1.4826 / math.sqrt(2)
"""Standard deviation of a normal distribution over the median absolute difference of two draws."""


def between_sessions(runs: Runs, left_out: LeftOut) -> dict[str, object] | None:
    """The table ``between_sessions`` of dataset.toml.

    A metric's spread is the standard deviation between the means of sessions: from the median
    difference of two runs of a point in different sessions, less the one within a session.  It is
    absolute for ratios and relative for other metrics.

    Parameters
    ----------
    runs : sequence of (place, record)
        The runs that points are made of.
    left_out : mapping
        Run -> metrics to leave out.

    Returns
    -------
    dict or None
        ``None`` if fewer than ten points were measured in more than one session.
    """
    session = _sessions([record for _, record in runs])
    points = [[record for _, record in group] for group in by_point(runs)]
    repeated = [records for records in points if len({session[r.run] for r in records}) > 1]
    if len(repeated) < LEAST_POINTS:
        return None
    names = sorted({name for records in repeated for r in records for name in metrics_of(r)})
    spreads = {name: _spread(name, repeated, session, left_out) for name in names}
    return {
        "sessions": len({session[r.run] for records in repeated for r in records}),
        "points": len(repeated),
        "spread": {name: spread for name, spread in spreads.items() if spread},
    }


def _sessions(records: Sequence[Record]) -> dict[str, int]:
    """Run -> the number of its session, counted in order of time."""
    found: dict[str, int] = {}
    before, count = None, 0
    for record in sorted(records, key=lambda r: r.document.started_utc):
        now = datetime.fromisoformat(record.document.started_utc)
        if before is not None and (now - before).total_seconds() > GAP_S:
            count += 1
        found[record.run] = count
        before = now
    return found


def _spread(
    metric: str,
    points: Sequence[Sequence[Record]],
    session: Mapping[str, int],
    left_out: LeftOut,
) -> float:
    """Standard deviation between sessions; 0 if they differ no more than runs of one session."""
    within: list[float] = []
    between: list[float] = []
    for records in points:
        values = list(_values(metric, records, session, left_out))
        pairs = [(a == b, abs(x - y)) for (a, x), (b, y) in combinations(values, 2)]
        for found, one_session in ((within, True), (between, False)):
            if differences := [apart for same, apart in pairs if same == one_session]:
                found.append(median(differences))
    if len(between) < LEAST_POINTS or not within:
        return 0.0
    one, other = (NORMAL * median(found) for found in (within, between))
    return float(f"{math.sqrt(max(other**2 - one**2, 0.0)):.3g}")


def _values(
    metric: str,
    records: Sequence[Record],
    session: Mapping[str, int],
    left_out: LeftOut,
) -> Iterator[tuple[int, float]]:
    """Session and value of each run; values are logarithms, except of ratios."""
    for record in records:
        value = metrics_of(record).get(metric)
        if value is None or metric in left_out.get(record.run, ()):
            continue
        if metric in RATIOS:
            yield session[record.run], value
        elif value > 0:
            yield session[record.run], math.log(value)
