"""Convert a report page to JSON for a browser: each block becomes its kind and its fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from icmodel.documents import number_or_none
from icmodel.report.blocks import Block, Conclusion, Facts, Fold, Items, Table, Text

Sections = Iterable[tuple[str, str, Iterable[Block]]]
"""Sections of a page: anchor, title and blocks of each."""


def page_json(
    title: str, question: str, basis: str, answer: Conclusion | None, sections: Sections
) -> dict[str, Any]:
    """Return a report page as JSON. Without an answer, its outcome and its sentence are empty."""
    answer = answer or Conclusion("", "", ())
    return {
        "title": title,
        "question": question,
        "basis": basis,
        "outcome": answer.outcome,
        "sentence": answer.sentence,
        "parts": answer.parts,
        "sections": [
            {"anchor": anchor, "title": name, "blocks": [block_json(block) for block in blocks]}
            for anchor, name, blocks in sections
        ],
    }


def block_json(block: Block) -> dict[str, Any]:
    """Return a block of a report as JSON: its kind, in lower case, and its fields."""
    return {"kind": type(block).__name__.lower(), **_fields(block)}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _form(getattr(value, field.name)) for field in fields(value)}


def _form(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_form(one) for one in value]
    if isinstance(value, Text | Fold | Table | Items | Facts):
        return block_json(value)
    if isinstance(value, float):
        return number_or_none(value)
    return _fields(value) if hasattr(value, "__dataclass_fields__") else value
