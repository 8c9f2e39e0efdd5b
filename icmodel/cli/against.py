"""Options ``--against`` and ``--update``: compare a result with an earlier one, for example in nightly runs.

A result is the JSON document of ``icmodel evaluate --json`` or ``icmodel system --json``. A file written with ``-o
FILE.json`` has the same keys. The comparison needs only the two documents, not the dataset or use case of the earlier
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from icmodel.cli.output import Hanging, Section, json_text, print_text, say_written, show
from icmodel.documents import group_by_key, json_of, json_value
from icmodel.errors import ReportError, ScenarioError
from icmodel.estimate import Estimate, interval, metric_name, plural, quantity
from icmodel.requirement import OUTCOMES

if TYPE_CHECKING:
    from icmodel.report.masthead import Masthead
    from icmodel.system import SystemPrediction
    from icmodel.usecase import Evaluation

Against = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Show the changes since an earlier result (a file of --json or -o FILE.json). "
        "The exit code is then 0 if all verdicts are the same, and 1 if a verdict changed.",
    ),
]
Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Show the changes, then replace the file of --against with the new result.",
    ),
]


class Earlier(NamedTuple):
    """Earlier result to compare with (option ``--against``): its file and its JSON document.

    If ``update`` is true (option ``--update``), the new result is written to the file after the comparison.
    """

    file: Path
    document: Mapping[str, Any]
    update: bool


def earlier_result(against: Path | None, *, update: bool) -> Earlier | None:
    """Read the earlier result to compare with; None without ``--against``. Commands call this before they compute.

    Raises
    ------
    ScenarioError
        If ``--update`` is given without ``--against``.
    ReportError
        If the file cannot be read.
    """
    if against is None:
        if update:
            raise ScenarioError("--update needs --against: add --against FILE, or remove --update")
        return None
    return Earlier(against, read_result(against), update)


def emit_judged(
    result: Evaluation | SystemPrediction,
    subject: str,
    show_text: Callable[[], None],
    earlier: Earlier | None,
    *,
    as_json: bool,
    output: Path | None,
    masthead: Masthead,
) -> int:
    """Write the report of an evaluation or a predicted system, and print the result. Return the exit code.

    If an earlier result is given, print the changes since then in place of the result.

    Parameters
    ----------
    subject : str
        Name of the use case or system. It begins the line that is printed after a report was written, such as
        ``imaging: not met; the report is imaging.pdf``.
    show_text : callable
        Prints the result as text. It is called if neither JSON, a report nor a comparison is requested.

    Raises
    ------
    ReportError
        If the report cannot be written, or the earlier result is damaged or answers another question.
    """
    from icmodel.report import report

    document = result.to_dict() if as_json or earlier is not None else {}
    changes = None
    if earlier is not None:
        changes = changes_since(earlier.document, document, str(earlier.file))
    if output is not None:
        report(result, output, masthead)
        if as_json or earlier is not None:
            say_written(output)
    if changes is not None:
        if as_json:
            print_text(json_text(changes.to_dict()))
        else:
            show([Section("", Hanging(tuple(changes.lines())))])
    elif as_json:
        print_text(json_text(document))
    elif output is None:
        show_text()
    else:
        print_text(f"{subject}: {result.verdict}; the report is {output}\n")
    if earlier is not None and earlier.update:
        from icmodel.documents import write

        write(earlier.file, json_text(document).encode("utf-8"))
        say_written(earlier.file)
    return result.exit_code if changes is None else changes.exit_code


SCHEMA_VERSION = 1
KINDS = ("verdict", "added", "removed", "limit", "question", "dataset", "value")
"""Kinds of change, in the order of the printed list."""
OF_VERDICTS = KINDS[:3]
"""Kinds that change a verdict: a changed outcome, an added requirement, and a removed requirement."""
EQUAL = 1e-9
"""Relative difference up to which two numbers count as equal."""
MOST_LINES = 12
"""Maximum number of printed changes, verdicts first. JSON has all changes."""
BOUND_KEY, BOUND = "latency_bound_s", "worst-case latency bound"
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two results.

    Parameters
    ----------
    kind : str
        Kind of change, one of `KINDS`, such as ``verdict`` or ``limit``.
    what : str
        Name of the requirement, metric, option or dataset.
    where : str
        Place of the difference: candidate, stream or device; empty for the whole result.
    old, new : str or float, optional
        Outcome, hash, option, or number in SI; ``None`` if unknown or missing.
    text : str
        The change as one sentence.
    """

    kind: str
    what: str
    where: str
    old: str | float | None
    new: str | float | None
    text: str

    def to_dict(self) -> dict[str, object]:
        """Convert the change to a dict for JSON."""
        return json_of(self)


