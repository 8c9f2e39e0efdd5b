"""Two-way modes: how each tool shows that both directions were loaded at once, and what becomes of it.

Where a file has the directions apart, each is a result of its own with the option `APART`.  A sum of both is no
goodput of one stream: it is refused with the option to leave out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from icmodel.ingest.result import NotTakenError

APART: Mapping[str, str] = MappingProxyType({"duplex": "both"})
"""The option of one direction that was measured while the other was loaded."""


class Mode(NamedTuple):
    """A mode of a tool that prints the sum of both directions, or one number of both.

    Parameters
    ----------
    seen
        What shows it in a title or benchmark of the tool.
    instead
        What to run in its place.
    """

    seen: re.Pattern[str]
    instead: str


SUMS: Mapping[str, Mode] = MappingProxyType(
    {
        "perftest": Mode(re.compile(r"\bBidirectional\b"), "run it without -b"),
        "osu": Mode(re.compile(r"\bBi-?directional\b", re.I), "run osu_bw in place of osu_bibw"),
        "imb": Mode(
            re.compile(r"(?:Sendrecv|Exchange|PingPing\w*|Bi-?band)$", re.I),
            "run Uniband or PingPong",
        ),
        "qperf": Mode(re.compile(r"_bi_bw$"), "run the test without bi_"),
    }
)
"""By tool.  iperf3, iperf 2 and netperf have the directions apart; the other tools have no such mode."""


def is_sum(tool: str, title: str) -> bool:
    """Whether a title of a tool is of a mode that sums both directions."""
    return tool in SUMS and SUMS[tool].seen.search(title) is not None


def refuse_sum(tool: str, title: str, place: str) -> None:
    """Raise an error if a title is of a mode that sums both directions.

    Raises
    ------
    NotTakenError
        Naming the mode and what to run instead.
    """
    if is_sum(tool, title):
        raise NotTakenError(
            f"{place}: “{title}” is the sum of both directions, no goodput of one stream: "
            f"{SUMS[tool].instead}"
        )
