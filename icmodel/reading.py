"""Reading: a TOML text becomes a checked document, or one sentence that says what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from icmodel import units
from icmodel.documents import toml
from icmodel.errors import IcmodelError, UnitError
from icmodel.ranges import MOST

SLUG_PATTERN = r"^[a-z][a-z0-9-]*$"
REFERENCE_PATTERN = r"^[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*$"

Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
"""Name of a use case, or of a device, stream, budget or candidate of one: lower case, digits, hyphens."""
Reference = Annotated[str, StringConstraints(pattern=REFERENCE_PATTERN)]
"""Name of a derived number, such as ``response.interconnect_s``."""
Text = Annotated[str, StringConstraints(min_length=1)]
Count = Annotated[int, Field(strict=True, ge=1, le=MOST)]
"""A whole number that is exact as a float."""
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Factor = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False), units.parse_factor]
"""A number relative to what was measured; its texts have their own parser."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A part of a whole, 0 to 100 %."""


def is_reference(text: str) -> bool:
    """Whether a text names a derived number; quantities start with a digit."""
    return re.match(REFERENCE_PATTERN, text) is not None


def quantity_kind(name: str) -> str | None:
    """The kind of quantity by the suffix of a name, a key of `units.QUANTITIES`; ``None`` if none."""
    if name.endswith("_per_s"):
        return "fps"
    if "_per_" in name:
        return None
    kind = name.rpartition("_")[2]
    return kind if kind in units.QUANTITIES and kind != name else None


