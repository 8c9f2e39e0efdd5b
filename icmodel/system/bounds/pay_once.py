"""Pay multiplexing only once: what goes along for several servers delays once.

Schmitt, Zdarsky, Martinovic, *Improving performance bounds in feed-forward networks by paying
multiplexing only once* (MMB 2008), theorem 3. No order between flows is used, so the bound holds
first come, first served too. With R_i, T_i of each server, r_x, b_x of what comes across from its
first common server on::

    R = min over i of (R_i - sum of r_x that pass i)
    T = sum of T_i + sum over x of (b_x + r_x * sum of T_i that x passes) / R
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from icmodel.system.bounds.curves import Arrival, RateLatency, Service, TokenBucket, service
from icmodel.system.bounds.paths import Path, choices


def pay_once(path: Path) -> dict[str, float]:
    """Delay bound in s of each flow."""
    curves = left_at_once(path)
    return {flow.name: min(path.delay_s(flow, served) for served in curves) for flow in path.flows}


@dataclass(frozen=True)
class _Crossing:
    """What comes across a path, and from which hop to which."""

    arrival: Arrival
    first: int
    last: int

    @property
    def hops(self) -> slice:
        """The hops that it passes."""
        return slice(self.first, self.last + 1)


def left_at_once(path: Path) -> list[Service]:
    """What all others leave on a whole path: curves each sound by itself.

    The theorem wants one rate and one latency a server and one bucket a crossing. Taken are the
    first or the fastest piece of each server, and of each crossing the bucket that costs least or
    the flattest one.
    """
    across = list(_across(path))
    if not all(each.arrival.buckets for each in across):
        return [Service(())]
    curves = [Service(())]
    for hops in choices([list(_pieces(path, index)) for index in range(len(path.hops))]):
        passed = [math.fsum(hop.latency_s for hop in hops[each.hops]) for each in across]
        cheapest = [_cheapest(each, time) for each, time in zip(across, passed, strict=True)]
        flattest = [each.arrival.buckets[-1] for each in across]
        for buckets in (cheapest, flattest):
            curves.append(_left(hops, across, buckets))
    return curves


def _left(hops: Sequence[Service], across: list[_Crossing], buckets: list[TokenBucket]) -> Service:
    rates, latencies = [hop.rate_bps for hop in hops], [hop.latency_s for hop in hops]
    waited = []
    for each, bucket in zip(across, buckets, strict=True):
        rates[each.hops] = [rate - bucket.rate_bps for rate in rates[each.hops]]
        waited.append(bucket.at(math.fsum(latencies[each.hops])))
    rate = min(rates)
    if rate <= 0.0:
        return Service(())
    return service([RateLatency(rate, math.fsum(latencies) + math.fsum(waited) / rate)])


def _cheapest(crossing: _Crossing, passed_s: float) -> TokenBucket:
    return min(crossing.arrival.buckets, key=lambda bucket: bucket.at(passed_s))


def _pieces(path: Path, index: int) -> Iterator[Service]:
    """The first and the fastest piece of each curve of a hop, less one packet of the class where it is passed on."""
    hop = path.hops[index]
    last = index == len(path.hops) - 1
    bits = 0.0 if last else path.onward_bits(index, hop.traffic.max_packet_bits)
    for curve in hop.services:
        left = curve.less(bits)
        for place in {0, len(left.pieces) - 1} if left.pieces else ():
            yield Service((left.pieces[place],))


def _across(path: Path) -> Iterator[_Crossing]:
    """What comes across, together if it comes over one link and leaves at one server.

    What leaves the path and comes back comes twice.
    """
    entry: dict[int | None, tuple[int, int]] = {}
    together: dict[tuple[str | None, int, int], set[int]] = {}
    for index, (hop, own) in enumerate(zip(path.hops, path.own, strict=True)):
        following = path.hops[index + 1].stages.values() if index + 1 < len(path.hops) else ()
        stay = {stage.before for stage in following}
        others = hop.stages.keys() - own
        entry = {number: entry.get(hop.stages[number].before, (number, index)) for number in others}
        for number in others - stay:
            entered, at = entry[number]
            link = path.hops[at].stages[entered].link
            together.setdefault((link, at, index), set()).add(entered)
    arrivals = path.propagation.arrivals
    for (_, start, end), numbers in together.items():
        yield _Crossing(arrivals.of(frozenset(numbers), path.spared), start, end)
