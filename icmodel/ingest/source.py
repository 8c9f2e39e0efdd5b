"""Sources of results: files, their plain text, and the single runs in a text.

All readers get their text from this module. The number of lines never changes: a removed line becomes an empty line,
so that messages give the line number of the original file.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from pathlib import Path

from icmodel.documents import is_too_deep
from icmodel.errors import RecordError

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
        """Place of the run in its file, for messages, such as ``run 2 at line 40``.

        The line is the run's first line with a letter or digit. If the file has only one run, the text is ``line 40``.
        """
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
            raise RecordError(
                f"the file ends in .gz but is not a gzip file ({error}): remove .gz from its name, or pack it again"
            ) from error
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
    """Return the objects in the list that a JSON document has under a key; an empty list if there are none."""
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
    """Raise RecordError with a message if a condition is false.

    Raises
    ------
    RecordError
        If the condition is false.
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


_BREAKS = re.compile(r"\r+\n|\r")
"""Pattern of line ends of Windows and serial consoles, and of the carriage return that rewrites a progress line."""
_ESCAPES = re.compile(
    r"(?:\x1b|\^\[|␛)\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements (ECMA-48, 5.4)
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # window titles
    r"|\x1b[()][0-9A-Z]|\[[0-9]{1,3}(?:;[0-9]{1,3})*m"  # character sets; colours that lost their escape
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200d\u2060\ufeff]")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|nbsp|#[0-9]+);")
_TAG = re.compile(r"<ntttcp|<\?xml")

_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_STAMP = (
    rf"(?:\d{{4}}-\d\d-\d\d[T ]{_TIME}(?:Z| ?[+-]\d\d:?\d\d)?|[A-Z][a-z]{{2}} [ \d]\d {_TIME}|{_TIME}"
    r"|\d{10}\.\d{3,9})"
)
SURE = (
    re.compile(r"[ \t]*(?:>[ \t]?)+"),  # a quote in a mail
    re.compile(rf"(?![ \t]*\d+\t)[ \t]*[^\t]+\t[^\t]+\t(?={_STAMP}[ \t])"),  # job and step of a CI
    re.compile(
        rf"[ \t]*<\d{{1,3}}>1 {_STAMP} (?P<who>\S+ \S+) \S+ \S+ (?:-|(?:\[[^\]\n]*\])+)(?: |$)"
    ),  # syslog (RFC 5424)
    re.compile(
        rf"[ \t]*<\d{{1,3}}>(?={_STAMP} )"
    ),  # priority in front of journalctl's or syslog's line
    re.compile(r"[ \t]*\[ *\d+\.\d{6}\](?: |$)"),  # dmesg
    re.compile(rf"[ \t]*{_STAMP} (?P<who>[\w.-]+ [\w@.:/-]+\[\d+\]): ?"),  # journalctl, syslog
    re.compile(rf"[ \t]*\[?{_STAMP}\]?(?:[ \t]|$)"),  # ts, kubectl --timestamps, docker -t, CI
    re.compile(r"[ \t]*\[(?P<who>pod/[\w./-]+)\] ?"),  # kubectl --prefix
    re.compile(
        r"[ \t]*(?P<who>[\w.-]+[-_.]\d+(?:\.\w+@[\w.-]+)?) +\| ?"
    ),  # docker compose, docker service
    re.compile(r"[ \t]*\[(?P<who>\d+,\d+)\]<std(?:out|err)>:"),  # mpirun --tag-output
)
"""Patterns of line prefixes that no measuring tool prints itself; the group ``who`` is the source of the line."""
LIKELY = (
    re.compile(r"[ \t]*(?P<who>[\w.-]+) +\| ?"),  # docker compose with container_name
    re.compile(r"[ \t]*(?P<who>\d+):(?: |$)"),  # srun --label
    re.compile(r"[ \t]*[|│] ?"),
)
"""Patterns of line prefixes that are removed only if several consecutive lines have them."""
COUNTED = re.compile(r"[ \t]*(\d+)(?:\t|:|[.)|](?: |$)|$)")
"""Pattern of a line number at the start of a line, as written by ``cat -n``, ``nl`` and ``grep -n``."""
IN_A_ROW = 3
NAMED = re.compile(r"(?P<who>[\w.-]+): ?")
"""Pattern of a host or task before each line (pdsh, clush, gh run view); a tool's name with a colon also matches."""

