"""``icmodel system``: predict, list, show, start, check, import and export whole systems."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from icmodel.cli.against import Against, Update, earlier_result, emit_judged
from icmodel.cli.options import (
    AsJson,
    DatasetForAll,
    MastheadChoice,
    NoCache,
    Output,
    SystemName,
    VariantName,
    make_app,
    option,
    with_masthead,
)
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    listing,
    print_text,
    say_written,
    write_new,
    write_text,
)
from icmodel.cli.output import show as show_sections
from icmodel.documents import replacing
from icmodel.errors import NetworkError
from icmodel.estimate import plural
from icmodel.questions.showing import check_document, system_document, system_entry


class PredictByDefault(TyperGroup):
    """A group of commands whose default command is ``predict``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``predict`` before the arguments if the first one is not the name of a command."""
        words = [word for word in args if not word.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["predict", *args]
        return super().parse_args(ctx, args)


app = make_app(PredictByDefault)

OVERLOADED = 1
"""Exit code of ``icmodel system check`` if a port is overloaded."""
CONTRADICTORY = 2
"""Exit code of ``icmodel system check`` if the system is unconnected or contradicts itself."""

OtherFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="File to import: JSON of Saihu or networkx, or XML of Saihu (physical network).",
    ),
]
NewName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the system: lower-case letters, digits, hyphens."),
]
TomlFile = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="System file to write (TOML).")
]
JsonFile = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="FILE", help="File to write the exported system to (JSON)."
    ),
]
Cycles = Annotated[
    str,
    option(
        "cycles",
        "NAME",
        "Latency bounds of streams that wait for each other in a cycle: refuse (no bounds) or fixed-point.",
        "refuse",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Show every stream, link and device.")]
Format = Annotated[
    str,
    option(
        "format", "NAME", "Format: saihu (output-port network) or node-link (networkx).", "saihu"
    ),
]


@app.callback(short_help="Predict, list, show, start, check, import and export whole systems.")
def system() -> None:
    """Predict, list, show, start and check whole systems; exchange them with other tools.

    A system is a TOML file with devices, switches, links and streams. The default command is
    predict: `icmodel system FILE` means `icmodel system predict FILE`.

    \b
    icmodel system imaging
    icmodel system list
    icmodel system show imaging
    icmodel system new my-system
    icmodel system check my-system.toml
    icmodel system import network.json -o my-system.toml
    icmodel system export imaging -o imaging.json
    """  # noqa: D301


# --- predict ----------------------------------------------------------------------------------


@app.command(short_help="Predict every stream, link and device of a system.")
@with_masthead
def predict(
    name: SystemName,
    *,
    dataset: DatasetForAll = None,
    variant: VariantName = None,
    cycles: Cycles = "refuse",
    everything: All = False,
    against: Against = None,
    update: Update = False,
    head: MastheadChoice,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Predict a system: goodput, latency and loss of streams, load and queues of ports, CPU of devices.

    The requirements of the system, or of its use case, are judged for each stream. A hard requirement
    is judged by the worst-case bound, if one is known. Exit codes: 0 met, 1 not met, 3 undecided.

    -o FILE writes a report with a one-page summary: .pdf, .html (opens offline) or .md (with the
    drawing in a separate file). A .json or .xlsx file has the numbers. An .svg file is the drawing
    alone. An .xml file is JUnit: each requirement of a stream or device is a test case, and fails
    unless it is met.

    --against FILE shows the changes since an earlier result: verdicts, requirements, limits, datasets,
    and numbers outside their earlier interval. The exit codes are then 0 for the same verdicts, 1 for a
    changed verdict, and 2 for a damaged earlier result. --update then replaces the file.

    \b
    icmodel system imaging
    icmodel system imaging -o imaging.pdf
    icmodel system imaging --all
    icmodel system my-system.toml --dataset path/of/my-dataset --json
    icmodel system imaging --against imaging.json --update -o imaging.xml
    """  # noqa: D301
    from icmodel.cli.system_text import prediction_sections
    from icmodel.report import SYSTEM_FILES  # pydantic and reports are slow to import
    from icmodel.system import load
    from icmodel.system import predict as predict_system

    if output is not None:
        check_file(output, SYSTEM_FILES)
    earlier = earlier_result(against, update=update)
    masthead = head.masthead(output)
    prediction = predict_system(load(name), dataset, variant, cache=not no_cache, cycles=cycles)
    return emit_judged(
        prediction,
        prediction.system.name,
        lambda: show_sections(prediction_sections(prediction, everything=everything)),
        earlier,
        as_json=as_json,
        output=output,
        masthead=masthead,
    )


# --- list and show ----------------------------------------------------------------------------


