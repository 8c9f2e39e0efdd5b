"""Report of an evaluation of a use case: first page, appendix, and up to four plots for each stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

from icmodel import __version__
from icmodel.errors import OutOfDomain, ReportError
from icmodel.estimate import metric_name
from icmodel.model import Model
from icmodel.plotting import Spec
from icmodel.report.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Heading,
    Page,
    Table,
    Text,
    filled_sections,
)
from icmodel.report.drawing import HERE, Row
from icmodel.report.front import command, front
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.plots import BORROWED, describe, is_fastest, profile_plot
from icmodel.report.predictions import limits, predictions, reasons, rows, sources
from icmodel.report.profile import Profile, profile
from icmodel.report.verdicts import conclude, required, verdicts
from icmodel.requirement import Requirement
from icmodel.usecase import Answer, Evaluation, usecase_names


def page(evaluation: Evaluation, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the whole report of an evaluation of a use case.

    Parameters
    ----------
    file : str
        Name of the report's file, for the command that repeats the report.
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
    file, name = evaluation.file, evaluation.usecase.name
    name = name if name in usecase_names() else f"{name}.toml"
    yield from ("evaluate", name if file is None else file.name)
    yield from ("--dataset", evaluation.data.reference, "--variant", evaluation.variant)
    yield from ("--candidate", evaluation.candidate)
    if evaluation.strict:
        yield "--strict"


LATENCIES = ("latency_mean_s", "rtt_half_mean_s", "rtt_mean_s")
CPUS = ("cpu_recv", "cpu_send", "cpu_recv_cores", "cpu_send_cores")
"""Latency and CPU metrics to plot; each tuple gives one plot.

The plot shows the metric that a requirement limits, or else the first metric with a value.
"""


def figures(evaluation: Evaluation) -> Iterator[Block]:
    """Yield the plots of the chosen candidate, stream by stream."""
    model, chosen = evaluation.model, evaluation.chosen
    yield Text(
        "Points are rows of the dataset. The shape of a point shows its basis, a thin line the range "
        "given by its source. The thick line is predicted. The shaded band is its 90 % interval, "
        "pale where it is extrapolated."
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
                plotted.append(figure(walk, metric, requirements.get(metric)))
            except (OutOfDomain, ReportError):
                continue
        if plotted:
            yield Figures(tuple(plotted))
        else:
            yield Text(f"Nothing to plot: {answer.why or 'the dataset has no curve of it'}.")


def plotted_metrics(
    model: Model, answer: Answer, requirements: Mapping[str, Requirement]
) -> Iterator[tuple[str, str]]:
    """Yield the metrics to plot for one stream, each with the x axis of its plot.

    The x axis is the load only if the dataset has rows at two or more loads.
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


def figure(walk: Profile, metric: str, requirement: Requirement | None) -> Figure:
    """Make a plot with a table of its numbers, and a caption that explains how to read it."""
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
    return Figure(title, " ".join(sentences), spec["description"], spec, numbers, metric)


def numbers_table(spec: Spec, walk: Profile, metric: str) -> Table:
    """Return a table of the numbers in a plot, at the x values of the dataset rows and of the scenario."""
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
            load = {"not said": "", "unlimited": " at unlimited rate"}.get(
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
