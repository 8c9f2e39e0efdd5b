"""A report as JSON: the evaluation or prediction and its conclusion; plots as Vega-Lite specifications."""

from __future__ import annotations

from icmodel import __version__
from icmodel.documents import json_text
from icmodel.report.blocks import Figures
from icmodel.report.content import command
from icmodel.report.figures import figures
from icmodel.report.systems import content, tables
from icmodel.report.verdicts import conclude
from icmodel.system import SystemPrediction
from icmodel.usecase import Evaluation


def json_page(answer: Evaluation | SystemPrediction) -> str:
    """The document of ``icmodel evaluate --json`` or ``icmodel system FILE --json``, with the report's additions."""
    plots: dict[str, object] = {}
    if isinstance(answer, Evaluation):
        concluded, repeated = conclude(answer), command(answer)
        plots["plots"] = [
            {"title": figure.title, "caption": figure.caption, "spec": figure.spec}
            for block in figures(answer)
            if isinstance(block, Figures)
            for figure in block.figures
        ]
    else:
        concluded, repeated = tables.conclude(answer), content.command(answer)
    return json_text(
        {
            **answer.to_dict(),
            "answer": {"sentence": concluded.sentence, **dict(concluded.parts)},
            "reproduce": {"command": repeated, "icmodel": __version__},
            **plots,
        }
    )
