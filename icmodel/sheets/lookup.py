"""Look-up tables of a living workbook: the tables of the model variant `corrected` as rows of spreadsheet cells.

A configuration is a protocol, a core count and a switch count. In a configuration, a metric is a function of payload
and load, called a surface. It consists of polynomials: one for each combination of a payload interval and a load
interval; see `icmodel.tables.bilinear`. A row of the sheet holds one of these polynomials. Neighbouring payload
intervals with the same polynomial share a row. The rows are sorted by a key made from surface, load interval and
payload. So one binary search finds the row of a question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.errors import OutOfDomain
from icmodel.laws import Fitting, Prepared, TableRequest
from icmodel.laws.corrected_tables import BEST, LIMITED_LOSS
from icmodel.laws.flow import SHARED
from icmodel.laws.metrics import UTILISATIONS, table_metrics
from icmodel.model.cache import TableCache, table_cache
from icmodel.model.domain import (
    RELIABLE,
    RULES,
    impossible_payload,
    unmeasured_cores,
)
from icmodel.scenario import Options
from icmodel.sheets.sheet import Cell
from icmodel.tables import Configuration, Tables
from icmodel.tables.bilinear import Surfaces

VARIANT = "corrected"
SCALE = 2**27
"""Factor in a look-up key, greater than all payloads [B].

