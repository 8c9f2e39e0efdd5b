"""Conversion of numpy docstrings to Markdown."""

from __future__ import annotations

import re

from docs_reference.markdown import prose

SECTIONS = ("Parameters", "Returns", "Raises", "Attributes", "Notes", "Yields", "Examples")
PROSE = ("Notes", "Examples")
"""Sections of paragraphs; the others are lists of names."""


def docstring(text: str) -> str:
    """Convert a numpy docstring to Markdown: prose, then each section as a list or paragraphs."""
    title = "|".join(SECTIONS)
    parts = re.split(rf"(?m)^({title})\n-+\n", prose(text))
    out = [parts[0].strip() + "\n"]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        out.append(f"\n*{name}*\n\n{_paragraphs(body) if name in PROSE else _items(body)}")
    return "".join(out)


def _paragraphs(body: str) -> str:
    """Convert paragraphs; a Python session becomes a code block."""
    blocks = re.split(r"\n\s*\n", body.strip())
    shown = (f"```text\n{block}\n```" if block.startswith(">>>") else block for block in blocks)
    return "\n\n".join(shown) + "\n"


def _items(body: str) -> str:
    """Convert `name : type` lines with an indented meaning to a list."""
    items: list[list[str]] = []
    for line in body.strip().splitlines():
        if line.startswith(" ") and items:
            items[-1].append(line.strip())
        elif line.strip():
            items.append([line.strip()])
    return "".join(_item(head, " ".join(rest)) for head, *rest in items)


def _item(head: str, meaning: str) -> str:
    name, colon, kind = head.partition(" : ")
    said = f"`{name}` ({kind})" if colon else f"`{head}`"
    return f"- {said}: {meaning}\n" if meaning else f"- {head}\n"
