"""Labels of ingested results: the conditions of a result, stated by the tool's file or by the user.

A label from the user that contradicts the file is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from icmodel import units
from icmodel.dataset import AXES
from icmodel.documents import toml_file
from icmodel.errors import RecordError, ScenarioError, UnitError
from icmodel.ranges import parse_whole

UNLIMITED = "unlimited"
_RUN = re.compile(r"#[0-9]+$")
"""Ending of a file pattern, such as ``#2``, that selects one run of a file."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of a result: the conditions under which it was measured, in SI units; ``None`` if unknown.

    Conditions are the axes of a dataset (protocol, payload, load, cores, switches, endpoints, goodput of other streams)
    and its option axes.

    Parameters
    ----------
    host_cores : int, optional
        Number of cores of each host, used to convert CPU of the whole host to busy cores. It is not an axis.
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
        """Values of these labels on the axes of a dataset, in the order of `AXES`, such as protocol and load."""
        return tuple(getattr(self, name) for name in AXES)

    @property
    def place(self) -> tuple[object, ...]:
        """Key of the point that a result measures: the values of its axes and options."""
        return (*self.axes, tuple(sorted(self.options.items())))


def _count(text: str) -> int:
    return parse_whole(text, 1)


def _protocol(text: str) -> str:
    if not text or text != text.lower() or "," in text or text.split() != [text]:
        raise UnitError(f"the protocol {text!r} is not a name: write it in lower case, such as tcp")
    return text


SPELLINGS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "protocol": ("protocol", _protocol),
    "payload": ("payload_bytes", units.parse_bytes),
    "load": ("load_bps", lambda text: math.inf if text == UNLIMITED else units.parse_bps(text)),
    "cores": ("cores", _count),
    "switches": ("switches", parse_whole),
    "endpoints": ("endpoints", _count),
    "other_goodput": ("other_goodput_bps", units.parse_bps),
    "host_cores": ("host_cores", _count),
}
"""Keys of labels as the user writes them, each with its field in `Labels` and the parser of its text."""


def read_labels(entries: Mapping[str, object], where: str) -> Labels:
    """Read labels from keys and texts with units, such as ``payload = "64 KiB"``.

    Parameters
    ----------
    entries
        Names of labels (the keys of `SPELLINGS`, such as ``payload``) with their texts, and ``options`` with a text for
        each option axis.
    where
        The name of the document, for messages.

    Raises
    ------
    RecordError
        If a key is unknown, or the text of a key cannot be read.

    Examples
    --------
    >>> labels = read_labels({"payload": "64 KiB", "load": "1 Gb/s"}, "labels.toml")
    >>> labels.payload_bytes, labels.load_bps
    (65536, 1000000000.0)
    """
    values: dict[str, object] = {}
    options: dict[str, str] = {}
    for key, value in entries.items():
        if key == "options" and isinstance(value, Mapping):
            options = {str(axis): str(text) for axis, text in value.items()}
            continue
        if key not in SPELLINGS:
            known = ", ".join((*SPELLINGS, "options"))
            raise RecordError(f"{where}: the label {key!r} is unknown: use one of {known}")
        name, read = SPELLINGS[key]
        try:
            values[name] = read(str(value))
        except (UnitError, ScenarioError) as error:
            raise RecordError(f"{where}: {key}: {error}") from error
    return Labels(**values, options=options)  # type: ignore[arg-type]


def read_labels_file(path: Path) -> dict[str, Labels]:
    """Read labels by file name or pattern from a TOML file, with one table for each name.

    Raises
    ------
    RecordError
        If the file cannot be read or a label is wrong.
    """
    document = toml_file(path, RecordError)
    for name, table in document.items():
        if not isinstance(table, dict):
            raise RecordError(
                f"{path}: {name!r} is not a table: write a table for each file, such as "
                '["run-1.txt"] and under it payload = "64 B"'
            )
    return {name: read_labels(table, f"{path} [{name}]") for name, table in document.items()}


def labels_of(name: str, by_name: Mapping[str, Labels]) -> Labels:
    """Combine the labels of all patterns that a file name matches.

    Raises
    ------
    RecordError
        If two patterns contradict each other.
    """
    combined = Labels()
    for pattern, labels in by_name.items():
        if _matches(name, pattern):
            combined = merge(combined, labels, "another pattern that matches the file")
    return combined


def refuse_unmatched(by_name: Mapping[str, Labels], names: Iterable[str]) -> None:
    """Raise RecordError if a pattern of labels, probably misspelt, matches no file.

    Raises
    ------
    RecordError
        If a pattern matches no file name.
    """
    files = sorted(set(names))
    unmatched = [p for p in by_name if not any(_matches(n, _RUN.sub("", p)) for n in files)]
    if unmatched:
        which = ", ".join(map(repr, unmatched))
        raise RecordError(
            f"labels are given for {which}, which match no file (the first file is {files[0]!r}): "
            "correct the name or pattern, or leave it out"
        )


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def merge(first: Labels, second: Labels, who: str) -> Labels:
    """Combine two sets of labels of one result.

    ``who`` says where the labels ``second`` come from, such as "the label of the file"; the error message quotes it.

    Raises
    ------
    RecordError
        If the labels contradict each other.
    """
    filled: dict[str, object] = {}
    for part in fields(Labels):
        if part.name == "options":
            continue
        one, other = getattr(first, part.name), getattr(second, part.name)
        if one is not None and other is not None and one != other:
            raise RecordError(
                f"the result says {part.name} {_text(one)}, {who} says {_text(other)}: one of them "
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
    """Copy the labels ``first``, and fill in unknown labels from ``second``."""
    names = [part.name for part in fields(Labels) if part.name != "options"]
    filled = {name: getattr(second, name) for name in names if getattr(first, name) is None}
    return replace(first, **filled, options={**second.options, **first.options})


def _text(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
