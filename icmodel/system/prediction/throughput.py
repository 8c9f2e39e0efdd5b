"""What a system carries: each stream asked alone, shared with the others, and asked again beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel import units
from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import BOTTLENECKS, Estimate, absent, weakest
from icmodel.message import Message
from icmodel.system.loads import TOLERANCE, loads
from icmodel.system.network import Device, Stream, Switch, System
from icmodel.system.packing import Packing
from icmodel.system.prediction.buffers import Buffers, Spill
from icmodel.system.prediction.lanes import (
    HOSTS,
    INTERFACE,
    PORT,
    Answers,
    Shared,
    Spoken,
    ask,
    meeting,
    shared,
)
from icmodel.system.prediction.path_times import paced, windows
from icmodel.system.prediction.result import (
    DevicePrediction,
    LinkPrediction,
    PortPrediction,
    StreamPrediction,
    derived,
)
from icmodel.system.sharing.allocation import Allocation, Windows
from icmodel.system.sharing.loss import NOWHERE

SIDES = (("source", "send"), ("sink", "recv"))


def devices(
    system: System, streams: Mapping[str, StreamPrediction], sent_with: Ints
) -> dict[str, DevicePrediction]:
    """The processor of each device; copies that are ``sent_with`` another stream are sent by its work."""
    work: dict[str, list[tuple[Stream, Estimate]]] = {name: [] for name in system.devices}
    for index, one in enumerate(streams.values()):
        stream = one.stream
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            device = system.devices[getattr(stream, end)]
            work[device.name].append((stream, _busy(one, side)))
    return {name: _device(system.devices[name], some) for name, some in work.items()}


def overloaded_hosts(system: System, alone: Answers, sent_with: Ints) -> dict[str, str]:
    """Streams of which a host surely has too few cores, by name, each with a sentence.

    What must arrive of all streams of a host together, at the least that the dataset says they take alone.
    """
    needed: dict[str, dict[str, float]] = {}
    for index, stream in enumerate(system.streams.values()):
        most_bps = float(alone.ends("goodput_bps")[2, index])
        for end, side in SIDES:
            if side == "send" and sent_with[index] != index:
                continue
            least = float(alone.ends(f"cpu_{side}_cores")[1, index])
            if least > 0 and most_bps > 0:
                busy = needed.setdefault(getattr(stream, end), {})
                busy[stream.name] = least / most_bps * stream.must_arrive_bps
    found: dict[str, str] = {}
    for name, busy in needed.items():
        cores, total = system.devices[name].cores, math.fsum(busy.values())
        if cores is not None and total > cores * (1 + TOLERANCE):
            first, *more = busy
            others = f" and {len(more)} more" if more else ""
            found |= dict.fromkeys(
                busy,
                f"{name} needs at least {total:.4g} busy cores of its {cores} for the stream {first}{others}: "
                "give it more cores, or the streams less to carry",
            )
    return found


def _busy(one: StreamPrediction, side: str) -> Estimate:
    """Busy cores of one side of a stream, its application's work included."""
    name = f"cpu_{side}_cores"
    found = one.metrics.get(name)
    return found or absent(f"{one.metrics['goodput_bps'].why or 'its dataset'} gives no {name}")


def _device(device: Device, work: list[tuple[Stream, Estimate]]) -> DevicePrediction:
    unknown = next((one for _, one in work if one.absent), None)
    if unknown is not None:
        return DevicePrediction(absent(unknown.why), absent(unknown.why), ())
    busy = _sum(one for _, one in work)
    if device.cores is None:
        why = f"nobody says how many cores {device.name} has: give cores"
        return DevicePrediction(absent(why), busy, ())
    # held to what there is, as streams are held back by it
    value, low, high = (min(end, float(device.cores)) for end in busy.ends)
    busy = replace(busy, value=value, low=low, high=high)
    value, low, high = (min(end / device.cores, 1.0) for end in busy.ends)
    why = f"of {device.cores} cores; {busy.why}"
    used = replace(busy, value=value, low=low, high=high, why=why)
    return DevicePrediction(used, busy, _dealt(device.cores, work))


def _sum(some: Iterable[Estimate]) -> Estimate:
    """Busy cores together; ends add up, since rows that are off are off for all alike."""
    known = sorted(some, key=lambda one: (one.value, one.low, one.high, one.basis))
    bases = tuple(
        dict.fromkeys(("theory" if not known else "derived", *(one.basis for one in known)))
    )
    value, low, high = (sum(one.ends[end] for one in known) for end in range(3))
    why = f"the sum over {len(known)} ends of streams"
    return Estimate(value, low, high, weakest(bases), why, bases)


