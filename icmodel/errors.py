"""Errors of icmodel. A message states the mistake, the value and the fix. One error lists all mistakes of a file."""

from __future__ import annotations

import errno
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Mistake(NamedTuple):
    """One mistake of a file: a sentence that names the wrong key or table, and the line in the file if it is known."""

    message: str
    line: int | None = None


class IcmodelError(Exception):
    """Base class of all errors that a user can cause; the command line then exits with code 2.

    Attributes
    ----------
    mistakes : tuple of Mistake
        Mistakes of the file that is refused; empty for other errors.

    Examples
    --------
    >>> import icmodel
    >>> try:
    ...     icmodel.load("no-such-dataset")
    ... except icmodel.IcmodelError as error:
    ...     print(type(error).__name__)
    DatasetError
    """

    mistakes: tuple[Mistake, ...] = ()


class UnitError(IcmodelError):
    """Error for a quantity without a unit, with a wrong unit, or with an impossible value."""


class DatasetError(IcmodelError):
    """Error for a dataset that is missing, damaged, or breaks its format."""


class ScenarioError(IcmodelError):
    """Error for an impossible scenario, which no dataset could predict, such as a payload of 0 B."""


class OutOfDomain(IcmodelError):  # noqa: N818  (the name is part of the public API)
    """Error for a valid scenario that the given dataset cannot predict."""


class UseCaseError(IcmodelError):
    """Error for a use case that is missing or breaks its format."""


class NetworkError(IcmodelError):
    """Error for a system that is missing, breaks its format or contradicts itself."""


class RecordError(IcmodelError):
    """Error for an unreadable result file of a measuring tool."""


class ProbeMissing(IcmodelError):  # noqa: N818  (clearer without the suffix Error)
    """Error if the measuring tool icprobe is not installed or does not run."""


class ReportError(IcmodelError):
    """Error for a report, plot or other file that cannot be written."""


class ClusterError(IcmodelError):
    """Error for a worker or cluster that cannot be reached, or that has another version or dataset."""


class MeasuringError(IcmodelError):
    """Error for a measurement with icprobe that cannot begin, continue or end."""


class CalibrationError(MeasuringError):
    """Error for a calibration that cannot begin, continue or end."""


class VerificationError(MeasuringError):
    """Error for a system that cannot be built in the lab, or a verification that cannot continue."""


class MeasurementFailed(MeasuringError):  # noqa: N818  (clearer without the suffix Error)
    """Error for a measuring run that failed because of the peer or the network; a repeat may succeed."""


class BoundsError(IcmodelError):
    """Error for a network of servers and flows whose worst-case bound cannot be computed."""


_FULL = tuple(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)
)
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_BROKEN = (errno.EIO, errno.ENXIO)


def is_disk_error(error: BaseException) -> bool:
    """Whether an error is caused by a disk or folder, rather than by a defect of icmodel."""
    known = (*_FULL, *_CLOSED, *_BROKEN, errno.ENAMETOOLONG)
    return isinstance(error, OSError) and error.errno in known


def unwritable(what: object, error: OSError) -> str:
    """Write the error message for a file that cannot be written: its name, the reason and advice."""
    code = error.errno
    # Libraries put whole paragraphs into `strerror`; `errno` gives the short message of the system.
    reason = os.strerror(code) if code else " ".join(str(error).split())
    if code in _FULL:
        advice = "make space there, or choose another place"
    elif code in _CLOSED:
        advice = "choose a place that you may write to"
    elif code in _BROKEN:
        advice = "the disk or the link to it is at fault, so choose another place"
    else:
        advice = "choose another place"
    return f"{what} cannot be written: {reason}; {advice}"


Place = tuple[int | str | None, ...]
"""Path to a value in a TOML file, as keys and table numbers: ``("links", 2, "rate_bps")``.

A table's name may replace its number.  None stands for every table of a list.
"""
NODES = "nodes"
"""First key of a `Place` that may lead to a device or to a switch."""
AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^]\[]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_LONG_TEXT = re.compile(r"\"{3}|'{3}")


