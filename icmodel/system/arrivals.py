"""Arrivals: what the producer of a stream hands over within a time, as an arrival curve, and how often it does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from icmodel.system import bounds
from icmodel.system.network import Stream
from icmodel.system.packing import AT_ONCE, Packed


def arrival(
    stream: Stream, packed: Sequence[Packed], longest_bits: float, line_bps: float
) -> bounds.Arrival:
    """What a stream hands over within a time, in bits on the line, whatever is merged.

    What is produced at once comes as a message a period. Else frames come evenly: those of a message a period,
    the last of which may be short, or the bytes as full frames. With n frames of f bits of which the last has
    r, no more than ``f + (n - 2)(f - r)/n`` come before the message's own rate. What knows no limit comes at the
    rate of the first link.

    Parameters
    ----------
    packed : sequence of Packed
        The stream on its links.
    longest_bits : float
        Of its packets, which may be more than a frame where several are merged.
    line_bps : float
        Rate of its first link [b/s].
    """
    frame = max(on.frame.sum_bits for on in packed)
    message = max(on.message.sum_bits for on in packed)
    made = stream.producer
    at_once = made is not None and made.kind in AT_ONCE
    burst = max(message if at_once else frame, longest_bits)
    paced = 0.0 if stream.paced_fps is None else frame * stream.paced_fps
    if made is None:
        return bounds.token_bucket(burst, paced or line_bps)
    if at_once:
        return bounds.token_bucket(burst, max(message / made.period_s, paced))
    if paced:
        return bounds.token_bucket(burst, paced)
    frames = made.message_bytes / stream.payload_bytes
    number = math.ceil(frames)
    before = max(number - 2, 0) * (number * frame - message) / number
    steady = max(message, frame * frames) / made.period_s
    return bounds.arrival(
        (
            bounds.TokenBucket(burst, number * frame / made.period_s),
            bounds.TokenBucket(burst + before, steady),
        )
    )


def interval_s(stream: Stream) -> float:
    """Least time from one handing over to the next [s]: of messages at once, else of frames; 0 without limit."""
    made = stream.producer
    if made is not None and made.kind in AT_ONCE:
        return made.period_s
    if stream.paced_fps is not None:
        return 1 / stream.paced_fps
    if made is None:
        return 0.0
    return made.period_s / math.ceil(made.message_bytes / stream.payload_bytes)
