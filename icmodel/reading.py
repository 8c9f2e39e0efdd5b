"""Read TOML texts as checked documents. An error lists all mistakes: one sentence for each, with its line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails

from icmodel import units
from icmodel.documents import is_file, toml
from icmodel.errors import (
    AT_LINE,
    Fault,
    IcmodelError,
    Mistake,
    Mistakes,
    Place,
    Refusal,
    UnitError,
    is_spelt,
)
from icmodel.ranges import MOST

# --- fields -----------------------------------------------------------------------------------

SLUG_PATTERN = r"^[a-z][a-z0-9-]*$"
REFERENCE_PATTERN = r"^[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*$"

Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN)]
"""Name of a use case, device, stream, budget or candidate: lower-case letters, digits, hyphens."""
Reference = Annotated[str, StringConstraints(pattern=REFERENCE_PATTERN)]
"""Name of a derived number, such as ``response.interconnect_s``."""
Text = Annotated[str, StringConstraints(min_length=1)]
Count = Annotated[int, Field(strict=True, ge=1, le=MOST)]
"""Whole number of at least 1, small enough to be exact as a float."""
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
LineRate = Annotated[float, Field(strict=True, ge=1, le=1e18)]
"""Rate of a link [b/s]."""
Factor = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False), units.parse_factor]
"""Ratio to a measured number, above 0; texts are read by `units.parse_factor`."""


def _least_and_greatest(value: object) -> object:
    """Convert the value of a `Span` field to a pair of least and greatest value; a single number becomes both."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (value, value)
    return tuple(value) if isinstance(value, list) else value


def _in_order(span: tuple[float, float] | None) -> tuple[float, float] | None:
    if span is not None and span[0] > span[1]:
        raise ValueError(
            f"the least value {span[0]:g} is above the greatest {span[1]:g}: swap them"
        )
    return span


