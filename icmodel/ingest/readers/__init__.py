"""Readers: one module a tool; each knows its own tool's output and nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from icmodel.errors import RecordError
from icmodel.ingest.readers import (
    imb,
    iperf2,
    iperf3,
    libzmq,
    netperf,
    ntttcp,
    nuttcp,
    osu,
    perftest,
    qperf,
    sockperf,
    zperfmq,
)
from icmodel.ingest.readers.table import Layout
from icmodel.ingest.result import Result
from icmodel.ingest.source import Source


class Reader(Protocol):
    """What the module of a tool offers."""

    NAME: str
    LAYOUT: Layout

    def recognises(self, text: str) -> bool:
        """Whether a text looks like output of the tool."""

    def read(self, source: Source) -> list[Result]:
        """The results of a run."""


_MODULES: tuple[Reader, ...] = (
    sockperf,
    ntttcp,
    perftest,
    netperf,
    nuttcp,
    zperfmq,
    libzmq,
    qperf,
    osu,
    imb,
    iperf3,
    iperf2,
)
READERS: Mapping[str, Reader] = MappingProxyType({module.NAME: module for module in _MODULES})
"""By the tool's name, in the order they are asked."""


def check_tool(name: str) -> None:
    """Raise an error if no reader is of a tool.

    Raises
    ------
    RecordError
        If the tool is unknown.
    """
    if name not in READERS:
        raise RecordError(
            f"the tool {name!r} is unknown: it is one of {', '.join(sorted(READERS))}"
        )
