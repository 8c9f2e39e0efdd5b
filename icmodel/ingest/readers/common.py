"""Steps that all readers share: tables in a text, command lines, rate limits, and checks of printed numbers.

A reader is a module with ``NAME``, ``LAYOUT``, ``recognises(text)`` and ``read(source)``.  ``read`` finds the lines of
a run, and compares numbers that the tool prints in two places.  It returns each result in SI units, with the labels
that the tool prints.  The docstring of the module names the tool versions that were seen, and shows sample output.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from icmodel import units
from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.result import (
    RECEIVER,
    SENDER,
    Assumed,
    NotTakenError,
    Number,
    Printed,
    exact,
)
from icmodel.ingest.source import Source

# --- text -------------------------------------------------------------------------------------

_ROW_START = re.compile(r"\s*[-+]?(?:\d|(?:nan|inf)\b)", re.I)
"""Pattern of the start of a table's row; damaged rows match too."""


_LEADS = re.compile(r"[ \t]*(?:$|[*#=$+_~-]|<\?xml|[A-Za-z].*:[ \t]*$)")
"""Pattern of a line that belongs to the run below it: a heading, a command, a line of dashes, or an empty line."""


class Layout(NamedTuple):
    """Layout of a tool's output, by which a text is split into runs.

    Parameters
    ----------
    start
        Pattern of a run's heading, its first line; ``None`` if the reader takes a file as a whole.
    holds
        Pattern of a line below the heading that each run has, such as a result. A further heading begins a new run only
        below such a line. Otherwise it belongs to the same run, since client and server may both print a heading.
    thousands
        Whether the tool prints commas between thousands.
    """

    start: re.Pattern[str] | None = None
    holds: re.Pattern[str] | None = None
    thousands: bool = False

    def split(self, source: Source) -> Iterator[Source]:
        """Split a text into runs; each run begins with the command line and other lines above its heading."""
        lines = source.lines
        starts: list[int] = []
        for number, line in enumerate(lines):
            if self.start is not None and self.start.match(line):
                before = lines[starts[-1] : number] if starts else []
                if not starts or self.holds is None or any(map(self.holds.match, before)):
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
            text = "\n".join(own) + ("\n" if end < len(lines) else "")
            yield replace(source, text=text, first=first + 1, typed=typed)
            typed = next((line for line in reversed(own) if line.startswith(("$ ", "+ "))), typed)


class Section(NamedTuple):
    """Section of a tool's output: match of its title, lines below the title, and number of the first of these lines."""

    title: re.Match[str]
    lines: list[str]
    first: int


class Row(NamedTuple):
    """Row of a table in a tool's output: its message size [B] (the first cell), all its cells, and its line number."""

    size: int
    cells: list[str]
    line: int


def first_group(pattern: re.Pattern[str], text: str) -> str:
    r"""Find the first match of a pattern in a text, and return its first group; empty without a match.

    >>> first_group(re.compile(r"version (\S+)"), "sockperf version 3.7 of 2021")
    '3.7'
    """
    match = pattern.search(text)
    return match[1] if match else ""


def begins_row(line: str) -> bool:
    """Whether a line of output begins a table row: with a number, ``nan`` or ``inf``."""
    return _ROW_START.match(line) is not None


def sections(title: re.Pattern[str], source: Source) -> Iterator[Section]:
    """Split a text into sections, each from its title to the next title."""
    text = source.text
    titles = list(title.finditer(text))
    ends = [match.start() for match in titles[1:]] + [len(text)]
    for match, end in zip(titles, ends, strict=False):
        lines = text[match.end() + 1 : end].split("\n")
        yield Section(match, lines, source.line_at(match.end()) + 1)


def rows(section: Section, row: re.Pattern[str], name: str) -> Iterator[Row]:
    """Read the rows of the table in a section, including rows of empty messages.

    Raises
    ------
    RecordError
        If a row is damaged, two rows have the same size, or there is no row with a payload.
    """
    sizes: set[int] = set()
    for number, line in enumerate(section.lines, start=section.first):
        if row.match(line):
            cells = line.split()
            size = int(cells[0])
            if size in sizes:
                raise RecordError(
                    f"line {number}: “{name}” has two rows of {size} B: keep each run in a file of its own"
                )
            sizes.add(size)
            yield Row(size, cells, number)
        elif begins_row(line):
            raise RecordError(
                f"line {number}: {line.strip()!r} is not a row of “{name}”: the output was cut off or changed"
            )
    if max(sizes, default=0) < 1:
        raise RecordError(f"“{name}” has no rows: the run failed or was cut off")