@app.command("list", short_help="List the bundled systems.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled systems with their numbers of devices, switches, links and streams.

    \b
    icmodel system list
    icmodel system list --json
    """  # noqa: D301
    from icmodel.system import load, system_names  # pydantic, needed only here

    summaries = [system_entry(load(name)) for name in system_names()]
    rows = tuple(tuple(map(str, one.values())) for one in summaries)
    columns = ("system", "title", "#devices", "#switches", "#links", "#streams")
    emit(listing("systems", summaries, Table(columns, rows)), as_json=as_json, output=output)


@app.command(short_help="Show a system: its groups, streams and busiest ports.")
def show(name: SystemName, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show a system: its groups, the routes of its streams, and the load of its ports.

    Loads count the bits on the wire, by theory. Nothing is predicted.

    \b
    icmodel system show imaging
    icmodel system show my-system.toml --json
    """  # noqa: D301
    from icmodel.cli.system_text import system_sections
    from icmodel.system import load
    from icmodel.system.traffic import port_loads

    shown = load(name)
    at_ports = tuple(port_loads(shown))
    answer = Answer(
        sections=lambda: system_sections(shown, at_ports),
        document=lambda: system_document(shown, at_ports),
    )
    emit(answer, as_json=as_json, output=output)


# --- new --------------------------------------------------------------------------------------


@app.command(short_help="Start your own system.")
def new(name: NewName, *, output: Output = None) -> None:
    """Write a commented system to start from, as NAME.toml or as the file of -o.

    The new system can be predicted unchanged. An existing file is never overwritten.

    \b
    icmodel system new my-system
    icmodel system new my-system -o plans/first.toml
    """  # noqa: D301
    from icmodel.system import new_system_text

    write_new(output or Path(f"{name}.toml"), new_system_text(name), "system")


# --- check ------------------------------------------------------------------------------------


@app.command(short_help="Check a system for errors.")
def check(name: SystemName, *, as_json: AsJson = False, output: Output = None) -> None:
    """Check a system for unconnected parts, contradictions, overloaded ports and routing cycles.

    Exit codes: 2 the system is unconnected or contradictory, 1 a port is overloaded, 0 otherwise.
    A routing cycle (the routes of several streams form a ring of ports) is only reported.

    \b
    icmodel system check imaging
    icmodel system check my-system.toml --json
    """  # noqa: D301
    from icmodel.system import load_checked

    checked, findings = load_checked(name)
    lines = tuple(f"{finding.kind}: {finding.text}" for finding in findings)
    if not lines:
        parts = (plural(len(checked.devices), "device"), plural(len(checked.links), "link"))
        streams = plural(len(checked.streams), "stream")
        lines = (f"{checked.name}: {', '.join(parts)} and {streams} are in order",)
    answer = Answer(
        sections=lambda: [Section("", lines)],
        document=lambda: check_document(checked, findings),
    )
    emit(answer, as_json=as_json, output=output)
    if any(finding.refused for finding in findings):
        raise typer.Exit(CONTRADICTORY)
    if any(finding.kind == "overloaded" for finding in findings):
        raise typer.Exit(OVERLOADED)


# --- import and export ------------------------------------------------------------------------


@app.command("import", short_help="Import a system from another tool's file.")
def import_(file: OtherFile, *, output: TomlFile) -> None:
    """Make a system file from a network of Saihu (network calculus) or a graph of networkx.

    Features without a counterpart in system files are reported and listed under known_limits.

    \b
    icmodel system import network.json -o my-system.toml
    icmodel system import network.xml -o my-system.toml
    """  # noqa: D301
    from icmodel.system import load_checked
    from icmodel.system.formats import import_system

    if output.exists():
        raise NetworkError(f"{output} already exists: choose another name with -o")
    text, remarks = import_system(file)
    with replacing(output) as beside:
        write_text(beside, text)
        try:
            imported, findings = load_checked(beside)
        except NetworkError as error:  # name the requested file, not the temporary file
            raise NetworkError(str(error).replace(beside.name, output.name)) from error
    _print_notes((*remarks, *(finding.text for finding in findings)))
    streams = plural(len(imported.streams), "stream")
    print_text(f"{output}: {imported.name}, {streams}; edit it, then check it\n")


@app.command(short_help="Export a system for another tool.")
def export(name: SystemName, *, form: Format = "saihu", output: JsonFile) -> None:
    """Write a system as an output-port network of Saihu (network calculus), or as node-link JSON of networkx.

    Features without a counterpart in the format are reported.

    \b
    icmodel system export imaging -o imaging.json
    icmodel system export imaging --format node-link -o imaging.json
    """  # noqa: D301
    from icmodel.system import load
    from icmodel.system.formats import export_system

    if output.suffix.lower() != ".json":
        raise NetworkError(f"unsupported file extension in {str(output)!r}: use .json")
    text, remarks = export_system(load(name), form)
    with replacing(output) as beside:
        write_text(beside, text)
    _print_notes(remarks)
    say_written(output)


def _print_notes(notes: Iterable[str]) -> None:
    print_text("".join(f"note: {note}\n" for note in notes))
