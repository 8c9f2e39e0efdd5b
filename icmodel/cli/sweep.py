"""``icmodel sweep``: what-if grids over any parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icmodel import units
from icmodel.cli.grid_files import (
    NETCDF,
    PARQUET,
    PARTS,
    Columns,
    check_extra,
    columns_of,
    write_csv,
    write_netcdf,
    write_parquet,
)
from icmodel.cli.output import Answer, Section, Table, check_file, emit, progress_bar
from icmodel.cli.question import (
    DEFAULT_DATASET,
    AsJson,
    DatasetName,
    NoCache,
    Output,
    ProtocolNames,
    Question,
    VariantName,
    asks,
    listed,
    option,
    room,
)
from icmodel.cli.short import fitting
from icmodel.dataset import load
from icmodel.documents import plain
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, estimated
from icmodel.model import Model
from icmodel.scenario import scenario

if TYPE_CHECKING:
    import xarray

app = room()

SHOWN = ("goodput_bps", "cpu_send", "cpu_recv", "loss_rate")
"""Metrics of the table, besides every mean time; files and JSON have all."""
ENDINGS = (".csv", ".json", NETCDF, PARQUET, ".txt")
OFTEN = 4096
"""Points between two reports of progress."""
EXTRAPOLATED = BASES.index("extrapolated")
MARK = "*"
"""Mark of an extrapolated value in the table."""
FOOTNOTE = (
    f"{MARK} extrapolated: beyond what was measured. A file names the basis of every value, and",
    "icmodel predict the axis and the distance.",
)

MOST_POINTS, MOST_NOTES = 20, 4
"""Points and lines of notes in a table without ``--all``."""
NOTED = "notes of the first and the last point"

Metrics = Annotated[
    list[str] | None, option("metric", "NAMES", "Only these metrics; can be repeated.")
]
Extrapolate = Annotated[
    bool,
    typer.Option(
        "--extrapolate",
        help="Answer beyond what was measured; a table marks it with *, a file by its basis.",
    ),
]
AllowGaps = Annotated[
    bool,
    typer.Option("--allow-gaps", help="Leave points outside the dataset empty, not refused."),
]

Every = Annotated[
    bool, typer.Option("--all", help="Every point and every note in the table, not the first.")
]


@app.command(short_help="What-if grids over any parameters.")
@asks
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
) -> None:
    """Predict every combination of some parameters' values: a table, CSV, JSON, netCDF or Parquet.

    Any parameter takes a list ("64 B, 1448 B"), two values with what the dataset has between them
    ("64 B..65535 B"), or a number of values between them, at equal distances (":25") or equal
    ratios (":25log"). An end outside the dataset is refused like any other question. A file has every metric with its interval and basis.

    \b
    icmodel sweep --payload "64 B..65535 B" --cores 1,4
    icmodel sweep --protocol tcp,udp --payload "1448 B, 8 KiB" --rate "1000/s..20000/s:20"
    icmodel sweep --payload "64 B..65535 B:100log" --switches 0..2 -o grid.nc
    icmodel sweep --payload "256 B" --option nagle=on,off --metric latency_mean_s --json
    """  # noqa: D301
    from icmodel.sweep import sweep as answer_grid  # the verb, apart from this command

    if output is not None:
        check_file(output, ENDINGS)
        check_extra(output)
    outside = _outside(extrapolate=extrapolate, allow_gaps=allow_gaps)
    ranges: dict[str, Any] = _ranges(question)
    data = load(dataset)
    wanted = listed(metric)
    model = Model(data, variant, cache=not no_cache)
    with progress_bar("sweep") as progress:
        answers = answer_grid(
            model,
            outside=outside,
            metrics=(*wanted, "bottleneck") if wanted else None,
            progress=progress,
            options=question.options(),
            protocol=",".join(listed(protocol)) or data.default_protocol,
            **ranges,
        )
    notes = _notes(model, answers, wanted)
    with progress_bar("write") if output is not None else nullcontext() as progress:
        grid = Grid(answers, tuple(wanted), notes, progress, every=every)
        emit(_answer(grid), as_json=as_json, output=output)


def _ranges(question: Question) -> dict[str, str]:
    """The parameters to sweep, as typed."""
    if question.payload is None:
        raise ScenarioError('the sweep has no payload: give some, e.g. --payload "64 B..65535 B"')
    return question.texts()


def _outside(*, extrapolate: bool, allow_gaps: bool) -> str:
    """How points outside the dataset are answered."""
    if extrapolate and allow_gaps:
        raise ScenarioError("--extrapolate and --allow-gaps are both given: keep one")
    return "extrapolate" if extrapolate else "nan" if allow_gaps else "refuse"


def _notes(model: Model, answers: xarray.Dataset, wanted: list[str]) -> tuple[str, ...]:
    """Notes of the predictions of the first and the last point, each once."""
    notes: dict[str, None] = {}
    for place in (0, -1):
        point = answers.isel(dict.fromkeys(answers.sizes, place))
        said = {str(name): value.item() for name, value in point.coords.items()}
        asked = {name: None if value == math.inf else value for name, value in said.items()}
        try:
            told = model.predict(scenario(**asked), outside="extrapolate", metrics=wanted)
        except OutOfDomain:
            continue
        if "cores" not in said and told.scenario.cores is not None:
            notes[f"without --cores the most that were measured: {told.scenario.cores}"] = None
        notes |= dict.fromkeys(told.notes)
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class Grid:
    """The answers of a sweep, read point by point."""

    answers: xarray.Dataset
    wanted: tuple[str, ...]
    notes: tuple[str, ...] = ()
    progress: Callable[[int, int], None] | None = None
    every: bool = False

    @property
    def swept(self) -> list[str]:
        """Parameters with several values, in order."""
        return [str(name) for name in self.answers.sizes]

    def fixed(self) -> dict[str, object]:
        """Parameters with one value."""
        swept = self.swept
        return {
            str(name): plain(coordinate.item())
            for name, coordinate in self.answers.coords.items()
            if name not in swept
        }

    def metrics(self) -> list[str]:
        """Metrics answered, without the parts of their intervals."""
        return [
            str(name)
            for name in self.answers.data_vars
            if name != "bottleneck" and not str(name).endswith(PARTS)
        ]

    def columns(self) -> Columns:
        """The whole grid as columns."""
        return columns_of(self.answers, self.metrics(), self.fixed())

    def shown(self) -> list[str]:
        """Metrics of the table for people: the wanted ones, else main ones with any value."""
        if self.wanted:
            return [name for name in self.wanted if name != "bottleneck"]
        filled = [name for name in self.metrics() if bool(self.answers[name].notnull().any())]
        main = [name for name in filled if name in SHOWN or name.endswith("_mean_s")]
        return main or filled

    def extrapolated(self, names: Iterable[str]) -> frozenset[str]:
        """Those metrics with an extrapolated value."""
        return frozenset(
            name for name in names if bool((self.answers[f"{name}_basis"] == EXTRAPOLATED).any())
        )

    def points(self, metrics: list[str]) -> Iterator[tuple[tuple[Any, ...], list[Any], int]]:
        """Parameters of each point, some metrics with ends and basis, and the code of its bottleneck."""

        def column(name: str) -> list[Any]:
            values: list[Any] = self.answers[name].to_numpy().reshape(-1).tolist()
            return values

        fours = [
            zip(*(column(name + part) for part in ("", *PARTS)), strict=True) for name in metrics
        ]
        limits = column("bottleneck")
        places = product(*(self.answers[name].to_numpy().tolist() for name in self.swept))
        for done, (place, limit) in enumerate(zip(places, limits, strict=True)):
            if self.progress is not None and done % OFTEN == 0:
                self.progress(done, len(limits))
            yield place, [next(four) for four in fours], limit


def _answer(grid: Grid) -> Answer:
    return Answer(
        sections=lambda: _sections(grid),
        document=lambda: _document(grid),
        files={
            ".csv": lambda path: write_csv(grid.columns(), path, grid.progress),
            NETCDF: lambda path: write_netcdf(grid.answers, path),
            PARQUET: lambda path: write_parquet(grid.columns(), path, grid.progress),
        },
    )


def _quantity(name: str, value: object) -> str:
    if isinstance(value, (int, float)):
        return units.format_quantity(name, value)
    return str(value)


def _sections(grid: Grid) -> Iterator[Section]:
    attributes = grid.answers.attrs
    yield Section("", (f"{attributes['dataset']}, variant {attributes['variant']}",))
    fixed = [f"{n} {_quantity(n, v)}" for n, v in grid.fixed().items() if v is not None]
    names = grid.shown()
    marked = grid.extrapolated(names)
    rows = tuple(
        (
            *(_quantity(name, value) for name, value in zip(grid.swept, place, strict=True)),
            *(_cell(name, value, marked) for name, value in zip(names, values, strict=True)),
            _text("bottleneck", limit),
        )
        for place, values, limit in islice(grid.points(names), None if grid.every else MOST_POINTS)
    )
    numbers = (f"#{name}" for name in (*grid.swept, *names))
    yield Section(", ".join(fixed), Table((*numbers, "bottleneck"), rows))
    if (more := math.prod(grid.answers.sizes.values()) - len(rows)) > 0:
        yield Section("", (f"and {more} points more: --all, or all metrics in a file: -o",))
    if marked:
        yield Section("", FOOTNOTE)
    if grid.notes:
        yield Section(NOTED, tuple(fitting(grid.notes, math.inf if grid.every else MOST_NOTES)))


def _cell(name: str, value: tuple[Any, ...], marked: frozenset[str]) -> str:
    """A value with as many digits as its interval justifies, and its mark.

    Columns with any mark have room for one in every cell.
    """
    number, low, high, basis = value
    mark = "" if name not in marked else MARK if basis == EXTRAPOLATED else " "
    text = "–" if math.isnan(number) else estimated(name, Estimate(number, low, high, ""))
    return f"{text}{mark}"


def _text(name: str, code: int) -> str:
    """The text of a code; nothing where there is no value."""
    names = BOTTLENECKS if name == "bottleneck" else BASES
    return names[code] if code >= 0 else ""


def _document(grid: Grid) -> dict[str, object]:
    attributes = grid.answers.attrs
    return {
        "schema_version": 1,
        "dataset": {"id": attributes["dataset"], "sha256": attributes["sha256"]},
        "variant": attributes["variant"],
        "fixed": grid.fixed(),
        "swept": grid.swept,
        "notes": list(grid.notes),
        "points": list(_points(grid)),
    }


def _points(grid: Grid) -> Iterator[dict[str, object]]:
    metrics = grid.metrics()
    for place, values, limit in grid.points(metrics):
        point = plain(dict(zip(grid.swept, place, strict=True)))
        for name, (value, low, high, basis) in zip(metrics, values, strict=True):
            numbers = plain({"value": value, "low": low, "high": high})
            point[name] = {**numbers, "basis": _text("basis", basis)}
        yield {**point, "bottleneck": _text("bottleneck", limit)}
