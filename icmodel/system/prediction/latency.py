"""Latency of a stream in a system: what its dataset measured, and what ways and queues add."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel import units
from icmodel.arrays import Bools, Floats
from icmodel.estimate import Estimate, absent
from icmodel.fits.buffers import GROWTH, HELD
from icmodel.laws.metrics import in_order
from icmodel.system.network import Switch, System
from icmodel.system.prediction.lanes import PORT, Shared
from icmodel.system.prediction.queues import Queues
from icmodel.system.prediction.result import derived
from icmodel.system.sharing.waiting import quantile_s

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
ANYWHERE = 0.45
"""By how much of a full port's buffer its mean level may be off half, where it is anywhere: 90 % of all levels."""
MOST_LOG = 500.0
"""Greatest log of a factor that still is a number."""
BRIM = 0.1
"""By how much a buffer that is called full may be less (assumed)."""
RULES = ("derived", "assumed")
"""What a latency rests on, besides its dataset's, where a way adds to it."""
MEDIAN = 0.5
RUNS = 0.95
"""The phases of a run are its own: its mean wait is below this quantile of waits in 95 % of runs."""


@dataclass(frozen=True, slots=True)
class Added:
    """What a stream's way adds to the latency its dataset gives.

    Parameters
    ----------
    shifts_s : mapping
        Fixed times by name [s]: switches and cables the dataset has no rule for, the application's work.
    queues_s : mapping
        Mean wait by port [s].
    mean_s, std_s, once_s : float
        Of all queues together: mean and deviation of the wait, and all bursts of others, each once.
    quantiles_s : mapping
        Wait that a share of frames does not exceed [s], by share.
    worst_s : float
        The wait that no frame exceeds, by its bound in the network [s]; infinite where it has none.
    full_s, brim_s : float
        Time to drain the buffers of full ports on the way [s], 0 where none is full: those that are anywhere
        between empty and full, and those that are asked for more than they send and stay full.
    meanwhile_s : float
        What others send at full ports while the frame's own packets come [s].
    why : str
        Why nobody knows how long frames wait, if so.
    """

    shifts_s: Mapping[str, float]
    queues_s: Mapping[str, float]
    mean_s: float
    std_s: float
    once_s: float
    quantiles_s: Mapping[float, float]
    worst_s: float = math.inf
    full_s: float = 0.0
    brim_s: float = 0.0
    meanwhile_s: float = 0.0
    why: str = ""

    @property
    def nothing(self) -> bool:
        """Whether the dataset's answer stands as it is."""
        queued = self.mean_s or self.full_s or self.brim_s
        return not (queued or self.why or any(self.shifts_s.values()))


def added(
    system: System,
    found: Shared,
    queued: Queues,
    held_back: Bools,
    shifts_s: tuple[Mapping[str, float], ...],
    overloaded: Bools,
    worst_s: Floats,
) -> list[Added]:
    """What the way of each stream adds.

    Means and quantiles of waits are found for phases that are independent, port by port, and add up as if ports were
    independent, too; where they are not, that may be more than can be.  So a mean wait is no longer than the worst over
    all phases, no quantile longer than the greatest wait, and no upper one shorter than the mean, since phases of a run last.

    Parameters
    ----------
    held_back : array of bool (streams,)
        Which get less than they ask for: the queue that those make which give way is in their dataset's latency
        of a request that is not achieved.
    overloaded : array of bool (lanes,)
        Which are asked for more than they carry by what does not give way, and stay full.
    worst_s : array (streams,)
        The wait that no frame of each exceeds [s]; infinite where nobody knows.
    """
    endless = np.isinf(queued.mean_s)
    mean = np.minimum(np.where(endless, 0.0, queued.mean_s).sum(axis=1), worst_s)
    variance = np.where(endless, 0.0, queued.variance_s2).sum(axis=1)
    once = np.clip(queued.burst_s.sum(axis=1), mean, worst_s)
    std = np.minimum(np.sqrt(variance), once).tolist()
    quantiles = {
        share: np.clip(quantile_s(mean, variance, share), mean * (share > MEDIAN), once).tolist()
        for share in (*QUANTILES.values(), RUNS)
    }
    answered = []
    for k in range(len(mean)):
        giving_way = bool(held_back[k] and found.flows.elastic[k])
        lanes = found.flows.path[k, np.flatnonzero(endless[k])].tolist()
        full = {
            found.keys[lane][1]: bool(overloaded[lane])
            for lane in lanes
            if not held_back[k] or (overloaded[lane] and not giving_way)
        }
        drain, brim, why = _full(system, full, sender_too=not held_back[k])
        if why and held_back[k]:  # its dataset has the latency of a request that is not achieved
            full, why = {}, ""
        beside = float(queued.meanwhile_s[k, endless[k]].sum()) if full else 0.0
        answered.append(
            Added(
                shifts_s=shifts_s[k],
                queues_s=_by_port(found, queued, k),
                mean_s=float(mean[k]),
                std_s=std[k],
                once_s=float(once[k]),
                worst_s=float(worst_s[k]),
                quantiles_s={share: of[k] for share, of in quantiles.items()},
                full_s=drain,
                brim_s=brim,
                meanwhile_s=beside,
                why=why,
            )
        )
    return answered


