"""Report of an evaluation of a use case: its page, and the sections on predictions, rows, sources, limits and plots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial

from icmodel import __version__
from icmodel.documents import group_by_key
from icmodel.errors import OutOfDomain, ReportError
from icmodel.estimate import (
    BASES,
    EXTRAPOLATED,
    Estimate,
    Prediction,
    UsedRow,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
)
from icmodel.model import Model
from icmodel.plotting import Spec
from icmodel.report.blocks import (
    Bar,
    Bars,
    Block,
    Cell,
    Facts,
    Figure,
    Figures,
    Fold,
    Heading,
    Items,
    Page,
    Table,
    Text,
    filled_sections,
)
from icmodel.report.front import command, front
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.plots import BORROWED, Profile, describe, is_fastest, profile, profile_plot
from icmodel.report.vega import HERE, Row
from icmodel.report.verdicts import (
    beyond_data,
    conclude,
    derivation_table,
    required,
    used_rows,
    verdicts,
)
from icmodel.requirement import Requirement
from icmodel.scenario import Scenario
from icmodel.usecase import Answer, CandidateResult, Evaluation
from icmodel.usecase.files import USECASES


def page(evaluation: Evaluation, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report of an evaluation of a use case.

    Parameters
    ----------
    file : str
        Name of the report's file, printed in the command line that makes the report again.
    """
    case, data = evaluation.usecase, evaluation.data
    plots = tuple(figures(evaluation))
    line = command(words(evaluation), masthead, file or f"{case.name}.html")
    sections = (
        ("verdicts", "Verdicts", verdicts(evaluation)),
        ("limits", "Limits of validity", limits(evaluation)),
        ("requirements", "What is required", required(evaluation)),
        ("predictions", "Predictions", predictions(evaluation)),
        ("reasons", "Why", reasons(evaluation)),
        ("plots", "Plots", plots),
        ("rows", "Dataset rows used", rows(evaluation)),
        ("sources", "Sources", sources(evaluation)),
    )
    return Page(
        title=case.title,
        question=case.question,
        basis=f"{data.title} ({data.id}), variant {evaluation.variant}",
        answer=conclude(evaluation),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=front(evaluation, plots, line),
        masthead=masthead,
    )


def words(evaluation: Evaluation) -> Iterator[str]:
    """Yield the words of the ``icmodel`` command line that repeats this evaluation."""
    yield from ("evaluate", USECASES.argument(evaluation.usecase.name, evaluation.file))
    yield from ("--dataset", evaluation.data.reference, "--variant", evaluation.variant)
    yield from ("--candidate", evaluation.candidate)
    if evaluation.strict:
        yield "--strict"


# --- predictions ------------------------------------------------------------------------------

INTERVAL = "A new run on the dataset's hosts lies inside the interval in 90 of 100 cases."
MEANINGS = {
    "measured": "measured by icmodel's own tool",
    "tabulated": "printed in a table or a published result file of the source",
    "stated": "a sentence of the source",
    "theory": "follows from the format of the frames and the rate of the wire",
    "derived": "computed from other numbers by a named rule",
    "interpolated": "between benchmarked points",
    "assumed": "a rule of the dataset's README, with a wide range",
    EXTRAPOLATED: "beyond the benchmarked points",
}


