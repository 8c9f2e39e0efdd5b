"""Recommend designs of a system: score all designs, and predict the best designs in full."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from icmodel.arrays import Ints
from icmodel.dataset import Dataset
from icmodel.errors import NetworkError
from icmodel.estimate import weakest
from icmodel.keywords import checks_keywords
from icmodel.model import Model
from icmodel.recommend.choices import Models
from icmodel.recommend.designs import MOST_DESIGNS, SearchSpace, search_space
from icmodel.recommend.physics import too_late_everywhere
from icmodel.recommend.result import Checked, Nearest, OpenRequirement, Recommendation, Searched
from icmodel.recommend.scores import (
    MET_ALONE,
    NOT_MET_ALONE,
    OBJECTIVES,
    UNDECIDED_ALONE,
    pareto_front,
    rounded,
    spread,
)
from icmodel.requirement import MET, OUTCOMES, UNDECIDED
from icmodel.scenario import Scenario
from icmodel.system import OpenSystem, SystemPrediction, load_open, predict, system_file
from icmodel.system.network import MESSAGE
from icmodel.system.prediction.answers import DatasetChoice
from icmodel.system.prediction.result import by_requirement
from icmodel.usecase.result import needed_measurement
from icmodel.workers import Work, pool

MOST_FRONT, MOST_MENDS, MOST_UNDECIDED = 12, 3, 6
"""Greatest number of predicted designs of each kind: on the Pareto front, with the fewest changes, and undecided."""
MOST_BESIDE = 3
"""Greatest number of undecided designs to predict if another design meets all requirements.

