"""Write a report of an evaluation or a system; the file extension selects the format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.errors import ReportError
from icmodel.files import check_place, write

if TYPE_CHECKING:
    from icmodel.system import SystemPrediction
    from icmodel.usecase import Evaluation

ENDINGS = (".html", ".md", ".json", ".xml")
SYSTEM_ENDINGS = (*ENDINGS, ".svg")


def report(answer: Evaluation | SystemPrediction, path: str | Path) -> None:
    """Write the report of an evaluation or of a predicted system as HTML, Markdown, JSON or JUnit XML.

    The extension of the file selects the format.  The report of a system has a drawing: inside an HTML file,
    or beside a Markdown file as ``.svg`` of the same name.  For a system, ``.svg`` writes the drawing
    alone.  ``.xml`` has the requirements as test cases for a CI server.  The same answer gives the same bytes; each file is written atomically.

    Parameters
    ----------
    answer : Evaluation or SystemPrediction
        Answer of `icmodel.evaluate` or of a system's ``predict``.
    path : str or Path
        File to write, in an existing folder: ``.html``, ``.md``, ``.json`` or ``.xml``; for a system also
        ``.svg``.

    Raises
    ------
    ReportError
        If the extension is not supported, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import icmodel
    >>> from icmodel.system import load, predict
    >>> prediction = predict(load("lab-udp-overload"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     icmodel.report(prediction, Path(folder) / "overload.md")
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['overload.md', 'overload.svg']
    """
    from icmodel.usecase import Evaluation  # imports pydantic, which is loaded by now

    of_usecase = isinstance(answer, Evaluation)
    endings = ENDINGS if of_usecase else SYSTEM_ENDINGS
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise ReportError(
            f"{str(path)!r} has no extension of a report: end the name in "
            f"{', '.join(endings[:-1])} or {endings[-1]}"
        )
    check_place(path)
    picture = Path(path).with_suffix(".svg")
    if ending == ".md" and not of_usecase:
        write(picture, report_text(answer, ".svg").encode("utf-8"))
    write(path, report_text(answer, ending, picture.name).encode("utf-8"))


def report_text(answer: Evaluation | SystemPrediction, ending: str, picture: str = "") -> str:
    """Return the text of a report in the format of a file extension.

    Parameters
    ----------
    ending : str
        File extension: one of `ENDINGS`, or for a system one of `SYSTEM_ENDINGS`.
    picture : str
        File name of the drawing, to which the Markdown report of a system refers.
    """
    from icmodel.report import content, html, junit, markdown
    from icmodel.report.systems import content as of_system
    from icmodel.report.systems.drawing import system_svg
    from icmodel.usecase import Evaluation

    if ending == ".json":
        return json_page(answer)
    if ending == ".xml":
        return junit.junit_text(answer)
    if isinstance(answer, Evaluation):
        page = content.page(answer)
    elif ending == ".svg":
        return system_svg(answer)
    else:
        page = of_system.page(answer, picture)
    return html.html_text(page) if ending == ".html" else markdown.markdown_text(page)


def json_page(answer: Evaluation | SystemPrediction) -> str:
    """Return the document of ``--json`` with conclusion, command and plots added.

    The document is that of ``evaluate --json`` or ``system FILE --json``.  Plots are Vega-Lite specifications; a system
    has no plots.
    """
    from icmodel import __version__
    from icmodel.documents import json_text
    from icmodel.report import content, verdicts
    from icmodel.report.blocks import Figures
    from icmodel.report.figures import figures
    from icmodel.report.systems import content as of_system
    from icmodel.report.systems import tables
    from icmodel.usecase import Evaluation

    plots: dict[str, object] = {}
    if isinstance(answer, Evaluation):
        concluded, repeated = verdicts.conclude(answer), content.command(answer)
        plots["plots"] = [
            {"title": figure.title, "caption": figure.caption, "spec": figure.spec}
            for block in figures(answer)
            if isinstance(block, Figures)
            for figure in block.figures
        ]
    else:
        concluded, repeated = tables.conclude(answer), of_system.command(answer)
    return json_text(
        {
            **answer.to_dict(),
            "answer": {"sentence": concluded.sentence, **dict(concluded.parts)},
            "reproduce": {"command": repeated, "icmodel": __version__},
            **plots,
        }
    )
