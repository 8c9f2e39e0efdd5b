"""Make the pages of docs/reference that say what is in the program and in data/.

    python tools/build_docs_reference.py

``cli.md`` from the typer app, ``api.md`` from signatures and docstrings, ``datasets.md`` from
``data/``, the tables of keys of ``usecase-format.md`` and ``dataset-format.md`` and the JSON Schemas
from the documents' classes, the parts of ``probe.md`` from the probe: its help, the schema of its
record, its flags, plans and topologies. A test fails when a page is not what this script makes.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
import os
import re
import subprocess
import tomllib
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

import icmodel
from icmodel import dataset_check
from icmodel.dataset import Dataset, Point, catalogue, load
from icmodel.dataset_check import dataset_schema
from icmodel.estimate import Estimate
from icmodel.usecase import document, usecase_schema
from icmodel.usecase.spelling import Document

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
PROBE = ROOT / "calibration"
BINARY = PROBE / "target" / "release" / "icprobe"
MADE = "<!-- made by tools/build_docs_reference.py; change the program, not this page -->\n"
BEGIN, END = "<!-- made: {} begin -->", "<!-- made: {} end -->"


def pages() -> dict[str, str]:
    """Every made file of docs/reference: name and text."""
    formats = {
        f"{name}-format.md": with_part(
            (REFERENCE / f"{name}-format.md").read_text(encoding="utf-8"), "keys", keys(tables)
        )
        for name, tables in (("dataset", DATASET_TABLES), ("usecase", USECASE_TABLES))
    }
    made = {
        **formats,
        "probe.md": probe_page(),
        "cli.md": cli_page(),
        "api.md": api_page(),
        "datasets.md": datasets_page(),
        "dataset.schema.json": json.dumps(dataset_schema(), indent=2, ensure_ascii=False) + "\n",
        "usecase.schema.json": json.dumps(usecase_schema(), indent=2, ensure_ascii=False) + "\n",
    }
    return {name: re.sub(r"\n{3,}", "\n\n", text) for name, text in made.items()}


def with_part(text: str, name: str, part: str) -> str:
    """The text with what stands between two marks renewed."""
    before, begin, rest = text.partition(BEGIN.format(name))
    _, end, after = rest.partition(END.format(name))
    if not begin or not end:
        raise ValueError(f"the marks of the part {name!r} are not in the text")
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def row(*cells: str) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |\n"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table; nothing when it has no rows."""
    if not rows:
        return ""
    return row(*head) + row(*("---" for _ in head)) + "".join(row(*cells) for cells in rows)


# --- command line -----------------------------------------------------------------------------


Command = TyperCommand | TyperGroup
Parameter = TyperArgument | TyperOption


def cli_page() -> str:
    """Every command of the typer app with its arguments and options."""
    from icmodel.cli import app  # the top floor, only here

    intro = "Every command prints `--help`. Quantities are texts with a [unit](units.md).\n"
    top = typing.cast("Command", typer.main.get_command(app))
    commands = "".join(_command(path, one) for path, one in _commands(top))
    return f"# Command line\n\n{MADE}\n{intro}\n{commands}".rstrip() + "\n"


def _commands(
    command: Command, path: tuple[str, ...] = ("icmodel",)
) -> Iterator[tuple[tuple[str, ...], Command]]:
    yield path, command
    if isinstance(command, TyperGroup):
        context = typer.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            inner = typing.cast("Command", command.get_command(context, name))
            if not inner.hidden:
                yield from _commands(inner, (*path, name))


def _command(path: tuple[str, ...], command: Command) -> str:
    context = typer.Context(command, info_name=" ".join(path))
    usage = " ".join([" ".join(path), *command.collect_usage_pieces(context)])
    found = typing.cast("list[Parameter]", command.get_params(context))
    shown = [one for one in found if one.name != "help" and not one.hidden]
    head = f"## {' '.join(path)}\n\n" if len(path) > 1 else ""
    text = _prose(command.help or "")
    parts = [f"{head}```text\n{usage}\n```\n", f"{text}\n" if text else ""]
    rows = [_parameter(one, context) for one in shown]
    parts.append(table(("argument or option", "value", "meaning", "default"), rows))
    return "\n".join(part for part in parts if part) + "\n"


