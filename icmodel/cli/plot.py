"""``icmodel plot``: a metric over payload, load or cores, on the points it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from icmodel.cli.models import fitted
from icmodel.cli.output import check_file, json_text, print_text, write_file, write_text
from icmodel.cli.question import (
    DEFAULT_DATASET,
    AsJson,
    DatasetName,
    NoCache,
    Output,
    ProtocolName,
    Question,
    VariantName,
    asks,
    option,
    room,
)
from icmodel.dataset import Dataset, load
from icmodel.errors import OutOfDomain, ReportError, ScenarioError
from icmodel.model import Model
from icmodel.scenario import Scenario, scenario

app = room()

OVER = ("payload", "load", "cores")
ENDINGS = (".png", ".svg", ".json")

Metric = Annotated[
    str, typer.Argument(metavar="METRIC", help="Such as goodput_bps or latency_mean_s.")
]
Over = Annotated[str, option("over", "AXIS", "payload, load or cores.", "payload")]


@app.command(short_help="A metric over payload, load or cores.")
@asks
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
    """Plot a metric over payload, load or cores: SVG or PNG, or the Vega-Lite behind it.

    The predicted line with its 90 % interval, the benchmarked points it rests on, what theory
    allows, and the scenario itself. Over payload the requested goodput stays as it is.

    \b
    icmodel plot goodput_bps --protocol udp -o goodput.svg
    icmodel plot latency_mean_s --over load --payload "65535 B" --rate 6700/s -o latency.png
    icmodel plot cpu_recv --over cores --payload "1448 B" --json
    """  # noqa: D301
    if output is None and not as_json:
        raise ReportError("a plot needs a file: add -o plot.svg or -o plot.png, or --json")
    if output is not None:
        check_file(output, ENDINGS)
    if over not in OVER:
        raise ScenarioError(f"there is no plot over {over!r}: take {', '.join(OVER)}")
    from icmodel.report.plots import metric_plot  # the report, not needed by other commands

    data = load(dataset)
    chosen = protocol or data.default_protocol
    asked = scenario(**_with_payload(question, over, data, chosen))
    with fitted(data, variant, cache=not no_cache) as model:
        spec = metric_plot(model, metric, over, asked)
        notes = _notes(model, asked)
    if as_json:
        print_text(json_text(spec))
    if output is None:
        return
    write_plot(spec, output)
    if not as_json:
        print_text(f"{metric} over {over} on {data.id}, variant {model.variant}: {output}\n")
        print_text("".join(f"note: {note}\n" for note in notes))


def write_plot(spec: dict[str, Any], path: Path) -> None:
    """Write a plot into a file with one of the `ENDINGS`: a picture, or its Vega-Lite."""
    from icmodel.report.plots import save

    if path.suffix.lower() == ".json":
        write_file(path, {".json": lambda beside: write_text(beside, json_text(spec))})
    else:
        save(spec, path)


def _notes(model: Model, asked: Scenario) -> tuple[str, ...]:
    """Notes of the scenario's own prediction; none if it cannot be predicted."""
    try:
        return model.predict(asked, outside="extrapolate", metrics=()).notes
    except OutOfDomain:
        return ()


def _with_payload(question: Question, over: str, data: Dataset, protocol: str) -> dict[str, object]:
    """The words of the question; over payload the greatest benchmarked one is the default."""
    if question.payload is not None or over != "payload":
        return question.words(protocol)
    if question.rate is not None:
        raise ScenarioError(
            "over payload the requested goodput stays as it is, and --rate alone does not say it: "
            "give --requested-goodput, or --payload as well"
        )
    if protocol not in data.protocols:
        raise OutOfDomain(
            f"{data.id} has no protocol {protocol!r}: it has {', '.join(data.protocols)}"
        )
    sizes = {p.payload_bytes for p in data.points if p.protocol == protocol} - {None}
    if not sizes:
        raise OutOfDomain(f"{data.id} has no payload sizes of {protocol}: plot over load or cores")
    greatest = max(size for size in sizes if size is not None)
    return question.words(protocol, payload=f"{greatest} B")
