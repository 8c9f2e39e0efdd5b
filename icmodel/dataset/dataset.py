"""Find, load and verify datasets, bundled or the user's own, and select their rows.

A dataset folder may contain coverage.json, the result of a validation that ``icmodel validate --keep`` writes.  A
validation leaves rows out, fits the model to the other rows, and predicts the left-out rows.  The coverage is the share
of left-out rows inside their predicted intervals.  If it is too low, predictions get a note.  A missing file, or a file
made for another points.csv, gives no note.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from icmodel import units
from icmodel.dataset.rows import Point, read_held_out, read_points
from icmodel.documents import group_by_key, is_file, is_folder, json_value, toml
from icmodel.errors import DatasetError, ScenarioError
from icmodel.frozen import FrozenMapping
from icmodel.table import html_table

PUBLISHED = ("appendix-h", "corrected")
"""Variants of the model that interpolate measured curves, as "High speed local area interconnects" (IC2012) does."""
VARIANTS = (*PUBLISHED, "hybrid")
"""Names of all variants of the model; each dataset names its default variant."""
SCHEMA_VERSION = 1
HELD_OUT_FILE = "held-out.csv"
HOW_TO_LIST = "run `icmodel datasets list` for the bundled datasets, or give the path of a folder"
LONG = 300
"""Maximum number of characters in the parentheses of a dataset's ``repr``; longer texts are cut."""


