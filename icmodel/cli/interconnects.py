"""``icmodel compare --usecase``: a use case on every interconnect; the exit code is the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    hanging,
    progress_bar,
    write_text,
)
from icmodel.errors import ScenarioError

if TYPE_CHECKING:
    from icmodel.interconnects import Comparison


def compare_usecase(
    usecase: str,
    datasets: list[str],
    *,
    why: bool,
    cache: bool,
    as_json: bool,
    output: Path | None,
) -> int:
    """Print or write the comparison of a use case on every interconnect; returns the exit code."""
    from icmodel.interconnects import compare_interconnects  # models, not needed by other commands
    from icmodel.report.interconnects import comparison_markdown

    if output is not None:
        check_file(output, (".txt", ".json", ".csv", ".md"))
    with progress_bar("comparing") as watch:
        found = compare_interconnects(usecase, datasets or None, watch, cache=cache)
    answer = Answer(
        sections=lambda: _sections(found, why=why),
        document=found.to_dict,
        records=lambda: _records(found),
        files={".md": lambda path: write_text(path, comparison_markdown(found))},
    )
    emit(answer, as_json=as_json, output=output)
    return found.exit_code


def refuse_beside(given: dict[str, object]) -> None:
    """Refuse options that the use case already determines.

    Raises
    ------
    ScenarioError
        Naming the first such option.
    """
    for name, value in given.items():
        if value:
            raise ScenarioError(
                f"--{name.replace('_', '-')} is given beside --usecase, which asks its own "
                "questions: leave it out, or leave --usecase out"
            )


def _sections(found: Comparison, *, why: bool) -> Iterator[Section]:
    from icmodel.report import interconnects as words

    yield Section("", hanging(words.headline(found)))
    rows = tuple(words.row_cells(row) for row in found.rows)
    yield Section("", Table(words.COLUMNS, rows))
    if told := words.measurements(found):
        yield Section("what would decide", hanging(told))
    yield Section("how it was made", hanging(words.RULES))
    if not why:
        yield Section("", ("who answers for each link, who else does, and why: --why",))
        return
    for row in found.rows:
        heading = f"{words.link_name(row)}: {row.outcome}"
        yield Section(heading, hanging(words.reasons(row)))


def _records(found: Comparison) -> Iterator[dict[str, object]]:
    """One line a link."""
    for row in found.rows:
        told = row.to_dict()
        source = row.source
        kept = ("source", "others", "silent", "measurements")
        flat = {name: value for name, value in told.items() if name not in kept}
        yield {
            **flat,
            "dataset": source.dataset,
            "choice": source.result.description,
            "measurements": "; ".join(row.measurements),
        }
