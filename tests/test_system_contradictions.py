"""No prediction of a random system contradicts itself, a simulation, or physics: a sample; thousands in ``benchmarks.contradictions``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import pytest

from drawn_systems import document, system_of
from icmodel.estimate import Estimate
from icmodel.requirement import MET, Requirement, Verdict
from icmodel.system.prediction import SystemPrediction
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import Judged, LatencyBound, LinkPrediction, StreamPrediction
from search import times
from system_contradictions import (
    RULES,
    Case,
    Contradiction,
    broken,
    smallest,
)

SAMPLE, FIRST = 12, 100_000


@cache
def sampled() -> tuple[Contradiction, ...]:
    """What contradicts the rules that are held, over a sample of systems."""
    seeds = range(FIRST, FIRST + times(SAMPLE))
    return tuple(one for seed in seeds for one in broken(Case(document(seed), seed), sorted(RULES)))


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(RULES))
def test_no_prediction_of_a_random_system_breaks(name: str) -> None:
    found = [str(one) for one in sampled() if one.rule == name]
    assert not found, "\n".join(found)


BROKE = {
    90084: "losses are within their interval",  # a rounding error of the goodput
    90348: "losses are within their interval",  # a host's queue served as the switch serves its own
    90660: "numbers are possible",  # a cut-through switch in place of the measured one
    90450: "losses are within their interval",  # frames of many packets behind a shaper
    92056: "no bound is below a simulation with hosts that hold frames back",  # with a full buffer
    93374: "losses are within their interval",  # frames of 45 packets, of which nine in ten are lost
    93471: "latencies are in order",  # a last frame that is shorter by a byte
    94506: "losses are within their interval",  # of frames of two packets at a full port
    94507: "losses are within their interval",  # a sender that may send twice what is expected
    200206: "one stream of a system is what predict says",  # its own receiver drops frames, not packets
    300555: "no latency is above its bound",  # a greedy stream waits in its host for its share
    200394: "losses are within their interval",  # a sink that states its latency receives all
    401977: "losses are within their interval",  # an overloaded class fills the buffer of a more urgent one
    501061: "more traffic never lowers a bound",  # one queue in a host, for all its classes
    502867: "more traffic never lowers a bound",  # a processor that may send first and receive later
    504843: "no port passes more than its rate",  # equal losses behind a shared buffer
    603541: "no bound of a stream that falls short",  # a slow receiver behind a full wire
    604036: "more traffic never lowers a bound",  # one queue in a slow host, or one for each class
    610546: "no bound of a stream that falls short",  # a host that drops frames below its limit
    613112: "losses are within their interval",  # a receiver that three senders overload
    600012: "losses are within their interval",  # a last frame that fits where full frames do not
    602322: "losses are within their interval",  # a burst of three full frames and one byte
    615149: "more traffic never lowers a bound",  # a port filled exactly, up to rounding
    621212: "losses are within their interval",  # a shaper of the sender spreads its burst
    621645: "losses are within their interval",  # an application that is slower than its wire
    649331: "losses are within their interval",  # two ports that drop the same frames
    657215: "losses are within their interval",  # a sender whose cores are slower than its wire
    667473: "losses are within their interval",  # a message shorter than its payload
    720463: "more traffic never lowers a bound",  # another stream spreads a burst before a full buffer
    722166: "more traffic never lowers a bound",  # TCP leaves half of its host's wire to datagrams
    722240: "more traffic never lowers a bound",  # datagrams that others hold back in their host
    722946: "more traffic never lowers a bound",  # an overloaded class that may fill the buffer
    403891: "more traffic never lowers a bound",  # a measured goodput a little below its request
    795190: "numbers are possible",  # a switch less than in the dataset's path
    751698: "more traffic never lowers a bound",  # a host that may drop frames at its request
}
"""Systems, by seed, of which an earlier version broke a rule."""


@pytest.mark.parametrize(("seed", "name"), BROKE.items(), ids=str)
def test_no_rule_is_broken_again_of_a_system_that_broke_it(seed: int, name: str) -> None:
    drawn = document(seed, settings=False)
    assert not [str(one) for one in broken(Case(drawn, seed), [name])]


def test_the_ends_of_goodput_hold_one_queue_for_all_classes_of_a_slow_host() -> None:
    """A third stream decides whether the value takes one queue; either way the ends hold that case."""
    with_third, without = (document(604214, settings=False) for _ in range(2))
    without["streams"] = [one for one in without["streams"] if one["name"] != "f1"]
    for one in (with_third, without):
        one["requirements"] = []
    beside, alone = (Case(one, 604214).prediction.streams["f2"] for one in (with_third, without))
    assert beside.metrics["goodput_bps"].value > 100 * alone.metrics["goodput_bps"].value
    assert beside.metrics["goodput_bps"].low < alone.metrics["goodput_bps"].value


# --- the rules themselves ---------------------------------------------------------------------

Change = Callable[[StreamPrediction], StreamPrediction]


def metrics(**changed: Any) -> Change:
    """Streams with some metrics changed, each by a function of what it was."""

    def change(one: StreamPrediction) -> StreamPrediction:
        told = {
            name: made(one.metrics[name]) for name, made in changed.items() if name in one.metrics
        }
        return replace(one, metrics={**one.metrics, **told})

    return change


def bound(factor: float) -> Change:
    """Streams whose bound is so many times what it was."""

    def change(one: StreamPrediction) -> StreamPrediction:
        known = one.latency_bound
        if known is None:
            return replace(one, latency_bound=LatencyBound(1e-3, "total flow", (NETWORK,)))
        return replace(one, latency_bound=replace(known, value_s=known.value_s * factor))

    return change


def times_of(factor: float) -> Callable[[Estimate], Estimate]:
    """A number so many times what it was."""

    def change(one: Estimate) -> Estimate:
        return replace(one, value=one.value * factor, low=one.low * factor, high=one.high * factor)

    return change


def met(found: SystemPrediction) -> SystemPrediction:
    """All that is required, and a greatest latency that no frame keeps, met."""
    some = [replace(one, verdict=replace(one.verdict, outcome=MET)) for one in found.judged]
    for name, one in found.streams.items():
        wanted = Requirement("r", "latency_max_s", at_most=1e-12, kind="hard")
        verdict = Verdict(wanted, MET, one.metrics["goodput_bps"], 0.5, "bound")
        some.append(Judged(verdict, name))
    return replace(found, judged=tuple(some))


def streams(change: Change) -> Callable[[SystemPrediction], SystemPrediction]:
    """All streams changed alike."""
    return lambda found: replace(
        found, streams={name: change(one) for name, one in found.streams.items()}
    )


def asked_for_more(found: SystemPrediction) -> SystemPrediction:
    """Ports asked for a little more."""
    links = {
        name: LinkPrediction(
            {
                port: replace(one, asked_ratio=one.asked_ratio + 0.01)
                for port, one in link.ports.items()
            }
        )
        for name, link in found.links.items()
    }
    return replace(found, links=links)


def lower_backlogs(found: SystemPrediction) -> SystemPrediction:
    """Bounds of backlogs next to nothing."""
    links = {
        name: LinkPrediction(
            {port: replace(one, backlog_bound_bytes=1.0) for port, one in link.ports.items()}
        )
        for name, link in found.links.items()
    }
    return replace(found, links=links)


LONGER = metrics(latency_mean_s=times_of(1e3), latency_max_s=times_of(1e3))
TAMPERED: dict[str, Callable[[SystemPrediction], SystemPrediction]] = {
    "a default said aloud changes nothing": streams(bound(1.001)),
    "a lone frame equals its closed form": streams(LONGER),
    "latencies are in order": streams(metrics(latency_mean_s=times_of(1e9))),
    "losses are within their interval": streams(
        metrics(loss_rate=lambda one: replace(one, value=1.0, low=1.0, high=1.0))
    ),
    "more traffic never lowers a bound": streams(bound(1e-3)),
    "no backlog is above its bound": lower_backlogs,
    "no bound is below a simulation with hosts that hold frames back": streams(bound(1e-3)),
    "no bound is below a simulation with devices that state their latency": streams(bound(1e-3)),
    "no bound is below a simulation": streams(bound(1e-3)),
    "no bound of a stream that falls short": streams(bound(1.0)),
    "no latency is above its bound": streams(bound(1e-3)),
    "no latency is met of a stream that falls short": met,
    "no least is above a simulation": streams(metrics(latency_mean_s=times_of(1e3))),
    "no port passes more than its rate": streams(metrics(goodput_bps=times_of(1e6))),
    "no requirement is met that a simulation breaks": met,
    "no verdict is met where a device has too few cores": met,
    "no verdict is met where a port is full": met,
    "no verdict is met where a stream falls short": met,
    "no bound is below a simulation with the buffers that are said": streams(bound(1e-3)),
    "ports are asked for what streams produce": asked_for_more,
    "numbers are possible": streams(
        metrics(latency_mean_s=lambda one: replace(one, low=2 * one.value))
    ),
    "one stream of a system is what predict says": streams(metrics(goodput_bps=times_of(0.9))),
}
"""By rule, how a prediction changes that breaks it; of a rule about documents it is the system."""
DERIVED = {
    "a lone frame equals its closed form",
    "one stream of a system is what predict says",
}
"""Rules that ask other documents than the case's own, whose predictions are changed alike."""


