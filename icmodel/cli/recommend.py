"""``icmodel recommend``: designs of a system that meet every requirement, among all that may be chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.cli.options import (
    AsJson,
    DatasetForAll,
    NoCache,
    Output,
    SystemName,
    VariantName,
    make_app,
)
from icmodel.cli.output import Answer, Section, Table, emit, hanging, progress_bar
from icmodel.documents import group_by_key
from icmodel.estimate import compared, interval, percent, plural, quantity
from icmodel.requirement import MET, NOT_MET, SIGNS, UNDECIDED, Verdict

if TYPE_CHECKING:
    from icmodel.recommend import Recommendation

app = make_app()

CHANGES_WIDTH = 44
MOST_ROWS = 6
"""Maximum number of designs of the Pareto front that are shown; JSON has all."""
MOST_OTHERS = 3
"""Maximum number of mended designs, and of undecided designs, that are shown."""
UNCHANGED = "as the file has it"


@app.command(short_help="Find designs of a system that meet its requirements.")
def recommend(
    name: SystemName,
    *,
    dataset: DatasetForAll = None,
    variant: VariantName = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Search for designs of a system that meet all requirements, and for the fewest changes needed.

    The table [choices] of the system file lists the allowed choices. Without this table, the choices
    are the measured protocols and numbers of cores, and payloads that fill packets. Every design is
    scored, and the best ones are predicted in full. The answer shows the designs that no other
    design beats in CPU, latency, headroom, interfaces and cost alike. It also shows the fewest
    changes to the file's own design that meet all requirements. -o FILE writes .txt, .json or .xlsx. Exit codes: 0 a design surely meets
    all requirements, 3 a design may meet them, 1 no design does.

    \b
    icmodel recommend imaging
    icmodel recommend motion-control
    icmodel recommend my-system.toml --dataset path/of/my-dataset --json
    """  # noqa: D301
    from icmodel.recommend import recommend as search
    from icmodel.sheets import document_pages, write_pages

    with progress_bar("predicting designs") as watch:
        found = search(name, dataset, variant, cache=not no_cache, watch=watch)

    def write_sheets(path: Path) -> None:
        write_pages(document_pages(found.to_dict()), path)

    answer = Answer(
        sections=lambda: sections(found),
        document=found.to_dict,
        files={".xlsx": write_sheets},
    )
    emit(answer, as_json=as_json, output=output)
    return found.exit_code


def sections(found: Recommendation) -> Iterator[Section]:
    """Yield the recommendation as sections that fit on one screen."""
    datasets = ", ".join(found.datasets) or "theory alone"
    variants = f", variant {', '.join(found.variants)}" if found.variants else ""
    result = "no design surely meets all" if found.exit_code == 3 else "no design meets all"
    if found.front:
        result = f"{plural(len(found.front), 'design')} to choose from"
    title = f"{SIGNS[found.verdict]} {found.system}: {result} ({found.title})"
    yield Section("", (*hanging([title, f"{datasets}{variants}"]), *searched_lines(found)))

    if found.physics:
        lines = dict.fromkeys(line for one in found.physics for line in one.sentences())
        yield Section("physics, whatever is chosen", hanging(lines))
    if found.own.verdict != MET:
        requirements = [f"{_judged(one.verdict)}, {one.where}" for one in found.own.open[:4]]
        yield Section(f"the file's own design: {found.own.verdict}", hanging(requirements))
    if found.front:
        shown = f", {MOST_ROWS} of {len(found.front)}" if len(found.front) > MOST_ROWS else ""
        yield Section(f"designs of which none is better in all{shown}", front_table(found))
    if found.mends:
        mends = [
            f"{plural(one.changes, 'change')}: {changes(one.changed)} "
            f"(CPU {_cores(one.objective('cpu_cores'))} cores, rests on {one.basis})"
            for one in found.mends[:MOST_OTHERS]
        ]
        yield Section("the fewest changes that mend the file's own", hanging(mends))
    if found.undecided:
        undecided = []
        for one in found.undecided[:MOST_OTHERS]:
            measurements = dict.fromkeys(each.settle for each in one.open if each.settle)
            undecided.append(
                f"{SIGNS[one.verdict]} {changes(one.changed)}: {'; '.join(measurements)}"
            )
        yield Section("undecided", hanging(undecided))
    if not found.front:
        nearest = [f"{_judged(one.verdict)}, {one.stream}" for one in found.nearest]
        yield Section("what comes nearest, by itself", hanging(nearest))


