"""Runs: the parts of a file that one run of a tool printed each, with the reader that reads them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from icmodel.errors import RecordError
from icmodel.ingest.plain import named_apart, plain, with_points
from icmodel.ingest.readers import READERS, Reader
from icmodel.ingest.readers.table import Layout
from icmodel.ingest.source import Source

_LEADS = re.compile(r"[ \t]*(?:$|[*#=$+_~-]|<\?xml|[A-Za-z].*:[ \t]*$)")
"""A line that belongs to the run below it: a heading, a command, a rule, or nothing."""
_FAILED = re.compile(
    r"^(?:iperf3?|netperf|nuttcp|qperf|sockperf|ib_\w+): (?:error\b.*|.*(?:fail|refus|unable).*)$",
    re.M | re.I,
)


def runs_of(source: Source, tool: str | None) -> list[tuple[Reader, Source]]:
    """The runs of a file in the order of its lines, each with the reader of its tool.

    Parameters
    ----------
    tool
        The tool that wrote the file; by default recognised from its text.

    Raises
    ------
    RecordError
        If no reader knows the text, or several do.
    """
    streams = plain(source.text)
    found = _known(source, streams, tool)
    if not found:
        named = [text for stream in streams for text in named_apart(stream)]
        found = _known(source, named, tool)
    if not found and tool is not None:  # whose reader says what is missing
        return [(READERS[tool], replace(source, text="\n".join(streams)))]
    if not found:
        raise RecordError(_unknown(source.text))
    found.sort(key=lambda pair: pair[1].first)
    return [
        (reader, one if len(found) == 1 else replace(one, run=k))
        for k, (reader, one) in enumerate(found, start=1)
    ]


def _known(source: Source, streams: Sequence[str], tool: str | None) -> list[tuple[Reader, Source]]:
    """The runs of the streams that are output of a tool."""
    names = [tool] if tool is not None else list(READERS)
    found = []
    for text in streams:
        pointed = with_points(text, thousands=False)
        known = [name for name in names if READERS[name].recognises(text)]
        known = known or [name for name in names if READERS[name].recognises(pointed)]
        if len(known) > 1:
            raise RecordError(
                f"it holds output of {' and '.join(known)}, and only one of them could be taken: keep "
                "each tool's output in a file of its own, or name the one to take with --tool"
            )
        for reader in map(READERS.__getitem__, known):
            whole = replace(source, text=with_points(text, thousands=reader.LAYOUT.parts_thousands))
            found += [(reader, part) for part in _parts(whole, reader.LAYOUT)]
    return found


def _parts(source: Source, layout: Layout) -> Iterator[Source]:
    """The runs of one stream, each from the lines that lead to it to those that lead to the next."""
    lines = source.lines
    starts: list[int] = []
    for number, line in enumerate(lines):
        if layout.start is not None and layout.start.match(line):
            before = lines[starts[-1] : number] if starts else []
            if not starts or layout.holds is None or any(map(layout.holds.match, before)):
                starts.append(number)
    cuts = [0]
    for last, start in pairwise(starts):
        cut = start
        while cut - 1 > last and _LEADS.match(lines[cut - 1]):
            cut -= 1
        cuts.append(cut)
    typed = ""
    for first, end in pairwise([*cuts, len(lines)]):
        own = lines[first:end]
        lead = lines[first : starts[bisect_left(starts, first)]] if starts else []
        if any(line.strip() for line in lead):
            typed = ""
        yield replace(source, text="\n".join(own), first=first + 1, typed=typed)
        typed = next((line for line in reversed(own) if line.startswith(("$ ", "+ "))), typed)


def _unknown(text: str) -> str:
    """Why no reader takes a text."""
    if failed := _FAILED.search(text):
        return f"the run failed: it says “{failed[0].strip()}” and holds no result"
    known = ", ".join(sorted(READERS))
    return (
        f"it is not output of a tool that icmodel knows ({known}): name the tool with --tool, "
        "or map the columns of a table with --map"
    )
