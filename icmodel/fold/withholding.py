"""Withholding: what a host says of itself that is nobody else's concern is not shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from icmodel.documents import json_value
from icmodel.errors import RecordError
from icmodel.fold.record import Record, record_of

WITHHELD = ("hostname", "kernel_cmdline", "mac")
"""What can be withheld: names, and how a machine was started; no number follows from them."""

SAID = "withheld"


def without(record: Record, names: Sequence[str]) -> Record:
    """A record that says ``withheld`` for some of what its hosts say; else it stays byte for byte.

    Parameters
    ----------
    record : Record
        As it was written.
    names : sequence of str
        Of `WITHHELD`.

    Raises
    ------
    RecordError
        If it says one of them in another form than icprobe writes, so that it would be shown.
    """
    before, environment, line = record.line.partition('"environment":')
    for name in names:
        line = re.sub(rf'("{name}":\s*)"(?:[^"\\]|\\.)*"', rf'\1"{SAID}"', line)
    line = before + environment + line
    shown = sorted(set(_shown(json_value(line), names))) if names else []
    if shown:
        raise RecordError(
            f"run {record.run} says {', '.join(shown)} in a form that cannot be withheld: give the "
            "file that icprobe wrote"
        )
    return record if line == record.line else record_of(line)


def _shown(document: object, names: Sequence[str], *, inside: bool = False) -> Iterator[str]:
    """The names that a part of an environment still says."""
    if isinstance(document, list):
        for part in document:
            yield from _shown(part, names, inside=inside)
    elif isinstance(document, dict):
        for key, value in document.items():
            if inside and key in names and value not in (None, "", SAID):
                yield key
            yield from _shown(value, names, inside=inside or key == "environment")


def check_withheld(names: Sequence[str]) -> None:
    """Refuse to withhold what numbers follow from.

    Raises
    ------
    RecordError
        If a name is none of what can be withheld.
    """
    for name in names:
        if name not in WITHHELD:
            raise RecordError(
                f"--withhold {name!r} is not possible: it can be one of {', '.join(WITHHELD)}"
            )
