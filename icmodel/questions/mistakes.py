"""Place of a mistake: its line in a TOML text, and its field in a question."""

from __future__ import annotations

import re

AT_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
PLACE = re.compile(r"([a-z_]+) no\. (\d+)")
WORDS = re.compile(r"'([\w.-]+)'|([\w-]+)(?=:| =| is )|([\w-]+)")
FIELDS = (
    ("payload", r"payload|\bMTU\b"),
    ("requested_goodput", r"requested.goodput"),
    ("other_goodput", r"other_goodput|other.goodput"),
    ("rate", r"\brate_fps\b|\brate\b(?! of)"),
    ("cores", r"\bcores?\b"),
    ("switches", r"\bswitch"),
    ("endpoints", r"\bendpoint"),
    ("distance", r"distance"),
    ("line_rate", r"line.rate"),
    ("cpu_clock", r"cpu_clock|CPU clock"),
    ("app_send", r"app_send|application"),
    ("app_recv", r"app_recv"),
    ("protocol", r"rows of|protocol"),
)
"""Field of the page -> pattern of the words with which a refusal names the parameter."""


def line_of(toml: str, message: str) -> int | None:
    r"""Return the line of a TOML text that a message is about.

    The message names a line, or a table by its number and a key in the table, or a name in the text.

    Examples
    --------
    >>> line_of('[[links]]\nrate = "1 Gb/s"\n[[links]]\nrate = "1 Gx"', "links no. 2: rate: ...")
    4
    """
    if found := AT_LINE.search(message):
        return int(found[1])
    lines = toml.splitlines()
    first, last = 0, len(lines)
    if place := PLACE.search(message):
        starts = [at for at, line in enumerate(lines) if line.strip() == f"[[{place[1]}]]"]
        number = int(place[2])
        if number <= len(starts):
            first = starts[number - 1]
            last = starts[number] if number < len(starts) else len(lines)
        message = message[place.end() :]
    found_words = ["".join(groups) for groups in WORDS.findall(message)]
    quoted: list[str] = re.findall(r"'([^']+)'", message)
    for word in (*quoted, *found_words[:8]):
        key = re.compile(rf"(^|[{{,\s]){re.escape(word)}\s*=|[\"']{re.escape(word)}[\"']")
        for at in range(first, last):
            if key.search(lines[at]):
                return at + 1
    return first + 1 if place else None


def field_of(message: str) -> str:
    """Return the field that a refusal names first; empty if the message names none.

    >>> field_of("cores 7 is not possible here")
    'cores'
    """
    found = ((re.search(pattern, message), name) for name, pattern in FIELDS)
    return min(((match.start(), name) for match, name in found if match), default=(0, ""))[1]
