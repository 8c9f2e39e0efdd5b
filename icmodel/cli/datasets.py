"""``icmodel datasets``: list datasets, show one or its rows, check one of your own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.output import Answer, Section, Table, emit, listing
from icmodel.cli.question import AsJson, Output, listed, option, quantity_text, read_options, room
from icmodel.cli.repeats import repeat_noise, repeat_sections
from icmodel.dataset import AXES, Dataset, Point, catalogue, load
from icmodel.errors import OutOfDomain

app = room()

Name = Annotated[str, typer.Argument(metavar="NAME", help="Bundled name or path of a folder.")]
Protocols = Annotated[
    list[str] | None, option("protocol", "NAMES", "Only rows of these; can be repeated.")
]
Metrics = Annotated[
    list[str] | None, option("metric", "NAMES", "Only rows of these; can be repeated.")
]
Options = Annotated[
    list[str] | None, option("option", "KEY=VALUE", "Only rows at this; can be repeated.")
]
Seal = Annotated[
    bool, typer.Option("--seal", help="Write the sha256 of points.csv into dataset.toml.")
]


@app.callback(short_help="List, show and check datasets.")
def datasets() -> None:
    """List, show and check datasets, the bundled ones and your own.

    A path serves wherever a name does.

    \b
    icmodel datasets list
    icmodel datasets show ethernet-10g-2012
    icmodel datasets points ethernet-10g-2012 --metric goodput_bps -o goodput.csv
    icmodel datasets check my-dataset --seal
    """  # noqa: D301


# --- list -------------------------------------------------------------------------------------


@app.command("list", short_help="The bundled datasets.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled datasets: link, rate, protocols and number of rows.

    \b
    icmodel datasets list
    icmodel datasets list --json
    """  # noqa: D301
    found = [load(name) for name in catalogue()]
    answer = listing("datasets", list(map(_entry, found)), _catalogue(found))
    emit(answer, as_json=as_json, output=output)


def _entry(data: Dataset) -> dict[str, object]:
    return {
        "id": data.id,
        "title": data.title,
        "kind": data.interconnect.kind,
        "line_rate_bps": data.interconnect.line_rate_bps,
        "protocols": list(data.protocols),
        "rows": len(data.points),
    }


def _catalogue(found: list[Dataset]) -> Table:
    rows = tuple(
        (
            data.id,
            data.interconnect.kind,
            quantity_text("line_rate_bps", data.interconnect.line_rate_bps),
            ", ".join(data.protocols),
            str(len(data.points)),
            data.title,
        )
        for data in found
    )
    return Table(("dataset", "link", "#line rate", "protocols", "#rows", "what"), rows)


# --- show -------------------------------------------------------------------------------------


