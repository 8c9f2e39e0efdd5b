"""Benchmarked packets a second as multiples of theory's packets of the frames that flow.

A rate of packets says how many frames flowed in that run, which is another number at every request.  What
carries over to other requests is how many packets a frame had, beside the packets that theory gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from icmodel.interpolation import VALUE, Curve
from icmodel.model.lookup import LOAD_TOLERANCE, most_measured
from icmodel.model.physics import Wire
from icmodel.model.shelf import Curves

Floats = NDArray[np.float64]

PACKETS = "packets_"
"""What every metric of packets a second begins with."""


def as_multiples(
    curves: Curves,
    arriving: Curves,
    capacity: Curves,
    unlimited: Curves,
    wires: Mapping[str, Wire],
) -> Curves | None:
    """Curves of packets a second [1/s], each row over theory's packets of its own run.

    Parameters
    ----------
    arriving : Curves
        Loss of carried loads, of what is counted where it arrives; empty of what is sent.
    capacity, unlimited : Curves
        The goodput [b/s] up to which a load counts as carried, and that of unlimited runs.
    wires : mapping
        The wire of each protocol.

    Returns
    -------
    Curves or None
        ``None`` where some row says no payload or load, or has no goodput beside it.
    """
    found: Curves = {}
    for place, own in curves.items():
        protocol = place[0]
        most = capacity.get(place) or capacity.get(most_measured(capacity, protocol))
        full = unlimited.get(place) or unlimited.get(most_measured(unlimited, protocol))
        if not most or not full or any(c.anywhere or np.isnan(c.load_bps) for c in own):
            return None
        lost = {curve.load_bps: curve for curve in arriving.get(place, [])}
        found[place] = [
            _multiple(curve, lost.get(curve.load_bps), most[0], full[0], wires[protocol])
            for curve in own
        ]
    return found


def _multiple(
    curve: Curve, lost: Curve | None, capacity: Curve, unlimited: Curve, wire: Wire
) -> Curve:
    """One curve: a carried load's frames have packets of their own, a stream at its limit full ones."""
    payload = curve.payload_bytes
    bound = wire.goodput_bound_bps(payload, wire.serialisation_s(payload))
    carried = curve.load_bps <= LOAD_TOLERANCE * capacity.at(payload)[VALUE]
    arrives = 1.0 if lost is None else 1 - lost.at(payload)[VALUE]
    flowing = np.where(
        carried, curve.load_bps * arrives, np.minimum(unlimited.at(payload)[VALUE], bound)
    )
    each = np.where(carried, wire.packets(payload), wire.least_packets(payload))
    return replace(curve, ends=curve.ends / (each * flowing / (8 * payload)))
