"""Several senders to one interface: this stream's fair share, and a receiver that they overload.

Errata E2 and E9.
"""

from __future__ import annotations

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.laws.flow import CLOSE, Flow
from icmodel.tables import VALUE, Look

SHARED = "_shared_goodput_bps_"
"""Tables of one stream's goodput, measured with so many endpoints in all, begin with this."""


def fair_share(
    look: Look, receiver_bps: Floats, overloaded: Bools, unlimited_loss: Floats, able_bps: Floats
) -> tuple[Floats, Floats]:
    """What the receiver takes in sum, and this stream's share of it; arrays (ends, n) [b/s].

    The share is max(receiver − others, receiver / n), exact max-min for equal or single others (E2).
    Where the receiver loses frames it cannot tell senders apart, and each has its part of what is
    offered (assumed).  Shares measured at the asked number of endpoints stand in place of the
    part, and alone where the stream was never measured without others.

    Parameters
    ----------
    receiver_bps : array
        What the receiver takes of one sender.
    overloaded : array of bool
        Whether all senders ask for more than that.
    able_bps : array
        What a lone unlimited sender puts out.
    """
    q = look.q
    if not (q.endpoints > 1).any():
        return receiver_bps, receiver_bps
    own = np.minimum(q.request_bps, able_bps)
    total = own + np.minimum(q.others_bps, (q.endpoints - 1) * able_bps)
    crowded = overloaded & (q.others_bps > 0) & (unlimited_loss > 0)
    receiver = _receives_less(receiver_bps, crowded, unlimited_loss, total / able_bps)
    part = if_else(crowded, receiver * (own / np.maximum(total, CLOSE)), receiver / q.endpoints)
    for table in look.tables.metrics:
        if table.startswith(SHARED):
            here = q.endpoints == int(table.removeprefix(SHARED))
            if here.any():
                measured = look(table, look.unlimited)
                known = here & ~np.isnan(measured)
                part = if_else(known, np.fmin(measured, receiver), part)
    share = np.fmax(receiver - q.others_bps, part)
    return receiver, if_else(q.endpoints > 1, share, receiver)


def _receives_less(receiver_bps: Floats, crowded: Bools, loss: Floats, offered: Floats) -> Floats:
    """What the receiver takes in sum, less where several senders overload it (E2, E9).

    ``offered`` is what all senders offer as a multiple of what a lone unlimited one does, of which the
    receiver loses ``loss``.  What is offered beyond costs the receiver loss / (1 − loss) of the time
    it had for what it took: offered twice as much, it takes the loss once more less.  An assumed rule,
    since §6.5.3.1 says only that two unlimited senders, who offer 19 Gb/s, deliver less in sum than
    one; of more than twice nothing is said, and it is taken to deliver the same.
    """
    lost = np.minimum(loss, 1 - CLOSE)
    more = np.minimum(offered - 1, 1.0)
    less = receiver_bps / (1 + lost / (1 - lost) * more)
    return if_else(crowded & (offered > 1), less, receiver_bps)


def receives_less(look: Look, flow: Flow) -> Bools:
    """Where several senders overload the receiver, whose loss then lowers the goodput, (n,)."""
    several = (look.q.endpoints > 1) & (look.q.others_bps > 0)
    lossy = flow.unlimited_loss[VALUE] > 0
    return np.asarray(several & flow.receiver_overloaded[VALUE] & lossy)
