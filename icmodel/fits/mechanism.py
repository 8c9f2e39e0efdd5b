"""Cost models: the time of a frame as a cost per frame, per byte and per packet.

Non-negative least squares of the relative errors fits the costs of each protocol.  Hosts at their
limit and hosts below it have separate costs.  Since no cost is negative, costs can be read and
extrapolated.  Gaussian processes over the residual model the deviation of a configuration from
its protocol, and give the uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.fits.observations import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Working = tuple[str, bool | None]
"""Key of a set of costs: (protocol, whether hosts are at their limit); ``None`` covers both."""
ANY: Working = ("", None)
"""Key of the costs fitted to all protocols together."""

LEAST_ROWS = 5
"""Least number of rows for separate costs of a protocol, or of one state of its hosts.

With fewer rows, the costs of the next larger group apply: the protocol, then all protocols.
"""
CONSTANT, COSTS, QUEUE, WORK = "constant", "costs", "queue", "work"
KINDS = (COSTS, QUEUE, WORK)
"""Kinds of cost model with costs per frame, byte and packet.

- ``costs``: the sum of these costs.
- ``queue``: adds the wait in a queue below capacity, or in a full buffer; it suits latencies.
- ``work``: multiplies the costs by the throughput [frames/s] and adds a constant; it suits
  processor load (utilisation law).

The kind ``constant`` is not listed: its only parameter is the median.
"""
SHORTEST_S = 1e-300
"""Lower limit of times [s], so that their logarithm stays finite."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """Prediction of a cost model at n sites (combinations of payload, load and labels).

    ``log_time`` (n,) is the natural logarithm of the time [s].  ``shares`` (n, costs) holds the
    share of each cost in the time.  It is the derivative of the log time by the log of that cost.
    """

    log_time: Floats
    shares: Floats

    def take(self, where: Ints) -> Modelled:
        """Select the predictions at the sites with the given indices."""
        return Modelled(self.log_time[where], self.shares[where])


class Mechanism:
    """Cost model: predicts the time at each site from costs per frame, per byte and per packet.

    Each protocol has separate costs for hosts at their limit and for hosts below it, if it has
    enough rows.  The costs differ because hosts at their limit process several frames at a time.

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
        """Number of positive costs that predictions at the rows use."""

    def costs(self, protocol: str, full: bool | None = None) -> Floats:
        """Return the fitted costs of a protocol, (costs,), in an order that depends on the kind.

        - ``constant``: the time [s].
        - ``costs``: per frame [s], per byte [s/B], per packet [s].
        - ``queue``: these, then per queued frame [s], per queued byte [s/B], and the content of the
          full buffer in frames and in bytes [B].
        - ``work``: a constant, then per frame [s], per byte [s/B], per packet [s].

        ``full`` selects hosts at their limit (true), below it (false), or in both states
        (``None``).
        """
        return self._of[self._known((protocol, full))]

    def at(self, sites: Sites) -> Modelled:
        """Predict the log time at n sites, and the share of each cost in the time."""
        parts = _features(self.kind, sites)
        for working, members in _workings(sites).items():
            parts[members] *= self.costs(*working)
        time = np.maximum(parts.sum(axis=1), SHORTEST_S)
        return Modelled(np.log(time), parts / time[:, None])

    def _known(self, working: Working) -> Working:
        """Return the key of the most specific costs for a protocol and the state of its hosts."""
        protocol, _ = working
        return next(one for one in (working, (protocol, None), ANY) if one in self._of)


def _workings(sites: Sites) -> dict[Working, Ints]:
    """Indices of sites, by protocol and by whether hosts are at their limit."""
    full = sites.at_limit
    found: dict[Working, Ints] = {}
    for protocol, members in sites.by_protocol.items():
        for one in (False, True):
            if len(rows := members[full[members] == one]):
                found[protocol, one] = rows
    return found


def _features(kind: str, sites: Sites) -> Floats:
    """Design matrix (n, costs): the factor of each cost in the time, such as the payload [B]."""
    ones = np.ones(len(sites))
    if kind == CONSTANT:
        return ones[:, None]
    costs = np.stack([ones, sites.payload_bytes, sites.packets], axis=1)
    if kind == COSTS:
        return costs
    if kind == QUEUE:
        # At the limit, a full buffer adds the time to drain its frames and bytes.
        full = sites.at_limit & (sites.frames_per_s > 0)
        frame_s = np.divide(1.0, sites.frames_per_s, out=np.zeros(len(sites)), where=full)
        queued = sites.queue, sites.queue * sites.payload_bytes
        return np.column_stack([costs, *queued, frame_s, frame_s / sites.payload_bytes])
    return np.column_stack([ones, costs * sites.frames_per_s[:, None]])


def possible_kinds(sites: Sites) -> tuple[str, ...]:
    """Kinds of cost model that rows at these sites can determine.

    ``queue`` needs a queue at some site, and ``work`` a known throughput.
    """
    known = {QUEUE: bool(sites.queue.any()), WORK: bool(sites.frames_per_s.any())}
    return tuple(kind for kind in KINDS if known.get(kind, True))


def _fit(kind: str, sites: Sites, log_time: Floats) -> Floats:
    """Fit the costs of a cost model to the log times (n,) of n rows; returns (costs,).

    The constant model takes the median.  Other kinds use non-negative least squares of the relative
    errors.
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