@dataclass(frozen=True, slots=True)
class Interconnect:
    """Link between the hosts of a dataset.  If the source does not give a value, the value is ``None``.

    ``burst_bytes`` is the depth of the token bucket that limits a virtual link: this many bytes may pass at once before
    the line rate applies.  It is 0 for a real wire.
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
    """Least and greatest value that the source states for a metric; intervals of predictions are clipped to them."""

    metric: str
    protocol: str | None
    minimum: float
    maximum: float
    source: str


@dataclass(frozen=True)
class Dataset:
    """Verified dataset: its points, their axes and their source; see `load`.

    Parameters
    ----------
    id, title, sha256 : str
        Name, title, and the hash of points.csv.
    folder : Path
        Folder of the files.
    default_variant, default_protocol : str
        Variant of the model, and protocol, that a prediction uses if the request names no others.
    protocols : tuple of str
        Protocols that have rows.
    interconnect : Interconnect
        Link between the hosts.  For some values of an option, another link replaces it: ``fabrics`` maps pairs of
        option axis and value to links.
    option_axes : tuple of str
        Additional columns of points.csv, such as a socket option.  ``option_defaults`` has the default of each.
    stated_limits : tuple of StatedLimit
        Limits that the source states for metrics.
    absences : tuple of mappings
        Metrics without rows, each with the reason.
    variants : mapping
        Settings of each variant of the model.  With ``payload_bytes``, for example, a variant uses only the rows with
        these payloads.
    document : mapping
        The whole dataset.toml.
    points : tuple of Point
        The rows of points.csv, in SI units.

    Examples
    --------
    >>> import icmodel
    >>> data = icmodel.load("ethernet-10g-2012")
    >>> data.option_values("nagle")
    ('off', 'on')
    >>> rows = data.select("tcp", {"nagle": "off"})
    >>> len(rows), rows[0].metric, rows[0].value
    (137, 'cpu_recv', 0.44)
    """

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

    def _repr_html_(self) -> str:
        """Return a table for a notebook: interconnect, protocols, rows, metrics, options, source and licence."""
        return self.html_facts(self.title)

    def html_facts(self, title: str) -> str:
        """Return the facts of the dataset (see `_repr_html_`) as an HTML table under a title."""
        link = self.interconnect
        rate = "" if link.line_rate_bps is None else units.format_bps(link.line_rate_bps, 4)
        axes = (f"{axis} ({', '.join(self.option_values(axis))})" for axis in self.option_axes)
        facts = (
            ("dataset", self.id),
            ("interconnect", f"{link.kind} {rate}".strip()),
            ("protocols", ", ".join(self.protocols)),
            ("rows", str(len(self.points))),
            ("metrics", ", ".join(self.metrics)),
            ("option axes", ", ".join(axes)),
            ("default variant", self.default_variant),
            ("default protocol", self.default_protocol),
            ("citation", self.citation),
            ("licence", self.licence),
        )
        return html_table(title, ("fact", "value"), facts, self.known_limits)

    def __hash__(self) -> int:
        return hash((self.id, self.sha256))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have at least one row, sorted."""
        return tuple(sorted(self._by_metric))

    def of_metric(self, metric: str) -> tuple[Point, ...]:
        """Return the rows (points) of one metric."""
        return self._by_metric.get(metric, ())

    @cached_property
    def _by_metric(self) -> Mapping[str, tuple[Point, ...]]:
        groups = group_by_key((point.metric, point) for point in self.points)
        return {metric: tuple(points) for metric, points in groups.items()}

    @property
    def citation(self) -> str:
        """Citation of the source of the dataset's numbers."""
        return str(self.document.get("citation", ""))

    @property
    def licence(self) -> str:
        """Licence of the source of the dataset's numbers."""
        return str(self.document.get("licence", ""))

    @property
    def whose(self) -> str:
        """Note for users: the numbers contain the work of the measuring program, not that of the user's application."""
        tool = self.document.get("tool")
        name = str(tool.get("name", "")) if isinstance(tool, dict) else ""
        return (
            f"these are numbers of {name or 'the measuring program'}: the work of your application on each "
            "frame is not included"
        )

    @property
    def known_limits(self) -> tuple[str, ...]:
        """Known limits of the dataset, as sentences."""
        limits = self.document.get("known_limits", [])
        return tuple(str(limit) for limit in limits) if isinstance(limits, list) else ()

    @cached_property
    def between_sessions(self) -> Mapping[str, float]:
        """Standard deviation between measurement sessions by metric: absolute for ratios, relative for other metrics.

        The mapping is empty if all points were measured in one session, or the sessions are unknown.

        Raises
        ------
        DatasetError
            If a value is not a finite number of at least 0.
        """
        table = self.document.get("between_sessions")
        spread = table.get("spread") if isinstance(table, dict) else None
        known = spread if isinstance(spread, dict) else {}
        path = self.folder / "dataset.toml"
        return FrozenMapping({str(name): _quantity(known, name, path, 0.0) for name in known})

    @cached_property
    def coverage(self) -> Mapping[str, Kinds]:
        """Coverage of the model's intervals from coverage.json, by variant and kind of fold; empty without the file.

        The coverage is the share of left-out rows inside their predicted intervals.  A kind of fold is a rule that
        chooses the rows left out of the fit, such as one point at a time.

        Raises
        ------
        DatasetError
            If coverage.json is damaged.
        """
        return read_coverage(self.folder, self.sha256)

    @cached_property
    def held(self) -> Mapping[str, Mapping[str, Held]]:
        """Lowest coverage (share of left-out rows inside their intervals) by model variant and metric.

        `coverage` has one number for each kind of fold (rule for leaving rows out); the least of them is taken.
        """
        return {variant: least_held(kinds) for variant, kinds in self.coverage.items()}

    @cached_property
    def held_out_runs(self) -> Mapping[str, tuple[Point, ...]]:
        """Rows of the held-out runs, by name of the run; empty if no run is held out.

        Held-out runs are in no fit, but test the model.  They are read and verified on first use, since only a
        validation needs them.

        Raises
        ------
        DatasetError
            If held-out.csv is missing or damaged; the message names file, row and reason.
        """
        table = self.document.get("held_out")
        if not isinstance(table, dict):
            return FrozenMapping({})
        path = self.folder / HELD_OUT_FILE
        body = _read_bytes(path)
        if table.get("sha256") != hashlib.sha256(body).hexdigest():
            raise DatasetError(
                f"{path} does not match the sha256 under [held_out] in dataset.toml: the file was "
                "changed or cut; restore it, or make the folder again with `icmodel fold`"
            )
        runs = read_held_out(path, body, self.option_axes)
        if table.get("runs") != len(runs):
            raise DatasetError(
                f"{path} has {len(runs)} runs, but dataset.toml has runs = {table.get('runs')!r}: "
                "correct it under [held_out]"
            )
        return FrozenMapping(runs)

    @property
    def reference(self) -> str:
        """Name of the dataset in command lines: the id of a bundled dataset, otherwise the name of the folder."""
        return self.id if self.folder == shipped("data") / self.id else self.folder.name

    @property
    def held_out(self) -> tuple[Point, ...]:
        """Points of all held-out runs, sorted by run; each point is from one run (``n`` = 1)."""
        return tuple(point for points in self.held_out_runs.values() for point in points)

    def option_values(self, axis: str) -> tuple[str, ...]:
        """Return the values of an option axis in the rows, sorted."""
        where = self.option_axes.index(axis)
        return tuple(sorted({p.options[where] for p in self.points if p.options[where]}))

    def select(self, protocol: str, options: Mapping[str, str]) -> tuple[Point, ...]:
        """Return the rows of one protocol with the given options; option axes that are not given take their default.

        A row matches if its cell on each option axis has the given value.  If this value is the default of the axis,
        rows with an empty cell match too.

        Raises
        ------
        DatasetError
            If the dataset has no axis or value with a given name.
        """
        for axis, value in options.items():
            if axis not in self.option_axes:
                known = ", ".join(self.option_axes) or "none"
                raise DatasetError(
                    f"{self.id} has no axis {axis!r}: its option axes are {known}; leave {axis} out "
                    "or use another dataset"
                )
            values = self.option_values(axis)
            if value not in values and value != self.option_defaults[axis]:
                raise DatasetError(
                    f"{self.id} has no rows at {axis} = {value!r}: it has {', '.join(values)}"
                )
        changed = self.changed_options(options)
        matching = [
            {changed[axis]} if axis in changed else {"", self.option_defaults[axis]}
            for axis in self.option_axes
        ]
        allowed = set(product(*matching))
        return tuple(p for p in self.points if p.protocol == protocol and p.options in allowed)

    def options_of(self, point: Point) -> dict[str, str]:
        """Return the options that a row states, by option axis."""
        options = zip(self.option_axes, point.options, strict=True)
        return {axis: value for axis, value in options if value}

    def changed_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """Return the given options without those that have their default value.

        Options on an axis that the dataset does not have are kept.
        """
        return {
            axis: value
            for axis, value in options.items()
            if axis not in self.option_axes or value != self.option_defaults[axis]
        }

    def link(self, options: Mapping[str, str]) -> Interconnect:
        """Return the link on which the rows with the given options were measured.

        ``options`` maps option axes to values; an axis without a value has its default. If ``fabrics`` has a link for
        one of these values, the result is this link. Otherwise it is ``interconnect``, the usual link of the dataset.
        """
        for axis in self.option_axes:
            value = options.get(axis, self.option_defaults[axis])
            if (axis, value) in self.fabrics:
                return self.fabrics[axis, value]
        return self.interconnect


