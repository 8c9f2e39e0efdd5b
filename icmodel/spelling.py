"""Document: a TOML table in which a quantity is a text with its unit or a number in SI."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from icmodel import units
from icmodel.errors import UnitError
from icmodel.possible import MOST

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
