"""Explanations of one question that several laws share: bounds of the goodput, and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from icmodel.laws.flow import Flow
from icmodel.laws.sharing import receives_less
from icmodel.scenario import Scenario
from icmodel.tables import VALUE, Look

UNLIMITED = "latency is that of the unlimited benchmark"
"""Note on a request that is not achieved, where no runs in overload answer it."""


def benchmark_and_share(look: Look, flow: Flow) -> dict[str, float]:
    """For a block of one question: the bounds of the goodput that every law has [b/s]."""
    found = {"benchmark": float(flow.capacity_bps[VALUE, 0])}
    if look.q.endpoints[0] > 1:
        found["share"] = float(flow.share_bps[VALUE, 0])
    return found


def sharing_notes(look: Look, flow: Flow, asked: Scenario) -> Iterator[str]:
    """Notes on the share of an interface with other endpoints."""
    if asked.endpoints > 1 and not asked.other_goodput_bps:
        others = "the other endpoint is" if asked.endpoints == 2 else "the other endpoints are"
        yield f"{others} taken as idle: say what they ask for (other_goodput) if they send"
    if receives_less(look, flow)[0]:
        yield (
            "all senders together offer more than the receiver takes: what it takes of that, and that "
            "each sender gets its part of what is offered, is an assumed rule (E2)"
        )
    elif asked.endpoints > 2:
        yield "the share is exact for equal other endpoints, a lower bound for unequal ones (E2)"


def cores_notes(asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """Note where the rows, scaled to the requested cores, need more of them than there are.

    ``needed`` is the utilisation needed of the requested cores, above 1 too, by name of the utilisation.
    """
    for name, demand in needed.items():
        if asked.cores is not None and demand > 1:
            yield (
                f"{name}: the rows, scaled to the cores that were asked for, need "
                f"{demand * asked.cores:.3g} busy cores, of which there are {asked.cores}; the prediction is limited to these"
            )


def not_achieved_note(flow: Flow, asked: Scenario, instead: str) -> Iterator[str]:
    """Note on what answers for a request that is not achieved."""
    if flow.not_achieved[VALUE, 0] and math.isfinite(asked.requested_goodput_bps):
        yield f"the request is not achieved: {instead}"
