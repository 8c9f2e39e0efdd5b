"""The application's own work: how it limits a stream, and what it adds to processing time and latency.

A host that needs c seconds for a frame needs c + a where the application adds a (`host_time` gives c).  By the
bottleneck law the slowest of sender, wire and receiver limits the throughput, since they work on
different frames at the same time (P. J. Denning, J. P. Buzen, The operational analysis of queueing network
models, ACM Computing Surveys 10, 1978).

The sender's work comes before the write of a frame, and the receiver's after its read: neither is
part of a latency, which is from the start of the write to the end of the read.  Both are part of a round
trip that an application answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from icmodel import units
from icmodel.arrays import Bools, Codes, Floats
from icmodel.laws import corrected
from icmodel.laws.appendix_h import CpuTime
from icmodel.laws.bases import ASSUMED, DERIVED, Bases, weakest
from icmodel.laws.flow import Flow, traversals
from icmodel.laws.host_time import SHORTEST_S, host_times
from icmodel.laws.metrics import BY_FLOW, UTILISATIONS, in_order
from icmodel.scenario import Scenario
from icmodel.tables import HIGH, LOW, VALUE, Load, Look, Pace, Work, opposite

OF_CHANGE = 0.1
"""Half-width in log: this share of the log of the factor by which the time per frame grows; assumed."""
FULLEST = 0.97
"""Greatest utilisation of a receiver in the formula of waiting times."""
SENDER, RECEIVER = 0, 1
BUSY = UTILISATIONS
"""Utilisation of the sender's and the receiver's cores."""
CODE = ("", "_cores", "_process_cores", "_user")
"""Endings of those metrics of processing time that include the application's work."""
TIMES = ("latency_", "rtt_")
SPREAD = "_std_s"
LEAST = "_min_s"


# --- What the stream asks for ---------------------------------------------------------------------


def paced(look: Look) -> Look:
    """The same questions with the request limited to what the application can send, or receive where nothing is lost.

    A sender whose application is slow behaves like one with a lower request, and so does one whose
    receiver is slow and pushes back.
    """
    q, work = look.q, look.q.work
    assert work is not None  # called only for questions with work
    alone = corrected.flow(look)
    host = host_times(look, alone)
    sender, receiver = (
        _end_bps(look, own_s, added_s)
        for own_s, added_s in zip(host.own_s, (work.send_s, work.recv_s), strict=True)
    )
    reached = alone.sent_bps[VALUE]
    by_sender = sender[VALUE] < reached
    sends = np.where(by_sender, sender[VALUE], reached)
    by_receiver = ~q.lossy & (receiver[VALUE] < sends)
    by_sender &= ~by_receiver
    request = np.where(by_sender, sends, np.where(by_receiver, receiver[VALUE], q.request_bps))
    pace = Pace(
        asked_bps=q.request_bps,
        sender_bps=sender,
        receiver_bps=receiver,
        without_bps=alone.goodput_bps,
        by_sender=by_sender,
        by_receiver=by_receiver,
        known=host.known,
    )
    asking = _asking(look, request, work._replace(pace=pace))
    arriving = corrected.flow(asking).goodput_bps[VALUE]
    lost = q.lossy & (receiver[VALUE] < arriving)
    pace = pace._replace(by_receiver=by_receiver | lost)
    return _asking(look, request, work._replace(pace=pace))


def _asking(look: Look, request_bps: Floats, work: Work) -> Look:
    q = replace(look.q, request_bps=request_bps, work=work)
    return Look(look.tables, q, intervals=look.ends == 3)


def _end_bps(look: Look, own_s: Floats, added_s: Floats) -> Floats:
    """Greatest throughput of one end's cores with the work that its application adds per frame, (ends, n) [b/s].

    Parameters
    ----------
    own_s : array
        Time the end itself needs for a frame, (ends, n).
    added_s : array
        Time its application adds, (n,); where it is 0 the end is no limit. That time alone bounds the upper end.
    """
    both_s = opposite(own_s) + added_s
    found: Floats = np.maximum(look.q.cores_count, 1) * 8 * look.q.payload_bytes / both_s
    if look.ends == 3:
        longer = both_s[VALUE] / np.maximum(own_s[VALUE], SHORTEST_S)
        wider = np.exp(OF_CHANGE * np.log(np.maximum(longer, 1.0)))
        with np.errstate(divide="ignore"):
            by_work = np.maximum(look.q.cores_count, 1) * 8 * look.q.payload_bytes / added_s
        found[LOW], found[HIGH] = found[LOW] / wider, np.minimum(found[HIGH] * wider, by_work)
    return np.where(added_s > 0, found, np.inf)


# --- How the frames fare --------------------------------------------------------------------------


