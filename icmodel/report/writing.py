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
    picture = Path(path).with_suffix(".svg")
    if ending == ".md" and not of_usecase:
        write(picture, report_text(answer, ".svg").encode("utf-8"))
    write(path, report_text(answer, ending, picture.name).encode("utf-8"))


def _ending(path: str | Path, endings: tuple[str, ...]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        allowed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise ReportError(f"{str(path)!r} names no kind of report: let the name end in {allowed}")
    return ending


def report_text(answer: Evaluation | SystemPrediction, ending: str, picture: str = "") -> str:
    """The text of a report with one of the endings; Markdown of a system shows the file ``picture``."""
    from icmodel.report import content, html, json, markdown
    from icmodel.report.systems import content as of_system
    from icmodel.report.systems.drawing import system_svg
    from icmodel.usecase import Evaluation

    if ending == ".json":
        return json.json_page(answer)
    if isinstance(answer, Evaluation):
        page = content.page(answer)
    elif ending == ".svg":
        return system_svg(answer)
    else:
        page = of_system.page(answer, picture)
    return html.html_text(page) if ending == ".html" else markdown.markdown_text(page)
