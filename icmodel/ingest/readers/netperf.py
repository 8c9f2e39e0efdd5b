"""netperf: classic tables, and omni's CSV (``-o``), columns (``-O``) and key=value (``-k``).

The layout of a classic table follows from the test in the banner and from the units in its head.
MBytes are 2^20 B. CPU is a share of the whole host. -1 means not asked for. The "latency" of a
STREAM test is how long a send call took. A request/response test measures round trips.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from icmodel.errors import RecordError
from icmodel.ingest.readers.netperf_classic import from_table
from icmodel.ingest.readers.netperf_omni import from_omni, pairs_of
from icmodel.ingest.readers.netperf_test import NAME, Test, cells_of
from icmodel.ingest.readers.sections import Layout, told
from icmodel.ingest.result import NotTakenError, Result
from icmodel.ingest.source import Source, documents

__all__ = ["LAYOUT", "NAME", "read", "recognises"]

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP|OMNI)\b.*?)\s*TEST from (?P<rest>.*)$", re.M
)
LAYOUT = Layout(start=_BANNER)
_MARK = re.compile(r'(?:^|")(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI)\b[^"\n]*TEST from ', re.M)
"""A banner at the beginning of a line, or of a text in JSON."""
_BURST = re.compile(r"first burst (\d+)")
_TO = re.compile(r" to (\S+) \((\S*)\)")
BROKEN_BEHIND = ("Percentile", "Latency", "Maximum", "Minimum", "Mean", "Stddev")
"""Words at which a broken line of omni's CSV head was seen to end."""
_FAILED = re.compile(r"^(?:netperf: |send_|udp_send: |.*error: |alloc_|recv_response).*$", re.M)


def recognises(text: str) -> bool:
    """Whether a text looks like output of netperf."""
    return _MARK.search(text) is not None


def read(source: Source) -> list[Result]:
    """The results of a run: one, or of a list in JSON one under each banner.

    Raises
    ------
    RecordError
        If a test failed or its table cannot be read.
    """
    return [_result(test) for test in _tests(source, _text(source))]


def _text(source: Source) -> str:
    """The text; a list of lists in JSON, as harnesses keep it, is written out in lines."""
    if not source.text.lstrip().startswith("["):
        return source.text
    parts = [part for document in documents(source.text) for part in document]
    return "\n".join(line for part in parts if isinstance(part, list) for line in map(str, part))


def _unwrapped(text: str) -> str:
    """Lines that a terminal broke put together: a banner, and the CSV head behind it."""
    lines: list[str] = []
    for line in text.split("\n"):
        if lines and _goes_on(lines[-1]):
            lines[-1] = f"{lines[-1].rstrip()} {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _goes_on(line: str) -> bool:
    end = line.rstrip()
    if "TEST from" in end:
        return end.endswith((" AF_INET to", " AF_INET6 to"))
    return end.startswith(("Throughput,", "Local ", "Remote ")) and end.endswith(BROKEN_BEHIND)


def _tests(source: Source, text: str) -> Iterator[Test]:
    text = _unwrapped(text)
    found = list(_BANNER.finditer(text))
    if not found:
        raise RecordError("it has no banner '... TEST from ...', which says what was tested")
    ends = [*(banner.start() for banner in found[1:]), len(text)]
    starts = [0, *(banner.end() for banner in found)]
    for banner, before, end in zip(found, starts, ends, strict=False):
        peer = _TO.search(banner["rest"])
        typed = [line for line in text[before : banner.start()].split("\n") if "netperf " in line]
        yield Test(
            words=banner["test"],
            migrated=banner[0].startswith("MIGRATED"),
            host=(peer[2] or peer[1]) if peer else "",
            command=typed[-1] if typed else "",
            lines=tuple(line for line in text[banner.end() : end].split("\n") if line.strip()),
            place=f"line {source.first + text.count(chr(10), 0, banner.start())}",
            paced=" : interval" in banner["rest"],
            burst=int(told(_BURST, banner["rest"]) or 0),
        )


def _result(test: Test) -> Result:
    body = "\n".join(test.lines)
    if "CONNECT" in test.words.upper():
        raise NotTakenError(
            f"{test.place}: {test.words} sets a connection up for every transaction, which is no "
            "latency of a frame: measure with TCP_RR"
        )
    if (failed := _FAILED.search(body)) is not None and not any(map(cells_of, test.lines)):
        raise RecordError(f"{test.place}: the run failed: netperf says {failed[0].strip()!r}")
    if pairs := pairs_of(test.lines):
        return from_omni(test, pairs)
    return from_table(test, body)
