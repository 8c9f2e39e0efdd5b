"""Source of results: a file, its text, and the parts of the text that are one run each."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from icmodel.documents import is_too_deep
from icmodel.errors import RecordError
from icmodel.ingest.plain import decoded

LARGEST_BYTES = 256 * 2**20
TOO_DEEP = "its JSON is nested deeper than any tool writes"
_OPENS = re.compile(r"^[ \t]*(?:\{|\[(?=\s*(?:[\[{\"]|$)))", re.M)
"""Pattern of the start of a JSON object, or of a JSON list of objects, lists or texts.

Other lists do not match, since lines of iperf3's text begin with a number in brackets.
"""
_WORD = re.compile(r"[^\W_]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Source:
    """Source of results: a file, or one run in a file with several runs.

    Parameters
    ----------
    body
        Bytes of the whole file.
    text
        Text of the file or the run, in lines that end with a line feed.
    first
        Number of the first line of the text in the file.
    run
        Number of the run in a file with several runs; 0 if the file has one run.
    typed
        Command line above an earlier run, if this run belongs to the same command.
    """

    path: Path
    body: bytes
    text: str
    first: int = 1
    run: int = 0
    typed: str = ""

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return self.path.name

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file's bytes."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def lines(self) -> list[str]:
        """Lines of the text, without line feeds."""
        return self.text.split("\n")

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Lines of the text, with their line numbers in the file."""
        return enumerate(self.lines, start=self.first)

    def line_at(self, offset: int) -> int:
        """Convert an offset in the text to a line number of the file."""
        return self.first + self.text.count("\n", 0, offset)

    @property
    def place(self) -> str:
        """Place of the run in its file, for messages: the number of the run and of its first line with a word."""
        word = _WORD.search(self.text)
        line = f"line {self.line_at(word.start() if word else 0)}"
        return f"run {self.run} at {line}" if self.run else line


def read_source(path: Path) -> Source:
    """Read a result file; a gzip file is decompressed.

    Raises
    ------
    RecordError
        If the file cannot be read, is empty or too large.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise RecordError(
                f"the file has {size} B, more than the {LARGEST_BYTES} B icmodel reads"
            )
        body = path.read_bytes()
    except OSError as error:
        raise RecordError(f"the file cannot be read: {error.strerror}") from error
    unpacked = body
    if path.suffix.lower() == ".gz":
        try:
            unpacker = zlib.decompressobj(wbits=31)
            unpacked = unpacker.decompress(body, LARGEST_BYTES)
        except zlib.error as error:
            raise RecordError(f"the file is not a gzip file: {error}") from error
        if not unpacker.eof:
            raise RecordError(
                f"the gzip stream is cut off or unpacks to more than {LARGEST_BYTES} B: pack it again"
            )
    if not unpacked.strip():
        raise RecordError("the file is empty: the tool wrote nothing, so run it again")
    return Source(path, body, decoded(unpacked))


def documents(text: str) -> Iterator[dict[str, object] | list[object]]:
    """Parse every JSON object or list in a text; other text before and between these is skipped.

    Raises
    ------
    RecordError
        If an object or list is incomplete or invalid.
    """
    decoder = json.JSONDecoder(
        parse_constant=lambda name: require(
            False, f"the JSON holds {name}, but a number is needed: the run is broken"
        )
    )
    at = 0
    while (match := _OPENS.search(text, at)) is not None:
        start = match.end() - 1
        try:
            document, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise RecordError(
                f"line {error.lineno}: it is not valid JSON ({error.msg}): the file is cut off or "
                "was changed"
            ) from error
        except RecursionError:
            raise RecordError(TOO_DEEP) from None
        if is_too_deep(document):
            raise RecordError(TOO_DEEP)
        yield document


def table(document: object, key: str) -> Mapping[str, object]:
    """Look up the object under a key of a JSON document; empty if there is none."""
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def tables(document: object, key: str) -> list[Mapping[str, object]]:
    """Look up the objects in the list under a key of a JSON document; empty if there is none."""
    value = document.get(key) if isinstance(document, Mapping) else None
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def real(document: Mapping[str, object], key: str) -> float | None:
    """Look up the number under a key of a JSON object; ``None`` if there is none."""
    value = document.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_of(document: Mapping[str, object], key: str) -> str:
    """Look up the text under a key of a JSON object, without surrounding space; empty if there is none."""
    value = document.get(key)
    return value.strip() if isinstance(value, str) else ""


def shifted(value: str | float, places: int) -> float:
    """Multiply a number by a power of ten with correct rounding, unlike a floating-point product.

    >>> shifted("25", -6), 25 * 1e-6
    (2.5e-05, 2.4999999999999998e-05)
    """
    return float(Decimal(str(value)).scaleb(places))


def require(condition: object, message: str) -> None:
    """Raise RecordError with the given message if a condition is false.

    Raises
    ------
    RecordError
        If the condition is false; the text is ``message``.
    """
    if not condition:
        raise RecordError(message)


def number(text: str, what: str) -> float:
    """Read the number in a text; ``what`` names the number in messages.

    Raises
    ------
    RecordError
        If the text is not a number.
    """
    if _NUMBER.fullmatch(text) is None:
        raise RecordError(
            f"{what} is {text!r}, which is not a number: the run is broken or cut off"
        )
    return float(text)
