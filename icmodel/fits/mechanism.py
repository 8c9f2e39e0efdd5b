"""Cost models: the time of a frame as a cost per frame, per byte and per packet.

The costs of each protocol, at the hosts' limit and below it, are fitted by least squares of the
relative error and are never negative, so that they can be read and extrapolated.  The deviation of a
configuration's costs from its protocol's is left to the processes over the residual, which also give its
uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Working = tuple[str, bool | None]
"""Key of a set of costs: a protocol, and whether its hosts are at their limit; ``None`` means both states."""
ANY: Working = ("", None)
"""Key of the costs that are fitted to all protocols together."""

LEAST_ROWS = 5
"""Least number of rows for separate costs of a protocol, or of its hosts at their limit.

With fewer rows, costs fitted to a larger set of rows are used.
"""
CONSTANT, COSTS, QUEUE, WORK = "constant", "costs", "queue", "work"
KINDS = (COSTS, QUEUE, WORK)
"""Kinds of cost model: costs alone; costs plus waiting in a queue that grows with the load or in a full
buffer (a latency); costs times the throughput in frames (processing time, by the utilisation law).  The
``constant`` model has no costs."""
SHORTEST_S = 1e-300


@dataclass(frozen=True, slots=True)
class Modelled:
    """Prediction of a cost model at n sites (combinations of payload, load and labels).

    ``log_time`` is the log of the time.  ``shares`` (n, costs) is the share of each cost in the time, which is the
    derivative of the log time over the log of that cost.
    """

    log_time: Floats
    shares: Floats

    def take(self, where: Ints) -> Modelled:
        """Select the cost model's predictions at the sites with the given indices."""
        return Modelled(self.log_time[where], self.shares[where])


class Mechanism:
    """A cost model: it predicts the time at each site from fitted costs, such as those per frame and per byte.

    Each protocol has costs of its own, for hosts at their limit and for hosts below it.

    Hosts at their limit have other costs, since they process several frames at a time.

    Parameters
    ----------
    kind : str
        Kind of cost model.
    sites : Sites
        Sites of the rows.
    log_time : array
        Log time at the rows.

    >>> import icmodel
    >>> from functools import partial
    >>> from icmodel.fits.observations import observations
    >>> from icmodel.tables.wire import frames_on_wire
    >>> data = icmodel.load("infiniband-qdr-connectx2")
    >>> rows = observations(data, "rtt_mean_s", partial(frames_on_wire, data))
    >>> model = Mechanism(COSTS, rows.sites, np.log(rows.values))
    >>> per_frame_s, per_byte_s, per_packet_s = model.costs("rdma-write")
    >>> f"{per_frame_s:.1e} s a frame, {per_byte_s:.1e} s a byte"
    '2.4e-06 s a frame, 7.1e-10 s a byte'
    """

    def __init__(self, kind: str, sites: Sites, log_time: Floats) -> None:
        self.kind = kind
        self._of: dict[Working, Floats] = {ANY: _fit(kind, sites, log_time)}
        for protocol, members in sites.by_protocol.items():
            if len(members) >= LEAST_ROWS:
                self._of[protocol, None] = _fit(kind, sites.take(members), log_time[members])
        for working, members in _workings(sites).items():
            if len(members) >= LEAST_ROWS and kind != CONSTANT:
                self._of[working] = _fit(kind, sites.take(members), log_time[members])
        used = {self._known(working) for working in _workings(sites)}
        self.parameters = sum(int((self._of[one] > 0).sum()) for one in used)
        """Number of fitted costs that are in use and above 0."""

    def costs(self, protocol: str, full: bool | None = None) -> Floats:
        """Fitted costs of a protocol: per frame [s], per byte [s/B], per packet [s], and further costs of this kind.

        ``full`` selects the costs of hosts at their limit (true), below their limit (false), or of both (``None``).
        """
        return self._of[self._known((protocol, full))]

    def at(self, sites: Sites) -> Modelled:
        """Predict the log time at some sites, and the share of each cost in the time."""
        parts = _features(self.kind, sites)
        for working, members in _workings(sites).items():
            parts[members] *= self.costs(*working)
        time = np.maximum(parts.sum(axis=1), SHORTEST_S)
        return Modelled(np.log(time), parts / time[:, None])

    def _known(self, working: Working) -> Working:
        """Find the most specific fitted costs that cover a protocol and the state of its hosts; returns their key."""
        protocol, _ = working
        return next(one for one in (working, (protocol, None), ANY) if one in self._of)


def _workings(sites: Sites) -> dict[Working, Ints]:
    """Indices of sites, grouped by protocol and by whether hosts are at their limit."""
    full = sites.at_limit
    found: dict[Working, Ints] = {}
    for protocol, members in sites.by_protocol.items():
        for one in (False, True):
            if len(rows := members[full[members] == one]):
                found[protocol, one] = rows
    return found


def _features(kind: str, sites: Sites) -> Floats:
    """Factor by which each cost of a model enters the time at some sites, (n, costs), such as the payload in bytes."""
    ones = np.ones(len(sites))
    if kind == CONSTANT:
        return ones[:, None]
    costs = np.stack([ones, sites.payload_bytes, sites.packets], axis=1)
    if kind == COSTS:
        return costs
    if kind == QUEUE:
        # In overload a full buffer adds the time in which some frames and bytes leave the buffer.
        full = sites.at_limit & (sites.frames_per_s > 0)
        frame_s = np.divide(1.0, sites.frames_per_s, out=np.zeros(len(sites)), where=full)
        queued = sites.queue, sites.queue * sites.payload_bytes
        return np.column_stack([costs, *queued, frame_s, frame_s / sites.payload_bytes])
    return np.column_stack([ones, costs * sites.frames_per_s[:, None]])


def possible_kinds(sites: Sites) -> tuple[str, ...]:
    """Select the kinds of cost model that can be fitted at some sites.

    Two kinds need a known throughput or a queue at some site.
    """
    known = {QUEUE: bool(sites.queue.any()), WORK: bool(sites.frames_per_s.any())}
    return tuple(kind for kind in KINDS if known.get(kind, True))


def _fit(kind: str, sites: Sites, log_time: Floats) -> Floats:
    """Fit the costs of a kind of model to the log times of some rows.

    The constant model takes the median.  Other kinds use non-negative least squares of relative errors.
    """
    if kind == CONSTANT:
        return np.array([np.exp(np.median(log_time))])
    relative = _features(kind, sites) / np.exp(log_time)[:, None]
    scale = np.linalg.norm(relative, axis=0)
    scale[scale == 0] = 1.0
    found: Floats = non_negative(relative / scale, np.ones(len(sites))) / scale
    return found


def non_negative(matrix: Floats, target: Floats) -> Floats:
    """Solve the non-negative least squares problem: the x ≥ 0 that minimises |matrix·x − target|.

    The method is the active set of Lawson and Hanson.
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
