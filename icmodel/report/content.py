"""The page of an evaluation's report, conclusion first."""

from __future__ import annotations

import shlex

from icmodel import __version__
from icmodel.dataset import catalogue
from icmodel.report.blocks import Facts, Page, Section
from icmodel.report.figures import figures
from icmodel.report.predictions import limits, predictions, reasons, rows, sources
from icmodel.report.verdicts import conclude, required, verdicts
from icmodel.usecase import Evaluation, usecase_names


def page(evaluation: Evaluation) -> Page:
    """Make the whole report of an evaluation."""
    case, data = evaluation.usecase, evaluation.data
    repeat = Facts(
        (
            ("command", command(evaluation)),
            ("dataset", data.id),
            ("sha256 of its points", data.sha256),
            ("variant", evaluation.variant),
            ("icmodel", __version__),
        ),
        code=True,
    )
    sections = (
        ("verdicts", "Verdicts", verdicts(evaluation)),
        ("limits", "Limits of validity", limits(evaluation)),
        ("requirements", "What is required", required(evaluation)),
        ("predictions", "Predictions", predictions(evaluation)),
        ("reasons", "Why", reasons(evaluation)),
        ("plots", "Plots", figures(evaluation)),
        ("rows", "What it rests on", rows(evaluation)),
        ("sources", "Sources", sources(evaluation)),
        ("again", "To do it again", [repeat]),
    )
    return Page(
        title=case.title,
        question=case.question,
        basis=f"{data.title} ({data.id}), variant {evaluation.variant}",
        answer=conclude(evaluation),
        sections=tuple(Section(anchor, title, tuple(blocks)) for anchor, title, blocks in sections),
        made_by=f"icmodel {__version__}",
    )


def command(evaluation: Evaluation) -> str:
    """Return the command that repeats this evaluation; files are named without their folders."""
    case, data = evaluation.usecase, evaluation.data
    own = "" if case.name in usecase_names() else ".toml"
    words = ["icmodel", "evaluate", f"{case.name}{own}"]
    words += ["--dataset", data.id if data.id in catalogue() else data.folder.name]
    words += ["--variant", evaluation.variant, "--candidate", evaluation.candidate]
    words += ["--strict"] if evaluation.strict else []
    return shlex.join([*words, "-o", f"{case.name}.html"])
