"""Scenario: one question, frozen; refuses what is wrong in any dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypedDict

from icmodel import units
from icmodel.errors import ScenarioError

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


PREFIX = "app_"
"""What the names of a question's parameters begin with that say the application's work."""


@dataclass(frozen=True, slots=True)
class ApplicationWork:
    """Time of a core that the application itself needs, at the sender and at the receiver.

    Parameters
    ----------
    send_s, recv_s : float
        For a frame, before its write begins and after its read has ended [s].
    send_s_per_byte, recv_s_per_byte : float
        Besides, for each byte of its payload [s/B].

    Raises
    ------
    ScenarioError
        If one is no finite number, or below 0.
    """

    send_s: float = 0.0
    recv_s: float = 0.0
    send_s_per_byte: float = 0.0
    recv_s_per_byte: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.to_dict().items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not POSSIBLE[name].allows(value):
                raise ScenarioError(POSSIBLE[name].refusal(name, value))

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self != NO_WORK

    def sending_s(self, payload_bytes: float) -> float:
        """What the sender adds to a frame of a payload [s]."""
        return self.send_s + self.send_s_per_byte * payload_bytes

    def receiving_s(self, payload_bytes: float) -> float:
        """What the receiver adds to a frame of a payload [s]."""
        return self.recv_s + self.recv_s_per_byte * payload_bytes

    def to_dict(self) -> dict[str, float]:
        """The same by the names of a question's parameters."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}


def slowest(works: Iterable[ApplicationWork]) -> ApplicationWork:
    """The most of each part of several works; none of none."""
    said = list(works) or [NO_WORK]
    return ApplicationWork(
        **{field.name: max(getattr(one, field.name) for one in said) for field in fields(NO_WORK)}
    )


def take_work(numbers: dict[str, float]) -> ApplicationWork:
    """The work that some parameters of a question say, which are taken out of them."""
    said = {name.removeprefix(PREFIX): numbers.pop(name) for name in WORK if name in numbers}
    return ApplicationWork(**said) if said else NO_WORK


NO_WORK = ApplicationWork()
"""A program that does as little with a frame as those that measured."""


class Asked(TypedDict, total=False):
    """The keywords of one question, in both spellings; what type checkers hold a call against.

    An axis of the dataset's own is an option: ``options={"nagle": "on"}``. As a keyword of its own
    (``nagle="on"``) it is answered just the same, but no type checker can know its name.
    """

    protocol: str
    payload_bytes: float
    payload: str
    rate_fps: float | None
    rate: str | None
    requested_goodput_bps: float | None
    requested_goodput: str | None
    cores: int | None
    switches: int | None
    endpoints: int | None
    other_goodput_bps: float | None
    other_goodput: str | None
    distance_m: float | None
    distance: str | None
    line_rate_bps: float | None
    line_rate: str | None
    cpu_clock_ratio: float | None
    cpu_clock: str | None
    app_send_s: float | None
    app_send: str | None
    app_recv_s: float | None
    app_recv: str | None
    app_send_s_per_byte: float | None
    app_send_per_byte: str | None
    app_recv_s_per_byte: float | None
    app_recv_per_byte: str | None
    options: Mapping[str, str] | None


class AskedMany(TypedDict, total=False):
    """The keywords of many questions: of arrays, or of ranges; `Asked` says what each is."""

    protocol: object
    payload_bytes: object
    payload: object
    rate_fps: object
    rate: object
    requested_goodput_bps: object
    requested_goodput: object
    cores: object
    switches: object
    endpoints: object
    other_goodput_bps: object
    other_goodput: object
    distance_m: object
    distance: object
    line_rate_bps: object
    line_rate: object
    cpu_clock_ratio: object
    cpu_clock: object
    app_send_s: object
    app_send: object
    app_recv_s: object
    app_recv: object
    app_send_s_per_byte: object
    app_send_per_byte: object
    app_recv_s_per_byte: object
    app_recv_per_byte: object
    options: Mapping[str, object] | None


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
