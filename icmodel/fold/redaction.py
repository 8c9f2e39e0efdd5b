"""Redact the records that a dataset stores: withhold private properties of hosts, and coarsen histograms."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from icmodel.errors import RecordError
from icmodel.fold.records import Record, record_of

WITHHELD = ("hostname", "kernel_cmdline", "mac")
"""Properties of hosts that can be withheld from stored records, since no number depends on them."""

REPLACEMENT = "withheld"
HIDDEN = (None, "", REPLACEMENT)
"""Values of a host's property that reveal nothing, so that they need not be withheld."""


def stored(record: Record, withhold: Sequence[str], digits: int | None) -> Record:
    """Redact a record to the form that is stored in the dataset's folder.

    Parameters
    ----------
    withhold : sequence of str
        Properties of the hosts to withhold, each one of `WITHHELD`.
    digits : int, optional
        Greatest number of significant digits in histograms; by default all digits stay.
    """
    shown = without(record, withhold)
    return shown if digits is None else coarser(shown, digits)


def without(record: Record, names: Sequence[str]) -> Record:
    """Copy a record with some properties of its hosts replaced by ``withheld``.

    Parameters
    ----------
    record : Record
        The record as icprobe wrote it.
    names : sequence of str
        Properties to withhold, each one of `WITHHELD`.

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
            f"run {record.run} has {', '.join(sorted(told))} in a form that cannot be redacted: give "
            "the file that icprobe wrote"
        )
    return shown


DIGITS = '"significant_digits"'
HISTOGRAM = re.compile(DIGITS + r':\s*(\d+),\s*"buckets":\s*(\[[\d\s,\[\]]*\])')
LEAST_DIGITS, MOST_DIGITS = 1, 3


def coarser(record: Record, digits: int) -> Record:
    """Copy a record with at most ``digits`` significant digits in its histograms.

    Raises
    ------
    RecordError
        If a histogram is not in the form that icprobe writes and so cannot be reduced.
    """

    def reduced(found: re.Match[str]) -> str:
        buckets = [] if int(found[1]) <= digits else merged_buckets(json.loads(found[2]), digits)
        if not buckets:
            return found[0]
        text = json.dumps(buckets, separators=(",", ":"))
        return f'{DIGITS}:{digits},"buckets":{text}'

    line, known = HISTOGRAM.subn(reduced, record.line)
    if line.count(DIGITS) > known:
        raise RecordError(
            f"run {record.run} has a histogram whose digits cannot be reduced: give the file that "
            "icprobe wrote"
        )
    return record if line == record.line else record_of(line)


def merged_buckets(buckets: list[list[int]], digits: int) -> list[list[int]]:
    """Merge the buckets ``[lower, upper, count]`` of a histogram into wider buckets with fewer digits.

    The width of a bucket is the greatest power of two that resolves the digits. So a bucket with fewer digits consists
    of whole buckets with more digits, and no count is divided.
    """
    bits = (2 * 10**digits).bit_length()
    counts: Counter[tuple[int, int]] = Counter()
    for lower, _, count in buckets:
        shift = max(0, lower.bit_length() - bits)
        start = lower >> shift << shift
        counts[start, start + (1 << shift) - 1] += count
    return [[*ends, count] for ends, count in sorted(counts.items())]
