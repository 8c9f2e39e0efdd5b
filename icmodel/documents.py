"""Documents: TOML and JSON as somebody wrote them, where what is damaged is a `ValueError`; and JSON as icmodel writes it.

The parsers of Python raise further errors for documents that nobody means: too deep a nesting ends
in a `RecursionError`, a number of thousands of digits in another one. Here each is the one that
the parser has for a damaged document, so that a caller handles all of them alike.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

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
    return number_or_none(value) if isinstance(value, float) else value


def json_of(record: object, *names: str) -> dict[str, Any]:
    """The JSON form of some attributes of a record, by their names."""
    return {name: plain(getattr(record, name)) for name in names}


def number_or_none(value: float) -> float | None:
    """A number as JSON knows it: NaN and infinities become ``None``."""
    return value if math.isfinite(value) else None


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


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDE = 100
"""Lists longer than this stand one item a line."""


def toml_text(document: Mapping[str, object]) -> str:
    """The document as TOML 1.0; reading it gives an equal one.

    Raises
    ------
    IcmodelError
        If a value has no spelling in TOML: text, whole number, number, true or false, list, table.
    """
    return "\n".join(_table((), document)).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], table: Mapping[str, object]) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not _is_nested(value)}
    if path and (plain or not table):
        yield f"\n[{_name(path)}]"
    yield from _plain(plain)
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _table((*path, key), value)
    for key, value in table.items():
        if _is_tables(value):
            yield from _list_of_tables((*path, key), value)


def _list_of_tables(path: tuple[str, ...], tables: object) -> Iterator[str]:
    assert isinstance(tables, Sequence)
    for table in tables:
        yield f"\n[[{_name(path)}]]"
        plain = {key: value for key, value in table.items() if not _is_nested(value)}
        yield from _plain(plain)
        for key, value in table.items():
            if isinstance(value, Mapping):
                yield from _table((*path, key), value)
            elif _is_tables(value):
                yield from _list_of_tables((*path, key), value)


def _plain(table: Mapping[str, object]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_value(value)}"


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping) or _is_tables(value)


def _is_tables(value: object) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(item, Mapping) for item in value)


def _name(path: tuple[str, ...]) -> str:
    return ".".join(_key(part) for part in path)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, list | tuple):
        return _list(value)
    raise IcmodelError(
        f"{value!r} cannot stand in TOML: text, numbers, true, false, lists and tables can; "
        "leave out what is not known"
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


def _list(values: Sequence[object]) -> str:
    items = [_value(item) for item in values]
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDE:
        return line
    return "[\n" + "".join(f"  {item},\n" for item in items) + "]"


def _inline(table: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in table.items()) + " }"


def _text(text: str) -> str:
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if ord(character) < 0x20 or ord(character) == 0x7F:
        return f"\\u{ord(character):04X}"
    return character


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key; keys and values keep their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
