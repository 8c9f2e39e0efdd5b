"""Render a report as PDF with typst: A4, tagged for screen readers (PDF/UA-1).

The file ``page.typ`` has the layout. It reads the page as JSON, so typst never runs a text as code. Typst works in an
empty folder, without packages, and with its bundled fonts.
"""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from icmodel.documents import number_or_none
from icmodel.errors import ReportError
from icmodel.plotting import drawable, svg
from icmodel.report import blocks
from icmodel.report.blocks import Figure, Figures, Page, Picture, Section, Table
from icmodel.report.masthead import Logo
from icmodel.requirement import SIGNS

EXTRA = "pip install 'icmodel[pdf]'"
NO_GLYPH = "could not be displayed"
"""Part of typst's error message about a character that no font contains; an error for PDF/UA-1 files only."""
LONGEST_WORD = 24
"""Maximum length of a word that is not broken at the end of a line [characters]."""
WIDE_PX = 900.0
"""Width above which a drawing has its own page in landscape format [px]."""
LINE_WIDTH, BADGE_WIDTH, GAP_WIDTH = 126.0, 3.0, 4.0
"""Widths in a printed table [characters]: whole line, frame of a verdict, gap between columns."""
LABELS = {name.lower(): getattr(blocks, name) for name in ("CHANGE", "BUY", "DOUBTS", "REPEAT")}


def pdf_bytes(content: Page) -> bytes:
    """Render a report page as PDF. The same content gives the same bytes.

    If typst's bundled fonts lack a character, such as a Chinese one, typst also uses the fonts of the system. Then the
    bytes depend on the installed fonts, and the file does not claim PDF/UA-1.

    Raises
    ------
    ReportError
        If typst is not installed, or the logo of the template cannot be drawn.
    """
    made: bytes
    try:
        made = _compiled(content, "pdf", pdf_standards=["ua-1"])
    except ReportError as error:
        if NO_GLYPH not in str(error):
            raise
        made = _compiled(content, "pdf", ignore_system_fonts=False)
    return made


def page_images(content: Page, ppi: float = 72.0) -> list[bytes]:
    """Render a report as PNG images, one for each printed page."""
    made = _compiled(content, "png", ppi=ppi)
    return made if isinstance(made, list) else [made]


def typst() -> Any:
    """Import and return the module typst.

    The return type is Any, since typst's type stubs lack some options.

    Raises
    ------
    ReportError
        If typst is not installed.
    """
    try:
        return import_module("typst")
    except ImportError as error:
        raise ReportError(f"a PDF needs typst, which is not installed: {EXTRA}") from error


def _compiled(content: Page, form: str, **options: Any) -> Any:
    setter = typst()
    document = {**plain(content), "signs": SIGNS, "labels": LABELS}
    source = Path(__file__).with_name("page.typ").read_bytes()
    with tempfile.TemporaryDirectory() as empty:
        try:
            return setter.compile(
                source,
                root=empty,
                format=form,
                sys_inputs={"page": json.dumps(document, ensure_ascii=False)},
                package_path=empty,
                package_cache_path=empty,
                **{"ignore_system_fonts": True, **options},
            )
        except setter.TypstError as error:
            raise ReportError(f"typst cannot make the PDF: {error}") from error


def plain(value: object) -> Any:
    """Convert a part of a report page to JSON for typst.

    A dataclass becomes an object with its fields and its kind (name of the class). A plot becomes an SVG drawing.
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Logo):
        return {"kind": value.kind, "content": list(value.content)}
    if isinstance(value, Figure):
        drawn = svg(value.spec | {"title": None}) if drawable() else None
        return {
            "kind": "Figure",
            "svg": drawn,
            **{name: plain(getattr(value, name)) for name in ("title", "caption", "alt")},
        }
    if isinstance(value, Figures) and not drawable():
        return {
            "kind": "Figures",
            "figures": [],
            "numbers": [plain(one.numbers) for one in value.figures],
        }
    if isinstance(value, Picture):
        return {
            "kind": "Picture",
            "svg": light(value.svg),
            "wide": float(re.findall(r'viewBox="0 0 ([0-9.]+)', value.svg)[0]) > WIDE_PX,
            "caption": plain(value.caption),
            "alt": plain(value.alt),
        }
    if isinstance(value, Table):
        named = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return {"kind": "Table", **named, "widths": column_widths(value)}
    if is_dataclass(value):
        named = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        if isinstance(value, (Page, Section)):
            named["title"] = named["title"] or "–"  # PDF/UA-1 forbids an empty heading
        return {"kind": type(value).__name__, **named}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return number_or_none(value) if isinstance(value, float) else value


def column_widths(table: Table) -> list[float]:
    """Return the width of each column of a table [characters]; the sum is at most the width of a printed line.

    Columns with short texts are as wide as their longest text. Columns with long texts share the rest of the line
    equally.
    """
    wanted = []
    for index, column in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        longest = [len(column), *(len(cell.note) * 0.85 for cell in cells)]
        for cell in cells:
            badge = len(cell.outcome) + BADGE_WIDTH if cell.outcome else 0.0
            longest.append(len(cell.text) + 1.3 * len(cell.name) + badge)
        wanted.append(max(longest) + GAP_WIDTH)
    widths, room = [0.0] * len(wanted), LINE_WIDTH
    for left, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        widths[index] = min(wanted[index], room / (len(wanted) - left))
        room -= widths[index]
    return widths


def printable(text: str) -> str:
    """Return a text on one line, without control characters. Words longer than `LONGEST_WORD` can break anywhere."""
    shown = "".join(
        "�" if unicodedata.category(char)[0] == "C" else char for char in " ".join(text.split())
    )
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: "\u200b".join(word[0]), shown)


def light(drawing: str) -> str:
    """Return an SVG drawing in its light colours.

    Values replace CSS variables, and media rules are removed, since only browsers support both.
    """
    styles = re.search(r"<style>(.*?)</style>", drawing, re.DOTALL)
    if styles is None:
        return drawing
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", styles[1].partition("@media")[0]))
    rules = re.sub(r"@media[^{]*\{\s*[^{]*\{[^}]*\}\s*\}", "", styles[1])
    rules = re.sub(r"var\((--[\w-]+)\)", lambda name: colours.get(name[1], "black"), rules)
    return drawing.replace(styles[1], rules)
