"""Withholding private properties of hosts from the stored records."""

from __future__ import annotations

import re
from collections.abc import Sequence

from icmodel.errors import RecordError
from icmodel.fold.record import Record, record_of

WITHHELD = ("hostname", "kernel_cmdline", "mac")
"""Properties that can be withheld, since no number depends on them."""

REPLACEMENT = "withheld"
HIDDEN = (None, "", REPLACEMENT)
"""Values that tell nothing."""


def without(record: Record, names: Sequence[str]) -> Record:
    """A record with some properties of its hosts replaced by ``withheld``, otherwise unchanged.

    Parameters
    ----------
    record : Record
        The record as icprobe wrote it.
    names : sequence of str
        Properties, each one of `WITHHELD`.

    Raises
    ------
    RecordError
        If a property is not in the form that icprobe writes and so cannot be replaced.
    """
    before, environment, line = record.line.partition('"environment":')
    for name in names:
        line = re.sub(rf'("{name}":\s*)"(?:[^"\\]|\\.)*"', rf'\1"{REPLACEMENT}"', line)
    line = before + environment + line
    shown = record if line == record.line else record_of(line)
    hosts = (shown.document.environment.send, shown.document.environment.recv)
    told = {name for host in hosts for name in names if host.get(name) not in HIDDEN}
    if told:
        raise RecordError(
            f"run {record.run} says {', '.join(sorted(told))} in a form that cannot be withheld: give "
            "the file that icprobe wrote"
        )
    return shown