def check_variant(name: str) -> None:
    """Raise ScenarioError if no variant of the model has this name."""
    if name not in VARIANTS:
        raise ScenarioError(f"there is no variant {name!r}: use one of {', '.join(VARIANTS)}")


# --- finding ----------------------------------------------------------------------------------


def shipped(kind: str) -> Path:
    """Return the folder of the bundled ``data`` or ``usecases``: inside the package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside, beside = package / kind, package.parent / kind
    return inside if inside.is_dir() else beside


def catalogue() -> tuple[str, ...]:
    """Return the names of the bundled datasets, sorted."""
    folder = shipped("data")
    return tuple(sorted(path.parent.name for path in folder.glob("*/dataset.toml")))


def find(name: str | Path) -> Path:
    """Return the folder of a dataset.

    ``name`` is a bundled name, the path of the folder, or the path of its dataset.toml.

    Raises
    ------
    DatasetError
        If no dataset has this name or path, or the dataset cannot be read.
    """
    path, bundled = Path(name), shipped("data") / name
    try:
        if is_file(path / "dataset.toml"):
            return path
        if path.name == "dataset.toml" and is_file(path):
            return path.parent
        if path.name == str(name) and is_file(bundled / "dataset.toml"):
            return bundled
        incomplete = is_folder(path)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error
    if incomplete:
        raise DatasetError(
            f"{path} has no dataset.toml: a dataset folder needs one beside points.csv"
        )
    raise DatasetError(f"there is no dataset {str(name)!r}: {HOW_TO_LIST}")


# --- reading ----------------------------------------------------------------------------------


def load(name: str | Path) -> Dataset:
    """Load a dataset and verify its schema, checksum, ranges and order.

    Parameters
    ----------
    name : str or Path
        Name of a bundled dataset, or the path of a folder.

    Raises
    ------
    DatasetError
        If the dataset is missing or damaged; the message names file, row and reason.

    Examples
    --------
    >>> import icmodel
    >>> data = icmodel.load("ethernet-10g-2012")
    >>> data
    Dataset('ethernet-10g-2012', 2004 rows of ethernet, tcp, udp: 10 Gb/s Ethernet between two hosts: TCP, UDP and direct frames)
    >>> data.interconnect.line_rate_bps
    10000000000.0
    """
    folder = find(name)
    document = read_document(folder)
    body = _read_bytes(folder / "points.csv")
    digest = hashlib.sha256(body).hexdigest()
    if document.get("sha256") != digest:
        raise DatasetError(
            f"{folder / 'points.csv'} does not match the sha256 in dataset.toml: the file was "
            "changed or cut; restore it, or, if you changed it, write its new checksum with "
            "`icmodel datasets check DIR --seal`"
        )
    return build(folder, document, body, digest)


def read_document(folder: Path) -> dict[str, object]:
    """Read dataset.toml as a dictionary.

    Raises
    ------
    DatasetError
        If the file cannot be read, is not TOML, or has another schema version.
    """
    path = folder / "dataset.toml"
    try:
        document = toml(_read_bytes(path).decode("utf-8"))
    except ValueError as error:  # not TOML, or not UTF-8
        raise DatasetError(f"{path} is not valid TOML: {error}") from error
    if document.get("schema_version") != SCHEMA_VERSION:
        raise DatasetError(
            f"{path} has schema_version {document.get('schema_version')!r}: this icmodel reads "
            f"version {SCHEMA_VERSION}, so write schema_version = {SCHEMA_VERSION} at the top"
        )
    return document


def build(folder: Path, document: Mapping[str, object], body: bytes, digest: str) -> Dataset:
    """Make a Dataset from a parsed dataset.toml, the bytes of its points.csv and their sha256.

    Raises
    ------
    DatasetError
        If a key or a row breaks the format.
    """
    path = folder / "dataset.toml"
    axes = _table(document, "axes", path)
    points, option_axes = read_points(folder / "points.csv", body)
    for axis in option_axes:
        entry = axes.get(axis)
        if not isinstance(entry, dict) or "meaning" not in entry or "default" not in entry:
            raise DatasetError(
                f"{path}: the axis {axis} of points.csv needs [axes.{axis}] with meaning and default"
            )

    protocols = tuple(sorted({point.protocol for point in points}))
    declared = document.get("protocols")
    if declared != list(protocols):
        raise DatasetError(
            f"{path} lists the protocols {declared!r}, but points.csv has {list(protocols)}: list "
            "these, in alphabetical order"
        )
    default_protocol = str(document.get("default_protocol", protocols[0]))
    if default_protocol not in protocols:
        raise DatasetError(
            f"{path}: default_protocol {default_protocol!r} has no rows in points.csv"
        )

    fabrics, tables = {}, _table(document, "fabrics", path)
    for value in tables:
        fabric = _table(tables, value, path)
        fabrics[_text(fabric, "axis", path), value] = _interconnect(fabric, path)
    variants = _table(document, "variants", path)
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
        option_defaults=FrozenMapping(
            {axis: str(_table(axes, axis, path).get("default", "")) for axis in option_axes}
        ),
        stated_limits=tuple(
            StatedLimit(
                metric=_text(item, "metric", path),
                protocol=str(item["protocol"]) if item.get("protocol") is not None else None,
                minimum=_quantity(item, "min", path, 0.0),
                maximum=_quantity(item, "max", path, math.inf),
                source=_text(item, "source", path),
            )
            for item in _tables(document, "stated_limits", path)
        ),
        absences=tuple(
            {key: str(value) for key, value in item.items()}
            for item in _tables(document, "absences", path)
        ),
        variants=FrozenMapping({name: _table(variants, name, path) for name in variants}),
        fabrics=FrozenMapping(fabrics),
        document=FrozenMapping(dict(document)),
        points=points,
    )


# --- values of dataset.toml -------------------------------------------------------------------


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


def _quantity(table: Mapping[str, object], key: str, path: Path, default: float) -> float:
    if key not in table:
        return default
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DatasetError(f"{path}: {key} must be a number in SI, found {value!r}")
    if not 0 <= value <= sys.float_info.max:
        raise DatasetError(f"{path}: {key} must be finite and 0 or more, found {value!r}")
    return float(value)


def _interconnect(table: Mapping[str, object], path: Path) -> Interconnect:
    def known(key: str) -> float | None:
        return _quantity(table, key, path, 0.0) if key in table else None

    mtu, rate_bps = known("mtu_bytes"), known("line_rate_bps")
    if rate_bps is not None and not 1 <= rate_bps <= 1e18:
        raise DatasetError(f"{path}: line_rate_bps must be 1 to 1e18 b/s, found {rate_bps!r}")
    return Interconnect(
        kind=_text(table, "kind", path),
        line_rate_bps=rate_bps,
        mtu_bytes=None if mtu is None else int(mtu),
        switch_latency_s=known("switch_latency_s"),
        propagation_s_per_m=known("propagation_s_per_m"),
        cable_length_m=known("cable_length_m"),
        ip_version=int(_quantity(table, "ip_version", path, 4.0)),
        tcp_timestamps=table.get("tcp_timestamps", True) is True,
        burst_bytes=_quantity(table, "burst_bytes", path, 0.0),
    )


FILE = "coverage.json"
COVERAGE_VERSION = 1
LEAST_ROWS = 30
"""The coverage of a metric is stored only if at least this many of its rows were left out."""
PROMISED = (0.85, 0.95)
"""Acceptable range of the coverage of 90 % intervals.  If the coverage is below the range, predictions get a note."""

Kinds = Mapping[str, Mapping[str, Any]]
"""Coverage of one variant of the model, by kind of fold.  Each entry has the number of folds, and scores by metric.

