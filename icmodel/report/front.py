"""First page of a report: texts and tables for every kind of report, and the first page of an evaluation."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from icmodel import __version__
from icmodel.dataset import catalogue
from icmodel.documents import group_by_key
from icmodel.estimate import (
    BASES,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
    shortened,
)
from icmodel.model import Model
from icmodel.reading import SourceFile
from icmodel.report.blocks import (
    MOST_CHANGES,
    MOST_DOUBTS,
    MOST_NUMBERS,
    Block,
    Cell,
    Figure,
    Figures,
    Front,
    Table,
)
from icmodel.report.masthead import Masthead
from icmodel.report.verdicts import (
    about,
    beyond_data,
    limit_text,
    margin_clause,
    margin_text,
    settling_measurement,
    used_rows,
    weakest_basis_text,
)
from icmodel.requirement import MET, OUTCOMES, UNDECIDED
from icmodel.scenario import Scenario
from icmodel.solve import REFUSALS
from icmodel.usecase import Answer, CandidateResult, Evaluation, Finding, UseCase

MOST_NAME, MOST_SENTENCE = 80, 230
"""Maximum lengths of a name and of a sentence on a first page [characters]. The appendix has the full texts."""
NOT_KNOWN = "not known"
PARTS = ("", "the network allows", "the hosts", "the application")
"""Column names of the table that splits goodput and latency into the parts of network, hosts and application."""
NETWORK_BOUNDS, HOST_BOUNDS, APPLICATION_BOUNDS = (
    ("wire", "share"),
    ("benchmark", "cpu", "packet-rate", "receiver"),
    ("application_send", "application_recv"),
)
"""Names of the upper bounds of a goodput: set by the network, by the hosts, and by the application."""


# --- texts of every first page ----------------------------------------------------------------


def sentences(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """Return at most ``most`` sentences, each once, shortened for the first page. Empty texts are left out."""
    found = dict.fromkeys(shortened(text, MOST_SENTENCE) for text in texts if text)
    return tuple(found)[:most]


def name_cell(name: str, note: str = "") -> Cell:
    """Return a table cell with a name and a note, both shortened for the first page."""
    return Cell(shortened(name, MOST_NAME), note=shortened(note, MOST_NAME))


def basis_text(basis: str, rule: str = "") -> str:
    """Return the basis of a number (its kind of evidence) as text, such as ``assumed (R19)``.

    ``rule`` is ``R19``: the name of the rule by which the author of the dataset assumed the number. The README of the
    dataset explains the rule.
    """
    return f"{basis} ({rule})" if basis and rule else basis or "nothing predicted"


def more_requirements(outcomes: Sequence[str], section: str) -> str:
    """Return a sentence with the number of further requirements in the appendix, by outcome; empty if there are none.

    Parameters
    ----------
    outcomes : sequence of str
        Outcomes of all requirements, in the order of the first page.
    section : str
        Title of the section that lists all requirements.
    """
    rest = Counter(outcomes[MOST_NUMBERS:])
    if not rest:
        return ""
    counted = ", ".join(f"{rest[one]} {one}" for one in OUTCOMES if rest[one])
    return f"{plural(sum(rest.values()), 'more requirement')} under {section}: {counted}."


def dataset_word(name: str) -> str:
    """Return the name of a dataset, for the command line shown in a report.

    For a dataset that is not bundled, it is the name of its folder. The parent folders are left out.
    """
    if name in catalogue():
        return name
    path = Path(name)
    return (path.parent if path.name == "dataset.toml" else path).name


def command(words: Iterable[str], masthead: Masthead, file: str) -> str:
    """Return the command line that makes a report again. Files are named without their folders."""
    return shlex.join(["icmodel", *words, *masthead.words(), "-o", file])


def repeat(
    line: str, datasets: Mapping[str, str], variant: str, file: SourceFile | None
) -> tuple[tuple[str, str], ...]:
    """Return the facts that reproduce a report, as pairs of name and text.

    The facts are the command line, the hashes of its inputs, the version of icmodel, and the variant of the model.
    """
    facts = [("command", line)]
    if file is not None:
        facts.append((file.name, f"sha256 {file.sha256}"))
    if len(datasets) <= MOST_DATASETS:
        facts += [(name, f"sha256 {sha256}") for name, sha256 in datasets.items()]
    facts.append(("icmodel", f"{__version__}{f', variant {variant}' if variant else ''}"))
    return tuple(facts)


COST = "not stated: a use case has no costs, but a system file may state them"
MOST_OPEN = 2
"""Maximum number of doubts about undecided requirements on a first page. The limit leaves room for other doubts."""
MOST_DATASETS = 3
"""Maximum number of datasets with hashes on a first page. With more datasets, the page prints no hashes."""


# --- an evaluation ----------------------------------------------------------------------------


def front(evaluation: Evaluation, plots: Sequence[Block], line: str) -> Front:
    """Make the first page of the report of an evaluation.

    Parameters
    ----------
    plots : sequence of Block
        Blocks of the report's section of plots. The plot of the first page is one of them.
    line : str
        Command line that makes the report again.
    """
    chosen = evaluation.chosen
    ranked = sorted(chosen.findings, key=lambda one: (-OUTCOMES.index(one.outcome), one.order))
    data, answers = evaluation.data, {answer.stream: answer for answer in chosen.answers}
    decisive = answers[chosen.decisive.stream]
    return Front(
        numbers=_numbers(ranked[:MOST_NUMBERS]),
        more=more_requirements([one.outcome for one in ranked], "Verdicts"),
        parts=parts(decisive, evaluation.model),
        picture=picture(plots, chosen.decisive),
        change=sentences(_changes(evaluation), MOST_CHANGES),
        buy=tuple(_parts_to_buy(evaluation)),
        doubts=sentences(_doubts(evaluation, ranked), MOST_DOUBTS),
        repeat=repeat(line, {data.id: data.sha256}, evaluation.variant, evaluation.file),
    )


def _numbers(findings: Iterable[Finding]) -> Table:
    """Return the table of requirements on the first page: value, limit, margin and verdict."""
    rows = []
    for finding in findings:
        verdict = finding.verdict
        metric, estimate = verdict.requirement.metric, verdict.estimate
        span = interval(metric, estimate)
        rows.append(
            (
                name_cell(verdict.requirement.name, f"{metric_name(metric)} of {about(finding)}"),
                Cell(span) if finding.grows else Cell(estimated(metric, estimate), note=span),
                Cell(limit_text(verdict)),
                Cell(margin_text(verdict) or "unknown"),
                Cell(basis_text(finding.rests_on.basis, finding.rests_on.rule)),
                Cell("", outcome=verdict.outcome),
            )
        )
    columns = ("requirement", "predicted", "limit", "margin", "based on", "verdict")
    caption = "The numbers that decide, the worst first. Below each value is its 90 % interval"
    return Table(caption, columns, tuple(rows), numbers=("predicted", "limit"))


def picture(plots: Sequence[Block], decisive: Finding) -> Figure | None:
    """Choose the plot for the first page: metric and stream of the requirement that decides the verdict.

    If there is no such plot, another plot is chosen, if possible of the same stream. Without plots, the result is
    None.
    """

    def rank(figure: Figure) -> tuple[bool, bool]:
        requirement = decisive.verdict.requirement
        return figure.stream != decisive.stream, figure.metric != requirement.metric

    figures = [one for block in plots if isinstance(block, Figures) for one in block.figures]
    return min(figures, key=rank, default=None)


def _changes(evaluation: Evaluation) -> Iterator[str]:
    """Yield sentences on changes and measurements that would change the verdict."""
    chosen = evaluation.chosen
    decisive = chosen.decisive
    if chosen.outcome == MET:
        margin = margin_text(decisive.verdict)
        yield f"{margin_clause(decisive.title, margin)}; a loss of more than that changes the verdict."
        if settle := settling_measurement(chosen):
            yield f"A measurement could change the verdict: {settle}."
        return
    for one in evaluation.candidates:
        if one.outcome == MET:
            yield f"The candidate {one.name} meets every requirement."
            break
    for finding in (decisive, *chosen.findings):
        if finding.outcome != MET and finding.remedy:
            yield f"“{finding.title}”: {finding.remedy}."
    open_ones = [one for one in chosen.findings if one.outcome == UNDECIDED]
    settling_by = group_by_key((one.rests_on.settle, one.title) for one in open_ones)
    for settle, titles in settling_by.items():
        others = f" and {plural(len(titles) - 1, 'more requirement')}" if len(titles) > 1 else ""
        if settle:
            yield f"“{titles[0]}”{others}: {settle}."
    by = limit_name(decisive.verdict.limiting)
    needed = f"“{decisive.title}” decides: {limit_text(decisive.verdict)} is needed"
    yield f"{needed}{f', limited by {by}' if by else ''}."


def _parts_to_buy(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield the hardware to buy (interfaces, cores, switches) and its cost, as pairs of name and text."""
    case, chosen = evaluation.usecase, evaluation.chosen
    link = evaluation.data.document.get("interconnect", {})
    kind = link.get("kind", "") if isinstance(link, dict) else ""
    rates = [rate for answer in chosen.answers if (rate := answer.scenario.line_rate_bps)]
    rate = max(rates, default=link.get("line_rate_bps") if isinstance(link, dict) else None)
    line_rate = quantity("line_rate_bps", rate) if rate else ""
    interface = " ".join(filter(None, (line_rate, str(kind))))

    yield "interfaces", interfaces_text(case, chosen, interface)
    cores = (
        f"{answer.stream} {answer.scenario.cores or 'as benchmarked'}" for answer in chosen.answers
    )
    yield "cores at each end", shortened(", ".join(cores), MOST_SENTENCE)
    switches = max((answer.asked.switches for answer in chosen.answers), default=0)
    yield "switches on the path", str(switches)
    yield "cost", COST


