"""Report of an evaluation of a use case: first page and appendix."""

from __future__ import annotations

from collections.abc import Iterator

from icmodel import __version__
from icmodel.report.blocks import Page, filled_sections
from icmodel.report.figures import figures
from icmodel.report.front import command, front
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.predictions import limits, predictions, reasons, rows, sources
from icmodel.report.verdicts import conclude, required, verdicts
from icmodel.usecase import Evaluation, usecase_names


def page(evaluation: Evaluation, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the whole report of an evaluation of a use case.

    Parameters
    ----------
    file : str
        Name of the report's file, for the command that repeats the report.
    """
    case, data = evaluation.usecase, evaluation.data
    plots = tuple(figures(evaluation))
    line = command(words(evaluation), masthead, file or f"{case.name}.html")
    sections = (
        ("verdicts", "Verdicts", verdicts(evaluation)),
        ("limits", "Limits of validity", limits(evaluation)),
        ("requirements", "What is required", required(evaluation)),
        ("predictions", "Predictions", predictions(evaluation)),
        ("reasons", "Why", reasons(evaluation)),
        ("plots", "Plots", plots),
        ("rows", "Dataset rows used", rows(evaluation)),
        ("sources", "Sources", sources(evaluation)),
    )
    return Page(
        title=case.title,
        question=case.question,
        basis=f"{data.title} ({data.id}), variant {evaluation.variant}",
        answer=conclude(evaluation),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=front(evaluation, plots, line),
        masthead=masthead,
    )


def words(evaluation: Evaluation) -> Iterator[str]:
    """Yield the words of the ``icmodel`` command line that repeats this evaluation."""
    file, name = evaluation.file, evaluation.usecase.name
    name = name if name in usecase_names() else f"{name}.toml"
    yield from ("evaluate", name if file is None else file.name)
    yield from ("--dataset", evaluation.data.reference, "--variant", evaluation.variant)
    yield from ("--candidate", evaluation.candidate)
    if evaluation.strict:
        yield "--strict"