@app.command(short_help="What a dataset holds.")
def show(name: Name, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show what a dataset holds: source, licence, hosts, axes, metrics and limits.

    Says how many rows there are of each metric and basis, how much repeats differ, how many runs
    were held out, and what the source itself limits.

    \b
    icmodel datasets show ethernet-10g-2012
    icmodel datasets show path/of/my-dataset --json
    """  # noqa: D301
    data = load(name)
    answer = Answer(sections=lambda: _shown(data), document=lambda: _document(data))
    emit(answer, as_json=as_json, output=output)


def _shown(data: Dataset) -> Iterator[Section]:
    yield Section(f"{data.id}: {data.title}", _facts(data))
    hosts = _tables(data, "hosts")
    if hosts:
        columns = tuple(dict.fromkeys(key for host in hosts for key in host))
        rows = tuple(tuple(host.get(key, "") for key in columns) for host in hosts)
        yield Section("hosts", Table(columns, rows))
    yield Section("axes", _axes(data))
    yield Section("metrics", _metrics(data))
    bases = Counter(point.basis for point in data.points)
    yield Section("basis", _counted("basis", bases))
    yield from repeat_sections(data)
    if data.stated_limits:
        yield Section("limits the source states", _limits(data))
    if data.absences:
        yield Section("what has no rows", _absences(data))
    yield Section("known limits", tuple(f"- {limit}" for limit in data.known_limits))


def _facts(data: Dataset) -> Table:
    link = data.interconnect
    tool = {key: str(value) for key, value in _table(data, "tool").items()}
    rate, mtu = link.line_rate_bps, link.mtu_bytes
    facts = (
        ("source", data.citation),
        ("licence", data.licence),
        ("edition", str(data.document.get("edition", ""))),
        ("measured by", f"{tool.get('name', '')}, version {tool.get('version', 'not stated')}"),
        ("whose", data.whose),
        ("link", link.kind if rate is None else f"{link.kind}, {units.format_bps(rate)}"),
        ("MTU", quantity_text("mtu_bytes", mtu)),
        ("a switch adds", quantity_text("latency_s", link.switch_latency_s)),
        ("cable", quantity_text("cable_length_m", link.cable_length_m)),
        ("protocols", ", ".join(_with_default(data.protocols, data.default_protocol))),
        ("variant", data.default_variant),
        ("sha256", data.sha256),
    )
    return Table(("", " "), tuple(fact for fact in facts if fact[1] not in ("", "–")))


def _with_default(names: tuple[str, ...], default: str) -> list[str]:
    return [f"{name} (default)" if name == default else name for name in names]


def _axes(data: Dataset) -> Table:
    rows = tuple((name, _values(data, name), _meaning(data, name)) for name in _used_axes(data))
    return Table(("axis", "values", "meaning"), rows)


def _used_axes(data: Dataset) -> list[str]:
    fixed = [
        axis for axis in AXES[1:] if any(getattr(point, axis) is not None for point in data.points)
    ]
    return [*fixed, *data.option_axes]


def _numbers(data: Dataset, axis: str) -> list[float]:
    return sorted({getattr(point, axis) for point in data.points} - {None})


def _values(data: Dataset, axis: str) -> str:
    if axis in data.option_axes:
        return ", ".join(_with_default(data.option_values(axis), data.option_defaults[axis]))
    numbers = _numbers(data, axis)
    texts = [units.format_quantity(axis, number) for number in numbers]
    if len(texts) <= MOST_VALUES:
        return ", ".join(texts)
    return f"{len(texts)} from {texts[0]} to {texts[-1]}"


MOST_VALUES = 8
"""Values of an axis that are listed; more are counted."""


def _meaning(data: Dataset, axis: str) -> str:
    entry = _table(data, "axes").get(axis)
    return str(entry.get("meaning", "")) if isinstance(entry, dict) else ""


def _metrics(data: Dataset) -> Table:
    counts = Counter((point.metric, point.protocol) for point in data.points)
    rows = tuple(
        (metric, *(str(counts[metric, protocol] or "–") for protocol in data.protocols))
        for metric in data.metrics
    )
    return Table(("rows of", *(f"#{name}" for name in data.protocols)), rows)


def _counted(name: str, counts: Counter[str]) -> Table:
    rows = tuple((key, str(count)) for key, count in counts.most_common())
    return Table((name, "#rows"), rows)


def _limits(data: Dataset) -> Table:
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


def _absences(data: Dataset) -> Table:
    rows = tuple(
        (entry.get("metric", ""), entry.get("protocol", "any"), entry.get("reason", ""))
        for entry in data.absences
    )
    return Table(("metric", "protocol", "why"), rows)


def _table(data: Dataset, key: str) -> dict[str, object]:
    found = data.document.get(key)
    return found if isinstance(found, dict) else {}


def _tables(data: Dataset, key: str) -> list[dict[str, str]]:
    found = data.document.get(key)
    entries = found if isinstance(found, list) else []
    return [{name: str(value) for name, value in entry.items()} for entry in entries]


def _document(data: Dataset) -> dict[str, object]:
    counts = Counter((point.protocol, point.metric) for point in data.points)
    values: dict[str, object] = {
        axis: list(data.option_values(axis))
        if axis in data.option_axes
        else [_json_number(number) for number in _numbers(data, axis)]
        for axis in _used_axes(data)
    }
    return {
        **data.document,
        "rows": len(data.points),
        "values": values,
        "metrics": {
            protocol: {m: counts[protocol, m] for m in data.metrics if counts[protocol, m]}
            for protocol in data.protocols
        },
        "bases": dict(sorted(Counter(point.basis for point in data.points).items())),
        "noise": repeat_noise(data),
    }


def _json_number(number: float) -> float | str:
    return number if math.isfinite(number) else "inf"


# --- points -----------------------------------------------------------------------------------


@app.command(short_help="Rows, with basis and source.")
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

    A CSV has the columns of points.csv, so that it can start a dataset of your own.

    \b
    icmodel datasets points ethernet-10g-2012 --protocol tcp --metric latency_mean_s
    icmodel datasets points ethernet-1g-2010 --option offload=baseline -o baseline.csv
    """  # noqa: D301
    data = load(name)
    wanted = read_options(at)
    _check_names(data, listed(protocol), listed(metric), wanted)
    rows = [
        point
        for point in data.points
        if (not protocol or point.protocol in listed(protocol))
        and (not metric or point.metric in listed(metric))
        and all(point.options[data.option_axes.index(axis)] == v for axis, v in wanted.items())
    ]
    answer = Answer(
        sections=lambda: [Section(f"{data.id}, {len(rows)} rows", _rows(data, rows))],
        document=lambda: {
            "schema_version": 1,
            "dataset": {"id": data.id, "sha256": data.sha256},
            "points": [{"line": point.line, **_row(data, point)} for point in rows],
        },
        records=lambda: (_row(data, point) for point in rows),
    )
    emit(answer, as_json=as_json, output=output)


def _check_names(
    data: Dataset, protocols: list[str], metrics: list[str], options: dict[str, str]
) -> None:
    for what, asked, known in (
        ("protocol", protocols, data.protocols),
        ("metric", metrics, data.metrics),
        ("axis", list(options), data.option_axes),
    ):
        for name in asked:
            if name not in known:
                have = ", ".join(known) or "none"
                raise OutOfDomain(f"{data.id} has no {what} {name!r}: it has {have}")
    for axis, value in options.items():
        if value not in data.option_values(axis):
            have = ", ".join(data.option_values(axis))
            raise OutOfDomain(f"{data.id} has no rows at {axis} = {value!r}: it has {have}")


def _row(data: Dataset, point: Point) -> dict[str, object]:
    axes = {axis: getattr(point, axis) for axis in AXES}
    if point.load_bps is not None:
        axes["load_bps"] = _json_number(point.load_bps)
    rest = ("metric", "value", "std", "low", "high", "n", "basis", "source")
    options = dict(zip(data.option_axes, point.options, strict=True))
    return {**axes, **options, **{name: getattr(point, name) for name in rest}}


def _rows(data: Dataset, rows: list[Point]) -> Table:
    axes = [axis for axis in AXES if any(getattr(point, axis) is not None for point in rows)]
    places = [i for i in range(len(data.option_axes)) if any(point.options[i] for point in rows)]
    options = (data.option_axes[i] for i in places)
    columns = (*axes[:1], *(f"#{axis}" for axis in axes[1:]), *options)
    cells = tuple(
        (
            *(_cell(axis, getattr(point, axis)) for axis in axes),
            *(point.options[i] for i in places),
            point.metric,
            units.format_quantity(point.metric, point.value),
            point.basis,
            point.source,
        )
        for point in rows
    )
    return Table((*columns, "metric", "#value", "basis", "source"), cells)


def _cell(axis: str, value: object) -> str:
    if isinstance(value, (int, float)):
        return units.format_quantity(axis, value)
    return str(value or "")


# --- check ------------------------------------------------------------------------------------


@app.command(short_help="Check a dataset of your own.")
def check(folder: Name, *, seal: Seal = False, as_json: AsJson = False) -> None:
    """Check a dataset: every key of dataset.toml, every row of points.csv, and the seal.

    With --seal the hash of points.csv is written into dataset.toml when all else is right.

    \b
    icmodel datasets check path/of/my-dataset
    icmodel datasets check path/of/my-dataset --seal
    """  # noqa: D301
    from icmodel.dataset.check import check_dataset, seal_dataset  # pydantic, needed only here

    data = seal_dataset(folder) if seal else check_dataset(folder)
    said = f"{data.id}: {len(data.points)} rows of {', '.join(data.metrics)} are in order"
    document = {"schema_version": 1, "dataset": {"id": data.id, "sha256": data.sha256}}
    answer = Answer(
        sections=lambda: [Section("", (said, f"sha256 {data.sha256}"))],
        document=lambda: {**document, "rows": len(data.points), "metrics": list(data.metrics)},
    )
    emit(answer, as_json=as_json, output=None)