def searched_lines(found: Recommendation) -> Iterator[str]:
    """Yield lines with the number of designs, and the numbers left out with the reasons."""
    search = found.searched
    counts = search.counts
    far = "are not looked at"
    if counts.tables is not None:
        far += f" (more than {plural(counts.tables, 'stream table')} changed)"
    left_out = [
        (search.fail, "surely fail"),
        (search.undecided, "are undecided at best"),
        (counts.contradictory, "contradict themselves"),
        (counts.dominated, "have a stream that another choice serves as well in all"),
        (counts.far, far),
    ]
    parts = [f"{search.may_meet} may meet all", *(f"{n} {what}" for n, what in left_out if n)]
    yield from hanging([f"{counts.all} designs: {', '.join(parts)}"])
    yield "scores ignore queues and the load of streams on each other's hosts; designs shown are predicted:"
    more = f", and {search.unchecked} of the best by score are not" if search.unchecked else ""
    yield f"{plural(search.checked, 'design')} in full{more}"


def _judged(verdict: Verdict) -> str:
    """Return a requirement as text: outcome, value and limit.

    If the interval of the value contains the limit, the interval is shown in place of the value.
    """
    limit, estimate = verdict.requirement, verdict.estimate
    if estimate.absent and verdict.outcome == NOT_MET:
        value = "grows without limit"
    elif estimate.absent or verdict.outcome == UNDECIDED:
        value = interval(limit.metric, estimate) or "unknown"
    else:
        value = compared(limit.metric, estimate, limit.limit)
    threshold = f"{limit.sign} {quantity(limit.metric, limit.limit)}"
    return f"{SIGNS[verdict.outcome]} {limit.name}: {value} ({threshold})"


def front_table(found: Recommendation) -> Table[str]:
    """Return the table of recommended designs, sorted by CPU.

    The file's own design comes first if it meets all requirements.
    """
    columns = ["#CPU", "#recv", "#latency", "#headroom", "#interfaces", "rests on", "changes"]
    if found.currency is not None:
        columns.insert(5, f"#cost {found.currency}".strip())
    own = [found.own] if found.own.verdict == MET and found.own not in found.front else []
    rows = []
    for one in (*own, *found.front[:MOST_ROWS]):
        latency_s = one.objective("latency_mean_s")
        cells = [
            _cores(one.objective("cpu_cores")),
            _cores(one.cpu_recv_cores),
            units.format_seconds(latency_s, 3) if math.isfinite(latency_s) else "unknown",
            percent(one.headroom_ratio),
            f"{one.objective('interfaces'):.0f}",
            one.basis,
        ]
        if found.currency is not None:
            cells.insert(5, f"{one.objective('cost'):g}")
        first, *more = wrap(changes(one.changed), CHANGES_WIDTH, subsequent_indent="  ")
        rows.append((*cells, first))
        rows += [(*[""] * len(cells), line) for line in more]
    return Table(tuple(columns), tuple(rows))


def _cores(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "unknown"


def changes(changed: Mapping[str, str]) -> str:
    """Return the differences between a design and the system file, as text.

    Examples
    --------
    >>> changes({"picture.protocol": "udp", "picture.payload": "47352 B", "display.cores": "4"})
    'picture: udp, 47352 B; display: cores 4'
    """
    parts = ((*name.rpartition("."), text) for name, text in changed.items())
    by_table = group_by_key(
        (table, text if key in ("protocol", "payload") else f"{key} {text}")
        for table, _, key, text in parts
    )
    texts = (f"{table}: {', '.join(values)}" for table, values in by_table.items())
    return "; ".join(texts) or UNCHANGED
