"""Metrics of a model variant: names, bases (kinds of evidence), derived metrics, and notes.

A law (the functions of a variant) computes each metric from table look-ups and rules.  Each look-up and each rule has a
basis, such as ``measured`` or ``assumed``.  The basis of the metric is the weakest of these.  E1 to E19 are the errata
of IC2012 (docs/background/errata.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, fast_where
from icmodel.estimate import BASES
from icmodel.laws.flow import (
    INTERFACE_OVERLOADED,
    Flow,
    latency_unknown,
    loss_lowers_goodput,
    traversals,
)
from icmodel.laws.substitution import other_cores
from icmodel.scenario import Scenario
from icmodel.tables import VALUE, Load, TableQuery, Tables

BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate")
"""Metrics of throughput and loss, which follow from a stream's goodput."""
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
"""Names of the metrics in every prediction.  A metric without a value has a reason."""
UTILISATIONS = ("cpu_send", "cpu_recv")
SENDER = UTILISATIONS[0]
BUSY = "cpu_"
"""Prefix of the names of processing-time metrics; these metrics grow with the load (E15)."""
ONE_PROCESS = "_process_cores"
"""Ending of the names of metrics that count the busy cores of a single process, not of the whole host.

A process uses at most the cores that it may use; a host may use more.
"""
GROWING = (BUSY, "packets_")
"""Prefixes of metrics that are 0 without load, and proportional to the load below the lowest measured load."""
ANY_CORES = ("latency_", "rtt_", BUSY)
"""Prefixes of metrics that may be predicted from rows at another core count (E6, E11).

Latency is used unchanged; CPU time is scaled.
"""
PRIVATE = "_"
"""Prefix of the names of look-up tables and columns that a model variant makes for its own use."""
BOTTLENECK = "bottleneck"
DEMAND = "_demand_"
"""Prefix of the names of columns of demand.

A demand is the utilisation of the requested cores that a stream needs.  It may exceed 1.
"""


def predicted(own: Collection[str]) -> tuple[str, ...]:
    """Names of all metrics in a dataset's predictions, in order.

    First come the metrics that every prediction has (`ALWAYS`), then the other names of ``own``, sorted. ``own`` are
    the metrics with a look-up table in this dataset.
    """
    return (*ALWAYS, *sorted(name for name in own if name not in ALWAYS))


def table_metrics(tables: Tables) -> tuple[str, ...]:
    """Names of the metrics that have a look-up table.

    Left out are metrics of throughput and loss, and tables for internal use (their names begin with ``_``).
    """
    return _without_private(tuple(tables.metrics))


