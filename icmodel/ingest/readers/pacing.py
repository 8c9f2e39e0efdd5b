"""Pacing: the load of a run whose file does not say at which rate its sender was held."""

from __future__ import annotations

from typing import NamedTuple

from icmodel.ingest.labels import Labels
from icmodel.ingest.result import Assumed

NEAR = 0.05
"""Greatest relative distance of the rate sent from a default that is then assumed."""


class Pace(NamedTuple):
    """The load of a paced run: as it follows from what was sent, or the tool's default."""

    unless: Labels = Labels()
    assumed: tuple[Assumed, ...] = ()
    notes: tuple[str, ...] = ()


def pace_of(sent_bps: float, default_bps: float, option: str) -> Pace:
    """The load of a run that was paced, by the rate it sent.

    Parameters
    ----------
    default_bps
        The tool's own rate limit, which ``option`` sets; it is assumed if the run sent at it.
    """
    if abs(sent_bps / default_bps - 1) <= NEAR:
        return Pace(assumed=(Assumed("load_bps", default_bps, option),))
    load = float(f"{sent_bps:.3g}")
    note = f"its rate limit is not said ({option}): the load is what it sent, to three digits"
    return Pace(unless=Labels(load_bps=load), notes=(note,))
