"""Read and write TOML and JSON documents, and write files atomically.

For some damaged documents, Python's parsers raise unusual errors: a `RecursionError` for deep nesting,
a plain `ValueError` for a number with thousands of digits. The readers of this module raise `ValueError` for all of
them, so that callers handle one kind of error.
"""

from __future__ import annotations

import math
import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from icmodel.errors import IcmodelError, ReportError, unwritable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_NESTED = 64
"""Maximum depth of nested tables and lists; real documents have at most ten levels."""
_TOO_DEEP = f"it is nested deeper than {MOST_NESTED} levels, which no document needs"


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet program takes for a formula when it opens a CSV file."""
APOSTROPHE = "'"


def harmless(text: str) -> str:
    """Escape a text for a cell of a CSV file, so that no spreadsheet program runs it as a formula.

    A text that begins like a formula gets an apostrophe in front, unless it is a number.  If a text has apostrophes
    before such a beginning, it gets one more apostrophe.  So `plain` can restore every text.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-1.5e3"), harmless("left")
    ("'=1+1", '-1.5e3', 'left')
    """
    if not text.lstrip(APOSTROPHE).startswith(FORMULA) or _is_number(text):
        return text
    return APOSTROPHE + text


def plain(text: str) -> str:
    """Remove the apostrophe with which :func:`harmless` escapes the text of a CSV cell.

    Examples
    --------
    >>> plain("'=1+1"), plain("'quoted'")
    ('=1+1', "'quoted'")
    """
    rest = text.removeprefix(APOSTROPHE)
    return rest if harmless(rest) == text else text


def _is_number(text: str) -> bool:
    """Whether a text is a number, with a decimal point or a decimal comma."""
    try:
        return math.isfinite(float(text.replace(",", ".", 1)))
    except ValueError:
        return False


# --- reading ----------------------------------------------------------------------------------


def toml(text: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises
    ------
    ValueError
        If the text is not TOML (`tomllib.TOMLDecodeError`), is nested too deep, or has a number with too many digits.

    Examples
    --------
    >>> toml("rate = '9.4 Gb/s'")
    {'rate': '9.4 Gb/s'}
    """
    return _parsed(tomllib.loads, text.removeprefix("\ufeff"))  # editors of Windows write this mark