@lru_cache(maxsize=256)
def _without_private(names: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the names of `BY_FLOW`, which follow from the goodput, and of internal tables, which begin with ``_``."""
    return tuple(name for name in names if not name.startswith(PRIVATE) and name not in BY_FLOW)


def split(
    own: Collection[str], wanted: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Sort the wanted metrics into three groups: other metrics (such as latencies), processing times, utilisations.

    Metrics without a table are left out.  If the bottleneck is wanted, the third group also contains the sender's
    utilisation, which is needed to determine the bottleneck.
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
    """Return utilisations as columns by name, and add the columns of busy cores (E6, an erratum of the thesis IC2012).

    ``found`` has the shape (metrics, ends, n); the ends are value, low and high.  Busy cores are utilisation × requested
    cores.  If the busy cores of a metric were measured, no column is added: they have a look-up table of their own.
    """
    columns = dict(zip(utilisations, found, strict=True))
    for name in utilisations:
        if f"{name}_cores" not in query.tables.metrics and query.tables.axes.cores:
            columns[f"{name}_cores"] = columns[name] * query.q.cores
    return columns


def demand_columns(utilisations: Sequence[str], demand: Floats) -> dict[str, Floats]:
    """Map the name of each demand, such as ``_demand_cpu_send``, to its array (ends, n).

    A demand is the utilisation of the requested cores that a stream needs; it may exceed 1.  ``demand`` is the array
    (utilisations, ends, n).  The `ends` axis holds value, low and high; n is the number of requests.
    """
    return {DEMAND + name: ends for name, ends in zip(utilisations, demand, strict=True)}


def frames_per_s(query: TableQuery, flow: Flow, measured: Floats | None) -> Floats:
    """Compute delivered frames per second, (ends, n): goodput divided by the bits of a payload.

    The axis ``ends`` holds value, low and high.  If the goodput is unknown, the result is the smaller of two rates: the
    benchmarked frame rate ``measured`` and the requested frame rate.
    """
    bits = query.q.payload_bytes * 8
    frames = flow.goodput_bps / bits
    if measured is None:
        return frames
    requested_fps = query.q.requested_goodput_bps / bits
    return fast_where(np.isnan(frames), np.minimum(measured, requested_fps), frames)


# --- order of the statistics of one time ----------------------------------------------------------

Farther = Callable[[Floats, Floats], Floats]
"""Type of ``np.fmax``, which raises a value to another value, and of ``np.fmin``, which lowers it."""
LEAST, GREATEST, MEAN = "min", "max", "mean"
STATISTIC = re.compile(r"(?P<time>.+)_(?P<which>min|mean|max|p[0-9]+)_s")


def with_others(metrics: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Add to the wanted metrics those that `in_order` needs: all known statistics of a latency or round trip.

    `in_order` corrects all statistics of a latency or round trip together.  It never changes mean and median, so
    nothing is added if only these are wanted.
    """
    moved = {time for time, which in map(_parts, metrics) if which not in ("", MEAN, "p50")}
    return frozenset(metrics) | {name for name in known if _parts(name)[0] in moved}


Move = tuple[str, tuple[str, ...], Farther]
"""Correction of one statistic: its metric, the metrics that it must reach, and the direction of the correction."""


def moves(metrics: Iterable[str]) -> Iterator[Move]:
    """Yield the corrections that put the statistics of each latency or round trip into ascending order.

    They must be made in turn.  First, each quantile above the median is raised to at least the quantiles below it.
    Then each quantile below the median is lowered to at most the quantiles above it.  Last, the maximum is raised and
    the minimum lowered, so that the mean and all quantiles lie between them.
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
    """Correct predicted values so that the statistics of each latency or round trip ascend.

    Their order is minimum, quantiles, maximum; the mean lies between minimum and maximum.  NaN stays NaN.
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
    """Split the name of a statistic of a latency or round trip: ``latency_p99_s`` into ``latency`` and ``p99``.

    For the name of any other metric, both texts are empty.
    """
    found = STATISTIC.fullmatch(name)
    return (found["time"], found["which"]) if found else ("", "")


T = TypeVar("T")

STATED, THEORY, DERIVED, INTERPOLATED, ASSUMED, EXTRAPOLATED = (
    BASES.index(name)
    for name in ("stated", "theory", "derived", "interpolated", "assumed", "extrapolated")
)


class Read(NamedTuple):
    """One table look-up: the table's name, the load, and a mask of the requests that use it (``None``: all)."""

    table: str
    load: Load
    where: Bools | None = None


class Bases(NamedTuple):
    """Evidence behind each metric, by name of the metric: its table look-ups, and the rules of the model.

    ``reads`` has the look-ups.  A rule, such as an assumption, can weaken the basis (kind of evidence) of a metric.
    ``rules`` has one index into ``BASES`` for each request, (n,): the weakest basis that a rule sets, or 0 (the
    strongest basis) if no rule applies.
    """

    reads: Mapping[str, Sequence[Read]]
    rules: Mapping[str, Codes]

    def codes(self, query: TableQuery, metrics: Iterable[str]) -> dict[str, Codes]:
        """Find the weakest basis (kind of evidence, such as ``measured``) of each metric over its look-ups and rules.

        For each metric, the result is an index into ``BASES`` for each request, (n,).
        """
        strongest = np.zeros(len(query.q), dtype=np.int8)
        found = {metric: self.rules.get(metric, strongest) for metric in metrics}
        every = [read for metric in found for read in self.reads.get(metric, ())]
        known = {
            (table, id(load)): code
            for load, tables in _by_load(every)
            for table, code in zip(tables, query.basis(tables, load), strict=True)
        }
        for metric in found:
            for read in self.reads.get(metric, ()):
                code = known[read.table, id(read.load)]
                code = code if read.where is None else np.where(read.where, code, 0)
                found[metric] = np.maximum(found[metric], code)
        return found

    def used(
        self, query: TableQuery, metrics: Iterable[str]
    ) -> dict[str, list[tuple[int, list[int]]]]:
        """List the table look-ups of each metric, for a single request.

        A look-up is a pair: its basis (kind of evidence, as an index into ``BASES``), and the dataset rows it used.
        """
        reads = {
            metric: [r for r in self.reads.get(metric, ()) if r.where is None or r.where[0]]
            for metric in metrics
        }
        known: dict[tuple[str, int], tuple[int, list[int]]] = {}
        for load, tables in _by_load(read for found in reads.values() for read in found):
            here = load.of_values()
            codes = query.basis(tables, here)[:, 0].tolist()
            for table, code, rows in zip(tables, codes, query.rows(tables, here), strict=True):
                known[table, id(load)] = code, rows
        return {
            metric: [known[read.table, id(read.load)] for read in found]
            for metric, found in reads.items()
        }


def _by_load(reads: Iterable[Read]) -> list[tuple[Load, list[str]]]:
    """Group table look-ups by load: pairs of a load and the names of the tables looked up at this load."""
    found: dict[int, tuple[Load, dict[str, None]]] = {}
    for read in reads:
        found.setdefault(id(read.load), (read.load, {}))[1][read.table] = None
    return [(load, list(tables)) for load, tables in found.values()]


def weakest(*rules: tuple[Bools, int]) -> Codes:
    """Find the weakest basis (kind of evidence) among the rules that apply to each request.

    A rule is a pair of a mask, which marks the requests to which it applies, and an index into ``BASES``.  The result
    (n,) holds indices into ``BASES``; 0, the strongest basis, if no rule applies.
    """
    codes = [where * np.int8(basis) for where, basis in rules]
    return reduce(np.maximum, codes)


def curve_rules(query: TableQuery, tables: Sequence[str]) -> Codes:
    """Find the basis (kind of evidence) that numbers get if switches were added or the core count was not measured.

    A latency over more switches than measured is ``stated``.  A utilisation scaled to another core count is
    ``derived``.  At a core count without measured goodput, every number is ``extrapolated``.  The result (tables, n)
    holds indices into ``BASES``.
    """
    cores, requested = query.cores(tables), query.q.cores
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)[:, None]
    scaled = np.array([name in UTILISATIONS for name in tables], dtype=bool)[:, None]
    return weakest(
        (crossing & (query.q.switches > query.switches(tables)), STATED),
        (scaled & (cores > 0) & (cores != requested), DERIVED),
        (other_cores(query, tables), EXTRAPOLATED),
    )