def check_last_line(source: Source, complete: re.Pattern[str] | None = None) -> None:
    """Raise RecordError if the last line may be cut off, so that its last number may lack digits.

    The last line is complete if it ends in a line feed, or contains a match of the pattern ``complete``.

    Raises
    ------
    RecordError
        If the last line may be cut off.
    """
    line = source.lines[-1]
    if line.strip() and not (complete and complete.search(line)):
        raise RecordError(
            f"line {source.first + len(source.lines) - 1}: {line.strip()!r} has no line end, so this line may be "
            "cut off: if the line is complete, add a line end and ingest the file again"
        )


# --- command lines ----------------------------------------------------------------------------

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgt]?)", re.I)


class Command(NamedTuple):
    """Command line of a tool: the words after the program's name; empty if the file has no command line.

    >>> Command(("-u", "-b20M", "--len=1K")).amount("-l", "--len", small=1000, large=1024)
    1024.0
    """

    words: tuple[str, ...] = ()

    def has(self, *options: str) -> bool:
        """Whether the command line has one of these options, with or without a value."""
        return any(word.partition("=")[0] in options for word in self.words)

    def value(self, *options: str) -> str:
        """Value of the last use of an option, as in ``-b 1M``, ``-b1M`` or ``--bitrate=1M``; empty if absent."""
        last = ""
        for word, after in zip(self.words, (*self.words[1:], ""), strict=False):
            name, equals, value = word.partition("=")
            if name in options:
                last = value if equals else after
            elif word[:2] in options and not word.startswith("--"):
                last = word[2:]
        return last

    def amount(self, *options: str, small: int, large: int) -> float | None:
        """Amount that an option of the command line sets, such as 1024 for ``--len=1K``; ``None`` if absent.

        ``small`` is the factor of the prefix k, and ``large`` that of the prefix K (1000 or 1024). The factors of m and M
        are the squares of those of k and K.
        """
        match = _AMOUNT.fullmatch(self.value(*options))
        if match is None:
            return None
        kilo = large if match[2].isupper() else small
        return float(match[1]) * float(kilo) ** " kmgt".index(match[2].lower() or " ")


def command_of(source: Source, program: str) -> Command:
    """Find the last command line of a program in the text of a run; ``program`` is a regular expression."""
    typed = re.compile(rf"(?:^|[\s/\\])(?:{program})(?:\.exe)?[ \t]+(?P<words>\S.*)$", re.M | re.I)
    lines = [match["words"] for match in typed.finditer(f"{source.typed}\n{source.text}")]
    if not lines:
        return Command()
    try:
        words = shlex.split(lines[-1])
    except ValueError:  # a quote that is not closed
        words = lines[-1].split()
    return Command(tuple(words))


# --- rate limits ------------------------------------------------------------------------------

NEAR = 0.05
"""Relative tolerance within which a sent rate counts as the tool's default rate."""


class Pace(NamedTuple):
    """Estimated load of a run whose file states no rate limit.

    It is either the sent rate (then ``implied`` has it) or the tool's default load (then ``assumed`` has it).
    """

    implied: Labels = Labels()
    assumed: tuple[Assumed, ...] = ()
    notes: tuple[str, ...] = ()


def pace_of(sent_bps: float, default_bps: float, option: str) -> Pace:
    """Estimate the load of a run whose rate limit the file does not state.

    ``option`` is the option of the tool that sets the rate limit, and ``default_bps`` its default.  If the
    sent rate is about the default (see `NEAR`), the load is assumed to be the default.  Otherwise the load
    is the sent rate, rounded to three digits.

    >>> pace_of(1.04e6, 2.0**20, "-b").assumed[0].value
    1048576.0
    >>> pace_of(52.345e6, 2.0**20, "-b").implied.load_bps
    52300000.0
    """
    if abs(sent_bps / default_bps - 1) <= NEAR:
        return Pace(assumed=(Assumed("load_bps", default_bps, option),))
    load = float(f"{sent_bps:.3g}")
    note = f"the rate limit ({option}) is not stated: the load is the sent rate, rounded to three digits"
    return Pace(implied=Labels(load_bps=load), notes=(note,))


# --- two-way modes ----------------------------------------------------------------------------

DUPLEX: Mapping[str, str] = MappingProxyType({"duplex": "both"})
"""Option axis and value of a result that was measured while the other direction was loaded too."""


class TwoWayMode(NamedTuple):
    """Mode of a tool that prints one number, the sum of both directions.

    Parameters
    ----------
    title
        Pattern of the mode in a title or benchmark name.
    instead
        Advice on the run to use instead.
    """

    title: re.Pattern[str]
    instead: str


