"""Requirements in a report: the limits, and their derivation from the use case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from icmodel.report.blocks import Block, Cell, Table
from icmodel.report.conclusion import limit_text
from icmodel.usecase import Derivation, Evaluation, Finding
from icmodel.wording import metric_name, plural


def required(evaluation: Evaluation) -> Iterator[Block]:
    """The requirements, and every number that follows from the use case alone."""
    findings = evaluation.chosen.findings
    yield Table(
        "What must hold",
        ("requirement", "of", "limit", "kind", "source"),
        tuple(_requirement(finding) for finding in findings),
    )
    yield derivation_table("How the limits follow from the use case", evaluation.derivations)


def _requirement(finding: Finding) -> tuple[Cell, ...]:
    wanted = finding.verdict.requirement
    return (
        Cell(wanted.name),
        Cell(metric_name(wanted.metric), note=about(finding)),
        Cell(limit_text(finding.verdict)),
        Cell(wanted.kind),
        Cell(wanted.source),
    )


def about(finding: Finding) -> str:
    """The stream or device of a requirement."""
    if finding.device:
        return f"{finding.device}, {plural(finding.streams, 'stream')} {finding.stream}"
    return finding.stream


def derivation_table(caption: str, derivations: Iterable[Derivation]) -> Table:
    """Derived numbers with their formulas."""
    rows = tuple(
        (Cell(one.meaning, name=one.name), Cell(one.formula), Cell(one.text)) for one in derivations
    )
    return Table(caption, ("number", "formula", "#value"), rows)
