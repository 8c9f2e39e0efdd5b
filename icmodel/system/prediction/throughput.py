"""What a system carries: each stream asked alone, shared with the others, and asked again beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Floats, Ints
from icmodel.estimate import BOTTLENECKS
from icmodel.message import Message
from icmodel.system.network import Stream, System
from icmodel.system.packing import Packing
from icmodel.system.prediction import shares
from icmodel.system.prediction.asking import Answers, Spoken, ask
from icmodel.system.prediction.lanes import HOSTS, INTERFACE, Shared, meeting, shared
from icmodel.system.prediction.tcp_windows import paced, windows
from icmodel.system.sharing.allocation import Allocation
from icmodel.system.sharing.loss import NOWHERE
from icmodel.system.sharing.windows import Windows

SAME = 1e-9
MOST_ENDPOINTS = 1e6


@dataclass(frozen=True, slots=True)
class Carried:
    """What streams ask for and get, by themselves and together.

    Parameters
    ----------
    fast, alone, beside : Answers
        Without the others, as fast as each goes and as it asks; and beside what meets it.
    held_back, by_window : arrays of bool (streams,)
        Which get less than they ask for because of others, and which ask for less because of a window.
    at_once : sequence of Part, optional
        What each gets while all that have a message of several frames send it at once.
    """

    shared: Shared
    allocation: Allocation
    fast: Answers
    alone: Answers
    beside: Answers
    held_back: Bools
    by_window: Bools
    at_once: Sequence[shares.Part] | None


def carried(system: System, packed: Packing, unpaced: Spoken) -> Carried:
    """Ask the datasets, and share what streams share."""
    held = windows(system, packed, unpaced)
    said = paced(unpaced, held.limit_bps)
    fast = ask(said, {"rate_fps": np.full(said.size, np.inf)})
    alone = ask(said, {})
    able = _or_infinite(np.fmax(fast.value("goodput_bps"), alone.value("goodput_bps")))
    wanted = np.array([one.requested_goodput_bps for one in system.streams.values()])
    requested = np.minimum(wanted, held.limit_bps)
    found = shared(system, packed, alone, able)
    offered = _offered(requested, found, alone, able)
    sent_whole = ~found.flows.elastic & (alone.bottleneck == BOTTLENECKS.index("request"))
    allocation = found.allocation(offered, held)
    return Carried(
        shared=found,
        allocation=allocation,
        fast=fast,
        alone=alone,
        beside=ask(said, _beside(found, allocation, able)),
        held_back=allocation.rate_bps < np.where(sent_whole, offered, requested) * (1 - SAME),
        by_window=np.minimum(wanted, able) > held.limit_bps * (1 + SAME),
        at_once=_all_at_once(system, found, offered, np.minimum(able, held.limit_bps), held),
    )


def _or_infinite(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.inf, values)


def _offered(requested: Floats, found: Shared, alone: Answers, able: Floats) -> Floats:
    """What each stream asks for or sends [b/s], by itself."""
    sent = alone.value("sent_bps")
    lossy = np.where(np.isnan(sent), requested, np.minimum(sent, requested))
    return np.where(found.flows.elastic, np.minimum(requested, able), lossy)


def _beside(found: Shared, allocation: Allocation, able: Floats) -> dict[str, Floats]:
    """``endpoints`` and ``other_goodput_bps`` of each stream.

    The others get what leaves this stream its share of what it could have alone, where they leave it less;
    else what they get where it meets most, but no more than leaves it that.  Of streams without
    back-pressure that meet at a receiver, its rows and rules say what is lost of what all offer.
    """
    limited = allocation.limiting != NOWHERE
    place = np.where(limited, allocation.limiting, _busiest(found, allocation))
    met, _, others = meeting(found, allocation, place)
    endpoints = np.maximum(met, 1).astype(np.float64)
    kinds = np.array([kind for kind, _, _ in found.keys] + [""])
    received = ~found.flows.elastic & (kinds[place] == INTERFACE)
    rate = np.maximum(allocation.rate_bps, able / MOST_ENDPOINTS)
    with np.errstate(invalid="ignore"):  # of what nobody speaks for
        left = np.maximum(able - allocation.rate_bps, 0.0)
        least = np.ceil(able / rate - SAME)
    held = limited & ~received
    least = np.where(np.isfinite(least), least, 1.0)
    endpoints = np.where(held, np.maximum(endpoints, np.minimum(least, MOST_ENDPOINTS)), endpoints)
    others = np.where(held, left, np.where(received & limited, others, np.fmin(others, left)))
    others = np.where(np.isfinite(others), others, 0.0)
    return {"endpoints": endpoints, "other_goodput_bps": others}


def _busiest(found: Shared, allocation: Allocation) -> Ints:
    """The port or interface of each stream where most of what can be is carried, of those it shares."""
    path = found.flows.path
    crossed = (path != NOWHERE) & (found.flows.usage > 0)
    count = np.bincount(path[crossed], minlength=len(found.keys) + 1)
    kinds = np.array([kind not in HOSTS for kind, _, _ in found.keys] + [False])
    full = np.append(allocation.carried / np.maximum(allocation.could, 1e-300), 0.0)
    full = np.where(kinds & (count > 1), full, -1.0)
    ratio = np.where(path == NOWHERE, -1.0, full[path])
    hop = path.shape[1] - 1 - ratio[:, ::-1].argmax(axis=1)  # of equal ones the last
    most = np.take_along_axis(ratio, hop[:, None], 1)[:, 0]
    return np.where(most > 0, np.take_along_axis(path, hop[:, None], 1)[:, 0], NOWHERE)


# --- messages sent at once --------------------------------------------------------------------


def _all_at_once(
    system: System, found: Shared, offered: Floats, able: Floats, held: Windows
) -> list[shares.Part] | None:
    """What each stream gets while all that have a message of several frames send it at once."""
    several = np.array([message(one) is not None for one in system.streams.values()], dtype=bool)
    if not several.any():
        return None
    return shares.parts(found, found.allocation(np.where(several, able, offered), held))


def message(stream: Stream) -> Message | None:
    """The message of a stream, if it takes more than one frame."""
    made = stream.producer
    if made is None or made.message_bytes <= stream.payload_bytes:
        return None
    return Message(made.message_bytes)
