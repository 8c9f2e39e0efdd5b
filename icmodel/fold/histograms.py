"""Histograms of records with fewer digits: a tenth of the bytes, the same counts.

A bucket of so many digits is as wide as the greatest power of two that keeps its values apart to
them, so that several buckets of more digits make up one of fewer, and no count is divided.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from icmodel.documents import json_value
from icmodel.errors import RecordError
from icmodel.fold.record import Record, record_of

KEPT = re.compile(r'"significant_digits":\s*(\d+),\s*"buckets":\s*(\[\s*\[[\d\s,\[\]]*\]\s*\])')
LEAST_DIGITS, MOST_DIGITS = 1, 3


def coarser(record: Record, digits: int) -> Record:
    """A record whose histograms have so many significant digits at most; the rest stays as it is.

    Raises
    ------
    RecordError
        If it has a histogram in another form than icprobe writes, which would keep its digits.
    """
    line = KEPT.sub(lambda found: _told(found, digits), record.line)
    if any(kept > digits for kept in _digits(json_value(line))):
        raise RecordError(
            f"run {record.run} has a histogram whose digits cannot be cut: give the file that "
            "icprobe wrote"
        )
    return record if line == record.line else record_of(line)


def _digits(document: object) -> Iterator[int]:
    """The significant digits of every histogram that holds counts."""
    if isinstance(document, list):
        for part in document:
            yield from _digits(part)
    elif isinstance(document, dict):
        digits = document.get("significant_digits")
        if isinstance(digits, int) and document.get("buckets"):
            yield digits
        for part in document.values():
            yield from _digits(part)


def _told(found: re.Match[str], digits: int) -> str:
    if int(found[1]) <= digits:
        return found[0]
    buckets = merged_buckets(json.loads(found[2]), digits)
    text = json.dumps(buckets, separators=(",", ":"))
    return f'"significant_digits":{digits},"buckets":{text}'


def merged_buckets(buckets: list[list[int]], digits: int) -> list[list[int]]:
    """Buckets ``[lower, upper, count]`` of more digits, brought together."""
    bits = (2 * 10**digits).bit_length()
    counts: Counter[tuple[int, int]] = Counter()
    for lower, _, count in buckets:
        shift = max(0, lower.bit_length() - bits)
        start = lower >> shift << shift
        counts[start, start + (1 << shift) - 1] += count
    return [[*ends, count] for ends, count in sorted(counts.items())]
