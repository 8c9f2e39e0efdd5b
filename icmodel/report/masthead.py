"""Masthead of a report: author, project, revision, date, and an organisation's name, logo, colour and footer.

Command options and a template file set the entries. An option overrides the same key of the template.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from icmodel.documents import toml_file
from icmodel.errors import ReportError

ACCENT = "#0b5cad"
"""Default accent colour of a report, used for its lines."""
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
KEYS = ("organisation", "logo", "accent", "footer", "author", "project", "revision")
"""Keys of the template file of a report."""
MOST_LOGO_BYTES = 1_000_000
MOST_BEFORE_SVG = 4_000
"""Number of leading bytes of an SVG file that must contain its ``<svg`` tag."""
EPOCH = "SOURCE_DATE_EPOCH"
"""Environment variable with the date of a reproducible build, in seconds since 1970; see reproducible-builds.org."""
PNG = b"\x89PNG\r\n\x1a\n"
OPTIONS = ("author", "project", "revision", "date", "template")
"""Fields of a masthead that are also command options, with the same names."""


@dataclass(frozen=True, slots=True)
class Logo:
    """Logo of an organisation: its file format, ``svg`` or ``png``, and its bytes."""

    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Masthead:
    """Author, project, revision and date of a report, and the house style of an organisation.

    Parameters
    ----------
    date : str
        Date in the form ``2026-11-25``. If empty, the report has no date, and the same answer gives the same bytes.
    accent : str
        Accent colour, used for lines, in the form ``#0b5cad``.
    template : str
        Name of the template file, printed in the command line that makes the report again.

    Examples
    --------
    >>> Masthead(author="A. Person", revision="B").line
    'A. Person · revision B'
    """

    author: str = ""
    project: str = ""
    revision: str = ""
    date: str = ""
    organisation: str = ""
    logo: Logo | None = None
    accent: str = ACCENT
    footer: str = ""
    template: str = ""

    @property
    def line(self) -> str:
        """Line of text with project, author, revision and date; empty if none is given."""
        revision = f"revision {self.revision}" if self.revision else ""
        return " · ".join(filter(None, (self.project, self.author, revision, self.date)))

    def words(self) -> Iterator[str]:
        """Yield the command-line options that set this masthead."""
        for name in OPTIONS:
            if value := getattr(self, name):
                yield from (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


PLAIN = Masthead()
"""Empty masthead, the default of a report."""


def masthead(
    author: str | None = None,
    project: str | None = None,
    revision: str | None = None,
    date: str | None = None,
    template: str | Path | None = None,
) -> Masthead:
    """Make a masthead from options and a template file. An option overrides the same key of the template.

    Parameters
    ----------
    date : str, optional
        Date in the form ``2026-11-25``. Default: the date in the environment variable ``SOURCE_DATE_EPOCH``, if set.
    template : str or Path, optional
        TOML file with the keys organisation, logo, accent, footer, author, project and revision.

    Raises
    ------
    ReportError
        If the date is invalid, or the template or its logo is missing or damaged.

    Examples
    --------
    >>> masthead(author="A. Person", date="2026-11-25").line
    'A. Person · 2026-11-25'
    """
    values: dict[str, object] = {} if template is None else _template_values(Path(template))
    options = {"author": author, "project": project, "revision": revision}
    values |= {name: text for name, text in options.items() if text is not None}
    seconds = os.environ.get(EPOCH, "")
    try:
        if date is not None:
            values["date"] = datetime.date.fromisoformat(date).isoformat()
        elif seconds:
            built = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
            values["date"] = built.date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise ReportError(
            f"{EPOCH} is {seconds!r}: set a whole number of seconds since 1970, or unset the variable"
            if date is None
            else f"the date {date!r} is invalid: write year, month and day, such as 2026-11-25"
        ) from None
    return Masthead(**values)  # type: ignore[arg-type]


def _template_values(path: Path) -> dict[str, object]:
    """Read and check the template file of a report.

    The path of the logo is relative to the folder of the template.
    """
    found = toml_file(path, ReportError)
    for key, value in found.items():
        if key not in KEYS:
            raise ReportError(
                f"{path.name}: the key {key!r} is unknown: the keys are {', '.join(KEYS)}; "
                "correct or remove it"
            )
        if not isinstance(value, str) or not value.strip():
            raise ReportError(f"{path.name}: {key} is {value!r}: write a text in quotes")
        if key == "accent" and not COLOUR.fullmatch(value):
            raise ReportError(
                f"{path.name}: accent {value!r} is not a colour: write six hexadecimal digits, such as {ACCENT}"
            )
    if "logo" in found:
        found["logo"] = _logo(path, str(found["logo"]))
    return {**found, "template": path.name}


def _logo(template: Path, name: str) -> Logo:
    """Read the logo of a template, an SVG or PNG file of at most 1 MB."""
    file = template.parent / name
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_LOGO_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: the name contains a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportError(f"{template.name}: logo {name!r} cannot be read: {reason}") from error
    if len(content) > MOST_LOGO_BYTES:
        raise ReportError(
            f"{template.name}: logo {name!r} has more than 1 MB: make the file smaller"
        )
    if content.startswith(PNG):
        return Logo("png", content)
    if b"<svg" in content[:MOST_BEFORE_SVG] and b"<!ENTITY" not in content:
        return Logo("svg", content)
    raise ReportError(
        f"{template.name}: logo {name!r} is neither SVG nor PNG: give an SVG or PNG file"
    )