The key is the number of a surface and load interval, multiplied by this factor, plus the payload.
"""
INFINITY = 1e300
"""Number in place of infinity, which spreadsheets lack."""
SAME = 1e-13
"""Relative deviation within which two polynomials count as equal."""
TIMES = ("latency_", "rtt_")
OF_PROCESSOR = (
    *UTILISATIONS,
    *(f"{name}{ending}" for name in UTILISATIONS for ending in ("_cores", "_process_cores")),
)
UNLIMITED, REQUESTED = "unlimited", "requested"
REFUSALS = ("no cores", "no sharing", "few switches", "many switches", "no cable")
"""Names of the columns with the refusal sentences of `icmodel.model.domain.RULES`."""
PAYLOAD, CORES, SWITCHES = "<payload>", "<cores>", "<switches>"
"""Placeholders in sentences. A formula replaces each placeholder by a number."""


class Lookup(NamedTuple):
    """Look-up data of a workbook as cells: tables, limits and sentences of a dataset at given options.

    ``answered`` are the protocols that have dataset rows at these options. ``refused`` maps each other protocol to the
    reason. ``protocols`` has a row of cells for each answered protocol.

    A look-up table holds one metric. ``names`` are the names of all tables; ``metrics`` are the tables that an answer
    shows. A table has surfaces, which are functions of payload and load. ``rows`` has the coefficients of their
    polynomials. ``configurations`` has a row of cells for each table, protocol, core count and switch count, with the
    number of the surface to use.
    """

    data: Dataset
    tables: Tables
    answered: tuple[str, ...]
    refused: Mapping[str, str]
    names: tuple[str, ...]
    metrics: tuple[str, ...]
    protocols: Sequence[Mapping[str, Cell]]
    configurations: Sequence[Mapping[str, Cell]]
    rows: Sequence[tuple[Cell, ...]]

    @property
    def loads(self) -> tuple[float, ...]:
        """Finite offered loads of the look-up tables [b/s], in ascending order."""
        return tuple(self.tables.axes.loads.tolist())

    @property
    def configuration_count(self) -> int:
        """Number of configurations (protocol, core count, switch count), the same for each table."""
        return int(np.prod(self.tables.axes.shape))

    def configuration_row(self, index: int) -> str:
        """Return a spreadsheet formula that computes which row of the configurations sheet a question needs.

        The sheet has a row for each table, protocol, core count and switch count. The needed row is for the table
        ``names[index]``, and for the protocol, core count and switch count of the question.
        """
        return f"[configuration]+{index * self.configuration_count}"

    def loads_of(self, name: str) -> tuple[str, ...]:
        """Return the loads at which the formulas read the table ``name``: `UNLIMITED`, `REQUESTED`, or both.

        `REQUESTED` stands for the load that the user's question requests.
        """
        if name in self.metrics:
            return (UNLIMITED, REQUESTED)
        return (REQUESTED,) if name == LIMITED_LOSS else (UNLIMITED,)


def lookup_of(data: Dataset, options: Options) -> Lookup:
    """Make the look-up tables of a dataset at given options.

    Raises
    ------
    OutOfDomain
        If the dataset has no rows at these options.
    """
    cache = table_cache(data, VARIANT, Fitting())
    options = cache.non_default_options(options)
    refused: dict[str, str] = {}
    for protocol in data.protocols:
        try:
            cache.prepared(TableRequest(options, (protocol,)))
        except OutOfDomain as error:
            refused[protocol] = str(error)
    answered = tuple(name for name in data.protocols if name not in refused)
    if not answered:
        raise OutOfDomain(next(iter(refused.values())))
    prepared = cache.prepared(TableRequest(options, answered))
    tables = prepared.tables
    metrics = tuple(name for name in table_metrics(tables) if is_shown(name))
    shared = tuple(name for name in tables.metrics if name.startswith(SHARED))
    names = (BEST, "goodput_bps", "loss_rate", LIMITED_LOSS, *shared, *metrics)
    found = Lookup(data, tables, answered, refused, names, metrics, (), (), ())
    first_surface = np.cumsum([0, *(len(tables.metrics[name].surfaces.first) for name in names)])
    return found._replace(
        protocols=tuple(protocol_rows(cache, prepared)),
        configurations=tuple(configuration_rows(found, cache, options, first_surface.tolist())),
        rows=tuple(polynomial_rows(found, first_surface.tolist())),
    )


def is_shown(metric: str) -> bool:
    """Whether a workbook shows a metric. It shows times, CPU loads and frames per second."""
    return metric.startswith(TIMES) or metric in OF_PROCESSOR or metric == "frames_per_s"


# --- protocols and configurations -------------------------------------------------------------


def protocol_rows(cache: TableCache, prepared: Prepared) -> Iterator[dict[str, Cell]]:
    """Yield a row of cells for each protocol: its limits, and the sentences with which a question is refused."""
    tables, data, request = prepared.tables, cache.data, prepared.request
    places = SimpleNamespace(payload_bytes=PAYLOAD, cores=CORES, switches=SWITCHES)
    for k, name in enumerate(request.protocols):
        domain = cache.domain(name, request.options)
        places.protocol = name
        wire, link = tables.wires[k], tables.link
        greatest = wire.greatest_payload_bytes()
        merged = INFINITY
        if link.line_rate_bps is not None and wire.merges:
            merged = float(wire.goodput_bound_bps(np.ones(1), np.ones(1))[0])
        # Packet sizes, which differ between the protocols of Ethernet.
        cut = getattr(wire.framing, "_cut", None)
        packets = {} if cut is None else {f"packet {k}": v for k, v in cut()._asdict().items()}
        sentences = {
            what: rule.message.format(data=data.id, domain=domain, scenario=places)
            for what, rule in zip(REFUSALS, RULES, strict=True)
        }
        yield {
            "protocol": name,
            "loses frames": int(name not in RELIABLE),
            "states cores": int(domain.has_cores),
            "default cores": domain.default_cores,
            "least switches": domain.least_switches,
            "most switches": _finite(domain.most_switches),
            "cable": int(domain.distance),
            "sharing": int(domain.sharing),
            "greatest payload": _finite(greatest or np.inf),
            "unmeasured loss value": float(tables.unmeasured_loss[0, k]),
            "unmeasured loss low": float(tables.unmeasured_loss[1, k]),
            "unmeasured loss high": float(tables.unmeasured_loss[2, k]),
            "greatest merged goodput": merged,
            **packets,
            "too large": impossible_payload(places, greatest) if greatest else None,  # type: ignore[arg-type]
            "other cores": unmeasured_cores(data, domain, places),  # type: ignore[arg-type]
            **sentences,
        }


def configuration_rows(
    found: Lookup, cache: TableCache, options: Options, first_surface: Sequence[int]
) -> Iterator[dict[str, Cell]]:
    """Yield a row of cells for each combination of look-up table, protocol, core count and switch count.

    A surface holds the numbers of a table over payload and load. A row has the number of its surface (0 without one),
    the ranges of its payloads and values, and the sentences for questions that it cannot answer. Surfaces are numbered
    through all tables: ``first_surface`` holds, for each table, the number of surfaces in the tables before it.
    """
    tables, data = found.tables, found.data
    axes = tables.axes
    domains = [cache.domain(name, options) for name in found.answered]
    for name, before in zip(found.names, first_surface, strict=False):
        table, index = tables.metrics[name], tables.index[name]
        metric = {BEST: "goodput_bps", LIMITED_LOSS: "loss_rate"}.get(name, name)
        for k, place in enumerate(np.ndindex(axes.shape)):
            protocol = found.answered[place[0]]
            cores = axes.cores[place[1]] if axes.cores else None
            measured = domains[place[0]].cores
            key = Configuration(protocol, cores, place[2])
            surface = int(table.group[k])
            first, last = (float(payload) for payload in table.payloads[:, k])
            least, most = tables.limits[:, index, place[0]]
            outside = (
                f"payload {PAYLOAD} B is outside the {first:.0f} to {last:.0f} B for which {data.id} has {metric} of "
                f"{protocol}"
            )
            yield {
                "table": name,
                "protocol": protocol,
                "cores": cores,
                "switches": place[2],
                "asked cores are measured": int(not measured or cores in measured),
                "surface": surface + before if surface else 0,
                "cores of rows": float(tables.cores[index, k]),
                "switches of rows": float(tables.switches[index, k]),
                "core ratio": float(tables.core_ratio[index, k]),
                "first payload": _finite(first),
                "last payload": _finite(last),
                "least": float(least),
                "most": _finite(most),
                "outside": outside,
                "absent": _absence(found, metric, key, options, has_rows=surface > 0),
                "absent behind switches": _absence(
                    found, metric, key, options, has_rows=surface > 0, switches=SWITCHES
                ),
            }


def _absence(
    found: Lookup,
    metric: str,
    key: Configuration,
    options: Options,
    *,
    has_rows: bool,
    switches: str = "",
) -> str:
    """Return the reason why a look-up table has no value, with the wording of `icmodel.model.explanation`.

    If ``switches`` is empty, the reason does not mention switches. Otherwise ``switches`` is the placeholder
    `SWITCHES`: a formula of the sheet replaces it by the number of switches in the question.
    """
    data = found.data
    for entry in data.absences:
        if entry.get("metric") == metric and entry.get("protocol", key.protocol) == key.protocol:
            return entry.get("reason", "the dataset says it is absent")
    if has_rows:
        return f"{data.id} has no {metric} of {key.protocol} at this load"
    named = [f"{axis} = {value}" for axis, value in options.items()]
    if switches:
        named.insert(0, f"{switches} switches")
    if key.cores is not None:
        named.insert(0, f"{key.cores} cores")
    where = f" at {', '.join(named)}" if named else ""
    return f"{data.id} has no rows of {metric} for {key.protocol}{where}"


def _finite(number: float) -> float:
    return float(np.clip(number, -INFINITY, INFINITY))


# --- polynomials ------------------------------------------------------------------------------


def polynomial_rows(found: Lookup, first_surface: Sequence[int]) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the look-up table of polynomials, in the order of their keys.

    The columns of a row are:

    - key, name of the table, and the least payload [B] and load [b/s] at which the polynomial holds
    - coefficients of three polynomials: 4 for the value, 6 for low and 6 for high; the polynomials of low and high have
      two terms more, with the square of the payload
    - basis (kind of evidence) of the value as an index into `BASES`, for four cases: between benchmarked payloads and
      loads, at a benchmarked load, at a benchmarked payload, and at both
    - highest limited (not unlimited) benchmarked load [b/s]
    """
    tables = found.tables
    slots, left = tables.axes.slots, tables.left.copy()
    left[0] = 0.0
    floors = tables.floors.tolist()
    for name, before in zip(found.names, first_surface, strict=False):
        surfaces = tables.metrics[name].surfaces
        wanted = found.loads_of(name)
        first = 0 if REQUESTED in wanted else slots - 1
        last = slots if UNLIMITED in wanted else slots - 1
        repeated = _repeated(surfaces, tables)
        basis = surfaces.basis.reshape(4, *surfaces.rows.shape[1:]) * (surfaces.rows[0] >= 0)
        top = np.minimum(surfaces.top_load, INFINITY)
        for surface in range(len(surfaces.first)):
            for slot in range(first, last):
                block = ((surface + 1 + before) * slots + slot) * SCALE
                for cell in np.flatnonzero(~repeated[slot, surface]).tolist():
                    numbers = surfaces.coefficients[:, :, slot, surface, cell]
                    value, low, high = numbers.T.tolist()
                    ends = [value[0], value[1], value[3], value[4], *low, *high]
                    known = value[0] == value[0]
                    yield (
                        block + left[cell],
                        name,
                        left[cell],
                        floors[slot],
                        *(ends if known else [None] * len(ends)),
                        *basis[:, slot, surface, cell].tolist(),
                        float(top[surface, cell]),
                    )


