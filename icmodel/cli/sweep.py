"""``icmodel sweep``: predictions on a grid over any parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icmodel import units
from icmodel.cli.options import (
    AsJson,
    Cluster,
    DatasetName,
    NoCache,
    Output,
    ProtocolNames,
    VariantName,
    check_workers,
    client_of,
    make_app,
    option,
    with_question,
)
from icmodel.cli.output import (
    Answer,
    Hanging,
    Section,
    Table,
    cell_of,
    check_file,
    emit,
    interruptible,
    print_text,
    progress_bar,
)
from icmodel.cli.predict import fit_notes
from icmodel.documents import check_place
from icmodel.errors import ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, estimated, plural
from icmodel.model import Model
from icmodel.questions.sweeping import (
    Grid,
    GridOptions,
    answer_grid,
    grid_document,
    name_of,
    sweep_request,
)
from icmodel.questions.words import DEFAULT_DATASET, Question, split_names
from icmodel.sweep.files import (
    NETCDF,
    PARQUET,
    XLSX,
    ZARR,
    Column,
    Columns,
    Progress,
    check_installed,
    code_names,
    columns_of,
    write_grid_csv,
    write_netcdf,
    write_parquet,
)

if TYPE_CHECKING:
    from icmodel.sheets import Chart


app = make_app()

MAIN_METRICS = ("goodput_bps", "cpu_send", "cpu_recv", "loss_rate")
"""Metrics in the printed table of a sweep, besides all mean times. Files and JSON have all metrics."""
GRID_FILES = (".csv", ".json", NETCDF, PARQUET, ".txt", XLSX, ZARR)
TARGETS = (".csv", PARQUET, ZARR)
"""File extensions of the formats that can be written block by block, in constant memory."""
EXTRAPOLATED = BASES.index("extrapolated")
MARK = "*"
"""Mark of an extrapolated value in the table."""
FOOTNOTE = (
    f"{MARK} extrapolated: beyond the measured range. A file (-o) has the basis of every value; icmodel predict "
    "names the axis and the distance."
)
MOST_POINTS, MOST_NOTES = 20, 4
"""Maximum numbers of points and of note lines in ``icmodel sweep`` without ``--all``."""

Metrics = Annotated[
    list[str] | None, option("metric", "NAMES", "Predict only these metrics; can be repeated.")
]
Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate",
        help="Also answer beyond the measured range. A table marks such values with *; "
        "in a file (-o), their basis is extrapolated.",
    ),
]
AllowGaps = Annotated[
    bool,
    typer.Option("--allow-gaps", help="Leave points outside the measured range empty."),
]
Every = Annotated[bool, typer.Option("--all", help="Show every point and every note in the table.")]
Workers = Annotated[
    int | None,
    option("workers", "N", "Number of worker processes; needs -o FILE.", "threads of one process"),
]
MOST_IN_MEMORY = 1 << 20
"""Maximum number of points in memory; a greater sweep is written block by block, if the file format allows it."""


@app.command(short_help="Predict a grid over any parameters.")
@with_question
def sweep(
    *,
    dataset: DatasetName = DEFAULT_DATASET,
    variant: VariantName = None,
    protocol: ProtocolNames = None,
    question: Question,
    metric: Metrics = None,
    extrapolate: Extrapolate = False,
    allow_gaps: AllowGaps = False,
    every: Every = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
    workers: Workers = None,
    cluster: Cluster = None,
) -> None:
    """Predict all combinations of the given values, as a table or a file.

    Any parameter takes a list ("64 B, 1448 B") or a range ("64 B..65535 B"). A range stands for the
    measured values of the dataset between its two limits. With ":25" it stands for 25 values at
    equal distances, with ":25log" at equal ratios. Values outside the measured range need
    --extrapolate or --allow-gaps. A file has every metric with interval and basis.

    Sweeps of any size are written to .zarr, .parquet (a folder of parts) or .csv in constant memory.
    After an interruption, repeat the command to continue after the finished parts. --workers uses
    processes, --cluster the workers of a Dask scheduler; the files are the same.

    \b
    icmodel sweep --payload "64 B..65535 B" --cores 1,4
    icmodel sweep --protocol tcp,udp --payload "1448 B, 8 KiB" --rate "1000/s..20000/s:20"
    icmodel sweep --payload "64 B..65535 B:100log" --switches 0..2 -o grid.nc
    icmodel sweep --payload "64 B..65535 B:200log" --rate "100/s..20000/s:500" -o grid.zarr
    icmodel sweep --payload "256 B" --option nagle=on,off --metric latency_mean_s --json
    """  # noqa: D301
    from icmodel.sweep import sweep_to_file

    in_blocks = output is not None and output.suffix.lower() in TARGETS
    if output is not None:
        if in_blocks:
            check_place(output.with_name(f"{output.name}.progress"))
        else:
            check_file(output, GRID_FILES)
        check_installed(output)
    if not in_blocks and (workers is not None or cluster is not None):
        raise ScenarioError(
            "--workers and --cluster need an output file: add -o grid.zarr, .parquet or .csv"
        )
    check_workers(workers, cluster)
    model = Model(dataset, variant, cache=not no_cache)
    grid_options = GridOptions(tuple(split_names(metric)), extrapolate, allow_gaps)
    asked = sweep_request(model.data, question, split_names(protocol), grid_options)
    if output is not None and in_blocks:
        points = asked.points(model)
        large = points > MOST_IN_MEMORY or output.suffix.lower() == ZARR
        if large or workers is not None or cluster is not None:
            with (
                interruptible(f"repeat the command to continue in {output}"),
                client_of(cluster) as client,
                progress_bar("sweep") as progress,
            ):
                sweep_to_file(
                    model,
                    output,
                    outside=asked.outside,
                    metrics=asked.wanted,
                    workers=workers,
                    client=client,
                    progress=progress,
                    **asked.ranges,
                )
            print_text(f"{output}: {plural(points, 'point')}\n")
            return
        check_file(output, GRID_FILES)
    with progress_bar("sweep") as watch:
        answered = answer_grid(model, asked, watch)
    with progress_bar("write") if output is not None else nullcontext() as progress:
        grid = replace(answered, progress=progress)

        def columns() -> Columns:
            return columns_of(grid.answers, grid.metrics(), grid.fixed())

        answer = Answer(
            sections=lambda: grid_sections(grid, every=every),
            document=lambda: grid_document(grid),
            files={
                ".csv": lambda path: write_grid_csv(columns(), path, progress),
                NETCDF: lambda path: write_netcdf(grid.answers, path),
                PARQUET: lambda path: write_parquet(columns(), path, progress),
                XLSX: lambda path: write_grid_workbook(columns(), path, progress),
            },
        )
        emit(answer, as_json=as_json, output=output)


# --- printed text -----------------------------------------------------------------------------


def grid_sections(grid: Grid, *, every: bool) -> Iterator[Section]:
    """Yield a sweep as a table with a row for each point.

    If ``every`` is false, only the first points are shown. If the user requested no metrics, the columns are the main
    metrics.
    """
    attributes = grid.answers.attrs
    yield Section("", (f"{attributes['dataset']}, variant {attributes['variant']}",))

    names = [name for name in grid.requested if name != "bottleneck"]
    if not names:
        filled = [name for name in grid.metrics() if bool(grid.answers[name].notnull().any())]
        main = [name for name in filled if name in MAIN_METRICS or name.endswith("_mean_s")]
        names = main or filled
    marked = {name for name in names if bool((grid.answers[f"{name}_basis"] == EXTRAPOLATED).any())}
    rows = tuple(
        (
            *(_text(name, value) for name, value in zip(grid.swept, place, strict=True)),
            *(
                _estimate_text(name, one, marked=name in marked)
                for name, one in zip(names, estimates, strict=True)
            ),
            name_of(BOTTLENECKS, bottleneck),
        )
        for place, estimates, bottleneck in islice(
            grid.points(names), None if every else MOST_POINTS
        )
    )
    fixed = [f"{n} {_text(n, value)}" for n, value in grid.fixed().items() if value is not None]
    numbers = (f"#{name}" for name in (*grid.swept, *names))
    yield Section(", ".join(fixed), Table((*numbers, "bottleneck"), rows))

    if (more := math.prod(grid.answers.sizes.values()) - len(rows)) > 0:
        advice = "show all points with --all, or write all metrics to a file with -o"
        yield Section("", (f"and {more} more points: {advice}",))
    if marked:
        yield Section("", Hanging((FOOTNOTE,)))
    if grid.notes:
        notes = fit_notes(grid.notes, math.inf if every else MOST_NOTES)
        yield Section("notes of the first and the last point", Hanging(tuple(notes)))


def _text(name: str, value: object) -> str:
    """Return the value of a swept parameter as text with its unit."""
    return units.format_quantity(name, value) if isinstance(value, int | float) else str(value)


def _estimate_text(name: str, estimate: tuple[Any, ...], *, marked: bool) -> str:
    """Return a predicted value as text, with as many digits as its interval supports.

    If ``marked`` is true, a last character follows: `MARK` for an extrapolated value, a space for others. So the digits
    of a column stay aligned.
    """
    value, low, high, basis = estimate
    text = "–" if math.isnan(value) else estimated(name, Estimate(value, low, high, ""))
    mark = MARK if basis == EXTRAPOLATED else " "
    return f"{text}{mark}" if marked else text


CHARTED = ("goodput_bps", "cpu_send", "cpu_recv")
"""Metrics in the charts of a sweep's workbook, besides mean times."""
WIDE = 50
"""If the greatest swept value is at least this many times the least, the chart has a logarithmic axis."""