def _dealt(cores: int, work: list[tuple[Stream, Estimate]]) -> tuple[float, ...]:
    """How busy each core is when processes are dealt over cores, the busiest stream first (assumed)."""
    load = [0.0] * cores
    for stream, busy in sorted(work, key=lambda one: (-one[1].value, one[0].name)):
        count = min(stream.cores or cores, cores)
        for core in sorted(range(cores), key=lambda place: (load[place], place))[:count]:
            load[core] = min(load[core] + busy.value / count, 1.0)
    return tuple(sorted(load, reverse=True))


def links(
    system: System, found: Shared, allocation: Allocation, held: Buffers
) -> dict[str, LinkPrediction]:
    """Load and queue of every link, both directions."""
    carried, comes = found.by_place(allocation.carried), found.by_place(allocation.arriving)
    asked = {load.port.name: load.mean_bps for load in loads(system)}
    buffers = {
        name: node.buffer_bytes
        for name, port in system.ports.items()
        if isinstance(node := system.node(port.node), Switch)
    }
    by_link: dict[str, dict[str, PortPrediction]] = {name: {} for name in system.links}
    for name, port in system.ports.items():
        ratio = max(comes.get((PORT, name), 0.0), asked.get(name, 0.0)) / port.rate_bps
        mean, buffer = held.queued.backlog_bytes.get(name, 0.0), buffers.get(name)
        grows = ratio > 1 + TOLERANCE
        by_link[port.link][name] = PortPrediction(
            load_ratio=carried.get((PORT, name), 0.0) / port.rate_bps,
            asked_ratio=ratio,
            backlog_mean_bytes=_backlog(math.inf if grows else mean, name, buffer),
            backlog_bound_bytes=buffer if grows else held.bound.backlog_bytes.get(name),
        )
    return {name: LinkPrediction(ports) for name, ports in by_link.items()}


def _backlog(mean_bytes: float, port: str, buffer_bytes: float | None) -> Estimate:
    """The mean queue of a port; of a full one anything up to its buffer, if that is stated."""
    bases = ("derived", "assumed")
    if math.isinf(mean_bytes):
        why = f"{port} is full: its queue grows until its buffer is"
        if buffer_bytes is None:
            return absent(why)
        return Estimate(buffer_bytes, 0.0, buffer_bytes, "assumed", why, bases)
    return Estimate(
        mean_bytes, 0.0, math.inf if mean_bytes else 0.0, "assumed", "by Little's law", bases
    )


SPREAD = (0.62 / 0.94, 2.47 / 0.94)
"""The least and the greatest of ten TCP streams over the mean of all, on one 10 Gb/s link for 10 s: 0.62 and
2.47 Gb/s, Jain's fairness index 0.77 (a published run of iperf3)."""
UNEVEN = "streams that share a link are told apart by as much as in a published run of ten"
SAME = 1e-9
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
    others = np.where(others > own * SAME, others, 0.0)
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
    held = part.lane is not None and part.rate_bps < own.value * (1 - SAME)
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
    held = (
        part.crowded
        or got.low < own_goodput.low * (1 - SAME)
        or got.value < own_goodput.value * (1 - SAME)
    )
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
    arrives = got.value / own.value if got.value < own.value * (1 - SAME) else 1.0
    leaves = arrives
    if not part.elastic and (part.crowded or arrives < 1):
        leaves = min(part.sent_bps / sent.value, 1.0) if sent.value > 0 else 1.0
    for follows, by in ((RECEIVED, arrives), (SENT, leaves)):
        if by < 1 - SAME:
            told |= {
                name: derived(one, (by * end for end in one.ends), ("assumed",))
                for name, one in found.items()
                if follows(name) and not one.absent
            }
    sent, short = told.get("sent_bps", sent), found.get("shortfall_bps", absent(""))
    if math.isfinite(requested_bps) and sent.value + short.value < requested_bps * (1 - SAME):
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
    less = not got.value >= own.value * (1 - SAME)
    held = part.lane is not None and (part.lane[0] in HOSTS or part.crowded or less)
    if not held and code >= 0:
        return BOTTLENECKS[code], ""
    return part.limit, part.lane[1] if part.lane else ""


MOST_ENDPOINTS = 1e6


@dataclass(frozen=True, slots=True)
class Carried:
    """What streams ask for and get, by themselves and together.

    Parameters
    ----------
    fast, alone, beside : Answers
        Without the others, as fast as each goes and as it asks; and beside what meets it.
    held_back, by_window : arrays of bool (streams,)
        Which get less than they ask for because of others, and which ask for less because of a window.
    at_once : sequence of Part, optional
        What each gets while all that have a message of several frames send it at once.
    """

    shared: Shared
    allocation: Allocation
    fast: Answers
    alone: Answers
    beside: Answers
    held_back: Bools
    by_window: Bools
    at_once: Sequence[Part] | None


