"""Estimates that are made of others by a rule."""

from __future__ import annotations

from collections.abc import Iterable

from icmodel.estimate import Estimate, weakest


def derived(own: Estimate, made: Iterable[float], bases: tuple[str, ...], *why: str) -> Estimate:
    """What a rule makes of an estimate.

    Parameters
    ----------
    made : iterable of three floats
        Value, low and high.
    bases : tuple of str
        What the rule rests on, besides what the estimate does.
    why : str
        What is told besides its own reason; empty where there is nothing.
    """
    rests = (*(own.bases or (own.basis,)), *bases)
    value, low, high = made
    said = "; ".join(filter(None, (own.why, *why)))
    return Estimate(value, low, high, weakest(rests), said, rests)
