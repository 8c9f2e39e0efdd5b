"""TOML of a document: plain values first, then tables, then lists of tables, each as given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from icmodel.errors import IcmodelError

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
