"""``icmodel system``: whole systems predicted, listed, shown, checked, imported and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    json_text,
    listing,
    print_text,
    write_text,
)
from icmodel.cli.output import show as show_sections
from icmodel.cli.question import (
    AsJson,
    NoCache,
    Output,
    Speaks,
    SystemName,
    VariantName,
    option,
    room,
)
from icmodel.cli.system_shown import counts, document, sections
from icmodel.errors import NetworkError
from icmodel.estimate import plural
from icmodel.files import replacing

if TYPE_CHECKING:
    from icmodel.system import Finding, System


class Predicting(TyperGroup):
    """A group of commands whose default command is ``predict``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with ``predict`` inserted if they begin with no command."""
        words = [word for word in args if not word.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["predict", *args]
        return super().parse_args(ctx, args)


app = room(Predicting)

NOT_MET = 1
"""Exit code if a port's load exceeds its rate."""
WRONG = 2
"""Exit code of a system that contradicts itself."""
Foreign = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="JSON of Saihu or networkx, or Saihu's physical XML."),
]
TomlFile = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="The system file to write.")
]
JsonFile = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="The JSON file to write.")
]
Cycles = Annotated[
    str,
    option(
        "cycles",
        "NAME",
        "Where streams wait for each other in a cycle: refuse (no bound) or fixed-point.",
        "refuse",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every stream, link and device.")]
Format = Annotated[str, option("format", "NAME", "saihu (output ports) or node-link.", "saihu")]


@app.callback(short_help="Whole systems: predict, list, show, check, import and export.")
def system() -> None:
    """Predict whole systems; list, show and check them, and carry them from and to other tools.

    A system is a TOML file: devices, switches, the links between them, and the streams over those.
    Without a command it is predicted: `icmodel system FILE` is `icmodel system predict FILE`.

    \b
    icmodel system imaging
    icmodel system list
    icmodel system show imaging
    icmodel system check my-system.toml
    icmodel system import network.json -o my-system.toml
    icmodel system export imaging -o imaging.json
    """  # noqa: D301


# --- predict ----------------------------------------------------------------------------------


@app.command(short_help="What every stream, link and device of a system gets.")
def predict(
    name: SystemName,
    *,
    dataset: Speaks = None,
    variant: VariantName = None,
    cycles: Cycles = "refuse",
    everything: All = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Predict a system: goodput, latency and loss of its streams, loads and queues, CPU of its devices.

    The requirements of the system, or of the use case it names, are judged stream by stream; hard ones by
    the worst case where it has a bound. Exit code: 0 met, 1 not met, 3 undecided. A file is a whole report:
    .html (one page that opens offline), .md (its drawing beside it) or .json; .svg is the drawing alone.

    \b
    icmodel system imaging
    icmodel system imaging -o imaging.html
    icmodel system imaging --all
    icmodel system my-system.toml --dataset path/of/my-dataset --json
    """  # noqa: D301
    from icmodel.cli.system_predicted import sections as predicted
    from icmodel.report import report  # pydantic and the report, not needed by other commands
    from icmodel.report.writing import SYSTEM_ENDINGS
    from icmodel.system import load
    from icmodel.system import predict as predict_system

    if output is not None:
        check_file(output, SYSTEM_ENDINGS)
    found = predict_system(load(name), dataset, variant, cache=not no_cache, cycles=cycles)
    if output is not None:
        report(found, output)
    if as_json:
        print_text(json_text(found.to_dict()))
    elif output is None:
        show_sections(predicted(found, everything=everything))
    else:
        print_text(f"{found.system.name}: {found.verdict}; the report is {output}\n")
    return found.exit_code


# --- list and show ----------------------------------------------------------------------------


@app.command("list", short_help="The bundled systems.")
def list_all(*, as_json: AsJson = False, output: Output = None) -> None:
    """List the bundled systems with what is in them.

    \b
    icmodel system list
    icmodel system list --json
    """  # noqa: D301
    from icmodel.system import load, system_names  # pydantic, needed only here

    found = [counts(load(name)) for name in system_names()]
    rows = tuple(tuple(map(str, one.values())) for one in found)
    columns = ("system", "title", "#devices", "#switches", "#links", "#streams")
    emit(listing("systems", found, Table(columns, rows)), as_json=as_json, output=output)


@app.command(short_help="What a system is made of.")
def show(name: SystemName, *, as_json: AsJson = False, output: Output = None) -> None:
    """Show a system: its groups, its streams on their ways, and what they ask of the ports.

    Loads are bits on the wire by theory; nothing is predicted.

    \b
    icmodel system show imaging
    icmodel system show my-system.toml --json
    """  # noqa: D301
    from icmodel.system import load
    from icmodel.system.loads import loads

    one = load(name)
    at = tuple(loads(one))
    answer = Answer(sections=lambda: sections(one, at), document=lambda: document(one, at))
    emit(answer, as_json=as_json, output=output)


# --- check ------------------------------------------------------------------------------------


@app.command(short_help="What in a system does not fit.")
def check(name: SystemName, *, as_json: AsJson = False, output: Output = None) -> None:
    """Check a system: what is unconnected, contradictory, overloaded or looped, a sentence each.

    Exit code 2 where it is unconnected or contradictory, 1 where a port is asked for more than it
    can send; a cycle of ports is named and allowed.

    \b
    icmodel system check imaging
    icmodel system check my-system.toml --json
    """  # noqa: D301
    from icmodel.system import load_checked

    one, findings = load_checked(name)
    answer = Answer(
        sections=lambda: [Section("", _found(one, findings))],
        document=lambda: {
            "schema_version": 1,
            "system": counts(one),
            "findings": [finding.to_dict() for finding in findings],
        },
    )
    emit(answer, as_json=as_json, output=output)
    code = _exit_code(findings)
    if code:
        raise typer.Exit(code)


def _found(one: System, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    if findings:
        return tuple(f"{finding.kind}: {finding.text}" for finding in findings)
    parts = (plural(len(one.devices), "device"), plural(len(one.links), "link"))
    streams = plural(len(one.streams), "stream")
    return (f"{one.name}: {', '.join(parts)} and {streams} are in order",)


def _exit_code(findings: tuple[Finding, ...]) -> int:
    if any(finding.refused for finding in findings):
        return WRONG
    return NOT_MET if any(finding.kind == "overloaded" for finding in findings) else 0


# --- import and export ------------------------------------------------------------------------


@app.command("import", short_help="A system from another tool's file.")
def import_(file: Foreign, *, output: TomlFile) -> None:
    """Make a system file of a network of Saihu or of a graph of networkx.

    What the other file says and a system file cannot is told, and stands in its known limits.

    \b
    icmodel system import network.json -o my-system.toml
    icmodel system import network.xml -o my-system.toml
    """  # noqa: D301
    from icmodel.system import load_checked
    from icmodel.system.formats import import_system

    _check_new(output)
    text, remarks = import_system(file)
    with replacing(output) as beside:
        write_text(beside, text)
        one, findings = load_checked(beside)
    _say((*remarks, *(finding.text for finding in findings)))
    print_text(
        f"{output}: {one.name}, {plural(len(one.streams), 'stream')}; edit it, then check it\n"
    )


@app.command(short_help="A system for another tool.")
def export(name: SystemName, *, form: Format = "saihu", output: JsonFile) -> None:
    """Write a system as Saihu's output-port network, or as node-link JSON of networkx.

    What the format cannot say is told.

    \b
    icmodel system export imaging -o imaging.json
    icmodel system export imaging --format node-link -o imaging.json
    """  # noqa: D301
    from icmodel.system import load
    from icmodel.system.formats import export_system

    text, remarks = export_system(load(name), form)
    with replacing(output) as beside:
        write_text(beside, text)
    _say(remarks)
    print_text(f"{output}: written\n")


def _check_new(path: Path) -> None:
    if path.exists():
        raise NetworkError(f"{path} is there already: choose another name with -o")


def _say(remarks: tuple[str, ...]) -> None:
    print_text("".join(f"note: {remark}\n" for remark in remarks))
