"""Names of the metrics that a model variant predicts, and metrics defined by other metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from icmodel.arrays import Floats, fast_where
from icmodel.laws.flow import Flow
from icmodel.tables import TableQuery, Tables

BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate")
"""Metrics of throughput and loss.  They follow from a stream's goodput, and need no curve of their own."""
ALWAYS = (
    *BY_FLOW,
    "frames_per_s",
    "latency_mean_s",
    "latency_std_s",
    "cpu_send",
    "cpu_recv",
    "cpu_send_cores",
    "cpu_recv_cores",
)
"""Names of the metrics in every prediction; a metric without a value states the reason."""
UTILISATIONS = ("cpu_send", "cpu_recv")
SENDER = UTILISATIONS[0]
BUSY = "cpu_"
"""Prefix of the names of processing-time metrics; these metrics grow with the load (E15)."""
ONE_PROCESS = "_process_cores"
"""Ending of the names of metrics that count the cores a single process uses, not those of the whole host.

A process uses at most the cores assigned to it; a host may use more.
"""
GROWING = (BUSY, "packets_")
"""Prefixes of metrics that are 0 without load.  Below the lowest measured load they are proportional to the load."""
ANY_CORES = ("latency_", "rtt_", BUSY)
"""Prefixes of metrics that may be predicted from rows at another core count (E6, E11).

Latency is used unchanged; CPU time is scaled.
"""
PRIVATE = "_"
"""Prefix of the names of look-up tables and columns that a model variant makes for its own use."""
BOTTLENECK = "bottleneck"
DEMAND = "_demand_"
"""Prefix of the names of result columns of demand: the utilisation of the requested cores that a stream needs.

A demand may exceed 1.
"""


def predicted(own: Collection[str]) -> tuple[str, ...]:
    """Names of all metrics in a prediction: the fixed ones, then those among ``own``, the metrics with a table."""
    return (*ALWAYS, *sorted(name for name in own if name not in ALWAYS))


def table_metrics(tables: Tables) -> tuple[str, ...]:
    """Names of the metrics that have a public look-up table, without throughput and loss."""
    return _without_private(tuple(tables.metrics))


@lru_cache(maxsize=256)
def _without_private(names: tuple[str, ...]) -> tuple[str, ...]:
    """Filter table names: leave out the private tables of a law, and the metrics of throughput and loss."""
    return tuple(name for name in names if not name.startswith(PRIVATE) and name not in BY_FLOW)


