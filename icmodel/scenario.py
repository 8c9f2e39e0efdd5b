"""Scenario: one question to the model, as a frozen object. A value that is invalid for every dataset is an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from reprlib import repr as shortened
from typing import Any, NamedTuple, TypedDict

from icmodel import units
from icmodel.errors import ScenarioError
from icmodel.keywords import nearest
from icmodel.ranges import (
    BY_ITSELF,
    OTHERS_WITHOUT_ENDPOINTS,
    REQUESTS,
    VALID_RANGES,
    WORK,
    WORK_PREFIX,
    requested_goodput,
)


class Options(Mapping[str, str]):
    """Options of a question: values on a dataset's own axes, such as ``nagle``. Immutable, sorted by axis.

    Parameters
    ----------
    values : mapping or iterable of pairs
        Names of axes and the value on each axis.

    Examples
    --------
    >>> options = Options({"nagle": "off"})
    >>> options["nagle"], options == Options([("nagle", "off")])
    ('off', True)
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._values = dict(sorted(dict(values).items()))
        self._hash = hash(tuple(self._values.items()))

    def __getitem__(self, axis: str) -> str:
        return self._values[axis]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, Options) else other)

    def __repr__(self) -> str:
        return f"Options({self._values!r})"


NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class ApplicationWork:
    """Core time that the application itself needs per frame, at the sender and at the receiver.

    Parameters
    ----------
    send_s, recv_s : float
        Time per frame before its write begins (sender) and after its read has ended (receiver) [s].
    send_s_per_byte, recv_s_per_byte : float
        Further time per byte of payload [s/B].

    Raises
    ------
    ScenarioError
        If a value is not a finite number, or is below 0.

    Examples
    --------
    >>> work = ApplicationWork(send_s=2e-6, send_s_per_byte=3e-9)
    >>> round(work.sending_s(payload_bytes=1000) * 1e6, 3)
    5.0
    """

    send_s: float = 0.0
    recv_s: float = 0.0
    send_s_per_byte: float = 0.0
    recv_s_per_byte: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.to_dict().items():
            VALID_RANGES[name].check(name, value)

    def __bool__(self) -> bool:
        """Whether the application adds work to that of the benchmark.

        It does if ``send_s``, ``recv_s``, ``send_s_per_byte`` or ``recv_s_per_byte`` is above 0.
        """
        return self != NO_WORK

    def sending_s(self, payload_bytes: float) -> float:
        """Time that the application adds at the sender for a frame of the given payload [s]."""
        return self.send_s + self.send_s_per_byte * payload_bytes

    def receiving_s(self, payload_bytes: float) -> float:
        """Time that the application adds at the receiver for a frame of the given payload [s]."""
        return self.recv_s + self.recv_s_per_byte * payload_bytes

    def to_dict(self) -> dict[str, float]:
        """Convert the work to a dict whose keys are parameters of a question, e.g. ``app_send_s``."""
        return {WORK_PREFIX + field.name: getattr(self, field.name) for field in fields(self)}


NO_WORK = ApplicationWork()
"""`ApplicationWork` of an application that needs no more time than the programs of the benchmark."""


def slowest(works: Iterable[ApplicationWork]) -> ApplicationWork:
    """Combine the application work of several devices: the greatest value of each field; 0 without devices."""
    every = list(works) or [NO_WORK]
    return ApplicationWork(
        **{field.name: max(getattr(one, field.name) for one in every) for field in fields(NO_WORK)}
    )


