"""Reading: a TOML text becomes a checked document, or one sentence that says what is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from icmodel.documents import toml
from icmodel.errors import IcmodelError
from icmodel.spelling import Document, quantity_kind

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
