"""Text of a race: mean ranks, a table per dataset, counts of the closest, and icmodel's losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.race import Race
from icmodel.dataset.rows import ABSOLUTE
from icmodel.validate.scores import FAR, Coverage, Score

OURS = "hybrid"
ENOUGH = 0.9
"""Least share of rows that a predictor must answer to be closest, of the rows that any predictor answers.

Otherwise a predictor could win by easy rows alone.
"""
TIE = 5e-5
"""Errors that differ by at most this are printed alike and count as equal."""

HALF = 0.5
"""Least share of metrics that a rival must answer on a dataset, of those that we and any rival answer."""
UNTOLD = 0.9
"""A metric whose least median error is above this is predicted by nobody, and does not count."""

NUMBERS = ("median", "p95")


@dataclass(frozen=True, slots=True)
class Final:
    """Closest predictors in one number of one metric of one dataset, their error, and our error."""

    dataset: str
    metric: str
    number: str
    kind: str
    best: tuple[str, ...]
    least: float
    ours: float | None

    @property
    def won(self) -> bool:
        """Whether we were closest, alone or with others."""
        return OURS in self.best


def text(races: Sequence[Race], kind: str) -> str:
    """Return all tables and conclusions as text."""
    judged = finals(races)
    lines = [*_ranked(races), *_covered(races), ""] if judged else []
    lines.append(f"errors by {kind}, the same folds for all; relative, of ratios absolute")
    for one in races:
        lines += ["", *_one(one)]
    if judged:
        lines += ["", *_conclusions(judged), *_together(races)]
    return "\n".join(lines) + "\n"


def _one(one: Race) -> Iterator[str]:
    if not one.folds:
        yield f"{one.dataset}: too few, no metric has 30 measured or tabulated rows here"
        return
    yield f"{one.dataset}, {one.folds} folds"
    scores = one.scores
    for metric in next(iter(scores.values())):
        yield f"  {metric:<36}{'rows':>6}{'median':>10}{'p95':>10}{'covered':>9}  without an answer"
        for predictor, metrics in scores.items():
            yield _row(predictor, metrics[metric])


def _row(predictor: str, found: Score) -> str:
    covered = "–" if found.coverage is None else f"{100 * found.coverage.share:.0f} %"
    silent = f"{found.unanswered}: {next(iter(found.reasons))[:70]}" if found.unanswered else ""
    median, p95 = (
        _error(found.kind, n) if found.n else "–" for n in (found.errors.median, found.errors.p95)
    )
    row = f"    {predictor:<34}{found.n:>6}{median:>10}{p95:>10}"
    return f"{row}{covered:>9}  {silent}".rstrip()


def _error(kind: str, number: float) -> str:
    return f"{number:.4f}" if kind == ABSOLUTE else f"{100 * number:.2f} %"


# --- conclusions --------------------------------------------------------------------------------


def finals(races: Sequence[Race]) -> list[Final]:
    """Find the closest predictors for each dataset and metric, by median and by 95th percentile."""
    return [
        final
        for one in races
        if one.folds
        for metric in next(iter(one.scores.values()))
        for number in NUMBERS
        if (final := _final(one, metric, number)) is not None
    ]


def _final(one: Race, metric: str, number: str) -> Final | None:
    able = _able(one, metric, number)
    if not able:
        return None
    least = min(able.values())
    best = tuple(name for name, error in able.items() if error <= least + TIE)
    kind = next(iter(one.scores.values()))[metric].kind
    return Final(one.dataset, metric, number, kind, best, least, able.get(OURS))


def _able(one: Race, metric: str, number: str) -> dict[str, float]:
    """Return the error of each predictor that answered enough rows of a metric."""
    scores = {name: metrics[metric] for name, metrics in one.scores.items()}
    rows = max(found.n for found in scores.values())
    return {
        name: float(getattr(found.errors, number))
        for name, found in scores.items()
        if found.n and found.n >= ENOUGH * rows
    }


@dataclass(frozen=True, slots=True)
class Together:
    """Errors of a rival over ours, over the metrics of a dataset that both answer.

    ``ratio`` is the geometric mean of its errors over ours: above 1 we are closer. A rival answers
    at least half of the metrics that we and anyone else answer.
    """

    dataset: str
    number: str
    rival: str
    ratio: float
    metrics: int


def together(races: Sequence[Race]) -> list[Together]:
    """Compare every rival with us on every dataset; the closest rival comes first."""
    found = []
    for one in races:
        for number in NUMBERS:
            least = HALF * len(_logs(one, OURS, number))
            for name in one.scores:
                logs = _logs(one, name, number)
                if name != OURS and logs and len(logs) >= least:
                    ratio = math.exp(sum(logs) / len(logs))
                    found.append(Together(one.dataset, number, name, ratio, len(logs)))
    return sorted(found, key=lambda rival: rival.ratio)


def _logs(one: Race, rival: str, number: str) -> list[float]:
    """Return log(rival's error / our error) for each counted metric that both answer."""
    logs = []
    for metric in next(iter(one.scores.values())):
        able = _able(one, metric, number)
        told = min(_able(one, metric, "median").values(), default=math.inf) <= UNTOLD
        contested = told and any(name != OURS for name in able)
        if contested and math.isfinite(able.get(OURS, math.inf) + able.get(rival, math.inf)):
            logs.append(math.log(max(able[rival], TIE) / max(able[OURS], TIE)))
    return logs


def ahead(rivals: Sequence[Together], number: str) -> list[str]:
    """Return the datasets on which no rival is closer than we are, over all metrics together."""
    here = [rival for rival in rivals if rival.number == number]
    behind = {rival.dataset for rival in here if rival.ratio < 1 - TIE}
    return [name for name in dict.fromkeys(rival.dataset for rival in here) if name not in behind]


def mean_ranks(races: Sequence[Race], number: str) -> dict[str, float]:
    """Return the mean rank of each predictor over all metrics of all datasets, the best first.

    Errors printed alike share their ranks. A predictor that answers fewer than nine in ten of the
    rows answered by anyone is last.
    """
    ranks: dict[str, list[float]] = {}
    for one in races:
        for metric in next(iter(one.scores.values())) if one.folds else ():
            able = _able(one, metric, number)
            if len(able) < 2:  # nobody to compare with
                continue
            for name in one.scores:
                ranks.setdefault(name, []).append(_rank(able, name, len(one.scores)))
    means = {name: sum(found) / len(found) for name, found in ranks.items()}
    return dict(sorted(means.items(), key=lambda pair: pair[1]))


def _rank(able: Mapping[str, float], name: str, last: int) -> float:
    if name not in able:
        return float(last)
    closer = sum(error < able[name] - TIE for error in able.values())
    alike = sum(abs(error - able[name]) <= TIE for error in able.values())
    return closer + (alike + 1) / 2


def won_datasets(judged: Sequence[Final]) -> Mapping[str, tuple[int, int]]:
    """Count, for each number, the datasets on which we are closest in most metrics, and all."""
    names = list(dict.fromkeys(final.dataset for final in judged))
    found = {}
    for number in NUMBERS:
        won = 0
        for name in names:
            here = [f.won for f in judged if (f.dataset, f.number) == (name, number)]
            won += 2 * sum(here) > len(here)
        found[number] = (won, len(names))
    return found


def _ranked(races: Sequence[Race]) -> Iterator[str]:
    medians, tails = (mean_ranks(races, number) for number in NUMBERS)
    yield "mean rank over all metrics of all datasets (1 is closest in each)"
    yield f"  {'':<36}{'median':>10}{'p95':>10}"
    for name, rank in medians.items():
        yield f"    {name:<34}{rank:>10.2f}{tails[name]:>10.2f}"


def _covered(races: Sequence[Race]) -> Iterator[str]:
    """Yield the coverage of the intervals of each predictor that has intervals."""
    counted: dict[str, list[Coverage]] = {}
    for one in races:
        for name, metrics in one.scores.items():
            counted.setdefault(name, []).extend(s.coverage for s in metrics.values() if s.coverage)
    for name, found in counted.items():
        if n := sum(one.n for one in found):
            inside, far = (sum(getattr(one, part) for one in found) for part in ("inside", "far"))
            yield (
                f"intervals of {name} hold {100 * inside / n:.1f} % of {n} rows; "
                f"{100 * far / n:.1f} % lie beyond {FAR:g} half-widths"
            )


def _conclusions(judged: Sequence[Final]) -> Iterator[str]:
    yield f"closest, among those that answered {100 * ENOUGH:.0f} % of what anyone answered"
    yield f"  {'':<36}{'metrics, median':>18}{'metrics, p95':>18}"
    names = dict.fromkeys(name for final in judged for name in final.best)
    for name in sorted(names, key=lambda n: -sum(n in f.best for f in judged)):
        parts = [[f for f in judged if f.number == number] for number in NUMBERS]
        cells = (f"{sum(name in f.best for f in part)} of {len(part)}" for part in parts)
        yield f"    {name:<34}" + "".join(f"{cell:>18}" for cell in cells)
    if all(final.ours is None for final in judged):
        return
    for number, (won, datasets) in won_datasets(judged).items():
        yield f"{OURS} has the lowest {number} on most metrics of {won} of {datasets} datasets"
    lost = [final for final in judged if not final.won]
    if lost:
        yield f"where {OURS} is not closest:"
    for final in lost:
        ours = "too few answers" if final.ours is None else _error(final.kind, final.ours)
        yield (
            f"  {final.dataset}, {final.metric}, {final.number}: {ours} against "
            f"{_error(final.kind, final.least)} of {', '.join(final.best)}"
        )


def _together(races: Sequence[Race]) -> Iterator[str]:
    rivals = together(races)
    if not rivals:
        return
    datasets = sum(bool(one.folds) for one in races)
    yield f"all metrics of a dataset together: errors of the nearest other over those of {OURS}"
    yield (
        "(geometric mean over the metrics that both answer, half of them at least; above 1 nobody is "
        "closer)"
    )
    for number in NUMBERS:
        for name in dict.fromkeys(one.dataset for one in races):
            here = [r for r in rivals if (r.dataset, r.number) == (name, number)]
            if here:
                one = here[0]
                of = f"{one.metrics} metric{'s' * (one.metrics != 1)}"
                yield f"    {name:<28}{number:<8}{one.ratio:>6.2f}  {one.rival}, {of}"
        won = len(ahead(rivals, number))
        yield f"{OURS} has the lowest {number} over all metrics on {won} of {datasets} datasets"