def interfaces_text(case: UseCase, result: CandidateResult, interface: str) -> str:
    """Return as text the number of interfaces that a candidate needs, in total and by device.

    Parameters
    ----------
    interface : str
        Rate and kind of one interface, such as ``10 Gb/s ethernet``.
    """
    total = {one.name: one for one in result.derivations}.get("devices.interfaces")
    if total is not None:  # its formula has a term for each device: "1 × 3 + 2 × 1"
        counts = zip(case.devices, total.formula.split(" + "), strict=True)
        text = f"{total.text} of {interface}: {', '.join(f'{one.name} {n}' for one, n in counts)}"
    elif case.devices:
        counted = [(one.name, one.count, one.interfaces or 1) for one in case.devices]
        named = ", ".join(f"{name} {count} × {n}" for name, count, n in counted)
        text = f"{sum(count * n for _, count, n in counted)} of {interface}: {named}"
    else:
        text = f"one of {interface} for each end; the use case names no devices"
    return shortened(text, MOST_SENTENCE)


def _doubts(evaluation: Evaluation, ranked: Sequence[Finding]) -> Iterator[str]:
    """Yield sentences on doubts about the verdict, the largest first."""
    chosen = evaluation.chosen
    for answer in chosen.answers:
        if answer.prediction is None:
            yield f"Nothing is predicted for {answer.stream}: {answer.why}."

    # Undecided requirements, the widest interval first.
    def width(finding: Finding) -> float:
        estimate, limit = finding.verdict.estimate, abs(finding.verdict.requirement.limit)
        ends = (estimate.high, estimate.low)
        return math.inf if any(map(math.isnan, ends)) else (ends[0] - ends[1]) / (limit or 1.0)

    open_ones = [one for one in ranked if one.outcome == UNDECIDED]
    for finding in sorted(open_ones, key=width, reverse=True)[:MOST_OPEN]:
        verdict = finding.verdict
        span = interval(verdict.requirement.metric, verdict.estimate)
        known = f"the interval {span} contains the limit" if span else verdict.why
        yield f"“{finding.title}” stays open: {known}."

    weak = group_by_key((one.rests_on.basis, one.title) for one in ranked if one.rests_on.weak)
    for basis in sorted(weak, key=BASES.index, reverse=True):
        titles = dict.fromkeys(weak[basis])
        some = ", ".join(f"“{title}”" for title in titles)
        yield f"{plural(len(titles), 'verdict')} of {len(ranked)} on {basis} numbers: {some}."
    used = used_rows([chosen])
    assumed = sum(row.basis == "assumed" for row in used)
    if assumed:
        yield f"{assumed} of the {len(used)} rows of {evaluation.data.id} used are assumed, not measured."
    yield from (f"Beyond the data: {one}." for one in beyond_data(chosen))
    if rests := weakest_basis_text(chosen):
        yield f"The verdict rests {rests}, the weakest evidence among its deciding numbers."
    for whose, limits in (("The use case", evaluation.usecase), ("The dataset", evaluation.data)):
        yield from (f"{whose}: {one}" for one in limits.known_limits)
    yield f"Other hosts than those of {evaluation.data.id} may behave differently."


