"""Write the report of any answer as HTML, Markdown, PDF, JSON, XLSX or JUnit XML.

An answer makes a `Page` of blocks (`blocks`), and a renderer writes the page (`html`, `markdown`, `pdf`, `text`).
Each kind of answer has its own module, such as `evaluation` or `system`; see `PAGES`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from icmodel.documents import check_place, write
from icmodel.errors import ReportError
from icmodel.report.masthead import PLAIN, Masthead

if TYPE_CHECKING:
    from icmodel.interconnects import Comparison
    from icmodel.recommend import Recommendation
    from icmodel.report.blocks import Page
    from icmodel.system import SystemPrediction
    from icmodel.usecase import Evaluation
    from icmodel.validate import Validation

    Answer: TypeAlias = Evaluation | SystemPrediction | Comparison | Recommendation | Validation

__all__ = ["report"]


def report(answer: Answer, path: str | Path, masthead: Masthead = PLAIN) -> None:
    """Write the report of an answer: a first page and an appendix. The file extension selects the format.

    The report of a system has a drawing. HTML and PDF files contain the drawing; a Markdown file links to an SVG file of
    the same name. The extension ``.svg`` writes the drawing alone. The extension ``.xml`` writes JUnit XML for CI
    servers, with a test case for each requirement. The same answer gives the same bytes. Each file is written
    atomically.

    Parameters
    ----------
    answer : Evaluation, SystemPrediction, Comparison, Recommendation or Validation
        Answer of `icmodel.evaluate`, `icmodel.system.predict`, ``compare_interconnects``, `icmodel.recommend` or
        ``validate``.
    path : str or Path
        File to write, in an existing folder: ``.html``, ``.md`` or ``.pdf``. Evaluations and systems also have
        ``.json``, ``.xlsx`` and ``.xml``; systems also have ``.svg``.
    masthead : Masthead
        Author, project, revision, date and house style; see `icmodel.report.masthead.masthead`.

    Raises
    ------
    ReportError
        If the extension is not supported, typst is missing for a PDF, or the file cannot be written.

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
    extensions = EXTENSIONS.get(type(answer).__name__, PAGE_FILES)
    extension = Path(path).suffix.lower()
    if extension not in extensions:
        raise ReportError(
            f"unsupported report format in {str(path)!r}: end the name in "
            f"{', '.join(extensions[:-1])} or {extensions[-1]}"
        )
    check_place(path)
    if extension == ".xlsx":
        from icmodel.sheets import document_pages, write_pages

        write_pages(document_pages(answer.to_dict()), path)  # type: ignore[union-attr]
        return
    content = report_bytes(answer, Path(path).name, masthead)
    if extension == ".md" and ".svg" in extensions:
        picture = Path(path).with_suffix(".svg")
        write(picture, report_bytes(answer, picture.name))
    write(path, content)


PAGE_FILES = (".html", ".md", ".pdf")
EVALUATION_FILES = (*PAGE_FILES, ".json", ".xlsx", ".xml")
SYSTEM_FILES = (*EVALUATION_FILES, ".svg")
EXTENSIONS = {"Evaluation": EVALUATION_FILES, "SystemPrediction": SYSTEM_FILES}
"""Class of an answer -> file extensions of its report. Other classes have `PAGE_FILES`."""


def report_bytes(answer: Answer, file: str, masthead: Masthead = PLAIN) -> bytes:
    """Return the bytes of a report. The extension of ``file`` selects the format."""
    from icmodel.report.html import html_text
    from icmodel.report.markdown import markdown_text

    extension = Path(file).suffix.lower()
    if extension == ".json":
        return json_page(answer).encode("utf-8")  # type: ignore[arg-type]
    if extension == ".xml":
        from icmodel.report.junit import junit_text

        return junit_text(answer).encode("utf-8")  # type: ignore[arg-type]
    if extension == ".svg":
        from icmodel.report.system_drawing import system_svg

        return system_svg(answer).encode("utf-8")  # type: ignore[arg-type]
    page = page_of(answer, masthead, file)
    if extension == ".pdf":
        from icmodel.report.pdf import pdf_bytes

        return pdf_bytes(page)
    return (html_text(page) if extension == ".html" else markdown_text(page)).encode("utf-8")


PAGES = {
    "Evaluation": "icmodel.report.evaluation",
    "SystemPrediction": "icmodel.report.system",
    "Comparison": "icmodel.report.interconnects",
    "Recommendation": "icmodel.report.recommendation",
    "Validation": "icmodel.report.validation",
}
"""Class of an answer -> module with the function ``page`` for its report. The module is imported when needed."""


def page_of(answer: Answer, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report page of an answer.

    Parameters
    ----------
    file : str
        Name of the report's file; empty for a default name.

    Raises
    ------
    ReportError
        If answers of this kind have no report.
    """
    kind = type(answer).__name__
    if kind not in PAGES:
        raise ReportError(f"a {kind} has no report: give one of {', '.join(sorted(PAGES))}")
    page: Page = import_module(PAGES[kind]).page(answer, masthead, file)
    return page


def json_page(answer: Evaluation | SystemPrediction) -> str:
    """Return the JSON document of an answer, with conclusion, command line and plots added.

    Plots are Vega-Lite specifications; only an evaluation has plots.
    """
    from icmodel import __version__
    from icmodel.documents import json_text
    from icmodel.report.blocks import Figures

    page = page_of(answer)
    document = answer.to_dict()
    document["answer"] = {"sentence": page.answer.sentence, **dict(page.answer.parts)}
    line = dict(page.front.repeat)["command"] if page.front is not None else ""
    document["reproduce"] = {"command": line, "icmodel": __version__}
    plots = [
        {"title": figure.title, "caption": figure.caption, "spec": figure.spec}
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Figures)
        for figure in block.figures
    ]
    if type(answer).__name__ == "Evaluation":
        document["plots"] = plots
    return json_text(document)