class Where(NamedTuple):
    """Conditions for which a fitted curve holds: payload range, load state and options.

    Parameters
    ----------
    extend : bool
        Whether the curve continues beyond the payloads of its rows.
    overloaded : bool
        Whether the curve describes streams with a requested rate above the capacity.
    options : mapping, optional
        Requested options, if they differ from the options of the curve's rows.
    """

    extend: bool = False
    overloaded: bool = False
    options: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Hosts:
    """Properties of hosts and link that differ from the dataset's hosts and link.

    ``line_rate_bps`` is the rate of the link [b/s]; ``None`` means the dataset's line rate.  ``cpu_clock_ratio`` is
    the clock of the processors relative to the clock of the dataset's hosts.
    """

    line_rate_bps: float | None = None
    cpu_clock_ratio: float = 1.0

    def texts(self, own_bps: float | None) -> tuple[str, ...]:
        """Reasons why answers are extrapolated: a text for each property in which these hosts differ from the dataset's.

        ``own_bps`` is the line rate of the dataset [b/s], not of these hosts.
        """
        reasons = []
        if self.line_rate_bps is not None and own_bps is not None:
            requested, own = units.format_bps(self.line_rate_bps, 3), units.format_bps(own_bps, 3)
            reasons.append(f"extrapolated on line rate: {requested}, measured at {own}")
        if self.cpu_clock_ratio != 1.0:
            reasons.append(
                f"extrapolated on CPU clock: {self.cpu_clock_ratio:g} times the clock of the dataset's hosts"
            )
        return tuple(reasons)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One question to the model: a stream into a network interface, and the other streams into that interface.

    Parameters
    ----------
    protocol : str
        Protocol as the dataset names it, e.g. ``tcp``.
    payload_bytes : int
        Useful bytes per frame [B], at least 1.
    rate_fps : float or None
        Requested rate [frames/s]; ``None`` is unlimited.
    cores : int or None
        Parallel processes, one per core; ``None`` is the greatest count that the dataset measured.
    switches : int
        Switches on the path.
    endpoints : int
        Endpoints that send to the receiving interface, this stream included.
    other_goodput_bps : float
        Sum of the goodputs that the other endpoints request [b/s].
    distance_m : float or None
        Cable length [m]; ``None`` is the length in the dataset.
    options : Options
        Values on the dataset's own axes; a mapping or pairs are converted to `Options`.
    line_rate_bps : float or None
        Rate of the link [b/s]; ``None`` is the dataset's line rate.
    cpu_clock_ratio : float
        Clock of the hosts' processors relative to the clock of the dataset's hosts.
    work : ApplicationWork
        Time that the application adds to each frame.

    Raises
    ------
    ScenarioError
        If a value is invalid for every dataset.

    Examples
    --------
    >>> question = Scenario("tcp", payload_bytes=1448, rate_fps=1000)
    >>> question.requested_goodput_bps
    11584000.0
    """

    protocol: str
    payload_bytes: int
    rate_fps: float | None = None
    cores: int | None = None
    switches: int = 0
    endpoints: int = 1
    other_goodput_bps: float = 0.0
    distance_m: float | None = None
    options: Options = NO_OPTIONS
    line_rate_bps: float | None = None
    cpu_clock_ratio: float = 1.0
    work: ApplicationWork = NO_WORK

    def __post_init__(self) -> None:
        if self.options is not NO_OPTIONS:
            object.__setattr__(self, "options", Options(self.options))
        for name, valid in BY_ITSELF.items():
            value = getattr(self, name)
            if value is not None:
                valid.check(name, value)
        rate, valid = self.rate_fps, VALID_RANGES["rate_fps"]
        if rate is not None and not valid.allows(rate * self.payload_bytes * 8):
            raise ScenarioError(valid.refusal("rate_fps", rate))
        if self.other_goodput_bps > 0 and self.endpoints == 1:
            raise ScenarioError(OTHERS_WITHOUT_ENDPOINTS)

    @property
    def hosts(self) -> Hosts:
        """Requested line rate, and requested CPU clock relative to the dataset's hosts, as `Hosts`."""
        return Hosts(self.line_rate_bps, self.cpu_clock_ratio)

    @property
    def requested_goodput_bps(self) -> float:
        """Requested goodput [b/s], infinite for an unlimited rate; computed by `requested_goodput`."""
        if self.rate_fps is None:
            return math.inf
        return float(requested_goodput(float(self.rate_fps), self.payload_bytes))

    def to_dict(self) -> dict[str, object]:
        """Convert the scenario to a dict for JSON."""
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


# --- keywords -------------------------------------------------------------------------------------


class ScenarioKeywords(TypedDict, total=False):
    """Keywords of one question for type checkers: numbers in SI, or texts with a unit.

    Options are given as ``options={"nagle": "on"}``.  The keyword ``nagle="on"`` works too, but type
    checkers cannot know its name.
    """

    protocol: str | None
    payload_bytes: float | None
    payload: str | None
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


class ScenarioArrays(TypedDict, total=False):
    """Keywords of many questions for type checkers: as `ScenarioKeywords`, with arrays or ranges as values."""

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
"""Name of a parameter that takes a text with a unit -> its name for numbers in SI, and the parser of the text."""
SI_NAMES = frozenset({"protocol", *VALID_RANGES})
"""Names of all parameters of a question except the options; a quantity has its SI unit as suffix."""
PARAMETERS = (*sorted({*SI_NAMES, *TEXT_SPELLINGS}), "options")
"""Names of all parameters of a question; any other keyword is an option axis of a dataset."""
MISSPELT = 0.8
"""Least similarity (0 to 1) with which an unknown keyword counts as a misspelt parameter, not as an option."""