def _parameter(one: Parameter, context: typer.Context) -> tuple[str, ...]:
    if isinstance(one, TyperArgument):
        names, metavar = f"`{one.make_metavar(context)}`", ""
    else:
        names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
        metavar = "" if one.is_flag else f"`{one.make_metavar(context)}`"
    meaning, _, default = _one_line(one.help or "").partition(" [default: ")
    default = "needed" if one.required else default.rstrip("]")
    return names, metavar, meaning, default


def _one_line(text: str) -> str:
    return " ".join(_prose(text).split())


# --- Python -----------------------------------------------------------------------------------

ROOMS: Mapping[str, tuple[str, ...]] = {
    "icmodel.theory.ethernet": (),
    "icmodel.theory.infiniband": (),
    "icmodel.theory.roce": (),
    "icmodel.theory.rapidio": (),
    "icmodel.units": (),
    "icmodel.calibrate": ("Probe", "find_probe", "check_probe"),
    "icmodel.requirement": ("Requirement", "Verdict", "judge"),
    "icmodel.usecase": (
        "Evaluation",
        "CandidateResult",
        "Finding",
        "Answer",
        "Derivation",
        "load_usecase",
        "read_usecase",
        "usecase_names",
        "usecase_schema",
        "new_usecase_text",
        "derive",
    ),
}
"""Public rooms below the public face; an empty tuple is everything public that is defined there."""


INNER = frozenset({"Model.ground", "Model.rules"})
"""What is public for icmodel's own rooms only."""


def api_page() -> str:
    """Every public name with its signature and docstring."""
    intro = (
        "The names of `import icmodel`, and after them the rooms below. A quantity with a unit "
        "suffix is a number in SI; without, a text with its [unit](units.md).\n"
    )
    names = [name for name in icmodel.__all__ if not name.startswith("_")]
    errors = [name for name in names if _is_error(getattr(icmodel, name))]
    face = [_entry(name, getattr(icmodel, name)) for name in names if name not in errors]
    rows = [(f"`{name}`", _first(getattr(icmodel, name))) for name in errors]
    faults = f"## Errors\n\n{table(('name', 'raised when'), rows)}\n"
    rooms = "".join(_room(name, chosen) for name, chosen in ROOMS.items())
    page = f"# Python\n\n{MADE}\n{intro}\n## icmodel\n\n{''.join(face)}{faults}{rooms}"
    return page.rstrip() + "\n"


def _is_error(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Exception)


def _room(name: str, chosen: tuple[str, ...]) -> str:
    module = importlib.import_module(name)
    names = chosen or tuple(_defined(module))
    entries = "".join(_entry(one, getattr(module, one)) for one in names)
    return f"## {name}\n\n{_prose(inspect.getdoc(module) or '')}\n\n{entries}"


def _defined(module: types.ModuleType) -> Iterator[str]:
    for name, thing in vars(module).items():
        here = getattr(thing, "__module__", None) == module.__name__
        if here and not name.startswith("_") and callable(thing):
            yield name


def _entry(name: str, thing: object) -> str:
    record = _is_record(thing)
    signature = "" if record else f"```text\n{_signature(name, thing)}\n```\n\n"
    text = f"### {name}\n\n{signature}{_docstring(inspect.getdoc(thing) or '')}\n"
    return text + (_members(thing) if isinstance(thing, type) else "")


def _is_record(thing: object) -> bool:
    """Whether a dataclass is read and not made by a user: its fields are then a table."""
    text = inspect.getdoc(thing) or ""
    return (
        isinstance(thing, type) and dataclasses.is_dataclass(thing) and "Parameters\n" not in text
    )


def _signature(name: str, thing: object) -> str:
    """A signature as it is written, one parameter a line when it is long."""
    if not callable(thing):
        return name
    made = inspect.signature(thing)
    parts = list(_parameters(made))
    result = _annotation(made.return_annotation)
    end = ")" if isinstance(thing, type) or not result else f") -> {result}"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= 96:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + end


