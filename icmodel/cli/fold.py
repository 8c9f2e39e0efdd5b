"""``icmodel fold``: records of the measuring tool become a dataset, or a folded dataset is rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.models import best_variant
from icmodel.cli.output import Answer, Section, Table, emit, progress_bar
from icmodel.cli.question import BEST, AsJson, check_variant, given, room, shares
from icmodel.documents import toml_file
from icmodel.errors import RecordError

if TYPE_CHECKING:
    from icmodel.fold import Folded, Settings

app = room()

Records = Annotated[
    list[Path],
    typer.Argument(metavar="RECORDS...", help="Files of records, plain or .gz; or a folded DIR."),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Write the dataset here; its name is the id."
    ),
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How records are folded, as typed."""

    title: str = given("TEXT", "One line.", "made from the records", "")
    line_rate: str | None = given("RATE", 'Line rate, "10 Gb/s".', "what a real card says")
    variant: str | None = given("NAME", "Variant of the model that answers by default.", BEST)
    about: Path | None = given(
        "FILE", "TOML with keys of dataset.toml that stand over those made here."
    )
    tolerate: list[str] | None = given("FLAG", "This flag spoils nothing; can be repeated.")
    refuse: list[str] | None = given("FLAG", "This flag spoils the whole run; can be repeated.")
    apart: list[str] | None = given(
        "NAME", "Where environments differ in this, an axis of it; can be repeated."
    )
    most_steal: str | None = given(
        "SHARE", "Runs that lost more of a core to the hypervisor stand apart."
    )
    withhold: list[str] | None = given(
        "NAME", "Do not show this of the hosts in the records; can be repeated."
    )
    histogram_digits: int | None = given(
        "N", "Significant digits that the records' histograms keep.", "all"
    )

    def settings(self) -> Settings:
        """The same in SI."""
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


@app.command(short_help="Make a dataset of the measuring tool's records.")
@shares(Chosen, "chosen")
def fold(
    *, records: Records, output: Folder = None, chosen: Chosen, as_json: AsJson = False
) -> None:
    """Make a dataset of records: repeats grouped, environments compared, every record accounted for.

    Metrics that a run's flags spoil are left out, held-out runs go to a file of their own, and the
    records stay beside. A folded dataset is rebuilt from them by its folder alone.

    \b
    icmodel fold records.jsonl -o my-lab --line-rate "1 Gb/s"
    icmodel fold monday.jsonl tuesday.jsonl.gz -o my-lab --apart kernel
    icmodel fold my-lab
    """  # noqa: D301
    from icmodel.fold import fold_files, rebuild  # pydantic, not needed for the help

    settings = chosen.settings()
    folder = _folded(records, settings) if output is None else output
    said = chosen.variant is not None or "default_variant" in settings.about
    with progress_bar("records") as progress:
        if output is None:
            folded = rebuild(folder, progress)
        else:
            best = None if said else best_variant
            folded = fold_files(records, output, settings, progress, best)
    answer = Answer(
        lambda: _sections(folder, folded), lambda: {"dataset": str(folder), **_counts(folded)}
    )
    emit(answer, as_json=as_json, output=None)


def _folded(records: list[Path], chosen: Settings) -> Path:
    """The folder to rebuild, which must be given alone and without other options."""
    from icmodel.fold import Settings, is_folded

    if len(records) != 1 or not records[0].is_dir():
        raise RecordError("-o DIR is missing: say where the dataset goes")
    if not is_folded(records[0]):
        raise RecordError(f"{records[0]} holds no folded dataset: give files of records and -o DIR")
    if chosen != Settings():
        raise RecordError(
            "a folder is rebuilt as its folded.json says: to choose otherwise, fold its "
            "records.jsonl.gz into a new folder with -o"
        )
    return records[0]


def _sections(folder: Path, folded: Folded) -> Iterator[Section]:
    from icmodel.fold.account import APART, HELD_OUT, USED

    account = folded.account
    twice = account.duplicates
    rows = [
        (str(account.count(USED)), "runs used for points"),
        (str(account.count(HELD_OUT)), "runs held out"),
        *((str(n), f"{APART}: {why}") for why, n in account.reasons().items()),
        *([(str(twice), "records given twice, counted once")] if twice else []),
        (str(len(folded.points)), "rows in points.csv"),
    ]
    yield Section(f"{folder}: {folded.document['title']}", Table(("", "what"), tuple(rows)))
    if flags := account.flags():
        lines = tuple((flag, str(n["runs"]), str(n["spoilt"])) for flag, n in flags.items())
        yield Section("flags", Table(("flag", "#runs", "#spoilt"), lines))
    if told := (*account.notes, *account.remarks):
        yield Section("notes", tuple(f"- {note}" for note in told))


def _counts(folded: Folded) -> dict[str, object]:
    said = folded.account.document()
    del said["runs"]
    return {**said, "points": len(folded.points), "option_axes": list(folded.option_axes)}
