"""Finding, reading and starting use cases: bundled ones by name, a person's own by path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from icmodel.dataset import shipped
from icmodel.errors import IcmodelError, UseCaseError
from icmodel.reading import Form, read_file, read_text
from icmodel.spelling import SLUG_PATTERN
from icmodel.usecase.derivation import Derivations, derive
from icmodel.usecase.document import SCHEMA_VERSION, UseCase
from icmodel.usecase.limits import requirements
from icmodel.usecase.template import TEMPLATE

FORM = Form(
    UseCase,
    SCHEMA_VERSION,
    UseCaseError,
    kinds={"streams": ("image", "samples", "goodput")},
    example="`icmodel usecases new` shows an example of each key",
)


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
    return load_derived(name)[0]


def load_derived(name: str | Path) -> tuple[UseCase, Derivations]:
    """A use case as of `load_usecase`, and the numbers that follow from it."""
    path = find_usecase(name)
    return _derived(read_file(path, UseCaseError), path.name)


def read_usecase(text: str, file: str = "the use case") -> UseCase:
    """A checked use case of the text of its TOML; ``file`` names it in messages.

    Raises
    ------
    UseCaseError
        As `load_usecase`.
    """
    return _derived(text, file)[0]


def _derived(text: str, file: str) -> tuple[UseCase, Derivations]:
    usecase = read_text(text, file, FORM)
    try:
        made = derive(usecase)
        requirements((*usecase.requirements, *usecase.readings), made)
    except IcmodelError as error:
        raise UseCaseError(f"{file}: {error}") from error
    return usecase, made


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