Undecided designs with an overloaded resource are then left out.
"""
TRIES = 12
"""Greatest number of further designs to predict per kind, in place of designs whose prediction refutes their score."""

SEARCH = Work("search", "design")

Watch = Callable[[int, int], None]
"""Type of a progress function: called with the number of predicted designs, and the greatest number to predict."""


@checks_keywords
def recommend(
    name: str | Path | OpenSystem,
    dataset: Model | Dataset | str | Path | None = None,
    variant: str | None = None,
    *,
    cache: bool = True,
    most: int = MOST_DESIGNS,
    watch: Watch | None = None,
    workers: int | None = None,
    client: Any = None,
) -> Recommendation:
    """Search the choices of a system for the designs that meet every requirement.

    First, each stream is predicted alone with every combination of its options. Then every design is scored by the sum
    of its streams' loads. Only the designs with the best scores are predicted in full and returned.

    Parameters
    ----------
    name : str, Path or OpenSystem
        Bundled name or path of a system file. Its table ``[choices]`` is the search space. Without this table, the
        search space has the options that were measured in the datasets of the streams.
    dataset : Model, Dataset, str or Path, optional
        Dataset for all streams; by default the datasets that the system names.
    variant : str, optional
        Variant of the model; by default, each dataset's default variant.
    cache : bool
        Keep fits of the variant ``hybrid`` in the user's cache folder.
    most : int
        Greatest number of scored designs. If there are more, the designs closest to the file's own are scored.
    watch : callable, optional
        Called with the number of designs predicted in full so far, and the greatest number to predict.
    workers : int, optional
        Number of worker processes that predict designs in full; by default, this process predicts them.
    client : distributed.Client, optional
        Client of a Dask cluster whose workers predict the designs, in place of ``workers``.

    Returns
    -------
    Recommendation
        ``front`` has the Pareto-optimal designs that meet every requirement. ``verdict`` is met if there is such a
        design.

    Raises
    ------
    NetworkError, DatasetError, ScenarioError
        If the system contradicts itself, or a dataset is missing or damaged.
    ClusterError
        If a worker ends, or has another version of icmodel or of a dataset.

    Examples
    --------
    >>> import icmodel
    >>> found = icmodel.recommend("lab-priorities")
    >>> found.searched.counts.all, found.verdict
    (512, 'undecided')
    >>> found.undecided[0].changed["urgent.payload"]
    '1448 B'
    """
    file = name if isinstance(name, OpenSystem) else load_open(name)
    models: Models
    if isinstance(dataset, Model):
        models = dataset
    elif dataset is not None:
        models = Model(dataset, variant, cache=cache)
    else:
        models = {one: Model(one, variant, cache=cache) for one in file.datasets}
    budget = 1 + MOST_FRONT + MOST_MENDS + MOST_UNDECIDED + 3 * TRIES
    with pool(SEARCH, workers, client) as team:
        check = team.job(checker, models)  # workers start while this process scores
        space = search_space(file, models, most)
        outcomes, document = space.scores.outcomes, file.document
        checks = Checks(space, check, budget, watch)
        (own,) = checks.predict([0])
        assert own is not None  # a file that contradicts itself was refused earlier

        # Predict designs that meet all requirements, the designs closest to the file, and undecided designs.
        unchecked = checks.predict_front(np.flatnonzero(outcomes == MET_ALONE), MET, MOST_FRONT)
        if own.verdict != MET:
            checks.predict_nearest()
        met = checks.having(MET)
        fits = space.scores.objectives[:, OBJECTIVES.index("fullest_ratio")] <= 1
        may_meet = np.flatnonzero((outcomes == UNDECIDED_ALONE) & (fits | (not met)))
        most_undecided = MOST_BESIDE if met else MOST_UNDECIDED
        left = checks.predict_front(may_meet, UNDECIDED, most_undecided)
        unchecked += 0 if met else left

    fewest = min((design.changes for design in met), default=0)
    mends = sorted((design for design in met if design.changes == fewest), key=_by_objectives)
    used = [models] if isinstance(models, Model) else list(models.values())
    return Recommendation(
        system=document.name,
        title=document.title,
        datasets={model.data.id: model.data.sha256 for model in used},
        variants=tuple(dict.fromkeys(model.variant for model in used)),
        searched=checks.counts(unchecked),
        own=own,
        front=_front_of(met),
        mends=tuple(mends[:MOST_MENDS]) if own.verdict != MET else (),
        undecided=_front_of(checks.having(UNDECIDED))[:MOST_UNDECIDED],
        nearest=tuple(Nearest(one.verdict, stream) for one, stream in space.alone.nearest()),
        physics=too_late_everywhere(network.system for network in space.networks),
        currency=None if document.costs is None else document.costs.currency,
        file=None if isinstance(name, OpenSystem) else system_file(name),
        asked=DatasetChoice(dataset, variant, cache).options(),
        states_devices=space.networks[0].system.states_devices,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """Question to a worker process: predict one design in full. ``opened`` is the document of the design.

    The other fields are not needed to predict, but belong in the answer: the design's differences from the system file
    (``changed``) and their number (``changes``), all its choices (``chosen``), and the values that the search estimated
    for its objectives (``scored``).
    """

    opened: OpenSystem
    changed: dict[str, str]
    chosen: dict[str, str]
    scored: list[float]
    changes: int


def checker(models: Models) -> Callable[[Question], Checked | None]:
    """Make the function that predicts a design in full; it returns ``None`` if the design is no valid system."""

    def check(asked: Question) -> Checked | None:
        try:
            prediction = predict(asked.opened.checked(), models)
        except NetworkError:
            return None
        return _checked(prediction, asked)

    return check


@dataclass(frozen=True, slots=True)
class Checks:
    """Full predictions of the designs of one search: made on demand, and kept for reuse.

    Parameters
    ----------
    check : callable
        Function that yields the full predictions of designs, in the order of the designs. Workers may be ahead of the
        reader, so some of their predictions may never be read.
    most : int
        Greatest number of designs that the search predicts in full.
    watch : callable, optional
        Called after each prediction with the number of predictions so far, and ``most``.
    known : mapping
        Predictions made so far, by index of the design; ``None`` if the design is no valid system.
    """

    space: SearchSpace
    check: Callable[[Iterable[Question]], Iterator[Checked | None]]
    most: int
    watch: Watch | None
    known: dict[int, Checked | None] = field(default_factory=dict)

    def predict(self, indices: Sequence[int]) -> Iterator[Checked | None]:
        """Predict designs in full, and yield the predictions in order; known predictions are reused."""

        def question(index: int) -> Question:
            design, scores = self.space.design(index), self.space.scores
            scored, changes = scores.objectives[index].tolist(), int(scores.changes[index])
            return Question(design.opened(), design.changed, design.chosen, scored, changes)

        new = [index for index in indices if index not in self.known]
        answers = self.check(map(question, new))
        for index in indices:
            if index not in self.known:
                self.known[index] = next(answers)
                if self.watch is not None:
                    self.watch(len(self.known), self.most)
            yield self.known[index]

    def having(self, verdict: str) -> tuple[Checked, ...]:
        """Return the predicted designs with the given verdict."""
        return tuple(
            design
            for design in self.known.values()
            if design is not None and design.verdict == verdict
        )

    def predict_front(self, left: Ints, verdict: str, most: int) -> int:
        """Predict in full the designs on the Pareto front of ``left``, an array of indices of designs.

        At most ``most`` designs of the front are predicted. Predicted designs with a worse verdict than ``verdict`` are
        dropped, and the front of the remaining designs is predicted in the same way. This repeats until no design is
        dropped, or until ``most`` + `TRIES` designs were predicted over all fronts.

        Returns
        -------
        int
            Number of designs on the last front that were not predicted in full.
        """
        objectives = rounded(self.space.scores.objectives)
        tries = most + TRIES
        while len(left):
            best = left[pareto_front(objectives[left])].tolist()
            new = [index for index in best if index not in self.known]
            chosen = spread(objectives[new], min(most, tries)) if new else ()
            list(self.predict([new[place] for place in chosen]))
            tries -= len(chosen)
            failed = []
            for index in (index for index in best if index in self.known):
                found = self.known[index]
                if found is None or OUTCOMES.index(found.verdict) > OUTCOMES.index(verdict):
                    failed.append(index)
            if not failed or tries <= 0:
                return len(new) - len(chosen)
            left = np.setdiff1d(left, failed)
        return 0

    def predict_nearest(self) -> None:
        """Predict designs in full, those with the fewest differences from the file first.

        When a design meets all requirements, only the designs with the same number of differences are still predicted.
        The search ends at the latest when `MOST_MENDS` designs meet all requirements, or after `MOST_MENDS` + `TRIES`
        predicted designs.
        """
        scores = self.space.scores
        left = np.flatnonzero(scores.outcomes == MET_ALONE)
        order = left[np.lexsort((scores.objectives[left, 0], scores.changes[left]))]
        nearest = order[: MOST_MENDS + TRIES].tolist()
        designs = self.predict(nearest)
        met = fewest = 0
        for index in nearest:
            if met == MOST_MENDS or (met and scores.changes[index] > fewest):
                return
            design = next(designs)
            if design is not None and design.verdict == MET:
                met, fewest = met + 1, design.changes

    def counts(self, unchecked: int) -> Searched:
        """Count the designs of the search by outcome.

        ``unchecked`` is the number of designs on the Pareto front that were not predicted in full.
        """
        outcomes, known = self.space.scores.outcomes, list(self.known)
        may, undecided, fail = np.bincount(outcomes, minlength=len(OUTCOMES)).tolist()
        unpredicted = may + undecided - int((outcomes[known] != NOT_MET_ALONE).sum())
        return Searched(self.space.counts, may, undecided, fail, len(known), unchecked, unpredicted)


def _checked(prediction: SystemPrediction, asked: Question) -> Checked:
    """Summarise the full prediction of a design.

    The objectives CPU and latency are taken from this prediction. The other objectives keep the values by which the
    search ranked the design (its scores).
    """
    streams, devices = prediction.streams.values(), prediction.devices.values()
    cores = math.fsum(device.cpu_cores.value for device in devices)
    means = [stream.metrics["latency_mean_s"].value for stream in streams]
    latency_s = math.nan if any(map(math.isnan, means)) else max(means, default=0.0)
    objectives = dict(zip(OBJECTIVES, asked.scored, strict=True))
    for name, value in (("cpu_cores", cores), ("latency_mean_s", latency_s)):
        objectives[name] = math.inf if math.isnan(value) else value
    bases = [one.verdict.estimate.basis for one in prediction.judged]
    bases = [basis for basis in bases if basis]
    send, recv = (
        math.fsum(
            stream.metrics[metric].value if metric in stream.metrics else math.nan
            for stream in streams
        )
        for metric in ("cpu_send_cores", "cpu_recv_cores")
    )
    return Checked(
        changed=asked.changed,
        chosen=asked.chosen,
        verdict=prediction.verdict,
        basis=weakest(bases) if bases else "",
        objectives=tuple(objectives[name] for name in OBJECTIVES),
        cpu_send_cores=send,
        cpu_recv_cores=recv,
        open=tuple(_open_requirements(prediction)),
        changes=asked.changes,
    )


def _open_requirements(prediction: SystemPrediction) -> Iterator[OpenRequirement]:
    """Yield the requirements that are undecided or not met, each with the stream or device farthest from the limit.

    Requirements farthest from their limits come first.
    """
    missed = by_requirement(one for one in prediction.judged if one.verdict.outcome != MET)
    for worst, *_ in missed.values():
        settle = ""
        if worst.verdict.outcome == UNDECIDED:
            if worst.of == MESSAGE and worst.verdict.estimate.absent:
                settle = worst.verdict.estimate.why
            else:
                streams = prediction.streams
                first = (name for name, one in streams.items() if one.stream.group == worst.stream)
                name = worst.stream if worst.stream in streams else next(first)
                stream = streams[name].stream
                scenario = Scenario(
                    stream.protocol,
                    stream.payload_bytes,
                    rate_fps=stream.rate_fps,
                    cores=stream.cores,
                    switches=len(stream.path) - 1,
                )
                settle = needed_measurement(worst.verdict.requirement.metric, scenario)
        yield OpenRequirement(worst.verdict, worst.device or worst.stream, settle)


# --- parts of the recommendation ----------------------------------------------------------------


def _front_of(designs: tuple[Checked, ...]) -> tuple[Checked, ...]:
    """Select the Pareto front of designs by their full predictions, sorted by CPU, least first."""
    if not designs:
        return ()
    ordered = sorted(designs, key=lambda design: (design.changes, _by_objectives(design)))
    best = pareto_front(rounded(np.array([design.objectives for design in ordered])))
    return tuple(sorted((ordered[index] for index in best), key=_by_objectives))


def _by_objectives(design: Checked) -> tuple[object, ...]:
    """Sort key of designs: the least CPU load comes first.

    Among equal CPU loads, the other objectives decide in turn, each with the least value first. Designs that are still
    equal are in alphabetical order of their choices.
    """
    return design.objectives, sorted(design.chosen.items())