def predictions(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on each stream: its parameters, and its metrics with intervals and bases (kinds of evidence)."""
    yield Text(
        f"{INTERVAL} The basis of a number is the weakest kind of evidence behind it. All kinds are listed, "
        "the strongest first."
    )
    yield Fold("Meaning of each basis", (Facts(tuple(MEANINGS.items())),))
    chosen = evaluation.chosen
    yield from _answers(chosen)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(f"Predictions of {candidate.name}", tuple(_answers(candidate)))


def _answers(candidate: CandidateResult) -> Iterator[Block]:
    """Yield blocks on each stream of a candidate: its parameters, predicted metrics and derived rates.

    Metrics without a value are in a collapsed list.
    """
    for answer in candidate.answers:
        yield Heading(f"{candidate.name}: {answer.stream}")
        yield Facts(tuple(parameters(answer.scenario)))
        if answer.prediction is None:
            yield Text(f"No prediction: {answer.why}.")
        else:
            metrics = answer.prediction.metrics
            yield metric_table(answer.stream, metrics)
            absent = tuple(
                f"{metric_name(name)}: {estimate.why}"
                for name, estimate in metrics.items()
                if estimate.absent
            )
            if absent:
                title = f"{plural(len(absent), 'metric')} without a number"
                yield Fold(title, (Items("", absent),))
        if answer.derivations:
            yield derivation_table(f"Rates for {answer.stream}", answer.derivations)


def parameters(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a scenario as pairs of name and text."""
    yield "protocol", scenario.protocol
    yield "payload", quantity("payload_bytes", scenario.payload_bytes)
    if scenario.rate_fps is None:
        yield "rate", "unlimited"
    else:
        yield "rate", quantity("rate_fps", scenario.rate_fps)
        yield "requested goodput", quantity("goodput_bps", scenario.requested_goodput_bps)
    yield "cores", "as benchmarked" if scenario.cores is None else str(scenario.cores)
    yield "switches", str(scenario.switches)
    yield "endpoints", str(scenario.endpoints)
    if scenario.endpoints > 1:
        yield "requests of others", quantity("other_goodput_bps", scenario.other_goodput_bps)
    if scenario.distance_m is not None:
        yield "distance", quantity("distance_m", scenario.distance_m)
    if scenario.line_rate_bps is not None:
        yield "line rate", quantity("line_rate_bps", scenario.line_rate_bps)
    if scenario.cpu_clock_ratio != 1:
        yield "CPU clock", f"{scenario.cpu_clock_ratio:g} times that of the dataset's hosts"
    for name, value in scenario.work.to_dict().items():
        if value:
            yield name, quantity(name, value)
    yield from scenario.options.items()


def metric_table(stream: str, metrics: Mapping[str, Estimate]) -> Table:
    """Return a table of the metrics with a value: value, interval and bases (kinds of evidence)."""
    rows = []
    for name, estimate in metrics.items():
        if estimate.absent:
            continue
        others = [basis for basis in estimate.bases if basis != estimate.basis]
        bases = f"{estimate.basis}; with {', '.join(others)}" if others else estimate.basis
        rows.append(
            (
                Cell(metric_name(name), name=name),
                Cell(estimated(name, estimate)),
                Cell(interval(name, estimate)),
                Cell(bases, note="" if estimate.basis == EXTRAPOLATED else estimate.why),
            )
        )
    columns = ("metric", "value", "90 % interval", "based on")
    return Table(f"Predicted for {stream}", columns, tuple(rows), numbers=columns[1:3])


# --- why --------------------------------------------------------------------------------------


def reasons(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks that explain the predictions of the chosen candidate by goodput bounds and latency terms."""
    explained = {
        answer.stream: answer.prediction
        for answer in evaluation.chosen.answers
        if answer.prediction is not None
    }
    if not explained:
        yield Text(f"There is no prediction for {evaluation.candidate}.")
    for stream, prediction in explained.items():
        yield Heading(f"{evaluation.candidate}: {stream}")
        yield from explain(prediction)


def explain(prediction: Prediction) -> Iterator[Block]:
    """Yield two bar charts: the bounds of the goodput, and the terms of the mean latency.

    The goodput is the least bound. The mean latency is the sum of the terms.
    """
    bounds = prediction.bounds
    if bounds:
        by = f", limited by {by}" if (by := limit_name(prediction.bottleneck)) else ""
        yield Text(f"The goodput is the least of its bounds{by}.")
        finite = [value for value in bounds.values() if math.isfinite(value)]
        longest, least = max(finite, default=1.0), min(finite, default=0.0)
        bars = (
            Bar(
                name,
                quantity("goodput_bps", value),
                share=0.0 if math.isnan(value) else min(value / longest, 1.0),
                mark="decides" if value == least else "",
            )
            for name, value in bounds.items()
        )
        yield Bars("Bounds of the goodput", tuple(bars))
    terms = prediction.terms
    if terms:
        mean = quantity("latency_mean_s", prediction.metrics["latency_mean_s"].value)
        yield Text(f"The terms of the latency add up to its mean, {mean}.")
        longest = max(terms.values())
        bars = (
            Bar(
                name,
                quantity("latency_mean_s", value),
                share=max(value / longest, 0.0) if longest > 0 else 0.0,
                mark="longest" if value == longest else "",
            )
            for name, value in terms.items()
        )
        yield Bars("Terms of the mean latency", tuple(bars))
    else:
        yield Text("No one-way latency is predicted.")


# --- the rows of the dataset ------------------------------------------------------------------


def rows(evaluation: Evaluation) -> Iterator[Block]:
    """Yield two tables: the dataset rows behind the predictions, and the sources of these rows."""
    data = evaluation.data
    used = used_rows(evaluation.candidates)
    if not used:
        yield Text(f"No row of {data.id} was used: nothing could be predicted.")
        return
    counted = [(evaluation.candidate, used_rows([evaluation.chosen]))]
    if len(evaluation.candidates) > 1:
        counted.append(("all candidates together", used))
    for whose, some in counted:
        if some:
            count = f"{plural(len(some), 'row')} of {data.id}: {_count_by_basis(some)}"
            yield Text(f"The predictions of {whose} use {count}.")
        else:
            yield Text(f"The predictions of {whose} use no row of {data.id}.")
    by_source = group_by_key((row.source, row) for row in used)
    origins = tuple(
        (Cell(source), Cell(str(len(some))), Cell(_count_by_basis(some)))
        for source, some in sorted(by_source.items())
    )
    yield Table("Sources of the rows", ("source", "rows", "basis"), origins, numbers=("rows",))

    def text(name: str, value: float | None) -> str:
        return "–" if value is None else quantity(name, value)

    cells = tuple(
        (
            Cell(str(row.line)),
            Cell(metric_name(row.metric)),
            Cell(text("payload_bytes", row.payload_bytes)),
            Cell(text("load_bps", row.load_bps)),
            Cell(text(row.metric, row.value)),
            Cell(row.basis),
            Cell(row.source),
        )
        for row in used
    )
    columns = ("line", "metric", "payload", "load", "value", "basis", "source")
    numbers = ("line", "payload", "load", "value")
    table = Table(f"Rows of {data.id}, points.csv", columns, cells, numbers)
    yield Fold(f"All rows ({len(used)})", (table,))


def _count_by_basis(rows: Iterable[UsedRow]) -> str:
    counts = Counter(row.basis for row in rows)
    return ", ".join(f"{counts[basis]} {basis}" for basis in BASES if basis in counts)


# --- sources and limits -----------------------------------------------------------------------


def sources(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on the sources of the use case and the dataset: citation, licence, tool and hosts."""
    case, data = evaluation.usecase, evaluation.data
    yield Heading("The use case")
    pairs = [("use case", case.name), ("source", case.source), ("citation", case.citation)]
    yield Facts(tuple((name, text) for name, text in pairs if text))

    yield Heading("The dataset")
    tool = data.document.get("tool")
    measured = ""
    if isinstance(tool, dict):
        version = tool.get("version", "not stated")
        measured = f"{tool.get('name', 'not named')} (version: {version})"
    pairs = [
        ("dataset", f"{data.id}, edition {data.document.get('edition', 'not stated')}"),
        ("title", data.title),
        ("citation", data.citation),
        ("licence", data.licence),
        ("measured with", measured),
    ]
    yield Facts(tuple((name, text) for name, text in pairs if text))

    hosts = data.document.get("hosts", [])
    described = []
    for host in hosts if isinstance(hosts, list) else []:
        parts = "; ".join(f"{key}: {value}" for key, value in host.items() if key != "name")
        named = str(host.get("name", "not named"))
        described.append(f"{named}: {parts}" if parts else named)
    if described:
        yield Items("Hosts", tuple(described))


def limits(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on the limits of validity: assumed rows, extrapolation, notes and known limits."""
    chosen = evaluation.chosen
    used = used_rows([chosen])
    assumed = sum(row.basis == "assumed" for row in used)
    if used:
        yield Text(
            f"{assumed} of the {plural(len(used), 'row')} under {chosen.name} "
            f"{'is' if assumed == 1 else 'are'} assumed by rules of the dataset's README, not "
            "measured."
        )
    for title, sentences in (
        ("Beyond the data", beyond_data(chosen)),
        (f"Notes on {chosen.name}", _notes(chosen)),
        ("Notes", evaluation.notes),
        ("Known limits of the dataset", evaluation.data.known_limits),
        ("Known limits of the use case", evaluation.usecase.known_limits),
    ):
        if items := tuple(sentences):
            yield Items(title, items)
    for candidate in evaluation.candidates:
        items = (*beyond_data(candidate), *_notes(candidate))
        if candidate is not chosen and items:
            yield Fold(f"Notes on {candidate.name}", (Items("", items),))


def _notes(candidate: CandidateResult) -> Iterator[str]:
    """Yield notes on a candidate and its streams, and the reasons why streams have no prediction."""
    yield from candidate.notes
    for answer in candidate.answers:
        if answer.prediction is None:
            yield f"{answer.stream}: {answer.why}"
        yield from (f"{answer.stream}: {note}" for note in answer.notes)


# --- plots ------------------------------------------------------------------------------------

LATENCIES = ("latency_mean_s", "rtt_half_mean_s", "rtt_mean_s")
CPUS = ("cpu_recv", "cpu_send", "cpu_recv_cores", "cpu_send_cores")
"""Metrics to choose from for two plots: a latency (``LATENCIES``) and a CPU load (``CPUS``).

A metric with a requirement is plotted. Without one, the plot shows the first metric with a value.
"""


def figures(evaluation: Evaluation) -> Iterator[Block]:
    """Yield the plots of the chosen candidate, stream by stream."""
    model, chosen = evaluation.model, evaluation.chosen
    yield Text(
        "Points are rows of the dataset. The shape of a point shows its basis. A thin vertical line shows the "
        "range that the row's source states. The thick line is the prediction; pale parts are extrapolated. "
        "The shaded band is the 90 % interval of the prediction."
    )
    for answer in chosen.answers:
        yield Heading(f"{chosen.name}: {answer.stream}")
        requirements = {
            finding.verdict.requirement.metric: finding.verdict.requirement
            for finding in chosen.findings
            if finding.stream == answer.stream and not finding.device
        }
        profile_over = cache(partial(profile, model, answer.scenario))
        plotted = []
        for metric, over in plotted_metrics(model, answer, requirements):
            try:
                walk = profile_over(over, fastest=is_fastest(metric, over))
                plotted.append(figure(walk, answer.stream, metric, requirements.get(metric)))
            except (OutOfDomain, ReportError):
                continue
        if plotted:
            yield Figures(tuple(plotted))
        else:
            yield Text(f"No plot: {answer.why or 'the dataset has no curve of this stream'}.")


def plotted_metrics(
    model: Model, answer: Answer, requirements: Mapping[str, Requirement]
) -> Iterator[tuple[str, str]]:
    """Yield the plots of one stream, as pairs of metric and x axis.

    The x axis can be the load only if the dataset has rows at two or more loads.
    """

    def load_or(metric: str, axis: str) -> str:
        rows = model.data.of_metric(metric)
        loads = {row.load_bps for row in rows if row.protocol == answer.scenario.protocol}
        return "load" if len(loads) > 1 else axis

    metrics = {} if answer.prediction is None else answer.prediction.metrics
    known = [name for name, estimate in metrics.items() if not estimate.absent]
    if "goodput_bps" in known:
        yield "goodput_bps", "payload"
    times = [name for name in (*requirements, *LATENCIES) if name in known and name.endswith("_s")]
    if times:
        for over in dict.fromkeys((load_or(times[0], "payload"), "payload")):
            yield times[0], over
    cpus = [name for name in (*requirements, *CPUS) if name in known and name.startswith("cpu_")]
    if cpus:
        yield cpus[0], load_or(cpus[0], "payload")


def figure(walk: Profile, stream: str, metric: str, requirement: Requirement | None) -> Figure:
    """Make a plot of a stream, with a table of its numbers and a caption."""
    spec = profile_plot(walk, metric, requirement)
    title, fastest = spec["title"]["text"], is_fastest(metric, walk.over)
    sentences = [f"{title}: {describe(walk.here.scenario, walk.field, fastest=fastest)}."]
    if walk.substituted:
        sentences.append(f"{BORROWED.capitalize()}.")
    if walk.over == "payload" and not fastest:
        sentences.append(
            "The requested goodput stays constant; only the payload of its frames changes."
        )
    if walk.over == "load":
        sentences.append("Points without a load limit stand at the right end.")
    if any(row["shade"] for row in spec["datasets"].get("benchmarked", ())):
        sentences.append("Grey points have other payloads.")
    if metric == "goodput_bps" and walk.here.scenario.endpoints > 1:
        sentences.append(
            "The points show a single stream; the line shows this stream's share beside others."
        )
    numbers = numbers_table(spec, walk, metric)
    return Figure(title, " ".join(sentences), spec["description"], spec, numbers, stream, metric)


def numbers_table(spec: Spec, walk: Profile, metric: str) -> Table:
    """Return a table of the numbers in a plot, with one row for each x value.

    First come the x values that were measured in the dataset, ascending. The last row is that of the scenario.
    """
    data: dict[str, list[Row]] = spec["datasets"]
    field, points = walk.field, data.get("benchmarked", [])
    theory = {row[field]: str(row["said"]) for row in data.get("theory", [])}
    steps = {row[field]: row for row in data["predicted"]}
    columns = [walk.over, "predicted", "based on", "benchmarked"]
    if theory:
        columns.append("theory bound")

    rows = []
    xs = {row[field] for row in points} & steps.keys()
    for x in sorted(xs, key=lambda x: float(str(x))):
        texts = []
        for point in points:
            load = {"not stated": "", "unlimited": " at unlimited rate"}.get(
                str(point["load"]), f" at {point['load']}"
            )
            if point[field] == x:
                texts.append(f"{point['said']}{load} ({point['group']})")
        step = steps[x]
        rows.append((step["at"], step["said"], step["basis"], "; ".join(texts), theory.get(x, "")))
    for row in data.get("here", []):
        at = f"{row['at']}, {HERE}"
        rows.append((at, row["said"], row["basis"], "", theory.get(row[field], "")))
    cells = tuple(tuple(Cell(str(cell)) for cell in row[: len(columns)]) for row in rows)
    numbers = (walk.over, "predicted", "theory bound")
    return Table(f"Numbers of the plot: {metric_name(metric)}", tuple(columns), cells, numbers)
