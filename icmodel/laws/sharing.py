"""Several senders to one interface: this stream's fair share, and a receiver in overload.

Errata E2 and E9.
"""

from __future__ import annotations

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.laws.flow import CLOSE, Flow
from icmodel.tables import VALUE, Look

SHARED = "_shared_goodput_bps_"
"""Beginning of the names of tables of one stream's goodput, measured at the number of endpoints that follows."""


def fair_share(
    look: Look, receiver_bps: Floats, overloaded: Bools, unlimited_loss: Floats, able_bps: Floats
) -> Floats:
    """A stream's share of what the receiver accepts; arrays (ends, n) [b/s].

    It is max(receiver − others, receiver / n), which is exact max-min for equal others or a single one (E2).
    A receiver that loses frames does not distinguish senders, so each gets its proportion of the offered
    load (assumed).  Shares measured at the requested number of endpoints replace receiver / n, and are the
    only ones where the stream was never measured alone.

    Parameters
    ----------
    receiver_bps : array
        What the receiver accepts of one sender.
    overloaded : array of bool
        Whether the requests of all senders exceed that.
    able_bps : array
        What a lone unlimited sender sends.
    """
    q = look.q
    if not (q.endpoints > 1).any():
        return receiver_bps
    receiver, part = receiver_bps, receiver_bps / q.endpoints
    crowded = overloaded & (q.others_bps > 0) & (unlimited_loss > 0)
    if crowded.any():
        own = np.minimum(q.request_bps, able_bps)
        total = own + np.minimum(q.others_bps, (q.endpoints - 1) * able_bps)
        receiver = _receives_less(receiver_bps, crowded, unlimited_loss, total / able_bps)
        part = if_else(crowded, receiver * (own / np.maximum(total, CLOSE)), part)
    for table in look.tables.metrics:
        if table.startswith(SHARED):
            here = q.endpoints == int(table.removeprefix(SHARED))
            if here.any():
                measured = look(table, look.unlimited)
                known = here & ~np.isnan(measured)
                part = if_else(known, np.fmin(measured, receiver), part)
    share = np.fmax(receiver - q.others_bps, part)
    return if_else(q.endpoints > 1, share, receiver)


def _receives_less(receiver_bps: Floats, crowded: Bools, loss: Floats, offered: Floats) -> Floats:
    """What the receiver accepts in total, less where several senders overload it (E2, E9).

    ``offered`` is the offered load of all senders as a multiple of a lone unlimited sender's, of which the
    receiver loses ``loss``.  The excess costs the receiver loss / (1 − loss) of the time
    for accepted frames: at twice the offered load it accepts less by the loss once more.  An assumed rule,
    since §6.5.3.1 says only that two unlimited senders, who offer 19 Gb/s, deliver less in total than
    one; above twice the load no source says anything, and the result is held.
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