A fold is a split of the rows into training rows and left-out rows.
"""


class Held(NamedTuple):
    """Coverage of a metric: share of the left-out rows inside their predicted intervals, and number of these rows."""

    share: float
    rows: int


def read_coverage(folder: Path, sha256: str) -> Mapping[str, Kinds]:
    """Read coverage.json in a dataset's folder: coverage of the model's intervals, by variant and kind of fold.

    The result is empty if the file is missing, or was made for a points.csv with another hash than ``sha256``.

    Raises
    ------
    DatasetError
        If the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        document: Any = json_value(path.read_bytes())
        same = (document["schema_version"], document["sha256"]) == (COVERAGE_VERSION, sha256)
        found: dict[str, Kinds] = document["variants"] if same else {}
        for kinds in found.values():
            least_held(kinds)
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DatasetError(
            f"{path} is damaged ({error}): remove it, or write it again with `icmodel validate --keep`"
        ) from error


def coverage_text(sha256: str, variants: Mapping[str, Kinds]) -> str:
    """Return the text of the file coverage.json; ``sha256`` is the hash of the points.csv for which it holds."""
    document = {"schema_version": COVERAGE_VERSION, "sha256": sha256, "variants": variants}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def least_held(kinds: Kinds) -> dict[str, Held]:
    """Return the lowest coverage of each metric over all kinds of folds (rules for leaving rows out of the fit).

    The coverage is the share of left-out rows inside their predicted intervals.
    """
    least: dict[str, Held] = {}
    for trial in kinds.values():
        for metric, score in trial["metrics"].items():
            held = Held(float(score["coverage"]), int(score["intervals"]))
            least[metric] = min(least.get(metric, held), held)
    return least