@dataclass(frozen=True, slots=True)
class Changes:
    """All differences between an earlier result and the new result.

    Parameters
    ----------
    subject : str
        Name of the use case or system.
    old_verdict, verdict : str
        Verdicts of the earlier result and of the new result.
    changes : tuple of Change
        Differences, with changed verdicts first.
    """

    subject: str
    old_verdict: str
    verdict: str
    changes: tuple[Change, ...]

    @property
    def verdict_changed(self) -> bool:
        """Whether a verdict changed: an outcome differs, or a requirement was added or removed."""
        return any(change.kind in OF_VERDICTS for change in self.changes)

    @property
    def exit_code(self) -> int:
        """Exit code: 1 if a verdict changed, 0 otherwise."""
        return int(self.verdict_changed)

    def lines(self) -> tuple[str, ...]:
        """Return the changes as text: a headline, then at most `MOST_LINES` lines, verdicts first.

        Equal changes of several streams or candidates share one line.
        """
        counted = plural(len(self.changes), "change")
        was = "as before" if self.verdict == self.old_verdict else f"was {self.old_verdict}"
        same = "a verdict changed" if self.verdict_changed else "the same verdicts"
        head = f"{self.subject}: {self.verdict} ({was}); {same}, {counted}"
        alike = group_by_key(
            ((one.kind, one.what, *((one.old, one.new) if one.kind != "value" else ())), one)
            for one in self.changes
        )
        lines = [
            f"- {first.text}{f' (and {len(others)} more alike)' if others else ''}"
            for first, *others in alike.values()
        ]
        rest = len(lines) - MOST_LINES
        more = (f"- and {rest} more: --json",) if rest > 0 else ()
        return (head, *lines[:MOST_LINES], *more)

    def to_dict(self) -> dict[str, object]:
        """Convert the changes to a dict for JSON, as ``--against`` with ``--json`` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "subject": self.subject,
            "verdict_changed": self.verdict_changed,
            "verdict": {"old": self.old_verdict, "new": self.verdict},
            "changes": [change.to_dict() for change in self.changes],
        }


def changes_since(old: Mapping[str, Any], new: Mapping[str, Any], file: str = "") -> Changes:
    """Compare two results of the same use case or the same system.

    A number counts as changed if the new value is outside the earlier 90 % interval, or if only one result has the
    number.

    Parameters
    ----------
    old, new : mapping
        Documents of ``icmodel evaluate --json`` or ``icmodel system --json``, as `Evaluation.to_dict` and
        `SystemPrediction.to_dict` return them.
    file : str
        Name of the earlier document in error messages.

    Raises
    ------
    ReportError
        If the earlier document is damaged, or answers another question (another use case or system).

    Examples
    --------
    >>> import icmodel
    >>> result = icmodel.evaluate("imaging", "ethernet-10g-2012").to_dict()
    >>> earlier = {**result, "dataset": {"id": "ethernet-10g-2012", "sha256": "0" * 64}}
    >>> for line in changes_since(earlier, result).lines():
    ...     print(line)
    imaging: not met (as before); the same verdicts, 1 change
    - the dataset ethernet-10g-2012 has the hash b27cb0dbe783, was 000000000000
    """
    name, today = file or "the earlier result", _Result.from_document(new)
    advice = "run the earlier command again with --json or -o FILE.json"
    if not isinstance(old, Mapping) or old.get("schema_version") != SCHEMA_VERSION:
        version = old.get("schema_version") if isinstance(old, Mapping) else None
        raise ReportError(
            f"{name} has the schema_version {version!r}, not {SCHEMA_VERSION}: {advice}"
        )
    try:
        earlier = _Result.from_document(old)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ReportError(
            f"{name} is not a complete result of icmodel evaluate or icmodel system: {advice}"
        ) from error
    if (earlier.command, earlier.subject) != (today.command, today.subject):
        raise ReportError(
            f"{name} is a result of icmodel {earlier.command} {earlier.subject}, not of icmodel "
            f"{today.command} {today.subject}: give an earlier result of the same question"
        )
    found = sorted(_changes(earlier, today), key=lambda change: KINDS.index(change.kind))
    return Changes(today.subject, earlier.verdict, today.verdict, tuple(found))


def read_result(path: Path) -> Mapping[str, Any]:
    """Read an earlier result from a JSON file.

    Raises
    ------
    ReportError
        If the file cannot be read, or is not a JSON object.
    """
    try:
        document = json_value(path.read_bytes())
    except OSError as reason:
        raise ReportError(
            f"{path} cannot be read: {reason.strerror}; run the earlier command again with -o {path}"
        ) from reason
    except ValueError as reason:
        raise ReportError(
            f"{path} is not valid JSON: {reason}; run the earlier command again with -o {path}"
        ) from reason
    if not isinstance(document, dict):
        raise ReportError(
            f"{path} is not a JSON object: run the earlier command again with -o {path}"
        )
    return document


# --- a result, read from its document ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Required:
    """A judged requirement: its limit, outcome and estimate."""

    metric: str
    sign: str
    limit: float
    outcome: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class _Result:
    """Parts of a result that are compared: options, hashes, requirements and predicted numbers.

    Parameters
    ----------
    options : mapping
        Options of the question, such as variant and candidate.
    hashes : mapping
        Name of a dataset -> its SHA-256.
    required : mapping
        Judged requirements. A key is the tuple (name of the requirement, judged part); see `_by_key`.
    values : mapping
        Estimates of all other predicted numbers. A key is the tuple (stream or device, metric); in a use case, it
        begins with the candidate.
    """

    command: str
    subject: str
    verdict: str
    options: Mapping[str, str]
    hashes: Mapping[str, str]
    required: Mapping[Key, _Required]
    values: Mapping[Key, Estimate]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> _Result:
        """Read the compared parts of a JSON answer of ``icmodel evaluate`` or ``icmodel system``.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the document is damaged.
        """
        verdict = document["verdict"]
        OUTCOMES.index(verdict)
        names: tuple[str, ...] = ("variants",)
        if "usecase" in document:
            command, subject, dataset = "evaluate", document["usecase"]["name"], document["dataset"]
            hashes, names = {dataset["id"]: dataset["sha256"]}, ("variant", "candidate", "strict")
            required, values = _candidate_results(document["candidates"])
        else:
            command, subject, hashes = "system", document["system"], document["datasets"]
            required = _by_key(document["requirements"])
            values = dict(_system_estimates(document))
        options = {name: _option(document[name]) for name in names}
        if "cycles" in document.get("asked", {}):
            options["cycles"] = str(document["asked"]["cycles"])
        hashes = {str(name): str(sha256) for name, sha256 in hashes.items()}
        return cls(command, str(subject), verdict, options, hashes, required, values)


def _candidate_results(candidates: Any) -> tuple[dict[Key, _Required], dict[Key, Estimate]]:
    """Return two dicts over all candidates of a use case: judged requirements, and predicted numbers without a limit.

    Every key names its candidate, such as ``candidate original``.
    """
    required: dict[Key, _Required] = {}
    values: dict[Key, Estimate] = {}
    for candidate in candidates:
        name = f"candidate {candidate['name']}"
        required |= _by_key(candidate["findings"], name)
        for reading in candidate["readings"]:
            required_name, metric = (str(reading["requirement"][key]) for key in ("name", "metric"))
            values[name, required_name, metric] = _estimate(reading["estimate"])
        for answer in candidate["answers"]:
            values |= _estimates(answer["prediction"] or {}, name, answer["stream"])
    return required, values


def _system_estimates(document: Mapping[str, Any]) -> Iterator[tuple[Key, Estimate]]:
    """Yield the predicted numbers of the streams and devices of a system."""
    for name, stream in document["streams"].items():
        yield from _estimates(stream, name).items()
        if (bound := stream[BOUND_KEY]) is not None:
            value = _number(bound["value"])
            yield (name, BOUND_KEY), Estimate(value, value, value, "derived")
    for name, device in document["devices"].items():
        yield from _estimates(device, name).items()


def _by_key(judged: Any, *candidate: str) -> dict[Key, _Required]:
    """Return judged requirements as a dict. A key is a pair of texts: name of the requirement, and judged part.

    The judged part is a stream or device, such as ``display``. In a use case, the candidate stands before it:
    ``candidate original, display``. If a pair occurs again, ``, no. 2`` is added to the second text, then ``, no. 3``
    and so on.
    """
    found: dict[Key, _Required] = {}
    for one in judged:
        name, about = str(one["requirement"]["name"]), str(one["device"] or one["stream"])
        where, number = ", ".join((*candidate, about)), 2
        key: Key = (name, where)
        while key in found:
            key, number = (name, f"{where}, no. {number}"), number + 1
        found[key] = _required(one)
    return found


def _required(judged: Mapping[str, Any]) -> _Required:
    limit, outcome = judged["requirement"], judged["outcome"]
    OUTCOMES.index(outcome)
    most = limit["at_least"] is None
    number = _number(limit["at_most"] if most else limit["at_least"])
    estimate = _estimate(judged["estimate"])
    return _Required(str(limit["metric"]), "≤" if most else "≥", number, outcome, estimate)


def _estimates(document: Mapping[str, Any], *owner: str) -> dict[Key, Estimate]:
    """Read the estimates (values with intervals) of a JSON object, without those in nested objects.

    A key of the result is the tuple ``(*owner, metric)``. ``owner`` names the stream or device that has the estimates;
    in a use case, its candidate comes first.
    """
    return {
        (*owner, metric): _estimate(value)
        for metric, value in document.items()
        if isinstance(value, Mapping) and {"value", "low", "high", "basis"} <= value.keys()
    }


def _estimate(document: Mapping[str, Any]) -> Estimate:
    """Read an estimate (value, low and high end of its interval) from JSON.

    If only some of the three numbers are known, a missing low end becomes 0, and a missing high end becomes infinite.
    """
    value, low, high = (
        math.nan if document[end] is None else _number(document[end])
        for end in ("value", "low", "high")
    )
    if value == value or low == low or high == high:
        low, high = 0.0 if low != low else low, math.inf if high != high else high
    if low > high:
        raise ValueError(f"an interval has the upper end {high!r} below the lower end {low!r}")
    return Estimate(value, low, high, "")


def _number(value: Any) -> float:
    if isinstance(value, str) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _option(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# --- the comparison ---------------------------------------------------------------------------


def _changes(old: _Result, new: _Result) -> Iterator[Change]:
    if old.verdict != new.verdict:
        text = f"{new.subject} is {new.verdict}, was {old.verdict}"
        yield Change("verdict", new.subject, "", old.verdict, new.verdict, text)
    for key in dict.fromkeys((*old.required, *new.required)):
        yield from _requirement_changes(key, old.required.get(key), new.required.get(key))
    for name in dict.fromkeys((*old.options, *new.options)):
        was, now = old.options.get(name), new.options.get(name)
        if was != now:
            text = f"the question has {name} = {now or 'none'}, was {was or 'none'}"
            yield Change("question", name, "", was, now, text)
    for name in dict.fromkeys((*old.hashes, *new.hashes)):
        was, now = old.hashes.get(name), new.hashes.get(name)
        if was == now:
            continue
        text = f"the dataset {name} is {'new' if was is None else 'no longer used'}"
        if was is not None and now is not None:
            text = f"the dataset {name} has the hash {now[:12]}, was {was[:12]}"
        yield Change("dataset", name, "", was, now, text)
    for key, value in new.values.items():
        if key in old.values:
            metric = BOUND if key[-1] == BOUND_KEY else metric_name(key[-1])
            yield from _value_changes(metric, ", ".join(key[:-1]), key[-1], old.values[key], value)


def _requirement_changes(
    key: Key, old: _Required | None, new: _Required | None
) -> Iterator[Change]:
    """Yield the changes of one requirement: its outcome, its limit, and the number that was judged.

    ``old`` or ``new`` is None if that result lacks the requirement.
    """
    name, where = key
    label = f"{name}, {where}"
    if old is None or new is None:
        kind, known = ("added", new) if old is None else ("removed", old)
        outcome = "" if known is None else known.outcome
        text = f"{label}: the requirement is {'new' if old is None else 'gone'} ({outcome})"
        was, now = (None if one is None else one.outcome for one in (old, new))
        yield Change(kind, name, where, was, now, text)
        return
    if old.outcome != new.outcome:
        text = f"{label}: {new.outcome}, was {old.outcome}"
        yield Change("verdict", name, where, old.outcome, new.outcome, text)
    if (old.sign, old.metric) != (new.sign, new.metric) or not _same(old.limit, new.limit):
        now, was = (
            f"{one.sign} {quantity(one.metric, one.limit)}"
            + (f" of {metric_name(one.metric)}" if old.metric != new.metric else "")
            for one in (new, old)
        )
        text = f"{label}: the limit is {now}, was {was}"
        yield Change("limit", name, where, old.limit, new.limit, text)
    if old.metric == new.metric:
        yield from _value_changes(name, where, new.metric, old.estimate, new.estimate)


def _value_changes(
    what: str, where: str, metric: str, old: Estimate, new: Estimate
) -> Iterator[Change]:
    """Yield a change if a number is outside its earlier 90 % interval, or if only one result has the number."""
    if old.absent and new.absent:
        left = new.low > old.high or new.high < old.low
    elif old.absent or new.absent:
        left = True
    else:
        below = new.value < old.low and not _same(new.value, old.low)
        above = new.value > old.high and not _same(new.value, old.high)
        left = below or above
    if not left:
        return
    was, now = (None if one.absent else one.value for one in (old, new))
    name = "" if what in (BOUND, metric_name(metric)) else f"{metric_name(metric)} of "
    text = f"{name}{what}, {where}: {_text(metric, new)}, was {_text(metric, old)}"
    span = interval(metric, old)
    if span and old.low < old.high:
        text += f" ({span})"
    yield Change("value", what, where, was, now, text)


def _text(metric: str, estimate: Estimate) -> str:
    return "unknown" if estimate.absent else quantity(metric, estimate.value, 4)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=EQUAL)
