"""Units: read texts with units into SI numbers, and format SI numbers as texts with units.

A quantity is a number and one unit of its kind: ``9.4 Gb/s``, ``64 KiB``, ``50 us``.  The prefixes k, M, G, T are
powers of 1000, and Ki, Mi, Gi are powers of 1024.  The units b, bit and bps count bits; B counts bytes.  Decimals are
read exactly.  Nothing is guessed: a bare number, ``KB``, ``9.4 Gb`` as a rate, nan, inf, a sign or a comma raise
`UnitError`.

>>> parse_bps("9.4 Gb/s"), parse_bytes("64 KiB"), parse_seconds("50 us")
(9400000000.0, 65536, 5e-05)
>>> format_bps(9.4e9), format_bytes(65536), format_seconds(5e-05)
('9.4 Gb/s', '65536 B', '50 µs')
>>> parse_bytes("64 KB")
Traceback (most recent call last):
    ...
icmodel.errors.UnitError: the size '64 KB' has the unclear prefix K, and kB (1000) or KiB (1024) is meant: write a number \
and one unit of B (bytes) with k, M, G, T (powers of 1000) or Ki, Mi, Gi (powers of 1024), such as 65535 B or 64 KiB
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from icmodel.errors import UnitError

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_LARGEST_COUNT = 2**63 - 1
_QUANTITY = re.compile(r"((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(.*)", re.S)
_PREFIXES = "with k, M, G, T (powers of 1000) or Ki, Mi, Gi (powers of 1024)"


def _prefixed(units: Mapping[str, int], prefixes: Mapping[str, int]) -> dict[str, Fraction]:
    """Return every combination of a prefix and a unit, such as ``kB``, with its factor to the base unit."""
    return {p + u: Fraction(f * g) for p, f in prefixes.items() for u, g in units.items()}


class _Kind(NamedTuple):
    """Kind of quantity, such as a bit rate: its units with their factors, and words for error messages."""

    noun: str
    factors: Mapping[str, Fraction]
    allowed: str
    example: str


_BYTES = _Kind(
    "size", _prefixed({"B": 1}, _DECIMAL | _BINARY), f"B (bytes) {_PREFIXES}", "65535 B or 64 KiB"
)
_BITS = _Kind(
    "amount of data",
    _prefixed({"b": 1, "bit": 1, "B": 8}, _DECIMAL | _BINARY),
    f"b or bit (bits) or B (bytes) {_PREFIXES}",
    "64 kb or 8 kB",
)
_BPS = _Kind(
    "bit rate",
    _prefixed({"b/s": 1, "bit/s": 1, "bps": 1, "B/s": 8}, _DECIMAL | _BINARY),
    f"b/s, bit/s or bps (bits) or B/s (bytes) {_PREFIXES}",
    "9.4 Gb/s or 100 MB/s",
)
_FPS = _Kind(
    "frame rate",
    _prefixed({"/s": 1, "f/s": 1, "fps": 1}, _DECIMAL),
    "/s, f/s or fps with k, M, G, T (powers of 1000)",
    "6700/s or 1.5 Mfps",
)
_HERTZ = _Kind(
    "frequency",
    _prefixed({"Hz": 1}, _DECIMAL),
    "Hz with k, M, G, T (powers of 1000)",
    "30 Hz or 20 kHz",
)
_SECONDS = _Kind(
    "time",
    {
        "s": Fraction(1),
        "ms": Fraction(1, 10**3),
        **dict.fromkeys(("us", "µs", "μs"), Fraction(1, 10**6)),  # micro sign and Greek mu
        "ns": Fraction(1, 10**9),
        "min": Fraction(60),
        "h": Fraction(3600),
    },
    "ns, us or µs, ms, s, min, h",
    "50 us",
)
_SECONDS_PER_BYTE = _Kind(
    "time a byte",
    {unit + per: factor for unit, factor in _SECONDS.factors.items() for per in ("", "/B")},
    "ns, us or µs, ms, s, with /B or without",
    "0.3 ns/B",
)
_METRES = _Kind(
    "length",
    {"m": Fraction(1), "km": Fraction(1000), "cm": Fraction(1, 100), "mm": Fraction(1, 1000)},
    "mm, cm, m, km",
    "50 m",
)
_RATIO = _Kind("share", {"%": Fraction(1, 100)}, "% from 0 to 100", "0.1 %")


def _refusal(kind: _Kind, text: object, problem: str) -> UnitError:
    """Make the error for a text that is not a quantity of this kind; it names the problem and the allowed units."""
    return UnitError(
        f"the {kind.noun} {text!r} {problem}: write a number and one unit of "
        f"{kind.allowed}, such as {kind.example}"
    )


def _exact(kind: _Kind, text: str) -> Fraction:
    """Read a quantity from a text, as an exact number of the base unit of its kind."""
    if not isinstance(text, str):
        raise _refusal(kind, text, "has no unit")
    stripped = text.strip()
    match = _QUANTITY.fullmatch(stripped)
    if match is None:
        problem = "does not start with a plain number"
        if stripped.startswith(("-", "−")):
            problem = "is negative"
        elif stripped.lower().lstrip("+").startswith(("inf", "nan")):
            problem = "is not a finite number"
        raise _refusal(kind, text, problem)
    number, unit = match.groups()
    if unit not in kind.factors:
        raise _refusal(kind, text, _unit_problem(kind, unit))
    return Fraction(Decimal(number)) * kind.factors[unit]


def _unit_problem(kind: _Kind, unit: str) -> str:
    """Return the reason why the text behind a number is not a unit of this kind."""
    if not unit:
        return "has no unit"
    if unit.startswith(","):
        return "has a comma, and numbers take a decimal point and no thousands separator"
    if unit[0] in "0123456789_'.":
        return "has a broken number, and numbers take one decimal point and no separator"
    decimal, binary = "k" + unit[1:], "Ki" + unit[1:]
    if unit.startswith("K") and decimal in kind.factors:
        choice = f"{decimal} (1000) or {binary} (1024)" if binary in kind.factors else decimal
        return f"has the unclear prefix K, and {choice} is meant"
    if unit + "/s" in kind.factors:
        return "is an amount where a rate is needed ('/s' is missing)"
    if unit.endswith(("/s", "ps")):
        return f"has the unknown unit {unit!r} (misspelt, or a rate where none belongs)"
    return f"has the unknown unit {unit!r}"


def _parse_float(kind: _Kind, text: str) -> float:
    try:
        return float(_exact(kind, text))
    except OverflowError:
        raise _refusal(kind, text, "is too large") from None


def parse_bytes(text: str) -> int:
    """Read a size such as ``64 KiB`` or ``1.5 kB`` as a whole number of bytes."""
    exact = _exact(_BYTES, text)
    if exact.denominator != 1:
        whole = " or ".join(f"{one} B" for one in (math.floor(exact), math.ceil(exact)) if one)
        raise UnitError(
            f"the size {text!r} is not a whole number of bytes, but {float(exact):.12g} B: write {whole}"
        )
    if exact > _LARGEST_COUNT:
        raise _refusal(_BYTES, text, f"is too large (at most {_LARGEST_COUNT} B)")
    return exact.numerator


def parse_bits(text: str) -> float:
    """Read an amount of data such as ``64 kb`` or ``8 kB`` in bits."""
    return _parse_float(_BITS, text)


def parse_bps(text: str) -> float:
    """Read a bit rate such as ``9.4 Gb/s`` or ``100 MB/s`` in bits per second."""
    return _parse_float(_BPS, text)


def parse_rate(text: str) -> float:
    """Read a frame rate such as ``6700/s`` or ``1.5 Mfps`` in frames per second."""
    return _parse_float(_FPS, text)


def parse_seconds(text: str) -> float:
    """Read a time such as ``50 us`` or ``17 ms`` in seconds."""
    return _parse_float(_SECONDS, text)


def parse_seconds_per_byte(text: str) -> float:
    """Read a time per byte such as ``0.3 ns/B``, or ``0.3 ns``, in seconds per byte."""
    return _parse_float(_SECONDS_PER_BYTE, text)


def parse_metres(text: str) -> float:
    """Read a length such as ``50 m`` in metres."""
    return _parse_float(_METRES, text)


def parse_hertz(text: str) -> float:
    """Read a frequency such as ``20 kHz`` in hertz."""
    return _parse_float(_HERTZ, text)


def parse_ratio(text: str) -> float:
    """Read a share such as ``0.1 %`` as a ratio from 0 to 1."""
    exact = _exact(_RATIO, text)
    if exact > 1:
        raise _refusal(_RATIO, text, "is more than 100 %")
    return float(exact)


def parse_factor(text: str) -> float:
    """Read a ratio above 0 such as ``1.5`` or ``150 %``."""
    plain = text.strip()
    try:
        factor = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise UnitError(f'{text!r} is not a ratio above 0: give e.g. "1.5" or "150 %"')
    return factor


QUANTITIES: Mapping[str, Callable[[str], float]] = MappingProxyType(
    {
        "bytes": parse_bytes,
        "bits": parse_bits,
        "bps": parse_bps,
        "fps": parse_rate,
        "s": parse_seconds,
        "m": parse_metres,
        "hz": parse_hertz,
        "ratio": parse_ratio,
    }
)
"""Parsers of quantities, by the unit suffix of a field's name."""


