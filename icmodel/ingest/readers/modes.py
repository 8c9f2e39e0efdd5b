"""Two-way modes: how each tool shows that both directions were loaded at once, and what becomes of it.

Where a file has the directions apart, each is a result of its own with the option `APART`.  A sum of both is no
goodput of one stream: it is refused with the option to leave out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from icmodel import units
from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.result import Assumed, NotTakenError, Printed, exact
from icmodel.ingest.source import Source

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


NEAR = 0.05
"""Greatest relative distance of the rate sent from a default that is then assumed."""


class Pace(NamedTuple):
    """The load of a paced run: as it follows from what was sent, or the tool's default."""

    unless: Labels = Labels()
    assumed: tuple[Assumed, ...] = ()
    notes: tuple[str, ...] = ()


def pace_of(sent_bps: float, default_bps: float, option: str) -> Pace:
    """The load of a run that was paced, by the rate it sent.

    Parameters
    ----------
    default_bps
        The tool's own rate limit, which ``option`` sets; it is assumed if the run sent at it.
    """
    if abs(sent_bps / default_bps - 1) <= NEAR:
        return Pace(assumed=(Assumed("load_bps", default_bps, option),))
    load = float(f"{sent_bps:.3g}")
    note = f"its rate limit is not said ({option}): the load is what it sent, to three digits"
    return Pace(unless=Labels(load_bps=load), notes=(note,))


_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgt]?)", re.I)


class Command(NamedTuple):
    """The words behind a program's name; none if the file does not keep them."""

    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The words with spaces between them."""
        return " ".join(self.words)

    def has(self, *options: str) -> bool:
        """Whether one of some options is among the words, with or without a value."""
        return any(word.partition("=")[0] in options for word in self.words)

    def value(self, *options: str) -> str:
        """The value of the last of some options: ``-b 1M``, ``-b1M``, ``--bitrate=1M``; else empty."""
        found = ""
        for word, behind in zip(self.words, (*self.words[1:], ""), strict=False):
            name, equals, value = word.partition("=")
            if name in options:
                found = value if equals else behind
            elif word[:2] in options and not word.startswith("--"):
                found = word[2:]
        return found

    def amount(self, *options: str, small: int, large: int) -> float | None:
        """The amount an option says; ``small`` is what k is, and ``large`` what K is."""
        found = _AMOUNT.fullmatch(self.value(*options))
        if found is None:
            return None
        kilo = large if found[2].isupper() else small
        return float(found[1]) * float(kilo) ** " kmgt".index(found[2].lower() or " ")


def command_of(source: Source, program: str) -> Command:
    """The last command line of a program, whose name is a regular expression."""
    typed = re.compile(rf"(?:^|[\s/\\])(?:{program})(?:\.exe)?[ \t]+(?P<words>\S.*)$", re.M | re.I)
    lines = [found["words"] for found in typed.finditer(f"{source.typed}\n{source.text}")]
    if not lines:
        return Command()
    try:
        words = shlex.split(lines[-1])
    except ValueError:  # a quote that is not closed
        words = lines[-1].split()
    return Command(tuple(words))


_said = partial(units.format_bps, digits=6)


def check_rate(rate: Printed, counted: Printed, what: str, slack: float) -> None:
    """Hold a printed rate against what is counted beside it, both in bits per second.

    Parameters
    ----------
    what
        Where it stands and the counts, for people: ``line 3: 2498 datagrams of 1000 B in 1 s``.
    slack
        How far both may lie apart beside what is rounded.

    Raises
    ------
    RecordError
        If both cannot have been the same.
    """
    if not rate.meets(counted, slack):
        raise RecordError(
            f"{what} are {_said(counted.value)}, not the {_said(rate.value)} it prints: a number or a unit "
            "was changed"
        )


def check_count(count: float, counted: float, what: str, whole: str) -> None:
    """Hold a count against the sum of its parts, or the product of its factors.

    Raises
    ------
    RecordError
        If they differ.
    """
    if count != counted:
        raise RecordError(
            f"{what} are {counted:.15g}, not the {count:.15g} of {whole}: a number was changed"
        )


def check_loss(per_cent: Printed, lost: int, of: int, what: str) -> None:
    """Hold a printed loss in per cent against the packets that are counted beside it.

    Raises
    ------
    RecordError
        If more were lost than sent, or both cannot have been the same.
    """
    if not 0 <= lost <= of:
        raise RecordError(f"{what} counts {lost} lost of {of} packets, which is impossible")
    counted = 100 * lost / of if of else 0.0
    if not per_cent.meets(exact(counted)):
        raise RecordError(
            f"{what}: {lost} of {of} packets are {counted:.4g} %, not the {per_cent.value:g} % lost that it "
            "prints: a number was changed"
        )


def check_share(said: float, counted: float, what: str) -> None:
    """Hold a share that a tool prints with all digits against the counts it is of.

    Raises
    ------
    RecordError
        If they lie further apart than by a hundredth of a per cent.
    """
    if abs(said - counted) > 1e-4:
        raise RecordError(
            f"{what} are {counted:.4%}, not the {said:.4%} it prints: a number was changed"
        )


def over(moved: Printed, seconds: Printed) -> Printed:
    """Bytes over seconds, in bits per second."""
    return moved * exact(8.0) / seconds
