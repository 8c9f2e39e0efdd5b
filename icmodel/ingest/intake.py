"""Intake: files of results become points, or are refused with a reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from icmodel.dataset import Interconnect, Point
from icmodel.errors import RecordError
from icmodel.ingest.consistency import just_above, point_of, problems, remarks, stated_link, unlike
from icmodel.ingest.labels import Labels, fill, labels_of, merge, refuse_unmatched
from icmodel.ingest.mapping import ColumnMap
from icmodel.ingest.readers import check_tool, table
from icmodel.ingest.readers.modes import APART
from icmodel.ingest.result import Ends, NotTakenError, Number, Refusal, Result, Taken
from icmodel.ingest.runs import runs_of
from icmodel.ingest.source import Source, read_source

FAMILIES = {"cpu_send_host": "cpu_send_cores", "cpu_recv_host": "cpu_recv_cores"}
"""CPU utilisation of a whole host -> the metric in busy cores that it is converted to."""
TABLE = "table"
"""The tool name of a person's own table, in which the runs behind a number are unknown."""
UNKNOWN = {"hosts": "unnamed", "tool": "unnamed", "streams": "unsaid"}
"""The value of an axis for a result that lacks it."""
WEAKEST = ("measured", "tabulated", "stated", "derived")
MEANINGS = {
    "hosts": "sender and receiver of the stream, as the files name them",
    "streams": "parallel connections of the run, in sum over which the numbers are",
    "tool": "what measured, where several tools give the same metric",
    "transport": "kind of connection of RDMA: rc, uc, ud, ...",
    "memory": "accelerator whose memory the messages lie in; empty for the host's own",
    "duplex": "both where the other direction was loaded at the same time; empty where not",
    "stack": "what stands in place of the kernel's sockets; empty where nothing does",
}
"""Option axes that ingesting may add, and their meanings."""


class Found(NamedTuple):
    """A number with its file and result."""

    file: str
    result: Result
    number: Number


Word = Callable[[Found], str]
"""Gives the value of an axis for a number."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option axis with its meaning and its default value."""

    name: str
    meaning: str
    default: str


def gather(found: Sequence[Found]) -> tuple[tuple[Point, ...], tuple[Axis, ...]]:
    """The points of some numbers and their option axes, in the order of columns in points.csv."""
    found = _completed(found)
    extra = _extra_axes(found)
    names = sorted({axis for one in found for axis in one.result.labels.options} | set(extra))
    groups: dict[tuple[Any, ...], list[Found]] = defaultdict(list)
    for one in found:
        options = tuple(_option(one, name, extra) for name in names)
        groups[(*one.result.labels.axes, options, one.number.metric)].append(one)
    points = tuple(_point(key, some) for key, some in groups.items())
    axes = tuple(
        Axis(name, MEANINGS.get(name, "as the labels say"), _default(points, at))
        for at, name in enumerate(names)
    )
    return points, axes


def in_cores(number: Number, host_cores: int | None) -> Number | None:
    """CPU utilisation of a host in busy cores; none if its number of cores is unknown."""
    if number.metric not in FAMILIES:
        return number
    if host_cores is None:
        return None
    return number._replace(
        metric=FAMILIES[number.metric],
        value=number.value * host_cores,
        low=None if number.low is None else number.low * host_cores,
        high=None if number.high is None else number.high * host_cores,
        half=number.half * host_cores,
    )


# --- option axes ------------------------------------------------------------------------------


def _extra_axes(found: Sequence[Found]) -> dict[str, Mapping[tuple[str | None, str], bool]]:
    """The axes needed to distinguish numbers, with the metrics that each one splits."""
    split = {name: _split(found, word) for name, word in WORDS.items()}
    if any(one.result.streams not in (1, None) for one in found):
        split["streams"] = dict.fromkeys(split["streams"], True)
    return {name: metrics for name, metrics in split.items() if any(metrics.values())}


def _split(found: Sequence[Found], word: Word) -> Mapping[tuple[str | None, str], bool]:
    """Whether each metric of a protocol has more than one value of the axis."""
    values: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for one in found:
        values[_metric(one)].update(filter(None, [word(one)]))
    return {metric: len(some) > 1 for metric, some in values.items()}


