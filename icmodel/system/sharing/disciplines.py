"""What each class of a port can have, on average, of the port's rate: one rule a scheduler.

Every rule maps what the classes ask for [b/s on the wire] to what each could have if it asked for
more while the others ask for what they do.  A class that takes all it can have is backlogged, and
asks for infinity.  Classes are priorities, 7 the most urgent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Classes = Mapping[int, float]
"""A number of each class, by priority."""
Discipline = Callable[[float, Classes], dict[int, float]]
"""(rate of the port [b/s], what its classes ask for [b/s]) -> what each could have [b/s]."""

ASSURED_WEIGHTS = (7.0, 2.4)
"""Goodput of AF4 and AF1, both unlimited TCP with large frames, of 9.4 Gb/s (IC2012 §6.5.3)."""
EXPEDITED_SHARE = 5.5 / 9.4
"""What expedited forwarding gets at most: 5.5 of the 9.4 Gb/s of goodput on a 10 Gb/s line (IC2012 §6.5.3)."""
EXPEDITED = "ef"
ASSURED = ("af1", "af2", "af3", "af4")
BEHAVIOURS = (EXPEDITED, *ASSURED)
"""How a class may be forwarded (RFC 3246, RFC 2597); what is none of them is best effort."""


def strict_priority(rate_bps: float, asked: Classes) -> dict[int, float]:
    """The more urgent classes first; a class could have what these leave."""
    return shaped(rate_bps, asked, {})


def shaped(rate_bps: float, asked: Classes, slopes_bps: Classes) -> dict[int, float]:
    """Strict priority in which some classes get no more than their idle slope (IEEE 802.1Q-2022 §8.6.8.2)."""
    left, could = rate_bps, {}
    for one in sorted(asked, reverse=True):
        could[one] = min(left, slopes_bps.get(one, math.inf))
        left -= min(asked[one], could[one])
    return could


def weighted(rate_bps: float, asked: Classes, weights: Classes) -> dict[int, float]:
    """Turns by weight: what a class does not ask for is divided among those that ask for more.

    Weights are bytes a turn: quanta of deficit round robin; of weighted round robin frames times
    their mean size.  A class without one is not served.
    """
    served = {one: asked[one] for one in asked if weights.get(one, 0.0) > 0}
    could = dict.fromkeys(asked, 0.0)
    for one in served:
        others = {**served, one: math.inf}
        could[one] = _filled(rate_bps, others, weights)[one]
    return could


def _filled(rate_bps: float, asked: Classes, weights: Classes) -> dict[int, float]:
    """Max-min shares of one port by weight."""
    left, total = rate_bps, math.fsum(weights[one] for one in asked)
    got = {}
    for one in sorted(asked, key=lambda each: asked[each] / weights[each]):
        got[one] = min(asked[one], left * weights[one] / total)
        left, total = left - got[one], total - weights[one]
        if total <= 0:
            break
    return got


def gated(
    rate_bps: float, asked: Classes, windows: Sequence[tuple[float, Sequence[int]]]
) -> dict[int, float]:
    """Gates that open in turn; within a window strict priority (IEEE 802.1Q-2022 §8.6.8.4).

    What a class sends is taken to be spread evenly over the windows it is open in.

    Parameters
    ----------
    windows : sequence of (duration [s], priorities whose gates are open)
    """
    cycle = math.fsum(duration for duration, _ in windows)
    left = [rate_bps * duration / cycle for duration, _ in windows]
    could = {}
    for one in sorted(asked, reverse=True):
        is_open = [one in priorities for _, priorities in windows]
        could[one] = math.fsum(part for part, here in zip(left, is_open, strict=True) if here)
        used = min(asked[one] / could[one], 1.0) if could[one] > 0 else 0.0
        left = [
            part * (1 - used) if here else part for part, here in zip(left, is_open, strict=True)
        ]
    return could


def differentiated(
    rate_bps: float, asked: Classes, behaviours: Mapping[int, str]
) -> dict[int, float]:
    """DSCP as IC2012 §6.5.3 measured it at a switch with its factory settings.

    Expedited forwarding first, with at most 5.5 of 9.4 parts; the assured classes share the rest by
    weight, AF4 and AF1 as 7 to 2.4.  AF2 and AF3 lie evenly between them, and what has no class counts
    as AF1 (both assumed).  Drop precedences make little difference, and make none here.

    Parameters
    ----------
    behaviours : mapping
        Priority -> ``ef``, ``af1`` to ``af4``; others are best effort.
    """
    urgent = {one for one in asked if behaviours.get(one) == EXPEDITED}
    could = shaped(rate_bps, {one: asked[one] for one in urgent}, {})
    limit, left = EXPEDITED_SHARE * rate_bps, rate_bps
    for one in sorted(urgent, reverse=True):
        could[one] = min(could[one], limit)
        limit, left = (value - min(asked[one], could[one]) for value in (limit, left))
    rest = {one: asked[one] for one in asked if one not in urgent}
    return could | weighted(
        left, rest, {one: assured_weight(behaviours.get(one, "")) for one in rest}
    )


def assured_weight(behaviour: str) -> float:
    """Weight of an assured forwarding class among the others; between AF1 and AF4 evenly spaced (assumed)."""
    most, least = ASSURED_WEIGHTS
    place = ASSURED.index(behaviour) if behaviour in ASSURED else 0
    return least + (most - least) * place / (len(ASSURED) - 1)
