"""Prediction: the model's answer to one scenario, with each metric as an attribute and as an item."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from icmodel import units
from icmodel.documents import number_or_none
from icmodel.estimate.estimate import (
    BASES,
    BOTTLENECKS,
    Estimate,
    absent,
    attributes,
    estimated,
    interval,
    limit_name,
    shortened,
)
from icmodel.frozen import Late
from icmodel.keywords import advice
from icmodel.scenario import Scenario
from icmodel.table import data_frame, html_table

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a prediction: terms of the mean latency, bounds of the goodput, and the bottleneck.

    The sum of ``latency_terms`` [s] is the mean latency.  The least of ``goodput_bounds`` [b/s] is the goodput.  Only
    the variant ``appendix-h`` may predict a goodput above the least bound.
    """

    latency_terms: Mapping[str, float]
    goodput_bounds: Mapping[str, float]
    bottleneck: str

    def __repr__(self) -> str:
        terms, bounds = len(self.latency_terms), len(self.goodput_bounds)
        return f"Explanation({terms} latency terms, {bounds} goodput bounds, {self.bottleneck})"


class UsedRow(NamedTuple):
    """One row of a dataset that a prediction used; ``line`` is its line number in points.csv."""

    line: int
    metric: str
    payload_bytes: int | None
    load_bps: float | None
    value: float
    basis: str
    source: str

    def __repr__(self) -> str:
        where = f"{self.metric} at {self.payload_bytes} B and load {self.load_bps}"
        return f"UsedRow(line {self.line}, {where}: {self.value!r}, {self.basis})"

    def to_dict(self) -> dict[str, object]:
        """Convert the row to a dict for JSON; an unlimited load is the text ``inf``."""
        unlimited = self.load_bps is not None and math.isinf(self.load_bps)
        return {**self._asdict(), "load_bps": "inf" if unlimited else self.load_bps}