def parse(kind: str, text: str) -> float:
    """Read a quantity from a text, and convert it to SI.

    ``kind`` is a unit suffix of field names, such as ``bps`` or ``s``; the keys of `QUANTITIES` are all kinds.

    >>> parse("bps", "9.4 Gb/s")
    9400000000.0
    """
    if kind not in QUANTITIES:
        raise UnitError(f"{kind!r} is not a kind of quantity: use one of {', '.join(QUANTITIES)}")
    return QUANTITIES[kind](text)


def parse_span(kind: str, text: str) -> tuple[float, float]:
    """Read a quantity as its least and greatest value, which are equal for a single value.

    >>> parse_span("s", "20 us .. 50 us")
    (2e-05, 5e-05)
    """
    least, dots, most = (part.strip() for part in text.partition(".."))
    if not dots:
        return (parse(kind, text),) * 2
    span = parse(kind, least), parse(kind, most)
    if span[0] > span[1]:
        raise UnitError(f"{text!r} is a descending range: write the lesser value first")
    return span


_SI_STEPS = ((12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""))
_LARGE_STEPS = ((9, "G"), (6, "M"), (0, ""))
_TIME_STEPS = ((0, ""), (-3, "m"), (-6, "µ"), (-9, "n"))
_LENGTH_STEPS = ((3, "k"), (0, ""))
_NO_STEPS = ((0, ""),)


