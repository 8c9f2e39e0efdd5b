"""Mutations of inputs: tokens and lines of texts, and values of JSON and TOML.

A document with a mutated value stays well-formed, so that many inputs pass the parser.
"""

from __future__ import annotations

import copy
import json
import random
import re
import tomllib
from collections.abc import Callable
from typing import Any

SEPARATOR = b"\n\x1d\n"
"""Separator of the files of one input, such as dataset.toml and points.csv."""
TOKEN = re.compile(rb"[A-Za-z_][\w.-]*|[+-]?[0-9][\w.+-]*|[ \t]+|\n|.", re.DOTALL)
NUMBER = re.compile(rb"[+-]?[0-9]{1,300}(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
FACTORS = (0, -1, 1, 1, 1, 2, 0.5, 10, 0.1, 1e3, 1e-3, 1e6, 1e-6, 1e12, 1e-12, 1e100, 1e-100)
WORDS = (
    *(b"0", b"1", b"-1", b"0.5", b"1e308", b"-1e308", b"1e999", b"5e-324", b"nan", b"inf", b"-inf"),
    *(b"9223372036854775808", b"1e999999999", b"1" * 400, b"0x10", b"1_000", b"1.", b".5"),
    *(b"true", b"null", b"None", b'""', b"[]", b"{}", b"[[1]]", b'{"a": 1}', b"[" * 70, b"\x00"),
    *(b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"\x1b[31m", b"\xef\xbb\xbf", b"\xc2\xb5s"),
    *(b"0 B", b"1 GiB", b"1e300 b/s", b"0/s", b"1 ns..1 s", b"-5 us", b"100 %", b"=1+1", b"../x"),
)
"""Edge cases of texts in a file."""
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 3, 2**53, 2**64, 10**400, 0.5, 1e308, -1e308, 5e-324),
    *(float("inf"), float("nan"), "", "x", "1e400", "-5 us", "0 B", "1 GiB", "10 Gb/s", "0/s"),
    *("\x00", "\ud800", "1 ns..1 s", "a.b", [], [1], [[]], ["x", "x"], {}, {"a": 1}, {"": {}}),
)
"""Edge cases of values in a document."""

# --- texts ------------------------------------------------------------------------------------


def _replace(tokens: list[bytes], rng: random.Random) -> None:
    tokens[rng.randrange(len(tokens))] = rng.choice(WORDS)


def _vary_number(tokens: list[bytes], rng: random.Random) -> None:
    """Scale and shift a number; a whole number stays whole."""
    numbers = [at for at, token in enumerate(tokens) if NUMBER.fullmatch(token)]
    if not numbers:
        return
    at = rng.choice(numbers)
    number = float(tokens[at]) * rng.choice(FACTORS) + rng.choice((-1, 0, 0, 1))
    whole = tokens[at].isdigit() and abs(number) < 1e300
    tokens[at] = (str(round(number)) if whole else repr(number)).encode()


def _copy(tokens: list[bytes], rng: random.Random) -> None:
    tokens[rng.randrange(len(tokens))] = tokens[rng.randrange(len(tokens))]


def _exchange(tokens: list[bytes], rng: random.Random) -> None:
    one, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _delete(tokens: list[bytes], rng: random.Random) -> None:
    start = rng.randrange(len(tokens))
    del tokens[start : start + rng.choice((1, 1, 2, 5, 20))]


def _repeat(tokens: list[bytes], rng: random.Random) -> None:
    start = rng.randrange(len(tokens))
    piece = tokens[start : start + rng.choice((1, 2, 5, 20))]
    tokens[start:start] = piece * rng.choice((1, 1, 2, 30))


Change = Callable[[list[bytes], random.Random], None]
OF_TOKENS: tuple[Change, ...] = (
    *[_vary_number] * 6,
    *(_replace, _replace, _copy, _exchange, _delete, _repeat),
)
OF_LINES: tuple[Change, ...] = (_copy, _exchange, _delete, _repeat)


def _changed_text(text: bytes, rng: random.Random) -> bytes:
    """Change tokens or lines of a text, one to four times."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        lines = text.split(b"\n")
        if rng.random() < 0.25:
            rng.choice(OF_LINES)(lines, rng)
            text = b"\n".join(lines)
        elif tokens := TOKEN.findall(text):
            rng.choice(OF_TOKENS)(tokens, rng)
            text = b"".join(tokens)
    return text


# --- documents --------------------------------------------------------------------------------


def _changed_document(part: bytes, rng: random.Random) -> bytes | None:
    """Change a value of a JSON or TOML document; None if the part is neither."""
    from icmodel.documents import toml_text  # imported only after coverage is set up
    from icmodel.errors import IcmodelError

    write: Callable[[Any], str] = json.dumps
    try:
        document = json.loads(part)
    except (ValueError, RecursionError):
        try:
            document, write = tomllib.loads(part.decode()), toml_text
        except (ValueError, RecursionError):
            return None
    places = [p for p in _places(document) if p] if isinstance(document, dict | list) else []
    if not places:
        return None
    _change_value(document, rng.choice(places), rng)
    try:
        return write(document).encode("utf-8", "surrogatepass")
    except (ValueError, IcmodelError):  # not valid in JSON, or a value that TOML lacks
        return None


def _places(document: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all values of a document, as keys and indices from the outermost on."""
    inner = document.items() if isinstance(document, dict) else enumerate(document)
    found = [place]
    for key, value in inner:
        at = (*place, key)
        found += _places(value, at) if isinstance(value, dict | list) else [at]
    return found


def _change_value(document: Any, place: tuple[Any, ...], rng: random.Random) -> None:
    for key in place[:-1]:
        document = document[key]
    last = place[-1]
    kind = rng.randrange(8)
    if kind == 0:
        del document[last]
    elif kind == 1 and isinstance(document, list):
        document.append(copy.deepcopy(document[last]))
    elif kind == 1:
        document[f"{last}x"] = document.pop(last)
    else:
        document[last] = copy.deepcopy(rng.choice(VALUES))


def mutated(body: bytes, rng: random.Random) -> bytes:
    """Return an input with one of its files changed."""
    parts = body.split(SEPARATOR)
    at = rng.randrange(len(parts))
    changed = None
    if rng.random() < 0.6 and parts[at][:1] not in (b"", b"P"):  # not an archive
        lines = parts[at].split(b"\n")
        line = rng.randrange(len(lines)) if parts[at].count(b"\n{") else None
        changed = _changed_document(parts[at] if line is None else lines[line], rng)
        if changed is not None and line is not None:
            changed = b"\n".join([*lines[:line], changed, *lines[line + 1 :]])
    parts[at] = _changed_text(parts[at], rng) if changed is None else changed
    return SEPARATOR.join(parts)
