"""Report of a predicted system: a first page, then the drawing, tables, limits and sources."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from icmodel import __version__, units
from icmodel.documents import group_by_key
from icmodel.estimate import BASES, interval, limit_name, metric_name, percent, plural
from icmodel.reading import SourceFile
from icmodel.report import system_tables as tables
from icmodel.report.blocks import (
    MOST_CHANGES,
    MOST_DOUBTS,
    MOST_NUMBERS,
    Block,
    Cell,
    Facts,
    Front,
    Items,
    Page,
    Picture,
    Table,
    Text,
    filled_sections,
)
from icmodel.report.front import (
    MOST_OPEN,
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
from icmodel.report.system_boxes import FRONT_BOXES, MOST_MEMBERS, NOT_JUDGED, summarise
from icmodel.report.system_drawing import described, drawing
from icmodel.report.system_tables import (
    about,
    bottleneck_texts,
    by_group,
    counted_outcomes,
    estimate_cell,
    margin,
    reason,
    span_text,
    stated_times,
    value_text,
    worst_estimate,
)
from icmodel.report.verdicts import ground_text, limit_text, margin_clause
from icmodel.requirement import MET, NOT_MET, UNDECIDED
from icmodel.system import Finding, SystemPrediction, check
from icmodel.system.files import SYSTEMS
from icmodel.system.prediction.bounding import NETWORK
from icmodel.system.prediction.result import Judged, StreamPrediction, by_requirement
from icmodel.system.prediction.stated import StatedTimes
from icmodel.usecase.result import WEAK


def page(found: SystemPrediction, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report of a predicted system.

    Parameters
    ----------
    file : str
        Name of the report's file, printed in the command line that makes the report again. The drawing beside a
        Markdown report has the same name with the extension ``.svg``.
    """
    system, summary = found.system, summarise(found)
    file = file or f"{system.name}.html"
    line, picture = command(words(found), masthead, file), Path(file).with_suffix(".svg").name

    count = len({one.requirement.name for one in system.requirements})
    needs = "its requirement" if count == 1 else f"its {count} requirements"
    aim = f"meet {needs}" if count else "carry the requests of its streams"
    variants = "variant" if len(found.variants) == 1 else "variants"
    basis = ground_text(found.datasets, system.states_devices)
    if found.datasets:
        basis = f"{basis}, {variants} {', '.join(found.variants)}"

    caption = (
        "Each line is a link. The colour shows the load of the link's busiest port, and the arrow shows this port's "
        f"direction. The thickness shows the line rate. A group of more than {MOST_MEMBERS} nodes is one box, with the "
        f"numbers of its worst member. Streams: {tables.counted_outcomes(found)}. Links and Devices list the numbers."
    )
    drawn = Picture(caption, described(system, summary), drawing(system, summary), picture)
    checked = tuple(check(system))
    problems = tuple(f"{problem.kind}: {problem.text}" for problem in checked)
    findings: Block = Text(
        "No findings: all nodes are connected, no port is overloaded, and no routes form a cycle."
    )
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    limits = [Items(title, tuple(sentences)) for title, sentences in titled if sentences]
    sources = (
        ("system", system.name),
        ("source", system.source),
        ("requirements of the use case", system.usecase or ""),
        *((f"sha256 of {name}", sha256) for name, sha256 in found.datasets.items()),
    )

    sections: tuple[tuple[str, str, Iterable[Block]], ...] = (
        ("drawing", "The system", [drawn]),
        (
            "requirements",
            "What is required",
            [*tables.requirements(found), *tables.parts_table(found)],
        ),
        ("streams", "Streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary), *tables.stated_devices(found)]),
        ("findings", "Findings of the check", [Items("", problems) if problems else findings]),
        ("limits", "Limits of validity", limits or [Text("The system states none.")]),
        ("sources", "Sources", [Facts(tuple(pair for pair in sources if pair[1]))]),
    )
    return Page(
        title=system.title,
        question=f"Does {system.name} {aim}, with {plural(len(system.streams), 'stream')} at the same time?",
        basis=basis,
        answer=tables.conclude(found),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=front(found, picture, checked, line),
        masthead=masthead,
    )


def words(found: SystemPrediction) -> Iterator[str]:
    """Yield the words of the ``icmodel`` command line that repeats this prediction of a system."""
    yield from ("system", found.system.file or SYSTEMS.argument(found.system.name, None))
    for key, value in found.asked.items():
        yield from (f"--{key}", dataset_word(value) if key == "dataset" else value)


HOST_LIMITS = ("cpu", "packet-rate", "receiver", "window", "application_send", "application_recv")
"""Names of the bottlenecks in hosts; all others are in the network."""


def front(found: SystemPrediction, picture: str, problems: Iterable[Finding], line: str) -> Front:
    """Make the first page of a predicted system.

    Parameters
    ----------
    picture : str
        File name of the drawing beside a Markdown report.
    problems : iterable of Finding
        Findings of the check of the system.
    line : str
        Command line that makes the report again.
    """
    system, groups = found.system, by_requirement(found.judged)
    summary = summarise(found, FRONT_BOXES)
    caption = f"Load of each link and verdicts by stream: {counted_outcomes(found)}."
    file = SourceFile(system.file or system.name, system.sha256) if system.sha256 else None
    return Front(
        numbers=requirement_table(groups) if groups else stream_table(found),
        more=more_requirements(
            [some[0].verdict.outcome for some in groups.values()], "What is required"
        ),
        parts=front_parts(found, groups),
        picture=Picture(caption, described(system, summary), drawing(system, summary), picture),
        change=sentences(changes(found, groups), MOST_CHANGES),
        buy=tuple(parts_to_buy(found)),
        doubts=sentences(doubts(found, groups, problems), MOST_DOUBTS),
        repeat=repeat(line, found.datasets, ", ".join(found.variants), file),
    )


Groups = Mapping[str, list[Judged]]
"""Name of a requirement -> its verdicts, the worst first."""


def requirement_table(groups: Groups) -> Table:
    """Return the first page's table of requirements, each with its worst stream or device."""
    rows = []
    for name, some in list(groups.items())[:MOST_NUMBERS]:
        worst, verdict = some[0], some[0].verdict
        alike = sum(one.verdict.outcome == verdict.outcome for one in some)
        span = "" if worst.by_bound else interval(verdict.requirement.metric, verdict.estimate)
        value = value_text(worst)
        rows.append(
            (
                name_cell(name, f"{metric_name(verdict.requirement.metric)} of {about(worst)}"),
                Cell(value, note="" if span in value else span),
                Cell(limit_text(verdict)),
                Cell(margin(worst) or "unknown"),
                Cell("worst-case bound" if worst.by_bound else basis_text(verdict.estimate.basis)),
                Cell(
                    "",
                    note=f"{alike} of {len(some)}" if len(some) > 1 else "",
                    outcome=verdict.outcome,
                ),
            )
        )
    columns = ("requirement", "worst", "limit", "margin", "based on", "verdict")
    caption = "The numbers that decide, the worst first. Below each value is its 90 % interval"
    return Table(caption, columns, tuple(rows), numbers=("worst", "limit"))


def stream_table(found: SystemPrediction) -> Table:
    """Return the first page's table for a system without requirements: the worst stream of each group."""
    rows = []
    for name, some in list(by_group(found).items())[:MOST_NUMBERS]:
        goodput = worst_estimate("goodput_bps", some)
        request_bps = max(one.stream.requested_goodput_bps for one in some)
        asks = units.format_bps(request_bps) if math.isfinite(request_bps) else "unlimited"
        rows.append(
            (
                name_cell(name, plural(len(some), "stream")),
                Cell(asks),
                Cell("unknown") if goodput is None else estimate_cell("goodput_bps", goodput),
                Cell(bottleneck_texts(some)[0]),
                Cell(basis_text("" if goodput is None else goodput.basis)),
                Cell(NOT_JUDGED),
            )
        )
    columns = ("stream", "requested", "goodput", "limited by", "based on", "verdict")
    caption = (
        "Goodput of the streams, the worst of each group. Below each value is its 90 % interval"
    )
    return Table(caption, columns, tuple(rows), numbers=columns[1:3])


def front_parts(found: SystemPrediction, groups: Groups) -> Table | None:
    """Return a table on the deciding stream: goodput and latency, with a column each for network, hosts, application.

    Returns None if the system has no streams.
    """
    deciding = (some[0].stream for some in groups.values() if not some[0].device)
    name = next(deciding, next(iter(found.streams), None))
    if name is None:
        return None
    one = found.streams[name]
    stated = stated_times(found, name)
    rows = (
        (Cell("goodput"), *map(Cell, goodput_parts(found, one, stated))),
        (Cell("greatest latency of a frame"), *map(Cell, latency_parts(found, one, stated))),
    )
    return Table(f"Parts of the verdict: {name}", PARTS, rows)


def goodput_parts(
    found: SystemPrediction, one: StreamPrediction, stated: StatedTimes
) -> tuple[str, str, str]:
    """Return three texts on a stream's goodput: limits by network and hosts, and the application's request."""
    rate_bps = min(link.rate_bps for link in found.system.links_of(one.stream))
    ports = (found.links[found.system.ports[name].link].ports[name] for name in one.stream.path)
    busiest = max(port.asked_ratio for port in ports)
    network = (
        f"at most {units.format_bps(rate_bps)}; all streams together request {percent(busiest)}"
    )
    goodput, request_bps = one.goodput_bps, one.stream.requested_goodput_bps
    known = not goodput.absent and goodput.basis != "theory"  # theory knows no hosts
    hosts = NOT_KNOWN
    if known and one.bottleneck in HOST_LIMITS:
        hosts = f"limit it to {units.format_bps(goodput.value, 4)}"
    elif known and goodput.low >= min(request_bps, goodput.value):
        hosts = "do not limit it"
    cores = "; ".join(
        f"{device.name} states {span_text(device.core_time_s)} of core time per frame"
        for device in stated.devices.values()
        if device.core_time_s
    )
    hosts = f"{hosts}; {cores}" if cores else hosts
    asks = units.format_bps(request_bps) if math.isfinite(request_bps) else "an unlimited rate"
    return network, hosts, f"requests {asks}"


def latency_parts(
    found: SystemPrediction, one: StreamPrediction, stated: StatedTimes
) -> tuple[str, str, str]:
    """Return three texts on the greatest latency of a frame: the times of network, hosts and application.

    A system file may state the latency of a device. If it does so for the source or the sink of the stream, the text on
    hosts names this device and its latency.
    """
    system, bound = found.system, one.latency_bound
    own_s = (
        system.devices[one.stream.source].app_send_s + system.devices[one.stream.sink].app_recv_s
    )
    own = f"adds {units.format_seconds(own_s, 4)}" if own_s else "its own work is not stated"
    if bound is None or math.isnan(bound.network_s):
        return NOT_KNOWN, stated.why or NOT_KNOWN, own
    hosts = f"add up to {units.format_seconds(bound.hosts_s, 3)}"
    if NETWORK in bound.covers:
        hosts = f"{stated.why}; the rest is {NOT_KNOWN}" if stated.devices else NOT_KNOWN
    elif stated.devices:
        hosts = f"{hosts}: {stated.why}"
    return f"up to {units.format_seconds(bound.network_s, 3)}", hosts, own


def changes(found: SystemPrediction, groups: Groups) -> Iterator[str]:
    """Yield sentences on changes and measurements that would change the verdict on a system."""
    if not groups:
        yield "State a requirement, or the rate of a stream: without either, nothing can be judged."
        return
    worst = next(iter(groups.values()))[0]
    if found.verdict == MET:
        clause = margin_clause(worst.verdict.requirement.name, margin(worst))
        yield f"{clause}; a loss of more than that changes the verdict."
    else:
        file = found.system.file or found.system.name
        yield f"icmodel recommend {shlex.quote(file)} finds the fewest changes that meet all requirements."
    for name, some in groups.items():
        if some[0].verdict.outcome == NOT_MET:
            yield f"“{name}” at {about(some[0])}: {_cause(found, some[0])}."
    count = sum(some[0].verdict.outcome == UNDECIDED for some in groups.values())
    if count:
        yield f"Measurements of the system's hosts would decide {plural(count, 'open requirement')}."


def _cause(found: SystemPrediction, one: Judged) -> str:
    """Return the cause of a missed requirement as text: margin, bottleneck, and largest term of the latency."""
    parts = [margin(one) or reason(one)]
    if by := limit_name(one.verdict.limiting):
        parts.append(f"limited by {by}")
    stream = None if one.device else found.streams[one.stream]
    if stream is not None and stream.terms and one.verdict.requirement.metric.startswith("latency"):
        cause = max(stream.terms, key=lambda name: stream.terms[name])
        parts.append(
            f"{cause} adds the most to a frame: {units.format_seconds(stream.terms[cause], 3)}"
        )
    return ", ".join(parts)


def parts_to_buy(found: SystemPrediction) -> Iterator[tuple[str, str]]:
    """Yield the hardware to buy (interfaces, cores, switches) and its cost, as pairs of name and text."""
    system = found.system
    kinds = Counter(
        f"{units.format_bps(link.rate_bps)} {link.interconnect}"
        for link in system.links.values()
        for end in link.ends
        if end in system.devices
    )
    each = ", ".join(f"{count} of {kind}" for kind, count in kinds.most_common(MOST_NUMBERS))
    yield "interfaces", each or "none"
    known = [device.cores for device in system.devices.values() if device.cores is not None]
    silent = len(system.devices) - len(known)
    unknown = f"{plural(silent, 'device')} without a stated number" if silent else ""
    stated = f"{sum(known)} in {plural(len(known), 'device')}" if known else ""
    yield "cores", ", ".join(filter(None, (stated, unknown)))
    cables = plural(len(system.links), "cable")
    yield "switches and cables", f"{plural(len(system.switches), 'switch')}, {cables}"
    cost = "the file states no costs"
    if system.costs is not None:
        cost = f"{units.format_count(system.cost)} {system.costs.currency}".strip()
    yield "cost", cost


def doubts(found: SystemPrediction, groups: Groups, problems: Iterable[Finding]) -> Iterator[str]:
    """Yield sentences on doubts about the verdict, the largest first."""
    sources = {one.group: one.source for one in found.system.devices.values() if one.latency_s}
    silent = any(one.latency_s is None for one in found.system.devices.values())
    if not found.datasets and silent:
        yield "Theory alone answers, since no dataset covers these hosts. Hosts add time and limits."
    if sources:
        named = (f"{name} ({source})" if source else name for name, source in sources.items())
        yield f"Times stated by devices are not measured: {', '.join(named)}."

    def width(one: Judged) -> float:
        estimate, limit = one.verdict.estimate, abs(one.verdict.requirement.limit)
        if math.isnan(estimate.low) or math.isnan(estimate.high):
            return math.inf
        return (estimate.high - estimate.low) / (limit or 1.0)

    worst = {name: some[0] for name, some in groups.items()}
    open_ones = [name for name, one in worst.items() if one.verdict.outcome == UNDECIDED]
    for name in sorted(open_ones, key=lambda name: -width(worst[name]))[:MOST_OPEN]:
        yield f"“{name}” stays open at {about(worst[name])}: {reason(worst[name])}."

    weak = group_by_key(
        (one.verdict.estimate.basis, name) for name, one in worst.items() if not one.by_bound
    )
    for basis in sorted(set(weak) & set(WEAK), key=BASES.index, reverse=True):
        some = ", ".join(f"“{name}”" for name in weak[basis])
        yield f"{plural(len(weak[basis]), 'verdict')} of {len(worst)} on {basis} numbers: {some}."
    bounded = [name for name, one in worst.items() if one.by_bound]
    if bounded:
        names = ", ".join(f"“{name}”" for name in bounded)
        yield f"A worst-case bound decides {names}. The bound holds as long as sources keep their period."
    yield from (f"The check found: {problem.text}" for problem in problems)
    yield from found.notes
    yield from (f"The system file: {one}" for one in found.system.known_limits)
    if found.datasets:
        yield "Other hosts than those of the datasets may behave differently."