def _by_port(found: Shared, queued: Queues, stream: int) -> dict[str, float]:
    return {
        found.keys[lane][1]: float(wait)
        for lane, wait in zip(found.flows.path[stream], queued.mean_s[stream], strict=True)
        if 0 < wait < np.inf and found.keys[lane][0] == PORT
    }


def _full(
    system: System, ports: Mapping[str, bool], *, sender_too: bool
) -> tuple[float, float, str]:
    """Time to drain the buffers of full ports [s]: of those between empty and full, of those that stay full.

    And why it is not known.  ``ports`` says which stay full; without ``sender_too`` a port of the sender itself
    is left out, which its dataset knows.
    """
    drains = {True: 0.0, False: 0.0}
    for name, stays in ports.items():
        port = system.ports[name]
        node = system.node(port.node)
        if not isinstance(node, Switch) and not sender_too:
            continue
        buffer = node.buffer_bytes if isinstance(node, Switch) else None
        if buffer is None:
            why = f"{name} is full, and how long frames wait there depends on its buffer, which is not said"
            return 0.0, 0.0, why
        drains[stays] += buffer * 8 / port.rate_bps
    return drains[False], drains[True], ""


# --- metrics ----------------------------------------------------------------------------------


def held(own: Estimate, ratios: Sequence[float], together: int = 1) -> Estimate:
    """The latency of a stream that gets less than it asks for and gives way.

    Its sender's buffers and window are full, and what they hold takes as long as it takes to go away: L = B / λ
    (J. D. C. Little, A proof for the queuing formula L = λW, Operations Research 9, 1961).  Its dataset says
    how long at the goodput it has alone; the bytes are taken to be the same, give or take `HELD` (assumed).
    Of n streams that fill a port together each has a window, and buffers that grow with it, between all and an
    n-th of those alone: n to the power of −`GROWTH` (assumed).

    Parameters
    ----------
    ratios : sequence of three floats
        What it has alone over what it gets: for the value, the least and the greatest latency.
    together : int
        How many such streams fill the port.
    """
    value = own.value * ratios[0] / together**GROWTH
    below = [own.value, ratios[0], 1.0, together ** (1 - GROWTH)], [own.low, ratios[1], 1 - HELD, 1]
    above = [own.high, ratios[2], 1 + HELD, together**GROWTH], [own.value, ratios[0], 1.0, 1]
    made = value, value / _factor(*below), value * _factor(*above)
    return derived(own, made, RULES, "what its sender holds, at the goodput it gets")


def _factor(more: Sequence[float], less: Sequence[float]) -> float:
    """Factor by which some numbers over others may together be too large, where they are independent."""
    pairs = zip(more, less, strict=True)
    logs = [math.log(over / under) if under > 0 else math.inf for over, under in pairs if over > 0]
    return math.exp(min(math.hypot(*logs), MOST_LOG))


