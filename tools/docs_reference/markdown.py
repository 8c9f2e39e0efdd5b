"""Markdown: tables, parts between marks, and docstring markup as prose."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

MADE = "<!-- made by tools/build_docs_reference.py; change the program, not this page -->\n"
BEGIN, END = "<!-- made: {} begin -->", "<!-- made: {} end -->"


def with_part(text: str, name: str, part: str) -> str:
    """Return the text with a new part between two marks."""
    before, begin, rest = text.partition(BEGIN.format(name))
    _, end, after = rest.partition(END.format(name))
    if not begin or not end:
        raise ValueError(f"the marks of the part {name!r} are not in the text")
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def row(*cells: str) -> str:
    """Return one line of a Markdown table."""
    return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |\n"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table, or an empty text if there are no rows."""
    if not rows:
        return ""
    return row(*head) + row(*("---" for _ in head)) + "".join(row(*cells) for cells in rows)


def prose(text: str) -> str:
    """Convert docstring markup to Markdown: roles and double backticks become code."""
    text = re.sub(r":[a-z]+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text))
    text = text.replace("``", "`").replace("::\n", ":\n")
    return re.sub(r"\x08\n((?:[^\n]+(?:\n|$))+)", _shown_lines, text)


def _shown_lines(found: re.Match[str]) -> str:
    """Make a code block of a paragraph after click's mark for unwrapped lines."""
    return f"```text\n{found[1].strip()}\n```\n"


def one_line(text: str) -> str:
    """Return a text as prose without its line breaks."""
    return " ".join(prose(text).split())
