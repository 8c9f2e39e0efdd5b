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
from icmodel.ingest.result import Result
from icmodel.ingest.source import Source


class Reader(Protocol):
    """What the module of a tool offers."""

    NAME: str

    def recognises(self, text: str) -> bool:
        """Whether a text looks like output of the tool."""

    def read(self, source: Source) -> list[Result]:
        """The results of a file."""


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
    """Refuse a tool that no reader is of.

    Raises
    ------
    RecordError
        Naming the tools there are.
    """
    if name not in READERS:
        raise RecordError(
            f"the tool {name!r} is unknown: it is one of {', '.join(sorted(READERS))}"
        )


def reader_of(source: Source, tool: str | None) -> Reader:
    """The reader of a named tool, or of the tool whose output a file looks like.

    Raises
    ------
    RecordError
        If the name is unknown, or no reader knows the text, or several do.
    """
    if tool is not None:
        check_tool(tool)
        return READERS[tool]
    found = [name for name, reader in READERS.items() if reader.recognises(source.text)]
    if not found:
        known = ", ".join(sorted(READERS))
        raise RecordError(
            f"it is not output of a tool that icmodel knows ({known}): name the tool with --tool, "
            "or map the columns of a table with --map"
        )
    if len(found) > 1:
        raise RecordError(
            f"it holds output of {' and '.join(found)}, and only one of them could be taken: keep "
            "each tool's output in a file of its own, or name the one to take with --tool"
        )
    return READERS[found[0]]