# --- the parts of a verdict -------------------------------------------------------------------


def parts(answer: Answer, model: Model | None = None) -> Table:
    """Return a table of a stream's goodput and mean latency, with a column each for network, hosts and application.

    If the stream has no prediction, the network column shows the bounds by theory.
    """
    rows = (
        (Cell("goodput"), *map(Cell, goodput_parts(answer, model))),
        (Cell("mean latency of a frame"), *map(Cell, latency_parts(answer, model))),
    )
    stream = shortened(answer.stream, MOST_NAME)
    return Table(f"Parts of the verdict: {stream}", PARTS, rows)


def goodput_parts(answer: Answer, model: Model | None) -> tuple[str, str, str]:
    """Return three texts on a stream's goodput: the bound by the network, the rate that hosts reach, and the request."""
    bounds = {} if answer.prediction is None else answer.prediction.bounds
    scenario = answer.scenario

    def least(names: Iterable[str]) -> tuple[float, str]:
        known = ((bounds[name], f" ({limit_name(name)})") for name in names if name in bounds)
        return min((pair for pair in known if math.isfinite(pair[0])), default=(math.inf, ""))

    network, by = least(NETWORK_BOUNDS)
    if math.isinf(network) and model is not None and scenario.protocol in model.data.protocols:
        network, by = _bound_by_theory(model.greatest_goodput_bps, answer), " (theory)"
    (hosts, host), (own, _) = least(HOST_BOUNDS), least(APPLICATION_BOUNDS)
    host = "" if hosts == bounds.get("benchmark") else host
    asked = "unlimited rate"
    if scenario.rate_fps is not None:
        asked = f"requests {quantity('goodput_bps', scenario.requested_goodput_bps)}"
    return (
        f"at most {quantity('goodput_bps', network)}{by}" if math.isfinite(network) else NOT_KNOWN,
        f"reach {quantity('goodput_bps', hosts)}{host}" if math.isfinite(hosts) else NOT_KNOWN,
        asked if math.isinf(own) else f"{asked}; its work allows {quantity('goodput_bps', own)}",
    )


