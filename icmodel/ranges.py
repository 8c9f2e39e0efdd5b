"""Ranges: valid values and defaults of the parameters of a scenario, for single numbers and for arrays."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icmodel.errors import ScenarioError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 2**53
"""Greatest valid value of a count; a float represents every whole number up to this value exactly."""
MOST_WORKERS = 1000
"""Greatest number of worker processes."""
ROUNDING = 2
"""Greatest rounding error of a requested goodput, rate × payload × 8, in units in the last place.

The error occurs if the rate was itself computed from a goodput.
"""
EXPONENT = 0x7FF0_0000_0000_0000
"""Mask of the exponent bits in a float of 64 bits."""
WORK_PREFIX = "app_"
"""Prefix of the names of parameters that describe the application's work."""
WORK = ("app_send_s", "app_recv_s", "app_send_s_per_byte", "app_recv_s_per_byte")
"""Names of the parameters that describe the application's own work."""
REQUESTS = ("rate_fps", "requested_goodput_bps")
"""Names of the parameters that limit the requested rate; a scenario has at most one of these."""
DEFAULTS: Mapping[str, float] = {
    "rate_fps": math.inf,
    "requested_goodput_bps": math.inf,
    "cores": math.nan,
    "switches": 0.0,
    "endpoints": 1.0,
    "other_goodput_bps": 0.0,
    "distance_m": math.nan,
    "line_rate_bps": math.nan,
    "cpu_clock_ratio": 1.0,
    **dict.fromkeys(WORK, 0.0),
}
"""Defaults of the numeric parameters of scenarios in arrays; NaN means the dataset's own value."""


@dataclass(frozen=True, slots=True)
class ValidRange:
    """Valid range of a parameter: the finite numbers from ``least`` to ``most``.

    ``above`` excludes ``least`` itself; ``whole`` allows only whole numbers.
    ``noun`` and ``give`` are parts of the error message: the problem, such as ``not a time``, and the fix.
    """

    least: float
    noun: str
    give: str
    above: bool = False
    whole: bool = False
    most: float = sys.float_info.max

    def allows(self, value: Any) -> Any:
        """Whether a number is within the range; an array is checked elementwise."""
        enough = value > self.least if self.above else value >= self.least
        if self.whole:
            from numpy import rint  # listing datasets needs no numpy

            enough = enough & (rint(value) == value)
        return enough & (value <= self.most)

    def refusal(self, name: str, value: object) -> str:
        """Write the error message for an invalid value of the parameter ``name``."""
        return f"{name} {value!r} is {self.noun}: give {self.give}"

    def check(self, name: str, value: object) -> None:
        """Raise ScenarioError if the value of the parameter ``name`` is not a number within the range.

        A count must be an integer; a boolean is not a number.
        """
        number = isinstance(value, int if self.whole else (int, float))
        # The limits come first, since float refuses integers beyond all floats.
        if not (
            number
            and not isinstance(value, bool)
            and self.least <= value <= self.most  # type: ignore[operator]
            and self.allows(float(value))  # type: ignore[arg-type]
        ):
            raise ScenarioError(self.refusal(name, value))

    def check_array(self, name: str, column: NDArray[Any]) -> None:
        """Raise ScenarioError for the first number in the array of the parameter ``name`` outside the range.

        NaN is valid for a parameter such as the line rate: it stands for the dataset's own value, the default.
        """
        if column.size and (not self.whole or column.dtype.kind in "iu"):
            least, greatest = column.min(), column.max()
            if self.allows(least) and self.allows(greatest):
                return
        try:
            numbers = column.astype(float)
        except OverflowError:  # an integer beyond all floats
            raise ScenarioError(self.refusal(name, column.max())) from None
        allowed = self.allows(numbers)
        if math.isnan(DEFAULTS.get(name, 0.0)):
            allowed |= column != column
        if not allowed.all():
            raise ScenarioError(self.refusal(name, column[~allowed].tolist()[0]))


def _time(what: str) -> ValidRange:
    give = f"a finite number of seconds {what}, 0 to 1e9"
    return ValidRange(0, "not a time", give, most=1e9)