class Metrics:
    """Base class of predictions: metrics are attributes and items, and the Tab key completes their names.

    The metrics of the bundled datasets are declared for type checkers. Any further metric of a dataset is an item:
    ``p["own_metric_s"]``.

    Examples
    --------
    >>> import icmodel
    >>> p = icmodel.Model("ethernet-10g-2012").predict(payload="1448 B", rate="6700/s")
    >>> p["goodput_bps"] == p.goodput_bps, "loss_rate" in p, list(p)[:2]
    (True, True, ['goodput_bps', 'sent_bps'])
    >>> p.godput_bps
    Traceback (most recent call last):
    AttributeError: there is no metric 'godput_bps': did you mean goodput_bps?
    """

    __slots__ = ()

    if TYPE_CHECKING:
        metrics: Mapping[str, Estimate]
        goodput_bps: Estimate
        sent_bps: Estimate
        shortfall_bps: Estimate
        loss_rate: Estimate
        message_latency_s: Estimate
        message_latency_paced_s: Estimate
        frames_per_s: Estimate
        packets_sent_per_s: Estimate
        packets_received_per_s: Estimate
        latency_mean_s: Estimate
        latency_std_s: Estimate
        latency_min_s: Estimate
        latency_p50_s: Estimate
        latency_p90_s: Estimate
        latency_p99_s: Estimate
        latency_p999_s: Estimate
        latency_max_s: Estimate
        rtt_mean_s: Estimate
        rtt_std_s: Estimate
        rtt_min_s: Estimate
        rtt_p50_s: Estimate
        rtt_p90_s: Estimate
        rtt_p99_s: Estimate
        rtt_p999_s: Estimate
        rtt_max_s: Estimate
        rtt_half_mean_s: Estimate
        rtt_half_std_s: Estimate
        rtt_half_min_s: Estimate
        rtt_half_p50_s: Estimate
        rtt_half_p90_s: Estimate
        rtt_half_p99_s: Estimate
        rtt_half_p999_s: Estimate
        rtt_half_max_s: Estimate
        cpu_send: Estimate
        cpu_recv: Estimate
        cpu_send_cores: Estimate
        cpu_recv_cores: Estimate
        cpu_send_process_cores: Estimate
        cpu_recv_process_cores: Estimate
        cpu_send_user: Estimate
        cpu_send_system: Estimate
        cpu_send_irq: Estimate
        cpu_send_softirq: Estimate
        cpu_send_steal: Estimate
        cpu_recv_user: Estimate
        cpu_recv_system: Estimate
        cpu_recv_irq: Estimate
        cpu_recv_softirq: Estimate
        cpu_recv_steal: Estimate

    else:  # hidden from type checkers, which would accept misspelt metrics

        def __getattr__(self, name: str) -> Estimate:
            if name.startswith("__") or name == "metrics":  # while the object is unpickled
                raise AttributeError(name)
            try:
                return self[name]
            except KeyError as error:
                # Without ``obj``, Python adds no suggestion to the message.
                raise AttributeError(error.args[0], name=name) from None

    def __getitem__(self, name: str) -> Estimate:
        """Return a metric by its name.

        Raises
        ------
        KeyError
            If there is no such metric; the message names the nearest one.
        """
        if name not in self.metrics:
            raise KeyError(f"there is no metric {name!r}: {advice(str(name), self.metrics)}")
        return self.metrics[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the metrics."""
        return iter(self.metrics)

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *self.metrics}


@dataclass(frozen=True)
class Prediction(Metrics, Late):
    """All metrics of one scenario on one dataset; each is an attribute, for example ``p.goodput_bps``.

    Parameters
    ----------
    scenario : Scenario
        The question.
    dataset, sha256, variant : str
        The dataset, the hash of its rows, and the variant of the model.
    metrics : mapping of str to Estimate
        Every metric by its name, including absent metrics.
    bottleneck : str
        Limit of the goodput, one of `BOTTLENECKS`.
    terms, bounds : mapping of str to float
        Terms of the mean latency [s]; bounds of the goodput [b/s].
    rows : tuple of UsedRow
        The dataset rows used for the numbers.
    notes : tuple of str
        Sentences on the validity of the answer.

    Examples
    --------
    >>> import icmodel
    >>> model = icmodel.Model(icmodel.load("ethernet-10g-2012"))
    >>> answer = model.predict(protocol="tcp", payload_bytes=1448, rate_fps=10_000)
    >>> answer.bottleneck, answer.goodput_bps.value
    ('request', 115840000.0)
    >>> terms = answer.explain().latency_terms
    >>> round(sum(terms.values()) / answer.latency_mean_s.value, 6)
    1.0
    """

    scenario: Scenario
    dataset: str
    sha256: str
    variant: str
    metrics: Mapping[str, Estimate]
    bottleneck: str
    terms: Mapping[str, float]
    bounds: Mapping[str, float]
    rows: tuple[UsedRow, ...]
    notes: tuple[str, ...]

    if not TYPE_CHECKING:  # hidden from type checkers, which would accept misspelt fields

        def __getattr__(self, name: str) -> object:
            base = Late if name in ("terms", "bounds", "rows", "notes") else Metrics
            return base.__getattr__(self, name)

    def __getstate__(self) -> dict[str, object]:
        """State for pickling and copying: all fields."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *(one.name for one in fields(self))}

    def __repr__(self) -> str:
        known = sum(not estimate.absent for estimate in self.metrics.values())
        question = f"{self.scenario.protocol}, {self.scenario.payload_bytes} B"
        return (
            f"Prediction({self.dataset!r}, variant={self.variant!r}, {question}: {known} metrics, "
            f"limited by {self.bottleneck})"
        )

    def explain(self) -> Explanation:
        """Return the terms of the mean latency and the bounds of the goodput."""
        return Explanation(self.terms, self.bounds, self.bottleneck)

    def _repr_html_(self) -> str:
        """Return the metrics as a table for a notebook."""
        asked = self.scenario
        rate = units.format_bps(asked.requested_goodput_bps, 4) if asked.rate_fps else "unlimited"
        title = (
            f"{self.dataset}, {self.variant}: {asked.protocol}, {asked.payload_bytes} B, {rate}; "
            f"limited by {limit_name(self.bottleneck) or 'an unknown bound'}"
        )
        return html_table(title, ESTIMATE_COLUMNS, estimate_table(self.metrics), self.notes)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the metrics as a data frame, one row per metric: unit, value and interval in SI, basis, reason.

        Raises
        ------
        IcmodelError
            If pandas is not installed.

        Examples
        --------
        >>> import icmodel
        >>> frame = icmodel.Model("ethernet-10g-2012").predict(payload="1448 B").to_dataframe()
        >>> float(frame.value["goodput_bps"]), frame.unit["goodput_bps"], frame.basis["goodput_bps"]
        (9410600000.0, 'bit/s', 'tabulated')
        """
        return data_frame(long_table(self.metrics), "metric")

    def to_xarray(self) -> xarray.Dataset:
        """Convert the prediction to an xarray.Dataset with units, like a single point of `icmodel.sweep`.

        The parameters of the question are coordinates.
        ``xarray.concat`` joins the points of several predictions.

        Examples
        --------
        >>> import icmodel
        >>> point = icmodel.Model("ethernet-10g-2012").predict(payload="1448 B").to_xarray()
        >>> point["goodput_bps"].item(), point["goodput_bps"].attrs["units"], point["protocol"].item()
        (9410600000.0, 'bit/s', 'tcp')
        """
        import numpy as np

        points = labelled([self.metrics], ())
        code = np.int8(BOTTLENECKS.index(self.bottleneck))
        points["bottleneck"] = ((), code, attributes("bottleneck"))
        asked = self.scenario.to_dict()
        asked |= dict(self.scenario.options)
        del asked["options"]
        given = {name: value for name, value in asked.items() if value is not None}
        points = points.assign_coords(given)
        for name, value in given.items():
            if not isinstance(value, str):
                points[name].attrs["units"] = units.unit_of(name)
        attrs = {"dataset": self.dataset, "sha256": self.sha256, "variant": self.variant}
        return points.assign_attrs(attrs)

    def to_dict(self) -> dict[str, object]:
        """Convert the prediction to a dict for JSON, as ``icmodel predict --json`` prints it."""
        return {
            "schema_version": 1,
            "scenario": self.scenario.to_dict(),
            "dataset": {"id": self.dataset, "sha256": self.sha256},
            "variant": self.variant,
            **{name: estimate.to_dict() for name, estimate in self.metrics.items()},
            "bottleneck": self.bottleneck,
            "terms": {name: number_or_none(value) for name, value in self.terms.items()},
            "bounds": {name: number_or_none(value) for name, value in self.bounds.items()},
            "rows": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }


# --- tables of estimates --------------------------------------------------------------------------

ESTIMATE_COLUMNS = ("metric", "#value", "#interval", "basis")
"""Names of the columns of `estimate_table`; ``#`` marks a column of numbers, which aligns right."""


def estimate_table(metrics: Mapping[str, Estimate]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table for people: name, rounded value, interval, and basis of each metric.

    An absent metric has its reason in place of the interval.
    """
    for name, one in metrics.items():
        if one.absent and not interval(name, one):
            yield name, "–", shortened(one.why, 60), ""
        else:
            yield name, estimated(name, one), interval(name, one), one.basis


def long_table(metrics: Mapping[str, Estimate]) -> Iterator[dict[str, object]]:
    """Yield one record for each metric: unit, value, low and high in SI, basis and reason."""
    for name, one in metrics.items():
        yield {
            "metric": name,
            "unit": units.unit_of(name),
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "basis": one.basis,
            "why": one.why,
        }


def labelled(answers: Sequence[Mapping[str, Estimate]], dims: tuple[str, ...]) -> xarray.Dataset:
    """Return estimates as an xarray.Dataset, with the same variables and units as a result of `icmodel.sweep`.

    Parameters
    ----------
    answers : sequence of mappings
        The metrics of each point; a missing metric becomes NaN.
    dims : tuple of str
        Name of the dimension along which the points lie, such as ``("point",)``; empty for a single point.
    """
    import numpy as np
    import xarray as xr

    variables: dict[str, tuple[object, ...]] = {}
    for name in dict.fromkeys(name for metrics in answers for name in metrics):
        found = [metrics.get(name, absent("")) for metrics in answers]
        columns = dict(
            zip(("", "_low", "_high"), zip(*(one.ends for one in found), strict=True), strict=True)
        )
        codes = [BASES.index(one.basis) if one.basis else -1 for one in found]
        for ending, column in {**columns, "_basis": np.array(codes, dtype=np.int8)}.items():
            values = np.asarray(column) if dims else np.asarray(column)[0]
            variables[name + ending] = (dims, values, attributes(name + ending))
    return xr.Dataset(variables)
