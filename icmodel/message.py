"""Latency of a whole message, such as a picture or a file, until its last byte arrives.

The message is cut into frames of the scenario's payload.  Either all of it is ready and is sent at
unlimited rate, or it is captured over a time and each frame is sent when it is full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.errors import ScenarioError
from icmodel.estimate import Estimate, Prediction, absent, weakest
from icmodel.model import Model
from icmodel.requirement import while_all_passes
from icmodel.scenario import Scenario

LATENCY = "latency_mean_s"
AT_ONCE, CAPTURED = "message_latency_s", "message_latency_paced_s"
"""Metrics of a whole message: sent at once, and sent as it is captured."""
MESSAGE_METRICS = (AT_ONCE, CAPTURED)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of ``size_bytes``, captured over ``captured_s``, or ready before it is sent.

    Raises
    ------
    ScenarioError
        If either is not above 0.
    """

    size_bytes: float
    captured_s: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.size_bytes < math.inf:
            raise ScenarioError(
                f"a message of {self.size_bytes:g} B is none: give its size above 0 B"
            )
        if self.captured_s is not None and not 0 < self.captured_s < math.inf:
            raise ScenarioError(
                f"nothing is captured within {self.captured_s:g} s: give a time above 0 s"
            )


def message_latency(model: Model, prediction: Prediction, message: Message) -> dict[str, Estimate]:
    """Time from sending a message's first byte to the arrival of its last [s], by metric.

    Parameters
    ----------
    prediction : Prediction
        Of the stream of the message by this model; its rate is the one at which frames are captured.

    Raises
    ------
    OutOfDomain, ScenarioError
        If the dataset cannot answer the scenario at unlimited rate.
    """
    metrics, asked = prediction.metrics, prediction.scenario
    frame = metrics.get(LATENCY) or absent(
        f"{model.data.id} gives no {LATENCY}, only round trips or none"
    )
    found = {AT_ONCE: _at_once(model, asked, message, frame)}
    if message.captured_s is not None:
        goodput, loss = metrics["goodput_bps"], metrics.get("loss_rate")
        found[CAPTURED] = as_captured(message, asked.payload_bytes, frame, goodput, loss)
    return found


def with_message(model: Model, prediction: Prediction, message: Message) -> Prediction:
    """A prediction with the latency of a whole message among its metrics."""
    found = message_latency(model, prediction, message)
    return replace(prediction, metrics={**prediction.metrics, **found})


def _at_once(model: Model, asked: Scenario, message: Message, frame: Estimate) -> Estimate:
    """Latency of a message sent at once while the other endpoints send theirs at once too."""
    alone = model.predict(replace(asked, rate_fps=None, endpoints=1, other_goodput_bps=0.0))
    burst = alone
    if asked.endpoints > 1:
        most = alone.metrics["goodput_bps"]
        if most.absent:
            return most
        others = (asked.endpoints - 1) * most.value
        burst = model.predict(replace(asked, rate_fps=None, other_goodput_bps=others))
    goodput, loss = burst.metrics["goodput_bps"], burst.metrics.get("loss_rate")
    return sent_at_once(message, asked.payload_bytes, frame, goodput, loss)


def sent_at_once(
    message: Message,
    payload_bytes: int,
    frame: Estimate,
    goodput: Estimate,
    loss: Estimate | None = None,
) -> Estimate:
    """The latency of one frame, plus the time of the remaining bytes at the unlimited goodput.

    Parameters
    ----------
    frame : Estimate
        Latency of one frame [s].
    goodput, loss : Estimate
        Goodput [b/s] and loss rate of the stream at unlimited rate.
    """
    if loss is not None and not loss.absent and loss.high > 0:
        share = units.format_ratio(loss.value, 2)
        return absent(
            f"as fast as it goes {share} of the frames are lost: no message arrives whole"
        )
    for one in (frame, goodput):
        if one.absent:
            return one
    bits = 8 * max(message.size_bytes - payload_bytes, 0.0)
    ends = [
        (frame.value, goodput.value),
        (frame.low, goodput.high),
        (frame.high, goodput.low),
    ]
    value, low, high = (
        latency + (bits / reached if reached > 0 else math.inf) for latency, reached in ends
    )
    if not goodput.low > 0:
        return absent("the interval of the goodput reaches down to nothing: no message may arrive")
    why = (
        f"one frame's latency, and {units.format_bytes(max(message.size_bytes - payload_bytes, 0.0))} "
        f"behind it at {units.format_bps(goodput.value, 4)}"
        f"{f'; {frame.why}' if math.isinf(high) and frame.why else ''}"
    )
    bases = (frame.basis, goodput.basis, "derived")
    return Estimate(value, low, high, weakest(bases), why, bases)


def as_captured(
    message: Message,
    payload_bytes: int,
    frame: Estimate,
    goodput: Estimate,
    loss: Estimate | None = None,
) -> Estimate:
    """The time from the first full frame to the last one, plus the latency of the last.

    None where less passes than is captured, or frames are surely lost; without an upper end where that may be.

    Parameters
    ----------
    frame : Estimate
        Latency of one frame [s].
    goodput, loss : Estimate
        Goodput [b/s] and loss rate of the stream at the rate that is asked.
    """
    assert message.captured_s is not None  # asked only of what is captured
    if loss is not None and loss.low > 0:
        share = units.format_ratio(loss.value, 2)
        return absent(f"{share} of the frames are lost: no message arrives whole")
    if frame.absent:
        return frame
    behind = max(1 - payload_bytes / message.size_bytes, 0.0)
    later = message.captured_s * behind
    why = (
        f"captured within {units.format_seconds(message.captured_s)}, and the last frame's latency"
    )
    bases = (frame.basis, "derived")
    high = frame.high + later if loss is None or not loss.high > 0 else math.inf
    found = Estimate(frame.value + later, frame.low + later, high, weakest(bases), why, bases)
    return while_all_passes(found, goodput, 8 * message.size_bytes / message.captured_s)
