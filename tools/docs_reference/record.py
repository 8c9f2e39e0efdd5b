"""Tables of the keys of every part of a record, from the schema that the probe prints."""

from __future__ import annotations

import functools
import json
import re
import typing
from collections.abc import Iterator, Mapping

from docs_reference.markdown import table
from docs_reference.places import PROBE

STRUCT = re.compile(r"(?ms)^pub struct (\w+)[^{;]*\{\n(.*?)^\}")
RESULT = re.compile(r"(?ms)^optional_values! \{\n(.*?)^\}")
FIELD = re.compile(r"(?m)^    (?:pub )?(\w+): ")
SchemaPart = Mapping[str, typing.Any]


def record_keys() -> str:
    """Make a table of keys for every part of a record, from the schema that the probe prints."""
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
    """Return the keys of each table in the order of source and records; a schema sorts them."""
    order: dict[str, tuple[str, ...]] = {}
    for path in sorted((PROBE / "src").rglob("*.rs")):
        source = path.read_text(encoding="utf-8")
        order |= {name: tuple(FIELD.findall(body)) for name, body in STRUCT.findall(source)}
        if listed := RESULT.search(source):
            order["RunResult"] = tuple(FIELD.findall(listed[1]))
    return order


def _properties(part: SchemaPart, name: str) -> list[tuple[str, SchemaPart]]:
    """Return the keys of a table with their schemas, in the order of a record."""
    place = field_order()[name].index
    return sorted(part["properties"].items(), key=lambda one: place(one[0]))


def _parts(
    part: SchemaPart, known: SchemaPart, path: str = "", of: str = "Record"
) -> Iterator[tuple[str, str]]:
    """Yield path and definition of every table; `*` is either end, `[]` each item of a list."""
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
    """Return the kind of a value in plain words."""
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
