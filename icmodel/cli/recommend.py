"""``icmodel recommend``: of all that may still be chosen in a system, the designs that meet every requirement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.cli.output import Answer, Section, Table, emit, hanging, progress_bar
from icmodel.cli.question import AsJson, NoCache, Output, Speaks, SystemName, VariantName, room
from icmodel.documents import group_by_key
from icmodel.estimate import compared, interval, percent, plural, quantity
from icmodel.requirement import MET, NOT_MET, SIGNS, UNDECIDED, Verdict

if TYPE_CHECKING:
    from icmodel.recommend import Checked, Recommendation

CHANGES_WIDTH = 44
MOST_ROWS = 6
"""Designs of the front that are shown; JSON has all."""
MOST_OTHERS = 3
"""Least changes, and undecided designs, that are shown."""
OWN = "as the file has it"


def sections(found: Recommendation) -> Iterator[Section]:
    """The answer, on one screen."""
    named = ", ".join(found.datasets) or "theory alone"
    variant = f", variant {', '.join(found.variants)}" if found.variants else ""
    title = f"{SIGNS[found.verdict]} {found.system}: {_answer(found)}"
    yield Section("", (*hanging([title, f"{named}{variant}"]), *_searched(found)))
    if found.physics:
        lines = dict.fromkeys(line for one in found.physics for line in one.sentences())
        yield Section("physics, whatever is chosen", hanging(lines))
    yield from _own(found)
    if found.front:
        count = f", {MOST_ROWS} of {len(found.front)}" if len(found.front) > MOST_ROWS else ""
        yield Section(f"designs of which none is better in all{count}", _front(found))
    if found.mends:
        yield Section("the fewest changes that mend the file's own", hanging(_mends(found)))
    if found.undecided:
        yield Section("undecided", hanging(_undecided(found)))
    if not found.front:
        yield Section("what comes nearest, by itself", hanging(_nearest(found)))


def _answer(found: Recommendation) -> str:
    if found.front:
        return f"{plural(len(found.front), 'design')} to choose from ({found.title})"
    return f"{'no design surely meets' if found.exit_code == 3 else 'no design meets'} all ({found.title})"


# --- what was searched ------------------------------------------------------------------------


def _searched(found: Recommendation) -> Iterator[str]:
    """Number of designs, and of those left out with the reason."""
    one = found.searched
    counts = one.counts
    left = [
        (one.fail, "surely fail"),
        (one.undecided, "are undecided at best"),
        (counts.contradictory, "contradict themselves"),
        (counts.dominated, "have a stream that another choice serves as well in all"),
        (counts.far, f"are not looked at{_far(counts.tables)}"),
    ]
    said = ", ".join(f"{number} {what}" for number, what in left if number)
    told = f"{counts.all} designs: {one.may_meet} may meet all" + (f", {said}" if said else "")
    yield from hanging([told])
    yield "scores leave out queues and what streams do to each other's hosts; what is told is predicted:"
    more = f", and {one.unchecked} of the best by score are not" if one.unchecked else ""
    yield f"{plural(one.checked, 'design')} in full{more}"


def _far(tables: int | None) -> str:
    return "" if tables is None else f" (more than {plural(tables, 'stream table')} changed)"


def _own(found: Recommendation) -> Iterator[Section]:
    """The verdict on the file's own design, if it does not meet all."""
    own = found.own
    if own.verdict == MET:
        return
    lines = [
        f"{SIGNS[one.verdict.outcome]} {one.verdict.requirement.name}: {_value(one.verdict)}, {one.where}"
        for one in own.open[:4]
    ]
    yield Section(f"the file's own design: {own.verdict}", hanging(lines))


def _value(verdict: Verdict) -> str:
    """The value and its limit; the interval if it contains the limit."""
    limit, told = verdict.requirement, verdict.estimate
    within = interval(limit.metric, told) or "unknown"
    value = (
        within
        if told.absent or verdict.outcome == UNDECIDED
        else compared(limit.metric, told, limit.limit)
    )
    if told.absent and verdict.outcome == NOT_MET:
        value = "grows without limit"
    return f"{value} ({limit.sign} {quantity(limit.metric, limit.limit)})"


# --- designs ----------------------------------------------------------------------------------


def _front(found: Recommendation) -> Table:
    """The file's own design first if it meets all; then by CPU."""
    own = [found.own] if found.own.verdict == MET and found.own not in found.front else []
    columns = ["#CPU", "#recv", "#latency", "#headroom", "#interfaces", "rests on", "changes"]
    if found.currency is not None:
        columns.insert(5, f"#cost {found.currency}".strip())
    rows = [line for one in (*own, *found.front[:MOST_ROWS]) for line in _rows(one, found)]
    return Table(tuple(columns), tuple(rows))


def _rows(one: Checked, found: Recommendation) -> Iterator[tuple[str, ...]]:
    """One design; its changes may continue in further rows."""
    cells = [
        _cores(one.objective("cpu_cores")),
        _cores(one.cpu_recv_cores),
        _seconds(one.objective("latency_mean_s")),
        percent(one.headroom_ratio),
        f"{one.objective('interfaces'):.0f}",
        one.basis,
    ]
    if found.currency is not None:
        cells.insert(5, f"{one.objective('cost'):g}")
    first, *more = wrap(changes(one.changed), CHANGES_WIDTH, subsequent_indent="  ")
    yield (*cells, first)
    for line in more:
        yield (*[""] * len(cells), line)


def _cores(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "unknown"


def _seconds(value: float) -> str:
    return units.format_seconds(value, 3) if math.isfinite(value) else "unknown"


def changes(changed: Mapping[str, str]) -> str:
    """Differences from the file: ``picture: udp, 47352 B; display.cores: 4``."""
    parts = ((*name.rpartition("."), text) for name, text in changed.items())
    by = group_by_key(
        (where, text if what in ("protocol", "payload") else f"{what} {text}")
        for where, _, what, text in parts
    )
    return "; ".join(f"{where}: {', '.join(texts)}" for where, texts in by.items()) or OWN


def _mends(found: Recommendation) -> Iterator[str]:
    for one in found.mends[:MOST_OTHERS]:
        cpu = f"CPU {_cores(one.objective('cpu_cores'))} cores"
        yield f"{plural(one.changes, 'change')}: {changes(one.changed)} ({cpu}, rests on {one.basis})"


def _undecided(found: Recommendation) -> Iterator[str]:
    for one in found.undecided[:MOST_OTHERS]:
        asked = dict.fromkeys(each.settle for each in one.open if each.settle)
        yield f"{SIGNS[one.verdict]} {changes(one.changed)}: {'; '.join(asked)}"


def _nearest(found: Recommendation) -> Iterator[str]:
    for one in found.nearest:
        yield f"{SIGNS[one.verdict.outcome]} {one.verdict.requirement.name}: {_value(one.verdict)}, {one.stream}"


app = room()


@app.command(short_help="What to choose in a system so that it meets its requirements.")
def recommend(
    name: SystemName,
    *,
    dataset: Speaks = None,
    variant: VariantName = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Search what may be chosen in a system: the designs that meet all, and what would mend one that does not.

    The file's [choices] say what is searched; without them it is the protocols and cores that its datasets
    measured, and payloads that fill packets. Every design is scored, the best are predicted in full, and
    those are told: the front over CPU, latency, headroom, interfaces and cost, and the fewest changes that
    mend the file's own design. Exit code: 0 a design surely meets all, 3 one may, 1 none does.

    \b
    icmodel recommend imaging
    icmodel recommend motion-control
    icmodel recommend my-system.toml --dataset path/of/my-dataset --json
    """  # noqa: D301
    from icmodel.recommend import recommend as search

    with progress_bar("predicting designs") as watch:
        found = search(name, dataset, variant, cache=not no_cache, watch=watch)
    emit(
        Answer(sections=lambda: sections(found), document=found.to_dict),
        as_json=as_json,
        output=output,
    )
    return found.exit_code