_DIGITS = re.compile(r"[0-9]+")
_JOB = re.compile(
    r"\[\d+\][ +-]*(?:\d+ *|(?:\d+ +)?(?:done|exit|running|stopped|terminated|killed|hangup|suspended)\b.*)$",
    re.I,
)
"""Pattern of a shell's message on a background job."""
_FENCE = re.compile(
    r"[ \t]*(?:```+|~~~+)[\w-]*[ \t]*$|[ \t]*(?:</?(?:pre|code)>|\{(?:code|noformat)\})+$"
)
_PROMPT = re.compile(
    r"^(?:\([\w.-]+\) )?"
    r"(?:\[[^\]\n]*@[^\]\n]*\]|[\w.-]+@[\w.-]+(?::[^\s#$%>]*| [^\s#$%>]+)?|[\w.-]+:/\S*|(?:PS )?[A-Z]:\\[^>\n]*)"
    r" ?[#$%>](?: |(?=[\w.])|$)"
)
_DECIMAL = re.compile(r"(?<![\w.,])[0-9]+,[0-9]+(?![0-9,]|\.[0-9])")
_NO_THOUSANDS = re.compile(rf"(?!(?<![\w.,])[0-9]{{1,3}},[0-9]{{3}}(?![0-9])){_DECIMAL.pattern}")
"""Pattern of a number with a decimal comma; commas that may separate thousands do not match."""
_POINT = re.compile(r"(?<![\w.,/#-])[0-9]+\.[0-9]+(?![\w.,-])")


def decoded(body: bytes) -> str:
    """Decode the bytes of a text in UTF-8, UTF-16 or Windows-1252; lines of the result end in line feeds."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = body.decode("utf-16", errors="replace")
    elif body.count(0) * 4 > len(body):
        little = body[1::2].count(0) >= body[::2].count(0)
        text = body.decode("utf-16-le" if little else "utf-16-be", errors="replace")
    else:
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = body.decode("cp1252", errors="replace")
    return _BREAKS.sub("\n", text)


def plain(text: str) -> list[str]:
    r"""Remove prompts, time stamps and other wrapping from a text; return one text for each source of lines.

    Most files have one source. A collector may have written lines of several pods, services or ranks into one file.

    >>> plain("> message size: 64 [B]\n> roundtrip count: 10000")
    ['message size: 64 [B]\nroundtrip count: 10000']
    """
    # Remove prefixes, and note the source that they name, until no prefix is left.
    lines = [("", line) for line in _as_shown(text).split("\n")]
    while True:
        while (rest := [_bare(who, line, SURE) for who, line in lines]) != lines:
            lines = rest
        filled = [line for _, line in lines if line.strip()]
        enough = min(IN_A_ROW, len(filled))
        likely = []
        for pattern in LIKELY:
            hits = groupby(pattern.match(line) is not None for line in filled)
            if any(hit and len(list(row)) >= enough for hit, row in hits):
                likely.append(pattern)
        numbers = [int(match[1]) for line in filled if (match := COUNTED.match(line))]
        if (
            numbers
            and len(numbers) >= enough
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        ):
            # the numbers count the lines, so they are not ranks; a line may begin with a number of its own after them
            lines = [
                (who, line[m.end() :] if (m := COUNTED.match(line)) else line)
                for who, line in lines
            ]
            continue
        if not likely:
            break
        lines = [_bare(who, line, likely) for who, line in lines]

    texts = []
    for source in _apart(lines):
        bare = [
            "" if _JOB.match(line.strip()) or _FENCE.match(line) else _PROMPT.sub("$ ", line)
            for line in _dedented(source.split("\n"))
        ]
        texts.append("\n".join(bare))
    return texts


def named_apart(text: str) -> list[str]:
    """Remove the prefixes that a log collector added to the lines; return the texts, cleaned by `plain`.

    - If most lines begin with a name and a colon, the name is the source of the line, such as a pod or host. The
      result has one text for each source, without the names.
    - Otherwise, if all lines begin alike, the result is the text without this beginning.
    - Otherwise there is nothing to remove, and the result is an empty list.
    """
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    if filled and sum(NAMED.match(line) is not None for line in filled) * 2 > len(filled):
        named = [
            (match["who"], line[match.end() :]) if (match := NAMED.match(line)) else ("", line)
            for line in lines
        ]
        return [again for one in _apart(named) for again in plain(one)]
    common = _common(filled) if len(filled) > 1 else ""
    # The last common word may be the first digits of a time, so it is not removed.
    words, space, _ = common.rpartition(" ")
    common = words + space or common
    # Below an unknown prefix there may be a known one, whose first words are common too: it stays for `plain`.
    for end in (match.end() for match in re.finditer(" ", common)):
        if any(pattern.match(filled[0], end) for pattern in SURE):
            common = common[:end]
            break
    return plain("\n".join(line.removeprefix(common) for line in lines)) if common else []


def shared_beginning(text: str) -> str:
    r"""Return the prefix of the first line that all lines share, such as a timestamp; digits in it may differ.

    Digits match any other digits. The result is empty for fewer than three lines.

    >>> shared_beginning("\n".join(["+0.001 s a", "+0.250 s b", "+10.5 s c"]))
    '+0.001 s '
    """
    filled = [line for line in text.split("\n") if line.strip()]
    if len(filled) < IN_A_ROW:
        return ""
    shape = _common([_DIGITS.sub("0", line) for line in filled])
    match = re.match(re.escape(shape).replace("0", "[0-9]+"), filled[0])
    return match[0] if match else ""


def _as_shown(text: str) -> str:
    """Convert a text to what a terminal or browser shows.

    Escape sequences and characters erased by a backspace are removed; HTML entities become characters.
    """
    text = _ESCAPES.sub("", text)
    if "\x08" in text:
        kept: list[str] = []
        for character in text:
            if character != "\x08":
                kept.append(character)
            elif kept and kept[-1] != "\n":
                kept.pop()
        text = "".join(kept)
    text = _CONTROLS.sub("", text)
    if _ENTITY.search(text) and not _TAG.search(text):
        text = html.unescape(text)
    return text.replace("\xa0", " ")


def _apart(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Separate lines by their source: one text for each source, in which lines of other sources are empty."""
    sources = list(dict.fromkeys(who for who, line in lines if who and line.strip()))
    if len(sources) < 2:
        return ["\n".join(line for _, line in lines)]
    return ["\n".join(line if who == one else "" for who, line in lines) for one in [*sources, ""]]


