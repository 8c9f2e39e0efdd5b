"""Latency of a stream in a system: of its frames, and of whole messages of several frames.

A frame's latency comes from the stream's dataset, from the devices that state it, or from theory. The delays of path
and queues are added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from icmodel.arrays import Floats
from icmodel.estimate import Estimate, absent
from icmodel.fits.hosts import GROWTH, HELD
from icmodel.laws.metrics import in_order
from icmodel.message import Message, sent_at_once
from icmodel.system.network import Stream
from icmodel.system.prediction.buffers import Buffers
from icmodel.system.prediction.delays import MEDIAN, QUANTILES, RULES, AddedLatency
from icmodel.system.prediction.goodput import StreamGoodput
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.result import GREATEST_LATENCY, MEAN_LATENCY, OF_TIME, derived
from icmodel.system.prediction.stated import StatedTimes
from icmodel.system.prediction.throughput import MOST_ENDPOINTS, Throughput
from icmodel.system.prediction.windows import SMALL_WINDOW, StreamWindow
from icmodel.system.sharing import SAME

MOST_LOG = 500.0
"""Greatest logarithm of a factor, so that the factor fits into a float."""
HOSTS_ADD = "hosts add an unknown time"
MESSAGE_TIMES = (MEAN_LATENCY, "latency_p99_s", GREATEST_LATENCY)
"""Latencies of whole messages that are reported as absent if no message arrives whole."""


def frame_latencies(
    index: int,
    rates: Throughput,
    stated: StatedTimes,
    goodput: StreamGoodput,
    added: AddedLatency,
    buffers: Buffers,
    path: PathTimes,
) -> dict[str, Estimate]:
    """Latencies of a stream's frames, by metric.

    Parameters
    ----------
    index : int
        Index of the stream in the system.
    stated : StatedTimes
        The stream, with the latency that its devices state.
    """
    stream, share, refused = stated.stream, rates.shares[index], rates.alone.refused.get(index)
    if stated.passes_whole(share):
        own = stated.latencies(path)
        least_s = own["latency_min_s"].low + path.application_s
        found = latencies(own, added)
        return {name: replace(one, low=min(one.low, least_s)) for name, one in found.items()}
    if refused is not None:
        found = latencies_by_theory(stream, path, added, refused)
        return stated.beside_theory(found) if stated.devices else found

    own = {name: one for name, one in goodput.metrics.items() if name.startswith("latency_")}
    if rates.held_back[index] and share.elastic:
        own |= congested_latencies(index, rates, goodput.before_buffers, added.together)
    elif added.full_s:
        own |= rates.alone.requested.latencies(
            index
        )  # latencies without congestion; `latencies` adds the wait at the full port
    elif rates.held_back[index]:
        own |= sender_queue_latencies(index, rates, own)
    if stated.devices:
        own = stated.beside_dataset(own, path.contained_s)
    found = latencies(own, added)
    if stated.devices:
        found |= stated.at_least(found)
    greatest, sent_again = (
        found.get(GREATEST_LATENCY, absent("")),
        buffers.sent_again.get(index, ""),
    )
    if sent_again and not greatest.absent:
        ends = (greatest.value, greatest.low, math.inf)
        found[GREATEST_LATENCY] = derived(greatest, ends, ("assumed",), sent_again)
    return found


# --- latencies with a dataset -----------------------------------------------------------------


def congested_latencies(
    index: int, rates: Throughput, goodput: Estimate, together: int
) -> dict[str, Estimate]:
    """Latencies of a TCP stream that gets less than it requests because of other streams.

    The latencies of the stream alone, at an unlimited rate, are multiplied by a ratio. The ratio is the stream's
    goodput alone, divided by its goodput while the others send.
    """
    fastest = rates.alone.fastest.estimate("goodput_bps", index)
    if fastest.absent or not 0 < goodput.value < fastest.value * (1 - SAME):
        return {}
    slowest = max(goodput.low, goodput.value / MOST_ENDPOINTS)
    reached = (goodput.value, max(goodput.high, goodput.value), slowest)
    ratios = [fastest.value / rate for rate in reached]
    known = rates.alone.fastest.latencies(index)
    return {name: congested_latency(own, ratios, together) for name, own in known.items()}


def sender_queue_latencies(
    index: int, rates: Throughput, metrics: Mapping[str, Estimate]
) -> dict[str, Estimate]:
    """Latencies of a datagram stream that other streams hold back, for metrics that its dataset does not give.

    The sender's queue has an upper and a lower limit. It is at most as full as that of an unlimited sender alone; the
    latencies of such a sender are value and high. It is at least as full as that of the same sender alone at the
    requested rate; the latencies at this rate are the low.

    Parameters
    ----------
    metrics : mapping
        Metrics of the stream from its dataset, while the other streams send.
    """
    alone, found = rates.alone.requested.latencies(index), {}
    for name, full in rates.alone.fastest.latencies(index).items():
        if metrics[name].absent:
            found[name] = replace(full, low=min(full.low, alone.get(name, full).low))
    return found


def latencies(dataset_metrics: Mapping[str, Estimate], added: AddedLatency) -> dict[str, Estimate]:
    """Latencies of a stream from its dataset, with the times of path and queues added.

    The times that path and queues add to mean, quantiles and maximum are computed separately, so p50 could exceed p99.
    So the resulting statistics are put in ascending order.

    Parameters
    ----------
    dataset_metrics : mapping
        Metrics of the stream from its dataset, without the added times.
    """
    mean = dataset_metrics.get(MEAN_LATENCY, absent(""))
    found = {
        name: added.applied(name, estimate, mean)
        for name, estimate in dataset_metrics.items()
        if name.startswith("latency_")
    }
    known = {name: estimate for name, estimate in found.items() if not estimate.absent}
    if added.nothing or not known:
        return found
    upper = {f"latency_{name}_s" for name, share in QUANTILES.items() if share > MEDIAN}
    floor = {name: 0.0 if name.endswith("_std_s") else added.floor_s for name in known}
    ends = {name: np.maximum(estimate.ends, floor[name]) for name, estimate in known.items()}
    least = ends.get(MEAN_LATENCY, np.full(3, -np.inf))
    above: dict[str, Floats] = {
        name: np.maximum(each, least) if name in upper else each for name, each in ends.items()
    }
    for name, ordered in in_order(above).items():
        value, low, high = ordered.tolist()
        found[name] = replace(known[name], value=value, low=low, high=high)
    return found


def congested_latency(latency: Estimate, ratios: Sequence[float], together: int = 1) -> Estimate:
    """Latency of a TCP stream that gets less than it requests.

    The sender's buffers and window are full, and drain at the goodput λ that the stream gets. So the latency is L = B /
    λ, with B buffered bytes (J. D. C. Little, A proof for the queuing formula L = λW, Operations Research 9, 1961). B
    follows from the latency and the goodput of the stream alone, which the dataset gives. Beside other streams, B is
    assumed to change by at most the fraction `HELD`. If n streams fill a port together, each stream's window and
    buffers may shrink by a factor. The value assumes the factor ``n ** -GROWTH``; the interval covers all factors
    between 1 and ``1 / n``.

    Parameters
    ----------
    latency : Estimate
        Latency of the stream alone at an unlimited rate [s].
    ratios : sequence of three floats
        Goodput of the stream alone, divided by the goodput that it gets. The three ratios belong to the value, the
        low and the high of the result.
    together : int
        Number of TCP streams that fill the port together (n).
    """
    value = latency.value * ratios[0] / together**GROWTH
    below = _joint_factor(
        [latency.value, ratios[0], 1.0, together ** (1 - GROWTH)],
        [latency.low, ratios[1], 1 - HELD, 1],
    )
    above = _joint_factor(
        [latency.high, ratios[2], 1 + HELD, together**GROWTH], [latency.value, ratios[0], 1.0, 1]
    )
    why = "full buffers of its sender, at the goodput it gets"
    return derived(latency, (value, value / below, value * above), RULES, why)


def _joint_factor(more: Sequence[float], less: Sequence[float]) -> float:
    """Return the error of a product of uncertain factors: its greatest value divided by its least value.

    Factor i of the product is between ``less[i]`` and ``more[i]``, so its error is ``more[i] / less[i]``. The errors
    are independent, so the product of all of them would be too large. The result is ``exp(√(Σ ln(error)²))``, at
    least 1.
    """
    pairs = zip(more, less, strict=True)
    logs = [math.log(over / under) if under > 0 else math.inf for over, under in pairs if over > 0]
    return math.exp(min(math.hypot(*logs), MOST_LOG))


# --- latencies by theory ----------------------------------------------------------------------


def latencies_by_theory(
    stream: Stream, path: PathTimes, added: AddedLatency, why: str
) -> dict[str, Estimate]:
    """Latencies of a stream without a dataset: the low is the time of a frame by theory, the high is infinite.

    The high is infinite because hosts may add any time. If the frames of a message are sent one by one, the mean
    latency is the mean over all of them; the last one may be shorter. If they are sent at once, the mean latency is
    that of the first frame, a full frame.

    Parameters
    ----------
    why : str
        Reason why no dataset answers.
    """
    least = path.application_s + min(path.least_s, path.last_frame_s)
    shorter = 0.0 if stream.sent_at_once else (path.last_frame_s - path.least_s) / path.frames
    full = path.application_s + path.least_s
    mean = path.application_s + path.least_s + shorter
    found = {"latency_std_s": absent(why)}
    for statistic, time in (("mean", mean), ("p99", full), ("max", full)):
        value = math.nan if added.why else time + added.wait_s(statistic)
        reason = f"{why}; {added.why or HOSTS_ADD}"
        found[f"latency_{statistic}_s"] = Estimate(
            value, least, math.inf, "theory", reason, ("theory",)
        )
    return found


# --- whole messages ---------------------------------------------------------------------------


def message_times(
    frames: Mapping[str, Estimate],
    window: StreamWindow,
    goodput: StreamGoodput,
    path: PathTimes,
) -> dict[str, Estimate]:
    """Latencies of whole messages of several frames by metric, if all streams send a message at the same moment.

    ``frames`` has the latencies of frames by metric. If each message of the stream is a single frame, the result is
    empty, since the latencies of frames are those of messages.
    """
    if goodput.at_once is None and not goodput.lost:
        return {}
    frames = {
        name: latency
        for name, latency in frames.items()
        if name.startswith("latency_") and name != "latency_std_s"
    }
    if (windows := window.windows_a_message) > 1:
        # each window waits for the acknowledgement of a frame in the previous window
        return {
            name: replace(one, low=windows * one.low + (windows - 1) * path.passing_s)
            for name, one in unknown_times(frames, SMALL_WINDOW).items()
        }
    if goodput.at_once is None:
        return dict.fromkeys((*frames, *MESSAGE_TIMES), absent(goodput.lost))
    return {
        name: _message_time(window.stream, frame, goodput.at_once, path)
        for name, frame in frames.items()
    }


def _message_time(stream: Stream, frame: Estimate, goodput: Estimate, path: PathTimes) -> Estimate:
    """Latency of a whole message, derived from the latency of its last frame and the stream's goodput.

    ``frame`` is the latency of the message's last frame. If its high is infinite, that of the result is infinite too.
    Then value and low of the result are those of ``frame`` plus the least time to transfer the frames before the last
    one.
    """
    if paced_s := path.spaced_s(stream):
        value, low, high = (end + paced_s for end in frame.ends)
        why = "; ".join(filter(None, (frame.why, "frames at the rate set at the sender")))
        return replace(frame, value=value, low=low, high=high, why=why)
    if math.isfinite(frame.high):
        size_bytes = 0.0 if stream.producer is None else stream.producer.message_bytes
        message = Message(max(size_bytes, stream.payload_bytes + path.behind_bytes))
        return sent_at_once(message, stream.payload_bytes, frame, goodput)
    if not goodput.high > 0:
        return frame
    before_s = 8 * path.behind_bytes / goodput.high
    return replace(frame, value=frame.value + before_s, low=frame.low + before_s)


# --- latencies of streams whose data may not arrive -------------------------------------------


def without_times(metrics: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Make all latencies absent for a stream whose queue grows without limit."""
    none = absent(f"its queue grows without limit: {why}")
    return {
        name: none if name.startswith(OF_TIME) else estimate for name, estimate in metrics.items()
    }


