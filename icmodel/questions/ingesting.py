"""Ingest of other tools' results: options for labels and for the new dataset, and the JSON result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from icmodel import units
from icmodel.dataset import Interconnect, check_variant
from icmodel.errors import ScenarioError
from icmodel.ingest import About, Ingested, Labels, read_labels
from icmodel.questions.words import (
    BEST,
    OPTION_HELP,
    PAYLOAD_HELP,
    given_options,
    option_field,
    parse_key_values,
)

LINK_KINDS = ("ethernet", "infiniband", "roce", "rapidio", "loopback")


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Options of ``icmodel ingest`` that label all result files, as texts of the command line."""

    protocol: str | None = option_field("NAME", "Protocol, e.g. tcp.")
    payload: str | None = option_field("SIZE", PAYLOAD_HELP)
    load: str | None = option_field(
        "RATE", 'Goodput to which the tool limited its runs, e.g. "1 Gb/s", or unlimited.'
    )
    cores: str | None = option_field("N", "Number of parallel processes, one per core.")
    switches: str | None = option_field("N", "Number of switches on the path.")
    endpoints: str | None = option_field(
        "N", "Number of senders into the receiving interface, including this one."
    )
    other_goodput: str | None = option_field("RATE", "Total sent rate of the other senders.")
    host_cores: str | None = option_field(
        "N", "Cores of each host, for tools that print CPU as a share of the host."
    )
    option: list[str] | None = option_field("KEY=VALUE", OPTION_HELP)

    def labels(self) -> Labels:
        """Return the options as labels of result files, with numbers in SI units."""
        entries = given_options(self) | {"options": parse_key_values(self.option)}
        entries.pop("option", None)
        return read_labels(entries, "command line")


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """Options of ``icmodel ingest`` about the new dataset, as texts of the command line."""

    interconnect: str | None = option_field("KIND", f"Kind of link: {', '.join(LINK_KINDS)}.")
    line_rate: str | None = option_field("RATE", "Line rate; results above it are refused.")
    mtu: str | None = option_field("SIZE", 'MTU of the line, e.g. "1500 B".')
    title: str | None = option_field("TEXT", "Title of the dataset.")
    licence: str | None = option_field("TEXT", "Licence of the dataset's numbers.")
    citation: str | None = option_field("TEXT", "How to cite the dataset's numbers.")
    default_variant: str | None = option_field("NAME", "Default variant of the model.", BEST)

    def link(self) -> Interconnect | None:
        """Return the link that the command's options state (kind, line rate, MTU), or None if they state none of these."""
        if self.interconnect is None and self.line_rate is None and self.mtu is None:
            return None
        if self.interconnect is not None and self.interconnect not in LINK_KINDS:
            raise ScenarioError(
                f"--interconnect {self.interconnect!r} is unknown: use one of "
                f"{', '.join(LINK_KINDS)}"
            )
        mtu = None if self.mtu is None else units.parse_bytes(self.mtu)
        if mtu == 0:
            raise ScenarioError(f"--mtu {self.mtu!r} is impossible: a packet has at least 1 B")
        return Interconnect(
            kind=self.interconnect or "",
            line_rate_bps=None if self.line_rate is None else units.parse_bps(self.line_rate),
            mtu_bytes=mtu,
        )

    def about(self, command: str) -> About:
        """Return the description of the new dataset, such as title, licence and link.

        The dataset also stores ``command``, the command line that makes it again.
        """
        variant = self.default_variant or About().default_variant
        check_variant(variant)
        return About(
            self.title or "", self.licence or "", self.citation or "", variant, self.link(), command
        )


def ingested_document(ingested: Ingested, name: str, about: About) -> dict[str, Any]:
    """Return the result of an ingest as JSON: used files, refused files, and notes."""
    return {
        "schema_version": 1,
        "dataset": name,
        "variant": about.default_variant,
        "rows": len(ingested.points),
        "files": [
            {"file": file.file, "sha256": file.sha256, "results": len(file.results)}
            for file in ingested.taken
        ],
        "refused": [{"file": one.file, "reason": one.reason} for one in ingested.refused],
        "notes": [*ingested.notes, *about.notes],
    }
