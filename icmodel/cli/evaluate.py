"""``icmodel evaluate``: a use case judged on a dataset; the exit code is the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from icmodel.cli.output import check_file, json_text, print_text
from icmodel.cli.question import (
    DEFAULT_DATASET,
    AsJson,
    DatasetName,
    NoCache,
    Output,
    VariantName,
    option,
    room,
)

app = room()

UseCaseName = Annotated[
    str, typer.Argument(metavar="USECASE", help="Bundled name or path of a TOML file.")
]
CandidateName = Annotated[
    str | None,
    option("candidate", "NAME", "Whose verdict counts.", "the use case's own"),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="What is met on assumed or extrapolated rows is undecided (exit 3)."
    ),
]

Why = Annotated[
    bool, typer.Option("--why", help="With what each verdict rests on: derivations, predictions.")
]


@app.command(short_help="A use case: met, not met or undecided.")
def evaluate(
    usecase: UseCaseName,
    *,
    dataset: DatasetName = DEFAULT_DATASET,
    variant: VariantName = None,
    candidate: CandidateName = None,
    strict: Strict = False,
    why: Why = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Judge a use case: each requirement met, not met or undecided, with margin and reason.

    All candidates of the use case are judged; the verdict and the exit code are those of its
    default or of --candidate: 0 met, 1 not met, 3 undecided. --why adds what was derived and
    predicted. A file is a whole report: .html (one page that opens offline), .md or .json.

    \b
    icmodel evaluate imaging
    icmodel evaluate imaging --candidate tcp-two-sets-of-cores -o imaging.html
    icmodel evaluate imaging --candidate tcp-two-sets-of-cores --strict
    icmodel evaluate motion-control --dataset rapidio-tsi721 --json
    icmodel evaluate my-use-case.toml --dataset path/of/my-dataset
    """  # noqa: D301
    from icmodel.report import report  # pydantic and the report, not needed by other commands
    from icmodel.report.text import evaluation_text
    from icmodel.report.writing import ENDINGS
    from icmodel.system.namesake import notes_on_system
    from icmodel.usecase import evaluate as judge

    if output is not None:
        check_file(output, ENDINGS)
    evaluation = judge(
        usecase, dataset, variant=variant, candidate=candidate, strict=strict, cache=not no_cache
    )
    made = {one.name: one for one in evaluation.derivations}
    notes = notes_on_system(evaluation.usecase, made, evaluation.candidate)
    evaluation = replace(evaluation, notes=notes)
    if output is not None:
        report(evaluation, output)
    if as_json:
        print_text(json_text(evaluation.to_dict()))
    elif output is None:
        print_text(evaluation_text(evaluation, why=why))
    else:
        told = f"{evaluation.usecase.name} on {evaluation.data.id}, variant {evaluation.variant}"
        print_text(f"{told}: {evaluation.verdict}; the report is {output}\n")
    return evaluation.exit_code
