"""Estimated width of a text, close enough for any common font."""

from __future__ import annotations

import unicodedata

_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[] -"), frozenset("mwMW@%—…→←×≤≥✓✗")
NARROW, USUAL, CAPITAL, WIDE = 0.36, 0.58, 0.73, 0.98
"""Widths of characters [em] of a common sans serif, on the safe side."""


def width_px(text: str, size_px: float) -> float:
    """The width of a text [px]."""
    return size_px * sum(map(_em, text))


def _em(char: str) -> float:
    if char in _NARROW:
        return NARROW
    if char in _WIDE or unicodedata.east_asian_width(char) in "FW":
        return WIDE
    return CAPITAL if char.isupper() else USUAL


def shortened(text: str, size_px: float, room_px: float) -> str:
    """A text as it is, or its beginning and end with an ellipsis between, so that it fits.

    The end stays, since members of a group differ there.
    """
    text = " ".join(text.split())
    if width_px(text, size_px) <= room_px:
        return text
    for kept in range(len(text) - 1, 1, -1):
        tail = kept // 3
        short = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if width_px(short, size_px) <= room_px:
            return short
    return "…"
