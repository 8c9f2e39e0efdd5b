"""Scenario: one question, frozen; refuses what is wrong in any dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from icmodel import units
from icmodel.application import NO_WORK, ApplicationWork, take_work
from icmodel.errors import ScenarioError
from icmodel.possible import OTHERS_WITHOUT_ENDPOINTS, POSSIBLE, WORK, Possible

TEXT_SPELLINGS: Mapping[str, tuple[str, Callable[[str], float]]] = {
    "payload": ("payload_bytes", units.parse_bytes),
    "rate": ("rate_fps", units.parse_rate),
    "requested_goodput": ("requested_goodput_bps", units.parse_bps),
    "other_goodput": ("other_goodput_bps", units.parse_bps),
    "distance": ("distance_m", units.parse_metres),
    "line_rate": ("line_rate_bps", units.parse_bps),
    "cpu_clock": ("cpu_clock_ratio", units.parse_factor),
    "app_send": ("app_send_s", units.parse_seconds),
    "app_recv": ("app_recv_s", units.parse_seconds),
    "app_send_per_byte": ("app_send_s_per_byte", units.parse_seconds_per_byte),
    "app_recv_per_byte": ("app_recv_s_per_byte", units.parse_seconds_per_byte),
}
"""Parameter without unit suffix -> (SI name, parser of its text with a unit)."""
REQUESTS = ("rate_fps", "requested_goodput_bps")
"""What limits a request; both say the same."""
ALONE = {name: one for name, one in POSSIBLE.items() if name not in (*REQUESTS, *WORK)}
"""What is possible of each parameter that is checked by itself; the application's work checks its own."""
ROUNDING = 2
"""Last places by which rate × payload × 8 may miss the goodput the rate was made from."""


class Where(NamedTuple):
    """What a curve is drawn for beside its payloads.

    Parameters
    ----------
    extend : bool
        Beyond its payloads too.
    overloaded : bool
        Asked for more than can be had, by a limited request.
    options : mapping, optional
        Those asked, where the rows have others.
    """

    extend: bool = False
    overloaded: bool = False
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts and link other than the dataset's: a line rate [b/s] and a clock relative to its own."""

    line_rate_bps: float | None = None
    cpu_clock_ratio: float = 1.0

    def texts(self, own_bps: float | None) -> tuple[str, ...]:
        """On which axes this lies outside the dataset, and how far."""
        said = []
        if self.line_rate_bps is not None and own_bps is not None:
            asked, own = units.format_bps(self.line_rate_bps, 3), units.format_bps(own_bps, 3)
            said.append(f"extrapolated on line rate: {asked}, measured at {own}")
        if self.cpu_clock_ratio != 1.0:
            said.append(
                f"extrapolated on CPU clock: {self.cpu_clock_ratio:g} times that of the hosts"
            )
        return tuple(said)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One stream into one interface, and what else uses that interface.

    Parameters
    ----------
    protocol : str
        As the dataset names it, e.g. ``tcp``.
    payload_bytes : int
        Useful bytes per frame [B], at least 1.
    rate_fps : float or None
        Frames per second; ``None`` is as fast as it goes.
    cores : int or None
        Parallel processes, one a core; ``None`` is the most the dataset measured.
    switches : int
        Switches on the path.
    endpoints : int
        Endpoints sending to the receiving interface, this stream included.
    other_goodput_bps : float
        Sum of what the other endpoints ask for [b/s].
    distance_m : float or None
        Cable length [m]; ``None`` is the length the dataset was measured with.
    options : tuple of (axis, value)
        Values on the dataset's own axes, sorted by axis.
    line_rate_bps : float or None
        Of the link [b/s]; ``None`` is the dataset's own.
    cpu_clock_ratio : float
        Clock of the hosts' processors relative to those of the dataset.
    work : ApplicationWork
        What the application adds to a frame at both ends.

    Raises
    ------
    ScenarioError
        If a value could not be asked of any dataset.
    """

    protocol: str
    payload_bytes: int
    rate_fps: float | None = None
    cores: int | None = None
    switches: int = 0
    endpoints: int = 1
    other_goodput_bps: float = 0.0
    distance_m: float | None = None
    options: tuple[tuple[str, str], ...] = ()
    line_rate_bps: float | None = None
    cpu_clock_ratio: float = 1.0
    work: ApplicationWork = NO_WORK

    def __post_init__(self) -> None:
        for name, possible in ALONE.items():
            value = getattr(self, name)
            if value is not None and not _allows(possible, value):
                raise ScenarioError(possible.refusal(name, value))
        rate = self.rate_fps
        if rate is not None and not POSSIBLE["rate_fps"].allows(rate * self.payload_bytes * 8):
            raise ScenarioError(POSSIBLE["rate_fps"].refusal("rate_fps", rate))
        if self.other_goodput_bps > 0 and self.endpoints == 1:
            raise ScenarioError(OTHERS_WITHOUT_ENDPOINTS)

    @property
    def hosts(self) -> Hosts:
        """In which ways hosts and link are not the dataset's."""
        return Hosts(self.line_rate_bps, self.cpu_clock_ratio)

    @property
    def requested_goodput_bps(self) -> float:
        """Rate × payload × 8 [b/s]; infinite when the rate is unlimited (IC2012 §2.1).

        A product beside a whole number of bits, as a rate made from a goodput gives, is that number.
        """
        if self.rate_fps is None:
            return math.inf
        request = self.rate_fps * self.payload_bytes * 8
        whole = float(round(request))
        return whole if abs(request - whole) <= ROUNDING * math.ulp(request) else request

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "protocol": self.protocol,
            "payload_bytes": self.payload_bytes,
            "rate_fps": self.rate_fps,
            "requested_goodput_bps": None if self.rate_fps is None else self.requested_goodput_bps,
            "cores": self.cores,
            "switches": self.switches,
            "endpoints": self.endpoints,
            "other_goodput_bps": self.other_goodput_bps,
            "distance_m": self.distance_m,
            "line_rate_bps": self.line_rate_bps,
            "cpu_clock_ratio": self.cpu_clock_ratio,
            **self.work.to_dict(),
            "options": dict(self.options),
        }