def split(
    own: Collection[str], wanted: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Split the wanted metrics that have a table into three groups.

    The groups are latencies and other metrics at the achieved load, processing times, and utilisations.
    The sender's utilisation is included if the bottleneck is wanted.
    """
    utilisations = tuple(
        name
        for name in UTILISATIONS
        if name in own
        and (
            name in wanted or f"{name}_cores" in wanted or (name == SENDER and BOTTLENECK in wanted)
        )
    )
    others = [name for name in own if name in wanted and name not in UTILISATIONS]
    busy = tuple(name for name in others if name.startswith(BUSY))
    return tuple(name for name in others if name not in busy), busy, utilisations


def busy_cores(query: TableQuery, utilisations: Sequence[str], found: Floats) -> dict[str, Floats]:
    """Name the columns of utilisations (metrics, ends, n), and derive from each the number of busy cores (E6).

    Busy cores that have a table of their own are not derived.
    """
    columns = dict(zip(utilisations, found, strict=True))
    for name in utilisations:
        if f"{name}_cores" not in query.tables.metrics and query.tables.axes.cores:
            columns[f"{name}_cores"] = columns[name] * query.q.cores
    return columns


def demand_columns(utilisations: Sequence[str], demand: Floats) -> dict[str, Floats]:
    """Name the columns of demand: the utilisations (utilisations, ends, n) that a stream needs, which may exceed 1."""
    return {DEMAND + name: ends for name, ends in zip(utilisations, demand, strict=True)}


def frames_per_s(query: TableQuery, flow: Flow, measured: Floats | None) -> Floats:
    """Compute frames delivered per second, (ends, n): goodput divided by the bits of a payload.

    If frames carry no payload, the result is the benchmarked frame rate, at most the requested rate.
    """
    bits = query.q.payload_bytes * 8
    frames = flow.goodput_bps / bits
    if measured is None:
        return frames
    requested_fps = query.q.requested_goodput_bps / bits
    return fast_where(np.isnan(frames), np.minimum(measured, requested_fps), frames)


# --- order of the statistics of one time ----------------------------------------------------------

Farther = Callable[[Floats, Floats], Floats]
"""Type of a function that moves a value towards another: ``np.fmax`` moves upwards, ``np.fmin`` downwards."""
LEAST, GREATEST, MEAN = "min", "max", "mean"
STATISTIC = re.compile(r"(?P<time>.+)_(?P<which>min|mean|max|p[0-9]+)_s")


def with_others(metrics: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Extend wanted statistics by the other known statistics of the same time, such as a quantile by the mean.

    Sorting needs all statistics of a time.
    """
    moved = {time for time, which in map(_parts, metrics) if which not in ("", MEAN, "p50")}
    return frozenset(metrics) | {name for name in known if _parts(name)[0] in moved}


Move = tuple[str, tuple[str, ...], Farther]
"""Correction of one statistic: its metric, the metrics that it must reach, and the direction in which it moves."""


def moves(metrics: Iterable[str]) -> Iterator[Move]:
    """Yield the moves, to be made in this order, that put the statistics of each time in ascending order.

    If a lower quantile has a greater value, a quantile of at least 0.5 rises to that value.  If a higher quantile has a
    lesser value, a quantile below 0.5 falls to that value.  Then the maximum rises, and the minimum falls, at least to
    the mean and all quantiles.
    """
    times: dict[str, dict[str, str]] = {}
    for name in metrics:
        time, which = _parts(name)
        if time:
            times.setdefault(time, {})[which] = name
    for names in times.values():
        shares = {which: float(f"0.{which[1:]}") for which in names if which.startswith("p")}
        quantiles = sorted(shares, key=lambda which: shares[which])
        upper = [which for which in quantiles if shares[which] >= 0.5]
        lower = [which for which in reversed(quantiles) if shares[which] < 0.5]
        ordered: tuple[str, ...] = ()
        for which, farther in chain(((u, np.fmax) for u in upper), ((w, np.fmin) for w in lower)):
            yield names[which], ordered, farther
            ordered = (*ordered, names[which])
        inner = (names[MEAN], *ordered) if MEAN in names else ordered
        for which, farther in ((GREATEST, np.fmax), (LEAST, np.fmin)):
            if which in names:
                yield names[which], inner, farther
                inner = (*inner, names[which])


def in_order(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Correct predicted values (n,) so that the statistics of each time ascend: minimum, quantiles, maximum.

    NaN stays NaN.
    """
    found = dict(values)
    for name, others, farther in moves(values):
        _push(found, name, others, farther)
    return found


def _push(found: dict[str, Floats], name: str, others: Sequence[str], farther: Farther) -> None:
    """Raise or lower one metric, in place, until it reaches all of ``others``; NaN stays NaN.

    ``farther`` is ``np.fmax`` to raise and ``np.fmin`` to lower.
    """
    for other in others:
        own = found[name]
        moved = np.asarray(farther(own, found[other]))
        np.copyto(moved, np.nan, where=np.isnan(own))
        found[name] = moved


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[str, str]:
    """Split the name of a metric that is a statistic of a time: ``latency_p99_s`` into ``latency`` and ``p99``.

    For other names both texts are empty.
    """
    found = STATISTIC.fullmatch(name)
    return (found["time"], found["which"]) if found else ("", "")
