"""Goodput: the least of what is asked, what the benchmarks reached, the wire and the fair share.

IC2012 §7.1.1 and Appendix H, with the decisions E1–E3, E9 and E13 of the background page on
errata.  ``corrected`` and ``appendix-h`` each are one function that returns the same Flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import HIGH, LOW, VALUE
from icmodel.model.block import CLOSE, Block
from icmodel.model.choose import chosen, mask
from icmodel.model.cores import widened
from icmodel.model.ground import Ground
from icmodel.model.lookup import Lookup

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FAR = 1.1
"""A paced request is too much from this times what runs that asked for too much reached; assumed."""
OPPOSITE = {VALUE: VALUE, LOW: HIGH, HIGH: LOW}
"""A long latency and a high loss go with the least goodput: the flow's end that decides an end."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What happens to the frames, for one end of the interval; arrays of one shape, b/s.

    ``own`` is what the stream reaches alone, ``limit`` what the receiver takes in sum, ``share``
    this stream's part of it; ``over_own`` says that the request is above ``own``, ``overloaded``
    that it is not achieved at all, ``over_total`` that all senders together ask for more than
    the receiver takes.  ``loss_table`` is the benchmarked loss when unlimited (0 where none is).
    """

    own_bps: Floats
    limit_bps: Floats
    share_bps: Floats
    sent_bps: Floats
    goodput_bps: Floats
    loss_table: Floats
    over_own: Bools
    over_total: Bools
    overloaded: Bools


def corrected_flow(
    ground: Ground, block: Block, part: int, lossy: Bools, limited_loss: Floats
) -> Flow:
    """The stream's flow in the variant ``corrected``.

    Parameters
    ----------
    part : int
        Which end of the interval: value, low or high.
    lossy : array of bool
        Whether the protocol loses frames; the others throttle to their share.
    limited_loss : array
        Loss of the frames sent while the request is carried (E16).
    """
    asked = block.asked
    capacity, unlimited = _reached(ground, block, part)
    table = _benchmarked_loss(ground, block, part) * lossy
    slack = capacity * (1 + CLOSE)
    over_own = asked.request_bps > slack
    if asked.request_bps.max() == np.inf:
        over_own |= np.isinf(asked.request_bps)
    over_total = asked.request_bps + asked.others_bps > slack
    by_own, by_total, by_lossy = mask(over_own), mask(over_total), mask(lossy)
    if unlimited is capacity:
        own, limit = capacity, capacity.copy()
    else:
        own = chosen(by_own, unlimited, capacity)
        limit = chosen(by_total, unlimited, capacity)
    able = unlimited / np.maximum(1 - table, CLOSE)
    offer = _offer(block, able)
    crowded = over_total & (asked.others_bps > 0) & (table > 0)
    _receive_less(limit, crowded, table, offer.total_bps / able)
    equal = limit / asked.endpoints
    equal = np.where(crowded, limit * (offer.own_bps / np.maximum(offer.total_bps, CLOSE)), equal)
    share = _fair_share(ground, block, part, limit, equal)
    if part != VALUE:  # a wide interval of loss lets nobody send more than the line takes
        np.minimum(able, block.wire.bound_bps, out=able)
    sent = chosen(by_own, np.minimum(asked.request_bps, able), asked.request_bps)
    arriving = chosen(by_own, sent, asked.request_bps * (1 - limited_loss))
    offered = chosen(by_lossy, arriving, asked.request_bps)
    goodput = np.minimum(offered, share)
    sent = chosen(by_lossy, sent, goodput)
    overloaded = over_own | (share * (1 + CLOSE) < asked.request_bps)
    if ground.carried is not None:
        delivered = ground.carried[part].take(asked.protocol)
        kept = np.where(over_own | (share < offered), 1.0, delivered)
        # A share just below what arrives is no surer than all of it; no window counts more than the wire.
        most = np.where(over_own, np.inf, offered * delivered)
        goodput = np.minimum(goodput * kept, np.minimum(most, block.wire.bound_bps))
        sent = chosen(by_lossy, sent * kept, goodput)
    return Flow(own, limit, share, sent, goodput, table, over_own, over_total, overloaded)


def sent(block: Block, flows: Mapping[int, Flow], part: int, lossy: Bools) -> Floats:
    """Goodput sent at one end of its interval [b/s].

    A flow's end has the loss that goes with its goodput: the more arrives, the less is lost.  Of what a
    sender that loses frames can do, own / (1 − loss), that would be no end at all: either factor may be
    off without the other, and the squares of how far add up.
    """
    found, known = flows[part].sent_bps.copy(), flows[VALUE]
    where = np.flatnonzero(known.over_own & lossy)
    if part == VALUE or not len(where):
        return found
    own, end = known.own_bps.take(where), flows[part].own_bps.take(where)
    arriving = np.maximum(1 - known.loss_table.take(where), CLOSE)
    arriving_end = np.maximum(1 - flows[OPPOSITE[part]].loss_table.take(where), CLOSE)
    able = own / arriving
    if part == HIGH:
        able *= 1 + _together(end / own, arriving / arriving_end)
    else:
        able /= 1 + _together(own / end, arriving_end / arriving)
    most = np.minimum(block.asked.request_bps.take(where), block.wire.bound_bps.take(where))
    found[where] = np.fmax(np.minimum(able, most), flows[part].goodput_bps.take(where))
    return found


def _together(one: Floats, other: Floats) -> Floats:
    """By how much two independent factors exceed 1 together."""
    return np.sqrt((one - 1) ** 2 + (other - 1) ** 2)


def _reached(ground: Ground, block: Block, part: int) -> tuple[Floats, Floats]:
    """The best any load reached and what the unlimited one did, neither above theory [b/s]."""
    place = block.place(ground.capacity, ground.capacity.stack.slots - 1)
    best = ground.capacity.stack.look_up_payload(part, place, block.dp)
    best = widened(ground, block, "goodput_bps", part, best)
    np.minimum(best, block.wire.bound_bps, out=best)
    if ground.unlimited is ground.capacity:
        return best, best
    if not ground.same_places:
        place = block.place(ground.unlimited, ground.unlimited.stack.slots - 1)
    unlimited = ground.unlimited.stack.look_up_payload(part, place, block.dp)
    unlimited = widened(ground, block, "goodput_bps", part, unlimited)
    np.minimum(unlimited, block.wire.bound_bps, out=unlimited)
    return best, unlimited


def _benchmarked_loss(ground: Ground, block: Block, part: int) -> Floats:
    """Loss when unlimited, at the end that goes with an end of the goodput; 0 where none is known."""
    end = OPPOSITE[part]
    table = block.unlimited(ground.loss_table, end)
    return np.minimum(widened(ground, block, "loss_rate", end, table), 1.0)


@dataclass(frozen=True, slots=True)
class Offer:
    """What this stream and all senders together offer to the receiver [b/s]."""

    own_bps: Floats
    total_bps: Floats


def _offer(block: Block, able: Floats) -> Offer:
    """What is offered, each sender's part no more than a lone one is ``able`` to send."""
    asked = block.asked
    own = np.minimum(asked.request_bps, able)
    return Offer(own, own + np.minimum(asked.others_bps, (asked.endpoints - 1) * able))


