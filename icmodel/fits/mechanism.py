"""Cost models: the time of a frame as a cost per frame, per byte and per packet.

The costs of each protocol are fitted by non-negative least squares of the relative errors.  Hosts
at their limit (saturated) have other costs than hosts below it.  No cost is negative, so people can
read the costs, and predictions can extrapolate them.  Gaussian processes over the residual then
predict how far the times of a configuration, such as an option's value, deviate from the costs
of its protocol, and how uncertain this is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CostKey = tuple[str, bool | None]
"""Key of a set of costs: the protocol, and whether hosts are at their limit; ``None`` means both states."""
ANY: CostKey = ("", None)
"""Key of the costs fitted to all protocols together."""

LEAST_COST_ROWS = 5
"""Least number of rows for separate costs of a protocol, or of one state of its hosts.

A state with fewer rows uses the costs of its protocol.  A protocol with fewer rows uses the costs of
all protocols.
"""
CONSTANT, COSTS, QUEUE, WORK = "constant", "costs", "queue", "work"
KINDS = (COSTS, QUEUE, WORK)
"""Kinds of cost model with costs per frame, byte and packet.

- ``costs``: the sum of these costs.
- ``queue``: the sum, plus the wait in a queue (below capacity) or in a full buffer (at the limit);
  suits latencies.
- ``work``: a constant, plus the sum times the throughput [frames/s]; suits processor load
  (utilisation law).

