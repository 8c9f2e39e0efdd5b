"""``icmodel usecases``: list use cases, show one, start one of your own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel.cli.output import Answer, Section, Table, emit, listing, print_text, write_text
from icmodel.cli.question import AsJson, Output, question_text, room
from icmodel.errors import UseCaseError
from icmodel.files import replacing

if TYPE_CHECKING:
    from icmodel.usecase import UseCase

app = room()

Name = Annotated[str, typer.Argument(metavar="NAME", help="Bundled name or path of a TOML file.")]
NewName = Annotated[
    str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and hyphens.")
]


@app.callback(short_help="List, show and start use cases.")
def usecases() -> None:
    """List and show use cases, and start one of your own.

    A use case is a TOML file: streams by what produces them, requirements, candidates.

    \b
    icmodel usecases list
    icmodel usecases show imaging
    icmodel usecases new my-use-case
    """  # noqa: D301


@app.command("list", short_help="The bundled use cases.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled use cases with their questions and candidates.

    \b
    icmodel usecases list
    icmodel usecases list --json
    """  # noqa: D301
    from icmodel.usecase import load_usecase, usecase_names  # pydantic, needed only here

    found = [load_usecase(name) for name in usecase_names()]
    rows = tuple(
        (case.name, case.question, ", ".join(one.name for one in case.candidates)) for case in found
    )
    table = Table(("use case", "question", "candidates"), rows)
    answer = listing("usecases", list(map(_entry, found)), table)
    emit(answer, as_json=as_json, output=output)


def _entry(case: UseCase) -> dict[str, object]:
    return {
        "name": case.name,
        "title": case.title,
        "question": case.question,
        "candidates": [candidate.name for candidate in case.candidates],
    }


@app.command(short_help="What a use case derives and requires.")
def show(name: Name, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show a use case: its question, the numbers that follow from it, requirements, candidates.

    Nothing is predicted: `icmodel evaluate` does that.

    \b
    icmodel usecases show imaging
    icmodel usecases show my-use-case.toml --json
    """  # noqa: D301
    from icmodel.usecase import load_usecase

    case = load_usecase(name)
    answer = Answer(sections=lambda: _shown(case), document=lambda: _document(case))
    emit(answer, as_json=as_json, output=output)


def _shown(case: UseCase) -> Iterator[Section]:
    from icmodel.usecase import derive

    said = (case.question, f"source: {case.source}", *filter(None, (case.citation,)))
    yield Section(f"{case.name}: {case.title}", said)
    rows = tuple((d.name, d.text, d.formula, d.meaning) for d in derive(case).values())
    yield Section("what follows", Table(("number", "value", "formula", "meaning"), rows))
    yield Section("requirements", _requirements(case))
    yield Section("candidates", _candidates(case))
    if case.known_limits:
        yield Section("known limits", tuple(f"- {limit}" for limit in case.known_limits))


def _requirements(case: UseCase) -> Table:
    rows = tuple(
        (
            limit.name,
            limit.stream or "",
            limit.metric,
            f"at least {limit.at_least}" if limit.at_least else f"at most {limit.at_most}",
            limit.kind,
        )
        for limit in case.requirements
    )
    return Table(("requirement", "stream", "metric", "limit", "kind"), rows)


def _candidates(case: UseCase) -> Table:
    rows = tuple(
        (
            f"{one.name} (default)" if one.name == case.default_candidate else one.name,
            stream,
            question_text(asked.scenario()),
        )
        for one in case.candidates
        for stream, asked in one.scenarios.items()
    )
    return Table(("candidate", "stream", "question"), rows)


def _document(case: UseCase) -> dict[str, object]:
    from icmodel.usecase import derive

    derivations = [derivation.to_dict() for derivation in derive(case).values()]
    return {**case.model_dump(mode="json"), "derivations": derivations}


@app.command(short_help="Start a use case of your own.")
def new(name: NewName, *, output: Output = None) -> None:
    """Write a commented use case to start from: NAME.toml, or the file that -o names.

    It evaluates as it stands; a file that exists is never overwritten.

    \b
    icmodel usecases new my-use-case
    icmodel usecases new my-use-case -o plans/first.toml
    """  # noqa: D301
    from icmodel.usecase import new_usecase_text

    text = new_usecase_text(name)
    path = output or Path(f"{name}.toml")
    if path.exists():
        raise UseCaseError(f"{path} is there already: choose another name, or name a file with -o")
    with replacing(path) as beside:
        write_text(beside, text)
    print_text(f"{path}: edit it, then run `icmodel evaluate {path}`\n")
