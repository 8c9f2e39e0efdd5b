"""Possible values of a question's numbers in any dataset, for one question and for arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 2**53
"""The greatest count; up to it every whole number is exact as a float."""


@dataclass(frozen=True, slots=True)
class Possible:
    """A range of finite numbers that begins at ``least`` or above it; counts are whole.

    ``noun`` and ``give`` are used in refusals: the name of the quantity, and what to give instead.
    """

    least: float
    noun: str
    give: str
    above: bool = False
    whole: bool = False

    def allows(self, value: Any) -> Any:
        """Whether a number is possible; for an array elementwise."""
        enough = value > self.least if self.above else value >= self.least
        if self.whole:
            from numpy import rint  # what only lists datasets does without numpy

            return enough & (value <= MOST) & (rint(value) == value)
        return enough & (value < math.inf)

    def refusal(self, name: str, value: object) -> str:
        """The sentence that refuses the value of a parameter."""
        return f"{name} {value!r} is {self.noun}: give {self.give}"


def _time(what: str) -> Possible:
    return Possible(0, "not a time", f"a finite number of seconds {what}, 0 or more")


def _count(least: int, what: str) -> Possible:
    give = f"a whole number of {what}, at least {least}"
    return Possible(least, "not possible", give, whole=True)


POSSIBLE: Mapping[str, Possible] = {
    "payload_bytes": _count(1, "B"),
    "switches": _count(0, "switches"),
    "endpoints": _count(1, "endpoints, this stream included"),
    "cores": _count(1, "cores"),
    "other_goodput_bps": Possible(
        0, "not a goodput", "a finite number of bits per second, 0 or more"
    ),
    "distance_m": Possible(0, "not a distance", "a finite number of metres, 0 or more"),
    "line_rate_bps": Possible(
        0, "not a line rate", "a finite number of bits per second above 0", above=True
    ),
    "cpu_clock_ratio": Possible(
        0,
        "not a ratio",
        "the clock relative to that of the dataset's hosts, above 0",
        above=True,
    ),
    "app_send_s": _time("a frame"),
    "app_recv_s": _time("a frame"),
    "app_send_s_per_byte": _time("a byte"),
    "app_recv_s_per_byte": _time("a byte"),
    "requested_goodput_bps": Possible(
        0,
        "not a goodput",
        "a finite number of bits per second above 0, or leave it out for as fast as it goes",
        above=True,
    ),
    "rate_fps": Possible(
        0,
        "not a rate",
        "a finite number of frames per second above 0, or leave it out for as fast as it goes",
        above=True,
    ),
}
"""Name of each number of a question, in SI -> its possible values."""
WORK = ("app_send_s", "app_recv_s", "app_send_s_per_byte", "app_recv_s_per_byte")
"""Parameters that describe the application's own work."""
OTHERS_WITHOUT_ENDPOINTS = (
    "other_goodput_bps is above 0 but endpoints is 1, which is this stream alone: "
    "count the others too, e.g. endpoints = 2"
)
