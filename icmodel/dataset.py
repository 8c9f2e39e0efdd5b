"""Dataset: load, verify and select; the catalogue of bundled datasets and of a person's own."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from icmodel.errors import DatasetError

SCHEMA_VERSION = 1
FILE_BASES = ("measured", "tabulated", "stated", "theory", "derived", "assumed")
AXES = (
    "protocol",
    "payload_bytes",
    "load_bps",
    "cores",
    "switches",
    "endpoints",
    "other_goodput_bps",
)
REST = ("metric", "value", "std", "low", "high", "n", "basis", "source")
RATIOS = ("cpu_send", "cpu_recv", "loss_rate")
METRIC_ENDINGS = ("_bps", "_s", "_cores", "_per_s")
HOW_TO_LIST = "run `icmodel datasets list` for the bundled ones, or give the path of a folder"


class Point(NamedTuple):
    """One row of points.csv, in SI; ``None`` where the row does not say.

    A named tuple, since a dataset has thousands and frozen dataclasses take three times as long.
    """

    line: int
    protocol: str
    payload_bytes: int | None
    load_bps: float | None
    cores: int | None
    switches: int | None
    endpoints: int | None
    other_goodput_bps: float | None
    options: tuple[str, ...]
    metric: str
    value: float
    std: float | None
    low: float | None
    high: float | None
    n: int | None
    basis: str
    source: str


@dataclass(frozen=True, slots=True)
class Interconnect:
    """The link of a dataset; ``None`` where its source does not say."""

    kind: str
    line_rate_bps: float | None = None
    mtu_bytes: int | None = None
    switch_latency_s: float | None = None
    propagation_s_per_m: float | None = None
    cable_length_m: float | None = None
    ip_version: int = 4
    tcp_timestamps: bool = True


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
    """A verified dataset: its points, its axes and where they come from."""

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

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that have at least one row."""
        return tuple(sorted({point.metric for point in self.points}))

    @property
    def citation(self) -> str:
        """Where the numbers come from."""
        return str(self.document.get("citation", ""))

    @property
    def licence(self) -> str:
        """Licence of the origin."""
        return str(self.document.get("licence", ""))

    @property
    def known_limits(self) -> tuple[str, ...]:
        """What the numbers do not cover, in sentences."""
        limits = self.document.get("known_limits", [])
        return tuple(str(limit) for limit in limits) if isinstance(limits, list) else ()

    def option_values(self, axis: str) -> tuple[str, ...]:
        """The values an option axis has in the rows, sorted."""
        where = self.option_axes.index(axis)
        return tuple(sorted({p.options[where] for p in self.points if p.options[where]}))

    def select(self, protocol: str, options: Mapping[str, str]) -> tuple[Point, ...]:
        """Rows of one protocol at the options asked; unasked axes take their default.

        An asked axis matches exactly; an unasked one matches its default and empty cells.

        Raises
        ------
        DatasetError
            If the dataset has no such axis or value.
        """
        for axis, value in options.items():
            self._check_option(axis, value)
        wanted = [
            {options[axis]} if axis in options else {"", self.option_defaults[axis]}
            for axis in self.option_axes
        ]
        allowed = set(product(*wanted))
        return tuple(p for p in self.points if p.protocol == protocol and p.options in allowed)

    def link(self, options: Mapping[str, str]) -> Interconnect:
        """The link at some options: that of a fabric they choose, else the dataset's own."""
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
        if value not in values:
            raise DatasetError(
                f"{self.id} has no rows at {axis} = {value!r}: it has {', '.join(values)}"
            )


# --- finding ----------------------------------------------------------------------------------


def shipped(kind: str) -> Path:
    """The folder of shipped ``data`` or ``usecases``: in the installed package or a checkout."""
    package = Path(__file__).resolve().parent
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
    """Load and verify a dataset by bundled name or path: schema, seal, ranges and order.

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
        document = tomllib.loads(_read_bytes(path).decode("utf-8"))
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
    protocols = tuple(sorted({point.protocol for point in points}))
    declared = document.get("protocols")
    if declared != list(protocols):
        raise DatasetError(
            f"{path} lists the protocols {declared!r}, points.csv has {list(protocols)}"
        )
    default_protocol = str(document.get("default_protocol", protocols[0]))
    if default_protocol not in protocols:
        raise DatasetError(f"{path}: default_protocol {default_protocol!r} has no rows")
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


def read_points(path: Path, body: bytes) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """The points of a points.csv and its option axes; every row is checked.

    Raises
    ------
    DatasetError
        If the header or a row breaks the format: file, line and reason.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + body.count(b"\n", 0, error.start)
        raise DatasetError(f"{path} line {line}: not UTF-8, {error}") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(lines, [])
        option_axes = _option_axes(header, path)
        points = tuple(_points(lines, option_axes, len(header), path))
    except csv.Error as error:
        raise DatasetError(f"{path} line {lines.line_num}: not CSV, {error}") from error
    if not points:
        raise DatasetError(f"{path} has no rows: a dataset needs at least one")
    _check_order(points, path)
    return points, option_axes


