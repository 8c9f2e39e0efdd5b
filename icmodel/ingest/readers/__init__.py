"""Readers: one module for each tool, and functions that find the runs of each tool in a text.

To add a reader, add a module to this package that defines the names in the class `Reader`, and list it in ``_MODULES``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from icmodel.ingest.readers.common import Layout
from icmodel.ingest.result import Result
from icmodel.ingest.source import Source, named_apart, plain, shared_beginning, with_points


class Reader(Protocol):
    """Interface of a reader: the module that reads the output of one tool."""

    NAME: str
    LAYOUT: Layout

    def recognises(self, text: str) -> bool:
        """Whether a text looks like output of the tool."""

    def read(self, source: Source) -> list[Result]:
        """Read the results of one run of the tool."""


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
"""Readers by name of the tool, in the order in which they check a text."""
_FAILED = re.compile(
    r"^(?:iperf3?|netperf|nuttcp|qperf|sockperf|ib_\w+): (?:error\b.*|.*(?:fail|refus|unable).*)$",
    re.M | re.I,
)


def check_tool(name: str) -> None:
    """Raise RecordError if icmodel has no reader for a tool.

    Raises
    ------
    RecordError
        If the tool is unknown.
    """
    if name not in READERS:
        raise RecordError(f"the tool {name!r} is unknown: use one of {', '.join(sorted(READERS))}")


def runs_of(source: Source, tool: str | None) -> list[tuple[Reader, Source]]:
    """Find the runs in a file, in the order of their lines, each with the reader of its tool.

    Parameters
    ----------
    tool
        The tool that wrote the file; by default it is recognised from the text.

    Raises
    ------
    RecordError
        If no reader or several readers recognise the text.
    """
    streams = plain(source.text)
    runs = _recognised(source, streams, tool)
    if not runs:
        named = [text for stream in streams for text in named_apart(stream)]
        runs = _recognised(source, named, tool)
    if not runs and tool is not None:  # the reader raises an error that names the missing part
        return [(READERS[tool], replace(source, text="\n".join(streams)))]
    if not runs and (failed := _FAILED.search(source.text)):
        raise RecordError(
            f"the run failed with the message “{failed[0].strip()}”, and the file has no result: repeat the run"
        )
    if not runs and (beginning := shared_beginning(source.text)).strip():
        raise RecordError(
            f"every line begins like {beginning!r}, and icmodel knows no tool that writes so: remove this beginning from "
            "each line, or map the columns of a table with columns=ColumnMap(...)"
        )
    if not runs:
        raise RecordError(
            f"the text is not the output of a tool that icmodel knows ({', '.join(sorted(READERS))}): name the tool "
            'with tool="NAME", or map the columns of a table with columns=ColumnMap(...)'
        )
    runs.sort(key=lambda pair: pair[1].first)
    return [
        (reader, run if len(runs) == 1 else replace(run, run=k))
        for k, (reader, run) in enumerate(runs, start=1)
    ]


def _recognised(
    source: Source, texts: Sequence[str], tool: str | None
) -> list[tuple[Reader, Source]]:
    """Find the runs in the texts of a file; return each run with the reader of its tool.

    Most files have one text. A file into which a collector wrote the lines of several pods or hosts has one text for
    each of them. Decimal commas in a text become points.
    """
    names = [tool] if tool is not None else list(READERS)
    runs = []
    for text in texts:
        pointed = with_points(text, thousands=False)
        tools = [name for name in names if READERS[name].recognises(text)]
        tools = tools or [name for name in names if READERS[name].recognises(pointed)]
        if len(tools) > 1:
            raise RecordError(
                f"the file holds output of {' and '.join(tools)}, but only one tool can be used: keep "
                'each tool\'s output in a file of its own, or name the one to take with tool="NAME"'
            )
        for reader in map(READERS.__getitem__, tools):
            whole = replace(source, text=with_points(text, thousands=reader.LAYOUT.thousands))
            runs += [(reader, part) for part in reader.LAYOUT.split(whole)]
    return runs