class Tampered(Case):
    """A case whose prediction is changed, and that of what is made of it only where the rule reads no other."""

    def __init__(self, case: Case, name: str) -> None:
        super().__init__(case.document, case.seed)
        self.name, self.case = name, case
        if name not in TAMPERED:
            self.system = replace(case.system, title="another")

    @cached_property
    def prediction(self) -> SystemPrediction:
        return TAMPERED[self.name](self.case.prediction)

    def changed(self, drawn: dict[str, Any]) -> Case:
        made = Case(drawn, self.seed)
        return Tampered(made, self.name) if self.name in DERIVED else made


@cache
def untouched(seed: int) -> Case:
    return Case(document(seed), seed)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_prediction_that_breaks_a_rule_is_caught(name: str) -> None:
    """That of one of the systems at least; most have no metric or no such load."""
    assert any(
        broken(Tampered(case, name), [name]) and not broken(case, [name])
        for case in map(untouched, range(FIRST, FIRST + 160))
    )


def test_a_defect_is_a_contradiction() -> None:
    class Defective(Case):
        @property
        def prediction(self) -> Any:
            raise ZeroDivisionError("on purpose")

    (found,) = broken(Defective(document(1), 1), ["numbers are possible"])
    assert "ZeroDivisionError: on purpose" in str(found)


# --- smaller documents ------------------------------------------------------------------------


def test_what_breaks_a_rule_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_udp(case: Case) -> Iterator[str]:
        for name, one in case.system.streams.items():
            if one.protocol == "udp":
                yield name

    monkeypatch.setitem(RULES, "no udp", of_udp)
    seed = next(
        k for k in range(50) if broken(untouched(k), ["no udp"]) and len(document(k)["streams"]) > 3
    )
    least = smallest(document(seed), seed, "no udp")
    assert len(system_of(least).streams) == 1
    assert len(least["devices"]) == 2