def _allows(possible: Possible, value: object) -> bool:
    """Whether a value is what a parameter can be: a count is an integer, and no boolean a number."""
    if isinstance(value, bool) or not isinstance(value, int if possible.whole else (int, float)):
        return False
    try:
        return bool(possible.allows(float(value)))
    except OverflowError:  # an integer beyond all floats
        return False


def scenario(**words: object) -> Scenario:
    """Make a Scenario from either spelling of each parameter.

    With unit suffix a parameter is a number in SI (``payload_bytes=65535``); without, a text
    with its unit (``payload="65535 B"``).  ``requested_goodput`` takes the place of ``rate``.
    Any other name is an option axis of the dataset (``nagle="off"``); ``options={...}`` serves too.

    Raises
    ------
    UnitError, ScenarioError
        If a text has no unit, a parameter is given twice, or a value is impossible.
    """
    values, options = _in_si(words)
    for needed, example in (("protocol", '"tcp"'), ("payload_bytes", '"1448 B"')):
        if needed not in values:
            name = needed.removesuffix("_bytes")
            raise ScenarioError(f"the question has no {name}: give one, e.g. {name}={example}")
    numbers = {
        name: _whole(values, name) if possible.whole else _number(values, name)
        for name, possible in POSSIBLE.items()
        if name in values
    }
    if "requested_goodput_bps" in numbers:
        if "rate_fps" in numbers:
            raise ScenarioError(
                "rate and requested goodput are both given: keep one, they say the same"
            )
        numbers["rate_fps"] = _rate(numbers.pop("requested_goodput_bps"), numbers["payload_bytes"])
    work = take_work(numbers)
    named: dict[str, Any] = {**numbers, "protocol": str(values["protocol"]), "work": work}
    return Scenario(**named, options=tuple(sorted(options.items())))


def work_in_words(words: Mapping[str, object]) -> ApplicationWork:
    """The application's work of keywords in either spelling, as a question takes them.

    Raises
    ------
    UnitError, ScenarioError
        If a text has no unit, a time is given twice, or is impossible.
    """
    values, _ = _in_si(words)
    return take_work({name: _number(values, name) for name in values})


SI_NAMES = frozenset({"protocol", *POSSIBLE})
"""Every parameter of a question under its SI name."""


def with_options(words: Mapping[str, object]) -> dict[str, object]:
    """Some keywords of a question with its options as keywords of their own.

    Raises
    ------
    ScenarioError
        If an option is given both ways, or the options are no mapping.
    """
    named = {name: given for name, given in words.items() if name != "options"}
    options = words.get("options") or {}
    if not isinstance(options, Mapping):
        raise ScenarioError(
            f'options {options!r} are no mapping: give them as {{"nagle": "on"}}, by their names'
        )
    for axis, value in options.items():
        if named.get(str(axis)) is not None:
            raise ScenarioError(f"the option {axis} is given twice: keep one")
        named[str(axis)] = value
    return named


def _in_si(words: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    values: dict[str, object] = {}
    options: dict[str, str] = {}
    for name, given in with_options(words).items():
        if given is None:
            continue
        si_name, value = _one_in_si(name, given)
        if si_name not in SI_NAMES:
            options[name] = str(given)
        elif si_name in values:
            raise ScenarioError(f"{si_name} is given twice: keep one of its two spellings")
        else:
            values[si_name] = value
    return values, options


def _one_in_si(name: str, given: object) -> tuple[str, object]:
    if name not in TEXT_SPELLINGS:
        return name, given
    si_name, parse = TEXT_SPELLINGS[name]
    if not isinstance(given, str):
        raise ScenarioError(
            f"{name}={given!r} has no unit: write a text with its unit, or {si_name}={given!r} "
            "for a number in SI"
        )
    return si_name, parse(given)


def _number(values: Mapping[str, object], name: str) -> float:
    value = values[name]
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ScenarioError(f"{name} {value!r} is not a number: give a number in SI") from None


def _whole(values: Mapping[str, object], name: str) -> int:
    number = _number(values, name)
    if not number.is_integer():
        raise ScenarioError(POSSIBLE[name].refusal(name, values[name]))
    return int(number)


def _rate(goodput_bps: float, payload_bytes: float) -> float:
    """The rate at which frames make up a goodput [1/s]."""
    for name, value in (
        ("requested_goodput_bps", goodput_bps),
        ("payload_bytes", payload_bytes),
    ):
        if not POSSIBLE[name].allows(value):
            raise ScenarioError(POSSIBLE[name].refusal(name, value))
    return goodput_bps / (payload_bytes * 8)
