"""Fits of a dataset's metrics, made on first use or restored from stored hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.fits import SHIPPED, Constants
from icmodel.fits.observations import FLOWS, PACKETS, Carrier, Sites, flowing, unlimited
from icmodel.fits.store import Kept

if TYPE_CHECKING:
    from icmodel.fits.fit import FittedMetric


Floats = NDArray[np.float64]
Watch = Callable[[int, int], None]
"""Progress callback: it receives the number of fitted metrics and the number of all metrics."""


class Fits:
    """Fits of a dataset's metrics; each fit is made on first use.

    ``carrier`` is a function that computes how frames travel on the wire.  ``kept`` holds the
    hyperparameters of metrics that were fitted before.  If a metric is not in ``kept``, a search finds
    its hyperparameters and adds them.  ``watch`` is called after each fit.

    >>> import icmodel
    >>> from functools import partial
    >>> from icmodel.tables.wire import frames_on_wire
    >>> data = icmodel.load("zeromq-100g-2019")
    >>> fits = Fits(data, partial(frames_on_wire, data))
    >>> fits.is_fitted("goodput_bps"), fits.is_fitted("loss_rate")
    (True, False)
    >>> fits.kept.metrics["goodput_bps"].hyperparameters.mechanism
    'costs'
    """

    def __init__(
        self,
        data: Dataset,
        carrier: Carrier,
        watch: Watch | None = None,
        kept: Kept | None = None,
        constants: Constants = SHIPPED,
    ) -> None:
        self.data = data
        self.kept = Kept("") if kept is None else kept
        self.carrier, self.constants = carrier, constants
        self.fitted_metric = lru_cache(maxsize=None)(self._fit_and_report)
        """Function from a metric's name to its fit; ``None`` if the metric has too few rows."""
        # Cached, since curves of many metrics are drawn at the same sites.
        self._flowing = lru_cache(maxsize=256)(
            lambda where: flowing(where, self.value("goodput_bps", unlimited(where)))
        )
        self._watch = watch
        self._fitted_names: set[str] = set()
        self._values: dict[tuple[object, ...], Floats] = {}

    def is_fitted(self, metric: str) -> bool:
        """Whether a metric of the dataset has enough rows for a fit."""
        if metric not in self.kept.metrics:
            self.fitted_metric(metric)
        return self.kept.metrics[metric] is not None

    def is_packet_multiple(self, metric: str) -> bool:
        """Whether a metric is fitted as a multiple of the theoretical packet rate."""
        one = self.kept.metrics[metric] if self.is_fitted(metric) else None
        return one is not None and one.is_packet_multiple

    def value(self, metric: str, where: Sites) -> Floats:
        """Predict the value of a metric at n sites (payload, load and labels), (n,); NaN if the metric has no fit."""
        key = (metric, *(getattr(where, field.name).tobytes() for field in fields(where)))
        if key not in self._values:
            fitted = self.fitted_metric(metric)
            nothing = np.full(len(where), np.nan)
            self._values[key] = nothing if fitted is None else fitted.value(where)
        return self._values[key]

    def flowing(self, metric: str, where: Sites) -> Sites:
        """Add the throughput, predicted by the fit of the goodput, to the sites at which a metric is fitted.

        A site is a combination of payload, load and labels.  If the metric is the goodput itself, the
        sites are returned unchanged.  If it is another rate (b/s or 1/s), the throughput is set to 0
        (unknown) at sites where the hosts are at their limit: the rate nearly equals the throughput
        there, and must not be predicted from itself.  Packet rates are an exception: they keep the
        throughput at all sites, since they are fitted as multiples of a theoretical rate.
        """
        if metric == "goodput_bps":
            return where
        found = self._flowing(where)
        if metric.startswith(PACKETS) or not metric.endswith(FLOWS):
            return found
        return replace(found, frames_per_s=np.where(where.at_limit, 0.0, found.frames_per_s))

    def _fit_and_report(self, metric: str) -> FittedMetric | None:
        """Fit or restore a metric, add its fit to ``kept``, and report progress."""
        # Imported here, since the import takes a tenth of the time of a prediction without fits.
        from icmodel.fits.fit import Fitter, kept_metric

        fitter = Fitter(self.data, self.carrier, self.fitted_metric, self.flowing, self.constants)
        with one_thread():
            fitted = fitter.fit_metric(metric, self.kept.metrics.get(metric))
            if metric not in self.kept.metrics:
                self.kept.metrics[metric] = None if fitted is None else kept_metric(fitted)
        if self._watch is not None and metric in self.data.metrics:
            self._fitted_names.add(metric)
            self._watch(len(self._fitted_names), len(self.data.metrics))
        return fitted


def one_thread() -> AbstractContextManager[Any]:
    """Return a context manager that limits the BLAS of numpy and SciPy to one thread.

    On a busy machine, a fit with many threads takes a hundred times as long.  One thread also gives
    equal numbers on all machines.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, so that the controller finds it)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