def write_grid_workbook(columns: Columns, path: Path, progress: Progress | None = None) -> None:
    """Write the workbook of a sweep (XLSX): a sheet with the values of the CSV file, and charts.

    A sweep of several parameters has no charts.

    Raises
    ------
    ReportError
        If the grid has more points than a sheet has rows.
    """
    from icmodel.sheets import Page, Sheet, write_pages

    rows: list[tuple[str | float | None, ...]] = []
    for block in columns.blocks(progress):
        cells = [_sheet_cells(name, part) for name, part in zip(columns.names, block, strict=True)]
        rows += zip(*cells, strict=True)
    write_pages([Page("answers", Sheet(tuple(columns.names), tuple(rows)), _chart(columns))], path)


def _chart(columns: Columns) -> Chart | None:
    """Return the charts of a sweep: goodput, mean latencies (one-way, round trip, ...) and CPU load, if predicted.

    The x axis is the swept parameter. Returns None if several parameters were swept, or if the swept parameter is not
    numeric.
    """
    from icmodel.sheets import Chart

    numeric = [name for name, values in columns.swept.items() if values.dtype.kind in "if"]
    if len(columns.swept) != 1 or not numeric or len(columns) < 2:
        return None
    values, names = columns.swept[numeric[0]], columns.names
    wide = bool(values.min() > 0 and values.max() / values.min() >= WIDE)
    shown = [name for name in names if name in CHARTED or name.endswith("_mean_s")]
    groups = [[names.index(name + ending) for ending in ("", "_low", "_high")] for name in shown]
    return Chart(names.index(numeric[0]), wide, tuple(map(tuple, groups)))


def _sheet_cells(name: str, column: Column) -> list[str | float | None]:
    """Return the spreadsheet cells of a column: numbers, texts, or None for an empty cell."""
    codes = code_names(name)
    if codes is not None:
        return [codes[code] if code >= 0 else None for code in column.tolist()]
    if column.dtype.kind in "if":
        return [number if isfinite(number) else None for number in column.tolist()]
    return [cell_of(value) for value in column.tolist()]
