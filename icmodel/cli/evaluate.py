"""``icmodel evaluate``: judge a use case on a dataset. The exit code is the verdict."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import Annotated

import typer

from icmodel.cli.against import Against, Update, earlier_result, emit_judged
from icmodel.cli.options import (
    AsJson,
    DatasetName,
    MastheadChoice,
    NoCache,
    Output,
    VariantName,
    make_app,
    option,
    with_masthead,
)
from icmodel.cli.output import check_file, print_text
from icmodel.estimate import WIDTH
from icmodel.questions.words import DEFAULT_DATASET

app = make_app()

UseCaseName = Annotated[
    str,
    typer.Argument(metavar="USECASE", help="Name of a bundled use case or path of a TOML file."),
]
CandidateName = Annotated[
    str | None,
    option(
        "candidate",
        "NAME",
        "Candidate (protocol with its settings) that determines the verdict.",
        "the default candidate of the use case",
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Count a requirement as undecided (exit code 3) if it is met only on assumed or extrapolated rows.",
    ),
]
Why = Annotated[
    bool, typer.Option("--why", help="Show the derivations and predictions behind each verdict.")
]


@app.command(short_help="Judge a use case: met, not met or undecided.")
@with_masthead
def evaluate(
    usecase: UseCaseName,
    *,
    dataset: DatasetName = DEFAULT_DATASET,
    variant: VariantName = None,
    candidate: CandidateName = None,
    strict: Strict = False,
    why: Why = False,
    against: Against = None,
    update: Update = False,
    head: MastheadChoice,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Judge a use case: each requirement met, not met or undecided, with margin and reason.

    All candidates of the use case (protocols with their settings) are judged. The verdict is that of the default
    candidate, or of --candidate. Exit codes: 0 met, 1 not met, 3 undecided. --why adds derived and predicted numbers.

    -o FILE writes a report with a one-page summary: .pdf, .html (opens offline) or .md. A .json file has the numbers.
    An .xlsx file has sheets of verdicts, answers, intervals, basis and sources. An .xml file is JUnit: each requirement
    is a test case, and fails unless it is met.

    --against FILE shows the changes since an earlier result: verdicts, requirements, limits, datasets,
    and numbers outside their earlier interval. The exit codes are then 0 for the same verdicts, 1 for a
    changed verdict, and 2 for a damaged earlier result. --update then replaces the file.

    \b
    icmodel evaluate imaging
    icmodel evaluate imaging --candidate tcp-two-sets-of-cores -o imaging.html
    icmodel evaluate imaging -o imaging.pdf --author "A. Person" --revision B
    icmodel evaluate imaging --candidate tcp-two-sets-of-cores --strict
    icmodel evaluate motion-control --dataset rapidio-tsi721 --json
    icmodel evaluate my-use-case.toml --dataset path/of/my-dataset
    icmodel evaluate imaging --against imaging.json --update -o imaging.xml
    """  # noqa: D301
    from icmodel.report import EVALUATION_FILES
    from icmodel.report.text import evaluation_text
    from icmodel.system.files import with_system_notes  # pydantic is slow to import
    from icmodel.usecase import evaluate as evaluate_usecase

    if output is not None:
        check_file(output, EVALUATION_FILES)
    earlier = earlier_result(against, update=update)
    masthead = head.masthead(output)
    evaluation = with_system_notes(
        evaluate_usecase(
            usecase,
            dataset,
            variant=variant,
            candidate=candidate,
            strict=strict,
            cache=not no_cache,
        )
    )

    def show_text() -> None:
        columns = get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        print_text(evaluation_text(evaluation, why=why, width=min(columns, WIDTH)))

    subject = f"{evaluation.usecase.name} on {evaluation.data.id}, variant {evaluation.variant}"
    return emit_judged(
        evaluation,
        subject,
        show_text,
        earlier,
        as_json=as_json,
        output=output,
        masthead=masthead,
    )
