"""Devices that state their own latency and core time, such as cameras, PLCs and clocks: they need no dataset.

A stated latency holds for each frame that the device sends or receives, at the rates of the system. So such a device
loses no frames, and its latency adds to that of the network. If only one of a stream's two devices states its latency,
a dataset answers for the other. The dataset measured the time of two hosts together. The other device may account for
any part of the measured time, from nothing to all. The value of the prediction includes one half of it (assumed).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from icmodel import units
from icmodel.estimate import Estimate, absent, weakest
from icmodel.system.network import SIDES, Device, Stream, System
from icmodel.system.prediction.path_times import PathTimes
from icmodel.system.prediction.resources import StreamShare
from icmodel.system.prediction.result import GREATEST_LATENCY, MEAN_LATENCY, derived
from icmodel.system.sharing import SAME

STATED = "stated"
LEAST, MIDDLE = ("latency_min_s",), (MEAN_LATENCY, "latency_p50_s")
"""Latency metrics whose value includes the least (`LEAST`) or the middle (`MIDDLE`) stated time.

All other latencies include the greatest stated time.
"""
BOTH = ("latency_min_s", MEAN_LATENCY, "latency_p99_s", GREATEST_LATENCY)
"""Latencies of a stream whose devices both state their latency."""


def stated_times(system: System) -> list[StatedTimes]:
    """Collect the times that the devices of each stream state, with one entry per stream in the system's order."""
    return [
        StatedTimes(stream, system.stating_devices(stream)) for stream in system.streams.values()
    ]


