"""``icmodel datasets``: list datasets, show one or its rows, and check your own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.options import AsJson, Output, make_app, option
from icmodel.cli.output import Answer, Section, Table, bullets, emit, listing
from icmodel.dataset import AXES, RATIOS, Dataset, Point, catalogue, load
from icmodel.dataset.rows import POINT
from icmodel.estimate import fixed, quantity_text
from icmodel.questions.showing import (
    Noises,
    axis_numbers,
    dataset_document,
    dataset_entry,
    measured_axes,
    points_document,
    repeat_noise,
    row_record,
    select_rows,
)
from icmodel.questions.words import DATASET_HELP, parse_key_values, split_names

app = make_app()

Name = Annotated[str, typer.Argument(metavar="NAME", help=DATASET_HELP)]
Protocols = Annotated[
    list[str] | None, option("protocol", "NAMES", "Only rows of these protocols; can be repeated.")
]
Metrics = Annotated[
    list[str] | None, option("metric", "NAMES", "Only rows of these metrics; can be repeated.")
]
Options = Annotated[
    list[str] | None,
    option(
        "option",
        "KEY=VALUE",
        "Only rows with this value of an option axis, e.g. nagle=off; can be repeated.",
    ),
]
Seal = Annotated[
    bool, typer.Option("--seal", help="Write the sha256 of points.csv into dataset.toml.")
]


@app.callback(short_help="List, show and check datasets.")
def datasets() -> None:
    """List, show and check bundled datasets and your own.

    Every command also takes the path of a folder in place of a name.

    \b
    icmodel datasets list
    icmodel datasets show ethernet-10g-2012
    icmodel datasets points ethernet-10g-2012 --metric goodput_bps -o goodput.csv
    icmodel datasets check my-dataset --seal
    """  # noqa: D301


# --- list -------------------------------------------------------------------------------------


@app.command("list", short_help="List the bundled datasets.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled datasets: link, rate, protocols and number of rows.

    \b
    icmodel datasets list
    icmodel datasets list --json
    """  # noqa: D301
    entries: list[dict[str, object]] = []
    rows = []
    for data in map(load, catalogue()):
        link, count = data.interconnect, len(data.points)
        entries.append(dataset_entry(data))
        rate = quantity_text("line_rate_bps", link.line_rate_bps)
        rows.append((data.id, link.kind, rate, ", ".join(data.protocols), str(count), data.title))
    table = Table(("dataset", "link", "#line rate", "protocols", "#rows", "what"), tuple(rows))
    emit(listing("datasets", entries, table), as_json=as_json, output=output)


# --- show -------------------------------------------------------------------------------------

MOST_VALUES = 8
"""Maximum number of listed values of an axis. With more values, only their count, the least and the greatest are shown."""
NOISE_METRICS = (
    "goodput_bps",
    "frames_per_s",
    "latency_mean_s",
    "latency_p50_s",
    "rtt_mean_s",
    "rtt_half_mean_s",
    "cpu_send",
    "cpu_recv",
    "loss_rate",
)
"""Metrics in the printed table of noise between repeats. JSON has all metrics."""


