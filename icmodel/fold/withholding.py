"""Withholding: what a host says of itself that is nobody else's concern is not shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    """
    before, environment, line = record.line.partition('"environment":')
    for name in names:
        line = re.sub(rf'("{name}":\s*)"(?:[^"\\]|\\.)*"', rf'\1"{SAID}"', line)
    line = before + environment + line
    return record if line == record.line else record_of(line)


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
