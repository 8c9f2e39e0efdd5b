"""Documents: TOML and JSON as somebody wrote them, where what is damaged is a `ValueError`; and JSON as icmodel writes it.

The parsers of Python raise further errors for documents that nobody means: too deep a nesting ends
in a `RecursionError`, a number of thousands of digits in another one. Here each is the one that
the parser has for a damaged document, so that a caller handles all of them alike.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from icmodel.errors import IcmodelError

MOST_NESTED = 64
"""Tables and lists within one another; documents of icmodel and of measuring tools have ten."""
_TOO_DEEP = f"it is nested deeper than {MOST_NESTED} levels, which no document needs"


def toml(text: str) -> dict[str, Any]:
    """The tables of a TOML document.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is no TOML, or nested or numbered beyond what any document is.
    """
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise tomllib.TOMLDecodeError(str(error)) from error
    if is_too_deep(document):
        raise tomllib.TOMLDecodeError(_TOO_DEEP)
    return document


def toml_file(path: Path, error: type[IcmodelError]) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises
    ------
    IcmodelError
        If it cannot be read or is no TOML, as ``error``.
    """
    try:
        return toml(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason.strerror}") from reason
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise error(f"{path} is not valid TOML: {reason}") from reason


def json_value(text: str | bytes) -> object:
    """What a JSON document holds.

    Raises
    ------
    ValueError
        If it is no JSON, or nested or numbered beyond what any document is.
    """
    import json  # not needed to answer a question

    try:
        document: object = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if is_too_deep(document):
        raise ValueError(_TOO_DEEP)
    return document


def json_text(document: Mapping[str, object]) -> str:
    """A document as JSON, two spaces deep; of numbers that JSON does not know a `ValueError`."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def by_field(record: Any) -> dict[str, Any]:
    """The JSON form of a record: its fields by name, each as `plain` has it."""
    return {one.name: plain(getattr(record, one.name)) for one in fields(record)}


def plain(value: Any) -> Any:
    """A value as JSON knows it: records by their fields, sequences as lists, and ``None`` for an unknown number."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return by_field(value)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_too_deep(document: object) -> bool:
    """Whether tables and lists are nested deeper than `MOST_NESTED` levels."""
    level = [document]
    for _ in range(MOST_NESTED):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return False
    return True


def _parts(one: object) -> list[object]:
    """The tables and lists that stand right within one."""
    within = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return [part for part in within if isinstance(part, dict | list)]