def unknown_times(metrics: Mapping[str, Estimate], why: str) -> dict[str, Estimate]:
    """Replace the latencies of a stream whose frames may wait for any time, for the reason ``why``.

    Only the low ends of the latencies stay: their values become unknown, and their high ends infinite. The standard
    deviation becomes absent. Other metrics stay unchanged.
    """
    unknown = {}
    for name, estimate in metrics.items():
        if not name.startswith(OF_TIME):
            unknown[name] = estimate
        elif math.isnan(estimate.low) or name.endswith("_std_s"):
            unknown[name] = absent(why)
        else:
            unknown[name] = replace(estimate, value=math.nan, high=math.inf, why=why)
    return unknown


def times_of_arrivals(metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Add a note to the latencies of a stream that loses data: they count only frames that arrive."""
    return {
        name: replace(
            estimate, why="; ".join(filter(None, (estimate.why, "counts only frames that arrive")))
        )
        if name.startswith(OF_TIME) and not estimate.absent
        else estimate
        for name, estimate in metrics.items()
    }


def of_every_frame(
    frames: Mapping[str, Estimate], messages: Mapping[str, Estimate], most_s: float
) -> dict[str, Estimate]:
    """Raise the high ends of the first frame's latencies so that they hold for all frames of a message.

    The frames are sent at once. So later frames wait for those before them, at most until the message has arrived.

    Parameters
    ----------
    frames, messages : mapping
        Latencies of the first frame and of the whole message [s], by metric.
    most_s : float
        Latency that no frame exceeds [s]; infinite without a bound.
    """
    found = {}
    for name, last in messages.items():
        first = frames.get(name)
        if first is None or first.absent or name == "latency_min_s":
            continue
        most = math.inf if math.isnan(last.high) else last.high
        high = max(first.high, min(most, most_s))
        why = "; ".join(
            filter(None, (first.why, "the first frame of a message; others take longer"))
        )
        found[name] = replace(first, high=high, why=why)
    return found


def limited_to(most_s: float, time: Estimate) -> Estimate:
    """Limit the value, low and high of a latency to the bound ``most_s`` [s]; unknown numbers stay unknown."""
    value, low, high = (min(end, most_s) for end in time.ends)
    return replace(time, value=value, low=low, high=high)