_NUMBER_SCHEMA = {"type": "number", "minimum": 0}
Span = Annotated[
    tuple[NotNegative, NotNegative] | None,
    BeforeValidator(_least_and_greatest),
    AfterValidator(_in_order),
    WithJsonSchema(
        {
            "anyOf": [
                _NUMBER_SCHEMA,
                {"type": "array", "items": _NUMBER_SCHEMA, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
    units.parse_span,
]
"""Least and greatest value of a quantity; texts such as ``20 us .. 50 us`` are read by `units.parse_span`."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""Share, a number from 0 to 1."""


def is_reference(text: str) -> bool:
    """Whether a text is the name of a derived number, such as ``response.period_s``, rather than a quantity."""
    return re.match(REFERENCE_PATTERN, text) is not None


def quantity_kind(name: str) -> str | None:
    """Return the kind of quantity that the unit suffix of a field's name states, or None without a suffix.

    The kind is a key of `units.QUANTITIES`.

    Examples
    --------
    >>> quantity_kind("period_s"), quantity_kind("frames_per_s"), quantity_kind("title")
    ('s', 'fps', None)
    """
    if name.endswith("_per_s"):
        return "fps"
    if "_per_" in name:
        return None
    kind = name.rpartition("_")[2]
    return kind if kind in units.QUANTITIES and kind != name else None


class Document(BaseModel):
    """Base of the schemas of tables in TOML documents; tables are frozen, and unknown keys are errors.

    A field with a unit suffix has two spellings: ``within_s = 3e-6`` and ``within = "3 us"``. In a
    table or a list of quantities, such as ``quanta = { 5 = "9 kB" }``, each value has a unit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    @cache
    def text_spellings(cls) -> Mapping[str, str]:
        """Map the key that takes a text with a unit (``within = "2 ms"``) to its field in SI units (``within_s``)."""
        fields = {name: quantity_kind(name) for name in cls.model_fields}
        return {name.removesuffix(f"_{kind}"): name for name, kind in fields.items() if kind}

    @model_validator(mode="wrap")
    @classmethod
    def _read_table(cls, table: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Convert the quantities of a table, texts with units, to SI.

        If the table has several mistakes, one error reports all of them.
        """
        if not isinstance(table, dict):
            return handler(table)
        given: dict[str, Any] = table
        spellings, values, mistakes = cls.text_spellings(), dict[str, Any](), []
        for key, value in given.items():
            field = spellings.get(key, key)
            try:
                if field not in cls.model_fields:
                    raise ValueError(cls._unknown_key(key))
                if field in values:
                    raise ValueError(f"{field} is given twice: keep one of its two spellings")
                values[field] = cls._value_in_si(key, value, field) if key in spellings else value
            except ValueError as error:
                values.setdefault(field, None)
                known = field in cls.model_fields
                near = () if known else get_close_matches(field, cls.model_fields)
                close = tuple((name,) for name in near)
                fault = Fault(str(error), (field,), needs=(("kind",),), also=close)
                context = {"error": Refusal([fault])}
                mistakes.append(
                    (field, InitErrorDetails(type="value_error", input=value, ctx=context))
                )
        if not mistakes:
            return handler(values)
        skipped = {field for field, _ in mistakes}
        wrong = skipped | {
            name for key in skipped for name in get_close_matches(key, cls.model_fields)
        }
        found = [mistake for _, mistake in mistakes]
        try:
            handler({field: value for field, value in values.items() if field not in skipped})
        except ValidationError as error:
            for one in error.errors(include_url=False):
                if not (one["type"] == "missing" and one["loc"][0] in wrong):
                    found.append(_as_details(one))
        raise ValidationError.from_exception_data(cls.__name__, found)

    @classmethod
    def _unknown_key(cls, key: str) -> str:
        text_of = {field: text for text, field in cls.text_spellings().items()}
        keys = ", ".join(text_of.get(name, name) for name in cls.model_fields)
        return f"the key {key!r} is unknown: the keys here are {keys}; correct or remove it"

    @classmethod
    def _value_in_si(cls, key: str, value: object, field: str) -> object:
        """Convert the quantity under a key to SI; if the key has a table or list, convert each quantity in it.

        Words that the field allows in place of a quantity are kept.
        """
        annotation = cls.model_fields[field].annotation
        shape = get_origin(annotation)
        if isinstance(value, dict) and shape is dict:
            return {name: cls._quantity(f"{key}.{name}", one, field) for name, one in value.items()}
        if shape is tuple and isinstance(value, str):
            raise ValueError(f'{key} = "{value}" is one value: write a list, {key} = ["{value}"]')
        if isinstance(value, list) and shape is tuple:
            words = _literals(annotation)
            return [one if one in words else cls._quantity(key, one, field) for one in value]
        return cls._quantity(key, value, field)

    @classmethod
    def _quantity(cls, key: str, value: object, field: str) -> object:
        if not isinstance(value, str):
            raise ValueError(
                f"{key} = {value!r} has no unit: write a text with its unit, or {field} = "
                f"{value!r} for a number in SI"
            )
        info = cls.model_fields[field]
        if Reference in get_args(info.annotation) and is_reference(value):
            return value
        try:
            if units.parse_factor in info.metadata:
                return units.parse_factor(value)
            if units.parse_span in info.metadata:
                return units.parse_span(quantity_kind(field) or "", value)
            return units.parse(quantity_kind(field) or "", value)
        except UnitError as error:
            raise ValueError(f"{key}: {error}") from error

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema of the table.

        It allows both spellings of every quantity: a text with its unit (``within``), or a number in SI (``within_s``).
        """
        schema = handler.resolve_ref_schema(handler(core))
        properties, required = schema["properties"], set(schema.get("required", []))
        for key, field in cls.text_spellings().items():
            text: JsonSchemaValue = {
                "type": "string",
                "description": f"{field} as a text with its unit",
            }
            properties[key] = {
                "object": {"type": "object", "additionalProperties": text},
                "array": {"type": "array", "items": text},
            }.get(properties[field].get("type"), text)
            rule: dict[str, object] = {"not": {"required": [key, field]}}
            if field in required:
                required.remove(field)
                rule = {"oneOf": [{"required": [key]}, {"required": [field]}]}
            schema.setdefault("allOf", []).append(rule)
        schema["required"] = [name for name in schema.get("required", []) if name in required]
        return schema


def _as_details(error: ErrorDetails) -> InitErrorDetails:
    """Convert an entry of pydantic's ``ValidationError.errors()`` to an entry for a new ValidationError."""
    details = InitErrorDetails(type=error["type"], loc=error["loc"], input=error["input"])
    if "ctx" in error:
        details["ctx"] = error["ctx"]
    return details


def _literals(annotation: Any) -> tuple[object, ...]:
    """Return all values of ``Literal`` in the type annotation of a field, such as ``int | Literal["aligned"]``.

    They are the words that the field allows in place of a quantity.
    """
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(word for part in get_args(annotation) for word in _literals(part))


# --- documents --------------------------------------------------------------------------------

D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Form(Generic[D]):
    """Kind of document: its schema, version and error class.

    Parameters
    ----------
    model : type
        Class of the checked document.
    version : int
        ``schema_version`` of the document.
    error : type
        Error to raise for a damaged document.
    kinds : mapping
        For each table that has a key ``kind``: name of the table -> possible values of the key.
    example : str
        End of the error message about a missing key; it tells where to find an example.
    samples : callable
        Function that returns placeholders for a document: valid values for its keys.  They replace wrong or missing
        values, so that the rest of the document can be checked.  The result maps a key to its placeholder, and the name
        of a list of tables to such a mapping for the tables in the list.
    """

    model: type[D]
    version: int
    error: type[IcmodelError]
    kinds: Mapping[str, tuple[str, ...]]
    example: str
    samples: Callable[[Mapping[str, Any]], Mapping[str, Any]]


def read_file(path: Path, error: type[IcmodelError]) -> str:
    """Read the text of a file.

    Raises
    ------
    IcmodelError
        If the file cannot be read or is not UTF-8; ``error`` is the class of the exception.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason.strerror}") from reason
    except UnicodeDecodeError as reason:
        raise error(f"{path} is not a text in UTF-8: {reason.reason}") from reason


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Name and hash of a file that was read.

    The name is without the folder: ``imaging`` for a bundled file, ``own.toml`` for a file of the user.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class TomlFiles:
    """TOML files of one kind: bundled files, found by name, and the user's own files, found by path.

    Parameters
    ----------
    kind : str
        Name of the kind in messages, such as ``use case``.
    new : str
        Command that starts a file, such as ``icmodel usecases new``.
    folder : Path
        Folder of the bundled files.
    error : type
        Class of the errors.
    """

    kind: str
    new: str
    folder: Path
    error: type[IcmodelError]

    def names(self) -> tuple[str, ...]:
        """Return the names of the bundled files, sorted."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.toml")))

    def find(self, name: str | Path) -> Path:
        """Find a file by bundled name or by path.

        Raises
        ------
        IcmodelError
            If no bundled file and no other file has this name, or the file cannot be read.
        """
        path = Path(name)
        if str(name) in self.names():
            return self.folder / f"{name}.toml"
        try:
            if is_file(path):
                return path
        except OSError as error:
            raise self.error(f"{path} cannot be read: {error.strerror}") from error
        *others, last = self.names()
        raise self.error(
            f"there is no {self.kind} {str(name)!r}: use {', '.join(others)} or {last}, give the path of a "
            f"TOML file, or start one with `{self.new}`"
        )

    def source(self, name: str | Path) -> SourceFile:
        """Find a file by bundled name or by path, and return its name and hash."""
        path = self.find(name)
        text = read_file(path, self.error)
        shown = path.stem if path.parent == self.folder else path.name
        return SourceFile(shown, hashlib.sha256(text.encode()).hexdigest())

    def argument(self, name: str, file: SourceFile | None) -> str:
        """Return the argument that names a document in a command line, such as ``imaging`` or ``own.toml``.

        For a document that was read from a file, it is the name of ``file``. For other documents (``file`` is None), it
        is ``name``, the value of the document's key ``name``. If no bundled file has this name, ``.toml`` is appended.
        """
        if file is not None:
            return file.name
        return name if name in self.names() else f"{name}.toml"

    def new_text(self, name: str, template: str) -> str:
        """Return the text of a new file: ``template``, with ``NAME`` replaced by the given name.

        Raises
        ------
        IcmodelError
            If the name has other characters than lower-case letters, digits and hyphens, or does not start with a
            letter.
        """
        if not re.match(SLUG_PATTERN, name):
            raise self.error(
                f"{name!r} cannot name a {self.kind}: use lower-case letters, digits and hyphens, starting "
                f"with a letter, such as my-{self.kind.replace(' ', '-')}"
            )
        return template.replace("NAME", name)


def read_document(text: str, file: str, form: Form[D]) -> tuple[D | None, Mistakes]:
    """Check the document in a TOML text; ``file`` is the name of the file in messages.

    Returns
    -------
    document : Document, optional
        The document without wrong values, so that it can be checked further; None if no valid document is left.
    mistakes : Mistakes
        All mistakes of keys, shapes and units.

    Raises
    ------
    IcmodelError
        If the text is not TOML, or has another version.  The class of the exception is ``form.error``.
    """
    mistakes = Mistakes(file, text)
    try:
        given = mistakes.document = toml(text)
    except ValueError as error:
        at = AT_LINE.search(str(error))
        refusal = form.error(f"{file} is not valid TOML: {error}")
        refusal.mistakes = (Mistake(f"not valid TOML: {error}", int(at[1]) if at else None),)
        raise refusal from error
    version = given.get("schema_version")
    if version != form.version:
        stated = (
            f"schema_version is {version!r}" if version is not None else "schema_version is missing"
        )
        text = (
            f"{stated}: this icmodel reads version {form.version}, so write "
            f"schema_version = {form.version} at the top"
        )
        mistakes.add(Fault(text, ("schema_version",)))
        mistakes.refuse(form.error)
    return _sound_part(given, form, mistakes), mistakes


MOST_ROUNDS = 8
"""Greatest number of times that wrong values are removed from a document."""


def _sound_part(given: Mapping[str, Any], form: Form[D], mistakes: Mistakes) -> D | None:
    """Add the mistakes of a document to ``mistakes``, and return the document without its wrong values.

    A wrong optional value is removed.  A wrong required value is replaced by a valid one, its placeholder in
    `Form.samples`; without a placeholder, its table is removed.  The result is None if no valid document is left.
    """
    rest = dict(given)
    for _ in range(MOST_ROUNDS):
        try:
            return form.model.model_validate(rest)
        except ValidationError as error:
            faults = [one for each in independent_mistakes(error) for one in faults_of(each, form)]
        if rest == given:
            rest = deepcopy(rest)
        for fault in faults:
            mistakes.add(fault)
            mistakes.replace(fault.place)
            _remove(rest, fault.place, form.samples(given))
        for part, tables in rest.items():
            if isinstance(tables, list):
                numbers = mistakes.numbers.get(part, range(len(tables)))
                kept = [at for at, table in enumerate(tables) if table is not REMOVED]
                mistakes.numbers[part] = [numbers[at] for at in kept]
                tables[:] = [tables[at] for at in kept]
    return None


REMOVED = object()


def _remove(rest: dict[str, Any], place: Place, samples: Mapping[str, Any]) -> None:
    """Remove the faulty value at the path ``place`` from a document, so that the rest can be checked.

    If the path leads to no value, the fault is a missing required value.  It gets its placeholder from ``samples``.  If
    ``samples`` has none, the table that lacks the value is removed.
    """
    way: list[tuple[Any, Any]] = []
    inside: Any = rest
    for part in place:
        if isinstance(inside, dict):
            step = next((key for key in inside if is_spelt(part, key)), None)
        else:
            step = part if isinstance(inside, list) and part in range(len(inside)) else None
        if step is None:
            key = str(part)
            own = samples.get(str(place[len(way) - 2]), {}) if len(way) > 1 else samples
            if key in own and isinstance(inside, dict):
                inside[key] = own[key]
                return
            break
        way.append((inside, step))
        inside = inside[step]
    while len(way) > 2 and isinstance(way[-1][0], list):
        way.pop()
    if way:
        holder, key = way[-1]
        if isinstance(holder, list):
            holder[key] = REMOVED
        else:
            for same in [one for one in holder if is_spelt(key, one) or is_spelt(one, key)]:
                del holder[same]


WRONG_SHAPE = {
    "string_type": "write a text in quotes; a quantity needs a unit",
    "string_pattern_mismatch": "use lower-case letters, digits and hyphens, and start with a letter",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "tuple_type": "write a list; a list of tables needs [[ ]] around the name",
    "model_type": "write one table, with [ ] around its name",
    "dict_type": "write a table such as { video = 1 }",
}
"""Advice in errors about a value of the wrong type, by pydantic's name of the problem."""


def independent_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Remove mistakes that only follow from other mistakes of a document.

    If a list has wrong items, it is not reported as too short.  If a key is misspelt, it is not reported as missing.
    """
    found = error.errors(include_url=False)
    places = [one["loc"] for one in found]
    unknown = [one["loc"] for one in found if one["type"] == "extra_forbidden"]

    def follows(one: ErrorDetails) -> bool:
        loc = one["loc"]
        if one["type"] == "too_short":
            return any(len(place) > len(loc) and place[: len(loc)] == loc for place in places)
        misspelt = [str(place[-1]) for place in unknown if place[:-1] == loc[:-1]]
        return one["type"] == "missing" and bool(get_close_matches(str(loc[-1]), misspelt))

    return [one for one in found if not follows(one)]


def faults_of(problem: ErrorDetails, form: Form[D]) -> list[Fault]:
    """Convert an error of pydantic to faults, whose texts name the key, its value, and the allowed values."""
    problem_type, value = problem["type"], problem["input"]
    place = _place(problem["loc"], form.kinds)
    where = _in_words(place)
    if problem_type == "missing":
        field = str(place[-1])
        key = field.removesuffix(f"_{quantity_kind(field)}")
        table = _in_words(place[:-1]) or "the file"
        text = f"{table} has no {key}: it is needed, {form.example}"
        return [Fault(text, place, ((*place[:-1], "kind"),))]
    if problem_type.startswith("union_tag"):
        kinds = next((form.kinds[str(part)] for part in reversed(place) if part in form.kinds), ())
        if problem_type == "union_tag_not_found":
            text = f"{where} has no kind: write kind = one of {', '.join(kinds)}"
        else:
            text = f"{where} has the kind {value['kind']!r}: the kinds are {', '.join(kinds)}"
        return [Fault(text, (*place, "kind"))]
    error = problem.get("ctx", {}).get("error")
    if isinstance(error, Refusal):
        return [
            one._replace(
                text=f"{where}: {one.text}" if where else one.text,
                place=(*place, *one.place),
                needs=tuple((*place, *other) for other in one.needs),
                also=tuple((*place, *other) for other in one.also),
            )
            for one in error.faults
        ]
    message = problem["msg"].removeprefix("Value error, ")
    if problem_type == "value_error":
        return [Fault(f"{where}: {message}" if where else message, place)]
    allowed = message.replace("Input should be", "it must be")
    if problem_type == "too_short":
        allowed = f"it must have at least {problem['ctx']['min_length']}"
    return [Fault(f"{where} is {value!r}: {WRONG_SHAPE.get(problem_type, allowed)}", place)]


def _place(loc: tuple[int | str, ...], kinds: Mapping[str, tuple[str, ...]]) -> Place:
    """Convert pydantic's location of a mistake to a `Place`, the path to the wrong value in the file.

    If a table has several kinds (key ``kind``), pydantic's location also has the name of the kind, which is left out.
    """
    place, key = list[int | str | None](), ""
    for part in loc:
        if isinstance(part, str) and part in kinds.get(key, ()):
            key = ""  # the name of a kind may also be a key of its table
        elif part != "[key]":
            place.append(part)
            key = part if isinstance(part, str) else key
    return tuple(place)


def _in_words(place: Place) -> str:
    """Describe the path to a value as text, such as ``candidates no. 2, scenarios, picture``."""
    parts = (f" no. {part + 1}" if isinstance(part, int) else f", {part}" for part in place)
    return "".join(parts).removeprefix(", ")
