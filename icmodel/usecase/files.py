"""Finding, reading and starting use cases: bundled ones by name, a person's own by path."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from icmodel.dataset import shipped
from icmodel.documents import toml
from icmodel.errors import IcmodelError, UseCaseError
from icmodel.usecase.derivation import derive
from icmodel.usecase.document import SCHEMA_VERSION, UseCase
from icmodel.usecase.limits import requirements
from icmodel.usecase.spelling import SLUG_PATTERN, quantity_kind
from icmodel.usecase.template import TEMPLATE

KINDS = ("image", "samples", "goodput")


def usecase_names() -> tuple[str, ...]:
    """The names of the bundled use cases, sorted."""
    return tuple(sorted(path.stem for path in shipped("usecases").glob("*.toml")))


def find_usecase(name: str | Path) -> Path:
    """The file of a use case given by bundled name or by path.

    Raises
    ------
    UseCaseError
        If there is neither.
    """
    given = Path(name)
    if str(name) in usecase_names():
        return shipped("usecases") / f"{name}.toml"
    if given.is_file():
        return given
    *others, last = usecase_names()
    known = f"{', '.join(others)} or {last}"
    raise UseCaseError(
        f"there is no use case {str(name)!r}: take {known}, give the path "
        "of a TOML file, or start one with `icmodel usecases new`"
    )


def load_usecase(name: str | Path) -> UseCase:
    """Load and check a use case by bundled name or path: keys, units, names and sums.

    Raises
    ------
    UseCaseError
        If it is missing or breaks the format; the message names file, key and what is allowed.
    """
    path = find_usecase(name)
    return read_usecase(_read(path), path.name)


def read_usecase(text: str, file: str = "the use case") -> UseCase:
    """A checked use case of the text of its TOML; ``file`` names it in messages.

    Raises
    ------
    UseCaseError
        As `load_usecase`.
    """
    try:
        usecase = UseCase.model_validate(_document(text))
        requirements((*usecase.requirements, *usecase.readings), derive(usecase))
    except tomllib.TOMLDecodeError as error:
        raise UseCaseError(f"{file} is not valid TOML: {error}") from error
    except ValidationError as error:
        raise UseCaseError(f"{file}: {_first_problem(error)}") from error
    except IcmodelError as error:
        raise UseCaseError(f"{file}: {error}") from error
    return usecase


def _document(text: str) -> dict[str, Any]:
    document = toml(text)
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise UseCaseError(
            f"schema_version is {version!r}: this icmodel reads {SCHEMA_VERSION}, write "
            f"schema_version = {SCHEMA_VERSION} at the top"
        )
    return document


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UseCaseError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UseCaseError(f"{path} is not a text in UTF-8: {error.reason}") from error


def usecase_schema() -> dict[str, Any]:
    """The JSON Schema of a use case, both spellings of every quantity in it."""
    return UseCase.model_json_schema()


def new_usecase_text(name: str) -> str:
    """A commented use case to start from, as TOML; it evaluates as it stands.

    Raises
    ------
    UseCaseError
        If the name is not lower-case letters, digits and hyphens.
    """
    if not re.match(SLUG_PATTERN, name):
        raise UseCaseError(
            f"{name!r} cannot name a use case: take lower-case letters, digits and hyphens, "
            "starting with a letter, such as my-use-case"
        )
    return TEMPLATE.replace("NAME", name)


# --- messages ---------------------------------------------------------------------------------


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


def _first_problem(error: ValidationError) -> str:
    """The first thing wrong, as one sentence: where, what was given, what is allowed."""
    problem = error.errors(include_url=False)[0]
    where, kind, given = _place(problem["loc"]), problem["type"], problem["input"]
    if kind == "missing":
        return _missing(problem["loc"])
    if kind == "union_tag_not_found":
        return f"{where} has no kind: write kind = one of {', '.join(KINDS)}"
    if kind == "union_tag_invalid":
        return f"{where} has the kind {given['kind']!r}: the kinds are {', '.join(KINDS)}"
    said = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{where}: {said}" if where else said
    allowed = said.replace("Input should be", "it must be")
    return f"{where} is {given!r}: {WRONG_SHAPE.get(kind, allowed)}"


def _missing(loc: tuple[int | str, ...]) -> str:
    field = str(loc[-1])
    kind = quantity_kind(field)
    key = field.removesuffix(f"_{kind}") if kind else field
    where = _place(loc[:-1]) or "the file"
    return (
        f"{where} has no {key}: it is needed, `icmodel usecases new` shows an example of each key"
    )


def _place(loc: tuple[int | str, ...]) -> str:
    """``candidates no. 2, scenarios, picture``, without pydantic's own words."""
    place = ""
    for before, part in zip(("", *loc), loc, strict=False):
        if isinstance(part, int):
            place += f" no. {part + 1}"
        elif not (isinstance(before, int) and part in KINDS) and part != "[key]":
            place += f", {part}" if place else part
    return place