def carried(system: System, packed: Packing, unpaced: Spoken) -> Carried:
    """Ask the datasets, and share what streams share."""
    held = windows(system, packed, unpaced)
    said = paced(unpaced, held.limit_bps)
    fast = ask(said, {"rate_fps": np.full(said.size, np.inf)})
    alone = ask(said, {})
    able = _or_infinite(np.fmax(fast.value("goodput_bps"), alone.value("goodput_bps")))
    wanted = np.array([one.requested_goodput_bps for one in system.streams.values()])
    requested = np.minimum(wanted, held.limit_bps)
    found = shared(system, packed, alone, able)
    offered = _offered(requested, found, alone, able)
    sent_whole = ~found.flows.elastic & (alone.bottleneck == BOTTLENECKS.index("request"))
    allocation = found.allocation(offered, held)
    return Carried(
        shared=found,
        allocation=allocation,
        fast=fast,
        alone=alone,
        beside=ask(said, _beside(found, allocation, able)),
        held_back=allocation.rate_bps < np.where(sent_whole, offered, requested) * (1 - SAME),
        by_window=np.minimum(wanted, able) > held.limit_bps * (1 + SAME),
        at_once=_all_at_once(system, found, offered, np.minimum(able, held.limit_bps), held),
    )


def _or_infinite(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.inf, values)


def _offered(requested: Floats, found: Shared, alone: Answers, able: Floats) -> Floats:
    """What each stream asks for or sends [b/s], by itself."""
    sent = alone.value("sent_bps")
    lossy = np.where(np.isnan(sent), requested, np.minimum(sent, requested))
    return np.where(found.flows.elastic, np.minimum(requested, able), lossy)


def _beside(found: Shared, allocation: Allocation, able: Floats) -> dict[str, Floats]:
    """``endpoints`` and ``other_goodput_bps`` of each stream.

    The others get what leaves this stream its share of what it could have alone, where they leave it less;
    else what they get where it meets most, but no more than leaves it that.  Of streams without
    back-pressure that meet at a receiver, its rows and rules say what is lost of what all offer.
    """
    limited = allocation.limiting != NOWHERE
    place = np.where(limited, allocation.limiting, _busiest(found, allocation))
    met, _, others = meeting(found, allocation, place)
    endpoints = np.maximum(met, 1).astype(np.float64)
    kinds = np.array([kind for kind, _, _ in found.keys] + [""])
    received = ~found.flows.elastic & (kinds[place] == INTERFACE)
    rate = np.maximum(allocation.rate_bps, able / MOST_ENDPOINTS)
    with np.errstate(invalid="ignore"):  # of what nobody speaks for
        left = np.maximum(able - allocation.rate_bps, 0.0)
        least = np.ceil(able / rate - SAME)
    held = limited & ~received
    least = np.where(np.isfinite(least), least, 1.0)
    endpoints = np.where(held, np.maximum(endpoints, np.minimum(least, MOST_ENDPOINTS)), endpoints)
    others = np.where(held, left, np.where(received & limited, others, np.fmin(others, left)))
    others = np.where(np.isfinite(others), others, 0.0)
    return {"endpoints": endpoints, "other_goodput_bps": others}


def _busiest(found: Shared, allocation: Allocation) -> Ints:
    """The port or interface of each stream where most of what can be is carried, of those it shares."""
    path = found.flows.path
    crossed = (path != NOWHERE) & (found.flows.usage > 0)
    count = np.bincount(path[crossed], minlength=len(found.keys) + 1)
    kinds = np.array([kind not in HOSTS for kind, _, _ in found.keys] + [False])
    full = np.append(allocation.carried / np.maximum(allocation.could, 1e-300), 0.0)
    full = np.where(kinds & (count > 1), full, -1.0)
    ratio = np.where(path == NOWHERE, -1.0, full[path])
    hop = path.shape[1] - 1 - ratio[:, ::-1].argmax(axis=1)  # of equal ones the last
    most = np.take_along_axis(ratio, hop[:, None], 1)[:, 0]
    return np.where(most > 0, np.take_along_axis(path, hop[:, None], 1)[:, 0], NOWHERE)


# --- messages sent at once --------------------------------------------------------------------


def _all_at_once(
    system: System, found: Shared, offered: Floats, able: Floats, held: Windows
) -> list[Part] | None:
    """What each stream gets while all that have a message of several frames send it at once."""
    several = np.array([message(one) is not None for one in system.streams.values()], dtype=bool)
    if not several.any():
        return None
    return parts(found, found.allocation(np.where(several, able, offered), held))


def message(stream: Stream) -> Message | None:
    """The message of a stream, if it takes more than one frame."""
    made = stream.producer
    if made is None or made.message_bytes <= stream.payload_bytes:
        return None
    return Message(made.message_bytes)
