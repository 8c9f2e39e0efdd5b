"""Loss rate: frames sent and not received over frames sent (IC2012 §2.1, §7.1.4, Appendix H).

TCP loses nothing the application sees (E8).  For the others loss is what the receiver or the share
did not take of the frames *sent*; what the sender could not send is shortfall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import VALUE
from icmodel.model.block import Block, LoadSlot
from icmodel.model.choose import chosen, mask
from icmodel.model.cores import widened
from icmodel.model.goodput import Flow
from icmodel.model.ground import Ground

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RELIABLE = ("tcp",)
"""Protocols without loss by definition (IC2012 §7.1.4)."""


def limited_loss(ground: Ground, block: Block, part: int, slot: LoadSlot) -> Floats:
    """Loss while the request is carried: the benchmarked one at that load, else 0 (E16)."""
    lookup = ground.loss_limited
    if lookup.empty:
        return np.zeros_like(block.dp)
    place = block.place(lookup, slot.slot)
    found = lookup.stack.look_up(part, place, block.dp, slot.dr)
    np.copyto(found, 0.0, where=np.isnan(found))
    found = widened(ground, block, "loss_rate", part, found)
    return np.clip(found, 0.0, 1.0, out=found)


def unknown(
    ground: Ground, block: Block, variant: str, lossy: Bools, over_own: Bools
) -> NDArray[np.bool_]:
    """Where the dataset does not say how many of the sent frames arrive.

    Protocols without any benchmarked loss at these counts; in overload payloads outside the table;
    direct Ethernet in ``appendix-h`` (E10).
    """
    said = ground.loss_unlimited.group > 0
    if variant == "appendix-h":
        direct = np.array([protocol == "ethernet" for protocol in ground.protocols])
        hidden = direct.take(block.asked.protocol)
        needed = np.ones_like(hidden)
    else:
        said |= ground.loss_limited.group > 0
        hidden, needed = np.zeros_like(lossy), over_own
    missing = lossy & ~said.take(block.config)
    if ground.loss_gaps:
        missing |= lossy & needed & np.isnan(block.unlimited(ground.loss_unlimited, VALUE))
    return np.asarray(missing | hidden)


def corrected_loss(flow: Flow, lossy: Bools, limited: Floats, request_bps: Floats) -> Floats:
    """1 − goodput / sent for protocols that lose frames, 0 for the others."""
    carried = flow.share_bps >= request_bps * (1 - limited)
    carried &= ~flow.over_own
    dropped = 1 - flow.loss_table  # where the interval reaches down to nothing sent
    np.divide(flow.goodput_bps, flow.sent_bps, out=dropped, where=flow.sent_bps != 0)
    np.subtract(1.0, dropped, out=dropped)
    np.clip(dropped, 0.0, 1.0, out=dropped)
    loss = chosen(mask(carried), limited, dropped)
    loss *= lossy
    return loss


def appendix_h_loss(flow: Flow, request_bps: Floats, endpoints: Floats) -> Floats:
    """The greater of table loss × endpoints and 1 − achieved / requested, at most 1."""
    achieved = np.where(np.isinf(request_bps), 0.0, flow.goodput_bps / request_bps)
    return np.asarray(np.clip(np.maximum(flow.loss_table * endpoints, 1 - achieved), 0.0, 1.0))