def flow(look: Look) -> Flow:
    """The flow of the paced request, less the frames that an overloaded receiver loses."""
    told = corrected.flow(look)
    if look.q.work is None or look.q.work.pace is None:
        return told
    pace, lossy = look.q.work.pace, look.q.lossy
    factor = _of_value(pace, lossy)
    cut = pace.by_receiver & lossy
    share = np.where(cut, np.minimum(told.share_bps, pace.receiver_bps), told.share_bps)
    goodput = told.goodput_bps * factor
    goodput = np.where(cut, np.minimum(goodput, pace.receiver_bps), goodput)
    sent = told.sent_bps * factor
    if look.ends == 3:
        least = np.minimum(pace.sender_bps[LOW], pace.receiver_bps[LOW])
        most = np.minimum(pace.asked_bps, look.q.frames.greatest_bps)
        goodput[LOW] = np.minimum(goodput[LOW], least)
        goodput[HIGH] = np.minimum(goodput[HIGH], most)
        sent[LOW] = np.minimum(sent[LOW], pace.sender_bps[LOW])
        sent[HIGH] = np.minimum(sent[HIGH], most)
    waiting = opposite(told.not_achieved) | pace.by_receiver
    return told._replace(
        share_bps=share,
        sent_bps=np.where(lossy, sent, goodput),
        goodput_bps=goodput,
        receiver_overloaded=told.receiver_overloaded | cut,
        not_achieved=told.not_achieved | cut,
        latency_load=look.load(waiting),
    )


def _of_value(pace: Pace, lossy: Bools) -> Floats:
    """Ends of the application's limit relative to its value, as factors (ends, n)."""
    pushed_back = pace.by_receiver & ~lossy
    end_bps = np.where(pushed_back, pace.receiver_bps, pace.sender_bps)
    factor = np.ones_like(end_bps)
    np.divide(end_bps, end_bps[VALUE], out=factor, where=pushed_back | pace.by_sender)
    return factor


# --- Processing time ------------------------------------------------------------------------------