def _parsed(parse: Callable[[Any], V], text: str | bytes) -> V:
    """Parse a text, and refuse a document that is nested too deep."""
    try:
        document = parse(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if is_too_deep(document):
        raise ValueError(_TOO_DEEP)
    return document


def is_file(path: Path) -> bool:
    """Whether a path is a file.

    Raises
    ------
    OSError
        If the operating system refuses the check, e.g. without permission.  Since Python 3.14, `Path.is_file` hides
        this error.
    """
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether a path is a folder.

    Raises
    ------
    OSError
        If the operating system refuses the check; see `is_file`.
    """
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    """Mode bits (type and permissions) of the file or folder at a path; 0 if the path does not exist."""
    try:
        return path.stat().st_mode
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a zero byte in the name
        return 0


def toml_file(path: Path, error: type[IcmodelError]) -> dict[str, Any]:
    """Parse a TOML file.

    Raises
    ------
    IcmodelError
        If the file cannot be read or is not TOML; ``error`` is the class of the exception.
    """
    try:
        return toml(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason.strerror}") from reason
    except ValueError as reason:  # not TOML, or not UTF-8
        raise error(f"{path} is not valid TOML: {reason}") from reason


def json_value(text: str | bytes) -> object:
    """Parse a JSON document.

    Raises
    ------
    ValueError
        If the text is empty or not JSON, is nested too deep, or has a number with too many digits.
    """
    import json  # imported here, since most commands do not need it

    if not text.strip():
        raise ValueError("it is empty")
    return _parsed(partial(json.loads, parse_int=_whole_number), text)


def _whole_number(digits: str) -> int:
    """Convert the digits of a whole number in a JSON document to an int.

    Raises
    ------
    ValueError
        If the number has more than 308 digits, so that no float can hold it.
    """
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError(
            f"a number has {len(digits)} digits: give at most {sys.float_info.max_10_exp}"
        )
    return int(digits)


def is_too_deep(document: object) -> bool:
    """Whether the tables and lists of a document are nested deeper than `MOST_NESTED` levels."""
    level: list[Any] = [document] if isinstance(document, dict | list) else []
    for _ in range(MOST_NESTED):
        contents = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for parts in contents for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True


# --- writing JSON -----------------------------------------------------------------------------


def json_text(document: Mapping[str, object]) -> str:
    """Write a document as JSON with an indent of two spaces.

    Raises
    ------
    ValueError
        If the document holds NaN or an infinity.
    """
    import json

    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_form(value: Any) -> Any:
    """Convert a value to its JSON form.

    A dataclass, or a value with ``to_dict``, becomes a dictionary, and a tuple becomes a list.  NaN and infinities
    become ``None``.

    Examples
    --------
    >>> json_form({"ends": (1.5, float("inf"))})
    {'ends': [1.5, None]}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return json_of(value)
    if isinstance(value, Mapping):
        return {key: json_form(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [json_form(one) for one in value]
    return number_or_none(value) if isinstance(value, float) else value


def json_of(record: Any, *names: str) -> dict[str, Any]:
    """Convert the attributes ``names`` of an object to a JSON dictionary; by default, all fields of a dataclass."""
    names = names or tuple(field.name for field in fields(record))
    return {name: json_form(getattr(record, name)) for name in names}


def number_or_none(value: float) -> float | None:
    """Convert a number to its JSON form: NaN and infinities become ``None``."""
    return value if math.isfinite(value) else None


# --- writing TOML -----------------------------------------------------------------------------

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F)} | {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("\n"): "\\n",
    ord("\t"): "\\t",
    ord("\r"): "\\r",
}
_WIDE = 100
"""Maximum length of a list on one line of TOML [characters]; a longer list has one item per line."""


def toml_text(document: Mapping[str, object]) -> str:
    """Write a document as TOML 1.0; reading the text gives an equal document.

    Raises
    ------
    IcmodelError
        If a value is not a text, number, boolean, list or table.

    Examples
    --------
    >>> print(toml_text({"title": "lab", "tool": {"name": "icprobe"}}), end="")
    title = "lab"
    <BLANKLINE>
    [tool]
    name = "icprobe"
    """
    return "\n".join(_table_lines((), document, "")).lstrip("\n") + "\n"


def _table_lines(path: tuple[str, ...], table: Mapping[str, Any], header: str) -> Iterator[str]:
    """Yield the TOML lines of a table: its values, then inner tables, then lists of tables.

    ``header`` is the template of the header line: ``[{}]`` for a table, ``[[{}]]`` for an item of a list of tables. A
    table that holds only tables has no header line.
    """
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lists = {key: value for key, value in table.items() if _is_list_of_tables(value)}
    values = {key: value for key, value in table.items() if key not in {*tables, *lists}}
    if path and (values or not table or header == "[[{}]]"):
        yield f"\n{header.format('.'.join(map(_key, path)))}"
    for key, value in values.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        yield from _table_lines((*path, key), value, "[{}]")
    for key, items in lists.items():
        for item in items:
            yield from _table_lines((*path, key), item, "[[{}]]")


def _is_list_of_tables(value: object) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(item, Mapping) for item in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    """Write a value in TOML, as the text after ``=``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        items = [_value(item) for item in value]
        line = f"[{', '.join(items)}]"
        if len(line) > _WIDE:
            line = "\n".join(["[", *(f"  {item}," for item in items), "]"])
        return line
    raise IcmodelError(
        f"{value!r} cannot be written as TOML: use text, numbers, true, false, lists or tables, "
        "and leave out unknown values"
    )


# --- grouping ---------------------------------------------------------------------------------


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by their key; keys and values keep their order.

    Examples
    --------
    >>> group_by_key([("tcp", 1), ("udp", 2), ("tcp", 3)])
    {'tcp': [1, 3], 'udp': [2]}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def check_place(path: str | Path) -> None:
    """Raise ReportError if no file can be written at a path; call this before computing the content.

    Raises
    ------
    ReportError
        If the folder of the file is missing or not accessible, or the path is a folder.
    """
    target = Path(path)
    try:
        has_folder, is_taken = is_folder(target.parent), is_folder(target)
    except OSError as error:
        raise ReportError(unwritable(target, error)) from error
    if not has_folder:
        raise ReportError(
            f"{target} cannot be written: there is no folder {target.parent}; make it, or choose "
            "another place"
        )
    if is_taken:
        raise ReportError(f"{target} cannot be written: it is a folder; choose another place")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Context manager: give the path of a temporary file, which replaces ``path`` at the end of the ``with`` block.

    After a failure the temporary file is removed. An existing path that is not a regular file, such as a device, is
    written in place.

    Raises
    ------
    ReportError
        If the file cannot be written; an existing file then stays unchanged.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        try:
            yield path
        except OSError as error:
            raise ReportError(unwritable(path, error)) from error
        return
    beside = path.with_name(f".{path.stem}.{os.urandom(8).hex()}{path.suffix}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ReportError(unwritable(path, error)) from error
    except ReportError as error:  # this message names the temporary file in place of `path`
        raise ReportError(str(error).replace(str(beside), str(path))) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Context manager: lock a path until the block ends, so that only one process at a time writes the file.

    The lock is on a hidden file beside the path. The kernel releases it if the process is killed. On Windows, nothing
    is locked.

    Raises
    ------
    ReportError
        If another process holds the lock, or the hidden file cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    place = path.with_name(f".{path.name}.lock")
    busy = ReportError(
        f"another process is writing {path}: wait until it ends, or choose another name"
    )
    with ExitStack() as stack:
        try:
            file = stack.enter_context(place.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        except OSError as error:
            raise ReportError(unwritable(path, error)) from error
        if not os.fstat(file.fileno()).st_nlink:  # the last owner has just removed the lock file
            raise busy
        try:
            yield
        finally:
            with suppress(OSError):
                place.unlink(missing_ok=True)


def write(path: str | Path, content: bytes) -> None:
    """Write bytes to a file atomically: an interrupted write leaves no incomplete file.

    Raises
    ------
    ReportError
        If the file cannot be written; an existing file then stays unchanged.
    """
    with replacing(Path(path)) as beside:
        beside.write_bytes(content)
