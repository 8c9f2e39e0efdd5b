"""Sheets of a living workbook that explain it: the rows behind the tables, notes and sources."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from icmodel import __version__
from icmodel.dataset.dataset import PROMISED
from icmodel.dataset.rows import AXES, REST
from icmodel.scenario import Options
from icmodel.sheets.calculation import write_row
from icmodel.sheets.lookup import VARIANT, Lookup

ROWS, NOTES = "rows", "notes"
"""Names of the sheets with the dataset rows and with the notes."""


HOW_TO_READ = (
    (
        "how to read",
        "Value is the expected result. Low and high are the ends of the 90 % interval for one new run on the hosts of the dataset.",
    ),
    (
        "",
        "Basis is the weakest kind of evidence behind a number: measured, tabulated, stated, theory, derived, interpolated, assumed or extrapolated.",
    ),
    (
        "",
        "Limited by is the bottleneck: the request, the cpu, the packet-rate of the interface, the wire, the share of a shared interface, or the receiver.",
    ),
    (
        "",
        "A verdict is met if the whole interval is on the right side of the limit, not met if the whole interval is on the wrong side, and undecided otherwise.",
    ),
    (
        "",
        "A latency is never met while less passes than is requested: frames then wait without limit.",
    ),
    (
        "how it works",
        "The calculation sheet holds one question in each row: row 3 is that of the question sheet, the others are the payloads of the chart. Each step is one column.",
    ),
    (
        "",
        "The tables sheet holds a polynomial for each range of payload and load; the configurations sheet says which surface answers for which protocol, cores and switches.",
    ),
    (
        "",
        "To answer many questions, copy row 3 of the calculation sheet down and type over its first nine columns.",
    ),
    (
        "left out",
        "This workbook has no packet rates, no processor time by mode, and no work of an application. Extrapolation, other hosts and message times need icmodel.",
    ),
)
"""Heading and text of each note about any workbook."""


def write_rows(book: Any, found: Lookup, options: Options) -> None:
    """Add the sheet of the dataset rows behind the look-up tables, with their sources."""
    data, page, bold = found.data, book.add_worksheet(ROWS), book.add_format({"bold": True})
    head = (*AXES, *data.option_axes, *REST)
    for place, name in enumerate(head):
        page.write_string(0, place, name, bold)
    points = [p for name in found.answered for p in data.select(name, options)]
    for line, point in enumerate(points, 1):
        cells = [
            *(getattr(point, name) for name in AXES),
            *point.options,
            *(getattr(point, name) for name in REST),
        ]
        write_row(page, line, ["unlimited" if cell == math.inf else cell for cell in cells])
    page.freeze_panes(1, 0)
    page.set_column(0, len(head) - 2, 14)
    page.set_column(len(head) - 1, len(head) - 1, 80)
    page.autofilter(0, 0, max(len(points), 1), len(head) - 1)


def write_notes(book: Any, found: Lookup, options: Options) -> None:
    """Add the sheet of notes: how to read the workbook, and the sources of its numbers."""
    page, bold = book.add_worksheet(NOTES), book.add_format({"bold": True})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    page.set_column(0, 0, 24)
    page.set_column(1, 1, 120)
    for line, (what, words) in enumerate((*HOW_TO_READ, *source_notes(found, options))):
        page.write_string(line, 0, what, bold)
        page.write_string(line, 1, words, wrapped)


def source_notes(found: Lookup, options: Options) -> Iterator[tuple[str, str]]:
    """Yield the heading and the text of each note about the sources of a workbook."""
    data = found.data
    yield "dataset", f"{data.id}: {data.title}"
    edition = data.document.get("edition")
    if edition is not None:
        yield "edition", str(edition)
    yield "sha256 of its rows", data.sha256
    yield "variant", f"{VARIANT} of icmodel {__version__}"
    named = ", ".join(f"{axis} = {value}" for axis, value in data.option_defaults.items() if value)
    changed = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    if named or changed:
        yield "options", changed or f"defaults: {named}"
    for protocol, reason in found.refused.items():
        yield f"without {protocol}", reason
    yield "citation", data.citation
    yield "licence", data.licence
    for limit in data.known_limits:
        yield "known limit", limit
    yield "measuring program", data.whose
    shares = [
        f"{name} {100 * held.share:.0f} % of {held.rows}"
        for name, held in data.held.get(VARIANT, {}).items()
        if held.share < PROMISED[0]
    ]
    if shares:
        yield (
            "coverage",
            f"intervals cover less than 90 %: of the rows left out of {VARIANT} they held {', '.join(shares)}",
        )
