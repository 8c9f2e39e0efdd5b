"""Latency of a whole message, such as a picture or a file, until its last byte arrives.

The message is cut into frames of the scenario's payload.  If the message is complete at the start, its frames are sent
at unlimited rate.  If it is captured over a time, each frame is sent as soon as the captured data fill it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.errors import ScenarioError
from icmodel.estimate import Estimate, Prediction, absent, weakest
from icmodel.model import Model
from icmodel.requirement import while_all_passes

LATENCY = "latency_mean_s"
AT_ONCE, CAPTURED = "message_latency_s", "message_latency_paced_s"
"""Names of the latency metrics of a whole message: for a complete message, and for one sent while it is captured."""
MESSAGE_METRICS = (AT_ONCE, CAPTURED)
SOCKET_PACKETS = 92
"""Number of packets that the receive buffer of a socket holds (assumed).

Linux reserves 212 992 B by default (``net.core.rmem_default``), and a full Ethernet packet takes 2304 B of memory.
"""
TOO_MANY = (
    f"more than a socket of {SOCKET_PACKETS} packets holds: possibly no message arrives whole"
)
"""End of the reason why a message sent at once has no latency."""


@dataclass(frozen=True, slots=True)
class Message:
    """Message, such as a picture: its size [B], and the time over which it is captured [s].

    Without a capture time, the message is complete before it is sent.

    Parameters
    ----------
    size_bytes : float
        Size of the message [B], above 0.
    captured_s : float, optional
        Time over which the message is captured [s], above 0.

    Raises
    ------
    ScenarioError
        If the size or the capture time is not above 0.
    """

    size_bytes: float
    captured_s: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.size_bytes < math.inf:
            raise ScenarioError(
                f"the size of a message, {self.size_bytes:g} B, is not possible: give a size above 0 B"
            )
        if self.captured_s is not None and not 0 < self.captured_s < math.inf:
            raise ScenarioError(
                f"the capture time of a message, {self.captured_s:g} s, is not possible: give a time above 0 s"
            )


def message_latency(model: Model, prediction: Prediction, message: Message) -> dict[str, Estimate]:
    """Predict the time from sending a message's first byte to the arrival of its last byte [s].

    There are two metrics: `AT_ONCE` for a message that is complete before it is sent, and `CAPTURED` for a message
    whose frames are sent while it is captured.

    Parameters
    ----------
    model : Model
        Model that predicts the stream.
    prediction : Prediction
        Prediction of the message's stream by this model; the stream's rate is the rate at which frames are captured.
    message : Message
        Size of the message, and its capture time, if any.

    Returns
    -------
    dict
        Latency of the message [s] by metric: `AT_ONCE`, and `CAPTURED` if the message has a capture time.

    Raises
    ------
    OutOfDomain, ScenarioError
        If the dataset cannot predict the scenario at unlimited rate.

    Examples
    --------
    >>> from icmodel import Model
    >>> model = Model("ethernet-10g-2012", "corrected")
    >>> answer = model.predict(protocol="tcp", payload="65535 B", rate="100/s")
    >>> latency = message_latency(model, answer, Message(size_bytes=1_000_000))[AT_ONCE]
    >>> f"{latency.value * 1e3:.1f} ms"
    '0.9 ms'
    """
    metrics, scenario = prediction.metrics, prediction.scenario
    frame = metrics.get(LATENCY) or absent(
        f"{model.data.id} has no {LATENCY}: round trips alone do not give it"
    )
    # Goodput of a complete message: the other endpoints send at their unlimited goodput too.
    alone = model.predict(replace(scenario, rate_fps=None, endpoints=1, other_goodput_bps=0.0))
    burst, most = alone, alone.metrics["goodput_bps"]
    if scenario.endpoints > 1 and most.absent:
        found = {AT_ONCE: most}
    else:
        if scenario.endpoints > 1:
            others_bps = (scenario.endpoints - 1) * most.value
            burst = model.predict(replace(scenario, rate_fps=None, other_goodput_bps=others_bps))
        goodput, loss = burst.metrics["goodput_bps"], burst.metrics.get("loss_rate")
        frames = scenario.endpoints * math.ceil(message.size_bytes / scenario.payload_bytes)
        packets = frames * model.packets(scenario)
        found = {
            AT_ONCE: sent_at_once(message, scenario.payload_bytes, frame, goodput, loss, packets)
        }
    if message.captured_s is not None:
        goodput, loss = metrics["goodput_bps"], metrics.get("loss_rate")
        found[CAPTURED] = as_captured(message, scenario.payload_bytes, frame, goodput, loss)
    return found


def with_message(model: Model, prediction: Prediction, message: Message) -> Prediction:
    """Add the latency of a whole message to the metrics of a prediction; see :func:`message_latency`."""
    found = message_latency(model, prediction, message)
    return replace(prediction, metrics={**prediction.metrics, **found})


def sent_at_once(
    message: Message,
    payload_bytes: int,
    frame: Estimate,
    goodput: Estimate,
    loss: Estimate | None = None,
    packets: float = math.inf,
) -> Estimate:
    """Latency of a message that is complete before it is sent [s].

    It is the latency of one frame, plus the time of the remaining bytes at the goodput of an unlimited sender.

    In the benchmark, an unlimited sender may lose packets.  A message is finite, so the packets that would be lost are
    assumed to wait in the receiver's socket instead, which holds `SOCKET_PACKETS` packets.  If more packets may have
    to wait, or if the low end of the goodput is 0, the result is an estimate without a value.

    Parameters
    ----------
    message : Message
        The message.
    payload_bytes : int
        Payload of one frame [B].
    frame : Estimate
        Latency of one frame [s].
    goodput, loss : Estimate
        Goodput [b/s] and loss rate of the stream at unlimited rate.
    packets : float
        Total number of packets, if all senders send one such message at the same time.
    """
    lost = 0.0 if loss is None or loss.absent else loss.high
    if lost > 0 and lost * packets > SOCKET_PACKETS:
        share = units.format_ratio(lost, 2)
        return absent(f"at unlimited rate up to {share} of the frames are lost, {TOO_MANY}")
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
        return absent("the interval of the goodput includes 0: possibly no message arrives")
    why = (
        f"latency of one frame, plus {units.format_bytes(max(message.size_bytes - payload_bytes, 0.0))} "
        f"at {units.format_bps(goodput.value, 4)}"
        f"{f'; {frame.why}' if math.isinf(high) and frame.why else ''}"
        f"{f'; a socket of {SOCKET_PACKETS} packets holds what an unlimited sender loses' if lost > 0 else ''}"
    )
    bases = (frame.basis, goodput.basis, "assumed" if lost > 0 else "derived")
    return Estimate(value, low, high, weakest(bases), why, bases)


def as_captured(
    message: Message,
    payload_bytes: int,
    frame: Estimate,
    goodput: Estimate,
    loss: Estimate | None = None,
) -> Estimate:
    """Latency of a message that is sent while it is captured [s].

    It is the time from the first full frame to the last full frame, plus the latency of the last frame.

    The latency is absent if the goodput is certainly below the rate of capture, or if frames are certainly lost.  If
    overload or loss is only possible, the interval has no upper limit.

    Parameters
    ----------
    message : Message
        The message, with a capture time.
    payload_bytes : int
        Payload of one frame [B].
    frame : Estimate
        Latency of one frame [s].
    goodput, loss : Estimate
        Goodput [b/s] and loss rate of the stream at the requested rate.
    """
    assert message.captured_s is not None  # callers check it
    if loss is not None and loss.low > 0:
        share = units.format_ratio(loss.value, 2)
        return absent(f"{share} of the frames are lost: no message arrives whole")
    if frame.absent:
        return frame
    behind = max(1 - payload_bytes / message.size_bytes, 0.0)
    later = message.captured_s * behind
    why = f"capture time {units.format_seconds(message.captured_s)}, plus the latency of the last frame"
    bases = (frame.basis, "derived")
    high = frame.high + later if loss is None or not loss.high > 0 else math.inf
    found = Estimate(frame.value + later, frame.low + later, high, weakest(bases), why, bases)
    return while_all_passes(found, goodput, 8 * message.size_bytes / message.captured_s)