@app.command(short_help="Show the contents of a dataset.")
def show(name: Name, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show the contents of a dataset: source, licence, hosts, axes, metrics and limits.

    The tables also have the numbers of rows by metric and basis, the number of held-out runs, the
    noise between repeats, and the limits that the source states.

    \b
    icmodel datasets show ethernet-10g-2012
    icmodel datasets show path/of/my-dataset --json
    """  # noqa: D301
    data = load(name)
    answer = Answer(lambda: dataset_sections(data), lambda: dataset_document(data))
    emit(answer, as_json=as_json, output=output)


def dataset_sections(data: Dataset) -> Iterator[Section]:
    """Yield the tables of ``icmodel datasets show``: facts, hosts, axes, row counts, noise and limits."""
    yield Section(f"{data.id}: {data.title}", facts_table(data))
    hosts = [{key: str(value) for key, value in host.items()} for host in _tables(data, "hosts")]
    if hosts:
        columns = tuple(dict.fromkeys(key for host in hosts for key in host))
        cells = tuple(tuple(host.get(key, "") for key in columns) for host in hosts)
        yield Section("hosts", Table(columns, cells))

    axes = tuple(
        (axis, _values_text(data, axis), _meaning(data, axis)) for axis in measured_axes(data)
    )
    yield Section("axes", Table(("axis", "values", "meaning"), axes))

    counts = Counter((point.metric, point.protocol) for point in data.points)
    metrics = tuple(
        (metric, *(str(counts[metric, protocol] or "–") for protocol in data.protocols))
        for metric in data.metrics
    )
    columns = ("rows of", *(f"#{protocol}" for protocol in data.protocols))
    yield Section("metrics", Table(columns, metrics))
    bases = Counter(point.basis for point in data.points)
    rows = tuple((basis, str(count)) for basis, count in bases.most_common())
    yield Section("basis", Table(("basis", "#rows"), rows))

    if noises := repeat_noise(data):
        heading = "noise of one run: median over (n) rows with two or more runs"
        yield Section(heading, noise_table(noises))
    if data.held_out_runs:
        places = {point[POINT] for point in data.held_out}
        text = f"{len(data.held_out_runs)} runs at {len(places)} points"
        yield Section("held out from every fit", (text,))

    if data.stated_limits:
        yield Section("limits stated by the source", limits_table(data))
    if data.absences:
        absences = tuple(
            (entry.get("metric", ""), entry.get("protocol", "any"), entry.get("reason", ""))
            for entry in data.absences
        )
        yield Section("metrics without rows", Table(("metric", "protocol", "why"), absences))
    yield Section("known limits", bullets(data.known_limits))


def facts_table(data: Dataset) -> Table[str]:
    """Return a table of a dataset's source, licence, tool, link and defaults, without unknown facts."""
    link = data.interconnect
    tool = data.document.get("tool")
    tool = tool if isinstance(tool, dict) else {}
    rate = link.line_rate_bps
    facts = (
        ("source", data.citation),
        ("licence", data.licence),
        ("edition", str(data.document.get("edition", ""))),
        ("measured by", f"{tool.get('name', '')}, version {tool.get('version', 'not stated')}"),
        ("whose", data.whose),
        ("link", link.kind if rate is None else f"{link.kind}, {units.format_bps(rate)}"),
        ("MTU", quantity_text("mtu_bytes", link.mtu_bytes)),
        ("a switch adds", quantity_text("latency_s", link.switch_latency_s)),
        ("cable", quantity_text("cable_length_m", link.cable_length_m)),
        ("protocols", _with_default(data.protocols, data.default_protocol)),
        ("variant", data.default_variant),
        ("sha256", data.sha256),
    )
    return Table(("", " "), tuple(fact for fact in facts if fact[1] not in ("", "–")))


def _with_default(names: tuple[str, ...], default: str) -> str:
    return ", ".join(f"{name} (default)" if name == default else name for name in names)


def _tables(data: Dataset, key: str) -> list[dict[str, object]]:
    tables = data.document.get(key)
    return tables if isinstance(tables, list) else []


def _values_text(data: Dataset, axis: str) -> str:
    if axis in data.option_axes:
        return _with_default(data.option_values(axis), data.option_defaults[axis])
    texts = [units.format_quantity(axis, number) for number in axis_numbers(data, axis)]
    if len(texts) <= MOST_VALUES:
        return ", ".join(texts)
    return f"{len(texts)} from {texts[0]} to {texts[-1]}"


def _meaning(data: Dataset, axis: str) -> str:
    axes = data.document.get("axes")
    entry = axes.get(axis) if isinstance(axes, dict) else None
    return str(entry.get("meaning", "")) if isinstance(entry, dict) else ""


def limits_table(data: Dataset) -> Table[str]:
    """Return a table of the least and greatest values that the dataset's source states for metrics."""
    rows = tuple(
        (
            limit.metric,
            limit.protocol or "any",
            quantity_text(limit.metric, limit.minimum or None),
            quantity_text(limit.metric, limit.maximum if math.isfinite(limit.maximum) else None),
            limit.source,
        )
        for limit in data.stated_limits
    )
    return Table(("metric", "protocol", "at least", "at most", "source"), rows)


def noise_table(noises: Noises) -> Table[str]:
    """Return a table of the noise of the main metrics, with a column for each protocol.

    Noise is the standard deviation between repeated runs, in per cent of the metric. For loss and CPU load, which are
    ratios themselves, it is an absolute number. A cell has the median over the rows, and in parentheses the number of
    rows.
    """
    rows = []
    for metric in NOISE_METRICS:
        known = [of.get(metric) for of in noises.values()]
        if not any(known):
            continue
        cells = []
        for one in known:
            if one is None:
                cells.append("–")
                continue
            run = one["run"]
            text = fixed(run, 4) if metric in RATIOS else units.format_ratio(run, 2)
            cells.append(f"{text} ({one['rows']:.0f})")
        rows.append((metric, *cells))
    return Table(("metric", *(f"#{protocol}" for protocol in noises)), tuple(rows))


# --- points -----------------------------------------------------------------------------------


@app.command(short_help="Print rows, each with its basis and source.")
def points(
    name: Name,
    *,
    protocol: Protocols = None,
    metric: Metrics = None,
    at: Options = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Print the rows of a dataset, each number with its basis and source.

    A CSV file has the columns of points.csv, so it can be the start of your own dataset.

    \b
    icmodel datasets points ethernet-10g-2012 --protocol tcp --metric latency_mean_s
    icmodel datasets points ethernet-1g-2010 --option offload=baseline -o baseline.csv
    """  # noqa: D301
    data = load(name)
    rows = select_rows(data, split_names(protocol), split_names(metric), parse_key_values(at))
    answer = Answer(
        sections=lambda: [Section(f"{data.id}, {len(rows)} rows", rows_table(data, rows))],
        document=lambda: points_document(data, rows),
        records=lambda: (row_record(data, point) for point in rows),
    )
    emit(answer, as_json=as_json, output=output)


def rows_table(data: Dataset, rows: list[Point]) -> Table[str]:
    """Return a table of dataset rows. A column (axis) in which no row has a value is left out."""
    axes = [axis for axis in AXES if any(getattr(point, axis) is not None for point in rows)]
    places = [i for i in range(len(data.option_axes)) if any(point.options[i] for point in rows)]
    cells = []
    for point in rows:
        values = [getattr(point, axis) for axis in axes]
        cells.append(
            (
                *(
                    units.format_quantity(axis, value)
                    if isinstance(value, int | float)
                    else str(value or "")
                    for axis, value in zip(axes, values, strict=True)
                ),
                *(point.options[i] for i in places),
                point.metric,
                units.format_quantity(point.metric, point.value),
                point.basis,
                point.source,
            )
        )
    options = (data.option_axes[i] for i in places)
    columns = (*axes[:1], *(f"#{axis}" for axis in axes[1:]), *options)
    return Table((*columns, "metric", "#value", "basis", "source"), tuple(cells))


# --- check ------------------------------------------------------------------------------------


@app.command(short_help="Check your own dataset.")
def check(folder: Name, *, seal: Seal = False, as_json: AsJson = False) -> None:
    """Check a dataset: every key of dataset.toml, every row of points.csv, and the seal (hash of points.csv).

    --seal writes a new seal into dataset.toml, if no other error is found.

    \b
    icmodel datasets check path/of/my-dataset
    icmodel datasets check path/of/my-dataset --seal
    """  # noqa: D301
    from icmodel.dataset.check import check_dataset, seal_dataset  # pydantic, needed only here

    data = seal_dataset(folder) if seal else check_dataset(folder)
    summary = f"{data.id}: {len(data.points)} rows of {', '.join(data.metrics)} are in order"
    answer = Answer(
        sections=lambda: [Section("", (summary, f"sha256 {data.sha256}"))],
        document=lambda: {
            "schema_version": 1,
            "dataset": {"id": data.id, "sha256": data.sha256},
            "rows": len(data.points),
            "metrics": list(data.metrics),
        },
    )
    emit(answer, as_json=as_json, output=None)
