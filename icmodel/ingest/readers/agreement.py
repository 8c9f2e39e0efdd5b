"""Agreement: tools print a rate beside the counts it is made of, and both must say the same."""

from __future__ import annotations

from functools import partial

from icmodel import units
from icmodel.errors import RecordError
from icmodel.ingest.printed import Printed, exact

_said = partial(units.format_bps, digits=6)


def check_rate(rate: Printed, counted: Printed, what: str, slack: float) -> None:
    """Hold a printed rate against what is counted beside it, both in bits per second.

    Parameters
    ----------
    what
        Where it stands and the counts, for people: ``line 3: 2498 datagrams of 1000 B in 1 s``.
    slack
        How far both may lie apart beside what is rounded.

    Raises
    ------
    RecordError
        If both cannot have been the same.
    """
    if not rate.meets(counted, slack):
        raise RecordError(
            f"{what} are {_said(counted.value)}, not the {_said(rate.value)} it prints: a number or a unit "
            "was changed"
        )


def check_count(count: float, counted: float, what: str, whole: str) -> None:
    """Hold a count against the sum of its parts, or the product of its factors.

    Raises
    ------
    RecordError
        If they differ.
    """
    if count != counted:
        raise RecordError(
            f"{what} are {counted:.15g}, not the {count:.15g} of {whole}: a number was changed"
        )


def check_loss(per_cent: Printed, lost: int, of: int, what: str) -> None:
    """Hold a printed loss in per cent against the packets that are counted beside it.

    Raises
    ------
    RecordError
        If more were lost than sent, or both cannot have been the same.
    """
    if not 0 <= lost <= of:
        raise RecordError(f"{what} counts {lost} lost of {of} packets, which is impossible")
    counted = 100 * lost / of if of else 0.0
    if not per_cent.meets(exact(counted)):
        raise RecordError(
            f"{what}: {lost} of {of} packets are {counted:.4g} %, not the {per_cent.value:g} % lost that it "
            "prints: a number was changed"
        )


def check_share(said: float, counted: float, what: str) -> None:
    """Hold a share that a tool prints with all digits against the counts it is of.

    Raises
    ------
    RecordError
        If they lie further apart than by a hundredth of a per cent.
    """
    if abs(said - counted) > 1e-4:
        raise RecordError(
            f"{what} are {counted:.4%}, not the {said:.4%} it prints: a number was changed"
        )


def over(moved: Printed, seconds: Printed) -> Printed:
    """Bytes over seconds, in bits per second."""
    return moved * exact(8.0) / seconds
