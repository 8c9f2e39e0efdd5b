"""Elements of HTML and SVG; every text that is not markup is escaped.

>>> element("p", "1 < 2", class_="note")
'<p class="note">1 &lt; 2</p>'
"""

from __future__ import annotations

from html import escape

VOID = frozenset({"meta", "br", "hr"})
"""Elements without an end tag."""


class Markup(str):
    """A text that is HTML or SVG and is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """Make an element.

    Attribute names lose a trailing underscore; underscores inside become hyphens.  An attribute of ``None`` is
    left out.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{shown}>")
    return Markup(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Concatenate children, plain texts escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )
