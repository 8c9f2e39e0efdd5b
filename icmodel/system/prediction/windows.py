"""TCP windows: what each window allows its stream, and streams whose window may be too small.

A sender has at most one window of unacknowledged bytes in flight. So its goodput is at most one window per
round trip, and a longer round trip (for example with waits in queues) lowers the goodput.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icmodel import units
from icmodel.estimate import Estimate
from icmodel.system.network import Stream
from icmodel.system.prediction.answers import StreamQuestions
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.resources import is_elastic
from icmodel.system.prediction.result import MEAN_LATENCY
from icmodel.system.prediction.stated import StatedTimes
from icmodel.system.sharing.allocation import Windows

SMALL_WINDOW = (
    "its TCP window is smaller than the data sent until an acknowledgement: give it a larger window"
)


def stated_windows(
    questions: StreamQuestions, paths: Sequence[PathTimes], stated: Sequence[StatedTimes]
) -> Windows:
    """TCP windows stated in the system, and the round-trip times of their streams, in the order of the system.

    A round trip is the time of a frame and of its acknowledgement, without queues. The acknowledgement is assumed to
    take as long as the frame. The time of a frame is the dataset's latency at one frame per second. Without a dataset,
    it is the least time by theory. The greatest latencies that devices state are added to the time of the frame.
    """
    streams = [times.stream for times in stated]
    bits = np.array(
        [
            np.inf
            if stream.window_bytes is None or not is_elastic(stream)
            else 8.0 * stream.window_bytes
            for stream in streams
        ]
    )
    if not np.isfinite(bits).any():
        return Windows(bits, np.ones(len(streams)))
    single_s = questions.ask(rate_fps=np.ones(len(streams))).value(MEAN_LATENCY)
    shifts_s = np.array([sum(path.shifts_s.values()) for path in paths])
    least_s = np.array([path.least_s + path.application_s for path in paths])
    stated_s = np.array([times.most_s for times in stated])
    one_way_s = np.where(np.isnan(single_s), least_s, single_s + shifts_s) + stated_s
    return Windows(bits, 2 * one_way_s)


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """TCP window of one stream, with checks of whether the bytes in flight fit into the window.

    Parameters
    ----------
    size_bytes : float
        Size of the window [B]; infinite without a window.
    return_s : float
        Time of an acknowledgement back to the sender [s].
    limits : bool
        Whether the window limits the goodput of the stream.
    """

    stream: Stream
    size_bytes: float
    return_s: float
    limits: bool

    @classmethod
    def of(cls, windows: Windows, index: int, stream: Stream, *, limits: bool) -> StreamWindow:
        """Select the TCP window of ``stream``, whose index in ``windows`` is ``index``."""
        size_bytes, round_trip_s = windows.bits[index] / 8, windows.round_trip_s[index]
        return cls(stream, float(size_bytes), float(round_trip_s) / 2, limits)

    def overfull(self, latency: Estimate) -> str:
        """Reason why the TCP window may be full; empty if it has room for all that is sent.

        Waits in queues lengthen a round trip, so more unacknowledged bytes are in flight. The window has room if it
        holds the bytes sent during a mean latency plus the time of an acknowledgement (Little's law).

        Parameters
        ----------
        latency : Estimate
            Mean latency of the stream's frames [s].
        """
        produced_bps = self.stream.produced_bps
        if math.isinf(self.size_bytes) or self.limits or not produced_bps:
            return ""
        latency_s = latency.high if math.isfinite(latency.high) else latency.value
        needed_bytes = produced_bps / 8 * (latency_s + self.return_s)
        needed, window = (units.format_bytes(size) for size in (needed_bytes, self.size_bytes))
        if math.isnan(needed_bytes):
            return f"the wait of its frames is unknown, so its TCP window of {window} may be full"
        if needed_bytes <= self.size_bytes:
            return ""
        return f"{needed} may be in flight, but its TCP window is {window}: give it a larger window"

    @property
    def holds_frame(self) -> bool:
        """Whether the window is at least as large as the payload of one frame."""
        return self.size_bytes >= self.stream.payload_bytes

    @property
    def windows_a_message(self) -> int:
        """Number of windows in which the sender sends a message; 1 if the window holds the message."""
        made = self.stream.producer
        if made is None or self.size_bytes >= made.message_bytes:
            return 1
        return math.ceil(made.message_bytes / self.size_bytes)

    def holds(self, bound_s: float | None) -> bool:
        """Whether the window holds all data that the sender has in flight until an acknowledgement comes back.

        Parameters
        ----------
        bound_s : float, optional
            Greatest latency of a frame [s]. Without it, the window only has to hold the data that the producer hands
            over together: a frame, or a message whose frames are sent at once.
        """
        made = self.stream.producer
        unacknowledged_s = 0.0 if bound_s is None else bound_s + self.return_s
        if made is not None and made.at_once:
            return self.size_bytes >= (unacknowledged_s // made.period_s + 1) * made.message_bytes
        sent_bytes = self.stream.produced_bps / 8 * unacknowledged_s
        return self.size_bytes >= sent_bytes + self.stream.payload_bytes