def _count(least: int, what: str) -> ValidRange:
    give = f"a whole number of {what}, {least} to {MOST}"
    return ValidRange(least, "not possible", give, whole=True, most=MOST)


VALID_RANGES: Mapping[str, ValidRange] = {
    "payload_bytes": _count(1, "bytes"),
    "switches": _count(0, "switches"),
    "endpoints": _count(1, "endpoints, this stream included"),
    "cores": _count(1, "cores"),
    "other_goodput_bps": ValidRange(
        0, "not a goodput", "a finite number of bits per second, 0 or more"
    ),
    "distance_m": ValidRange(0, "not a distance", "a finite number of metres, 0 or more"),
    "line_rate_bps": ValidRange(
        1, "not a line rate", "a finite number of bits per second, 1 to 1e18", most=1e18
    ),
    "cpu_clock_ratio": ValidRange(
        1e-6,
        "not a ratio",
        "the clock relative to that of the dataset's hosts, 1e-6 to 1e6",
        most=1e6,
    ),
    "app_send_s": _time("a frame"),
    "app_recv_s": _time("a frame"),
    "app_send_s_per_byte": _time("a byte"),
    "app_recv_s_per_byte": _time("a byte"),
    "requested_goodput_bps": ValidRange(
        0,
        "not a goodput",
        "a finite number of bits per second above 0, or leave it out for an unlimited rate",
        above=True,
    ),
    "rate_fps": ValidRange(
        0,
        "not a rate",
        "a finite number of frames per second above 0, or leave it out for an unlimited rate",
        above=True,
    ),
}
"""Valid range of each numeric parameter of a scenario, by its name with SI suffix."""
BY_ITSELF = {name: valid for name, valid in VALID_RANGES.items() if name not in (*REQUESTS, *WORK)}
"""Valid ranges of the numeric fields that Scenario checks itself; ApplicationWork checks its own fields."""
OTHERS_WITHOUT_ENDPOINTS = (
    "the other goodput is above 0 but endpoints is 1, which is this stream alone: "
    "count the others too, e.g. endpoints = 2"
)


def parse_whole(text: str, least: int = 0, most: int = MOST) -> int:
    """Parse a whole number, written in digits.

    Raises
    ------
    ScenarioError
        If the text is not a whole number from ``least`` to ``most``.

    Examples
    --------
    >>> parse_whole("4")
    4
    """
    digits = text.strip()
    if not re.fullmatch(r"[0-9]{1,18}", digits) or not least <= int(digits) <= most:
        raise ScenarioError(
            f"{text!r} is not possible: give a whole number from {least} to {most}, without a unit"
        )
    return int(digits)


def check_arrays(columns: Mapping[str, NDArray[Any]]) -> None:
    """Check arrays of parameters by the rules that Scenario applies to single numbers.

    Raises
    ------
    ScenarioError
        For the first value that is invalid for every dataset.  The rate and goodput of a request are not checked here.
    """
    for name, column in columns.items():
        if name in VALID_RANGES and name not in REQUESTS:
            VALID_RANGES[name].check_array(name, column)
    others = columns.get("other_goodput_bps")
    if others is not None and (others.astype(bool) & (columns.get("endpoints", 1) == 1)).any():
        raise ScenarioError(OTHERS_WITHOUT_ENDPOINTS)


def requested_goodput(rate_fps: Any, payload_bytes: Any) -> Any:
    """Compute the requested goodput [b/s], rate × payload × 8, of numbers or arrays (IC2012 §2.1).

    It is infinite if the rate is infinite.

    If the product differs from a whole number by at most `ROUNDING` units in the last place (ulp), it is rounded to
    that number.  So a rate that was computed from a goodput gives the same goodput again.
    """
    import numpy as np  # listing datasets needs no numpy

    request = np.asarray(rate_fps * payload_bytes * 8, dtype=float)
    whole = np.rint(request)
    # The power of two at or below each request: np.spacing(request) * 2**52 is equal, but takes three times as long.
    power = (request.view(np.int64) & EXPONENT).view(float)
    with np.errstate(invalid="ignore"):  # inf - inf
        return np.where(np.abs(request - whole) <= power * (ROUNDING * 2.0**-52), whole, request)
