"""Field of the what-if page that an error message names."""

from __future__ import annotations

import re

FIELDS = (
    ("payload", r"payload|\bMTU\b"),
    ("requested_goodput", r"requested.goodput"),
    ("other_goodput", r"other_goodput|other.goodput"),
    ("rate", r"\brate_fps\b|\brate\b(?! of)"),
    ("cores", r"\bcores?\b"),
    ("switches", r"\bswitch"),
    ("endpoints", r"\bendpoint"),
    ("distance", r"distance"),
    ("line_rate", r"line.rate"),
    ("cpu_clock", r"cpu_clock|CPU clock"),
    ("app_send", r"app_send|application"),
    ("app_recv", r"app_recv"),
    ("protocol", r"rows of|protocol"),
)
"""Pairs: field of the what-if page, and pattern that matches its parameter in an error message."""


def field_of(message: str) -> str:
    """Return the field that an error message names first; empty if the message names none.

    >>> field_of("cores 7 is not possible here")
    'cores'
    """
    found = ((re.search(pattern, message), name) for name, pattern in FIELDS)
    return min(((match.start(), name) for match, name in found if match), default=(0, ""))[1]
