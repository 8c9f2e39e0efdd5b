"""Write the report of any answer; the file extension selects the format."""

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

PAGE_ENDINGS = (".html", ".md", ".pdf")
ENDINGS = (*PAGE_ENDINGS, ".json", ".xlsx", ".xml")
SYSTEM_ENDINGS = (*ENDINGS, ".svg")
OTHER_ENDINGS = {"Evaluation": ENDINGS, "SystemPrediction": SYSTEM_ENDINGS}
"""Class of an answer -> file extensions of its report. Classes not listed have only `PAGE_ENDINGS`."""
PAGES = {
    "Evaluation": "icmodel.report.evaluation",
    "SystemPrediction": "icmodel.report.systems.content",
    "Comparison": "icmodel.report.interconnects",
    "Recommendation": "icmodel.report.recommendation",
    "Validation": "icmodel.report.validation",
}
"""Class of an answer -> module whose function ``page`` makes its report; it is imported when needed."""


def report(answer: Answer, path: str | Path, masthead: Masthead = PLAIN) -> None:
    """Write the report of an answer: first page and appendix. The extension of the file selects the format.

    The report of a system has a drawing: inside an HTML or PDF file, or beside a Markdown file as ``.svg`` of the same
    name. For a system, ``.svg`` is the drawing alone. ``.xml`` is JUnit XML: the requirements as test cases for a CI
    server. The same answer gives the same bytes, and each file is written atomically.

    Parameters
    ----------
    answer : Evaluation, SystemPrediction, Comparison, Recommendation or Validation
        Answer returned by `icmodel.evaluate`, a system's ``predict``, `icmodel.recommend`, ``compare_interconnects`` or
        ``validate``.
    path : str or Path
        File to write, in an existing folder: ``.html``, ``.md`` or ``.pdf``; for an evaluation and a system also
        ``.json``, ``.xlsx`` and ``.xml``, for a system also ``.svg``.
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
    kind = type(answer).__name__
    endings = OTHER_ENDINGS.get(kind, PAGE_ENDINGS)
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise ReportError(
            f"unsupported report format in {str(path)!r}: end the name in "
            f"{', '.join(endings[:-1])} or {endings[-1]}"
        )
    check_place(path)
    if ending == ".xlsx":
        from icmodel.sheets import document_pages, write_pages

        write_pages(document_pages(answer.to_dict()), path)  # type: ignore[union-attr]
        return
    content = report_bytes(answer, Path(path).name, masthead)
    if ending == ".md" and ".svg" in endings:
        picture = Path(path).with_suffix(".svg")
        write(picture, report_bytes(answer, picture.name))
    write(path, content)


def report_bytes(answer: Answer, file: str, masthead: Masthead = PLAIN) -> bytes:
    """Return the bytes of a report. The extension of ``file`` selects the format."""
    from icmodel.report.html import html_text
    from icmodel.report.markdown import markdown_text

    ending = Path(file).suffix.lower()
    if ending == ".json":
        return json_page(answer).encode("utf-8")  # type: ignore[arg-type]
    if ending == ".xml":
        from icmodel.report.junit import junit_text

        return junit_text(answer).encode("utf-8")  # type: ignore[arg-type]
    if ending == ".svg":
        from icmodel.report.systems.drawing import system_svg

        return system_svg(answer).encode("utf-8")  # type: ignore[arg-type]
    page = page_of(answer, masthead, file)
    if ending == ".pdf":
        from icmodel.report.pdf import pdf_bytes

        return pdf_bytes(page)
    return (html_text(page) if ending == ".html" else markdown_text(page)).encode("utf-8")


def page_of(answer: Answer, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report page of an answer.

    ``file`` is the name of the report's file, or empty for a default name.

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