_LEAST_EXPONENT = -4
"""Least decimal exponent of a number that is printed with leading zeros.

Smaller numbers are printed with an exponent.
"""


def _scaled(
    value: float,
    unit: str,
    digits: int,
    steps: tuple[tuple[int, str], ...] = _NO_STEPS,
    infinite: str = "∞",
) -> str:
    """Format a value in a unit with the largest prefix (``k``, ``M`` ...) with which the number is at least 1.

    The value is rounded to significant digits and has no trailing zeros.
    """
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return infinite if value > 0 else f"-{infinite}"
    if value == 0:
        return f"0{unit}"
    fitting = (step for step in steps if abs(value) >= float(f"1e{step[0]}"))
    exponent, prefix = next(fitting, steps[-1])
    unit = f" {prefix}{unit.lstrip()}" if prefix else unit
    rounded = Decimal(f"{value:.{digits - 1}e}").scaleb(-exponent)
    if rounded.adjusted() < _LEAST_EXPONENT:
        return f"{rounded.normalize():e}{unit}"
    text = f"{rounded:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + unit


def format_bps(value: float, digits: int = 7) -> str:
    """Format a bit rate: ``2.718282 Gb/s``; infinity is ``unlimited``, NaN is ``–``."""
    return _scaled(value, " b/s", digits, _SI_STEPS, infinite="unlimited")


def format_rate(value: float, digits: int = 7) -> str:
    """Format a frame rate: ``6700/s``, ``14.88095 M/s``; infinity is ``unlimited``, NaN is ``–``."""
    return _scaled(value, "/s", digits, _LARGE_STEPS, infinite="unlimited")