def _receive_less(limit: Floats, crowded: Bools, table: Floats, offered: Floats) -> None:
    """Lower in place what the receiver takes in sum where several senders overload it (E2, E9).

    ``offered`` is what all senders offer as a multiple of what a lone unlimited one does, of which the
    receiver loses ``table``.  What is offered beyond costs the receiver table / (1 − table) of the time
    it had for what it took: offered twice as much, it takes the loss once more less.  An assumed rule,
    since §6.5.3.1 says only that two unlimited senders, who offer 19 Gb/s, deliver less in sum than
    one; of more than twice nothing is said, and it is taken to deliver the same.
    """
    several = np.flatnonzero(crowded & (offered > 1))
    if len(several):
        lost = np.minimum(table.take(several), 1 - CLOSE)
        more = np.minimum(offered.take(several) - 1, 1.0)
        limit[several] /= 1 + lost / (1 - lost) * more


def _fair_share(ground: Ground, block: Block, part: int, limit: Floats, fair: Floats) -> Floats:
    """max(limit − others, fair): exact max-min for equal or single others (E2).

    ``fair`` is limit / n, or where the receiver loses frames this stream's part of what is offered,
    since it cannot tell senders apart (assumed).  Shares measured at the asked number of endpoints
    stand in its place, and alone where the stream was never measured without others.
    """
    asked = block.asked
    for count, lookup in ground.fair.items():
        here = asked.endpoints == count
        if here.any():
            measured = block.unlimited(lookup, part)
            fair = chosen(mask(here & ~np.isnan(measured)), np.fmin(measured, limit), fair)
    shared = np.fmax(limit - asked.others_bps, fair)
    return chosen(mask(asked.endpoints > 1), shared, limit)


def appendix_h_flow(ground: Ground, block: Block, part: int, lossy: Bools) -> Flow:
    """The stream's flow as IC2012 Appendix H writes it (E2: the share may exceed the request)."""
    asked = block.asked
    limit = block.unlimited(ground.unlimited, part)
    limited = np.minimum(asked.request_bps, limit)
    share = np.maximum(limit - asked.others_bps, limit / asked.endpoints)
    fits = (asked.endpoints == 1) | (limited + asked.others_bps < limit)
    goodput = np.where(fits, limited, share)
    table = block.unlimited(ground.loss_table, OPPOSITE[part]) * lossy
    over = (asked.request_bps > limit * (1 + CLOSE)) | np.isinf(asked.request_bps)
    overloaded = over | (asked.request_bps > goodput * (1 + CLOSE))
    return Flow(limit, limit, share, limited, goodput, table, over, over, overloaded)


def asked_too_much(beside: Ground, block: Block, flow: Flow) -> Bools:
    """Which limited requests the runs that were asked for too much answer.

    Those above what a lone stream reaches, or far above what such runs reached, between the payloads
    of such runs.
    """
    group = beside.capacity.group.take(block.config)
    payload = block.asked.payload_bytes
    inside = (beside.capacity.first.take(group) <= payload) & (
        payload <= beside.capacity.last.take(group)
    )
    reached, _ = _reached(beside, block, VALUE)
    over = flow.over_own | (block.asked.request_bps > reached * FAR)
    return np.asarray(over & np.isfinite(block.asked.request_bps) & (group > 0) & inside)


def known(lookup: Lookup, block: Block) -> Bools:
    """Whether a metric has rows for each question's protocol and counts."""
    return np.asarray(lookup.group.take(block.config) > 0)