The kind ``constant`` is not listed: its only parameter is the median.
"""
SHORTEST_S = 1e-300
"""Lower limit of times [s], so that their logarithm stays finite."""


class ConstantCosts(NamedTuple):
    """Parameter of a cost model of the kind ``constant``: the same time [s] at every payload and load."""

    time_s: float


class FrameCosts(NamedTuple):
    """Costs of a cost model of the kind ``costs``: per frame [s], per byte [s/B] and per packet [s]."""

    per_frame: float
    per_byte: float
    per_packet: float


class QueueCosts(NamedTuple):
    """Costs of a cost model of the kind ``queue``: those of the kind ``costs``, plus waits in a queue or buffer.

    Each frame ahead in the queue adds ``per_queued_frame`` [s], and ``per_queued_byte`` [s/B] for each
    of its bytes.  A stream at its limit also fills a buffer, so the time to drain the full buffer is
    added.  The full buffer holds ``buffer_frames`` frames and ``buffer_bytes`` further bytes.
    """

    per_frame: float
    per_byte: float
    per_packet: float
    per_queued_frame: float
    per_queued_byte: float
    buffer_frames: float
    buffer_bytes: float


class WorkCosts(NamedTuple):
    """Costs of a cost model of the kind ``work``, for metrics such as the utilisation.

    The predicted value is ``constant`` + frames per second × (``per_frame`` + ``per_byte`` × payload +
    ``per_packet`` × packets).  ``per_frame`` and ``per_packet`` are in s, ``per_byte`` is in s/B, and
    ``constant`` has no unit.
    """

    constant: float
    per_frame: float
    per_byte: float
    per_packet: float


Costs = ConstantCosts | FrameCosts | QueueCosts | WorkCosts
COSTS_OF: Mapping[str, type[Costs]] = {
    CONSTANT: ConstantCosts,
    COSTS: FrameCosts,
    QUEUE: QueueCosts,
    WORK: WorkCosts,
}
"""Kind of cost model -> tuple that names its costs, in the order in which arrays hold them."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """Prediction of a cost model at n sites (combinations of payload, load and labels).

    ``log_time`` (n,) is the natural logarithm of the time [s].  ``shares`` (n, costs) holds the
    fraction of the time that is due to each cost.  This is also the derivative of ``log_time`` by
    the logarithm of the cost.
    """

    log_time: Floats
    shares: Floats

    def take(self, where: Ints) -> Modelled:
        """Select the predictions at the given indices of sites (payload, load and labels)."""
        return Modelled(self.log_time[where], self.shares[where])


class Mechanism:
    """Cost model: predicts the time at each site from costs per frame, per byte and per packet.

    A protocol with enough rows has separate costs for hosts at their limit and for hosts below it.
    Hosts at their limit process several frames at a time, so their costs differ.

    Parameters
    ----------
    kind : str
        ``CONSTANT``, or one of ``KINDS``.
    sites : Sites
        Sites of the n rows.
    log_time : array (n,)
        Natural logarithm of the time [s] at each row.

    >>> import icmodel
    >>> from functools import partial
    >>> from icmodel.fits.observations import observations
    >>> from icmodel.tables.wire import frames_on_wire
    >>> data = icmodel.load("infiniband-qdr-connectx2")
    >>> rows = observations(data, "rtt_mean_s", partial(frames_on_wire, data))
    >>> model = Mechanism(COSTS, rows.sites, np.log(rows.values))
    >>> costs = model.costs("rdma-write")
    >>> f"{costs.per_frame:.1e} s a frame, {costs.per_byte:.1e} s a byte"
    '2.4e-06 s a frame, 7.1e-10 s a byte'
    """

    def __init__(self, kind: str, sites: Sites, log_time: Floats) -> None:
        self.kind = kind
        self._costs: dict[CostKey, Floats] = {ANY: _fit(kind, sites, log_time)}
        for protocol, members in sites.by_protocol.items():
            if len(members) >= LEAST_COST_ROWS:
                self._costs[protocol, None] = _fit(kind, sites.take(members), log_time[members])
        for key, members in _sites_by_key(sites).items():
            if len(members) >= LEAST_COST_ROWS and kind != CONSTANT:
                self._costs[key] = _fit(kind, sites.take(members), log_time[members])
        used = {self._most_specific(key) for key in _sites_by_key(sites)}
        self.parameters = sum(int((self._costs[one] > 0).sum()) for one in used)
        """Number of positive costs that predictions at the rows use."""

    def costs(self, protocol: str, full: bool | None = None) -> Costs:
        """Return the fitted costs of a protocol as a named tuple, whose fields depend on the kind of cost model.

        The costs may differ with the state of the hosts, which ``full`` selects: at their limit
        (``True``), below their limit (``False``), or both states together (``None``).
        """
        return COSTS_OF[self.kind](*self._costs[self._most_specific((protocol, full))].tolist())

    def at(self, sites: Sites) -> Modelled:
        """Predict the natural logarithm of the time at n sites, and the fraction of the time due to each cost.

        A site is a point of payload, load and labels.
        """
        parts = _features(self.kind, sites)
        for key, members in _sites_by_key(sites).items():
            parts[members] *= self._costs[self._most_specific(key)]
        time = np.maximum(parts.sum(axis=1), SHORTEST_S)
        return Modelled(np.log(time), parts / time[:, None])

    def _most_specific(self, key: CostKey) -> CostKey:
        """Key of the costs to use for a protocol and the state of its hosts (at their limit or not).

        These are the costs of the protocol in this state.  If they were not fitted, the costs of the
        protocol in both states together are used.  If these were not fitted either, the costs of all
        protocols together are used.
        """
        protocol, _ = key
        return next(one for one in (key, (protocol, None), ANY) if one in self._costs)


def _sites_by_key(sites: Sites) -> dict[CostKey, Ints]:
    """Group sites (points of payload, load and labels) by protocol and state of the hosts; return their indices.

    The state is true if the hosts are at their limit: unlimited load or overload.
    """
    full = sites.at_limit
    found: dict[CostKey, Ints] = {}
    for protocol, members in sites.by_protocol.items():
        for one in (False, True):
            if len(rows := members[full[members] == one]):
                found[protocol, one] = rows
    return found


def _features(kind: str, sites: Sites) -> Floats:
    """Design matrix (n, costs): the number by which each cost is multiplied, such as the payload [B]."""
    ones = np.ones(len(sites))
    columns = {
        "time_s": ones,
        "constant": ones,
        "per_frame": ones,
        "per_byte": sites.payload_bytes,
        "per_packet": sites.packets,
    }
    if kind == QUEUE:
        # At the limit, a full buffer adds the time to drain its frames and bytes.
        full = sites.at_limit & (sites.frames_per_s > 0)
        frame_s = np.divide(1.0, sites.frames_per_s, out=np.zeros(len(sites)), where=full)
        columns["per_queued_frame"] = sites.queue
        columns["per_queued_byte"] = sites.queue * sites.payload_bytes
        columns["buffer_frames"] = frame_s
        columns["buffer_bytes"] = frame_s / sites.payload_bytes
    if kind == WORK:
        columns |= {name: columns[name] * sites.frames_per_s for name in FrameCosts._fields}
    return np.stack([columns[name] for name in COSTS_OF[kind]._fields], axis=1)


def possible_kinds(sites: Sites) -> tuple[str, ...]:
    """Return the kinds of cost model that can be fitted to measurements at these sites.

    A site is a combination of payload, load and labels.  The kind ``queue`` has a cost for each frame
    that waits in a queue, so it is left out if frames wait in a queue at no site.  The kind ``work``
    multiplies its costs by the throughput, so it is left out if the throughput is known at no site.
    """
    known = {QUEUE: bool(sites.queue.any()), WORK: bool(sites.frames_per_s.any())}
    return tuple(kind for kind in KINDS if known.get(kind, True))


def _fit(kind: str, sites: Sites, log_time: Floats) -> Floats:
    """Fit the costs of a cost model to ``log_time`` (n,), the natural logarithms of the times of n rows.

    The result is an array (costs,).  The constant model has one cost: the median time.  The costs of
    other kinds of model follow from non-negative least squares of the relative errors.
    """
    if kind == CONSTANT:
        return np.array([np.exp(np.median(log_time))])
    relative = _features(kind, sites) / np.exp(log_time)[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    found: Floats = non_negative(relative / scale, np.ones(len(sites))) / scale
    return found


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """Solve non-negative least squares: the x ≥ 0 (columns,) that minimises |matrix·x − target|.

    ``matrix`` has the shape (rows, columns), and ``target`` the shape (rows,).  The method is the
    active set of C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, 1974.
    """
    count = matrix.shape[1]
    active = np.zeros(count, dtype=bool)
    x = np.zeros(count)
    for _ in range(3 * count):
        gradient = matrix.T @ (target - matrix @ x)
        if active.all() or gradient[~active].max() <= 1e-12:
            break
        free = np.flatnonzero(~active)
        active[free[np.argmax(gradient[free])]] = True
        while active.any():
            solved = np.zeros(count)
            solved[active] = np.linalg.lstsq(matrix[:, active], target, rcond=None)[0]
            if solved[active].min() > 0:
                x = solved
                break
            falling = active & (solved <= 0)
            step = float((x[falling] / (x[falling] - solved[falling])).min())
            x = x + step * (solved - x)
            active &= x > 1e-15
    return x