def with_work(time: CpuTime) -> CpuTime:
    """Processing time, including the application's for the frames that it sends or receives."""

    def told(look: Look, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
        value = time(look, metrics, load, flow)
        work = look.q.work
        if work is None or work.pace is None:
            return value
        frames = (
            flow.sent_bps / (8 * look.q.payload_bytes),
            flow.goodput_bps / (8 * look.q.payload_bytes),
        )
        for k, metric in enumerate(metrics):
            end = SENDER if metric.startswith(BUSY[SENDER]) else RECEIVER
            if metric.removeprefix(BUSY[end]) in CODE:
                added_s = (work.send_s, work.recv_s)[end]
                value[k] = _with_own(look, metric, value[k], frames[end], added_s)
        if BUSY[SENDER] in metrics:  # its cores are the bottleneck
            k, full = metrics.index(BUSY[SENDER]), 1 / look.core_ratio([BUSY[SENDER]])[0]
            # The low end stays the sum of its own time and the work.
            for end in {VALUE, look.ends - 1}:
                more = np.fmax(value[k, end], full)
                value[k, end] = np.where(work.pace.by_sender, more, value[k, end])
        return value

    return told


def _with_own(look: Look, metric: str, value: Floats, frames: Floats, added_s: Floats) -> Floats:
    """One metric (ends, n) with the application's part: busy cores, or a share of the rows' cores."""
    cores = 1.0 if metric.endswith("_cores") else np.maximum(look.cores([metric])[0], 1.0)
    return np.where(added_s > 0, value + frames * added_s / cores, value)


# --- All metrics ----------------------------------------------------------------------------------


def with_application(look: Look, flow: Flow, found: dict[str, Floats]) -> dict[str, Floats]:
    """Metrics of the paced request, restated for the original request."""
    work = look.q.work
    if work is None or work.pace is None:
        return found
    limited = work.pace.by_sender | work.pace.by_receiver
    asked = work.pace.asked_bps
    short = np.maximum(asked - opposite(found["sent_bps"]), 0.0)
    short[:, np.isinf(asked)] = 0.0
    told = {"shortfall_bps": np.where(limited, short, found["shortfall_bps"])}
    for name in found:
        if name.startswith(TIMES):
            told[name] = _time(look, name, found[name], flow)
    return in_order(found | told)


def _time(look: Look, name: str, value: Floats, flow: Flow) -> Floats:
    """A latency or round trip (ends, n) [s].

    Where the receiver limits, buffers are full: as many frames wait as in the unlimited benchmark, and longer, since
    fewer pass (J. D. C. Little, A proof for the queuing formula L = λW, Operations Research 9, 1961).
    """
    work = look.q.work
    assert work is not None  # callers check it
    assert work.pace is not None
    behind = work.pace.by_receiver
    slower = np.maximum(work.pace.without_bps[VALUE] / flow.goodput_bps[VALUE], 1.0)
    ends = [value[VALUE] * np.where(behind, slower, 1.0)]
    if look.ends == 3:
        waits = not name.endswith((SPREAD, LEAST))
        more = np.where(behind, 0.0, _waiting_s(look, work, flow)) if waits else 0.0
        ends += [value[LOW], value[HIGH] * np.where(behind, slower, 1.0) + more]
    found = np.stack(ends)
    if name.startswith("rtt_"):
        found += traversals(name) / 2 * (work.send_s + work.recv_s)
    return found


def _waiting_s(look: Look, work: Work, flow: Flow) -> Floats:
    """Greatest mean time that a frame waits for a busy receiver, beyond the waiting in the rows, (n,) [s].

    For frames with random arrivals ρ S / (2 (1 − ρ)) at a constant service time S (M/D/1 by
    Pollaczek and Khinchine: L. Kleinrock, Queueing Systems, vol. 1, 1975); evenly spaced frames
    do not wait.
    """
    assert work.pace is not None  # callers check it
    bits, cores = 8 * look.q.payload_bytes, np.maximum(look.q.cores_count, 1)
    service_s = cores * bits / work.pace.receiver_bps[VALUE]
    own_s = np.maximum(service_s - work.recv_s, 0.0)
    each = flow.goodput_bps[VALUE] / bits / cores

    def wait_s(service: Floats) -> Floats:
        rho = np.minimum(each * service, FULLEST)
        return np.asarray(rho * service / (2 * (1 - rho)))

    return np.nan_to_num(wait_s(service_s) - wait_s(own_s))  # 0 where the goodput is unknown


# --- What is said of it ---------------------------------------------------------------------------


def with_rules(look: Look, used: Bases) -> Bases:
    """Bases of metrics, with the rules of the application's work where it counts."""
    work = look.q.work
    if work is None or work.pace is None:
        return used
    pace, behind = work.pace, work.pace.by_receiver
    told = np.where(behind, pace.known[RECEIVER], pace.known[SENDER])
    limited = pace.by_sender | behind
    rules = dict(used.rules)

    def add(names: Sequence[str], codes: Codes) -> None:
        for name in names:
            rules[name] = np.maximum(rules[name], codes) if name in rules else codes

    by_flow = weakest((limited, DERIVED), (limited & ~told, ASSUMED))
    counted = [name for name in used.reads if name.endswith("_per_s")]
    add([*BY_FLOW, *counted], by_flow)
    for end, seconds in zip(BUSY, (work.send_s, work.recv_s), strict=True):
        add([name for name in used.reads if name.startswith(end)], weakest((seconds > 0, DERIVED)))
    add([name for name in used.reads if name.startswith(TIMES)], weakest((behind, ASSUMED)))
    trips = [name for name in used.reads if name.startswith("rtt_")]
    add(trips, weakest((work.send_s + work.recv_s > 0, DERIVED)))
    return used._replace(rules=rules)


def with_bounds(look: Look, flow: Flow, found: Mapping[str, float]) -> dict[str, float]:
    """For a block of one question: the bounds of its goodput, with those of the application's work [b/s]."""
    work = look.q.work
    if work is None or work.pace is None:
        return dict(found)
    ends = {"application_send": work.pace.sender_bps, "application_recv": work.pace.receiver_bps}
    said = {name: float(end[VALUE, 0]) for name, end in ends.items() if np.isfinite(end[VALUE, 0])}
    told = {**found, "request": float(work.pace.asked_bps[0]), **said}
    told.pop("arriving", None)
    goodput = float(flow.goodput_bps[VALUE, 0])
    return told | {"arriving": goodput} if goodput < min(told.values()) else told


def work_notes(look: Look, asked: Scenario) -> Iterator[str]:
    """For a block of one question: what is assumed of the application's work, and its effects."""
    work = look.q.work
    if work is None or work.pace is None:
        return
    pace = work.pace
    said = [
        f"{units.format_seconds(float(seconds[0]), 3)} at the {end}"
        for end, seconds in (("sender", work.send_s), ("receiver", work.recv_s))
        if seconds[0] > 0
    ]
    yield (
        f"the application adds {' and '.join(said)} to a frame: before its write and after its read, so "
        "that no one-way latency holds it, but for waiting (in the interval)"
    )
    for place, limits, seconds, end_bps in (
        (SENDER, pace.by_sender, work.send_s, pace.sender_bps),
        (RECEIVER, pace.by_receiver, work.recv_s, pace.receiver_bps),
    ):
        if limits[0]:
            yield _limit_note(look, asked, place, float(seconds[0]), float(end_bps[VALUE, 0]))
    if pace.by_receiver[0]:
        yield (
            "frames wait in full buffers: their latency is that of the unlimited benchmark, longer as "
            "fewer pass (Little's law), which is assumed"
        )


def _limit_note(look: Look, asked: Scenario, end: int, added_s: float, end_bps: float) -> str:
    """Which rule gives the host's own time per frame."""
    assert look.q.work is not None  # callers check it
    assert look.q.work.pace is not None
    cores = max(float(look.q.cores_count[0]), 1.0)
    own_s = max(cores * 8 * asked.payload_bytes / end_bps - added_s, 0.0)
    who = ("sender", "receiver")[end]
    known = bool(look.q.work.pace.known[end, 0])
    rule = "derived from its utilisation" if known else "assumed, as no row says how busy it is"
    return (
        f"a core of the {who} needs {units.format_seconds(own_s, 3)} for a frame by itself ({rule}), and "
        f"with the application's work it is what limits: {units.format_bps(end_bps, 4)}"
    )