def _repeated(surfaces: Surfaces, tables: Tables) -> Bools:
    """Return a mask of the payload intervals that need no cells of their own, as they continue the interval before.

    Such an interval has the same polynomial as the interval before, and the same basis (kind of evidence). Axes of the
    mask: load interval, surface, payload interval.
    """
    width = np.diff(tables.axes.knots, append=tables.axes.knots[-1] + 1)
    span = np.diff(tables.floors[:-1], append=2 * tables.floors[-2] + 1)
    span = np.append(span, 0.0)[:, None, None]
    before, here = surfaces.coefficients[..., :-1], surfaces.coefficients[..., 1:]
    shift = np.concatenate([[0.0], width[:-1]])
    same = np.isnan(here[0]) == np.isnan(before[0])
    for share in (0.0, 0.5, 1.0):
        at, continued = share * width, shift + share * width
        for load in (0.0, span):
            own, other = (
                _evaluated(terms, past, load) for terms, past in ((here, at), (before, continued))
            )
            near = np.abs(own - other) <= SAME * np.abs(own)
            same &= near | (np.isnan(own) & np.isnan(other))
    basis = surfaces.basis * (surfaces.rows[0] >= 0)
    off_knot = (basis[0, ..., 1:] == basis[0, ..., :-1]).all(axis=0)
    on_knot = (basis[1, ..., 1:] == basis[0, ..., :-1]).all(axis=0)
    top = (surfaces.top_load[:, 1:] == surfaces.top_load[:, :-1])[None]
    # The first cell has no left knot. So the second cell may repeat the first only if both have no answer.
    unknown = np.isnan(surfaces.coefficients[0, 0, :, :, 0])
    known_first = np.ones(same.shape[-1], dtype=bool)
    known_first[0] = False
    first = known_first | unknown[..., None]
    found = same.all(axis=0) & off_knot & on_knot & top & first
    return np.concatenate([np.zeros((*found.shape[:2], 1), dtype=bool), found], axis=2)


def _evaluated(terms: Floats, past: Floats, load: Floats | float) -> Floats:
    """Evaluate the polynomials c0 + c1·past + c2·past² + (c3 + c4·past + c5·past²)·load.

    ``past`` [B] is the payload above the start of its payload interval. ``load`` [b/s] is the load above the start of
    its load interval. ``terms`` has the shape (6, 3, load intervals, surfaces, payload intervals): c0 to c5, each for
    value, low and high.
    """
    fixed = terms[0] + past * (terms[1] + past * terms[2])
    return np.asarray(fixed + load * (terms[3] + past * (terms[4] + past * terms[5])))