def latencies(own: Mapping[str, Estimate], way: Added) -> dict[str, Estimate]:
    """All latency metrics of a stream on its way, in their order at value, low and high.

    What is added to a mean, a quantile and a maximum is found apart, so they could cross.
    """
    asked = {name: one for name, one in own.items() if name.startswith("latency_")}
    mean = own.get("latency_mean_s", absent(""))
    found = {name: latency(name, one, mean, way) for name, one in asked.items()}
    known = {name: one for name, one in found.items() if not one.absent}
    if way.nothing or not known:
        return found
    value, low, high = (
        in_order(_above_mean({name: np.array(getattr(one, end)) for name, one in known.items()}))
        for end in ("value", "low", "high")
    )
    return found | {
        name: replace(one, value=float(value[name]), low=float(low[name]), high=float(high[name]))
        for name, one in known.items()
    }


def _above_mean(values: dict[str, Floats]) -> dict[str, Floats]:
    """Latencies, no upper quantile of them below the mean."""
    mean = values.get("latency_mean_s", np.array(-np.inf))
    upper = {f"latency_{name}_s" for name, share in QUANTILES.items() if share > MEDIAN}
    return {name: np.maximum(one, mean) if name in upper else one for name, one in values.items()}


def latency(name: str, own: Estimate, mean: Estimate, way: Added) -> Estimate:
    """A latency metric of a stream on its way.

    Parameters
    ----------
    own, mean : Estimate
        The metric, and the mean, as the dataset answers.
    """
    if own.absent or way.nothing:
        return own
    if way.why:
        return absent(way.why)
    statistic = name.removeprefix("latency_").removesuffix("_s")
    shift = math.fsum(way.shifts_s.values())
    if statistic == "std":
        return _told(own, (math.hypot(end, way.std_s) for end in own.ends), way)
    value, low, high = (end + shift for end in own.ends)
    if statistic == "min":
        return _told(own, (value, low, high), way)
    if statistic == "max":
        full = way.full_s + way.brim_s + way.meanwhile_s
        worst = max(way.once_s, way.worst_s) if math.isfinite(way.worst_s) else way.once_s
        return _told(own, (value + way.once_s + full, low, high + worst + full), way)
    wait = way.mean_s if statistic == "mean" else _later(statistic, own, mean, way)
    wait += way.meanwhile_s
    value = value + wait + way.full_s / 2 + way.brim_s
    unsure = ANYWHERE * way.full_s + BRIM * way.brim_s
    below = math.hypot(own.value - own.low, wait + unsure)
    more = max(way.quantiles_s[RUNS] - way.mean_s, 0.0)
    above = math.hypot(own.high - own.value, more + unsure)
    return _told(own, (value, value - below, value + above), way)


def later_s(statistic: str, way: Added) -> float:
    """What queues alone add to a mean or quantile of the latency, or to the greatest [s]."""
    if statistic == "mean":
        return way.mean_s
    return way.quantiles_s[QUANTILES[statistic]] if statistic in QUANTILES else way.once_s


def _later(statistic: str, own: Estimate, mean: Estimate, way: Added) -> float:
    """What queues add to a quantile: what goes beyond the means adds up as squares do (assumed)."""
    wait = later_s(statistic, way)
    if mean.absent:
        return wait
    host, queue = own.value - mean.value, wait - way.mean_s
    return way.mean_s + max(math.hypot(host, queue) - abs(host), 0.0) * math.copysign(1, queue)


def _told(own: Estimate, made: Iterable[float], way: Added) -> Estimate:
    said = []
    if way.queues_s:
        where = max(way.queues_s, key=lambda port: way.queues_s[port])
        said.append(f"{units.format_seconds(way.mean_s, 3)} of it in queues, most at {where}")
    if way.full_s:
        said.append("buffers of full ports between empty and full")
    if way.brim_s:
        said.append("buffers that stay full")
    said += [
        f"{name} {units.format_seconds(time, 3)}" for name, time in way.shifts_s.items() if time
    ]
    return derived(own, made, RULES, *said)
