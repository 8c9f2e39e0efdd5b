"""``icmodel plot``: a metric over payload, load or cores, with the measured points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from icmodel.cli.options import (
    AsJson,
    DatasetName,
    NoCache,
    Output,
    ProtocolName,
    VariantName,
    make_app,
    option,
    with_question,
)
from icmodel.cli.output import (
    check_file,
    json_text,
    model_with_progress,
    print_text,
    say_written,
    write_file,
    write_text,
)
from icmodel.dataset import Dataset, load
from icmodel.errors import OutOfDomain, ReportError, ScenarioError
from icmodel.questions.words import DEFAULT_DATASET, Question
from icmodel.scenario import scenario

app = make_app()

OVER = ("payload", "load", "cores")
PLOT_FILES = (".png", ".svg", ".json")

Metric = Annotated[str, typer.Argument(metavar="METRIC", help="Metric to plot, e.g. goodput_bps.")]
Over = Annotated[str, option("over", "AXIS", "Horizontal axis: payload, load or cores.", "payload")]


@app.command(short_help="Plot a metric over payload, load or cores.")
@with_question
def plot(
    metric: Metric,
    *,
    over: Over = "payload",
    dataset: DatasetName = DEFAULT_DATASET,
    variant: VariantName = None,
    protocol: ProtocolName = None,
    question: Question,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Plot a metric over payload, load or cores, as SVG, PNG or Vega-Lite.

    The plot shows the predicted line with its 90 % interval, the measured points, the limit by theory,
    and a mark at the scenario (the given options). In a plot over payload, the requested goodput is
    constant.

    \b
    icmodel plot goodput_bps --protocol udp -o goodput.svg
    icmodel plot latency_mean_s --over load --payload "65535 B" --rate 6700/s -o latency.png
    icmodel plot cpu_recv --over cores --payload "1448 B" --json
    """  # noqa: D301
    if output is None and not as_json:
        raise ReportError("a plot needs a file: add -o plot.svg or -o plot.png, or --json")
    if output is not None:
        check_file(output, PLOT_FILES)
    if over not in OVER:
        raise ScenarioError(f"--over {over!r} is unknown: use one of {', '.join(OVER)}")
    from icmodel.report.plots import metric_plot  # reports are slow to import

    data = load(dataset)
    name = protocol or data.default_protocol
    payload = None
    if over == "payload" and question.payload is None:
        payload = greatest_payload(data, name, question)
    asked = scenario(**question.parameters(name, payload))
    with model_with_progress(data, variant, cache=not no_cache) as model:
        spec = metric_plot(model, metric, over, asked)
        try:
            notes = model.predict(asked, outside="extrapolate", metrics=()).notes
        except OutOfDomain:
            notes = ()
    if as_json:
        print_text(json_text(spec))
    if output is not None:
        write_plot(spec, output)
        if as_json:
            say_written(output)
        else:
            lines = [f"{metric} over {over} on {data.id}, variant {model.variant}: {output}"]
            print_text("\n".join([*lines, *(f"note: {note}" for note in notes)]) + "\n")


def greatest_payload(data: Dataset, protocol: str, question: Question) -> str:
    """Return the greatest measured payload of a protocol as text.

    A plot over payload marks its scenario at this payload if no payload is given.
    """
    if question.rate is not None:
        raise ScenarioError(
            "a plot over payload keeps the requested goodput constant, and --rate alone does not "
            "determine it: give --requested-goodput, or add --payload"
        )
    if protocol not in data.protocols:
        raise OutOfDomain(
            f"{data.id} has no protocol {protocol!r}: it has {', '.join(data.protocols)}"
        )
    sizes = [p.payload_bytes for p in data.points if p.protocol == protocol]
    known = [size for size in sizes if size is not None]
    if not known:
        raise OutOfDomain(f"{data.id} has no payload sizes of {protocol}: plot over load or cores")
    return f"{max(known)} B"


def write_plot(spec: dict[str, Any], path: Path) -> None:
    """Write a plot to a file. Its extension is one of `PLOT_FILES`."""
    from icmodel.plotting import save

    if path.suffix.lower() == ".json":
        write_file(path, {".json": lambda beside: write_text(beside, json_text(spec))})
    else:
        save(spec, path)
