"""The account of what became of every record, written to folded.json and README.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from icmodel.fold.environment import NOT_COMPARED
from icmodel.fold.flags import BESIDE, BUSY, SPARE_PROCESS_CPU, SPOILS, WHY

USED, HELD_OUT, APART = "used", "held out", "kept apart"
HELD_OUT_NOTE = " A held-out run stands in `held-out.csv`, on its own, and no point is made of it."
BEGIN, END = "<!-- folded: begin -->", "<!-- folded: end -->"

SPOILS_BY_OTHERS: Mapping[str, str] = {
    BESIDE: "everything; where others sent on purpose `cpu_recv*` and `packets_received*`",
    BUSY: "where others sent from the sender's own cores everything but `goodput_bps` and `loss_rate`",
}
"""README's words on flags whose effect depends on which other streams sent."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one run.

    Parameters
    ----------
    run : str
        Name of the run.
    fate : str
        ``used``, ``held out`` or ``kept apart`` (that is, in no row).
    why : str
        The reason if it was kept apart, else empty.
    left_out : mapping
        Metric -> flags, for each metric that is in no row because flags make it unusable.
    flags : tuple of str
        The run's flags.
    """

    run: str
    fate: str
    why: str = ""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """What became of all records, and what they have in common.

    Parameters
    ----------
    settings : mapping
        The settings that a person chose.
    sha256 : str
        SHA-256 of the uncompressed records.
    duplicates : int
        Number of records that occurred twice.
    fates : tuple of Fate
        One for each run, in order of time.
    fixed : mapping
        Options that all runs share.
    explained : mapping
        Properties of the hosts that differ between runs along with an option axis -> their values.
    notes, remarks : tuple of str
        Problems met while reading, and anomalies in the records.
    """

    settings: Mapping[str, object]
    sha256: str
    duplicates: int
    fates: tuple[Fate, ...]
    fixed: Mapping[str, str]
    explained: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def count(self, fate: str) -> int:
        """The number of runs with a fate."""
        return sum(item.fate == fate for item in self.fates)

    def reasons(self) -> dict[str, int]:
        """Reasons for which runs were kept apart, with the number of runs."""
        found = Counter(item.why for item in self.fates if item.fate == APART)
        return dict(sorted(found.items()))

    def flags(self) -> dict[str, dict[str, int]]:
        """For each flag the number of runs with it, and of those that lost a metric to it."""
        seen = Counter(flag for item in self.fates for flag in item.flags)
        spoilt = Counter(
            flag
            for item in self.fates
            for flag in {flag for flags in item.left_out.values() for flag in flags}
        )
        return {flag: {"runs": seen[flag], "spoilt": spoilt[flag]} for flag in sorted(seen)}

    def document(self) -> dict[str, object]:
        """The document of folded.json."""
        return {
            "schema_version": 1,
            "settings": dict(self.settings),
            "records": {
                "runs": len(self.fates),
                "sha256": self.sha256,
                "given_twice": self.duplicates,
            },
            "used": self.count(USED),
            "held_out": self.count(HELD_OUT),
            "kept_apart": self.reasons(),
            "flags": self.flags(),
            "same_in_all_runs": dict(self.fixed),
            "environment": {
                "told_apart_by_axes": {name: list(v) for name, v in self.explained.items()},
                "not_compared": dict(NOT_COMPARED),
            },
            "notes": list(self.notes),
            "remarks": list(self.remarks),
            "runs": [_fate(item) for item in self.fates],
        }

    def json(self) -> bytes:
        """The bytes of folded.json."""
        return (json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n").encode()


def _fate(item: Fate) -> dict[str, object]:
    said: dict[str, object] = {"run": item.run, "fate": item.fate}
    if item.why:
        said["why"] = item.why
    if item.flags:
        said["flags"] = list(item.flags)
    by_flags: dict[tuple[str, ...], list[str]] = {}
    for metric, flags in item.left_out.items() if item.fate != APART else ():
        by_flags.setdefault(flags, []).append(metric)
    if by_flags:
        said["left_out"] = [
            {"flags": list(flags), "metrics": sorted(metrics)}
            for flags, metrics in sorted(by_flags.items())
        ]
    return said


# --- README.md --------------------------------------------------------------------------------


def readme(id_: str, title: str, account: Account, before: str | None) -> str:
    """README.md with the account between two marks; the text around them is kept."""
    made = "\n".join([BEGIN, *_prose(id_, account), END])
    if before is None:
        return f"# {title}\n\n{made}\n"
    head, begin, rest = before.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        return f"{before.rstrip()}\n\n{made}\n"
    return f"{head}{made}{tail}"


def _prose(id_: str, account: Account) -> list[str]:
    told = (*account.notes, *account.remarks)
    return [
        f"`records.jsonl.gz` holds the {len(account.fates)} records of icprobe that this dataset was "
        f"folded from, as they were written{_kept(account)}. `folded.json` says of each what "
        "became of it.",
        "",
        *_table(("runs", "what became of them"), _fates(account)),
        *_flag_lines(account),
        *[f"- {note}" for note in told],
        *([""] if told else []),
        "Points are means over the runs of a point, with their number and their standard deviation."
        + (HELD_OUT_NOTE if any(one.fate == HELD_OUT for one in account.fates) else ""),
        "",
        "Rebuilt from these records, byte for byte, by",
        "",
        "```sh",
        f"icmodel fold {id_}",
        "```",
    ]


def _kept(account: Account) -> str:
    """How the kept records differ from those that icprobe wrote; empty if they do not."""
    names, digits = account.settings.get("withhold"), account.settings.get("histogram_digits")
    said = []
    if isinstance(names, list):
        said.append(f"with {', '.join(f'`{name}`' for name in names)} withheld")
    said += [] if digits is None else [f"with histograms of {digits} significant digits"]
    return f", but {' and '.join(said)}" if said else ""


def _fates(account: Account) -> list[tuple[str, str]]:
    rows = [(str(account.count(USED)), "used for points")]
    if held := account.count(HELD_OUT):
        rows.append((str(held), "held out by the plan"))
    rows += [(str(n), f"kept apart: {why}") for why, n in account.reasons().items()]
    if account.duplicates:
        rows.append((str(account.duplicates), "given twice, counted once"))
    return rows


def _flag_lines(account: Account) -> list[str]:
    flags = account.flags()
    if not flags:
        return []
    refused = account.settings.get("refuse", ())
    rows = [
        (flag, str(n["runs"]), _spoils(flag, n["spoilt"], refused), WHY.get(flag, "not known here"))
        for flag, n in flags.items()
    ]
    return _table(("flag", "runs", "spoils", "since"), rows)


def _spoils(flag: str, spoilt: int, refused: object) -> str:
    if not spoilt:
        return "nothing"
    if isinstance(refused, Sequence) and flag in refused:
        return "everything"
    prefixes = SPOILS.get(flag, ("",)) or ("",)
    told = SPOILS_BY_OTHERS.get(flag) or (
        "everything" if "" in prefixes else ", ".join(f"`{p}*`" for p in prefixes)
    )
    return f"{told}, but `cpu_*_process_cores`" if flag in SPARE_PROCESS_CPU else told


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]
