"""Evaluation: the result of judging a use case on a dataset, and its JSON form."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.documents import json_of
from icmodel.estimate import Estimate, Prediction, UsedRow, absent
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, UNDECIDED, Requirement, Verdict, worst_outcome
from icmodel.scenario import Scenario
from icmodel.usecase.derivation import Derivation
from icmodel.usecase.document import UseCase
from icmodel.usecase.limits import ARRIVES

WEAK = ("assumed", "extrapolated")
"""Bases on which ``--strict`` counts no requirement as met."""
RULE = re.compile(r"\brule (R[0-9]+)\b")
MOST_SOURCES = 3
FLOWS = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")
"""Metrics that follow from rows of the goodput and the loss."""


@dataclass(frozen=True, slots=True)
class RestsOn:
    """The evidence behind a verdict: its weakest basis, all bases, and the sources of the weakest.

    ``settle`` is the measurement that would replace the weakest, or why a stream is refused and what would answer
    it; empty unless it is weaker than interpolated.
    """

    basis: str
    bases: tuple[str, ...]
    sources: tuple[str, ...]
    settle: str

    @property
    def weak(self) -> bool:
        """Whether ``--strict`` rejects this basis."""
        return self.basis in WEAK

    @property
    def rule(self) -> str:
        """The rules of the dataset's README that made the weakest rows: ``R3, R19``; else empty."""
        found = dict.fromkeys(name for source in self.sources for name in RULE.findall(source))
        return ", ".join(found)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self)


NOTHING = RestsOn("", (), (), "")
"""The evidence if nothing was predicted."""


def rests_on(
    metric: str, estimate: Estimate, prediction: Prediction | None, refusal: str = ""
) -> RestsOn:
    """The evidence behind the estimate by which a requirement was judged.

    Of a stream that is refused it is theory's at most, and the refusal says what would answer.
    """
    if prediction is None:
        return RestsOn(estimate.basis, estimate.bases or (estimate.basis,), (), refusal)
    if not estimate.basis:
        return NOTHING
    rows = [row for row in prediction.rows if _behind(row, metric) and row.basis == estimate.basis]
    sources = tuple(dict.fromkeys(row.source for row in rows))[:MOST_SOURCES]
    settle = settling(metric, prediction.scenario) if estimate.basis in WEAK else ""
    return RestsOn(estimate.basis, estimate.bases or (estimate.basis,), sources, settle)


def _behind(row: UsedRow, metric: str) -> bool:
    """Whether a metric was predicted from a row: of the metric, of a latency, or of a flow."""
    if metric in FLOWS:
        return row.metric in FLOWS
    if metric.startswith("latency_"):
        return row.metric.startswith(("latency_", "rtt_"))
    return row.metric == metric.removesuffix("_cores") or row.metric == metric


def settling(metric: str, asked: Scenario) -> str:
    """The measurement that gives a metric of a stream a row of its own."""
    load = asked.requested_goodput_bps
    parts = [
        f"{metric} of {asked.protocol} at {asked.payload_bytes} B",
        "as fast as it goes" if asked.rate_fps is None else units.format_bps(load, 3),
        f"cores = {asked.cores}" if asked.cores else "",
        f"switches = {asked.switches}" if asked.switches else "",
        f"endpoints = {asked.endpoints}" if asked.endpoints > 1 else "",
    ]
    return f"measure {', '.join(part for part in parts if part)}"


def others_beyond(data: Dataset, requirement: Requirement, asked: Scenario) -> str:
    """A sentence on rows at other options whose latency exceeds a requirement's limit; else empty.

    The rows are of the same protocol, at any payload and load, and of the same metric or the maximum
    latency.  They do not bear on the scenario asked, but warn of other choices of options.
    """
    if not requirement.metric.startswith("latency_") or requirement.at_most is None:
        return ""
    metrics = {requirement.metric, "latency_max_s"}
    asked_options = data.changed_options(dict(asked.options))
    beyond = []
    for point in data.points:
        if point.metric not in metrics or point.protocol != asked.protocol:
            continue
        changed = data.changed_options(data.options_of(point))
        if changed and changed != asked_options and point.value > requirement.limit:
            beyond.append((point, changed))
    if not beyond:
        return ""
    worst, options = max(beyond, key=lambda one: one[0].value)
    where = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    value = units.format_quantity(worst.metric, worst.value, 4)
    return (
        f"with {where} the dataset has {worst.metric} of {value} ({worst.source}), beyond the limit"
    )


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
        return json_of(self)


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
        own = json_of(self)
        return {**own.pop("verdict"), **own}


@dataclass(frozen=True, slots=True)
class Wish:
    """A metric to minimise, without a limit: shown but not judged."""

    stream: str
    metric: str
    value: float

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return json_of(self)


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
        return worst_outcome([finding.outcome for finding in self.findings])

    @property
    def decisive(self) -> Finding:
        """The finding that decides: of those with the worst outcome, the one with the least margin."""
        deciding = [one for one in self.findings if one.outcome == self.outcome]
        return min(deciding, key=lambda one: (one.grows, _rank(one.verdict)))

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        own = json_of(self)
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
