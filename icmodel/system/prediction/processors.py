"""Processors: the busy cores of all streams that meet on a host."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from icmodel.arrays import Ints
from icmodel.estimate import Estimate, absent, weakest
from icmodel.system.network import Device, Stream, System
from icmodel.system.overloads import TOLERANCE
from icmodel.system.prediction.asking import Answers
from icmodel.system.prediction.result import DevicePrediction, StreamPrediction

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
