"""Dataset: load, verify and select; the catalogue of bundled datasets and of a person's own."""

from __future__ import annotations

import hashlib
import math
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType

from icmodel.dataset.coverage import Held, Kinds, least_held, read_coverage
from icmodel.dataset.rows import (
    AXES,
    FILE_BASES,
    METRIC_ENDINGS,
    RATIOS,
    REST,
    Point,
    read_held_out,
    read_points,
)
from icmodel.documents import toml
from icmodel.errors import DatasetError, ScenarioError

__all__ = [
    "AXES",
    "FILE_BASES",
    "HOW_TO_LIST",
    "METRIC_ENDINGS",
    "PUBLISHED",
    "RATIOS",
    "REST",
    "SCHEMA_VERSION",
    "VARIANTS",
    "Dataset",
    "Interconnect",
    "Point",
    "StatedLimit",
    "build",
    "catalogue",
    "check_variant",
    "find",
    "load",
    "read_document",
    "read_points",
    "shipped",
]

PUBLISHED = ("appendix-h", "corrected")
"""Variants of the model that answer from the benchmarked curves, as IC2012 does."""
VARIANTS = (*PUBLISHED, "hybrid")
"""All variants; a dataset names its default."""
SCHEMA_VERSION = 1
HELD_OUT_FILE = "held-out.csv"
HOW_TO_LIST = "run `icmodel datasets list` for the bundled ones, or give the path of a folder"


LONG = 300
"""Characters of a dataset's description that its ``repr`` shows."""


@dataclass(frozen=True, slots=True)
class Interconnect:
    """The link of a dataset; ``None`` where its source gives no value.

    ``burst_bytes`` pass at once before the line rate limits: the depth of the token bucket that
    models a wire on a virtual link; 0 for a real wire.
    """

    kind: str
    line_rate_bps: float | None = None
    mtu_bytes: int | None = None
    switch_latency_s: float | None = None
    propagation_s_per_m: float | None = None
    cable_length_m: float | None = None
    ip_version: int = 4
    tcp_timestamps: bool = True
    burst_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class StatedLimit:
    """A limit the source states for a metric; no interval crosses it."""

    metric: str
    protocol: str | None
    minimum: float
    maximum: float
    source: str


