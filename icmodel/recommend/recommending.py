"""Recommend: score all designs, predict the best ones in full, and return what was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from icmodel.arrays import Floats, Ints
from icmodel.dataset import Dataset
from icmodel.errors import NetworkError
from icmodel.estimate import weakest
from icmodel.model import Model
from icmodel.recommend.designs import MOST_DESIGNS, Space, space
from icmodel.recommend.physics import TooLate, too_late
from icmodel.recommend.result import Checked, Nearest, Open, Recommendation, Searched
from icmodel.recommend.scores import (
    MET_ALONE,
    NOT_MET_ALONE,
    OBJECTIVES,
    UNDECIDED_ALONE,
    front,
    spread,
)
from icmodel.recommend.variants import Speakers
from icmodel.requirement import MET, OUTCOMES, UNDECIDED
from icmodel.scenario import Scenario
from icmodel.system import OpenSystem, SystemPrediction, load_open, predict
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.result import Judged, by_requirement
from icmodel.usecase.result import needed_measurement

Watch = Callable[[int, int], None]
"""Called with the number of designs checked, and the greatest number to check."""


@dataclass(frozen=True, slots=True)
class Checks:
    """Designs predicted in full so far, by index; ``None`` for a contradictory one.

    Parameters
    ----------
    most : int
        Greatest number of designs.
    """

    space: Space
    speakers: Speakers
    most: int
    watch: Watch | None
    known: dict[int, Checked | None] = field(default_factory=dict)

    def of(self, index: int) -> Checked | None:
        """A design, predicted unless it was before; ``None`` if it contradicts itself."""
        if index not in self.known:
            self.known[index] = self._checked(index)
            if self.watch is not None:
                self.watch(len(self.known), self.most)
        return self.known[index]

    def having(self, verdict: str) -> tuple[Checked, ...]:
        """All checked designs with a verdict."""
        return tuple(
            one for one in self.known.values() if one is not None and one.verdict == verdict
        )

    def _checked(self, index: int) -> Checked | None:
        design, scores = self.space.design(index), self.space.scores
        try:
            found = predict(design.system(), self.speakers)
        except NetworkError:
            return None
        cpu = [one.cpu_cores.value for one in found.devices.values()]
        mean = [one.metrics["latency_mean_s"].value for one in found.streams.values()]
        told = dict(zip(OBJECTIVES, scores.objectives[index].tolist(), strict=True))
        told |= {"cpu_cores": _known(math.fsum(cpu)), "latency_mean_s": _known(_most(mean))}
        return Checked(
            changed=design.changed,
            chosen=design.chosen,
            verdict=found.verdict,
            basis=_weakest(found),
            objectives=tuple(told[name] for name in OBJECTIVES),
            cpu_send_cores=_cores(found, "cpu_send_cores"),
            cpu_recv_cores=_cores(found, "cpu_recv_cores"),
            open=tuple(_open(found)),
            changes=int(scores.changes[index]),
        )


def _weakest(found: SystemPrediction) -> str:
    """The weakest basis on which a requirement was judged; empty if there was none."""
    bases = [one.verdict.estimate.basis for one in found.judged if one.verdict.estimate.basis]
    return weakest(bases) if bases else ""


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _most(some: Iterable[float]) -> float:
    """The greatest; NaN if one is NaN."""
    told = list(some)
    return math.nan if any(map(math.isnan, told)) else max(told, default=0.0)


def _cores(found: SystemPrediction, metric: str) -> float:
    told = [
        one.metrics[metric].value if metric in one.metrics else math.nan
        for one in found.streams.values()
    ]
    return math.fsum(told)


def _open(found: SystemPrediction) -> Iterator[Open]:
    """For each requirement that is not met, the stream or device that meets it least, the worst first."""
    missed = by_requirement(one for one in found.judged if one.verdict.outcome != MET)
    for worst, *_ in missed.values():
        settle = _settling(found, worst) if worst.verdict.outcome == UNDECIDED else ""
        yield Open(worst.verdict, worst.device or worst.stream, settle)


def _settling(found: SystemPrediction, one: Judged) -> str:
    """The measurement that would add a row at what was judged; of messages without a time, why they have none."""
    if one.of == MESSAGE and one.verdict.estimate.absent:
        return one.verdict.estimate.why
    names = [name for name, each in found.streams.items() if each.stream.group == one.stream]
    name = one.stream if one.stream in found.streams else names[0]
    stream = found.streams[name].stream
    asked = Scenario(
        stream.protocol,
        stream.payload_bytes,
        rate_fps=stream.rate_fps,
        cores=stream.cores,
        switches=len(stream.path) - 1,
    )
    return needed_measurement(one.verdict.requirement.metric, asked)


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
