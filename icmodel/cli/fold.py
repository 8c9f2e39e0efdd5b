"""``icmodel fold``: make a dataset from records of icprobe, or rebuild one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.options import AsJson, expand_options, make_app
from icmodel.cli.output import Answer, Section, Table, best_variant, bullets, emit, progress_bar
from icmodel.dataset import check_variant
from icmodel.documents import toml_file
from icmodel.errors import RecordError
from icmodel.questions.words import BEST, option_field

if TYPE_CHECKING:
    from icmodel.fold import Folded, Settings

app = make_app()

Records = Annotated[
    list[Path],
    typer.Argument(
        metavar="RECORDS...",
        help="Files of icprobe records, plain or .gz; or the folder of a dataset made by fold.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder of the new dataset; its name becomes the dataset's id.",
    ),
]


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """Options of ``icmodel fold`` (make a dataset from records), as the texts that the user typed."""

    title: str = option_field(
        "TEXT", "Title of the dataset, in one line.", "made from the records", default=""
    )
    line_rate: str | None = option_field(
        "RATE", 'Line rate, e.g. "10 Gb/s".', "rate that a real network card reports"
    )
    variant: str | None = option_field(
        "NAME", "Default variant of the model for questions on this dataset.", BEST
    )
    about: Path | None = option_field(
        "FILE", "TOML file; its keys replace the same keys of the written dataset.toml."
    )
    tolerate: list[str] | None = option_field(
        "FLAG",
        "Ignore this flag of icprobe (mark of a fault): use the metrics that it spoils. Can be repeated.",
    )
    refuse: list[str] | None = option_field(
        "FLAG",
        "Exclude whole runs with this flag of icprobe (mark of a fault); can be repeated.",
    )
    apart: list[str] | None = option_field(
        "NAME",
        "Property of the hosts or software, e.g. kernel, that may differ between runs. "
        "It becomes an option axis of the dataset. Can be repeated.",
    )
    most_steal: str | None = option_field(
        "SHARE", "Exclude runs from which the hypervisor took more than this share of a core."
    )
    withhold: list[str] | None = option_field(
        "NAME",
        "Remove this property of the hosts (hostname, kernel_cmdline or mac) from the stored records; "
        "can be repeated.",
    )
    histogram_digits: int | None = option_field(
        "N", "Significant digits to keep in the histograms of the records.", "all"
    )

    def settings(self) -> Settings:
        """Return the options as settings for making a dataset, with numbers in SI units."""
        from icmodel.fold import Settings  # pydantic, not needed for the help

        if self.variant is not None:
            check_variant(self.variant)
        return Settings(
            title=self.title,
            default_variant=self.variant or Settings().default_variant,
            line_rate_bps=None if self.line_rate is None else units.parse_bps(self.line_rate),
            tolerate=tuple(self.tolerate or ()),
            refuse=tuple(self.refuse or ()),
            apart=tuple(self.apart or ()),
            most_steal=None if self.most_steal is None else units.parse_ratio(self.most_steal),
            withhold=tuple(self.withhold or ()),
            histogram_digits=self.histogram_digits,
            about={} if self.about is None else toml_file(self.about, RecordError),
        )


@app.command(short_help="Make a dataset from records of icprobe.")
@expand_options(FoldOptions, "options")
def fold(
    *, records: Records, output: Folder = None, options: FoldOptions, as_json: AsJson = False
) -> None:
    """Make a dataset from records of icprobe (one record per run), and report the outcome of each record.

    Repeats of the same run become one row. If runs have different hosts or software, the command fails,
    unless --apart names the difference (--apart kernel). The difference then becomes an option axis: a
    column of the dataset whose value a question can choose. icprobe marks faults of a run by flags; the
    affected metrics are left out. Runs held out for validation have a file of their own. The folder
    keeps the records. To rebuild a dataset from its records, give only its folder.

    \b
    icmodel fold records.jsonl -o my-lab --line-rate "1 Gb/s"
    icmodel fold monday.jsonl tuesday.jsonl.gz -o my-lab --apart kernel
    icmodel fold my-lab
    """  # noqa: D301
    from icmodel.fold import fold_files, rebuild  # pydantic, not needed for the help

    settings = options.settings()
    if output is None:
        folder = folder_to_rebuild(records, settings)
        with progress_bar("records") as progress:
            folded = rebuild(folder, progress)
    else:
        folder = output
        stated = options.variant is not None or "default_variant" in settings.about
        choose = None if stated else best_variant
        with progress_bar("records") as progress:
            folded = fold_files(records, folder, settings, progress, choose)
    emit(
        Answer(lambda: fold_sections(folder, folded), lambda: fold_document(folder, folded)),
        as_json=as_json,
        output=None,
    )


def folder_to_rebuild(records: list[Path], settings: Settings) -> Path:
    """Return the folder of the dataset to rebuild.

    Raises
    ------
    RecordError
        If ``records`` is not a single folder that icmodel fold has made. Also if ``settings`` are not the defaults,
        since the folder is rebuilt with the settings stored in it.
    """
    from icmodel.fold import Settings, is_folded

    if len(records) != 1 or not records[0].is_dir():
        raise RecordError("the folder of the dataset is missing: add -o DIR")
    if not is_folded(records[0]):
        raise RecordError(
            f"{records[0]} contains no dataset made by icmodel fold: give files of records and -o DIR"
        )
    if settings != Settings():
        raise RecordError(
            "a folder is rebuilt with the settings in its folded.json: for other settings, fold its "
            "records.jsonl.gz into a new folder with -o"
        )
    return records[0]


def fold_sections(folder: Path, folded: Folded) -> Iterator[Section]:
    """Yield tables of a fold: counts of used, held-out and excluded runs, with reasons, flags and notes."""
    from icmodel.fold.account import APART, HELD_OUT, USED

    account = folded.account
    rows = [
        (str(account.count(USED)), "runs used for points"),
        (str(account.count(HELD_OUT)), "runs held out"),
        *((str(count), f"{APART}: {why}") for why, count in account.reasons().items()),
    ]
    if account.duplicates:
        rows.append((str(account.duplicates), "records given twice, counted once"))
    rows.append((str(len(folded.points)), "rows in points.csv"))
    yield Section(f"{folder}: {folded.document['title']}", Table(("", "what"), tuple(rows)))
    if flags := account.flags():
        lines = tuple((flag, str(n["runs"]), str(n["spoilt"])) for flag, n in flags.items())
        yield Section("flags", Table(("flag", "#runs", "#spoilt"), lines))
    if notes := (*account.notes, *account.remarks):
        yield Section("notes", bullets(notes))


def fold_document(folder: Path, folded: Folded) -> dict[str, object]:
    """Return the result of a fold as JSON: counts of runs by outcome, and the size of the dataset."""
    account = folded.account.document()
    del account["runs"]
    size = {"points": len(folded.points), "option_axes": list(folded.option_axes)}
    return {"dataset": str(folder), **account, **size}