@dataclass(frozen=True)
class Dataset:
    """A verified dataset: its points, its axes and their origin."""

    id: str
    folder: Path
    title: str
    sha256: str
    default_variant: str
    default_protocol: str
    protocols: tuple[str, ...]
    interconnect: Interconnect
    option_axes: tuple[str, ...]
    option_defaults: Mapping[str, str]
    stated_limits: tuple[StatedLimit, ...]
    absences: tuple[Mapping[str, str], ...]
    variants: Mapping[str, Mapping[str, object]]
    fabrics: Mapping[tuple[str, str], Interconnect]
    document: Mapping[str, object]
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        text = f"{self.id!r}, {len(self.points)} rows of {', '.join(self.protocols)}: {self.title}"
        return f"Dataset({text if len(text) < LONG else f'{text[:LONG]}…'})"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that have at least one row."""
        return tuple(sorted(self._by_metric))

    def of_metric(self, metric: str) -> tuple[Point, ...]:
        """The rows of a metric."""
        return self._by_metric.get(metric, ())

    @cached_property
    def _by_metric(self) -> Mapping[str, tuple[Point, ...]]:
        found: dict[str, list[Point]] = {}
        for point in self.points:
            found.setdefault(point.metric, []).append(point)
        return {metric: tuple(points) for metric, points in found.items()}

    @property
    def citation(self) -> str:
        """The citation of the numbers' source."""
        return str(self.document.get("citation", ""))

    @property
    def licence(self) -> str:
        """The licence of the source."""
        return str(self.document.get("licence", ""))

    @property
    def whose(self) -> str:
        """A sentence on the measuring program, whose frame handling the numbers include."""
        tool = self.document.get("tool")
        name = str(tool.get("name", "")) if isinstance(tool, dict) else ""
        return (
            f"these are numbers of {name or 'the program that measured'}: what an application of yours "
            "does with each frame comes on top"
        )

    @property
    def known_limits(self) -> tuple[str, ...]:
        """Known limits of the dataset, as sentences."""
        limits = self.document.get("known_limits", [])
        return tuple(str(limit) for limit in limits) if isinstance(limits, list) else ()

    @cached_property
    def between_sessions(self) -> Mapping[str, float]:
        """Standard deviation between sessions by metric: absolute for ratios, relative for others.

        Empty if all points were measured in one session, or the sessions are not known.
        """
        table = self.document.get("between_sessions")
        spread = table.get("spread") if isinstance(table, dict) else None
        found = spread if isinstance(spread, dict) else {}
        return MappingProxyType({str(name): float(value) for name, value in found.items()})

    @cached_property
    def coverage(self) -> Mapping[str, Kinds]:
        """Coverage of intervals by variant and kind of fold; empty if it was not stored.

        Raises
        ------
        DatasetError
            If its file is damaged.
        """
        return read_coverage(self.folder, self.sha256)

    @cached_property
    def held(self) -> Mapping[str, Mapping[str, Held]]:
        """By variant and metric the least coverage over the kinds of folds."""
        return {variant: least_held(kinds) for variant, kinds in self.coverage.items()}

    @cached_property
    def held_out_runs(self) -> Mapping[str, tuple[Point, ...]]:
        """The runs held out of every fit: name -> points; empty if there are none.

        They are read and verified on first use, since only a validation needs them.

        Raises
        ------
        DatasetError
            If their file is missing or damaged; the message names file, row and reason.
        """
        table = self.document.get("held_out")
        if not isinstance(table, dict):
            return MappingProxyType({})
        path = self.folder / HELD_OUT_FILE
        body = _read_bytes(path)
        if table.get("sha256") != hashlib.sha256(body).hexdigest():
            raise DatasetError(
                f"{path} does not match the sha256 under [held_out] in dataset.toml: the file was "
                "changed or cut; restore it, or fold the records again"
            )
        runs = read_held_out(path, body, self.option_axes)
        if table.get("runs") != len(runs):
            raise DatasetError(
                f"{path} has {len(runs)} runs where dataset.toml says {table.get('runs')!r}: "
                "correct runs under [held_out]"
            )
        return MappingProxyType(runs)

    @property
    def held_out(self) -> tuple[Point, ...]:
        """The points of all held-out runs, each of one run (``n`` = 1), sorted by run."""
        return tuple(point for points in self.held_out_runs.values() for point in points)

    def option_values(self, axis: str) -> tuple[str, ...]:
        """The values of an option axis in the rows, sorted."""
        where = self.option_axes.index(axis)
        return tuple(sorted({p.options[where] for p in self.points if p.options[where]}))

    def select(self, protocol: str, options: Mapping[str, str]) -> tuple[Point, ...]:
        """Rows of one protocol at some options; axes not given take their default.

        The default of an axis matches that value and empty cells; any other value matches exactly.

        Raises
        ------
        DatasetError
            If the dataset has no such axis or value.
        """
        for axis, value in options.items():
            self._check_option(axis, value)
        asked = self.changed_options(options)
        wanted = [
            {asked[axis]} if axis in asked else {"", self.option_defaults[axis]}
            for axis in self.option_axes
        ]
        allowed = set(product(*wanted))
        return tuple(p for p in self.points if p.protocol == protocol and p.options in allowed)

    def options_of(self, point: Point) -> dict[str, str]:
        """The options that a row states, by axis."""
        options = zip(self.option_axes, point.options, strict=True)
        return {axis: value for axis, value in options if value}

    def changed_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options that are not at their default."""
        return {
            axis: value
            for axis, value in options.items()
            if axis not in self.option_axes or value != self.option_defaults[axis]
        }

    def link(self, options: Mapping[str, str]) -> Interconnect:
        """The link at some options: the fabric that they select, or else the dataset's link."""
        for axis in self.option_axes:
            value = options.get(axis, self.option_defaults[axis])
            if (axis, value) in self.fabrics:
                return self.fabrics[axis, value]
        return self.interconnect

    def _check_option(self, axis: str, value: str) -> None:
        if axis not in self.option_axes:
            known = ", ".join(self.option_axes) or "none"
            raise DatasetError(
                f"{self.id} has no axis {axis!r}: its option axes are {known}; leave {axis} out "
                "or take another dataset"
            )
        values = self.option_values(axis)
        if value not in values and value != self.option_defaults[axis]:
            raise DatasetError(
                f"{self.id} has no rows at {axis} = {value!r}: it has {', '.join(values)}"
            )


