"""A report as JSON: the evaluation or prediction and its conclusion; plots as Vega-Lite specifications."""

from __future__ import annotations

import json

from icmodel import __version__
from icmodel.report.blocks import Figures
from icmodel.report.conclusion import conclude
from icmodel.report.content import command
from icmodel.report.figures import figures
from icmodel.report.systems import conclusion, content
from icmodel.system import SystemPrediction
from icmodel.usecase import Evaluation


def json_page(evaluation: Evaluation) -> str:
    """The document of ``icmodel evaluate --json``, with the report's additions."""
    answer = conclude(evaluation)
    plots = [
        {"title": figure.title, "caption": figure.caption, "spec": figure.spec}
        for block in figures(evaluation)
        if isinstance(block, Figures)
        for figure in block.figures
    ]
    document = {
        **evaluation.to_dict(),
        "answer": {"sentence": answer.sentence, **dict(answer.parts)},
        "reproduce": {"command": command(evaluation), "icmodel": __version__},
        "plots": plots,
    }
    return _text(document)


def system_json(found: SystemPrediction) -> str:
    """The document of ``icmodel system FILE --json``, with the report's additions."""
    answer = conclusion.conclude(found)
    document = {
        **found.to_dict(),
        "answer": {"sentence": answer.sentence, **dict(answer.parts)},
        "reproduce": {"command": content.command(found), "icmodel": __version__},
    }
    return _text(document)


def _text(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
