"""Write a report: the content by what is reported, the format by the ending of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.errors import ReportError
from icmodel.files import check_place, write

if TYPE_CHECKING:
    from icmodel.system import SystemPrediction
    from icmodel.usecase import Evaluation

ENDINGS = (".html", ".md", ".json")
SYSTEM_ENDINGS = (*ENDINGS, ".svg")


def report(answer: Evaluation | SystemPrediction, path: str | Path) -> None:
    """Write the report of an evaluation or of a predicted system: HTML, Markdown or JSON by the path's ending.

    A system is drawn: inside HTML; as a file of its own for ``.svg``; for Markdown in a file of the
    same name with that ending. The same answer gives the same bytes; each file is written atomically.

    Raises
    ------
    ReportError
        If the ending is another, or the file cannot be written.
    """
    from icmodel.usecase import Evaluation  # pydantic, here with whoever has an answer

    of_usecase = isinstance(answer, Evaluation)
    ending = _ending(path, ENDINGS if of_usecase else SYSTEM_ENDINGS)
    check_place(path)
    if isinstance(answer, Evaluation):
        write(path, report_text(answer, ending).encode("utf-8"))
        return
    picture = Path(path).with_suffix(".svg")
    if ending == ".md":
        write(picture, system_text(answer, ".svg", picture.name).encode("utf-8"))
    write(path, system_text(answer, ending, picture.name).encode("utf-8"))


def _ending(path: str | Path, endings: tuple[str, ...]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        allowed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise ReportError(f"{str(path)!r} names no kind of report: let the name end in {allowed}")
    return ending


def report_text(evaluation: Evaluation, ending: str) -> str:
    """The text of an evaluation's report of one of the `ENDINGS`."""
    if ending == ".html":
        from icmodel.report.html import html_page

        return html_page(evaluation)
    if ending == ".md":
        from icmodel.report.markdown import markdown_page

        return markdown_page(evaluation)
    from icmodel.report.json import json_page

    return json_page(evaluation)


def system_text(found: SystemPrediction, ending: str, picture: str) -> str:
    """The text of a system's report of one of the `SYSTEM_ENDINGS`; Markdown shows the file `picture`."""
    if ending == ".svg":
        from icmodel.report.systems.drawing import system_svg

        return system_svg(found)
    if ending == ".json":
        from icmodel.report.json import system_json

        return system_json(found)
    from icmodel.report.systems.content import page

    content = page(found, picture)
    if ending == ".html":
        from icmodel.report.html import html_text

        return html_text(content)
    from icmodel.report.markdown import markdown_text

    return markdown_text(content)
