"""Recommend: score all designs, predict the best ones in full, and return what was found."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset
from icmodel.model import Model
from icmodel.recommend.checks import Checks, Watch
from icmodel.recommend.designs import MOST_DESIGNS, Space, space
from icmodel.recommend.front import front, spread
from icmodel.recommend.physics import TooLate, too_late
from icmodel.recommend.result import Checked, Nearest, Recommendation, Searched
from icmodel.recommend.scores import MET_ALONE, NOT_MET_ALONE, OBJECTIVES, UNDECIDED_ALONE
from icmodel.recommend.variants import Speakers
from icmodel.requirement import MET, OUTCOMES, UNDECIDED
from icmodel.system import OpenSystem, load_open
from icmodel.system.prediction.result import Judged

SAME_RATIO = 1.02
"""Relative difference up to which two values of an objective count as equal, so that fronts have distinct designs."""
MOST_FRONT, MOST_MENDS, MOST_UNDECIDED = 12, 3, 6
"""Greatest number of designs that are returned, by kind."""
MOST_BESIDE = 3
"""Undecided designs to predict if others meet all requirements; overloaded ones are not among them."""
TRIES = 12
"""Further designs to predict for each kind, if predictions turn out worse than scores."""


def recommend(
    name: str | Path | OpenSystem,
    dataset: Model | Dataset | str | Path | None = None,
    variant: str | None = None,
    *,
    cache: bool = True,
    most: int = MOST_DESIGNS,
    watch: Watch | None = None,
) -> Recommendation:
    """Search the choices of a system for the designs that meet every requirement.

    Every design is scored: each variant of each stream is predicted alone, once, and their loads
    are added up. The best by score are then predicted in full; only these are returned.

    Parameters
    ----------
    name : str, Path or OpenSystem
        Bundled name or path of a system file. Its ``[choices]`` are the search space; without
        them it is what the datasets have for the streams.
    dataset : Model, Dataset, str or Path, optional
        The dataset of all streams; by default those that the system names.
    variant : str, optional
        Of the model; each dataset's own by default.
    cache : bool
        Whether fits of ``hybrid`` are kept in the user's cache folder.
    most : int
        Greatest number of scored designs; if there are more, those closest to the file's own are scored.
    watch : callable, optional
        Called with the number of designs predicted in full so far, and the greatest number.

    Raises
    ------
    NetworkError, DatasetError, ScenarioError
        If the system contradicts itself, or a dataset is missing or damaged.
    """
    file = name if isinstance(name, OpenSystem) else load_open(name)
    speakers = _speakers(file, dataset, variant, cache=cache)
    searched = space(file, speakers, most)
    budget = 1 + MOST_FRONT + MOST_MENDS + MOST_UNDECIDED + 3 * TRIES
    checks = Checks(searched, speakers, budget, watch)
    own = checks.of(0)
    assert own is not None  # a file that contradicts itself is refused before
    outcomes = searched.scores.outcomes
    unchecked = _check_front(checks, np.flatnonzero(outcomes == MET_ALONE), MET, MOST_FRONT)
    if own.verdict != MET:
        _check_nearest(checks)
    best = _front_of(checks.having(MET))
    fits = searched.scores.objectives[:, OBJECTIVES.index("fullest_ratio")] <= 1
    open_ones = np.flatnonzero((outcomes == UNDECIDED_ALONE) & (fits | (not best)))
    more = _check_front(checks, open_ones, UNDECIDED, MOST_BESIDE if best else MOST_UNDECIDED)
    unchecked += 0 if best else more
    models = [speakers] if isinstance(speakers, Model) else list(speakers.values())
    return Recommendation(
        system=file.document.name,
        title=file.document.title,
        datasets={one.data.id: one.data.sha256 for one in models},
        variants=tuple(dict.fromkeys(one.variant for one in models)),
        searched=_searched(checks, unchecked),
        own=own,
        front=best,
        mends=_mends(checks) if own.verdict != MET else (),
        undecided=_front_of(checks.having(UNDECIDED))[:MOST_UNDECIDED],
        nearest=_nearest(searched),
        physics=_physics(searched),
        currency=None if file.document.costs is None else file.document.costs.currency,
    )


def _speakers(
    file: OpenSystem,
    dataset: Model | Dataset | str | Path | None,
    variant: str | None,
    *,
    cache: bool,
) -> Speakers:
    """The model of all streams, or one for each dataset that the file or its choices name."""
    if isinstance(dataset, Model):
        return dataset
    if dataset is not None:
        return Model(dataset, variant, cache=cache)
    document = file.document
    names = {one.dataset for one in document.links} | {one.dataset for one in document.devices}
    if document.choices is not None:
        names |= {one for links in document.choices.links.values() for one in links.dataset}
    return {name: Model(name, variant, cache=cache) for name in sorted(filter(None, names))}


# --- checking ---------------------------------------------------------------------------------


def _check_front(checks: Checks, left: Ints, verdict: str, most: int) -> int:
    """Predict the front of some designs; if one is worse than its score, the next takes its place.

    Returns how many of the last front were not predicted.
    """
    scores = checks.space.scores
    tries = most + TRIES
    while len(left):
        best = left[front(_coarse(scores.objectives[left]))]
        new = [index for index in best.tolist() if index not in checks.known]
        chosen = spread(_coarse(scores.objectives[new]), min(most, tries)) if new else ()
        for place in chosen:
            checks.of(new[place])
        tries -= len(chosen)
        failed = [index for index in best.tolist() if _fails(checks, index, verdict)]
        if not failed or tries <= 0:
            return len(new) - len(chosen)
        left = np.setdiff1d(left, failed)
    return 0


def _fails(checks: Checks, index: int, verdict: str) -> bool:
    """Whether a design was predicted and is worse than its score."""
    if index not in checks.known:
        return False
    found = checks.known[index]
    return found is None or OUTCOMES.index(found.verdict) > OUTCOMES.index(verdict)


def _check_nearest(checks: Checks) -> None:
    """Predict the designs closest to the file, until enough of them meet all requirements."""
    scores = checks.space.scores
    left = np.flatnonzero(scores.outcomes == MET_ALONE)
    order = left[np.lexsort((scores.objectives[left, 0], scores.changes[left]))]
    met = least = 0
    for index in order[: MOST_MENDS + TRIES].tolist():
        if met == MOST_MENDS or (met and scores.changes[index] > least):
            return
        found = checks.of(index)
        if found is not None and found.verdict == MET:
            met, least = met + 1, found.changes


def _coarse(objectives: Floats) -> Floats:
    """Objectives rounded so that equal ones are within a step."""
    with np.errstate(divide="ignore"):
        return np.where(
            objectives > 0, np.round(np.log(objectives) / math.log(SAME_RATIO)), -np.inf
        )


def _front_of(some: tuple[Checked, ...]) -> tuple[Checked, ...]:
    """The Pareto front by the full predictions, sorted by CPU."""
    if not some:
        return ()
    ordered = sorted(some, key=lambda one: (one.changes, _cheapest(one)))
    best = front(_coarse(np.array([one.objectives for one in ordered])))
    return tuple(sorted((ordered[index] for index in best), key=_cheapest))


def _mends(checks: Checks) -> tuple[Checked, ...]:
    """The designs that meet all requirements with the fewest changes."""
    met = checks.having(MET)
    least = min((one.changes for one in met), default=0)
    return tuple(sorted((one for one in met if one.changes == least), key=_cheapest))[:MOST_MENDS]


def _cheapest(one: Checked) -> tuple[object, ...]:
    return one.objectives, sorted(one.chosen.items())


# --- telling ----------------------------------------------------------------------------------


def _searched(checks: Checks, unchecked: int) -> Searched:
    outcomes = checks.space.scores.outcomes
    may, undecided, fail = np.bincount(outcomes, minlength=len(OUTCOMES)).tolist()
    counts, known = checks.space.counts, list(checks.known)
    unpredicted = may + undecided - int((outcomes[known] != NOT_MET_ALONE).sum())
    return Searched(counts, may, undecided, fail, len(known), unchecked, unpredicted)


def _nearest(searched: Space) -> tuple[Nearest, ...]:
    """For each requirement the stream that comes closest to it alone."""
    best: dict[str, Judged] = {}
    for some in searched.alone.judged:
        for one in some:
            name = one.verdict.requirement.name
            if name not in best or _nearness(one) < _nearness(best[name]):
                best[name] = one
    names = searched.alone.names
    return tuple(Nearest(one.verdict, names[int(one.stream)]) for one in best.values())


def _nearness(one: Judged) -> tuple[bool, int, float]:
    """Sort key, less is closer; unknown comes last."""
    margin = one.verdict.margin
    return math.isnan(margin), OUTCOMES.index(one.verdict.outcome), -margin


def _physics(searched: Space) -> tuple[TooLate, ...]:
    """What is too late in every network, for the network in which it is least late."""
    late = [too_late(one.system) for one in searched.networks]
    names = set.intersection(*({one.requirement for one in some} for some in late))
    best: dict[str, TooLate] = {}
    for one in (one for some in late for one in some if one.requirement in names):
        if one.requirement not in best or one.least_s < best[one.requirement].least_s:
            best[one.requirement] = one
    return tuple(best[name] for name in sorted(best))
