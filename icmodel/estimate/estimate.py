"""Estimate: a predicted metric with its value, its 90 % interval and its basis (kind of evidence)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from icmodel.documents import number_or_none
from icmodel.frozen import Late, NanEqual

EXTRAPOLATED = "extrapolated"
"""Basis of an estimate outside the measured range."""
BASES = (
    "measured",
    "tabulated",
    "stated",
    "theory",
    "derived",
    "interpolated",
    "assumed",
    EXTRAPOLATED,
)
"""Every basis (kind of evidence) of a number, the strongest first."""
BOTTLENECKS = ("request", "cpu", "packet-rate", "wire", "share", "receiver", "unknown")
"""Names of the bottlenecks that can limit a stream's goodput."""


def weakest(bases: Sequence[str]) -> str:
    """Return the weakest of several bases (kinds of evidence); ``theory`` if the sequence is empty."""
    return max(bases, key=BASES.index) if bases else "theory"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(NanEqual, Late):
    """One metric: a value, the 90 % interval for one new run, and the basis.

    Parameters
    ----------
    value, low, high : float
        Value and interval, in the SI unit of the metric's suffix; all three are NaN if the metric is absent.
    basis : str
        Weakest kind of evidence used for the number, one of `BASES`.
    why : str
        Reason why the metric is absent or extrapolated; otherwise empty.
    bases : tuple of str
        All kinds of evidence used for the number.

    Examples
    --------
    >>> import icmodel
    >>> model = icmodel.Model(icmodel.load("ethernet-10g-2012"))
    >>> answer = model.predict(protocol="tcp", payload_bytes=1448, rate_fps=None)
    >>> answer.goodput_bps.basis, answer.goodput_bps.value
    ('tabulated', 9410600000.0)
    >>> float(answer.goodput_bps)
    9410600000.0
    >>> answer.cpu_recv
    Estimate(0.5875, low=0.2938, high=0.75, assumed)
    """

    value: float
    low: float
    high: float
    basis: str
    why: str = ""
    bases: tuple[str, ...] = ()

    @property
    def absent(self) -> bool:
        """Whether the estimate has no value; ``why`` gives the reason."""
        return math.isnan(self.value)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Value, low and high of the estimate, in this order."""
        return self.value, self.low, self.high

    def __float__(self) -> float:
        """Return the value of the estimate in SI; NaN if the estimate is absent."""
        return self.value

    def __repr__(self) -> str:
        if self.absent:
            return f"Estimate(absent, {shortened(self.why)})"
        return f"Estimate({self.value!r}, low={self.low!r}, high={self.high!r}, {self.basis})"

    def to_dict(self) -> dict[str, object]:
        """Convert the estimate to a dict for JSON; unknown numbers become ``None``."""
        return {
            "value": number_or_none(self.value),
            "low": number_or_none(self.low),
            "high": number_or_none(self.high),
            "basis": self.basis,
            "bases": list(self.bases),
            "why": self.why,
        }


def absent(why: str) -> Estimate:
    """Make an Estimate without a value, from the reason.

    >>> absent("not measured")
    Estimate(absent, not measured)
    """
    return Estimate(math.nan, math.nan, math.nan, "", why)


def shortened(text: str, most: int = 200) -> str:
    """Shorten a text to one line of at most ``most`` characters, for a ``repr``."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