def _completed(found: Sequence[Found]) -> list[Found]:
    """Results with one host missing, or their number of streams, completed if only one fits."""
    counts: dict[object, set[int]] = defaultdict(set)
    for one in found:
        if one.result.streams is not None:
            counts[_test(one)].add(one.result.streams)
    pairs = {one.result.hosts for one in found}
    whole = [pair for pair in pairs if all(pair)]
    completed = []
    for one in found:
        if one.result.streams is None and len(counts[_test(one)]) == 1:
            (streams,) = counts[_test(one)]
            one = one._replace(result=replace(one.result, streams=streams))
        ends = one.result.hosts
        fitting = [p for p in whole if all(e in ("", w) for e, w in zip(ends, p, strict=True))]
        if any(ends) and len(fitting) == 1:
            completed.append(one._replace(result=replace(one.result, hosts=fitting[0])))
        else:
            completed.append(one)
    return completed


def _test(one: Found) -> object:
    """What the results of both ends of a run have in common."""
    return one.result.origin.tool, one.result.labels.place


def _metric(one: Found) -> tuple[str | None, str]:
    return one.result.labels.protocol, one.number.metric


def _hosts(one: Found) -> str:
    ends = one.result.hosts
    if not any(ends):
        return ""
    return " to ".join(end or "unnamed" for end in ends).lower().replace(",", " ")


WORDS: Mapping[str, Word] = {
    "tool": lambda one: one.result.origin.tool,
    "streams": lambda one: "" if one.result.streams is None else str(one.result.streams),
    "hosts": _hosts,
}


def _option(
    one: Found, name: str, extra: Mapping[str, Mapping[tuple[str | None, str], bool]]
) -> str:
    own = one.result.labels.options.get(name)
    if own is not None or name not in extra:
        return own or ""
    return WORDS[name](one) or UNKNOWN[name] if extra[name][_metric(one)] else ""


def _default(points: Sequence[Point], at: int) -> str:
    """The most frequent value of an axis, the first if tied.

    It is empty if some rows of a metric have a value and others have none: then a question without
    the option takes the rows without a value.
    """
    cells: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for point in points:
        cells[point.protocol, point.metric].add(bool(point.options[at]))
    if any(len(kinds) > 1 for kinds in cells.values()):
        return ""
    counted = Counter(point.options[at] for point in points if point.options[at])
    return min(counted, key=lambda value: (-counted[value], value)) if counted else ""


# --- one point --------------------------------------------------------------------------------


def _point(key: tuple[Any, ...], some: Sequence[Found]) -> Point:
    """The point of some numbers; the key has its columns from the protocol to the metric."""
    numbers = [one.number for one in some]
    if len(numbers) == 1:
        (one,) = numbers
        spread: tuple[Any, ...] = (one.value, None, one.low, one.high, _runs(some[0]))
    else:
        values = [number.value for number in numbers]
        spread = (fmean(values), stdev(values), None, None, len(values))
    basis = max((number.basis for number in numbers), key=WEAKEST.index)
    return Point._make((0, *key, *spread, basis, _source(some)))


def _runs(one: Found) -> int | None:
    """Runs behind one number: those the tool averaged, else 1; ``None`` if a table does not state it."""
    origin = one.result.origin
    return one.number.n or (None if origin.source or origin.tool == TABLE else 1)


def _source(some: Sequence[Found]) -> str:
    """The source of a point: tool, version, files, the end that counted, and labels that are assumed."""
    origins = [one.result.origin for one in some]
    tools = dict.fromkeys(origin.source or origin.name for origin in origins)
    files = list(dict.fromkeys(f"{one.file} {one.result.origin.place}" for one in some))
    shown = "; ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    sides = dict.fromkeys(one.number.side for one in some)
    labels = dict.fromkeys(label.label for one in some for label in one.result.assumed)
    assumed = f"; {' and '.join(labels)} assumed" if labels else ""
    return f"{' / '.join(tools)}: {shown}; counted by {' / '.join(sides)}{assumed}"


NEEDED = {"protocol": "--protocol NAME", "payload_bytes": '--payload "SIZE"'}
"""Labels that every row needs, and the options by which a person gives them."""
HALVED = "latency is half a round trip, not a one-way measurement"
HOW = {**NEEDED, "load_bps": "--load RATE"}
OF_FILE, OF_RUN, OF_ALL = "the label of the file", "the label of the run", "the label of all files"


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of ingesting files.

    Parameters
    ----------
    points
        The rows of a dataset, unordered.
    axes
        Option axes, in the order of ``Point.options``.
    taken
        The files whose results are in the points.
    refused
        The files without any result in the points, and the runs of others, each with the reason.
    remarks
        A sentence on each file that is taken although it differs from the others.
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
        """Notes of all files on results left out and on caveats, without repeats, and the remarks."""
        found = (
            f"{result.origin.tool}: {note}"
            for file in self.taken
            for result in file.results
            for note in result.notes
        )
        return (*dict.fromkeys(found), *self.remarks)


@dataclass(frozen=True, slots=True)
class Given:
    """What a person states about the files: labels for all, labels by file name, and the link."""

    labels: Labels = field(default_factory=Labels)
    by_file: Mapping[str, Labels] = field(default_factory=dict)
    link: Interconnect | None = None


class Said(NamedTuple):
    """What is said of one run: labels of its own, labels of all files, and the link with its line rate."""

    own: Labels
    general: Labels
    link: Interconnect | None


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
    """Read files of results of other tools; damaged or contradictory files are refused one by one.

    Parameters
    ----------
    files
        Paths in any order; a file given twice counts once.
    tool
        The tool that wrote all files; by default recognised from the text of each.
    labels, by_file
        Labels that the files lack: for all files, and by file name or pattern.
    columns
        The meaning of columns; with it, the files are read as tables (CSV, XLSX).
    link
        The interconnect, whose line rate limits the numbers.
    progress
        Called with the number of files read and in total.

    Raises
    ------
    RecordError
        If the tool is unknown, labels by file match no file, or every file is refused; then the
        message has the first reason.
    """
    if tool is not None:
        check_tool(tool)
    given = Given(labels or Labels(), by_file or {}, link)
    paths = sorted(map(Path, files), key=lambda path: (path.name, path.as_posix()))
    names = _names(paths)
    if paths:
        refuse_unmatched(given.by_file, [path.name for path in paths])
    taken: dict[str, Taken] = {}
    refused: list[Refusal] = []
    hashes: dict[str, str] = {}
    for at, path in enumerate(paths, start=1):
        name = names[path]
        try:
            source = read_source(path)
            if source.sha256 in hashes:
                raise RecordError(f"it is the same as {hashes[source.sha256]}, which counts once")
            hashes[source.sha256] = name
            results, reasons = _results(source, tool, columns, given)
            taken[name] = Taken(name, source.sha256, results)
            refused += [Refusal(name, reason) for reason in reasons]
        except RecordError as error:
            refused.append(Refusal(name, str(error)))
        if progress is not None:
            progress(at, len(paths))
    wrong = {**_guessed(taken.values()), **_twice(taken.values())}
    refused += [Refusal(file, reason) for file, reason in wrong.items()]
    kept = [file for name, file in taken.items() if name not in wrong]
    return _ingested(kept, refused)


def _twice(taken: Iterable[Taken]) -> dict[str, str]:
    """File -> reason, for files whose run another file reports with more numbers."""
    fullest: dict[str, Taken] = {}
    wrong = {}
    for file in sorted(taken, key=lambda file: -sum(len(r.numbers) for r in file.results)):
        for run in {result.origin.run for result in file.results if result.origin.run}:
            if run in fullest:
                wrong[file.file] = (
                    f"it reports the same run as {fullest[run].file}, seen from the other end or "
                    "kept twice: it counts once"
                )
            fullest.setdefault(run, file)
    return wrong


def _guessed(taken: Iterable[Taken]) -> dict[str, str]:
    """File -> reason, for files that one assumed label would make repeats, which they cannot be."""
    alike: dict[object, list[tuple[str, Result]]] = defaultdict(list)
    for file in taken:
        for result in file.results:
            if result.assumed:
                alike[result.origin.tool, point_of(result)].append((file.file, result))
    wrong: dict[str, str] = {}
    for some in alike.values():
        for problem in unlike([result for _, result in some]):
            labels = " and ".join(one.label for one in some[0][1].assumed)
            reason = f"{labels} would be assumed for {len(some)} runs, and {problem}"
            wrong |= dict.fromkeys((file for file, _ in some), reason)
    return wrong


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """A short name for each file: the shortest end of its path that no other file has."""
    names = {path: path.name or str(path) for path in paths}
    for parts in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        counted = Counter(names.values())
        if len(counted) == len(names):
            break
        for path in names:
            if counted[names[path]] > 1:
                names[path] = "/".join(path.parts[-parts:])
    return names


def _ingested(kept: Sequence[Taken], refused: Sequence[Refusal]) -> Ingested:
    if not kept:
        first = refused[0] if refused else Refusal("no file", "give at least one")
        more = f" ({len(refused)} files are refused)" if len(refused) > 1 else ""
        raise RecordError(f"{first.file}: {first.reason}{more}")
    found = [
        Found(file.file, result, number)
        for file in kept
        for result in file.results
        for number in result.numbers
    ]
    points, axes = gather(found)
    doubts = remarks({file.file: file.results for file in kept})
    return Ingested(points, axes, tuple(kept), tuple(refused), doubts)


def _results(
    source: Source, tool: str | None, columns: ColumnMap | None, given: Given
) -> tuple[tuple[Result, ...], list[str]]:
    """The labelled results of a file, and why some of its runs are not taken.

    Raises
    ------
    RecordError
        If none of its runs is taken, one is damaged, or its results contradict each other.
    """
    found: list[Result] = []
    refused: list[str] = []
    misfits: list[str] = []
    runs = _reads(source, tool, columns)
    link = stated_link("\n".join(run.text for run, _ in runs), given.link)
    for run, read in runs:
        said = Said(_own_labels(run, given.by_file), given.labels, link)
        try:
            results = read()
            misfits += filter(None, (_misfit(result, said) for result in results))
            found += [_labelled(one, said) for one in results if not _misfit(one, said)]
        except NotTakenError as error:
            refused.append(_placed(run, str(error)))
        except RecordError as error:
            raise RecordError(_placed(run, str(error))) from error
        except (ArithmeticError, ValueError, LookupError) as error:
            # A damaged file may have anything in place of a number, so any error of a reader refuses it.
            damaged = f"it is damaged: a number in it cannot be read ({error})"
            raise RecordError(_placed(run, damaged)) from error
    if not found:
        raise RecordError([*refused, *misfits][0])
    if misfits:
        notes = (f"{source.name}: not taken: {reason}" for reason in misfits)
        found[0] = replace(found[0], notes=(*found[0].notes, *notes))
    once = _once(found)
    for problem in unlike(once):
        raise RecordError(problem)
    return _as_repeats(_both_ways(once)), refused


def _reads(
    source: Source, tool: str | None, columns: ColumnMap | None
) -> list[tuple[Source, Callable[[], list[Result]]]]:
    """The runs of a file, each with what reads it."""
    if columns is not None:
        return [(source, partial(table.read, source, columns))]
    return [(run, partial(reader.read, run)) for reader, run in runs_of(source, tool)]


def _own_labels(run: Source, by_file: Mapping[str, Labels]) -> Labels:
    """The labels of a file, and of the run in it."""
    own = labels_of(run.name, by_file)
    return merge(own, labels_of(f"{run.name}#{run.run}", by_file), OF_RUN) if run.run else own


def _placed(run: Source, reason: str) -> str:
    """A reason that names the run of a file of several."""
    return f"{run.place}: {reason}" if run.run and not reason.startswith(run.place) else reason


def _misfit(result: Result, said: Said) -> str:
    """The reason why a labelled payload cannot be that of a result; empty if it can."""
    for labels, who in ((said.own, OF_FILE), (said.general, OF_ALL)):
        payload = labels.payload_bytes
        if (
            result.limits.payloads
            and payload is not None
            and not result.limits.payloads.fits(payload)
        ):
            return (
                f"{result.origin.place}: {result.limits.payloads.said}, which is payload_bytes "
                f"{result.limits.payloads}, {who} says {payload}: one of them is wrong, so keep each "
                "payload in a file of its own, and leave its label out or correct it"
            )
    return ""


def _both_ways(results: Sequence[Result]) -> Sequence[Result]:
    """The results, with a note if they are of both directions and may have loaded each other."""
    ways = {
        result.hosts
        for result in results
        if not set(APART.items()) & set(result.labels.options.items())
    }
    if not any(Ends(*reversed(hosts)) in ways for hosts in ways if any(hosts)):
        return results
    note = (
        "results of both directions stand in one file: if they ran at the same time, each loaded the other's way, "
        "so measure one after another"
    )
    return [replace(results[0], notes=(*results[0].notes, note)), *results[1:]]


def _as_repeats(results: Sequence[Result]) -> tuple[Result, ...]:
    """The results, with a note on those that share their point with another result of the file."""
    counted = Counter(map(point_of, results))
    note = (
        "several results of one point in one file count as repeats: streams that ran at the same "
        "time must be summed first"
    )
    return tuple(
        replace(result, notes=(*result.notes, note)) if counted[point_of(result)] > 1 else result
        for result in results
    )


def _once(results: Iterable[Result]) -> list[Result]:
    """The results without duplicates, and of each run with an id the one end that tells most."""
    seen: dict[object, Result] = {}
    for result in results:
        key = _content(result)
        if key not in seen or len(result.numbers) > len(seen[key].numbers):
            seen[key] = result
    return list(seen.values())


def _content(result: Result) -> object:
    """What two results have in common if both ends, or one end twice, wrote the same run."""
    if result.origin.run:
        return result.origin.tool, result.origin.run, result.hosts
    numbers = tuple((one.metric, one.value, one.low, one.high) for one in result.numbers)
    return result.origin.tool, result.labels.place, result.hosts, numbers


def _labelled(result: Result, said: Said) -> Result:
    """A result with the labels that a person gives, that follow, and that are assumed, checked.

    Raises
    ------
    RecordError
        If a label is missing, or the result is impossible.
    """
    labels = merge(result.labels, said.own, OF_FILE)
    known, general = labels.host_cores, said.general
    notes = list(result.notes)
    if known is not None and general.host_cores not in (None, known):
        notes.append(
            f"the file says {known} cores a host: that holds, not the {general.host_cores} given"
        )
        general = replace(general, host_cores=None)
    halved = any(number.latency_kind == "rtt/2" for number in result.numbers)
    if halved and result.origin.tool != TABLE:
        notes.append(HALVED)
    labels = fill(merge(labels, general, OF_ALL), result.unless)
    assumed = tuple(one for one in result.assumed if getattr(labels, one.label) is None)
    for one in assumed:
        labels = replace(labels, **{one.label: one.value})  # type: ignore[arg-type]
        notes.append(one.note(result.origin.tool, HOW[one.label]))
    if labels.load_bps is None and result.pace_fps and labels.payload_bytes:
        labels = replace(labels, load_bps=8.0 * labels.payload_bytes * result.pace_fps)
    for name, how in NEEDED.items():
        if getattr(labels, name) is None:
            raise RecordError(
                f"{result.origin.place}: it does not say its {name}: give it with {how}, or a file with "
                "--labels"
            )
    whole = replace(result, labels=labels, assumed=assumed)
    for problem in problems(whole, said.link):
        raise RecordError(f"{result.origin.place}: {problem}")
    return _with_cores(replace(whole, notes=(*notes, *just_above(whole, said.link))))


def _with_cores(result: Result) -> Result:
    """The result with CPU of whole hosts in busy cores, or left out with a note if unconvertible."""
    known = [in_cores(number, result.labels.host_cores) for number in result.numbers]
    numbers = [number for number in known if number is not None]
    notes = list(result.notes)
    if len(numbers) < len(result.numbers):
        notes.append(
            "CPU is a share of the whole host whose cores are not said: not taken; give "
            "--host-cores"
        )
    if not numbers:
        raise RecordError(f"{result.origin.place}: nothing of it can be taken: {notes[-1]}")
    return replace(result, numbers=tuple(numbers), notes=tuple(notes))
