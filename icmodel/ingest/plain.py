"""Plain text of a file: without what terminals, mails and log collectors put around a tool's lines.

All readers get their text from here, so none of them knows a prompt, a quote mark or a time stamp.
The number of lines never changes: a line that is taken away stays as an empty one, so that messages
name the line a person sees.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

_BREAKS = re.compile(r"\r+\n|\r")
"""Line ends of Windows and serial consoles; a lone one begins a progress line anew."""
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
    re.compile(rf"[ \t]*[^\t]+\t[^\t]+\t(?={_STAMP}[ \t])"),  # job and step of a CI
    re.compile(rf"[ \t]*{_STAMP} (?P<who>[\w.-]+ [\w@.:/-]+\[\d+\]): ?"),  # journalctl, syslog
    re.compile(rf"[ \t]*\[?{_STAMP}\]?(?:[ \t]|$)"),  # ts, kubectl --timestamps, docker -t, CI
    re.compile(r"[ \t]*\[(?P<who>pod/[\w./-]+)\] ?"),  # kubectl --prefix
    re.compile(
        r"[ \t]*(?P<who>[\w.-]+[-_.]\d+(?:\.\w+@[\w.-]+)?) +\| ?"
    ),  # docker compose, docker service
    re.compile(r"[ \t]*\[(?P<who>\d+,\d+)\]<std(?:out|err)>:"),  # mpirun --tag-output
)
"""Prefixes that no tool prints itself; a ``who`` tells whose line it is."""
LIKELY = (
    re.compile(r"[ \t]*(?P<who>[\w.-]+) +\| ?"),  # docker compose with container_name
    re.compile(r"[ \t]*(?P<who>\d+):(?: |$)"),  # srun --label
    re.compile(r"[ \t]*[|│] ?"),
)
"""Prefixes that are taken for one if several lines in a row have them."""
COUNTED = re.compile(r"[ \t]*(\d+)(?:\t|$)")
"""The number of a line, as cat -n writes it."""
IN_A_ROW = 3
NAMED = re.compile(r"(?P<who>[\w.-]+): ?")
"""A host or task in front of each line (pdsh, clush, gh run view), which looks like a tool's name."""

_JOB = re.compile(
    r"\[\d+\][ +-]*(?:\d+ *|(?:\d+ +)?(?:done|exit|running|stopped|terminated|killed|hangup|suspended)\b.*)$",
    re.I,
)
"""A shell's word on a job in the background."""
_FENCE = re.compile(
    r"[ \t]*(?:```+|~~~+)[\w-]*[ \t]*$|[ \t]*(?:</?(?:pre|code)>|\{(?:code|noformat)\})+$"
)
_PROMPT = re.compile(
    r"(?:\([\w.-]+\) )?"
    r"(?:\[[^\]\n]*@[^\]\n]*\]|[\w.-]+@[\w.-]+(?::[^\s#$%>]*| [^\s#$%>]+)?|[\w.-]+:/\S*|(?:PS )?[A-Z]:\\[^>\n]*)"
    r" ?[#$%>](?: |(?=[\w.])|$)"
)
_DECIMAL = re.compile(r"(?<![\w.,])[0-9]+,[0-9]+(?![0-9,]|\.[0-9])")
_THOUSANDS = re.compile(r"[0-9]{1,3},[0-9]{3}")
_POINT = re.compile(r"(?<![\w.,/#-])[0-9]+\.[0-9]+(?![\w.,-])")


def decoded(body: bytes) -> str:
    """The text of some bytes, with line feeds between its lines: UTF-8, UTF-16 or Windows-1252."""
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
    """The plain text of each source of lines in a file, most often one.

    Lines of several pods, services or ranks that a collector wrote into one file are parted again.
    """
    lines = [("", line) for line in _printed(text).split("\n")]
    more = True
    while more:
        lines = [_bare(who, line, SURE) for who, line in lines]
        likely = [pattern for pattern in LIKELY if _is_likely(pattern, lines)]
        likely += [COUNTED] if _are_counted(lines) else []
        lines = [_bare(who, line, likely) for who, line in lines] if likely else lines
        more = bool(likely)
    return [_finished(one) for one in _apart(lines)]