def format_bits(value: float, digits: int = 7) -> str:
    """Format an amount of data: ``64 kb``."""
    return _scaled(value, " b", digits, _SI_STEPS)


def format_bytes(value: float, digits: int = 7) -> str:
    """Format a size: ``65535 B``; whole numbers are printed in full."""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value)} B"
    return _scaled(value, " B", digits)


def format_seconds(value: float, digits: int = 7) -> str:
    """Format a time: ``27.18282 µs``."""
    return _scaled(value, " s", digits, _TIME_STEPS)


def format_metres(value: float, digits: int = 7) -> str:
    """Format a length: ``50 m``."""
    return _scaled(value, " m", digits, _LENGTH_STEPS)


def format_hertz(value: float, digits: int = 7) -> str:
    """Format a frequency: ``20 kHz``."""
    return _scaled(value, " Hz", digits, _SI_STEPS)


def format_ratio(value: float, digits: int = 7) -> str:
    """Format a ratio: ``2.72 %``."""
    return _scaled(value, " %", digits, ((-2, ""),))


def format_count(value: float, digits: int = 7) -> str:
    """Format a number without a unit: ``4``, ``0.2824``."""
    return _scaled(value, "", digits)


def format_cores(value: float, digits: int = 7) -> str:
    """Format a number of cores: ``0.2824 cores``."""
    return _scaled(value, " core" if value == 1 else " cores", digits)


def format_delay_per_metre(value: float, digits: int = 7) -> str:
    """Format a delay per length: ``4.27 ns/m``."""
    return _scaled(value, " s/m", digits, _TIME_STEPS)


def format_seconds_per_byte(value: float, digits: int = 7) -> str:
    """Format a time per byte: ``0.3 ns/B``."""
    return _scaled(value, " s/B", digits, _TIME_STEPS)


_COUNTS = frozenset({"cores", "switches", "endpoints", "packets", "lanes", "n"})
_BY_ENDING: tuple[tuple[str, Callable[[float, int], str]], ...] = (
    ("_bytes", format_bytes),
    ("_bits", format_bits),
    ("_bps", format_bps),
    ("_fps", format_rate),
    ("_s_per_m", format_delay_per_metre),
    ("_s_per_byte", format_seconds_per_byte),
    ("_per_s", format_rate),
    ("_s", format_seconds),
    ("_m", format_metres),
    ("_hz", format_hertz),
    ("_cores", format_cores),
    ("_ratio", format_ratio),
    ("loss_rate", format_ratio),
)


def format_quantity(name: str, value: float, digits: int = 7) -> str:
    """Format the SI value of a field in the unit that follows from the field's name.

    The unit follows from a suffix such as ``_bps`` or ``_s``. Loss rates and CPU loads are ratios, shown in %, and some
    names, such as ``cores``, are counts.

    Raises
    ------
    UnitError
        If no unit follows from the name.

    >>> format_quantity("latency_mean_s", 1.13e-4), format_quantity("cpu_recv", 0.158)
    ('113 µs', '15.8 %')
    """
    if name in _COUNTS:
        return format_count(value, digits)
    for ending, form in _BY_ENDING:
        if name.endswith(ending):
            return form(value, digits)
    if name.startswith("cpu_"):  # cpu_send, cpu_recv and their modes: ratios
        return format_ratio(value, digits)
    raise UnitError(
        f"the field name {name!r} has no unit suffix: end it in a suffix such as _bps or _s"
    )


_UNITS = {
    "_s_per_byte": "s/byte",
    "_bytes": "B",
    "_bps": "bit/s",
    "_fps": "1/s",
    "_per_s": "1/s",
    "_s": "s",
    "_m": "m",
}


def unit_of(name: str) -> str:
    """Return the unit that the suffix of a field's name gives, in netCDF's spelling; ``1`` without suffix.

    >>> unit_of("goodput_bps_low"), unit_of("loss_rate")
    ('bit/s', '1')
    """
    plain = name.removesuffix("_low").removesuffix("_high")
    return next((unit for ending, unit in _UNITS.items() if plain.endswith(ending)), "1")
