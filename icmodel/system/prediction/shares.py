"""Goodput and loss of a stream in a system: its dataset's answer, held to what it gets of what it shares."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from icmodel import units
from icmodel.arrays import Floats
from icmodel.estimate import BOTTLENECKS, Estimate, absent
from icmodel.system.prediction.buffers import Spill
from icmodel.system.prediction.derived import derived
from icmodel.system.prediction.lanes import HOSTS, INTERFACE, Shared, meeting
from icmodel.system.sharing.allocation import Allocation
from icmodel.system.sharing.loss import NOWHERE

SPREAD = (0.62 / 0.94, 2.47 / 0.94)
"""The least and the greatest of ten TCP streams over the mean of all, on one 10 Gb/s link for 10 s: 0.62 and
2.47 Gb/s, Jain's fairness index 0.77 (a published run of iperf3)."""
UNEVEN = "streams that share a link are told apart by as much as in a published run of ten"
SAME = 1 - 1e-9
RECEIVED = re.compile("frames_per_s|packets_received_per_s|cpu_recv.*").fullmatch
SENT = re.compile("sent_bps|packets_sent_per_s|cpu_send.*").fullmatch
BY_WINDOW = "what its window lets pass in a round trip, taken as twice the latency of a lone frame (assumed)"


@dataclass(frozen=True, slots=True)
class Part:
    """What one stream gets of what it shares.

    Parameters
    ----------
    sent_bps, rate_bps : float
        What it sends and gets [b/s].
    lane : tuple of str, optional
        Kind and place of what holds it back; ``None`` where nothing does.
    others_bps : float
        What others get of it [b/s of their goodput].
    crowded : bool
        Whether others are there at all, in other classes too.
    elastic : bool
        Whether it gives way, and loses nothing.
    fair_bps : float
        Least fair share of the full lanes on its path [b/s]; infinite where none is full.
    """

    sent_bps: float
    rate_bps: float
    lane: tuple[str, str] | None
    others_bps: float
    crowded: bool
    elastic: bool
    fair_bps: float = math.inf

    @property
    def at(self) -> str:
        """Where it is held back, empty where it is not."""
        return "" if self.lane is None else self.lane[1]

    @property
    def shared(self) -> bool:
        """Whether it is held back by others."""
        return self.lane is not None and self.others_bps > 0

    @property
    def limit(self) -> str:
        """What holds it back, as a bottleneck is named."""
        if self.lane is None:
            return "request"
        if self.lane[0] in HOSTS:
            return "cpu"
        if not self.crowded:
            return "wire"
        return "receiver" if self.lane[0] == INTERFACE and not self.elastic else "share"


def parts(found: Shared, allocation: Allocation) -> list[Part]:
    """What each stream gets of what it shares."""
    path = found.flows.path
    crossed = path[(path != NOWHERE) & (found.flows.usage > 0)]
    at_place = found.by_place(np.bincount(crossed, minlength=len(found.keys)))
    _, own, others = meeting(found, allocation, allocation.limiting)
    others = np.where(others > own * (1 - SAME), others, 0.0)
    held_at = [
        None if lane == NOWHERE else found.keys[lane][:2] for lane in allocation.limiting.tolist()
    ]
    fair = _fair_bps(found, allocation)
    return [
        Part(
            sent_bps=float(allocation.sent_bps[k]),
            rate_bps=float(allocation.rate_bps[k]),
            lane=lane,
            others_bps=float(others[k]),
            crowded=lane is not None and at_place[lane] > 1,
            elastic=bool(found.flows.elastic[k]),
            fair_bps=float(fair[k]),
        )
        for k, lane in enumerate(held_at)
    ]


def _fair_bps(found: Shared, allocation: Allocation) -> Floats:
    """Least fair share of the full lanes on the path of each stream [b/s], (streams,); infinite without one.

    It is what a stream would get of a lane if it asked for more: an equal part of what it has and of what those
    have that the lane holds back.
    """
    path, usage = found.flows.path, found.flows.usage
    on_wire = allocation.rate_bps[:, None] * usage
    here = (path == allocation.limiting[:, None]) & (path != NOWHERE)
    lanes = len(found.keys)
    total = np.bincount(path[here], weights=on_wire[here], minlength=lanes)
    count = np.bincount(path[here], minlength=lanes)
    full = (path != NOWHERE) & (usage > 0) & (count[path] > 0)
    equal = (total[path] + on_wire) / (count[path] + 1)
    shares = np.divide(equal, usage, out=np.full(path.shape, np.inf), where=full)
    return np.asarray(shares.min(axis=1, initial=np.inf))


def goodput(own: Estimate, part: Part, most_bps: float = math.inf) -> Estimate:
    """The dataset's goodput, held to the share; its interval as wide as shares are uneven.

    Parameters
    ----------
    most_bps : float
        What it has alone at most, as it asks [b/s].
    """
    held = part.lane is not None and part.rate_bps < own.value * SAME
    least = SPREAD[0] * part.fair_bps
    if not own.absent and part.lane is None and part.elastic and least < own.low:
        made = (own.value, least, own.high)
        return derived(
            own, made, ("derived", "assumed"), "near the fair share of a full link: " + UNEVEN
        )
    if own.absent or not (held or part.shared):
        return own
    value = min(own.value, part.rate_bps) if held else own.value
    below, above = (1 - own.low / own.value, own.high / own.value - 1) if own.value > 0 else (0, 0)
    why, high = "", math.inf
    if part.shared and part.elastic:
        below, above = math.hypot(below, 1 - SPREAD[0]), math.hypot(above, SPREAD[1] - 1)
        high = value + (1 - SPREAD[0]) * part.others_bps
        why = UNEVEN
    elif part.shared:
        why = "of what is offered too much, each loses the same part, or one of them all (assumed)"
        less, more = _unevenly(part)
        below, above = math.hypot(below, less), math.hypot(above, more)
    high = min(high, most_bps)  # no share lets a stream have more than it gets alone
    made = (value, max(value * (1 - below), 0.0), min(value * (1 + above), max(high, value)))
    return derived(
        own, made, ("derived", "assumed") if why else ("derived",), f"its share of {part.at}", why
    )