def _words(annotation: Any) -> tuple[object, ...]:
    """The words that may stand in place of a quantity: all literals of an annotation."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) for word in _words(part))


def _texts(field: str, kind: object) -> JsonSchemaValue:
    """The schema of a quantity as a text, or of a table or a list of such."""
    text = {"type": "string", "description": f"{field} as a text with its unit"}
    if kind == "object":
        return {"type": "object", "additionalProperties": text}
    return {"type": "array", "items": text} if kind == "array" else text


class Document(BaseModel):
    """A table of a document: keys it does not know are refused, and it is frozen.

    A field with a unit suffix has two spellings: ``within_s = 3e-6`` and ``within = "3 us"``; in a table
    or a list of quantities, such as ``quanta = { 5 = "9 kB" }``, each value has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def text_spellings(cls) -> dict[str, str]:
        """Key without unit suffix -> field with it."""
        fields = {name: quantity_kind(name) for name in cls.model_fields}
        return {name.removesuffix(f"_{kind}"): name for name, kind in fields.items() if kind}

    @model_validator(mode="before")
    @classmethod
    def _in_si(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        table: dict[str, Any] = given
        texts = cls.text_spellings()
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in texts and key not in cls.model_fields:
                raise ValueError(f"the key {key!r} is unknown: {cls._allowed()}")
            field = texts.get(key, key)
            if field in values:
                raise ValueError(f"{field} is given twice: keep one of its two spellings")
            values[field] = cls._read(key, value, field) if key in texts else value
        return values

    @classmethod
    def _read(cls, key: str, value: object, field: str) -> object:
        shape = get_origin(cls.model_fields[field].annotation)
        if isinstance(value, dict) and shape is dict:
            return {name: cls._quantity(f"{key}.{name}", one, field) for name, one in value.items()}
        if isinstance(value, list) and shape is tuple:
            words = _words(cls.model_fields[field].annotation)
            return [one if one in words else cls._quantity(key, one, field) for one in value]
        return cls._quantity(key, value, field)

    @classmethod
    def _quantity(cls, key: str, value: object, field: str) -> object:
        if not isinstance(value, str):
            raise ValueError(
                f"{key} = {value!r} has no unit: write a text with its unit, or {field} = "
                f"{value!r} for a number in SI"
            )
        if Reference in get_args(cls.model_fields[field].annotation) and is_reference(value):
            return value
        own = units.parse_factor in cls.model_fields[field].metadata
        try:
            return (
                units.parse_factor(value) if own else units.parse(quantity_kind(field) or "", value)
            )
        except UnitError as error:
            raise ValueError(f"{key}: {error}") from error

    @classmethod
    def _allowed(cls) -> str:
        text_of = {field: key for key, field in cls.text_spellings().items()}
        keys = [text_of.get(name, name) for name in cls.model_fields]
        return f"the keys here are {', '.join(keys)}; correct or remove it"

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The JSON Schema with both spellings of every quantity."""
        schema = handler.resolve_ref_schema(handler(core))
        properties, required = schema["properties"], set(schema.get("required", []))
        for key, field in cls.text_spellings().items():
            properties[key] = _texts(field, properties[field].get("type"))
            rule: dict[str, object] = {"not": {"required": [key, field]}}
            if field in required:
                required.remove(field)
                rule = {"oneOf": [{"required": [key]}, {"required": [field]}]}
            schema.setdefault("allOf", []).append(rule)
        schema["required"] = [name for name in schema.get("required", []) if name in required]
        return schema


D = TypeVar("D", bound=Document)

WRONG_SHAPE = {
    "string_type": "write a text in quotes, a quantity with its unit",
    "string_pattern_mismatch": "take lower-case letters, digits and hyphens, starting with a letter",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "tuple_type": "write a list, for tables with [[ ]] around the name",
    "model_type": "write one table, with [ ] around its name",
    "dict_type": "write a table such as { video = 1 }",
}
"""What to do about a value of the wrong shape, by pydantic's name of the problem."""


@dataclass(frozen=True)
class Form(Generic[D]):
    """A kind of document.

    Parameters
    ----------
    error : type
        What is raised of one that is damaged.
    kinds : mapping
        Key of tables that differ by their ``kind`` -> what that can be.
    example : str
        Where an example of each key is seen, for a key that is missing.
    """

    model: type[D]
    version: int
    error: type[IcmodelError]
    kinds: Mapping[str, tuple[str, ...]]
    example: str


def read_file(path: Path, error: type[IcmodelError]) -> str:
    """The text of a file.

    Raises
    ------
    IcmodelError
        If it cannot be read or is no UTF-8, as ``error``.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason.strerror}") from reason
    except UnicodeDecodeError as reason:
        raise error(f"{path} is not a text in UTF-8: {reason.reason}") from reason


def read_text(text: str, file: str, form: Form[D]) -> D:
    """The checked document of a TOML text; ``file`` names it in messages.

    Raises
    ------
    IcmodelError
        As the form's own error, the first thing that is wrong in one sentence.
    """
    try:
        return form.model.model_validate(_tables(text, form))
    except tomllib.TOMLDecodeError as error:
        raise form.error(f"{file} is not valid TOML: {error}") from error
    except ValidationError as error:
        raise form.error(f"{file}: {first_problem(error, form)}") from error
    except IcmodelError as error:
        raise form.error(f"{file}: {error}") from error


def _tables(text: str, form: Form[D]) -> dict[str, Any]:
    document = toml(text)
    version = document.get("schema_version")
    if version != form.version:
        raise form.error(
            f"schema_version is {version!r}: this icmodel reads {form.version}, write "
            f"schema_version = {form.version} at the top"
        )
    return document


def first_problem(error: ValidationError, form: Form[D]) -> str:
    """The first thing wrong, as one sentence: where, what was given, what is allowed."""
    problem = error.errors(include_url=False)[0]
    where, kind, given = _place(problem["loc"], form.kinds), problem["type"], problem["input"]
    if kind == "missing":
        return _missing(problem["loc"], form)
    if kind.startswith("union_tag"):
        kinds = ", ".join(_kinds(problem["loc"], form))
        if kind == "union_tag_not_found":
            return f"{where} has no kind: write kind = one of {kinds}"
        return f"{where} has the kind {given['kind']!r}: the kinds are {kinds}"
    said = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{where}: {said}" if where else said
    allowed = said.replace("Input should be", "it must be")
    if kind == "too_short":
        allowed = f"it must have at least {problem['ctx']['min_length']}"
    return f"{where} is {given!r}: {WRONG_SHAPE.get(kind, allowed)}"


def _kinds(loc: tuple[int | str, ...], form: Form[D]) -> tuple[str, ...]:
    """What the kind of the table at a place can be."""
    keys = [part for part in loc if isinstance(part, str)]
    return next((form.kinds[key] for key in reversed(keys) if key in form.kinds), ())


def _missing(loc: tuple[int | str, ...], form: Form[D]) -> str:
    field = str(loc[-1])
    kind = quantity_kind(field)
    key = field.removesuffix(f"_{kind}") if kind else field
    where = _place(loc[:-1], form.kinds) or "the file"
    return f"{where} has no {key}: it is needed, {form.example}"


def _place(loc: tuple[int | str, ...], kinds: Mapping[str, tuple[str, ...]]) -> str:
    """``candidates no. 2, scenarios, picture``, without pydantic's own words."""
    place, key = "", ""
    for part in loc:
        if isinstance(part, int):
            place += f" no. {part + 1}"
        elif part in kinds.get(key, ()):
            key = ""  # a key of the kind's table may have its name
        elif part != "[key]":
            place, key = f"{place}, {part}" if place else part, part
    return place
