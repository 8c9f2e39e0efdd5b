"""Histograms of records reduced to fewer significant digits, with the same total count.

The width of a bucket is a power of two, the greatest that resolves the digits.  So a bucket of fewer
digits consists of whole buckets of more digits, and no count is divided.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from icmodel.errors import RecordError
from icmodel.fold.record import Record, record_of

DIGITS = '"significant_digits"'
HISTOGRAM = re.compile(DIGITS + r':\s*(\d+),\s*"buckets":\s*(\[[\d\s,\[\]]*\])')
LEAST_DIGITS, MOST_DIGITS = 1, 3


def coarser(record: Record, digits: int) -> Record:
    """A record with at most ``digits`` significant digits in its histograms, otherwise unchanged.

    Raises
    ------
    RecordError
        If a histogram is not in the form that icprobe writes and so cannot be reduced.
    """
    line, known = HISTOGRAM.subn(lambda found: _reduced(found, digits), record.line)
    if line.count(DIGITS) > known:
        raise RecordError(
            f"run {record.run} has a histogram whose digits cannot be cut: give the file that "
            "icprobe wrote"
        )
    return record if line == record.line else record_of(line)


def _reduced(found: re.Match[str], digits: int) -> str:
    if int(found[1]) <= digits:
        return found[0]
    buckets = merged_buckets(json.loads(found[2]), digits)
    if not buckets:
        return found[0]
    text = json.dumps(buckets, separators=(",", ":"))
    return f'{DIGITS}:{digits},"buckets":{text}'


def merged_buckets(buckets: list[list[int]], digits: int) -> list[list[int]]:
    """Buckets ``[lower, upper, count]`` merged into those of fewer digits."""
    bits = (2 * 10**digits).bit_length()
    counts: Counter[tuple[int, int]] = Counter()
    for lower, _, count in buckets:
        shift = max(0, lower.bit_length() - bits)
        start = lower >> shift << shift
        counts[start, start + (1 << shift) - 1] += count
    return [[*ends, count] for ends, count in sorted(counts.items())]
