"""``icmodel ingest``: make a dataset from the results of other tools."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.options import AsJson, expand_options, make_app, option
from icmodel.cli.output import Answer, Section, Table, best_variant, emit, progress_bar
from icmodel.errors import ScenarioError
from icmodel.estimate import Estimate, plural
from icmodel.ingest import (
    About,
    Ingested,
    dataset_of,
    name_in,
    read_labels_file,
    read_mapping,
    write_ingested,
)
from icmodel.ingest import ingest as ingest_files
from icmodel.questions.doors import in_options
from icmodel.questions.ingesting import DatasetOptions, LabelOptions, ingested_document
from icmodel.questions.words import (
    given_options,
)

if TYPE_CHECKING:
    from icmodel.ingest.own_work import OwnWork

app = make_app()

REFUSED = 2
"""Exit code of ``icmodel ingest`` if a file was refused, even if other files were used."""

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="Files with the results of measuring tools.", show_default=False
    ),
]
ToolName = Annotated[
    str | None,
    option("tool", "NAME", "Tool that wrote all files.", "recognised from the text of each file"),
]
MapFile = Annotated[
    Path | None,
    option("map", "FILE", "TOML file with the meaning of the columns of CSV or XLSX files."),
]
LabelsFile = Annotated[
    Path | None,
    option(
        "labels",
        "FILE",
        "TOML file with labels (facts that result files lack) for each file name or pattern.",
    ),
]
OwnWorkOver = Annotated[
    str | None,
    option(
        "own-work-over",
        "NAME",
        "Dataset measured on the same hosts. The answer then has the time per frame that the tool adds, relative to this dataset.",
    ),
]
OwnWorkAt = Annotated[
    str,
    option(
        "own-work-at",
        "END",
        "Host at which the tool adds time per frame (see --own-work-over): send or recv.",
        "send",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder of the new dataset; its name becomes the dataset's id.",
    ),
]


@app.command(short_help="Make a dataset from other tools' results.")
@expand_options(DatasetOptions, "description")
@expand_options(LabelOptions, "labels")
def ingest(
    *,
    files: Files,
    tool: ToolName = None,
    map_file: MapFile = None,
    labels_file: LabelsFile = None,
    labels: LabelOptions,
    description: DatasetOptions,
    own_work_over: OwnWorkOver = None,
    own_work_at: OwnWorkAt = "send",
    output: Folder,
    as_json: AsJson = False,
) -> int:
    """Make a dataset from results of iperf3, nuttcp, netperf, sockperf and other tools.

    The other tools are iperf 2, libzmq's perf tools, zperfmq, perftest, qperf, NTttcp, and OSU's and
    Intel's MPI benchmarks. Tables (CSV, XLSX) need --map.

    Labels add missing facts, such as sockperf's payload. Options label all files; a TOML file (--labels)
    labels files by name. A file is refused if it is damaged, contradicts itself, or states a goodput above
    --line-rate. The dataset is then made from the other files, and the exit code is 2.

    \b
    icmodel ingest runs/*.json --line-rate "10 Gb/s" -o my-link
    icmodel ingest sockperf-*.txt --labels labels.toml -o my-latency
    icmodel ingest table.xlsx --map columns.toml --protocol tcp -o my-table
    icmodel ingest iperf3/*.json -o my-iperf3 --own-work-over my-lab
    """  # noqa: D301
    options = {"tool": tool, "map": map_file, "labels": labels_file}
    if tool is not None and map_file is not None:
        raise ScenarioError(
            "--tool and --map are both given: keep --map for tables, or --tool for a tool's files"
        )
    over = None
    if own_work_over is not None:
        from icmodel.model import Model  # imported here, since numpy is not needed to read files

        over = Model(own_work_over, "hybrid")
    name = name_in(output)
    about = description.about(_command(files, options, labels, description, name))
    with progress_bar("ingest") as progress:
        ingested = ingest_files(
            files,
            tool,
            labels=labels.labels(),
            by_file=None if labels_file is None else read_labels_file(labels_file),
            columns=None if map_file is None else read_mapping(map_file),
            link=about.link,
            progress=progress,
        ).in_words(in_options)
    data = dataset_of(ingested, output, about)
    if description.default_variant is None:
        variant, why = best_variant(data)
        about = replace(about, default_variant=variant, notes=(why,))
    write_ingested(ingested, output, about)

    work: tuple[OwnWork, ...] = ()
    if over is not None:
        from icmodel.ingest.own_work import own_work

        work = own_work(over, data, own_work_at)
    answer = Answer(
        lambda: [*_sections(ingested, output, about), *_work_sections(work)],
        lambda: {
            **ingested_document(ingested, name, about),
            **({"own_work": [one.to_dict() for one in work]} if work else {}),
        },
    )
    emit(answer, as_json=as_json, output=None)
    return REFUSED if ingested.refused else 0


def _command(
    files: list[Path],
    options: Mapping[str, str | Path | None],
    labels: LabelOptions,
    description: DatasetOptions,
    name: str,
) -> str:
    """Return the command line that makes the dataset again, if it is run in the folder of the files."""
    words = ["icmodel", "ingest", *sorted({file.name for file in files})]
    for key, value in {**options, **given_options(labels), **given_options(description)}.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                text = one.name if isinstance(one, Path) else str(one)
                words += [f"--{key.replace('_', '-')}", text]
    return shlex.join([*words, "-o", name])


def _sections(ingested: Ingested, folder: Path, about: About) -> list[Section]:
    """Return the printed result of an ingest: used files, refused files, and notes.

    For each used file, the number of values that were read from it is shown.
    """
    table = tuple(
        (
            file.file,
            ", ".join(sorted({result.origin.name for result in file.results})),
            str(sum(len(result.numbers) for result in file.results)),
        )
        for file in ingested.taken
    )
    files, rows = plural(len(ingested.taken), "file"), plural(len(ingested.points), "row")
    heading = f"{folder}: {rows} from {files}, variant {about.default_variant}"
    sections = [Section(heading, Table(("file", "tool", "#numbers"), table))]
    if ingested.refused:
        refused = tuple(f"{one.file}: {one.reason}" for one in ingested.refused)
        sections.append(Section(f"Refused: {plural(len(refused), 'file')}", refused))
    if notes := (*ingested.notes, *about.notes):
        sections.append(Section("Notes", notes))
    return sections


def _work_sections(work: Sequence[OwnWork]) -> list[Section]:
    """Return two sections on the time that a measuring tool itself adds to each frame.

    The first section is a table of this time. The second lists the options of ``icmodel predict`` that state this time
    in a question, such as ``--app-send "1.2 us"``.
    """
    if not work:
        return []
    rows, options = [], []
    for one in work:
        end = {"send": "the sender", "recv": "the receiver"}[one.end]
        payloads = ", ".join(units.format_bytes(each.payload_bytes) for each in one.compared)
        frame = _time_text(one.frame_s, units.format_seconds)
        byte = _time_text(one.byte_s, units.format_seconds_per_byte)
        rows.append((one.protocol, end, frame, byte, payloads))
        option = f'--app-{one.end} "{units.format_seconds(one.frame_s.value, 3)}"'
        if one.byte_s.value:
            text = units.format_seconds_per_byte(one.byte_s.value, 3)
            option += f' --app-{one.end}-per-byte "{text}"'
        options.append(f"{one.protocol}: {option}")
    columns = ("protocol", "adds at", "a frame", "a byte", "from payloads")
    return [
        Section("Time per frame that the tool adds", Table(columns, tuple(rows))),
        Section("Options for a question, with --variant hybrid", tuple(options)),
    ]


def _time_text(time: Estimate, form: Callable[[float, int], str]) -> str:
    if not time.high:
        return "nothing"
    return f"{form(time.value, 3)} ({form(time.low, 3)} to {form(time.high, 3)})"
