"""Labels: the conditions of a result, as the tool's file states them or as a person adds them.

A person's label may not contradict the file: it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from icmodel import units
from icmodel.dataset import AXES
from icmodel.documents import toml_file
from icmodel.errors import RecordError, UnitError

UNLIMITED = "unlimited"
_RUN = re.compile(r"#[0-9]+$")
"""What names one run of a file of several."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The axes of a result, in SI; ``None`` for unknown.

    Parameters
    ----------
    host_cores : int, optional
        Cores of each host, which convert CPU of the whole host to busy cores; not an axis.
    options : mapping
        Option axes and their values.
    """

    protocol: str | None = None
    payload_bytes: int | None = None
    load_bps: float | None = None
    cores: int | None = None
    switches: int | None = None
    endpoints: int | None = None
    other_goodput_bps: float | None = None
    host_cores: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def axes(self) -> tuple[Any, ...]:
        """The values of `AXES`."""
        return tuple(getattr(self, name) for name in AXES)

    @property
    def place(self) -> tuple[object, ...]:
        """The axes and options, by which points differ."""
        return (*self.axes, tuple(sorted(self.options.items())))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise UnitError(f"{text!r} is not a whole number: write digits alone, such as 2")
    return int(text)


def _rate(text: str) -> float:
    return float("inf") if text == UNLIMITED else units.parse_bps(text)


def _protocol(text: str) -> str:
    if not text or text != text.lower() or "," in text or text.split() != [text]:
        raise UnitError(f"the protocol {text!r} is no name: write it in lower case, such as tcp")
    return text


SPELLINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "protocol": ("protocol", _protocol),
    "payload": ("payload_bytes", units.parse_bytes),
    "load": ("load_bps", _rate),
    "cores": ("cores", _count),
    "switches": ("switches", _count),
    "endpoints": ("endpoints", _count),
    "other_goodput": ("other_goodput_bps", units.parse_bps),
    "host_cores": ("host_cores", _count),
}
"""Key of a label as a person writes it -> the field it sets, and the parser of its text."""


def read_labels(said: Mapping[str, object], where: str) -> Labels:
    """The labels of keys and texts with units, such as ``payload = "64 KiB"``.

    Raises
    ------
    RecordError
        If a key is unknown or its text cannot be read.
    """
    values: dict[str, object] = {}
    options: dict[str, str] = {}
    for key, value in said.items():
        if key == "options" and isinstance(value, Mapping):
            options = {str(axis): str(text) for axis, text in value.items()}
            continue
        if key not in SPELLINGS:
            known = ", ".join((*SPELLINGS, "options"))
            raise RecordError(f"{where}: the label {key!r} is unknown: it is one of {known}")
        name, read = SPELLINGS[key]
        try:
            values[name] = read(str(value))
        except UnitError as error:
            raise RecordError(f"{where}: {key}: {error}") from error
    return Labels(**values, options=options)  # type: ignore[arg-type]


def read_labels_file(path: Path) -> dict[str, Labels]:
    """Labels by file name or pattern, from a TOML file with a table for each name.

    Raises
    ------
    RecordError
        If the file cannot be read or a label is wrong.
    """
    document = toml_file(path, RecordError)
    for name, table in document.items():
        if not isinstance(table, dict):
            raise RecordError(
                f"{path}: {name!r} is no table: write one a file, such as "
                '["run-1.txt"] and under it payload = "64 B"'
            )
    return {name: read_labels(table, f"{path} [{name}]") for name, table in document.items()}


def labels_of(name: str, by_name: Mapping[str, Labels]) -> Labels:
    """The combined labels of all patterns that a file name matches.

    Raises
    ------
    RecordError
        If two patterns contradict each other.
    """
    found = Labels()
    for pattern, labels in by_name.items():
        if _matches(name, pattern):
            found = merge(found, labels, "another pattern that matches the file")
    return found


def refuse_unmatched(by_name: Mapping[str, Labels], names: Iterable[str]) -> None:
    """Refuse patterns that match no file, which are probably misspelt.

    Raises
    ------
    RecordError
        If a pattern matches no file name.
    """
    files = sorted(set(names))
    alone = [p for p in by_name if not any(_matches(n, _RUN.sub("", p)) for n in files)]
    if alone:
        which = ", ".join(map(repr, alone))
        raise RecordError(
            f"the labels of {which} are for no file: none is named so (the first is {files[0]!r}), "
            "so correct the name or pattern, or leave it out"
        )


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def merge(first: Labels, second: Labels, who: str) -> Labels:
    """Both labels combined.

    Raises
    ------
    RecordError
        If they contradict each other; ``who`` names the origin of the second in the message.
    """
    filled: dict[str, object] = {}
    for part in fields(Labels):
        if part.name == "options":
            continue
        one, other = getattr(first, part.name), getattr(second, part.name)
        if one is not None and other is not None and one != other:
            raise RecordError(
                f"the result says {part.name} {_said(one)}, {who} says {_said(other)}: one of them "
                "is wrong, so leave the label out or correct it"
            )
        filled[part.name] = other if one is None else one
    for axis, value in second.options.items():
        if first.options.get(axis, value) != value:
            raise RecordError(
                f"the result says {axis} = {first.options[axis]}, {who} says {value}: one of them "
                "is wrong, so leave the label out or correct it"
            )
    return replace(first, **filled, options={**first.options, **second.options})  # type: ignore[arg-type]


def fill(first: Labels, second: Labels) -> Labels:
    """The first labels, with unknown ones taken from the second."""
    names = [part.name for part in fields(Labels) if part.name != "options"]
    filled = {name: getattr(second, name) for name in names if getattr(first, name) is None}
    return replace(first, **filled, options={**second.options, **first.options})


def _said(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