def scenario(**keywords: object) -> Scenario:
    """Make a Scenario from keywords: numbers in SI, or texts with a unit.

    A name with a unit suffix takes a number in SI (``payload_bytes=65535``).  A name without a unit suffix takes a text
    with a unit (``payload="65535 B"``).  ``requested_goodput`` replaces ``rate``.  Any other name is an option axis of
    the dataset (``nagle="off"``).  The keys of ``options={...}`` are option axes too.

    Raises
    ------
    UnitError, ScenarioError
        If a text has no unit, a parameter is missing, misspelt or given twice, or a value is invalid.

    Examples
    --------
    >>> scenario(protocol="tcp", payload="1448 B", rate="1000/s") == Scenario("tcp", 1448, 1000.0)
    True
    """
    for name in keywords:
        meant = "" if name in PARAMETERS else nearest(name, PARAMETERS, MISSPELT)
        if meant:
            raise ScenarioError(
                f"there is no parameter {name!r}: did you mean {meant}? An option axis of that name goes into "
                f"options={{{name!r}: ...}}"
            )
    return from_keywords(keywords)


def from_keywords(keywords: Mapping[str, object]) -> Scenario:
    """Make a Scenario from keywords whose names are already checked; see `scenario`."""
    values, options = si_values(keywords)
    check_complete(values)
    given = {
        TEXT_SPELLINGS.get(name, (name,))[0]: (name, value)
        for name, value in keywords.items()
        if value is not None
    }
    numbers: dict[str, float] = {}
    for name, valid in VALID_RANGES.items():
        if name in values:
            number = _number(name, values[name])
            if not valid.allows(number):
                raise ScenarioError(valid.refusal(*given.get(name, (name, number))))
            numbers[name] = int(number) if valid.whole else number
    if "requested_goodput_bps" in numbers:
        goodput_bps = numbers.pop("requested_goodput_bps")
        numbers["rate_fps"] = goodput_bps / (numbers["payload_bytes"] * 8)
    work = take_work(numbers)
    named: dict[str, Any] = {**numbers, "protocol": str(values["protocol"]), "work": work}
    texts = {axis: str(value) for axis, value in options.items()}
    return Scenario(**named, options=Options(texts))


def si_values(keywords: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Split keywords into parameters and options, and convert texts with units to numbers in SI.

    The names of the returned parameters have the SI unit as suffix.  Keywords of value ``None`` are dropped.

    Raises
    ------
    UnitError, ScenarioError
        If a text has no unit, or a parameter or option is given twice.
    """
    values: dict[str, object] = {}
    options: dict[str, object] = {}
    for name, value in with_options(keywords).items():
        if value is None:
            continue
        si_name, number = name, value
        if name in TEXT_SPELLINGS:
            si_name, parse = TEXT_SPELLINGS[name]
            if not isinstance(value, str):
                shown = shortened(value)
                raise ScenarioError(
                    f"{name}={shown} has no unit: write a text with its unit, or {si_name}={shown} for a "
                    "number in SI"
                )
            number = parse(value)
        if si_name in values:
            raise ScenarioError(f"{si_name} is given twice: keep one of its two spellings")
        (values if si_name in SI_NAMES else options)[si_name] = number
    return values, options


def check_complete(values: Mapping[str, object]) -> None:
    """Raise ScenarioError if protocol or payload is missing, or both frame rate and requested goodput are given."""
    for name, example in (("protocol", '"tcp"'), ("payload_bytes", '"1448 B"')):
        if name not in values:
            plain = name.removesuffix("_bytes")
            raise ScenarioError(f"the question has no {plain}: give one, e.g. {plain}={example}")
    if all(name in values for name in REQUESTS):
        raise ScenarioError("rate and requested goodput are both given: keep one of them")


def with_options(keywords: Mapping[str, object]) -> dict[str, object]:
    """Move the entries of the keyword ``options`` to keywords of their own.

    Raises
    ------
    ScenarioError
        If an option is given both as a keyword and in ``options``, or ``options`` is not a mapping.
    """
    named = {name: value for name, value in keywords.items() if name != "options"}
    options = keywords.get("options") or {}
    if not isinstance(options, Mapping):
        raise ScenarioError(
            f'options {options!r} is not a mapping of axes to values: write options={{"nagle": "on"}}'
        )
    for axis, value in options.items():
        if named.get(str(axis)) is not None:
            raise ScenarioError(f"the option {axis} is given twice: keep one")
        named[str(axis)] = value
    return named


def work_in_words(keywords: Mapping[str, object]) -> ApplicationWork:
    """Make an `ApplicationWork` from keywords: numbers in SI, or texts with a unit, e.g. ``app_send="2 us"``.

    Raises
    ------
    UnitError, ScenarioError
        If a text has no unit, or a time is given twice or invalid.
    """
    values, _ = si_values(keywords)
    return take_work({name: _number(name, value) for name, value in values.items()})


def take_work(numbers: dict[str, float]) -> ApplicationWork:
    """Remove the parameters of the application's work from a dict, and return them as ApplicationWork."""
    work = {name.removeprefix(WORK_PREFIX): numbers.pop(name) for name in WORK if name in numbers}
    return ApplicationWork(**work) if work else NO_WORK


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except OverflowError:  # an integer beyond all floats, which its range refuses
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise ScenarioError(f"{name} {value!r} is not a number: give a number in SI") from None
