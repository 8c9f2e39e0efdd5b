"""Make elements of HTML and SVG; texts that are not `Markup` are escaped.

>>> element("p", "1 < 2", class_="note")
'<p class="note">1 &lt; 2</p>'
"""

from __future__ import annotations

from html import escape

VOID = frozenset({"meta", "br", "hr", "img"})
"""Names of HTML elements without an end tag."""


class Markup(str):
    """HTML or SVG source, which is not escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """Make an HTML or SVG element.

    A trailing underscore of an attribute name is removed; other underscores become hyphens. Attributes with the
    value ``None`` are left out.
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
    """Concatenate pieces of HTML or SVG. Texts that are not `Markup` are escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )
