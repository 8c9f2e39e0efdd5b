"""Recommendation for a system as text and as a report: recommended designs, changes and doubts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from icmodel import __version__, units
from icmodel.documents import group_by_key
from icmodel.estimate import compared, interval, metric_name, percent, plural, quantity
from icmodel.recommend import Recommendation
from icmodel.recommend.result import LEFT_OUT, Checked
from icmodel.report.blocks import (
    MOST_CHANGES,
    MOST_DOUBTS,
    MOST_NUMBERS,
    Block,
    Cell,
    Conclusion,
    Facts,
    Figure,
    Front,
    Heading,
    Items,
    Page,
    Table,
    Text,
    filled_sections,
)
from icmodel.report.front import (
    NOT_KNOWN,
    PARTS,
    basis_text,
    command,
    dataset_word,
    more_requirements,
    name_cell,
    repeat,
    sentences,
)
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.vega import (
    COLOURS,
    HERE,
    PREDICTED,
    REQUESTED,
    nominal_channels,
    point_plot,
)
from icmodel.report.verdicts import ground_text, limit_text, margin_text
from icmodel.requirement import MET, NOT_MET, OUTCOMES, SIGNS, UNDECIDED, Verdict
from icmodel.system.files import SYSTEMS
from icmodel.usecase.result import WEAK

UNCHANGED = "no change of the file"
OWN, ON_FRONT, OPEN = "the file's own", "recommended", "may meet all"
"""Groups of designs in the plot of a recommendation."""
GROUPS = {OWN: COLOURS[HERE], ON_FRONT: COLOURS[PREDICTED], OPEN: COLOURS[REQUESTED]}
GROUP_SHAPES = {OWN: "cross", ON_FRONT: "circle", OPEN: "triangle-up"}


def page(found: Recommendation, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report of a recommendation: a first page, then all designs.

    Parameters
    ----------
    file : str
        Name of the report's file, printed in the command line that makes the report again.
    """
    words = ["recommend", SYSTEMS.argument(found.system, found.file)]
    for key, value in found.asked.items():
        words += [f"--{key}", dataset_word(value) if key == "dataset" else value]
    line = command(words, masthead, file or f"{found.system}-recommended.html")

    variants = f", variant {', '.join(found.variants)}" if found.variants else ""
    undecided: list[Block] = []
    for one in found.undecided:
        undecided += [Heading(changes(one.changed), one.verdict), *_open(one)]
    nearest = tuple(f"{judged_text(one.verdict)}, {one.stream}" for one in found.nearest)
    physics = tuple(dict.fromkeys(line for one in found.physics for line in one.sentences()))
    sections: tuple[tuple[str, str, Sequence[Block]], ...] = (
        (
            "own",
            "The file's own design",
            [Heading(UNCHANGED, found.own.verdict), *_open(found.own)],
        ),
        (
            "designs",
            "Designs that meet all",
            [_design_table(found, designs(found))] if designs(found) else [],
        ),
        ("mends", "The fewest changes", [_design_table(found, found.mends)] if found.mends else []),
        ("undecided", "Designs that may meet all", undecided),
        ("nearest", "Nearest single choices", [Items("", nearest)] if nearest else []),
        ("physics", "Physical limits of all designs", [Items("", physics)] if physics else []),
        (
            "search",
            "The search",
            [Items("", tuple(searched_lines(found))), Items("Scores leave out", LEFT_OUT)],
        ),
        ("chosen", "The recommended parameters", [Facts(tuple(_best(found).chosen.items()))]),
    )
    return Page(
        title=f"{found.title}: designs",
        question="Which design meets every requirement, with the least CPU, latency, interfaces and cost?",
        basis=f"{ground_text(found.datasets, found.states_devices)}{variants}",
        answer=conclude(found),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=_front(found, line),
        masthead=masthead,
    )


def conclude(found: Recommendation) -> Conclusion:
    """Return the conclusion of a recommendation: its verdict, a sentence on the designs, and three further facts.

    These are the best design, its basis (kind of evidence), and the verdict on the design in the system file.
    """
    best, searched = _best(found), f"{plural(found.searched.counts.all, 'design')} searched"
    if found.front:
        what = f"{plural(len(found.front), 'design')} to choose from; the least CPU: {changes(best.changed)}"
    elif found.verdict == UNDECIDED:
        what = "no design surely meets all requirements, but some may"
    else:
        what = "no design meets all requirements"
    own = f"the file's own design is {found.own.verdict}"
    parts = (
        ("Design", changes(best.changed)),
        ("Based on", best.basis),
        ("Own design", found.own.verdict),
    )
    return Conclusion(
        found.verdict, f"{found.verdict.capitalize()}: {what}; {own}; {searched}.", parts
    )


def _best(found: Recommendation) -> Checked:
    """Return the design for the first page.

    Designs that meet all requirements come first, then designs that may meet them, then the file's own design.
    """
    return next(iter((*found.front, *found.undecided)), found.own)


def _open(one: Checked) -> Iterator[Block]:
    """Yield blocks on a design's open requirements (not surely met), and on the measurements that would decide them."""
    if not one.open:
        yield Text("All requirements are met.")
        return
    yield _requirement_table([(each.verdict, each.where) for each in one.open], one.verdict)
    settle = tuple(dict.fromkeys(each.settle for each in one.open if each.settle))
    if settle:
        yield Items("Measurements that would decide", settle)


def _requirement_table(judged: Sequence[tuple[Verdict, str]], outcome: str) -> Table:
    rows = []
    for verdict, where in judged:
        metric, value = verdict.requirement.metric, value_text(verdict)
        span = interval(metric, verdict.estimate)
        rows.append(
            (
                name_cell(verdict.requirement.name, f"{metric_name(metric)} of {where}"),
                Cell(value, note="" if span == value else span),
                Cell(limit_text(verdict)),
                Cell(margin_text(verdict) or "unknown"),
                Cell(basis_text(verdict.estimate.basis)),
                Cell("", outcome=verdict.outcome),
            )
        )
    columns = ("requirement", "predicted", "limit", "margin", "based on", "verdict")
    return Table(
        f"Requirements of a design that is {outcome}",
        columns,
        tuple(rows),
        numbers=("predicted", "limit"),
    )


def _design_table(found: Recommendation, some: Sequence[Checked]) -> Table:
    columns = ("design", *design_columns(found), "verdict")
    rows = tuple(
        (
            Cell(changes(one.changed)),
            *map(Cell, design_cells(found, one)),
            Cell("", outcome=one.verdict),
        )
        for one in some
    )
    caption = (
        "Designs; each is better than every other in some objective. CPU and recv are in busy cores"
    )
    return Table(caption, columns, rows, numbers=columns[1:-2])


def _front(found: Recommendation, line: str) -> Front:
    """Make the first page of a recommendation.

    Its table lists the designs that meet all requirements. If there are none, it lists the requirements that the best
    design may miss.
    """
    best = _best(found)
    if found.front:
        shown = designs(found)
        numbers = _design_table(found, shown[:MOST_NUMBERS])
        rest = max(len(shown) - MOST_NUMBERS, 0)
        more = f"{plural(rest, 'more design')} under Designs that meet all." if rest else ""
    else:
        ranked = sorted(best.open, key=lambda one: -OUTCOMES.index(one.verdict.outcome))
        numbers = _requirement_table(
            [(one.verdict, one.where) for one in ranked[:MOST_NUMBERS]], best.verdict
        )
        more = more_requirements(
            [one.verdict.outcome for one in ranked], "Designs that may meet all"
        )
    cost = "the file states no costs"
    if found.currency is not None:
        cost = f"{best.objective('cost'):g} {found.currency}".strip()
    buy = (
        ("design", changes(best.changed)),
        ("interfaces", f"{best.objective('interfaces'):.0f}"),
        ("busy cores", f"{cores_text(best.objective('cpu_cores'))} of all hosts together"),
        ("cost", cost),
    )
    full = best.objective("fullest_ratio")
    fullest = percent(full) + " of a port, interface or processor" if math.isfinite(full) else ""
    send, recv = cores_text(best.cpu_send_cores), cores_text(best.cpu_recv_cores)
    parts = (
        "the fullest resource",
        fullest or NOT_KNOWN,
        f"{send} cores send, {recv} receive",
        "included in the hosts",
    )
    return Front(
        numbers=numbers,
        more=more,
        parts=Table("Parts of the verdict", PARTS, (tuple(map(Cell, parts)),)),
        picture=_plot(found),
        change=sentences(_changes(found), MOST_CHANGES),
        buy=buy,
        doubts=sentences(_doubts(found, best), MOST_DOUBTS),
        repeat=repeat(line, found.datasets, ", ".join(found.variants), found.file),
    )


def _changes(found: Recommendation) -> Iterator[str]:
    for one in found.mends:
        yield f"{plural(one.changes, 'change')} of the file: {changes(one.changed)}."
    if found.own.verdict == MET:
        yield "The file's own design meets all requirements, so nothing needs to change."
    for one in found.undecided:
        for each in one.open:
            if each.settle:
                yield f"For {changes(one.changed)}: {each.settle}."
    for late in found.physics:
        yield from late.sentences()
    for near in found.nearest:
        yield f"The single choice nearest to the limit: {judged_text(near.verdict)}, {near.stream}."
    yield "Add choices to the table [choices] of the file."


def _doubts(found: Recommendation, best: Checked) -> Iterator[str]:
    search = found.searched
    if not found.datasets:
        yield "Theory alone answers, since no dataset covers the hosts of this system."
    if best.basis in WEAK:
        yield f"The design is based on {best.basis} numbers."
    missing = [one.settle for one in best.open if one.settle]
    yield from (f"Open: {settle}." for settle in missing)
    if search.counts.far:
        yield f"{search.counts.far} of {search.counts.all} designs were not scored."
    if search.unchecked:
        yield f"{plural(search.unchecked, 'design')} with equally good scores were not predicted in full."
    yield f"Scores leave out {LEFT_OUT[0]}; the designs shown were predicted in full."
    yield f"Scores leave out {LEFT_OUT[1]}."
    if found.datasets:
        yield "Other hosts than those of the datasets may behave differently."


def _plot(found: Recommendation) -> Figure | None:
    """Plot each design at its busy cores (x) and greatest mean latency (y); None if no design has both numbers."""
    groups = ((OWN, (found.own,)), (ON_FRONT, found.front), (OPEN, found.undecided))
    points = [
        {
            "group": group,
            "cores": one.objective("cpu_cores"),
            "latency_us": one.objective("latency_mean_s") * 1e6,
            "said": changes(one.changed),
        }
        for group, some in groups
        for one in some
        if math.isfinite(one.objective("cpu_cores"))
        and math.isfinite(one.objective("latency_mean_s"))
    ]
    if not points:
        return None
    used = [group for group in GROUPS if any(point["group"] == group for point in points)]
    axes = {
        axis: {
            "field": field,
            "type": "quantitative",
            "scale": {"zero": True},
            "axis": {"title": title, "format": "~r"},
        }
        for axis, field, title in (
            ("x", "cores", "busy cores of all hosts"),
            ("y", "latency_us", "greatest mean latency [µs]"),
        )
    }
    marks = nominal_channels("group", used, color=GROUPS, shape=GROUP_SHAPES)
    spec = point_plot(points, axes, marks, height=190)
    cells = tuple(
        (Cell(str(p["said"])), Cell(f"{p['cores']:.3g}"), Cell(f"{p['latency_us']:.4g} µs"))
        for p in points
    )
    title = "Designs by CPU and latency"
    numbers = Table(
        "Designs of the plot", ("design", "busy cores", "latency"), cells, ("busy cores", "latency")
    )
    return Figure(
        title,
        f"{title}: the lower left corner is best.",
        f"{title}, {plural(len(points), 'design')}",
        spec,
        numbers,
    )


# --- designs as text --------------------------------------------------------------------------


def judged_text(verdict: Verdict) -> str:
    """Return the verdict on a requirement as text: outcome, value and limit.

    If the interval of the value contains the limit, the text shows the interval in place of the value.
    """
    limit = verdict.requirement
    threshold = f"{limit.sign} {quantity(limit.metric, limit.limit)}"
    return f"{SIGNS[verdict.outcome]} {limit.name}: {value_text(verdict)} ({threshold})"


def value_text(verdict: Verdict) -> str:
    """Return the value of a verdict as text. If the value is unknown or the verdict undecided, return the interval."""
    limit, estimate = verdict.requirement, verdict.estimate
    if verdict.outcome == NOT_MET and not math.isfinite(estimate.low):
        return "grows without limit"
    if estimate.absent or verdict.outcome == UNDECIDED:
        return interval(limit.metric, estimate) or "unknown"
    return compared(limit.metric, estimate, limit.limit)


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


def searched_lines(found: Recommendation) -> Iterator[str]:
    """Yield lines on a search: the numbers of all designs, of excluded designs by reason, and of predicted designs."""
    search = found.searched
    counts = search.counts
    far = "are not scored"
    if counts.tables is not None:
        far += f" (more than {plural(counts.tables, 'stream table')} changed)"
    left_out = [
        (search.fail, "surely fail"),
        (search.undecided, "are undecided at best"),
        (counts.contradictory, "contradict themselves"),
        (counts.dominated, "use a choice that is nowhere better than another choice"),
        (counts.far, far),
    ]
    parts = [f"{search.may_meet} may meet all", *(f"{n} {what}" for n, what in left_out if n)]
    yield f"{plural(counts.all, 'design')}: {', '.join(parts)}"
    yield "scores ignore queues, and the load of other streams on the same host"
    more = f", and {search.unchecked} more with good scores are not" if search.unchecked else ""
    yield f"{plural(search.checked, 'design')} predicted in full{more}"


def design_columns(found: Recommendation) -> tuple[str, ...]:
    """Return the column names of a table of designs, without the column of changes."""
    cost = () if found.currency is None else (f"cost {found.currency}".strip(),)
    return ("CPU", "recv", "latency", "headroom", "interfaces", *cost, "based on")


def design_cells(found: Recommendation, one: Checked) -> tuple[str, ...]:
    """Return the table cells of a design (CPU, latency, cost, ...), in the order of `design_columns`."""
    latency_s = one.objective("latency_mean_s")
    cost = () if found.currency is None else (f"{one.objective('cost'):g}",)
    return (
        cores_text(one.objective("cpu_cores")),
        cores_text(one.cpu_recv_cores),
        units.format_seconds(latency_s, 3) if math.isfinite(latency_s) else "unknown",
        percent(one.headroom_ratio),
        f"{one.objective('interfaces'):.0f}",
        *cost,
        one.basis,
    )


def cores_text(value: float) -> str:
    """Return a number of busy cores as text."""
    return f"{value:.3g}" if math.isfinite(value) else "unknown"


def designs(found: Recommendation) -> list[Checked]:
    """Return the recommended designs. If the file's own design meets all requirements, it comes first."""
    own = [found.own] if found.own.verdict == MET and found.own not in found.front else []
    return [*own, *found.front]
