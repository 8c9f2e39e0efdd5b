"""Order the statistics of one time: minimum, quantiles, maximum, and the mean between them.

Each has curves of its own, so answers may cross where rows are few or lie at different
payloads and loads.  The median and the mean are the most certain and do not change.  The outer statistics are
moved: a 99 % quantile is at least the median, a maximum at least the mean and every
quantile, a minimum at most all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Farther = Callable[[Floats, Floats], Floats]
"""``np.fmax`` upwards, ``np.fmin`` downwards."""

LEAST, GREATEST, MEAN = "min", "max", "mean"
STATISTIC = re.compile(r"(?P<time>.+)_(?P<which>min|mean|max|p[0-9]+)_s")


def with_others(metrics: Collection[str], known: Collection[str]) -> frozenset[str]:
    """Some metrics, with those of ``known`` on which their order depends."""
    moved = {time for time, which in map(_parts, metrics) if which not in ("", MEAN, "p50")}
    return frozenset(metrics) | {name for name in known if _parts(name)[0] in moved}


def in_order(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Values (n) by metric, the statistics of each time in order; NaN stays NaN."""
    found = dict(values)
    times: dict[str, dict[str, str]] = {}
    for name in values:
        time, which = _parts(name)
        if time:
            times.setdefault(time, {})[which] = name
    for names in times.values():
        _put_in_order(found, names)
    return found


def _put_in_order(found: dict[str, Floats], names: Mapping[str, str]) -> None:
    """Order the statistics of one time, in place; ``names`` maps statistics to metrics."""
    quantiles = sorted((which for which in names if _is_quantile(which)), key=_share)
    upper = [which for which in quantiles if _share(which) >= 0.5]
    lower = [which for which in reversed(quantiles) if _share(which) < 0.5]
    inner = [names[MEAN]] if MEAN in names else []
    told: list[str] = []
    for which in (*upper, *lower):
        _push(found, names[which], told, np.fmax if which in upper else np.fmin)
        told.append(names[which])
    inner += told
    for which, farther in ((GREATEST, np.fmax), (LEAST, np.fmin)):
        if which in names:
            _push(found, names[which], inner, farther)
            inner.append(names[which])


def _push(found: dict[str, Floats], name: str, others: Sequence[str], farther: Farther) -> None:
    """Move one metric, in place, at least as far as some others; NaN stays NaN."""
    for other in others:
        told = found[name]
        moved = np.asarray(farther(told, found[other]))
        np.copyto(moved, np.nan, where=np.isnan(told))
        found[name] = moved


@lru_cache(maxsize=1024)
def _parts(name: str) -> tuple[str, str]:
    """``latency`` and ``p99`` for ``latency_p99_s``; empty strings for other metrics."""
    found = STATISTIC.fullmatch(name)
    return (found["time"], found["which"]) if found else ("", "")


def _is_quantile(which: str) -> bool:
    return which.startswith("p")


def _share(which: str) -> float:
    """The share of the frames below a quantile: 0.999 of ``p999``."""
    return float(f"0.{which[1:]}")