TWO_WAY_SUMS: Mapping[str, TwoWayMode] = MappingProxyType(
    {
        "perftest": TwoWayMode(re.compile(r"\bBidirectional\b"), "run it without -b"),
        "osu": TwoWayMode(
            re.compile(r"\bBi-?directional\b", re.I), "run osu_bw in place of osu_bibw"
        ),
        "imb": TwoWayMode(
            re.compile(r"(?:Sendrecv|Exchange|PingPing\w*|Bi-?band)$", re.I),
            "run Uniband or PingPong",
        ),
        "qperf": TwoWayMode(re.compile(r"_bi_bw$"), "run the test without bi_"),
    }
)
"""Two-way modes, by tool, in which a tool prints only the sum of both directions.

iperf3, iperf 2 and netperf print each direction; other tools have no such mode.
"""


def is_sum(tool: str, title: str) -> bool:
    """Whether the title of a tool's test names a mode that prints the sum of both directions."""
    return tool in TWO_WAY_SUMS and TWO_WAY_SUMS[tool].title.search(title) is not None


def refuse_sum(tool: str, title: str, place: str) -> None:
    """Raise NotTakenError if the title of a run names a mode that sums both directions.

    Raises
    ------
    NotTakenError
        If the title names such a mode. The message names the mode and the run to use instead.
    """
    if is_sum(tool, title):
        raise NotTakenError(
            f"{place}: “{title}” is the sum of both directions, not the goodput of one stream: "
            f"{TWO_WAY_SUMS[tool].instead}"
        )


# --- numbers ----------------------------------------------------------------------------------

_rate_text = partial(units.format_bps, digits=6)


def bits_per_second(moved: Printed, seconds: Printed) -> Printed:
    """Compute a rate [b/s] from printed bytes and seconds."""
    return moved * exact(8.0) / seconds


def flow(rate: Printed, *, sends: bool) -> Number:
    """Make a `Number` from a rate: the metric is ``sent_bps`` if the sender counted it, otherwise ``goodput_bps``."""
    if sends:
        return Number.read("sent_bps", rate, SENDER)
    return Number.read("goodput_bps", rate, RECEIVER)


def check_rate(rate: Printed, counted: Printed, what: str, slack: float) -> None:
    """Compare a printed rate with the rate computed from printed counts, both in b/s.

    Parameters
    ----------
    what
        The place and the counts, for messages: ``line 3: 2498 datagrams of 1000 B in 1 s``.
    slack
        Relative tolerance beyond the rounding of both rates.

    Raises
    ------
    RecordError
        If the two rates differ by more than rounding and ``slack`` explain.
    """
    if not rate.overlaps(counted, slack):
        raise RecordError(
            f"{what} are {_rate_text(counted.value)}, not the printed {_rate_text(rate.value)}: a number or a unit "
            "was changed"
        )


def check_count(count: float, counted: float, what: str, whole: str) -> None:
    """Compare a printed count with the sum of its parts, or the product of its factors.

    For messages, ``what`` names the parts or factors, and ``whole`` names the printed count.

    Raises
    ------
    RecordError
        If the count differs from the sum or product.
    """
    if count != counted:
        raise RecordError(
            f"{what} are {counted:.15g}, which contradicts {whole} ({count:.15g}): a number was changed, "
            "so measure again"
        )


def check_loss(per_cent: Printed, lost: int, of: int, what: str) -> None:
    """Compare a printed loss in per cent with the printed counts of packets.

    Raises
    ------
    RecordError
        If more packets were lost than sent, or the two losses differ by more than rounding explains.
    """
    if not 0 <= lost <= of:
        raise RecordError(
            f"{what} counts {lost} lost of {of} packets, which is impossible: a number was changed, so measure again"
        )
    counted = 100 * lost / of if of else 0.0
    if not per_cent.overlaps(exact(counted)):
        raise RecordError(
            f"{what}: {lost} of {of} packets are {counted:.4g} %, not the printed loss of {per_cent.value:g} %: "
            "a number was changed, so measure again"
        )


def check_share(share: float, counted: float, what: str) -> None:
    """Compare a printed share (0…1), such as a loss, with the share computed from printed counts.

    The tool prints the share with all digits, so rounding explains no difference. ``what`` names the counts in the
    error message.

    Raises
    ------
    RecordError
        If the two shares differ by more than 0.0001.
    """
    if abs(share - counted) > 1e-4:
        raise RecordError(
            f"{what} are {counted:.4%}, not the printed {share:.4%}: a number was changed, so measure again"
        )
