"""Write a report: the format by the ending of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.errors import ReportError
from icmodel.files import check_place, write

if TYPE_CHECKING:
    from icmodel.usecase import Evaluation

ENDINGS = (".html", ".md", ".json")


def report(evaluation: Evaluation, path: str | Path) -> None:
    """Write the report of an evaluation: HTML, Markdown or JSON by the ending of the path.

    The same evaluation gives the same bytes; the file is written whole or not at all.

    Raises
    ------
    ReportError
        If the ending is another, or the file cannot be written.
    """
    ending = _ending(path)
    check_place(path)
    write(path, report_text(evaluation, ending).encode("utf-8"))


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        allowed = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise ReportError(f"{str(path)!r} names no kind of report: let the name end in {allowed}")
    return ending


def report_text(evaluation: Evaluation, ending: str) -> str:
    """The text of a report of one of the `ENDINGS`."""
    if ending == ".html":
        from icmodel.report.html import html_page

        return html_page(evaluation)
    if ending == ".md":
        from icmodel.report.markdown import markdown_page

        return markdown_page(evaluation)
    from icmodel.report.json import json_page

    return json_page(evaluation)
