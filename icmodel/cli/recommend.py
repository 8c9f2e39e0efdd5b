"""``icmodel recommend``: search the designs of a system for those that meet every requirement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from icmodel.cli.options import (
    AsJson,
    Cluster,
    DatasetForAll,
    MastheadChoice,
    NoCache,
    Output,
    SystemName,
    VariantName,
    Workers,
    check_workers,
    client_of,
    make_app,
    page_writers,
    with_masthead,
)
from icmodel.cli.output import Answer, Hanging, Section, Table, check_file, emit, progress_bar
from icmodel.estimate import plural
from icmodel.requirement import MET, SIGNS

if TYPE_CHECKING:
    from icmodel.recommend import Recommendation

app = make_app()

CHANGES_WIDTH = 44
MOST_ROWS = 6
"""Maximum number of printed Pareto-optimal designs. JSON has all of them."""
MOST_OTHERS = 3
"""Maximum number of printed designs in each of two further lists: fewest changes, and undecided designs."""


@app.command(short_help="Find designs of a system that meet its requirements.")
@with_masthead
def recommend(
    name: SystemName,
    *,
    dataset: DatasetForAll = None,
    variant: VariantName = None,
    head: MastheadChoice,
    no_cache: NoCache = False,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Search for designs of a system that meet all requirements, and for the fewest changes needed.

    A design is the system with one value for each choice, such as protocol, payload and cores. The table
    [choices] of the system file lists the allowed values. Without this table, they are the measured
    protocols and numbers of cores, and aligned payloads (their last packet is full). A quick estimate
    ranks all designs, and the best ones are predicted in full. The answer shows the Pareto-optimal
    designs in CPU, latency, headroom, number of interfaces and cost. It also shows the fewest changes
    after which the design in the file meets all requirements. Exit codes: 0 a design surely meets all
    requirements, 3 a design may meet them, 1 no design meets them.

    -o FILE writes .json, .txt or .xlsx, or a report with a one-page summary: .pdf, .html or .md.
    --workers predicts designs in processes, --cluster on a Dask cluster; the answer is the same.

    \b
    icmodel recommend imaging
    icmodel recommend motion-control -o motion-control.pdf
    icmodel recommend my-system.toml --dataset path/of/my-dataset --json
    """  # noqa: D301
    from icmodel.recommend import recommend as search
    from icmodel.report import PAGE_FILES
    from icmodel.sheets import document_pages, write_pages

    if output is not None:
        check_file(output, (".json", ".txt", ".xlsx", *PAGE_FILES))
    check_workers(workers, cluster)
    masthead = head.masthead(output)
    with client_of(cluster) as client, progress_bar("predicting designs") as watch:
        found = search(
            name,
            dataset,
            variant,
            cache=not no_cache,
            watch=watch,
            workers=workers,
            client=client,
        )

    def write_sheets(path: Path) -> None:
        write_pages(document_pages(found.to_dict()), path)

    answer = Answer(
        sections=lambda: sections(found),
        document=found.to_dict,
        files={**page_writers(lambda: found, output, masthead), ".xlsx": write_sheets},
    )
    emit(answer, as_json=as_json, output=output)
    return found.exit_code


def sections(found: Recommendation) -> Iterator[Section]:
    """Yield the recommendation as sections that fit on one screen."""
    from icmodel.report import recommendation as words
    from icmodel.report.verdicts import ground_text

    variants = f", variant {', '.join(found.variants)}" if found.variants else ""
    result = "no design surely meets all" if found.exit_code == 3 else "no design meets all"
    if found.front:
        result = f"{plural(len(found.front), 'design')} to choose from"
    title = f"{SIGNS[found.verdict]} {found.system}: {result} ({found.title})"
    yield Section(
        "",
        Hanging(
            (
                title,
                f"{ground_text(found.datasets, found.states_devices)}{variants}",
                *words.searched_lines(found),
            )
        ),
    )

    if found.physics:
        lines = dict.fromkeys(line for one in found.physics for line in one.sentences())
        yield Section("physical limits of all designs", Hanging(tuple(lines)))
    if found.own.verdict != MET:
        requirements = [
            f"{words.judged_text(one.verdict)}, {one.where}" for one in found.own.open[:4]
        ]
        yield Section(f"the file's own design: {found.own.verdict}", Hanging(tuple(requirements)))
    if found.front:
        shown = f", {MOST_ROWS} of {len(found.front)}" if len(found.front) > MOST_ROWS else ""
        yield Section(f"Pareto-optimal designs{shown}", front_table(found))
    if found.mends:
        mends = [
            f"{plural(one.changes, 'change')}: {words.changes(one.changed)} "
            f"(CPU {words.cores_text(one.objective('cpu_cores'))} cores, based on {one.basis})"
            for one in found.mends[:MOST_OTHERS]
        ]
        yield Section("fewest changes of the file that meet all", Hanging(tuple(mends)))
    if found.undecided:
        undecided = []
        for one in found.undecided[:MOST_OTHERS]:
            measurements = dict.fromkeys(each.settle for each in one.open if each.settle)
            undecided.append(
                f"{SIGNS[one.verdict]} {words.changes(one.changed)}: {'; '.join(measurements)}"
            )
        yield Section("undecided", Hanging(tuple(undecided)))
    if not found.front:
        nearest = [f"{words.judged_text(one.verdict)}, {one.stream}" for one in found.nearest]
        yield Section("nearest single choices", Hanging(tuple(nearest)))


def front_table(found: Recommendation) -> Table[str]:
    """Return the table of recommended designs, the least CPU load first.

    If the design in the system file meets all requirements, it is the first row.
    """
    from icmodel.report import recommendation as words

    *numbers, basis = words.design_columns(found)
    rows = []
    own = len(words.designs(found)) - len(found.front)
    for one in words.designs(found)[: MOST_ROWS + own]:
        cells = words.design_cells(found, one)
        first, *more = wrap(words.changes(one.changed), CHANGES_WIDTH, subsequent_indent="  ")
        rows.append((*cells, first))
        rows += [(*[""] * len(cells), line) for line in more]
    return Table((*(f"#{name}" for name in numbers), basis, "changes"), tuple(rows))