@dataclass(frozen=True, slots=True)
class StatedTimes:
    """Stated latency and core time of the source and the sink of a stream, from the system file.

    Parameters
    ----------
    stream : Stream
        The stream.
    devices : mapping
        Side (``send`` or ``recv``) -> device of this side; only devices that state their latency.
    """

    stream: Stream
    devices: Mapping[str, Device]

    @property
    def both(self) -> bool:
        """Whether both devices of the stream state their latency."""
        return len(self.devices) == len(SIDES)

    @property
    def least_s(self) -> float:
        """Least latency that devices with a stated latency add to a frame, summed over both ends [s]."""
        return math.fsum(one.latency_s[0] for one in self.devices.values() if one.latency_s)

    @property
    def most_s(self) -> float:
        """Greatest latency that source and sink together add to a frame [s]; 0 for a device that states none."""
        return math.fsum(one.latency_s[1] for one in self.devices.values() if one.latency_s)

    @property
    def why(self) -> str:
        """Text with the latency that each device states, such as ``camera-1 states 20 – 50 µs``.

        Estimates that follow from these latencies have this text as their reason.
        """
        texts = []
        for device in self.devices.values():
            least, most = (units.format_seconds(end, 3) for end in device.latency_s or ())
            texts.append(f"{device.name} states {least if least == most else f'{least} – {most}'}")
        return " and ".join(texts)

    def value_s(self, metric: str) -> float:
        """Time to add to the value of a latency metric [s], for the latencies that source and sink state.

        A device states its least and its greatest latency. The least is added to metrics in `LEAST` (the minimum). The
        middle between least and greatest is added to metrics in `MIDDLE` (mean and median), the greatest to all others.
        """
        if metric in LEAST:
            return self.least_s
        return (self.least_s + self.most_s) / 2 if metric in MIDDLE else self.most_s

    # --- goodput ------------------------------------------------------------------------------

    def constant(self, value: float) -> Estimate:
        """Make an estimate whose low and high equal its value; its reason names the stated latencies."""
        return Estimate(value, value, value, STATED, self.why, (STATED,))

    def passes_whole(self, share: StreamShare) -> bool:
        """Whether the sender's buffers stay empty, since the stream sends at its requested rate.

        False if one of the two devices does not state its latency, if the request is unlimited, or if the cores of a
        host limit the stream.
        """
        asked_bps = self.stream.requested_goodput_bps
        if not self.both or not math.isfinite(asked_bps) or share.by_host:
            return False
        return not share.elastic or share.rate_bps >= asked_bps * (1 - SAME)

    def with_least_core_time(
        self, goodput: Estimate, share: StreamShare, most_bps: float
    ) -> Estimate:
        """Raise the high end of a goodput that the cores of a device limit.

        A device states a least and a greatest core time per frame. The goodput in ``share`` is computed from the
        greatest one. With less core time, more data may pass, so the high end becomes ``most_bps``.

        Parameters
        ----------
        most_bps : float
            Greatest goodput without the limit of the cores [b/s].
        """
        names = [device.name for device in self.devices.values() if device.core_time_s]
        places = {*names, *(f"{name} for {self.stream.name}" for name in names)}
        if goodput.absent or not share.by_host or share.at not in places:
            return goodput
        if not goodput.high < most_bps < math.inf:
            return goodput
        why = "; ".join(filter(None, (goodput.why, f"{share.at} may need less core time")))
        return replace(goodput, high=most_bps, why=why)

    # --- latency ------------------------------------------------------------------------------

    def latencies(self, path: PathTimes) -> dict[str, Estimate]:
        """Latencies of a stream whose devices both state their latency, without other traffic on its path.

        If all frames of a message are sent at once, the mean latency is that of the first frame, a full frame.
        Otherwise it is the mean over all frames of a message. The last of them may be short, and so take less time.
        """
        shorter = (
            0.0 if self.stream.sent_at_once else (path.last_frame_s - path.least_s) / path.frames
        )
        least = min(path.least_s, path.last_frame_s)
        wire = {"latency_min_s": least, MEAN_LATENCY: path.least_s + shorter}
        found = {}
        for name in BOTH:
            value = wire.get(name, path.least_s) + self.value_s(name)
            ends = (value, least + self.least_s, path.least_s + self.most_s)
            found[name] = Estimate(*ends, STATED, self.why, (STATED,))
        return found

    def bounded(self, metrics: Mapping[str, Estimate], bound_s: float) -> dict[str, Estimate]:
        """Limit the latencies of a stream to its worst-case bound, ``bound_s``.

        Every value, low and high above the bound is lowered to the bound. The high of the greatest latency is always
        set to the bound, even if this raises it: one frame may meet the worst case. If several frames of a message are
        sent at once, the high of every latency is set to the bound. Such frames wait for each other, but the predicted
        waits at ports count only the first frame.

        Parameters
        ----------
        bound_s : float
            Latency that no frame exceeds [s]; infinite without a bound.
        """
        found = {}
        for name, one in metrics.items():
            if not name.startswith("latency_") or math.isnan(one.low):
                continue
            open_high = name == GREATEST_LATENCY or (
                self.stream.sent_at_once and self.stream.frames_a_message > 1
            )
            value, low, high = (min(end, bound_s) for end in one.ends)
            found[name] = replace(one, value=value, low=low, high=bound_s if open_high else high)
        return found

    def measured(self, metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Select the dataset's metrics that remain valid if devices of the stream state their own latency.

        Such a device differs from the host that the dataset measured. So the CPU load on its side is left out, and so
        are round-trip times. If no device states a latency, all metrics stay.
        """
        sides = tuple(f"cpu_{side}" for side in self.devices)
        none = (*sides, "rtt_") if sides else ()
        return {name: one for name, one in metrics.items() if not name.startswith(none)}

    def beside_dataset(
        self, latencies: Mapping[str, Estimate], network_s: float
    ) -> dict[str, Estimate]:
        """Latencies of a stream with a stated latency at one end, and a dataset for the device at the other end.

        The stated latency replaces the time of one of the dataset's two hosts, which is assumed to be half of the time
        of both.

        Parameters
        ----------
        latencies : mapping
            Latencies from the dataset [s].
        network_s : float
            Least time that the network adds to the latencies from the dataset [s]; the rest is the time of the hosts.
        """
        found = dict(latencies)
        for name, one in latencies.items():
            if one.absent:
                continue
            if name == "latency_std_s":
                width_s = (self.most_s - self.least_s) / 2
                ends = (one.value, 0.0, one.high + width_s)
            else:
                half_s = max(one.value - network_s, 0.0) / 2
                least_s = min(one.low, network_s) + self.least_s
                ends = (one.value - half_s + self.value_s(name), least_s, one.high + self.most_s)
            why = f"{self.why}; half of the time of the dataset's hosts counts (assumed)"
            found[name] = derived(one, ends, (STATED, "assumed"), why)
        return found

    def at_least(self, metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Raise each latency to at least the least time that the devices state.

        The latencies were measured on another path, and adapted to the path of the system. If the system's switches are
        faster than the measured ones, a time was subtracted, so a latency can be too small.
        """
        return {
            name: replace(
                one,
                value=max(one.value, self.least_s),
                low=max(one.low, self.least_s),
                high=max(one.high, self.least_s),
            )
            for name, one in metrics.items()
            if name.startswith("latency_") and name != "latency_std_s" and not one.absent
        }

    def beside_theory(self, metrics: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """Metrics of a stream by theory, with the stated latency of one of its two devices added.

        The other device states no latency. It may add any time, so the latencies have no upper limit.
        """
        found = dict(metrics)
        for name, one in metrics.items():
            if not name.startswith("latency_") or math.isnan(one.low):
                continue
            why = f"{self.why}; {one.why}"
            value, low = one.value + self.value_s(name), one.low + self.least_s
            bases = (*one.bases, STATED)
            found[name] = replace(one, value=value, low=low, why=why, bases=bases)
        return found

    # --- cores --------------------------------------------------------------------------------

    def busy_cores(self, goodput: Estimate, share: StreamShare) -> Iterator[tuple[str, Estimate]]:
        """Yield the busy cores of each device with a stated latency: name of the metric, and estimate.

        The estimate is absent if the device states no core time.
        """
        for side, device in self.devices.items():
            metric = f"cpu_{side}_cores"
            if device.core_time_s is None:
                yield metric, absent(f"{device.name} states no core_time")
                continue
            rates = list(goodput.ends)
            if side == "send" and not share.elastic:
                rates = [max(rate, share.sent_bps) for rate in rates]
            least, most = self.stream.core_time_per_bit_s(device, side)
            value, low, high = rates[0] * (least + most) / 2, rates[1] * least, rates[2] * most
            why = f"{device.name} states its core time"
            ends = (value, low, high)
            bases = tuple(dict.fromkeys((*(goodput.bases or (goodput.basis,)), STATED, "derived")))
            yield metric, Estimate(*ends, weakest(bases), why, bases)