def check_variant(name: str) -> None:
    """Raise ScenarioError if there is no variant of the model with this name."""
    if name not in VARIANTS:
        raise ScenarioError(f"there is no variant {name!r}: it is one of {', '.join(VARIANTS)}")


# --- finding ----------------------------------------------------------------------------------


def shipped(kind: str) -> Path:
    """The folder of shipped ``data`` or ``usecases``: in the installed package or a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside, beside = package / kind, package.parent / kind
    return inside if inside.is_dir() else beside


def catalogue() -> tuple[str, ...]:
    """The names of the bundled datasets, sorted."""
    folder = shipped("data")
    return tuple(sorted(path.parent.name for path in folder.glob("*/dataset.toml")))


def find(name: str | Path) -> Path:
    """The folder of a dataset given by bundled name or by path.

    Raises
    ------
    DatasetError
        If there is neither, or it cannot be read.
    """
    given = Path(name)
    try:
        found = _folder(given, str(name))
        empty = given.is_dir()
    except OSError as error:
        raise DatasetError(f"{given} cannot be read: {error.strerror}") from error
    if found is not None:
        return found
    if empty:
        raise DatasetError(
            f"{given} has no dataset.toml: a dataset folder needs one beside points.csv"
        )
    raise DatasetError(f"there is no dataset {str(name)!r}: {HOW_TO_LIST}")


def _folder(given: Path, name: str) -> Path | None:
    if (given / "dataset.toml").is_file():
        return given
    if given.name == "dataset.toml" and given.is_file():
        return given.parent
    bundled = shipped("data") / name
    return bundled if given.name == name and (bundled / "dataset.toml").is_file() else None


# --- reading ----------------------------------------------------------------------------------


def load(name: str | Path) -> Dataset:
    """Load and verify a dataset by bundled name or path: schema, checksum, ranges and order.

    Raises
    ------
    DatasetError
        If it is missing or damaged; the message names file, row and reason.
    """
    folder = find(name)
    document = read_document(folder)
    body = _read_bytes(folder / "points.csv")
    digest = hashlib.sha256(body).hexdigest()
    if document.get("sha256") != digest:
        raise DatasetError(
            f"{folder / 'points.csv'} does not match the sha256 in dataset.toml: the file was "
            "changed or cut; restore it, or seal an edition of your own with "
            "`icmodel datasets check DIR --seal`"
        )
    return build(folder, document, body, digest)


def read_document(folder: Path) -> dict[str, object]:
    """dataset.toml as a dictionary.

    Raises
    ------
    DatasetError
        If it cannot be read, is no TOML, or has another schema version.
    """
    path = folder / "dataset.toml"
    try:
        document = toml(_read_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} is not valid TOML: {error}") from error
    if document.get("schema_version") != SCHEMA_VERSION:
        raise DatasetError(
            f"{path} has schema_version {document.get('schema_version')!r}: this icmodel reads "
            f"{SCHEMA_VERSION}"
        )
    return document


def build(folder: Path, document: Mapping[str, object], body: bytes, digest: str) -> Dataset:
    """A Dataset of a read dataset.toml and the bytes of its points.csv.

    Raises
    ------
    DatasetError
        If a key or a row breaks the format.
    """
    path = folder / "dataset.toml"
    axes = _table(document, "axes", path)
    points, option_axes = read_points(folder / "points.csv", body)
    _check_option_axes(axes, option_axes, path)
    protocols, default_protocol = _protocols(document, points, path)
    return Dataset(
        id=_text(document, "id", path),
        folder=folder,
        title=_text(document, "title", path),
        sha256=digest,
        default_variant=_text(document, "default_variant", path),
        default_protocol=default_protocol,
        protocols=protocols,
        interconnect=_interconnect(_table(document, "interconnect", path), path),
        option_axes=option_axes,
        option_defaults=MappingProxyType(
            {axis: str(_table(axes, axis, path).get("default", "")) for axis in option_axes}
        ),
        stated_limits=tuple(
            _limit(item, path) for item in _tables(document, "stated_limits", path)
        ),
        absences=tuple(
            {key: str(value) for key, value in item.items()}
            for item in _tables(document, "absences", path)
        ),
        variants=MappingProxyType(
            {
                name: _table(_table(document, "variants", path), name, path)
                for name in _table(document, "variants", path)
            }
        ),
        fabrics=MappingProxyType(_fabrics(_table(document, "fabrics", path), path)),
        document=MappingProxyType(dict(document)),
        points=points,
    )


# --- dataset.toml -----------------------------------------------------------------------------


def _protocols(
    document: Mapping[str, object], points: Iterable[Point], path: Path
) -> tuple[tuple[str, ...], str]:
    """The protocols, which must be those with rows, and the default one."""
    protocols = tuple(sorted({point.protocol for point in points}))
    declared = document.get("protocols")
    if declared != list(protocols):
        raise DatasetError(
            f"{path} lists the protocols {declared!r}, points.csv has {list(protocols)}"
        )
    default = str(document.get("default_protocol", protocols[0]))
    if default not in protocols:
        raise DatasetError(f"{path}: default_protocol {default!r} has no rows")
    return protocols, default


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def _text(table: Mapping[str, object], key: str, path: Path) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise DatasetError(f"{path}: {key} must be a text, found {value!r}")
    return value


def _table(table: Mapping[str, object], key: str, path: Path) -> dict[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise DatasetError(f"{path}: [{key}] must be a table, found {value!r}")
    return value


def _tables(table: Mapping[str, object], key: str, path: Path) -> list[dict[str, object]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DatasetError(f"{path}: [[{key}]] must be a list of tables, found {value!r}")
    return value


def _check_option_axes(
    axes: Mapping[str, object], option_axes: tuple[str, ...], path: Path
) -> None:
    for axis in option_axes:
        entry = axes.get(axis)
        if not isinstance(entry, dict) or "meaning" not in entry or "default" not in entry:
            raise DatasetError(
                f"{path}: the axis {axis} of points.csv needs [axes.{axis}] with meaning and default"
            )


def _limit(item: Mapping[str, object], path: Path) -> StatedLimit:
    protocol = item.get("protocol")
    return StatedLimit(
        metric=_text(item, "metric", path),
        protocol=None if protocol is None else str(protocol),
        minimum=_quantity(item, "min", path, 0.0),
        maximum=_quantity(item, "max", path, math.inf),
        source=_text(item, "source", path),
    )


def _quantity(table: Mapping[str, object], key: str, path: Path, default: float) -> float:
    if key not in table:
        return default
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DatasetError(f"{path}: {key} must be a number in SI, found {value!r}")
    if not 0 <= value <= sys.float_info.max:
        raise DatasetError(f"{path}: {key} must be finite and 0 or more, found {value!r}")
    return float(value)


def _fabrics(tables: Mapping[str, object], path: Path) -> dict[tuple[str, str], Interconnect]:
    """The links of the tables [fabrics.<value>], by option axis and value."""
    links = {}
    for value in tables:
        table = _table(tables, value, path)
        links[_text(table, "axis", path), value] = _interconnect(table, path)
    return links


def _interconnect(table: Mapping[str, object], path: Path) -> Interconnect:
    def known(key: str) -> float | None:
        return _quantity(table, key, path, 0.0) if key in table else None

    mtu = known("mtu_bytes")
    return Interconnect(
        kind=_text(table, "kind", path),
        line_rate_bps=known("line_rate_bps"),
        mtu_bytes=None if mtu is None else int(mtu),
        switch_latency_s=known("switch_latency_s"),
        propagation_s_per_m=known("propagation_s_per_m"),
        cable_length_m=known("cable_length_m"),
        ip_version=int(_quantity(table, "ip_version", path, 4.0)),
        tcp_timestamps=table.get("tcp_timestamps", True) is True,
        burst_bytes=_quantity(table, "burst_bytes", path, 0.0),
    )
