"""Evaluation: the result of judging a use case on a dataset, and its JSON form."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.documents import json_of
from icmodel.estimate import Estimate, Prediction, absent, shortened
from icmodel.model import Model
from icmodel.reading import SourceFile
from icmodel.requirement import (
    EXIT_CODES,
    NOT_MET,
    VERDICT_COLUMNS,
    Requirement,
    Verdict,
    outcome_text,
    verdict_cells,
    verdict_record,
    worst_outcome,
)
from icmodel.scenario import Scenario
from icmodel.table import Coloured, data_frame, html_table
from icmodel.usecase.derivation import ARRIVES, IN_TIME, Derivation
from icmodel.usecase.document import UseCase

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION = 1
WEAK = ("assumed", "extrapolated")
"""Weak bases (kinds of evidence). In a strict evaluation, a requirement met on a weak basis is undecided."""
RULE = re.compile(r"\brule (R[0-9]+)\b")
MOST_SOURCES = 3
FLOWS = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")
"""Metrics that are computed from the dataset's rows of goodput and loss."""


@dataclass(frozen=True)
class Evaluation:
    """A use case judged on a dataset: derived numbers, every candidate, and the verdict.

    Parameters
    ----------
    candidate : str
        Name of the candidate whose outcome is the verdict.
    derivations : tuple of Derivation
        Numbers that follow from the use case alone, in SI units.
    strict : bool
        Whether a requirement met on assumed or extrapolated rows of the dataset counts as undecided.
    notes : tuple of str
        Remarks on the whole evaluation, for example that a system of the same name uses other rates.
    file : SourceFile, optional
        File of the use case; ``None`` if the use case was given as an object.
    """

    usecase: UseCase
    model: Model
    candidate: str
    derivations: tuple[Derivation, ...]
    candidates: tuple[CandidateResult, ...]
    strict: bool = False
    notes: tuple[str, ...] = ()
    file: SourceFile | None = None

    def __repr__(self) -> str:
        return f"Evaluation({self.usecase.name!r} on {self.data.id!r}: {self.verdict})"

    def _repr_html_(self) -> str:
        """Return the verdicts on the chosen candidate's requirements as an HTML table for a notebook."""
        title = (
            f"{outcome_text(self.verdict)}: {self.usecase.title}, {self.candidate}, {self.data.id}"
        )
        others = [
            f"{one.name}: {outcome_text(one.outcome)}"
            for one in self.candidates
            if one.name != self.candidate
        ]
        cells = [verdict_cells(one.verdict, one.where) for one in self.chosen.findings]
        return html_table(Coloured(title, self.verdict), VERDICT_COLUMNS, cells, others)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the verdicts on all candidates as a data frame, one row per requirement, with numbers in SI.

        Raises
        ------
        IcmodelError
            If pandas is not installed.

        Examples
        --------
        >>> import icmodel
        >>> frame = icmodel.evaluate("imaging", "ethernet-10g-2012").to_dataframe()
        >>> frame.loc["tcp-two-sets-of-cores", "outcome"].value_counts().to_dict()
        {'met': 7}
        """
        records = (
            {
                "candidate": result.name,
                "stream": finding.stream,
                "device": finding.device,
                **verdict_record(finding.verdict),
                "remedy": finding.remedy,
            }
            for result in self.candidates
            for finding in result.findings
        )
        return data_frame(records, "candidate")

    @property
    def data(self) -> Dataset:
        """Dataset on which the use case was judged."""
        return self.model.data

    @property
    def variant(self) -> str:
        """Variant of the model that predicted the streams."""
        return self.model.variant

    @property
    def chosen(self) -> CandidateResult:
        """Result of the chosen candidate, whose outcome is the verdict on the use case."""
        return next(result for result in self.candidates if result.name == self.candidate)

    @property
    def verdict(self) -> str:
        """Verdict on the use case, the outcome of the chosen candidate: met, not met or undecided."""
        return self.chosen.outcome

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for the verdict: 0 met, 1 not met, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, object]:
        """Convert the evaluation to a dict for JSON, as ``icmodel evaluate --json`` prints it."""
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


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """Result of one candidate of a use case.

    Parameters
    ----------
    findings : tuple of Finding
        Verdict on each requirement.
    readings : tuple of Finding
        Verdicts on alternative interpretations of requirements; they do not affect the outcome.
    objectives : tuple of Objective
        Metrics to minimise, which have no limit.
    """

    name: str
    description: str
    answers: tuple[Answer, ...]
    findings: tuple[Finding, ...]
    readings: tuple[Finding, ...]
    derivations: tuple[Derivation, ...]
    objectives: tuple[Objective, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"CandidateResult({self.name!r}, {len(self.findings)} requirements: {self.outcome})"

    def _repr_html_(self) -> str:
        """Return the verdicts on the candidate's requirements as an HTML table for a notebook."""
        title = Coloured(f"{outcome_text(self.outcome)}: {self.name}", self.outcome)
        cells = [verdict_cells(one.verdict, one.where) for one in self.findings]
        return html_table(title, VERDICT_COLUMNS, cells, self.notes)

    @property
    def outcome(self) -> str:
        """Worst outcome of all requirements of the candidate: *not met*, then *undecided*, then *met*."""
        return worst_outcome([finding.outcome for finding in self.findings])

    @property
    def decisive(self) -> Finding:
        """Finding (judged requirement) with the least margin, among those with the worst outcome."""
        deciding = [finding for finding in self.findings if finding.outcome == self.outcome]
        return min(deciding, key=lambda finding: finding.order)

    def to_dict(self) -> dict[str, object]:
        """Convert the candidate result to a dict for JSON."""
        own = json_of(self)
        named = {"name": own.pop("name"), "description": own.pop("description")}
        notes, objectives = own.pop("notes"), own.pop("objectives")
        return {**named, "outcome": self.outcome, **own, "minimise": objectives, "notes": notes}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for the estimate behind a verdict.

    Parameters
    ----------
    basis : str
        Weakest basis (kind of evidence) of the estimate; empty if nothing was predicted.
    bases : tuple of str
        All bases of the estimate, the weakest included.
    sources : tuple of str
        Sources of the rows with the weakest basis.
    settle : str
        Sentence that names the measurement to make, if the weakest basis is assumed or extrapolated. If there is no
        prediction, the reason. Otherwise empty.
    """

    basis: str
    bases: tuple[str, ...]
    sources: tuple[str, ...]
    settle: str

    @property
    def weak(self) -> bool:
        """Whether the weakest basis of the estimate is ``assumed`` or ``extrapolated``."""
        return self.basis in WEAK

    @property
    def rule(self) -> str:
        """Names of the rules by which the rows with the weakest basis were derived or assumed, such as ``R3, R19``.

        The README of the dataset describes its rules. The text is empty if no row comes from a rule.
        """
        rules = (rule for source in self.sources for rule in RULE.findall(source))
        return ", ".join(dict.fromkeys(rules))

    def to_dict(self) -> dict[str, object]:
        """Convert the evidence to a dict for JSON."""
        return json_of(self)


NO_EVIDENCE = Evidence("", (), (), "")
"""Empty evidence, for a requirement on a stream without a prediction."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of judging one requirement for one candidate: verdict, stream, device and remedies.

    Parameters
    ----------
    streams : int
        Number of streams whose values are added up; 1 unless the requirement names a device.
    remedy : str
        Change of rate, payload or cores that would achieve a required goodput.
    least_rate_fps : int, optional
        Lowest integer frame rate that achieves a required goodput [1/s]; ``None`` if no rate does.
    rests_on : Evidence
        Bases (kinds of evidence) and sources of the estimate.
    asked_margin : float, optional
        Margin of the predicted goodput at the requested rate, (goodput − limit) / limit. It is set only if the margin
        in ``verdict`` is that of the capacity (greatest goodput of the network) instead; otherwise ``None``.
    others_beyond : str
        Warning that rows of the dataset with other options exceed the limit; empty without such rows.
    """

    verdict: Verdict
    stream: str
    device: str
    streams: int
    remedy: str = ""
    least_rate_fps: int | None = None
    rests_on: Evidence = NO_EVIDENCE
    asked_margin: float | None = None
    others_beyond: str = ""

    def __repr__(self) -> str:
        return f"Finding({self.where}: {self.verdict!r})"

    def _repr_html_(self) -> str:
        """Return the verdict as a table for a notebook."""
        cells = [verdict_cells(self.verdict, self.where)]
        return html_table(self.title, VERDICT_COLUMNS, cells, filter(None, [self.remedy]))

    @property
    def where(self) -> str:
        """Name of the device or stream to which the requirement applies."""
        return self.device or self.stream

    @property
    def outcome(self) -> str:
        """Outcome of the judged requirement: met, not met or undecided."""
        return self.verdict.outcome

    @property
    def grows(self) -> bool:
        """Whether the judged latency grows without limit.

        A latency grows without limit if the stream produces more data than the network carries.
        """
        return math.isinf(self.verdict.estimate.low)

    @property
    def order(self) -> tuple[bool, float]:
        """Sort key of findings with the same outcome: whether a latency grows without limit, and the margin.

        So the least margin comes first, and latencies that grow without limit come last. A missing margin counts as
        infinite. Margins are relative to the limit, so a met requirement with a limit of 0 has no margin.
        """
        verdict = self.verdict
        relative = verdict.requirement.limit or verdict.outcome == NOT_MET
        known = bool(relative) and not math.isnan(verdict.margin)
        return self.grows, verdict.margin if known else math.inf

    @property
    def title(self) -> str:
        """Name of the requirement; for an implied requirement, also the name of its stream."""
        name = self.verdict.requirement.name
        return f"{name}, {self.stream}" if name in (ARRIVES, IN_TIME) else name

    def to_dict(self) -> dict[str, object]:
        """Convert the finding to a flat dict for JSON: the keys of its verdict, then its own keys."""
        own = json_of(self)
        return {**own.pop("verdict"), **own}


@dataclass(frozen=True, slots=True)
class Answer:
    """Prediction for one stream of a candidate. If there is no prediction, ``why`` gives the reason.

    ``asked`` is the scenario of the use case. ``scenario`` is the scenario that the model predicted. Both are equal if
    the dataset has a rule for the delays of cable and switches. Otherwise ``scenario`` has the dataset's own cable, or
    a switch count that the dataset can answer.
    """

    stream: str
    asked: Scenario
    scenario: Scenario
    prediction: Prediction | None
    why: str
    notes: tuple[str, ...]
    derivations: tuple[Derivation, ...]

    def __repr__(self) -> str:
        return f"Answer({self.stream!r}: {self.prediction or shortened(self.why)})"

    @property
    def refused(self) -> Estimate:
        """Estimate without a value; it states the reason why the stream has no prediction."""
        return absent(self.why)

    def to_dict(self) -> dict[str, object]:
        """Convert the answer to a dict for JSON."""
        return json_of(self)


@dataclass(frozen=True, slots=True)
class Objective:
    """Predicted value of a metric that the use case minimises; it is shown, but not judged."""

    stream: str
    metric: str
    value: float

    def to_dict(self) -> dict[str, object]:
        """Convert the minimised metric into a dict for JSON."""
        return json_of(self)


# --- evidence of an estimate --------------------------------------------------------------------


def evidence_for(
    metric: str, estimate: Estimate, prediction: Prediction | None, refusal: str = ""
) -> Evidence:
    """Collect the evidence for the estimate by which a requirement was judged.

    Without a prediction, the estimate is a bound by theory, or has no value. ``refusal`` states why there is no
    prediction.
    """
    if prediction is None:
        return Evidence(estimate.basis, estimate.bases or (estimate.basis,), (), refusal)
    if not estimate.basis:
        return NO_EVIDENCE
    metrics = {metric, metric.removesuffix("_cores")}
    sources = dict.fromkeys(
        row.source
        for row in prediction.rows
        if row.basis == estimate.basis
        and (
            row.metric in (FLOWS if metric in FLOWS else metrics)
            or (metric.startswith("latency_") and row.metric.startswith(("latency_", "rtt_")))
        )
    )
    settle = needed_measurement(metric, prediction.scenario) if estimate.basis in WEAK else ""
    bases = estimate.bases or (estimate.basis,)
    return Evidence(estimate.basis, bases, tuple(sources)[:MOST_SOURCES], settle)


def needed_measurement(metric: str, scenario: Scenario) -> str:
    """Return a sentence that names the measurement to make for a metric in a scenario."""
    load = scenario.requested_goodput_bps
    parts = [
        f"{metric} of {scenario.protocol} at {scenario.payload_bytes} B",
        "unlimited rate" if scenario.rate_fps is None else units.format_bps(load, 3),
        f"cores = {scenario.cores}" if scenario.cores else "",
        f"switches = {scenario.switches}" if scenario.switches else "",
        f"endpoints = {scenario.endpoints}" if scenario.endpoints > 1 else "",
    ]
    return f"measure {', '.join(part for part in parts if part)}"


def others_beyond(data: Dataset, requirement: Requirement, scenario: Scenario) -> str:
    """Return a warning if latencies measured with other options exceed a required latency; otherwise an empty text.

    All rows of the scenario's protocol with other options are compared with the limit, at any payload and load. Of
    these rows, only those of the required metric and those of the maximum latency count. The warning does not change
    the verdict, which holds for the scenario's own options.
    """
    if not requirement.metric.startswith("latency_") or requirement.at_most is None:
        return ""
    metrics = {requirement.metric, "latency_max_s"}
    own_options = data.changed_options(dict(scenario.options))
    beyond = []
    for point in data.points:
        if point.metric not in metrics or point.protocol != scenario.protocol:
            continue
        changed = data.changed_options(data.options_of(point))
        if changed and changed != own_options and point.value > requirement.limit:
            beyond.append((point, changed))
    if not beyond:
        return ""
    slowest, options = max(beyond, key=lambda pair: pair[0].value)
    where = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    value = units.format_quantity(slowest.metric, slowest.value, 4)
    return f"with {where} the dataset has {slowest.metric} of {value} ({slowest.source}), beyond the limit"
