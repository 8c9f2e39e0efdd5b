"""Command line: what was typed for a run, where a file keeps it, and what an option of it says."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from icmodel.ingest.source import Source

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
