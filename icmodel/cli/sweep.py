"""``icmodel sweep``: predictions on a grid over any parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icmodel import units
from icmodel.cli.grid_files import write_grid_workbook
from icmodel.cli.options import (
    DEFAULT_DATASET,
    AsJson,
    DatasetName,
    NoCache,
    Output,
    ProtocolNames,
    Question,
    VariantName,
    make_app,
    option,
    split_names,
    with_question,
)
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    print_text,
    progress_bar,
)
from icmodel.cli.predict import fit_notes
from icmodel.dataset import load
from icmodel.documents import json_form
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, estimated, plural
from icmodel.files import check_place
from icmodel.model import Model
from icmodel.scenario import scenario
from icmodel.sweep.files import (
    NETCDF,
    PARQUET,
    PARTS,
    XLSX,
    ZARR,
    Columns,
    check_installed,
    columns_of,
    write_grid_csv,
    write_netcdf,
    write_parquet,
)

if TYPE_CHECKING:
    import xarray

app = make_app()

MAIN_METRICS = ("goodput_bps", "cpu_send", "cpu_recv", "loss_rate")
"""Metrics shown in the table, in addition to all mean times; files and JSON have all metrics."""
GRID_FILES = (".csv", ".json", NETCDF, PARQUET, ".txt", XLSX, ZARR)
TARGETS = (".csv", PARQUET, ZARR)
"""Formats that are written block by block."""
REPORTED_POINTS = 4096
"""Number of points between two updates of the progress bar."""
EXTRAPOLATED = BASES.index("extrapolated")
MARK = "*"
"""Mark of an extrapolated value in the table."""
FOOTNOTE = (
    f"{MARK} extrapolated: beyond what was measured. A file names the basis of every value, and",
    "icmodel predict the axis and the distance.",
)
MOST_POINTS, MOST_NOTES = 20, 4
"""Maximum numbers of points and of lines of notes printed without ``--all``."""

Metrics = Annotated[
    list[str] | None, option("metric", "NAMES", "Only these metrics; can be repeated.")
]
Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate",
        help="Also answer beyond the measured range. A table marks such values with *; "
        "a file gives their basis.",
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
Cluster = Annotated[
    str | None,
    option("cluster", "ADDRESS", "Dask scheduler whose workers answer, e.g. tcp://host:8786."),
]
MOST_IN_MEMORY = 1 << 20
"""Greatest number of points that are answered in memory, if the file can be written block by block."""


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
    """Predict all combinations of the given values: a table, or a file of any format.

    Any parameter takes a list ("64 B, 1448 B") or a range ("64 B..65535 B"). A range stands for the
    measured values of the dataset between its two limits. With ":25" it stands for 25 values at
    equal distances, with ":25log" at equal ratios. A value outside the measured range is refused
    unless --extrapolate or --allow-gaps is given. A file has every metric with interval and basis.

    Sweeps of any size go to .zarr, .parquet (a folder of parts) or .csv in constant memory. After
    an interruption, the same command goes on behind the finished parts. --workers uses processes,
    --cluster the workers of a Dask scheduler; the files are the same.

    \b
    icmodel sweep --payload "64 B..65535 B" --cores 1,4
    icmodel sweep --protocol tcp,udp --payload "1448 B, 8 KiB" --rate "1000/s..20000/s:20"
    icmodel sweep --payload "64 B..65535 B:100log" --switches 0..2 -o grid.nc
    icmodel sweep --payload "64 B..65535 B:2000log" --rate "100/s..20000/s:1000" -o grid.zarr
    icmodel sweep --payload "256 B" --option nagle=on,off --metric latency_mean_s --json
    """  # noqa: D301
    from icmodel.sweep import connect, grid_of, sweep_to_file
    from icmodel.sweep import sweep as sweep_grid  # the function, not the command of this name

    in_blocks = output is not None and output.suffix.lower() in TARGETS
    if output is not None:
        if in_blocks:
            check_place(output.with_name(f"{output.name}.progress"))
        else:
            check_file(output, GRID_FILES)
        check_installed(output)
    if not in_blocks and (workers is not None or cluster is not None):
        raise ScenarioError(
            "--workers and --cluster write a file block by block: add -o grid.zarr, .parquet or .csv"
        )
    if workers is not None and workers < 1:
        raise ScenarioError(f"--workers {workers} is not a number of processes: give 1 or more")
    if extrapolate and allow_gaps:
        raise ScenarioError("--extrapolate and --allow-gaps are both given: give only one")
    if question.payload is None:
        raise ScenarioError(
            'the sweep has no payload: add --payload, e.g. --payload "64 B..65535 B"'
        )
    data = load(dataset)
    metrics = split_names(metric)
    model = Model(data, variant, cache=not no_cache)
    ranges: dict[str, Any] = {
        "options": question.option_values(),
        "protocol": ",".join(split_names(protocol)) or data.default_protocol,
        **question.texts(),
    }
    outside = "extrapolate" if extrapolate else "nan" if allow_gaps else "refuse"
    wanted = (*metrics, "bottleneck") if metrics else None
    if output is not None and in_blocks:
        points = len(grid_of(model, ranges, outside, wanted, intervals=True))
        large = points > MOST_IN_MEMORY or output.suffix.lower() == ZARR
        if large or workers is not None or cluster is not None:
            client = None if cluster is None else connect(cluster)
            with progress_bar("sweep") as progress, client or nullcontext():
                sweep_to_file(
                    model,
                    output,
                    outside=outside,
                    metrics=wanted,
                    workers=workers,
                    client=client,
                    progress=progress,
                    **ranges,
                )
            print_text(f"{output}: {plural(points, 'point')}\n")
            return
        check_file(output, GRID_FILES)
    with progress_bar("sweep") as progress:
        answers = sweep_grid(model, outside=outside, metrics=wanted, progress=progress, **ranges)
    notes = notes_of_ends(model, answers, metrics)
    with progress_bar("write") if output is not None else nullcontext() as progress:
        grid = Grid(answers, tuple(metrics), notes, progress)
        answer = Answer(
            sections=lambda: grid_sections(grid, every=every),
            document=lambda: grid_document(grid),
            files={
                ".csv": lambda path: write_grid_csv(grid.columns(), path, progress),
                NETCDF: lambda path: write_netcdf(answers, path),
                PARQUET: lambda path: write_parquet(grid.columns(), path, progress),
                XLSX: lambda path: write_grid_workbook(grid.columns(), path, progress),
            },
        )
        emit(answer, as_json=as_json, output=output)


def notes_of_ends(model: Model, answers: xarray.Dataset, metrics: list[str]) -> tuple[str, ...]:
    """Return the notes of the predictions at the first and the last point, without repeats."""
    notes: dict[str, None] = {}
    for place in (0, -1):
        point = answers.isel(dict.fromkeys(answers.sizes, place))
        values = {str(name): value.item() for name, value in point.coords.items()}
        asked = {name: None if value == math.inf else value for name, value in values.items()}
        try:
            prediction = model.predict(scenario(**asked), outside="extrapolate", metrics=metrics)
        except OutOfDomain:
            continue
        cores = prediction.scenario.cores
        if "cores" not in values and cores is not None:
            notes[f"without --cores the most that were measured: {cores}"] = None
        notes |= dict.fromkeys(prediction.notes)
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class Grid:
    """Answers of a sweep, read point by point.

    ``requested`` holds the names of the requested metrics; it is empty if all are requested.
    """

    answers: xarray.Dataset
    requested: tuple[str, ...]
    notes: tuple[str, ...] = ()
    progress: Callable[[int, int], None] | None = None

    @property
    def swept(self) -> list[str]:
        """Return the names of the parameters with several values, in order."""
        return [str(name) for name in self.answers.sizes]

    def fixed(self) -> dict[str, object]:
        """Return the parameters that have one value, by name."""
        return {
            str(name): json_form(coordinate.item())
            for name, coordinate in self.answers.coords.items()
            if name not in self.swept
        }

    def metrics(self) -> list[str]:
        """Return the names of the answered metrics, without the columns of their intervals."""
        names = map(str, self.answers.data_vars)
        return [name for name in names if name != "bottleneck" and not name.endswith(PARTS)]

    def columns(self) -> Columns:
        """Return the whole grid as columns."""
        return columns_of(self.answers, self.metrics(), self.fixed())

    def points(self, metrics: list[str]) -> Iterator[tuple[tuple[Any, ...], list[Any], int]]:
        """Yield for each point its parameters, its metrics, and the code of its bottleneck.

        A metric has a value, the limits of its interval, and a basis.
        """

        def column(name: str) -> list[Any]:
            values: list[Any] = self.answers[name].to_numpy().reshape(-1).tolist()
            return values

        estimates = [
            zip(*(column(name + part) for part in ("", *PARTS)), strict=True) for name in metrics
        ]
        bottlenecks = column("bottleneck")
        places = product(*(self.answers[name].to_numpy().tolist() for name in self.swept))
        for done, (place, bottleneck) in enumerate(zip(places, bottlenecks, strict=True)):
            if self.progress is not None and done % REPORTED_POINTS == 0:
                self.progress(done, len(bottlenecks))
            yield place, [next(estimate) for estimate in estimates], bottleneck


# --- for people -------------------------------------------------------------------------------


def grid_sections(grid: Grid, *, every: bool) -> Iterator[Section]:
    """Yield a table with a row for each point.

    Without ``every`` only the first points and the main metrics are shown.
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
            _name_of(BOTTLENECKS, bottleneck),
        )
        for place, estimates, bottleneck in islice(
            grid.points(names), None if every else MOST_POINTS
        )
    )
    fixed = [f"{n} {_text(n, value)}" for n, value in grid.fixed().items() if value is not None]
    numbers = (f"#{name}" for name in (*grid.swept, *names))
    yield Section(", ".join(fixed), Table((*numbers, "bottleneck"), rows))

    if (more := math.prod(grid.answers.sizes.values()) - len(rows)) > 0:
        yield Section("", (f"and {more} points more: --all, or all metrics in a file: -o",))
    if marked:
        yield Section("", FOOTNOTE)
    if grid.notes:
        notes = fit_notes(grid.notes, math.inf if every else MOST_NOTES)
        yield Section("notes of the first and the last point", tuple(notes))