def _parameters(made: inspect.Signature) -> Iterator[str]:
    starred = False
    for one in made.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        mark = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind.name, "")
        kind = _annotation(one.annotation)
        text = f"{mark}{one.name}: {kind}" if kind else f"{mark}{one.name}"
        yield text if one.default is one.empty else f"{text} = {one.default!r}"


def _annotation(annotation: object) -> str:
    """An annotation as it is written, without the modules it comes from."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)


def _members(thing: type) -> str:
    """Fields of a record, then the public methods and properties defined in the class."""
    parts = [_fields(thing)] if _is_record(thing) else []
    for name, member in vars(thing).items():
        if name.startswith("_") or f"{thing.__name__}.{name}" in INNER:
            continue
        if isinstance(member, property):
            parts.append(f"**`{name}`** (property): {_first(member)}\n\n")
        elif inspect.isfunction(member):
            signature = _signature(name, member)
            parts.append(f"#### {thing.__name__}.{name}\n\n```text\n{signature}\n```\n\n")
            parts.append(_docstring(inspect.getdoc(member) or "") + "\n")
    return "".join(parts)


def _fields(thing: type) -> str:
    made = typing.cast("type[Estimate]", thing)  # any dataclass
    rows = [(f"`{f.name}`", f"`{_annotation(f.type)}`") for f in dataclasses.fields(made)]
    return table(("field", "type"), rows) + "\n"


def _first(thing: object) -> str:
    """First sentence of a docstring."""
    return _one_line((inspect.getdoc(thing) or "").partition("\n\n")[0])


def _prose(text: str) -> str:
    """Docstring markup as Markdown: roles and double backticks become code."""
    text = re.sub(r":[a-z]+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text))
    text = text.replace("``", "`").replace("::\n", ":\n")
    return re.sub(r"\x08\n((?:[^\n]+(?:\n|$))+)", _shown_lines, text)


def _shown_lines(found: re.Match[str]) -> str:
    """A paragraph after click's mark for lines that stay as they are."""
    return f"```text\n{found[1].strip()}\n```\n"


SECTIONS = ("Parameters", "Returns", "Raises", "Attributes", "Notes", "Yields")


def _docstring(text: str) -> str:
    """A numpy docstring as Markdown: prose, then each section as a list."""
    title = "|".join(SECTIONS)
    parts = re.split(rf"(?m)^({title})\n-+\n", _prose(text))
    out = [parts[0].strip() + "\n"]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        out.append(f"\n*{name}*\n\n{_items(body)}")
    return "".join(out)


def _items(body: str) -> str:
    """`name : type` lines with an indented meaning as a list."""
    items: list[list[str]] = []
    for line in body.strip().splitlines():
        if line.startswith(" ") and items:
            items[-1].append(line.strip())
        elif line.strip():
            items.append([line.strip()])
    return "".join(_item(head, " ".join(rest)) for head, *rest in items)


def _item(head: str, meaning: str) -> str:
    name, colon, kind = head.partition(" : ")
    said = f"`{name}` ({kind})" if colon else f"`{head}`"
    return f"- {said}: {meaning}\n" if meaning else f"- {head}\n"


# --- datasets ---------------------------------------------------------------------------------


def datasets_page() -> str:
    """Every bundled dataset: what it has, where, and how to cite it."""
    sets = [load(name) for name in catalogue()]
    rows = [
        (f"[`{one.id}`](#{one.id})", one.title, ", ".join(one.protocols), str(len(one.points)))
        for one in sets
    ]
    intro = "Each has a README in its folder that says how its numbers were obtained.\n"
    head = table(("dataset", "what", "protocols", "rows"), rows)
    body = "\n".join(_dataset(one) for one in sets)
    return f"# Datasets\n\n{MADE}\n{intro}\n{head}\n{body}".rstrip() + "\n"