def spilled(got: Estimate, spill: Spill) -> Estimate:
    """A goodput less what full buffers drop."""
    kept = (1 - spill.value, 1 - spill.high, 1 - spill.low)
    why = f"the buffer of {spill.at} drops {units.format_ratio(spill.low, 2)} to {units.format_ratio(spill.high, 2)}"
    made = (end * part for end, part in zip(got.ends, kept, strict=True))
    return got if got.absent else derived(got, made, ("derived", "assumed"), why)


def lost_by_theory(spill: Spill, why: str) -> Estimate:
    """The loss rate of a stream that no dataset speaks for: what full buffers drop; hosts may lose anything."""
    said = f"{why}; what the buffer of {spill.at} drops, and hosts may lose more"
    return Estimate(spill.value, spill.low, 1.0, "assumed", said, ("theory", "assumed"))


def sent_again(found: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Metrics of a stream whose packets may be dropped and sent again: its greatest latency has no upper end."""
    greatest = found.get("latency_max_s", absent(""))
    if greatest.absent:
        return dict(found)
    made = (greatest.value, greatest.low, math.inf)
    return {**found, "latency_max_s": derived(greatest, made, ("assumed",), why)}


def windowed(got: Estimate) -> Estimate:
    """A goodput that the stream's window allows: the reason beside it."""
    return got if got.absent else derived(got, got.ends, ("assumed",), BY_WINDOW)


def _unevenly(part: Part) -> tuple[float, float]:
    """By what part of its share a stream without back-pressure may get less, and more.

    A full queue drops whatever comes; which of periodic streams that is depends on their phases.  So one may
    lose all that is too much, and another nothing.
    """
    if not 0 < part.rate_bps < part.sent_bps:
        return 0.0, 0.0
    offered = part.sent_bps / part.rate_bps * (part.rate_bps + part.others_bps)
    excess = offered - part.rate_bps - part.others_bps
    least = max(part.sent_bps - excess, 0.0)
    return 1 - least / part.rate_bps, part.sent_bps / part.rate_bps - 1


def loss(own: Estimate, got: Estimate, own_goodput: Estimate, part: Part) -> Estimate:
    """The dataset's loss rate; of a stream that is held back, what does not arrive of what is sent."""
    sent = part.sent_bps
    held = part.crowded or got.low < own_goodput.low * SAME or got.value < own_goodput.value * SAME
    if part.elastic or own.absent or got.absent or not held or sent <= 0:
        return own
    lost = [min(max(1 - end / sent, 0.0), 1.0) for end in (got.value, got.high, got.low)]
    return derived(replace(own, why=got.why), lost, ("assumed",))


def following(
    found: Mapping[str, Estimate], got: Estimate, part: Part, requested_bps: float
) -> dict[str, Estimate]:
    """Rates and processor time of a stream that gets less than its dataset says: in proportion (assumed).

    What the receiver does follows what arrives, and what the sender does what is sent; that is all of it
    where the stream does not give way.
    """
    own, sent = found["goodput_bps"], found.get("sent_bps", absent(""))
    told = dict(found)
    arrives = got.value / own.value if got.value < own.value * SAME else 1.0
    leaves = arrives
    if not part.elastic and (part.crowded or arrives < 1):
        leaves = min(part.sent_bps / sent.value, 1.0) if sent.value > 0 else 1.0
    for follows, by in ((RECEIVED, arrives), (SENT, leaves)):
        if by < SAME:
            told |= {
                name: derived(one, (by * end for end in one.ends), ("assumed",))
                for name, one in found.items()
                if follows(name) and not one.absent
            }
    sent, short = told.get("sent_bps", sent), found.get("shortfall_bps", absent(""))
    if math.isfinite(requested_bps) and sent.value + short.value < requested_bps * SAME:
        value, low, high = (
            max(requested_bps - end, 0.0) for end in (sent.value, sent.high, sent.low)
        )
        told["shortfall_bps"] = Estimate(value, low, high, sent.basis, sent.why, sent.bases)
    return told


def by_theory(part: Part, why: str) -> Estimate:
    """Goodput of a stream that no dataset speaks for: at most what its links allow.

    Of streams without back-pressure that share too little, another may lose all that is too much.
    """
    most_bps = part.sent_bps if part.shared and not part.elastic else part.rate_bps
    return Estimate(part.rate_bps, 0.0, most_bps, "theory", why, ("theory",))


def bottleneck(code: int, part: Part, own: Estimate, got: Estimate) -> tuple[str, str]:
    """What limits a stream and where; the dataset's word where its share does not."""
    less = not got.value >= own.value * SAME
    held = part.lane is not None and (part.lane[0] in HOSTS or part.crowded or less)
    if not held and code >= 0:
        return BOTTLENECKS[code], ""
    return part.limit, part.lane[1] if part.lane else ""
