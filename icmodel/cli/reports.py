"""Options of reports: author, project, revision, date and an organisation's template; writers of reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from icmodel.cli.options import expand_options
from icmodel.cli.output import Writer
from icmodel.errors import ReportError
from icmodel.questions.words import given_options, option_field

if TYPE_CHECKING:
    from icmodel.report.masthead import Masthead
    from icmodel.report.writing import Answer

PAGE_FILES = (".html", ".md", ".pdf")


@dataclass(frozen=True, slots=True)
class MastheadChoice:
    """Options for the first page of a report, as texts of the command line."""

    author: str | None = option_field("NAME", "Author, printed on the first page of a report.")
    project: str | None = option_field("NAME", "Project, printed on the first page of a report.")
    revision: str | None = option_field("TEXT", "Revision, printed on the first page of a report.")
    date: str | None = option_field(
        "DATE", "Date of a report, e.g. 2026-11-25.", "date in SOURCE_DATE_EPOCH, or no date"
    )
    template: Path | None = option_field(
        "FILE",
        "TOML file with an organisation's name, logo, accent colour and footer for a report.",
    )

    def masthead(self, output: Path | None) -> Masthead:
        """Return the masthead (page header) of the report ``output``; called before anything is computed.

        Raises
        ------
        ReportError
            If an option is given without a report, an option or the template is wrong, or typst is missing for a PDF.
        """
        ending = "" if output is None else output.suffix.lower()
        if ending not in PAGE_FILES:
            for name in given_options(self):
                raise ReportError(
                    f"--{name} is printed in a report only: add -o with a name that ends in "
                    f"{', '.join(PAGE_FILES[:-1])} or {PAGE_FILES[-1]}, or leave --{name} out"
                )
        from icmodel.report.masthead import PLAIN, masthead

        if ending == ".pdf":
            from icmodel.report.pdf import typst

            typst()
        return masthead(**given_options(self)) if ending in PAGE_FILES else PLAIN


with_masthead = expand_options(MastheadChoice, "head")
"""Decorate a command: its parameter ``head`` becomes the options of a report's first page."""


def page_writers(
    answer: Callable[[], Answer], output: Path | None, masthead: Masthead
) -> dict[str, Writer]:
    """Return, for each file extension of a report, the function that writes the report.

    The report names ``output`` as its file.
    """

    def write(path: Path) -> None:
        from icmodel.report.writing import report_bytes

        assert output is not None  # a writer is called for the file of -o
        path.write_bytes(report_bytes(answer(), output.name, masthead))

    return dict.fromkeys(PAGE_FILES, write)