def latency_parts(answer: Answer, model: Model | None) -> tuple[str, str, str]:
    """Return three texts on a stream's mean latency: the times of network, hosts and application."""
    work, size = answer.scenario.work, answer.scenario.payload_bytes
    own_s = work.sending_s(size) + work.receiving_s(size)
    own = f"adds {quantity('latency_mean_s', own_s, 4)}" if own_s else "its own work is not stated"
    terms = {} if answer.prediction is None else answer.prediction.terms
    if not terms:
        least_s = math.inf
        if model is not None and answer.scenario.protocol in model.data.protocols:
            least_s = _bound_by_theory(model.least_latency_s, answer)
        known = math.isfinite(least_s)
        return (
            f"at least {quantity('latency_mean_s', least_s, 4)}" if known else NOT_KNOWN,
            NOT_KNOWN,
            own,
        )
    hosts_s = terms["stack"] - own_s
    network_s = math.fsum(time for name, time in terms.items() if name != "stack")
    hosts = f"add {quantity('latency_mean_s', hosts_s, 4)}" if hosts_s > 0 else NOT_KNOWN
    return f"takes {quantity('latency_mean_s', network_s, 4)}", hosts, own


def _bound_by_theory(bound: Callable[[Scenario], float | None], answer: Answer) -> float:
    """Compute theory's bound for a stream: its greatest goodput [b/s] or its least latency [s]; infinity if unknown.

    ``bound`` is a function that computes this bound for a scenario. The bound is unknown if the function returns None,
    or raises one of the errors in `REFUSALS`.
    """
    try:
        value = bound(answer.scenario)
    except REFUSALS:
        return math.inf
    return math.inf if value is None else value