def named_apart(text: str) -> list[str]:
    """The same with a name and a colon, or any other text, that most lines begin with taken for a prefix."""
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    if filled and sum(NAMED.match(line) is not None for line in filled) * 2 > len(filled):
        found = ((NAMED.match(line), line) for line in lines)
        named = [(one["who"], line[one.end() :]) if one else ("", line) for one, line in found]
        return [again for one in _apart(named) for again in plain(one)]
    common = _common(filled) if len(filled) > 1 else ""
    words, space, _ = common.rpartition(
        " "
    )  # behind it may stand a time that differs in its last digits
    common = words + space or common
    return plain("\n".join(line.removeprefix(common) for line in lines)) if common else []


def _is_likely(pattern: re.Pattern[str], lines: Sequence[tuple[str, str]]) -> bool:
    """Whether enough lines in a row begin with a prefix; empty ones between them do not count."""
    row, filled = 0, [line for _, line in lines if line.strip()]
    for line in filled:
        row = row + 1 if pattern.match(line) else 0
        if row >= min(IN_A_ROW, len(filled)):
            return True
    return False


def _printed(text: str) -> str:
    """A text as a terminal shows it."""
    text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _overtyped(text)
    text = _CONTROLS.sub("", text)
    if _ENTITY.search(text) and not _TAG.search(text):
        text = html.unescape(text)
    return text.replace("\xa0", " ")


def _overtyped(text: str) -> str:
    """A text without what its backspaces erase."""
    kept: list[str] = []
    for character in text:
        if character != "\x08":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _finished(text: str) -> str:
    """A text without indentation, mark-up, prompts and shell jobs."""
    return "\n".join(_unwrapped(line) for line in _dedented(text.split("\n")))


def _apart(bare: Sequence[tuple[str, str]]) -> list[str]:
    """The text of each source apart from the others', whose lines stay as empty ones."""
    sources = list(dict.fromkeys(who for who, line in bare if who and line.strip()))
    if len(sources) < 2:
        return ["\n".join(line for _, line in bare)]
    return ["\n".join(line if who == one else "" for who, line in bare) for one in [*sources, ""]]


def _are_counted(lines: Sequence[tuple[str, str]]) -> bool:
    """Whether several lines begin with a number, one after the other."""
    filled = [line for _, line in lines if line.strip()]
    numbers = [int(found[1]) for line in filled if (found := COUNTED.match(line))]
    enough = 0 < min(IN_A_ROW, len(filled)) <= len(numbers)
    return enough and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _bare(who: str, line: str, prefixes: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Whose line it is, and the line without prefixes."""
    while found := next((m for p in prefixes if (m := p.match(line))), None):
        who = "/".join(filter(None, (who, found.groupdict().get("who"))))
        line = line[found.end() :]
    return who, line


def _unwrapped(line: str) -> str:
    """A line without what a shell or a mark-up adds; its prompt becomes ``$``."""
    if _JOB.match(line.strip()) or _FENCE.match(line):
        return ""
    return _PROMPT.sub("$ ", line, count=1) if _PROMPT.match(line) else line


def _dedented(lines: Sequence[str]) -> list[str]:
    """The lines, each block of indented ones moved to the left."""
    moved: list[str] = []
    block: list[str] = []
    for line in [*lines, "end"]:
        if not line.strip() or line[0] in " \t":
            block.append(line)
            continue
        depth = len(_common([_indent(one) for one in block if one.strip()]))
        moved += [one[depth:] for one in block]
        moved.append(line)
        block = []
    return moved[:-1]


def _common(texts: Sequence[str]) -> str:
    """The longest text that all of some texts begin with: the one of the first and the last in order."""
    first, last = min(texts, default=""), max(texts, default="")
    ends = (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(ends, len(first))]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def with_points(text: str, *, thousands: bool) -> str:
    """A text whose decimal commas, if most of its numbers have one, are points.

    Parameters
    ----------
    thousands
        Whether the tool parts thousands by commas: then such numbers stay.
    """
    commas = [
        found[0]
        for found in _DECIMAL.finditer(text)
        if not (thousands and _THOUSANDS.fullmatch(found[0]))
    ]
    if len(commas) <= len(_POINT.findall(text)):
        return text
    return _DECIMAL.sub(
        lambda found: (
            found[0] if thousands and _THOUSANDS.fullmatch(found[0]) else found[0].replace(",", ".")
        ),
        text,
    )
