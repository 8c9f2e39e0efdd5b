"""Elements of a page; every text that is not markup is escaped."""

from __future__ import annotations

from html import escape

VOID = frozenset({"meta", "br", "hr"})


class Markup(str):
    """A text that is HTML."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """An element; attributes lose a trailing underscore, underscores inside become hyphens."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Children one after the other, plain texts escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )
