"""``icmodel ingest``: results of other tools become a dataset."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.models import best_variant
from icmodel.cli.options import (
    BEST,
    OPTION_HELP,
    PAYLOAD_HELP,
    AsJson,
    expand_options,
    given_options,
    make_app,
    option,
    option_field,
    parse_key_values,
)
from icmodel.cli.output import Answer, Section, Table, emit, progress_bar
from icmodel.dataset import Dataset, Interconnect, check_variant
from icmodel.errors import ScenarioError
from icmodel.estimate import Estimate, plural
from icmodel.ingest import (
    About,
    Ingested,
    Labels,
    dataset_of,
    name_in,
    read_labels,
    read_labels_file,
    read_mapping,
    write_ingested,
)
from icmodel.ingest import ingest as ingest_files

if TYPE_CHECKING:
    from icmodel.own_work import OwnWork

app = make_app()

REFUSED = 2
"""Exit code if a file was refused, whatever the others are."""
LINK_KINDS = ("ethernet", "infiniband", "roce", "rapidio", "loopback")

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Files of results.", show_default=False)
]
ToolName = Annotated[
    str | None, option("tool", "NAME", "Whose output all files are.", "found by their text")
]
MapFile = Annotated[
    Path | None, option("map", "FILE", "TOML that says what the columns of CSV or XLSX are.")
]
LabelsFile = Annotated[
    Path | None, option("labels", "FILE", "TOML with labels by file name or pattern.")
]
OwnWorkOver = Annotated[
    str | None,
    option(
        "own-work-over", "NAME", "Say what the tool adds to a frame over this dataset of the hosts."
    ),
]
OwnWorkAt = Annotated[
    str, option("own-work-at", "END", "Where it is taken to do so: send or recv.", "send")
]
Folder = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Folder of the dataset; its name is the id."
    ),
]


@dataclass(frozen=True, slots=True)
class Said:
    """Labels of all files, as typed, for what the files do not state."""

    protocol: str | None = option_field("NAME", "Protocol, e.g. tcp.")
    payload: str | None = option_field("SIZE", PAYLOAD_HELP)
    load: str | None = option_field(
        "RATE", 'Goodput the runs were limited to, e.g. "1 Gb/s", or unlimited.'
    )
    cores: str | None = option_field("N", "Parallel processes, one a core.")
    switches: str | None = option_field("N", "Switches on the path.")
    endpoints: str | None = option_field("N", "Senders into the interface, this one included.")
    other_goodput: str | None = option_field("RATE", "What the other endpoints sent, in sum.")
    host_cores: str | None = option_field(
        "N", "Cores of each host, for tools that print a share of them."
    )
    option: list[str] | None = option_field("KEY=VALUE", OPTION_HELP)

    def labels(self) -> Labels:
        """The labels in SI."""
        said = given_options(self) | {"options": parse_key_values(self.option)}
        said.pop("option", None)
        return read_labels(said, "command line")


@dataclass(frozen=True, slots=True)
class Described:
    """Description of the dataset, as typed."""

    interconnect: str | None = option_field("KIND", f"{', '.join(LINK_KINDS)}.")
    line_rate: str | None = option_field(
        "RATE", "Rate of the line; the numbers are held against it."
    )
    mtu: str | None = option_field("SIZE", 'MTU of the line, e.g. "1500 B".')
    title: str | None = option_field("TEXT", "Title of the dataset.")
    licence: str | None = option_field("TEXT", "Licence of the numbers.")
    citation: str | None = option_field("TEXT", "How to cite them.")
    default_variant: str | None = option_field(
        "NAME", "Variant of the model it answers with.", BEST
    )

    def link(self) -> Interconnect | None:
        """The interconnect, as far as it is given."""
        if self.interconnect is None and self.line_rate is None and self.mtu is None:
            return None
        if self.interconnect is not None and self.interconnect not in LINK_KINDS:
            raise ScenarioError(
                f"--interconnect {self.interconnect!r} is unknown: it is one of "
                f"{', '.join(LINK_KINDS)}"
            )
        mtu = None if self.mtu is None else units.parse_bytes(self.mtu)
        if mtu == 0:
            raise ScenarioError(f"--mtu {self.mtu!r} is impossible: a packet has at least 1 B")
        return Interconnect(
            kind=self.interconnect or "",
            line_rate_bps=None if self.line_rate is None else units.parse_bps(self.line_rate),
            mtu_bytes=mtu,
        )

    def about(self, command: str) -> About:
        """The same as `icmodel.ingest` takes it, with the command that makes the dataset again."""
        variant = self.default_variant or About().default_variant
        check_variant(variant)
        return About(
            self.title or "", self.licence or "", self.citation or "", variant, self.link(), command
        )


@app.command(short_help="Make a dataset of other tools' results.")
@expand_options(Described, "described")
@expand_options(Said, "said")
def ingest(
    *,
    files: Files,
    tool: ToolName = None,
    map_file: MapFile = None,
    labels_file: LabelsFile = None,
    said: Said,
    described: Described,
    own_work_over: OwnWorkOver = None,
    own_work_at: OwnWorkAt = "send",
    output: Folder,
    as_json: AsJson = False,
) -> int:
    """Make a dataset of results of iperf3, nuttcp, netperf, sockperf and others.

    Also iperf 2, libzmq's perf tools, zperfmq, perftest, qperf, NTttcp, OSU's and Intel's MPI
    benchmarks, and tables (CSV, XLSX) with --map.
    What a file does not say itself, such as sockperf's payload, is said by options for all files
    or in a TOML file by name. A file that is broken, contradicts itself or the wire (--line-rate) is
    refused and named: the dataset is made of the others and the code is 2.

    \b
    icmodel ingest runs/*.json --line-rate "10 Gb/s" -o my-link
    icmodel ingest sockperf-*.txt --labels labels.toml -o my-latency
    icmodel ingest table.xlsx --map columns.toml --protocol tcp -o my-table
    icmodel ingest iperf3/*.json -o my-iperf3 --own-work-over my-lab
    """  # noqa: D301
    options = {"tool": tool, "map": map_file, "labels": labels_file}
    if tool is not None and map_file is not None:
        raise ScenarioError(
            "--tool and --map are both given: a table is mapped whoever wrote it, so keep one"
        )
    tell = None if own_work_over is None else _told_over(own_work_over, own_work_at)
    name = name_in(output)
    about = described.about(_command(files, options, said, described, name))
    with progress_bar("ingest") as progress:
        ingested = ingest_files(
            files,
            tool,
            labels=said.labels(),
            by_file=None if labels_file is None else read_labels_file(labels_file),
            columns=None if map_file is None else read_mapping(map_file),
            link=about.link,
            progress=progress,
        )
    data = dataset_of(ingested, output, about)
    if described.default_variant is None:
        variant, why = best_variant(data)
        about = replace(about, default_variant=variant, notes=(why,))
    write_ingested(ingested, output, about)
    found = () if tell is None else tell(data)
    answer = Answer(
        lambda: [*_sections(ingested, output, about), *_work_sections(found)],
        lambda: _document(ingested, name, about, found),
    )
    emit(answer, as_json=as_json, output=None)
    return REFUSED if ingested.refused else 0


def _told_over(dataset: str, end: str) -> Callable[[Dataset], tuple[OwnWork, ...]]:
    """A function that compares a tool's results with a dataset: the work of its program per frame."""
    from icmodel.model import Model  # numpy, not needed to read files
    from icmodel.own_work import own_work

    over = Model(dataset, "hybrid")
    return lambda results: own_work(over, results, end)


def _command(
    files: list[Path],
    options: Mapping[str, str | Path | None],
    said: Said,
    described: Described,
    name: str,
) -> str:
    """The command line that makes the folder again in the folder of its files."""
    words = ["icmodel", "ingest", *sorted({file.name for file in files})]
    for key, value in {**options, **given_options(said), **given_options(described)}.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                text = one.name if isinstance(one, Path) else str(one)
                words += [f"--{key.replace('_', '-')}", text]
    return shlex.join([*words, "-o", name])


def _sections(ingested: Ingested, folder: Path, about: About) -> list[Section]:
    rows = tuple(
        (
            file.file,
            ", ".join(sorted({r.origin.name for r in file.results})),
            str(sum(len(result.numbers) for result in file.results)),
        )
        for file in ingested.taken
    )
    taken = plural(len(ingested.taken), "file")
    rows_said = plural(len(ingested.points), "row")
    heading = f"{folder}: {rows_said} from {taken}, variant {about.default_variant}"
    sections = [Section(heading, Table(("file", "tool", "#numbers"), rows))]
    if ingested.refused:
        refused = tuple(f"{one.file}: {one.reason}" for one in ingested.refused)
        sections.append(Section(f"Refused: {plural(len(refused), 'file')}", refused))
    if notes := (*ingested.notes, *about.notes):
        sections.append(Section("What to know", notes))
    return sections


def _work_sections(found: Sequence[OwnWork]) -> list[Section]:
    """The work of the tool's program per frame, as text."""
    if not found:
        return []
    columns = ("protocol", "adds at", "a frame", "a byte", "from payloads")
    rows = tuple(
        (
            one.protocol,
            {"send": "the sender", "recv": "the receiver"}[one.end],
            _time_text(one.frame_s, units.format_seconds),
            _time_text(one.byte_s, units.format_seconds_per_byte),
            ", ".join(units.format_bytes(each.payload_bytes) for each in one.compared),
        )
        for one in found
    )
    asked = tuple(f"{one.protocol}: {_as_asked(one)}" for one in found)
    return [
        Section("What the tool itself adds, over the hosts' own time", Table(columns, rows)),
        Section("Asked so, with --variant hybrid", asked),
    ]


def _time_text(time: Estimate, form: Callable[[float, int], str]) -> str:
    if not time.high:
        return "nothing"
    return f"{form(time.value, 3)} ({form(time.low, 3)} to {form(time.high, 3)})"


def _as_asked(one: OwnWork) -> str:
    """The options of a question that state this work."""
    parts = [f'--app-{one.end} "{units.format_seconds(one.frame_s.value, 3)}"']
    if one.byte_s.value:
        text = units.format_seconds_per_byte(one.byte_s.value, 3)
        parts.append(f'--app-{one.end}-per-byte "{text}"')
    return " ".join(parts)


def _document(
    ingested: Ingested, name: str, about: About, found: Sequence[OwnWork]
) -> dict[str, object]:
    work = {"own_work": [one.to_dict() for one in found]} if found else {}
    return {
        "schema_version": 1,
        "dataset": name,
        "variant": about.default_variant,
        "rows": len(ingested.points),
        "files": [
            {"file": file.file, "sha256": file.sha256, "results": len(file.results)}
            for file in ingested.taken
        ],
        "refused": [{"file": one.file, "reason": one.reason} for one in ingested.refused],
        "notes": [*ingested.notes, *about.notes],
        **work,
    }
