"""Metrics that a law answers, and those that follow from others by definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from icmodel.arrays import Floats, fast_where
from icmodel.laws.flow import Flow
from icmodel.tables import TableQuery, Tables

BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate")
"""Metrics that follow from the flow, without a curve of their own."""
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
"""Metrics in every prediction; absent ones state why."""
UTILISATIONS = ("cpu_send", "cpu_recv")
SENDER = UTILISATIONS[0]
BUSY = "cpu_"
"""Beginning of every metric of processing time; these grow with the load (E15)."""
ONE_PROCESS = "_process_cores"
"""Ending of metrics of the process alone, which uses at most its cores; a host may use more."""
GROWING = (BUSY, "packets_")
"""Metrics in proportion to the load below the lowest measured one: without frames they are 0."""
ANY_CORES = ("latency_", "rtt_", BUSY)
"""Metrics that rows at another core count answer: latency unchanged, CPU scaled (E6, E11)."""
PRIVATE = "_"
"""Beginning of the names of tables and columns that a law makes for itself."""
BOTTLENECK = "bottleneck"
DEMAND = "_demand_"
"""Beginning of the names of columns of the utilisation that a stream needs of the requested cores, above 1 too."""


def predicted(own: Collection[str]) -> tuple[str, ...]:
    """Every metric of a prediction, given those with a table of their own."""
    return (*ALWAYS, *sorted(name for name in own if name not in ALWAYS))


def table_metrics(tables: Tables) -> tuple[str, ...]:
    """Metrics with a table of their own, without those that follow from the flow."""
    return _without_private(tuple(tables.metrics))


@lru_cache(maxsize=256)
def _without_private(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names without a law's own tables and metrics that follow from the flow."""
    return tuple(name for name in names if not name.startswith(PRIVATE) and name not in BY_FLOW)


def split(
    own: Collection[str], wanted: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Split wanted metrics with a table: those of the achieved load, of processing time, and utilisations.

    The bottleneck needs the sender's utilisation.
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
    """Utilisations (metrics, ends, n), and the same in busy cores if these have no table (E6)."""
    columns = dict(zip(utilisations, found, strict=True))
    for name in utilisations:
        if f"{name}_cores" not in query.tables.metrics and query.tables.axes.cores:
            columns[f"{name}_cores"] = columns[name] * query.q.cores
    return columns


def demand_columns(utilisations: Sequence[str], demand: Floats) -> dict[str, Floats]:
    """Columns of a demand (utilisations, ends, n)."""
    return {DEMAND + name: ends for name, ends in zip(utilisations, demand, strict=True)}


def frames_per_s(query: TableQuery, flow: Flow, measured: Floats | None) -> Floats:
    """Frames delivered per second, (ends, n): goodput over payload bits, else the benchmarked rate."""
    bits = query.q.payload_bytes * 8
    frames = flow.goodput_bps / bits
    if measured is None:
        return frames
    requested_fps = query.q.requested_goodput_bps / bits
    return fast_where(np.isnan(frames), np.minimum(measured, requested_fps), frames)


# --- order of the statistics of one time ----------------------------------------------------------

Farther = Callable[[Floats, Floats], Floats]
"""``np.fmax`` upwards, ``np.fmin`` downwards."""
LEAST, GREATEST, MEAN = "min", "max", "mean"
STATISTIC = re.compile(r"(?P<time>.+)_(?P<which>min|mean|max|p[0-9]+)_s")


def with_others(metrics: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Metrics with those of ``known`` on which their order depends."""
    moved = {time for time, which in map(_parts, metrics) if which not in ("", MEAN, "p50")}
    return frozenset(metrics) | {name for name in known if _parts(name)[0] in moved}


def in_order(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Values (n) by metric, the statistics of each time in order; NaN stays NaN.

    Quantiles of at least 0.5 are raised to the lower ones, those below 0.5 are lowered to the higher ones.  Then the
    maximum is raised, and the minimum lowered, to the mean and all quantiles.
    """
    found = dict(values)
    times: dict[str, dict[str, str]] = {}
    for name in values:
        time, which = _parts(name)
        if time:
            times.setdefault(time, {})[which] = name
    for names in times.values():
        shares = {which: float(f"0.{which[1:]}") for which in names if which.startswith("p")}
        quantiles = sorted(shares, key=lambda which: shares[which])
        upper = [which for which in quantiles if shares[which] >= 0.5]
        lower = [which for which in reversed(quantiles) if shares[which] < 0.5]
        ordered: list[str] = []
        for which, farther in chain(((u, np.fmax) for u in upper), ((w, np.fmin) for w in lower)):
            _push(found, names[which], ordered, farther)
            ordered.append(names[which])
        inner = [names[MEAN], *ordered] if MEAN in names else ordered
        for which, farther in ((GREATEST, np.fmax), (LEAST, np.fmin)):
            if which in names:
                _push(found, names[which], inner, farther)
                inner = [*inner, names[which]]
    return found


def _push(found: dict[str, Floats], name: str, others: Sequence[str], farther: Farther) -> None:
    """Move one metric, in place, at least as far as some others; NaN stays NaN."""
    for other in others:
        own = found[name]
        moved = np.asarray(farther(own, found[other]))
        np.copyto(moved, np.nan, where=np.isnan(own))
        found[name] = moved


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[str, str]:
    """``latency`` and ``p99`` for ``latency_p99_s``; empty strings for other metrics."""
    found = STATISTIC.fullmatch(name)
    return (found["time"], found["which"]) if found else ("", "")
