"""Settings that the user chooses for folding records into a dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields

from icmodel.errors import RecordError
from icmodel.fold.axes import APART
from icmodel.fold.records import LEAST_DIGITS, MOST_DIGITS, SPOILS, WITHHELD

WORKED_OUT = ("schema_version", "id", "sha256", "protocols", "held_out", "tool")
"""Keys of dataset.toml that the user cannot set, because they follow from the records or the folder."""


@dataclass(frozen=True)
class Settings:
    """Settings for folding records into a dataset.

    Parameters
    ----------
    id : str
        Id of the dataset and name of its folder.
    title : str
        Title in one line; generated from the records if empty.
    default_variant : str
        Variant of the model that predicts by default.
    line_rate_bps : float, optional
        Line rate [b/s]; by default the rate that the network card states, unless the card is virtual.
    tolerate, refuse : tuple of str
        Flags to ignore, and flags that make a whole run unusable.
    apart : tuple of str
        Properties of the hosts that become option axes; other properties must not differ between runs.
    most_steal : float, optional
        Greatest share of a core in use, 0…1, that the hypervisor may take; other runs are kept apart.
    withhold : tuple of str
        Properties of the hosts that are withheld from the stored records.
    histogram_digits : int, optional
        Significant digits of histograms in the stored records.
    about : mapping
        Keys of dataset.toml that replace the generated ones.
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
        _check_names("--tolerate", self.tolerate, SPOILS, "is not a flag")
        _check_names("--refuse", self.refuse, SPOILS, "is not a flag")
        _check_names("--withhold", self.withhold, WITHHELD, "is not possible")
        _check_names("--apart", self.apart, APART, "is not compared")
        if both := sorted(set(self.withhold) & set(self.apart)):
            raise RecordError(
                f"--apart {both[0]} and --withhold {both[0]} contradict each other: leave one of them out"
            )
        if self.most_steal is not None and not 0 <= self.most_steal < 1:
            raise RecordError(
                f"--most-steal {self.most_steal:g} is not possible: give a share of the time from 0 "
                "up to, but not including, 1"
            )
        if self.line_rate_bps is not None and not self.line_rate_bps > 0:
            raise RecordError(
                f"--line-rate {self.line_rate_bps:g} b/s is not possible: give a rate above 0, or leave it "
                "out"
            )
        digits = self.histogram_digits
        if digits is not None and not LEAST_DIGITS <= digits <= MOST_DIGITS:
            raise RecordError(
                f"--histogram-digits {digits} is not possible: give {LEAST_DIGITS} to {MOST_DIGITS}"
            )
        for key in WORKED_OUT:
            if key in self.about:
                raise RecordError(
                    f"--about sets {key}, which follows from the records and the folder: leave it out"
                )

    def document(self) -> dict[str, object]:
        """Convert the settings to a JSON document; settings at their defaults are left out."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        lists = {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}
        return {name: value for name, value in lists.items() if value not in ("", None, [], {})}


def _check_names(option: str, names: Iterable[str], known: Collection[str], problem: str) -> None:
    for name in names:
        if name not in known:
            raise RecordError(f"{option} {name!r} {problem}: it can be one of {', '.join(known)}")


def settings_of(document: Mapping[str, object]) -> Settings:
    """Read settings from a document made by `Settings.document`.

    Raises
    ------
    RecordError
        If a key is not the name of a setting.
    """
    known = {item.name for item in fields(Settings)}
    unknown = sorted(set(document) - known)
    if unknown:
        raise RecordError(
            f"folded.json has the setting {unknown[0]!r}, which this icmodel does not know: fold "
            "the records again with -o"
        )
    said = {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
    return Settings(**said)  # type: ignore[arg-type]