def _option_axes(header: list[str], path: Path) -> tuple[str, ...]:
    options = tuple(header[len(AXES) : len(header) - len(REST)])
    if tuple(header) != (*AXES, *options, *REST) or list(options) != sorted(set(options)):
        raise DatasetError(
            f"{path} line 1: the columns must be {', '.join(AXES)}, then the option axes in "
            f"alphabetical order, then {', '.join(REST)}; found {', '.join(header)}"
        )
    return options


def _points(
    lines: Iterator[list[str]], option_axes: tuple[str, ...], width: int, path: Path
) -> Iterator[Point]:
    for number, cells in enumerate(lines, start=2):
        if len(cells) != width:
            raise DatasetError(
                f"{path} line {number}: {len(cells)} cells where the header has {width}; the row "
                "is cut or has a stray comma"
            )
        try:
            yield _point(number, cells, len(option_axes))
        except ValueError as error:
            raise DatasetError(f"{path} line {number}: {error}") from error


def _point(line: int, cells: list[str], options: int) -> Point:
    first = len(AXES)
    metric, value, std, low, high, n, basis, source = cells[first + options :]
    point = Point(
        line=line,
        protocol=cells[0],
        payload_bytes=_count("payload_bytes", cells[1], 1),
        load_bps=_real("load_bps", cells[2], infinite=True),
        cores=_count("cores", cells[3], 1),
        switches=_count("switches", cells[4], 0),
        endpoints=_count("endpoints", cells[5], 1),
        other_goodput_bps=_real("other_goodput_bps", cells[6], infinite=True),
        options=tuple(cells[first : first + options]),
        metric=metric,
        value=_needed("value", _real("value", value)),
        std=_real("std", std),
        low=_real("low", low),
        high=_real("high", high),
        n=_count("n", n, 1),
        basis=basis,
        source=source,
    )
    _check_point(point)
    return point


def _real(name: str, text: str, *, infinite: bool = False) -> float | None:
    if not text:
        return None
    try:
        if not text.isascii() or "_" in text or text[0].isspace() or text[-1].isspace():
            raise ValueError  # what Python takes for a number, but no CSV reader else
        number = float(text)
    except ValueError:
        raise ValueError(f"{name} {text!r} is not a number in SI") from None
    if math.isnan(number) or number < 0 or (math.isinf(number) and not infinite):
        raise ValueError(f"{name} {text!r} is out of range: finite and 0 or more")
    return number


def _count(name: str, text: str, least: int) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise ValueError(f"{name} {text!r} is not a whole number of at least {least}")
    return int(text)


def _needed(name: str, number: float | None) -> float:
    if number is None:
        raise ValueError(f"{name} is empty: every row is one number")
    return number


def _check_point(point: Point) -> None:
    if not point.protocol:
        raise ValueError("protocol is empty")
    if point.metric not in RATIOS and not point.metric.endswith(METRIC_ENDINGS):
        raise ValueError(
            f"metric {point.metric!r} carries no unit: it must be one of {', '.join(RATIOS)} or "
            f"end in one of {', '.join(METRIC_ENDINGS)}"
        )
    if point.basis not in FILE_BASES:
        raise ValueError(f"basis {point.basis!r} is not one of {', '.join(FILE_BASES)}")
    if not point.source:
        raise ValueError("source is empty: every number says where it comes from")
    low = point.value if point.low is None else point.low
    high = point.value if point.high is None else point.high
    if not low <= point.value <= high:
        raise ValueError(f"value {point.value} is not between low {low} and high {high}")
    if point.metric in RATIOS and high > 1:
        raise ValueError(f"{point.metric} {high} is above 1: ratios run from 0 to 1")
    if point.basis == "assumed" and (point.low is None or point.high is None):
        raise ValueError("an assumed row needs low and high: say how wide the guess is")


Key = tuple[float | str, ...]


def _key(point: Point) -> Key:
    """What rows are sorted by; empty cells come first, and no number is below 0."""
    axes = (
        point.payload_bytes,
        point.load_bps,
        point.cores,
        point.switches,
        point.endpoints,
        point.other_goodput_bps,
    )
    numbers = [-1.0 if axis is None else axis for axis in axes]
    return (point.protocol, *numbers, *point.options, point.metric)


def _check_order(points: tuple[Point, ...], path: Path) -> None:
    before: Key | None = None
    for point in points:
        key = _key(point)
        if before is not None and key == before:
            raise DatasetError(
                f"{path} line {point.line}: a second row for the same point and metric"
            )
        if before is not None and key < before:
            raise DatasetError(
                f"{path} line {point.line}: rows must be sorted by the columns from left to right"
            )
        before = key


# --- dataset.toml -----------------------------------------------------------------------------


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
    """[fabrics.<value>] with the axis it is a value of: the link where that value is chosen."""
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
    )
