"""How records are to be folded: what a person may choose, and nothing that follows from records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from icmodel.errors import RecordError
from icmodel.fold.flags import check_flags
from icmodel.fold.histograms import LEAST_DIGITS, MOST_DIGITS
from icmodel.fold.withholding import check_withheld

WORKED_OUT = ("schema_version", "id", "sha256", "protocols", "held_out", "tool")
"""Keys of dataset.toml that nobody may set: they follow from the records or from the folder."""


@dataclass(frozen=True)
class Settings:
    """What a person chooses.

    Parameters
    ----------
    id : str
        Name of the dataset and of its folder.
    title : str
        One line; made from the records where it is empty.
    default_variant : str
        Variant of the model that answers where none is asked for.
    line_rate_bps : float, optional
        Line rate [b/s]; otherwise what the network card says of itself, and a virtual one is not
        believed.
    tolerate, refuse : tuple of str
        Flags that spoil nothing, and flags that spoil the whole run.
    apart : tuple of str
        What of the environment becomes an option axis instead of being refused where it differs.
    most_steal : float, optional
        Runs of which the hypervisor took more than this share of a core in use are kept apart.
    withhold : tuple of str
        What hosts say of themselves that the records do not show.
    histogram_digits : int, optional
        Significant digits that the records' histograms keep.
    about : mapping
        Keys of dataset.toml that stand over those made from the records.
    """

    id: str = "folded"
    title: str = ""
    default_variant: str = "corrected"
    line_rate_bps: float | None = None
    tolerate: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    most_steal: float | None = None
    withhold: tuple[str, ...] = ()
    histogram_digits: int | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_flags(self.tolerate, "--tolerate")
        check_flags(self.refuse, "--refuse")
        check_withheld(self.withhold)
        if both := sorted(set(self.withhold) & set(self.apart)):
            raise RecordError(
                f"--apart {both[0]} would show in the rows what --withhold {both[0]} withholds: leave "
                "one of them out"
            )
        if self.most_steal is not None and not 0 <= self.most_steal < 1:
            raise RecordError(
                f"--most-steal {self.most_steal:g} is not possible: give a share of the time from 0 "
                "up to, but not including, 1"
            )
        if self.line_rate_bps is not None and not self.line_rate_bps > 0:
            raise RecordError(
                f"--line-rate {self.line_rate_bps:g} b/s carries nothing: give the rate of the line, or "
                "leave it out"
            )
        digits = self.histogram_digits
        if digits is not None and not LEAST_DIGITS <= digits <= MOST_DIGITS:
            raise RecordError(
                f"--histogram-digits {digits} is not possible: give {LEAST_DIGITS} to {MOST_DIGITS}"
            )
        for key in WORKED_OUT:
            if key in self.about:
                raise RecordError(
                    f"--about says {key}, which follows from the records and the folder: leave it out"
                )

    def document(self) -> dict[str, object]:
        """As JSON keeps it, without what was left as it is."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        lists = {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}
        return {name: value for name, value in lists.items() if value not in ("", None, [], {})}


def settings_of(document: Mapping[str, object]) -> Settings:
    """The settings that `Settings.document` gave.

    Raises
    ------
    RecordError
        If a key is none of a setting's.
    """
    known = {item.name for item in fields(Settings)}
    unknown = sorted(set(document) - known)
    if unknown:
        raise RecordError(
            f"folded.json has the setting {unknown[0]!r}, which this icmodel does not know: fold "
            "the records anew with -o"
        )
    said = {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
    return Settings(**said)  # type: ignore[arg-type]