def _bare(who: str, line: str, prefixes: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Remove one prefix, such as a time or a host name, from the beginning of a line; return its source and its rest.

    The source consists of ``who``, the source known so far, and of the name in the removed prefix, joined by ``/``.
    """
    match = next((m for p in prefixes if (m := p.match(line))), None)
    if match is None:
        return who, line
    return "/".join(filter(None, (who, match.groupdict().get("who")))), line[match.end() :]


def _dedented(lines: Sequence[str]) -> list[str]:
    """Move each indented block of lines to the left margin."""
    moved: list[str] = []
    block: list[str] = []
    for line in [*lines, "end"]:
        if not line.strip() or line[0] in " \t":
            block.append(line)
            continue
        indents = [one[: len(one) - len(one.lstrip(" \t"))] for one in block if one.strip()]
        depth = len(_common(indents))
        moved += [one[depth:] for one in block]
        moved.append(line)
        block = []
    return moved[:-1]


def _common(texts: Sequence[str]) -> str:
    """Find the longest common beginning of all texts."""
    first, last = min(texts, default=""), max(texts, default="")
    ends = (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(ends, len(first))]


def with_points(text: str, *, thousands: bool) -> str:
    """Replace decimal commas by points if most numbers of the text have a decimal comma.

    Parameters
    ----------
    thousands
        Whether the tool prints commas between thousands; such numbers stay unchanged.

    >>> with_points("937,87 Mbps", thousands=False)
    '937.87 Mbps'
    """
    comma = _NO_THOUSANDS if thousands else _DECIMAL
    if len(comma.findall(text)) <= len(_POINT.findall(text)):
        return text
    return comma.sub(lambda match: match[0].replace(",", "."), text)
