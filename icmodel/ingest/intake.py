"""Intake: read the result files of other tools into points of a dataset, or refuse files with a reason.

Each file is split into runs, and a reader returns the results of each run. Each result is labelled and checked. Then
duplicates are removed, and the numbers of all files become points with option axes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from icmodel.dataset import Interconnect, Point
from icmodel.errors import RecordError
from icmodel.ingest.consistency import (
    line_rate_remarks,
    point_of,
    problems,
    remarks,
    repeat_problems,
    stated_link,
)
from icmodel.ingest.labels import Labels, fill, labels_of, merge, refuse_unmatched
from icmodel.ingest.readers import check_tool, runs_of
from icmodel.ingest.readers.common import DUPLEX
from icmodel.ingest.result import Hosts, NotTakenError, Number, Refusal, Result, Taken
from icmodel.ingest.source import Source, read_source, require
from icmodel.ingest.table import NAME as TABLE
from icmodel.ingest.table import ColumnMap, read_table

NEEDED = {
    "protocol": 'labels=Labels(protocol="NAME")',
    "payload_bytes": "labels=Labels(payload_bytes=SIZE)",
}
"""Labels that every row needs, each with the parameter of `ingest` that sets the label."""
PARAMETERS = {**NEEDED, "load_bps": "labels=Labels(load_bps=RATE)"}
HALF_TRIP = "latency is half a round trip, not a one-way measurement"
OF_FILE, OF_RUN, OF_ALL = "the label of the file", "the label of the run", "the label of all files"


@dataclass(frozen=True, slots=True)
class Axis:
    """Option axis of an ingested dataset, with its meaning and its default value."""

    name: str
    meaning: str
    default: str

    @classmethod
    def of(cls, name: str, points: Sequence[Point], at: int) -> Axis:
        """Make the option axis ``name`` with its meaning and default; ``points`` are the rows of the dataset.

        ``at`` is the position of the axis in ``point.options``. The default is the most frequent value; of equally
        frequent values, the first in alphabetical order. If some rows of a metric have a value and others have none,
        the default is empty. Then a prediction without this option uses the rows without a value.
        """
        meaning = MEANINGS.get(name, "option given by the labels")
        cells: dict[tuple[str, str], set[bool]] = defaultdict(set)
        for point in points:
            cells[point.protocol, point.metric].add(bool(point.options[at]))
        if any(len(kinds) > 1 for kinds in cells.values()):
            return cls(name, meaning, "")
        counts = Counter(point.options[at] for point in points if point.options[at])
        default = min(counts, key=lambda value: (-counts[value], value)) if counts else ""
        return cls(name, meaning, default)


@dataclass(frozen=True, slots=True)
class Ingested:
    """Result of ingesting files: points, option axes, and the files used and refused.

    Parameters
    ----------
    points
        Rows of the dataset, unordered.
    axes
        Option axes, in the order of ``Point.options``.
    taken
        Files whose results are in the points.
    refused
        Refused files, and refused runs of other files, each with the reason.
    remarks
        A sentence on each file that is used although it differs from the other files.
    """

    points: tuple[Point, ...]
    axes: tuple[Axis, ...]
    taken: tuple[Taken, ...]
    refused: tuple[Refusal, ...] = ()
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.points)} rows, {len(self.taken)} files taken"
        return f"Ingested({counts}, {len(self.refused)} refused, {len(self.remarks)} remarks)"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on omitted results and caveats in all used files, without duplicates, and then the ``remarks``."""
        notes = (
            f"{result.origin.tool}: {note}"
            for file in self.taken
            for result in file.results
            for note in result.notes
        )
        return (*dict.fromkeys(notes), *self.remarks)

    def in_words(self, words: Callable[[str], str]) -> Ingested:
        """Copy these results, and replace the text of each note, remark and reason by ``words(text)``."""
        taken = (
            replace(
                file,
                results=tuple(
                    replace(result, notes=tuple(map(words, result.notes)))
                    for result in file.results
                ),
            )
            for file in self.taken
        )
        refused = (Refusal(one.file, words(one.reason)) for one in self.refused)
        remarks = tuple(map(words, self.remarks))
        return replace(self, taken=tuple(taken), refused=tuple(refused), remarks=remarks)


@dataclass(frozen=True, slots=True)
class UserLabels:
    """Conditions that the user states: the interconnect, labels for all files, and labels by file name."""

    labels: Labels = field(default_factory=Labels)
    by_file: Mapping[str, Labels] = field(default_factory=dict)
    link: Interconnect | None = None

    def of_run(self, run: Source) -> Labels:
        """Labels that the user gives for a run, found by the file's name and the run's number in the file."""
        own = labels_of(run.name, self.by_file)
        if not run.run:
            return own
        return merge(own, labels_of(f"{run.name}#{run.run}", self.by_file), OF_RUN)


def ingest(
    files: Iterable[str | Path],
    tool: str | None = None,
    *,
    labels: Labels | None = None,
    by_file: Mapping[str, Labels] | None = None,
    columns: ColumnMap | None = None,
    link: Interconnect | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ingested:
    r"""Read the result files of other tools into points; damaged or contradictory files are refused one by one.

    Parameters
    ----------
    files
        Paths in any order; a file that is listed twice counts once.
    tool
        Tool that wrote all files; by default the tool is recognised from the text of each file.
    labels, by_file
        Labels that the files lack: for all files, and by file name or pattern.
    columns
        Meaning of the columns. If given, the files are read as tables (CSV, XLSX).
    link
        The interconnect; results above its line rate are refused.
    progress
        Called after each file with the number of files read so far, and the total number of files.

    Raises
    ------
    RecordError
        If the tool is unknown, labels by file match no file, or every file is refused. The message gives the first
        reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "run.txt"
    ...     lines = ["message size: 64 [B]", "roundtrip count: 10000", "average latency: 21.5 [us]"]
    ...     _ = file.write_text("\n".join(lines))
    ...     ingested = ingest([file])
    >>> [(point.metric, point.value) for point in ingested.points]
    [('rtt_half_mean_s', 2.15e-05)]
    """
    if tool is not None:
        check_tool(tool)
    user = UserLabels(labels or Labels(), by_file or {}, link)
    paths = sorted(map(Path, files), key=lambda path: (path.name, path.as_posix()))
    names = _short_names(paths)
    if paths:
        refuse_unmatched(user.by_file, [path.name for path in paths])
    taken: dict[str, Taken] = {}
    refused: list[Refusal] = []
    hashes: dict[str, str] = {}
    for at, path in enumerate(paths, start=1):
        name = names[path]
        try:
            source = read_source(path)
            if source.sha256 in hashes:
                raise RecordError(
                    f"the file has the same content as {hashes[source.sha256]}: equal files count once"
                )
            hashes[source.sha256] = name
            results, reasons = _results(source, tool, columns, user)
            taken[name] = Taken(name, source.sha256, results)
            refused += [Refusal(name, reason) for reason in reasons]
        except RecordError as error:
            refused.append(Refusal(name, str(error)))
        if progress is not None:
            progress(at, len(paths))

    excluded = _excluded(taken.values())
    refused += [Refusal(name, reason) for name, reason in excluded.items()]
    kept = tuple(file for name, file in taken.items() if name not in excluded)
    if not kept:
        first = refused[0] if refused else Refusal("no file", "give at least one")
        more = f" ({len(refused)} files are refused)" if len(refused) > 1 else ""
        raise RecordError(f"{first.file}: {first.reason}{more}")
    points, axes = gather(
        [
            Sample(file.file, result, number)
            for file in kept
            for result in file.results
            for number in result.numbers
        ]
    )
    by_name = {file.file: file.results for file in kept}
    return Ingested(points, axes, kept, tuple(refused), remarks(by_name))


def _short_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return a short name of each file: the shortest end of its path that no other file shares."""
    names = {path: path.name or str(path) for path in paths}
    for parts in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        counts = Counter(names.values())
        if len(counts) == len(names):
            break
        for path in names:
            if counts[names[path]] > 1:
                names[path] = "/".join(path.parts[-parts:])
    return names


def _excluded(taken: Collection[Taken]) -> dict[str, str]:
    """Return the files to exclude, each with the reason: it contradicts another file, or reports the same run as another."""
    reasons: dict[str, str] = {}

    # Assumed labels may put several results at one point. Exclude them if they differ too much for repeats.
    points: dict[object, list[tuple[str, Result]]] = defaultdict(list)
    for file in taken:
        for result in file.results:
            if result.assumed:
                points[result.origin.tool, point_of(result)].append((file.file, result))
    for some in points.values():
        for problem in repeat_problems([result for _, result in some]):
            labels = " and ".join(assumed.label for assumed in some[0][1].assumed)
            reason = f"{labels} would be assumed for {len(some)} runs, but {problem}"
            reasons |= dict.fromkeys((name for name, _ in some), reason)

    # If both ends reported a run in separate files, keep the file with more numbers.
    fullest: dict[str, str] = {}
    for file in sorted(taken, key=lambda file: -sum(len(r.numbers) for r in file.results)):
        for run in {result.origin.run for result in file.results if result.origin.run}:
            if run in fullest:
                reasons[file.file] = (
                    f"the file reports the same run as {fullest[run]}, from the other host or "
                    "as a second copy: the run counts once"
                )
            fullest.setdefault(run, file.file)
    return reasons


# --- one file ---------------------------------------------------------------------------------


def _results(
    source: Source, tool: str | None, columns: ColumnMap | None, user: UserLabels
) -> tuple[tuple[Result, ...], list[str]]:
    """Read and label the results of one file; also return the reasons for runs that are not used.

    Raises
    ------
    RecordError
        If no run of the file is used, a run is damaged, or the results contradict each other.
    """
    if columns is not None:
        runs = [(source, partial(read_table, source, columns))]
    else:
        runs = [(run, partial(reader.read, run)) for reader, run in runs_of(source, tool)]
    text = "\n".join(run.text for run, _ in runs)
    user = replace(user, link=stated_link(text, user.link))
    labelled: list[Result] = []
    refused: list[str] = []
    misfits: list[str] = []
    for run, read in runs:
        own = user.of_run(run)
        try:
            results = read()
            misfits += filter(None, (_misfit(result, own, user.labels) for result in results))
            labelled += [
                _labelled(result, own, user)
                for result in results
                if not _misfit(result, own, user.labels)
            ]
        except NotTakenError as error:
            refused.append(_placed(run, str(error)))
        except RecordError as error:
            raise RecordError(_placed(run, str(error))) from error
        except (ArithmeticError, ValueError, LookupError) as error:
            # A damaged file may hold any text in place of a number, so any reader error refuses the file.
            damaged = f"the file is damaged: a number in it cannot be read ({error}); measure again"
            raise RecordError(_placed(run, damaged)) from error
    if not labelled:
        raise RecordError([*refused, *misfits][0])
    if misfits:
        notes = (f"{source.name}: not used: {reason}" for reason in misfits)
        labelled[0] = replace(labelled[0], notes=(*labelled[0].notes, *notes))
    if columns is None and not source.text.endswith(("\n", "}", "]", ">")):
        note = (
            f"{source.name}: its last line has no line end: check that no run is missing below it"
        )
        labelled[0] = replace(labelled[0], notes=(*labelled[0].notes, note))
    once = _without_duplicates(labelled)
    for problem in repeat_problems(once):
        raise RecordError(problem)
    return _with_notes(once), refused


def _placed(run: Source, reason: str) -> str:
    """Prefix a reason for refusal with the run, such as ``run 2 at line 40``, if the file has several runs."""
    return f"{run.place}: {reason}" if run.run and not reason.startswith(run.place) else reason


def _misfit(result: Result, own: Labels, general: Labels) -> str:
    """Check the payload that the user states against a result's counts (bytes / messages).

    Returns an error message if they contradict each other, otherwise an empty text. ``own`` are the user's labels for
    the file of the result, and ``general`` the user's labels for all files.
    """
    payloads = result.limits.payloads
    for labels, who in ((own, OF_FILE), (general, OF_ALL)):
        payload = labels.payload_bytes
        if payloads and payload is not None and not payloads.fits(payload):
            return (
                f"{result.origin.place}: {payloads.counts}, so payload_bytes is {payloads}, but "
                f"{who} says {payload}: correct the label or leave it out, and keep each payload in a "
                "file of its own"
            )
    return ""


def _labelled(result: Result, own: Labels, user: UserLabels) -> Result:
    """Add the labels (conditions) to a result, and check it.

    A label is taken from the first of these that states it: the file, the user, the result's numbers, the tool's
    default. File and user must not contradict each other.

    Raises
    ------
    RecordError
        If a label is missing, or the result is impossible.
    """
    labels, general = merge(result.labels, own, OF_FILE), user.labels
    tool, place = result.origin.tool, result.origin.place
    notes = list(result.notes)
    if labels.host_cores is not None and general.host_cores not in (None, labels.host_cores):
        notes.append(
            f"host_cores {labels.host_cores} of the file is used in place of the {general.host_cores} given for "
            "all files"
        )
        general = replace(general, host_cores=None)
    if tool != TABLE and any(number.latency_kind == "rtt/2" for number in result.numbers):
        notes.append(HALF_TRIP)
    labels = fill(merge(labels, general, OF_ALL), result.implied)
    assumed = tuple(one for one in result.assumed if getattr(labels, one.label) is None)
    for one in assumed:
        labels = replace(labels, **{one.label: one.value})  # type: ignore[arg-type]
        notes.append(one.note(tool, PARAMETERS[one.label]))
    if labels.load_bps is None and result.pace_fps and labels.payload_bytes:
        labels = replace(labels, load_bps=8.0 * labels.payload_bytes * result.pace_fps)
    for name, parameter in NEEDED.items():
        require(
            getattr(labels, name) is not None,
            f"{place}: the result does not state its {name}: give it with {parameter}, or for each file with by_file={{...}}",
        )
    labelled = replace(result, labels=labels, assumed=assumed)
    for problem in problems(labelled, user.link):
        raise RecordError(f"{place}: {problem}")
    notes += line_rate_remarks(labelled, user.link)
    numbers = [
        number for one in result.numbers if (number := one.in_cores(labels.host_cores)) is not None
    ]
    if len(numbers) < len(result.numbers):
        notes.append(
            "CPU is a share of a host with an unknown number of cores: not used; give "
            "labels=Labels(host_cores=N)"
        )
    if not numbers:
        raise RecordError(f"{place}: no number of the result can be used: {notes[-1]}")
    return replace(labelled, numbers=tuple(numbers), notes=tuple(notes))


def _without_duplicates(results: Iterable[Result]) -> list[Result]:
    """Remove results that report the same run again, such as the reports of its sender and of its receiver.

    Of such results, the one with most numbers is kept.
    """
    fullest: dict[object, Result] = {}
    for result in results:
        tool, run = result.origin.tool, result.origin.run
        numbers = tuple((one.metric, one.value, one.low, one.high) for one in result.numbers)
        content = run or (result.labels.place, numbers)
        key = (tool, content, result.hosts)
        if key not in fullest or len(result.numbers) > len(fullest[key].numbers):
            fullest[key] = result
    return list(fullest.values())


def _with_notes(results: Sequence[Result]) -> tuple[Result, ...]:
    """Add notes that warn the user to the results of one file.

    One note warns if the file has results of both directions of a link: if both ran at the same time, they slowed each
    other. Another note warns if several results have the same conditions. They count as repeats, one after another; if
    they are from streams that ran at the same time, the user must sum them first.
    """
    directions = {
        result.hosts
        for result in results
        if not set(DUPLEX.items()) & set(result.labels.options.items())
    }
    both = (
        "the file has results of both directions: if they ran at the same time, they slowed each other; "
        "measure one after the other"
    )
    repeat = (
        "several results of one point in one file count as repeats: streams that ran at the same "
        "time must be summed first"
    )
    is_two_way = any(Hosts(*reversed(hosts)) in directions for hosts in directions if any(hosts))
    counts = Counter(map(point_of, results))
    noted = []
    for at, result in enumerate(results):
        notes = list(result.notes)
        if at == 0 and is_two_way:
            notes.append(both)
        if counts[point_of(result)] > 1:
            notes.append(repeat)
        noted.append(replace(result, notes=tuple(notes)))
    return tuple(noted)


# --- points -----------------------------------------------------------------------------------

MEANINGS = {
    "hosts": "sender and receiver of the stream, as the files name them",
    "streams": "parallel connections of the run; each number is the sum over all connections",
    "tool": "the measuring tool, if several give the same metric",
    "transport": "connection type of RDMA: rc, uc, ud, ...",
    "memory": "accelerator whose memory holds the messages; empty for host memory",
    "duplex": "both if the other direction was loaded at the same time, else empty",
    "stack": "replacement of the kernel's sockets; empty for the kernel's own",
}
"""Meaning of each option axis that ingesting may add to a dataset."""
ADDED_AXES = {"hosts": "unnamed", "tool": "unnamed", "streams": "unsaid"}
"""Option axes that are added only if their values differ, each with the value for results that state no value."""
WEAKEST = ("measured", "tabulated", "stated", "derived")
"""Bases (kinds of evidence) of numbers, the strongest first; a point gets the weakest basis of its numbers."""
Kind = tuple[str | None, str]
"""Kind of a number: its protocol and its metric."""


class Sample(NamedTuple):
    """One measured number (value of a metric), with the name of its file and the tool's result that contains it."""

    file: str
    result: Result
    number: Number

    @property
    def kind(self) -> Kind:
        """Protocol and metric of this measured number, as a pair."""
        return self.result.labels.protocol, self.number.metric

    @property
    def test(self) -> object:
        """Key of the run, equal in the reports of its sender and receiver: tool, conditions and options."""
        return self.result.origin.tool, self.result.labels.place

    def axis(self, name: str) -> str:
        """Return one condition of this measured value as text: its tool, stream count or hosts; empty if unknown.

        ``name`` selects the condition: ``tool``, ``streams`` or ``hosts``. If the values of a dataset differ in it, it
        becomes an option axis of the dataset.
        """
        if name == "tool":
            return self.result.origin.tool
        if name == "streams":
            return "" if self.result.streams is None else str(self.result.streams)
        hosts = self.result.hosts
        named = " to ".join(host or "unnamed" for host in hosts).lower().replace(",", " ")
        return named if any(hosts) else ""

    def option(self, name: str, kinds: Collection[Kind]) -> str:
        """Value of the option axis ``name`` for this measured number; empty if it has no value on this axis.

        The value is the label that the user gave to the number's result. Without a label, only the axes ``tool``,
        ``streams`` and ``hosts`` have a value: the result states it. Even these have none if the number's kind (pair of
        protocol and metric) is not among ``kinds``, the kinds that need the axis.
        """
        own = self.result.labels.options.get(name)
        if own is not None:
            return own
        return (self.axis(name) or ADDED_AXES[name]) if self.kind in kinds else ""


def gather(samples: Sequence[Sample]) -> tuple[tuple[Point, ...], tuple[Axis, ...]]:
    """Combine measured numbers into points, and make their option axes in the order of columns in points.csv."""
    samples = _completed(samples)

    # An added axis applies to the kinds of numbers at which its values differ. The axis streams applies to all kinds
    # if any run had several streams.
    added: dict[str, Collection[Kind]] = {}
    for name in ADDED_AXES:
        values: dict[Kind, set[str]] = defaultdict(set)
        for sample in samples:
            values[sample.kind].update(filter(None, [sample.axis(name)]))
        added[name] = {kind for kind, some in values.items() if len(some) > 1}
    if any(sample.result.streams not in (1, None) for sample in samples):
        added["streams"] = {sample.kind for sample in samples}
    own = {axis for sample in samples for axis in sample.result.labels.options}
    names = sorted(own | {name for name, kinds in added.items() if kinds})

    groups: dict[tuple[Any, ...], list[Sample]] = defaultdict(list)
    for sample in samples:
        options = tuple(sample.option(name, added.get(name, ())) for name in names)
        groups[(*sample.result.labels.axes, options, sample.number.metric)].append(sample)
    points = tuple(_point(key, some) for key, some in groups.items())
    return points, tuple(Axis.of(name, points, at) for at, name in enumerate(names))


def _completed(samples: Sequence[Sample]) -> list[Sample]:
    """Fill in the number of streams and the host names that a file does not state, if other files show them.

    The number of streams is filled in if all other reports of the same run state the same number. The second host is
    filled in if the files name the first host together with exactly one other host.
    """
    streams: dict[object, set[int]] = defaultdict(set)
    for sample in samples:
        if sample.result.streams is not None:
            streams[sample.test].add(sample.result.streams)
    pairs = [pair for pair in {sample.result.hosts for sample in samples} if all(pair)]
    completed = []
    for sample in samples:
        result, counts = sample.result, streams[sample.test]
        if result.streams is None and len(counts) == 1:
            result = replace(result, streams=next(iter(counts)))
        fitting = [
            pair
            for pair in pairs
            if all(host in ("", end) for host, end in zip(result.hosts, pair, strict=True))
        ]
        if any(result.hosts) and len(fitting) == 1:
            result = replace(result, hosts=fitting[0])
        completed.append(sample._replace(result=result))
    return completed


def _point(key: tuple[Any, ...], samples: Sequence[Sample]) -> Point:
    """Make a dataset row from all numbers of one metric that were measured under the same conditions.

    If there are several numbers (repeats), the row has their mean and standard deviation. ``key`` has the conditions
    and the metric: the cells of points.csv from the column protocol to the column metric.
    """
    numbers = [sample.number for sample in samples]
    origins = [sample.result.origin for sample in samples]
    if len(numbers) == 1:
        (one,), (origin,) = numbers, origins
        # Number of averaged runs: the tool's number, otherwise 1; unknown in a table.
        runs = one.n or (None if origin.source or origin.tool == TABLE else 1)
        spread: tuple[Any, ...] = (one.value, None, one.low, one.high, runs)
    else:
        values = [number.value for number in numbers]
        spread = (fmean(values), stdev(values), None, None, len(values))
    basis = max((number.basis for number in numbers), key=WEAKEST.index)

    tools = dict.fromkeys(origin.source or origin.name for origin in origins)
    places = list(dict.fromkeys(f"{one.file} {one.result.origin.place}" for one in samples))
    shown = "; ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
    sides = dict.fromkeys(number.side for number in numbers)
    labels = dict.fromkeys(label.label for one in samples for label in one.result.assumed)
    assumed = f"; {' and '.join(labels)} assumed" if labels else ""
    source = f"{' / '.join(tools)}: {shown}; counted by {' / '.join(sides)}{assumed}"
    return Point._make((0, *key, *spread, basis, source))
