"""Page of the public Python names: signatures and docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cached_property

import icmodel
from docs_reference.docstrings import docstring
from docs_reference.markdown import MADE, one_line, prose, table
from icmodel.estimate import Estimate

ROOMS: Mapping[str, tuple[str, ...]] = {
    "icmodel.theory": (),
    "icmodel.theory.ethernet": (),
    "icmodel.theory.infiniband": (),
    "icmodel.theory.roce": (),
    "icmodel.theory.rapidio": (),
    "icmodel.units": (),
    "icmodel.plotting": ("Plot", "grid_plot"),
    "icmodel.probing": ("Probe", "find_probe", "check_probe"),
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
    "icmodel.system": (
        "load",
        "predict",
        "SystemPrediction",
        "load_checked",
        "read_system",
        "system_names",
        "system_schema",
        "check",
        "Finding",
        "System",
        "Device",
        "Switch",
        "Link",
        "Port",
        "Stream",
        "Producer",
        "StreamRequirement",
    ),
    "icmodel.sheets": (
        "Chart",
        "Page",
        "Sheet",
        "answer_sheet",
        "document_pages",
        "read_sheet",
        "write_living_workbook",
        "write_pages",
        "write_sheet",
        "write_template",
    ),
    "icmodel.system.formats": ("import_system", "export_system"),
    "icmodel.verify": ("Verification", "VerifyOptions"),
}
"""Public modules below `icmodel` -> names; an empty tuple means all public names defined there."""


INNER = frozenset({"Dataset.html_facts", "Model.ground", "Model.question", "Model.rules"})
"""Members that are public for icmodel's own modules only."""


def api_page() -> str:
    """Make the page: every public name with its signature and docstring."""
    intro = (
        "The names of `import icmodel` come first, and then those of its modules. A quantity with a unit "
        "suffix is a number in SI. A quantity without one is a text with a [unit](units.md).\n"
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
    return f"## {name}\n\n{prose(inspect.getdoc(module) or '')}\n\n{entries}"


def _defined(module: types.ModuleType) -> Iterator[str]:
    for name, thing in vars(module).items():
        here = getattr(thing, "__module__", None) == module.__name__
        if here and not name.startswith("_") and callable(thing):
            yield name


def _entry(name: str, thing: object) -> str:
    record = _is_record(thing)
    signature = "" if record else f"```text\n{_signature(name, thing)}\n```\n\n"
    text = f"### {name}\n\n{signature}{docstring(inspect.getdoc(thing) or '')}\n"
    return text + (_members(thing) if isinstance(thing, type) else "")


def _is_record(thing: object) -> bool:
    """Whether a user only reads a dataclass and never makes it; its fields are then a table."""
    text = inspect.getdoc(thing) or ""
    return (
        isinstance(thing, type) and dataclasses.is_dataclass(thing) and "Parameters\n" not in text
    )


def _signature(name: str, thing: object) -> str:
    """Return a signature as it is written, with one parameter per line if it is long."""
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
    """Return an annotation as it is written, without names of modules."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)


def _members(thing: type) -> str:
    """Return the fields of a record, then the public methods and properties of the class."""
    parts = [_fields(thing)] if _is_record(thing) else []
    for name, member in vars(thing).items():
        if name.startswith("_") or f"{thing.__name__}.{name}" in INNER:
            continue
        if isinstance(member, property | cached_property):
            parts.append(f"**`{name}`** (property): {_first(member)}\n\n")
        elif inspect.isfunction(member):
            signature = _signature(name, member)
            parts.append(f"#### {thing.__name__}.{name}\n\n```text\n{signature}\n```\n\n")
            parts.append(docstring(inspect.getdoc(member) or "") + "\n")
    return "".join(parts)


def _fields(thing: type) -> str:
    made = typing.cast("type[Estimate]", thing)  # any dataclass
    rows = [(f"`{f.name}`", f"`{_annotation(f.type)}`") for f in dataclasses.fields(made)]
    return table(("field", "type"), rows) + "\n"


def _first(thing: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return one_line((inspect.getdoc(thing) or "").partition("\n\n")[0])