def _text(name: str, value: object) -> str:
    """Return the value of a parameter as text with its unit."""
    return units.format_quantity(name, value) if isinstance(value, int | float) else str(value)


def _estimate_text(name: str, estimate: tuple[Any, ...], *, marked: bool) -> str:
    """Return a value as text, with as many digits as its interval supports.

    ``marked`` columns have room for the mark of an extrapolated value.
    """
    value, low, high, basis = estimate
    text = "–" if math.isnan(value) else estimated(name, Estimate(value, low, high, ""))
    mark = MARK if basis == EXTRAPOLATED else " "
    return f"{text}{mark}" if marked else text


def _name_of(names: tuple[str, ...], code: int) -> str:
    """Return the name of a code, or an empty text for a point without a value."""
    return names[code] if code >= 0 else ""


# --- for machines -----------------------------------------------------------------------------


def grid_document(grid: Grid) -> dict[str, object]:
    """Return the JSON form of a grid: a list of points, each with all metrics."""
    attributes = grid.answers.attrs
    metrics = grid.metrics()
    points = []
    for place, estimates, bottleneck in grid.points(metrics):
        point = json_form(dict(zip(grid.swept, place, strict=True)))
        for name, (value, low, high, basis) in zip(metrics, estimates, strict=True):
            numbers = json_form({"value": value, "low": low, "high": high})
            point[name] = {**numbers, "basis": _name_of(BASES, basis)}
        points.append({**point, "bottleneck": _name_of(BOTTLENECKS, bottleneck)})
    return {
        "schema_version": 1,
        "dataset": {"id": attributes["dataset"], "sha256": attributes["sha256"]},
        "variant": attributes["variant"],
        "fixed": grid.fixed(),
        "swept": grid.swept,
        "notes": list(grid.notes),
        "points": points,
    }