def _dataset(data: Dataset) -> str:
    edition = data.document.get("edition", "")
    parts = [
        f"## {data.id}\n\n{data.title}. Edition {edition}, variant `{data.default_variant}`, "
        f"protocol `{data.default_protocol}` by default.\n",
        table(("link", ""), list(_link(data))),
        table(("protocol", "metric", "payload", "load", "cores", "rows"), list(_coverage(data))),
        table(("option axis", "meaning", "values", "default"), list(_options(data))),
        f"Basis of the rows: {_bases(data)}.\n",
        "Limits:\n\n" + "".join(f"- {limit}\n" for limit in data.known_limits),
        f"Citation: {data.citation} Licence: {data.licence}.\n".replace("..", "."),
    ]
    return "\n".join(part for part in parts if part)


def _link(data: Dataset) -> Iterator[tuple[str, ...]]:
    link = data.document["interconnect"]
    for key, value in dict(typing.cast("Mapping[str, object]", link)).items():
        yield f"`{key}`", f"`{value}`"


def _coverage(data: Dataset) -> Iterator[tuple[str, ...]]:
    """Each metric of each protocol: between which payloads and loads, at which core counts."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in data.points:
        groups.setdefault((point.protocol, point.metric), []).append(point)
    for (protocol, metric), points in sorted(groups.items()):
        yield (
            protocol,
            f"`{metric}`",
            _span([p.payload_bytes for p in points], "B"),
            _loads(points),
            ", ".join(str(c) for c in sorted({p.cores for p in points if p.cores is not None})),
            str(len(points)),
        )


def _span(values: list[int | None], unit: str) -> str:
    said = [value for value in values if value is not None]
    if not said:
        return "not said"
    least, most = min(said), max(said)
    return f"{least} {unit}" if least == most else f"{least} to {most} {unit}"


def _loads(points: list[Point]) -> str:
    loads = sorted({p.load_bps for p in points if p.load_bps is not None})
    finite = [load for load in loads if load != float("inf")]
    parts = [f"{finite[0] / 1e9:g} to {finite[-1] / 1e9:g} Gb/s"] if finite else []
    if finite and finite[0] == finite[-1]:
        parts = [f"{finite[0] / 1e9:g} Gb/s"]
    parts += ["unlimited"] if float("inf") in loads else []
    return ", ".join(parts) or "not said"


def _options(data: Dataset) -> Iterator[tuple[str, ...]]:
    axes = typing.cast("Mapping[str, Mapping[str, object]]", data.document.get("axes", {}))
    for axis in data.option_axes:
        values = ", ".join(data.option_values(axis))
        yield f"`{axis}`", str(axes[axis].get("meaning", "")), values, data.option_defaults[axis]


def _bases(data: Dataset) -> str:
    counts = Counter(point.basis for point in data.points)
    return ", ".join(f"{count} {basis}" for basis, count in counts.most_common())


# --- documents --------------------------------------------------------------------------------

DATASET_TABLES: Mapping[str, type[BaseModel]] = {
    "the file itself": dataset_check.DatasetDocument,
    "[tool]": dataset_check.Tool,
    "[interconnect]": dataset_check.Link,
    "[fabrics.VALUE]": dataset_check.Fabric,
    "[[hosts]]": dataset_check.Host,
    "[axes.COLUMN]": dataset_check.AxisEntry,
    "[[stated_limits]]": dataset_check.Limit,
    "[[absences]]": dataset_check.Absence,
    "[variants.NAME]": dataset_check.VariantRows,
}
USECASE_TABLES: Mapping[str, type[BaseModel]] = {
    "the file itself": document.UseCase,
    "[medium]": document.Medium,
    "[[budgets]]": document.Budget,
    "[[devices]]": document.Device,
    '[[streams]] with kind = "image"': document.ImageStream,
    '[[streams]] with kind = "samples"': document.SampleStream,
    '[[streams]] with kind = "goodput"': document.GoodputStream,
    "[[requirements]]": document.Limit,
    "[[candidates]]": document.Candidate,
    "[candidates.scenarios.STREAM]": document.Question,
}


def keys(tables: Mapping[str, type[BaseModel]]) -> str:
    """A table of keys for each table of a document."""
    return "\n".join(_keys(place, model) for place, model in tables.items())


def _keys(place: str, model: type[BaseModel]) -> str:
    spelt = model.text_spellings() if issubclass(model, Document) else {}
    texts = {field: key for key, field in spelt.items()}
    rows = [_key(name, field, texts.get(name)) for name, field in model.model_fields.items()]
    head = table(("key", "with unit", "value", "default"), rows)
    if not texts:
        head = table(("key", "value", "default"), [(name, *rest) for name, _, *rest in rows])
    return f"### {place}\n\n{_prose(model.__doc__ or '')}\n\n{head}"


def _key(name: str, field: FieldInfo, text: str | None) -> tuple[str, ...]:
    needed = field.is_required()
    default = "needed" if needed else _plain(field.get_default(call_default_factory=True))
    return f"`{name}`", f"`{text}`" if text else "", _kind(field.annotation), default


def _plain(value: object) -> str:
    return "" if value in (None, "", (), {}) else f"`{value}`"


KINDS: Mapping[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    type(None): "",
}


def _kind(annotation: object) -> str:
    """A type for people."""
    if annotation in KINDS:
        return KINDS[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{one}`" if isinstance(one, int) else f'`"{one}"`' for one in inner)
    if origin is typing.Annotated:
        return _kind(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(kind for one in inner if (kind := _kind(one))))
    if origin is dict:
        return f"table of {_kind(inner[1])}"
    if origin in (tuple, list):
        return f"list of {_kind(inner[0])}"
    return (
        "table" if isinstance(annotation, type) and issubclass(annotation, BaseModel) else "value"
    )


# --- measuring tool ---------------------------------------------------------------------------

CONSTANT = re.compile(r'((?:/// .+\n)+)pub const [A-Z_]+: &str = "([a-z-]+)";')
COMMANDS = re.compile(r"(?ms)^Commands:\n(.*?)\n\n")
STRUCT = re.compile(r"(?ms)^pub struct (\w+)[^{;]*\{\n(.*?)^\}")
RESULT = re.compile(r"(?ms)^optional_values! \{\n(.*?)^\}")
FIELD = re.compile(r"(?m)^    (?:pub )?(\w+): ")
SchemaPart = Mapping[str, typing.Any]


def probe_page() -> str:
    """The page of icprobe: its commands, record, flags, plans and topologies.

    The commands are those of the binary that `make probe` built; without it they stay as they are.
    """
    text = (REFERENCE / "probe.md").read_text(encoding="utf-8")
    parts = {
        "record": record_keys(),
        "flags": probe_flags(),
        "plans": table(("plan", "what it finds out", "what it repeats"), list(_plans())),
        "topologies": table(("topology", "what it is"), list(_topologies())),
    }
    if BINARY.is_file():
        parts["commands"] = probe_commands(BINARY)
    for name, part in parts.items():
        text = with_part(text, name, part)
    return text


def probe_flags() -> str:
    """Every flag, as the source explains it."""
    source = (PROBE / "src" / "flags.rs").read_text(encoding="utf-8")
    rows = [
        (f"`{word}`", " ".join(line.removeprefix("/// ") for line in about.splitlines()))
        for about, word in CONSTANT.findall(source)
    ]
    return table(("flag", "meaning"), rows)


def probe_commands(binary: Path) -> str:
    """What every command of this icprobe prints as its help."""
    return "\n".join(
        f"### {' '.join(('icprobe', *path))}\n\n```text\n{said}\n```\n"
        for path, said in _helps(binary, ())
    )


def _helps(binary: Path, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    said = subprocess.run(
        [binary, *path, "--help"],
        env={**os.environ, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    yield path, "\n".join(line.rstrip() for line in said.rstrip().splitlines())
    listed = COMMANDS.search(said)
    for name in re.findall(r"(?m)^  ([a-z]+) ", listed[1]) if listed else ():
        if name != "help":
            yield from _helps(binary, (*path, name))


def _by_name(folder: str) -> list[Path]:
    return sorted((PROBE / folder).glob("*.toml"), key=lambda path: path.stem)


def _plans() -> Iterator[tuple[str, ...]]:
    for path in _by_name("plans"):
        plan = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"`{plan['name']}`", plan["description"], plan["source"]


def _topologies() -> Iterator[tuple[str, ...]]:
    for path in _by_name("topologies"):
        topology = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"`{topology['name']}`", topology["description"]


def record_keys() -> str:
    """A table of keys for every part of a record, from the schema that the program prints."""
    schema = json.loads((PROBE / "record.schema.json").read_text(encoding="utf-8"))
    known = schema["$defs"]
    places: dict[str, list[str]] = {}
    for path, name in _parts(schema, known):
        places.setdefault(name, []).append(f"`{path}`")
    made = [f"### The record itself\n\n{_key_table(schema, known, 'Record')}"]
    for name, paths in places.items():
        about = _sentence(known[name].get("description", ""))
        keys_of = _key_table(known[name], known, name)
        made.append(f"### {', '.join(paths)}\n\n{about}\n\n{keys_of}")
    return "\n".join(made)


@functools.cache
def field_order() -> Mapping[str, tuple[str, ...]]:
    """The keys of each table as the source and every record have them; a schema sorts them."""
    order: dict[str, tuple[str, ...]] = {}
    for path in sorted((PROBE / "src").rglob("*.rs")):
        source = path.read_text(encoding="utf-8")
        order |= {name: tuple(FIELD.findall(body)) for name, body in STRUCT.findall(source)}
        if listed := RESULT.search(source):
            order["RunResult"] = tuple(FIELD.findall(listed[1]))
    return order


def _properties(part: SchemaPart, name: str) -> list[tuple[str, SchemaPart]]:
    """The keys of a table with their schemas, in the order of a record."""
    place = field_order()[name].index
    return sorted(part["properties"].items(), key=lambda one: place(one[0]))


def _parts(
    part: SchemaPart, known: SchemaPart, path: str = "", of: str = "Record"
) -> Iterator[tuple[str, str]]:
    """Path and definition of every table; `*` is either end, `[]` each one of a list."""
    for key, inner in _properties(part, of):
        place, target = f"{path}{key}", inner
        while "items" in target:
            place, target = f"{place}[]", target["items"]
        name = _definition(target)
        if name.startswith("Ends"):
            place, name = f"{place}.*", _definition(known[name]["properties"]["send"])
        if "properties" in known.get(name, {}):
            yield place, name
            yield from _parts(known[name], known, f"{place}.", name)


def _definition(part: SchemaPart) -> str:
    return str(part.get("$ref", "")).rpartition("/")[2]


def _key_table(part: SchemaPart, known: SchemaPart, name: str) -> str:
    needed = part.get("required", ())
    rows = [
        (
            f"`{key}`",
            _schema_kind(inner, known),
            "always" if key in needed else "",
            _sentence(inner.get("description", "")),
        )
        for key, inner in _properties(part, name)
    ]
    return table(("key", "value", "there", "meaning"), rows)


def _sentence(text: str) -> str:
    return " ".join(text.split()).replace("`None`", "null")


SCHEMA_KINDS = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "null": "null",
    "number": "number",
    "object": "table",
    "string": "text",
}


def _schema_kind(part: SchemaPart, known: SchemaPart) -> str:
    """The kind of a value for people."""
    name = _definition(part)
    if name.startswith("Ends"):
        each = known[name]["properties"]["send"]
        return f"`send`, `recv`: {_schema_kind(each, known)} each"
    if name:
        return _schema_kind(known[name], known)
    if "oneOf" in part:
        return ", ".join(f"`{one['const']}`" for one in part["oneOf"])
    if "items" in part:
        flags = "enum" in part["items"]
        return f"list of {'flags' if flags else _schema_kind(part['items'], known)}"
    kinds = part.get("type", "object")
    return " or ".join(
        SCHEMA_KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)
    )


def write(pages_of: Callable[[], Mapping[str, str]] = pages) -> None:
    """Write every made page."""
    for name, text in pages_of().items():
        (REFERENCE / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write()