def with_busy_cores(entries: Mapping[str, T]) -> dict[str, T]:
    """Copy the entry of each CPU utilisation (``cpu_send``) to the metric of its busy cores (``cpu_send_cores``).

    An entry tells on what evidence a metric is based: its table look-ups, or the basis (kind of evidence) of the rules
    that compute it.  Both metrics share an entry, since busy cores are computed from the utilisation.  Busy cores that
    already have an entry keep it.
    """
    found = dict(entries)
    for name in UTILISATIONS:
        if name in found:
            found.setdefault(f"{name}_cores", found[name])
    return found


# --- bounds and notes -----------------------------------------------------------------------------

UNLIMITED = "latency is that of the unlimited benchmark"
"""End of the note on an unachieved request, if the prediction uses no runs measured in overload."""


def benchmark_and_share(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Return two upper bounds of the goodput [b/s] of a single request: ``benchmark`` and ``share``.

    ``benchmark`` is the greatest goodput of the stream without other streams.  ``share`` is the stream's part of the
    goodput that the receiver accepts from all senders.  Without other senders, the result has no ``share``.
    """
    found = {"benchmark": float(flow.capacity_bps[VALUE, 0])}
    if query.q.endpoints[0] > 1:
        found["share"] = float(flow.share_bps[VALUE, 0])
    return found


def sharing_notes(query: TableQuery, flow: Flow, scenario: Scenario) -> Iterator[str]:
    """Write the notes on how a stream shares its interface with other endpoints."""
    if scenario.endpoints > 1 and not scenario.other_goodput_bps:
        others = "the other endpoint is" if scenario.endpoints == 2 else "the other endpoints are"
        yield f"{others} taken as idle: if they send, give other_goodput, the sum of their requests"
    if loss_lowers_goodput(query, flow)[0]:
        yield (
            "all senders together offer more than the receiver accepts: the receiver's goodput is assumed, and each "
            "sender's share is assumed to be proportional to the offered load (erratum E2)"
        )
    elif scenario.endpoints > 2:
        yield (
            "the stream's share is exact if the other endpoints send equal rates, and a lower bound if not (erratum E2)"
        )


def cores_notes(scenario: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """Write a note for each host (utilisation ``cpu_send`` or ``cpu_recv``) that needs more cores than requested.

    ``needed`` holds, by name of the utilisation, the busy cores that the stream needs, divided by the requested cores.
    This ratio may exceed 1.
    """
    for name, demand in needed.items():
        if scenario.cores is not None and demand > 1:
            yield (
                f"{name}: the stream needs {demand * scenario.cores:.3g} busy cores but has {scenario.cores}; the "
                "prediction is limited to these"
            )


def latency_note(query: TableQuery, flow: Flow, scenario: Scenario, instead: str) -> Iterator[str]:
    """Yield a note on the latency if the receiving interface is overloaded, or the request is not achieved.

    In the first case the latency is unknown.  In the second case, the note ends in the text ``instead``,
    which names the runs from which the latency comes.
    """
    if latency_unknown(query, flow)[0]:
        yield f"{INTERFACE_OVERLOADED}: the latency is unknown"
    elif flow.not_achieved[VALUE, 0] and math.isfinite(scenario.requested_goodput_bps):
        yield f"the request is not achieved: {instead}"