class Fault(NamedTuple):
    """Mistake in a TOML file, with the values on which it depends.

    A `Place` is the path to a value in the file, such as ``("links", 2, "rate_bps")``.

    Parameters
    ----------
    text : str
        Sentence with the mistake, the value and the fix.
    place : Place
        Path to the wrong value.
    needs : tuple of Place
        Paths to values on which the mistake depends.  If such a value is wrong, the mistake is left out.
    cause : str
        Cause of the mistake.  If several mistakes have the same cause, only the first is kept.
    also : tuple of Place
        Paths to further values that are unknown because of the mistake.
    """

    text: str
    place: Place = ()
    needs: tuple[Place, ...] = ()
    cause: str = ""
    also: tuple[Place, ...] = ()


class Refusal(ValueError):  # noqa: N818  (a mistake of a file, not of a caller)
    """Error with the mistakes that a validator found in a table; paths to wrong values are relative to this table."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(fault.text for fault in self.faults))


def refuse(faults: Iterable[Fault]) -> None:
    """Raise a Refusal with all mistakes of a table, if there are any."""
    if found := tuple(faults):
        raise Refusal(found)


@dataclass
class Mistakes:
    """Mistakes found in one file so far.

    Parameters
    ----------
    file : str
        Name of the file in messages.
    toml : str
        Text of the file; the line of each mistake is looked up in it.
    document : mapping
        Parsed text.
    """

    file: str
    toml: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict, init=False)
    """Tables that are still checked, for each list of tables: the name of the list -> their indices in the file.

    If a list has no entry, all its tables are checked.
    """
    _found: dict[str, Mistake] = field(default_factory=dict, init=False)
    _wrong: list[Place] = field(default_factory=list, init=False)
    _replaced: set[Place] = field(default_factory=set, init=False)
    _causes: set[str] = field(default_factory=set, init=False)

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, fault: Fault) -> bool:
        """Add a mistake, unless it follows from an earlier mistake; return whether it was added."""
        place, *needs = (self._numbered(one) for one in (fault.place, *fault.needs))
        known = fault.cause in self._causes or any(
            related(one, wrong) for one in (place, *needs) for wrong in self._wrong
        )
        if known or place in self._replaced:
            return False
        self._wrong.append(place)
        self.forget(*fault.also)
        if fault.cause:
            self._causes.add(fault.cause)
        text = " ".join(fault.text.split())
        self._found.setdefault(text, Mistake(text, line_of(self.toml, place)))
        return True

    def forget(self, *places: Place) -> None:
        """Mark the values at the paths ``places`` as unknown, so that later mistakes due to them are not listed.

        These are mistakes in the values themselves, and in other values that depend on them.
        """
        self._wrong += map(self._numbered, places)

    def replace(self, place: Place) -> None:
        """Mark a value as replaced by icmodel's placeholder, so that later mistakes about it are left out.

        The mark holds for the value itself, not for values inside it.
        """
        if place:
            self._replaced.add(self._numbered(place))

    @contextmanager
    def at(self, *place: int | str | None, needs: tuple[Place, ...] = ()) -> Iterator[None]:
        """Context manager: catch an error raised in its block, and list it as a mistake in the value at ``place``.

        ``needs`` has the paths to other values on which the error depends. If one of these is wrong, the
        error is not listed.
        """
        try:
            yield
        except IcmodelError as error:
            self.add(Fault(str(error), place, needs))

    def number_in_file(self, part: str, number: int) -> int:
        """Return the index in the file of a table in the list named ``part``.

        ``number`` is the table's index after damaged tables were removed from the list, so the two can differ.
        """
        return self.numbers[part][number] if part in self.numbers else number

    def left_out(self, part: str) -> bool:
        """Whether damaged tables were removed from the list of tables named ``part``.

        Removed tables are not checked further, so the names that they define are unknown.
        """
        return part in self.numbers and len(self.numbers[part]) < len(self.document.get(part, ()))

    def refuse(self, error: type[IcmodelError]) -> None:
        """Raise an error with all mistakes in the order of their lines, if there are any.

        Raises
        ------
        IcmodelError
            If there are mistakes. The exception is of the class ``error``.
        """
        if not self._found:
            return
        found = sorted(self._found.values(), key=lambda one: one.line or math.inf)
        refusal = error(mistakes_text(self.file, found))
        refusal.mistakes = tuple(found)
        raise refusal

    def _numbered(self, place: Place) -> Place:
        """Replace the name or index of a table, in the path to a value, by the table's index in the file.

        The path ``("streams", "camera", "rate")`` becomes ``("streams", 0, "rate")`` if ``camera`` is the first table
        of the list ``streams``. An index in the path may be too small, since damaged tables were removed from the list
        before the check. It is replaced by the index that also counts the removed tables.
        """
        if len(place) < 2:
            return place
        part, which, *rest = place
        if isinstance(which, int):
            return (part, self.number_in_file(str(part), which), *rest)
        for one in ("devices", "switches") if part == NODES else (str(part),):
            tables = self.document.get(one)
            for number, table in enumerate(tables if isinstance(tables, list) else ()):
                if which is not None and which in names_of(table):
                    return (one, number, *rest)
        return place


def names_of(table: object) -> tuple[object, ...]:
    """List the names by which the path to a value can refer to a table, such as ``("links", "a<->b", "rate")``.

    The first is the value of the table's key ``name``. The second is for links only: the two linked groups, such as
    ``camera<->switch``. A missing name is ``None``.
    """
    if not isinstance(table, dict):
        return ()
    ends = table.get("between")
    return (table.get("name"), "<->".join(map(str, ends)) if isinstance(ends, list) else None)


def related(one: Place, other: Place) -> bool:
    """Whether two paths lead to the same value of a file, or one leads to a part of the other's value.

    None in a path stands for every table of a list.

    >>> related(("links", None, "rate_bps"), ("links", 2)), related(("links", 1), ("links", 2))
    (True, False)
    """
    pairs = zip(one, other, strict=False)
    return bool(one and other) and all(a == b or a is None or b is None for a, b in pairs)


def mistakes_text(file: object, mistakes: Iterable[Mistake]) -> str:
    """Write the mistakes of a file as text: one mistake as a sentence, several as their count and a line each.

    >>> print(mistakes_text("own.toml", [Mistake("title is missing"), Mistake("name is 3", 2)]))
    own.toml has 2 mistakes:
    - title is missing
    - line 2: name is 3
    """
    first, *others = mistakes
    if not others:
        return f"{file}{f', line {first.line}' if first.line else ''}: {first.message}"
    each = (f"{f'line {one.line}: ' if one.line else ''}{one.message}" for one in (first, *others))
    return "\n- ".join([f"{file} has {len(others) + 1} mistakes:", *each])


def line_of(toml: str, place: Place) -> int | None:
    r"""Find the line of a value in a TOML text; for a missing value, the line of the innermost table around it.

    Examples
    --------
    >>> line_of('[[links]]\nrate = "1 Gb/s"\n[[links]]\nrate = "1 Gx"', ("links", 1, "rate_bps"))
    4
    """
    best, found = 0, None
    counts: Counter[tuple[str, ...]] = Counter()
    table: Place = ()
    within = ""
    for number, line in enumerate(toml.splitlines() if place else (), start=1):
        inside = bool(within)
        for mark in _LONG_TEXT.findall(line):
            within = "" if mark == within else within or mark
        here: Place | None = None
        if inside:
            continue
        if head := _HEADER.match(line):
            names = _names(head[2])
            counts[names] += head[1] == "[["
            here = table = _with_numbers(names, counts)
        elif key := _KEY.match(line):
            here = (*table, *_names(key[1]))
        if here and len(here) > best and _leads_to(here, place):
            best, found = len(here), number
    return found


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(one.strip('"' + "'") for one in _PART.findall(dotted))


def _with_numbers(names: tuple[str, ...], counts: Counter[tuple[str, ...]]) -> Place:
    """Return the path of the table that a TOML header begins: ``("links", 2)`` for the third header ``[[links]]``.

    ``names`` are the names in the header. ``counts`` maps the names of each header ``[[...]]`` to the number of these
    headers so far, this one included. So the index of a table in its list is the count minus 1.
    """
    place: list[int | str | None] = []
    for end, name in enumerate(names, start=1):
        place.append(name)
        if counts[names[:end]]:
            place.append(counts[names[:end]] - 1)
    return tuple(place)


def _leads_to(here: Place, place: Place) -> bool:
    """Whether the path ``place`` leads to the value at the path ``here``, or to a part of that value."""
    return len(here) <= len(place) and all(map(is_spelt, place, here))


def is_spelt(field: object, key: object) -> bool:
    """Whether a key in a file means a field: the key is the field's name, with or without the unit suffix.

    For example, the keys ``rate_bps`` and ``rate`` both mean the field ``rate_bps``.

    >>> is_spelt("rate_bps", "rate"), is_spelt("rate_bps", "length")
    (True, False)
    """
    return field == key or (isinstance(field, str) and field.rpartition("_")[0] == key)
