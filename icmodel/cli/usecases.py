"""``icmodel usecases``: list use cases, show one, or start your own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel.cli.options import AsJson, Output, make_app, question_text
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    bullets,
    emit,
    listing,
    write_new,
)
from icmodel.questions.showing import usecase_document, usecase_entry

if TYPE_CHECKING:
    from icmodel.usecase import UseCase

app = make_app()

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of a bundled use case or path of a TOML file."),
]
NewName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name of the use case: lower-case letters, digits, hyphens."
    ),
]


@app.callback(short_help="List, show and start use cases.")
def usecases() -> None:
    """List and show use cases, and start your own.

    A use case is a TOML file with data sources, their streams, requirements and candidates (protocols
    with their settings).

    \b
    icmodel usecases list
    icmodel usecases show imaging
    icmodel usecases new my-use-case
    """  # noqa: D301


@app.command("list", short_help="List the bundled use cases.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled use cases with their questions and candidates.

    \b
    icmodel usecases list
    icmodel usecases list --json
    """  # noqa: D301
    from icmodel.usecase import load_usecase, usecase_names  # pydantic, needed only here

    entries = []
    rows = []
    for case in map(load_usecase, usecase_names()):
        entries.append(usecase_entry(case))
        candidates = ", ".join(candidate.name for candidate in case.candidates)
        rows.append((case.name, case.question, candidates))
    table = Table(("use case", "question", "candidates"), tuple(rows))
    emit(listing("usecases", entries, table), as_json=as_json, output=output)


@app.command(short_help="Show a use case and its derived numbers.")
def show(name: Name, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show a use case: its question, derived numbers, requirements and candidates.

    Nothing is predicted; `icmodel evaluate` predicts.

    \b
    icmodel usecases show imaging
    icmodel usecases show my-use-case.toml --json
    """  # noqa: D301
    from icmodel.usecase import load_usecase

    case = load_usecase(name)
    answer = Answer(
        sections=lambda: usecase_sections(case), document=lambda: usecase_document(case)
    )
    emit(answer, as_json=as_json, output=output)


def usecase_sections(case: UseCase) -> Iterator[Section]:
    """Yield the tables of ``icmodel usecases show``: derived numbers, requirements, candidates and limits."""
    from icmodel.usecase import derive

    citation = (case.citation,) if case.citation else ()
    facts = (case.question, f"source: {case.source}", *citation)
    yield Section(f"{case.name}: {case.title}", facts)

    derived = tuple((d.name, d.text, d.formula, d.meaning) for d in derive(case).values())
    yield Section("derived numbers", Table(("number", "value", "formula", "meaning"), derived))

    limits = tuple(
        (
            limit.name,
            limit.stream or "",
            limit.metric,
            f"at least {limit.at_least}" if limit.at_least else f"at most {limit.at_most}",
            limit.kind,
        )
        for limit in case.requirements
    )
    columns = ("requirement", "stream", "metric", "limit", "kind")
    yield Section("requirements", Table(columns, limits))

    candidates = tuple(
        (
            f"{one.name} (default)" if one.name == case.default_candidate else one.name,
            stream,
            question_text(asked.scenario()),
        )
        for one in case.candidates
        for stream, asked in one.scenarios.items()
    )
    yield Section("candidates", Table(("candidate", "stream", "question"), candidates))
    if case.known_limits:
        yield Section("known limits", bullets(case.known_limits))


@app.command(short_help="Start your own use case.")
def new(name: NewName, *, output: Output = None) -> None:
    """Write a commented use case to start from, as NAME.toml or as the file of -o.

    The new use case can be evaluated unchanged. An existing file is never overwritten.

    \b
    icmodel usecases new my-use-case
    icmodel usecases new my-use-case -o plans/first.toml
    """  # noqa: D301
    from icmodel.usecase import new_usecase_text

    write_new(output or Path(f"{name}.toml"), new_usecase_text(name), "evaluate")
