"""Evaluation: the result of judging a use case on a dataset, and its JSON form."""

from __future__ import annotations

import math
from dataclasses import dataclass

from icmodel.dataset import Dataset
from icmodel.documents import by_field
from icmodel.estimate import Estimate, Prediction, absent
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Verdict, worst
from icmodel.scenario import Scenario
from icmodel.usecase.derivation import Derivation
from icmodel.usecase.document import UseCase
from icmodel.usecase.grounds import NOTHING, RestsOn
from icmodel.usecase.limits import ARRIVES

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The prediction for one stream of a candidate; without one ``why`` gives the reason.

    ``asked`` is the scenario of the document, ``scenario`` the one predicted, without delays of the path
    that the dataset does not know.
    """

    stream: str
    asked: Scenario
    scenario: Scenario
    prediction: Prediction | None
    why: str
    notes: tuple[str, ...]
    derivations: tuple[Derivation, ...]

    @property
    def refused(self) -> Estimate:
        """What is known of a metric without a prediction: the reason why there is none."""
        return absent(self.why)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return by_field(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement of one candidate: its verdict, stream and device, and remedies.

    ``streams`` is the number of streams summed (1 unless ``device`` is named).  ``least_rate_fps`` is
    the least whole rate that achieves a required goodput, if one does.  ``asked_margin`` is the margin
    of the request over the required goodput, if the verdict's margin is that of the capacity.
    ``others_beyond`` is a sentence on rows at other options that exceed the limit.
    """

    verdict: Verdict
    stream: str
    device: str
    streams: int
    remedy: str = ""
    least_rate_fps: int | None = None
    rests_on: RestsOn = NOTHING
    asked_margin: float | None = None
    others_beyond: str = ""

    @property
    def outcome(self) -> str:
        """met, not met or undecided."""
        return self.verdict.outcome

    @property
    def grows(self) -> bool:
        """Whether it is a latency that grows without limit, since less passes than is produced."""
        return math.isinf(self.verdict.estimate.low)

    @property
    def title(self) -> str:
        """The name of the requirement; of one that every stream has, with the stream."""
        name = self.verdict.requirement.name
        return f"{name}, {self.stream}" if name == ARRIVES else name

    def to_dict(self) -> dict[str, object]:
        """JSON form: the verdict's, with stream and device."""
        own = by_field(self)
        return {**own.pop("verdict"), **own}


@dataclass(frozen=True, slots=True)
class Wish:
    """A metric to minimise, without a limit: shown but not judged."""

    stream: str
    metric: str
    value: float

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return by_field(self)


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """One candidate with its findings; readings do not count in its outcome."""

    name: str
    description: str
    answers: tuple[Answer, ...]
    findings: tuple[Finding, ...]
    readings: tuple[Finding, ...]
    derivations: tuple[Derivation, ...]
    wishes: tuple[Wish, ...]
    notes: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The worst of its findings: one *not met* decides, else one *undecided*."""
        return worst([finding.outcome for finding in self.findings])

    @property
    def decisive(self) -> Finding:
        """The finding that decides: of those with the worst outcome, the one with the least margin."""
        deciding = [one for one in self.findings if one.outcome == self.outcome]
        return min(deciding, key=lambda one: (one.grows, _rank(one.verdict)))

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        own = by_field(self)
        named = {"name": own.pop("name"), "description": own.pop("description")}
        notes, wishes = own.pop("notes"), own.pop("wishes")
        return {**named, "outcome": self.outcome, **own, "minimise": wishes, "notes": notes}


def _rank(verdict: Verdict) -> float:
    """Margins in order; what cannot be met narrowly, or has no number, comes last."""
    if math.isnan(verdict.margin):
        return math.inf
    return verdict.margin if verdict.requirement.limit or verdict.outcome == NOT_MET else math.inf


@dataclass(frozen=True)
class Evaluation:
    """A use case on a dataset: the derivation, every candidate judged, and the verdict.

    ``notes`` are what else must be known, such as a system of the same name that asks for other rates.
    """

    usecase: UseCase
    model: Model
    candidate: str
    derivations: tuple[Derivation, ...]
    candidates: tuple[CandidateResult, ...]
    strict: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Evaluation({self.usecase.name!r} on {self.data.id!r}: {self.verdict})"

    @property
    def data(self) -> Dataset:
        """The dataset on which the use case was judged."""
        return self.model.data

    @property
    def variant(self) -> str:
        """The variant of the model that predicted."""
        return self.model.variant

    @property
    def chosen(self) -> CandidateResult:
        """The candidate the verdict is about."""
        return next(result for result in self.candidates if result.name == self.candidate)

    @property
    def verdict(self) -> str:
        """Outcome of the chosen candidate: met, not met or undecided."""
        return self.chosen.outcome

    @property
    def exit_code(self) -> int:
        """0 met, 1 not met, 3 undecided."""
        return {MET: 0, NOT_MET: 1, UNDECIDED: 3}[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """The JSON document of ``icmodel evaluate --json``."""
        usecase, data = self.usecase, self.data
        keys = ("name", "title", "question", "source", "citation")
        return {
            "schema_version": SCHEMA_VERSION,
            "usecase": {key: getattr(usecase, key) for key in keys},
            "dataset": {
                "id": data.id,
                "sha256": data.sha256,
                "title": data.title,
                "citation": data.citation,
                "licence": data.licence,
                "known_limits": list(data.known_limits),
            },
            "variant": self.variant,
            "candidate": self.candidate,
            "strict": self.strict,
            "verdict": self.verdict,
            "derivations": [derivation.to_dict() for derivation in self.derivations],
            "candidates": [result.to_dict() for result in self.candidates],
            "notes": list(self.notes),
            "known_limits": list(usecase.known_limits),
        }
