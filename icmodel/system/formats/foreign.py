"""The tables of a system file, while another tool's file is read into them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from icmodel.errors import NetworkError
from icmodel.system.document import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Arrival:
    """A burst [b] that may come at once, a rate [b/s], and the longest packet [b], 0 where none is said."""

    burst_bits: float
    rate_bps: float
    packet_bits: float


def stream_table(name: str, arrival: Arrival, made: Foreign) -> Table:
    """The table of a stream without its ends: a message as large as the burst, as often as the rate lets.

    Raises
    ------
    NetworkError
        If there is no burst or no rate.
    """
    if not (arrival.burst_bits > 0 and arrival.rate_bps > 0):
        raise NetworkError(f"the flow {name} has no burst or no rate: give both above 0")
    packet = arrival.packet_bits
    if packet > arrival.burst_bits:
        made.remark(
            f"the longest packet of {name} is larger than its burst, which one packet is at most"
        )
    payload = min(packet or arrival.burst_bits, arrival.burst_bits)
    produced: Table = {
        "kind": "samples",
        "samples": 1,
        "size_bits": arrival.burst_bits,
        "cycle_hz": arrival.rate_bps / arrival.burst_bits,
    }
    return {
        "name": name,
        "produces": produced,
        "protocol": "udp",
        "payload_bytes": max(math.ceil(payload / 8), 1),
    }


Table = dict[str, Any]

FAST_BPS = 1e12
"""Rate [b/s] of links whose file gives none: what it adds is a ten-thousandth of 100 Mb/s'."""


@dataclass
class Foreign:
    """A system as another tool's file tells it; the document has its devices, switches, links and streams."""

    name: str
    title: str
    source: str
    devices: list[Table] = field(default_factory=list)
    switches: list[Table] = field(default_factory=list)
    links: list[Table] = field(default_factory=list)
    streams: list[Table] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def document(self) -> Table:
        """The system file, with the remarks among its known limits."""
        found: Table = {
            "schema_version": SCHEMA_VERSION,
            "name": slug(self.name),
            "title": self.title or self.name,
            "source": self.source,
            "known_limits": [*self.limits, *self.remarks],
            "devices": self._with_interfaces(),
            "switches": self.switches,
            "links": self.links,
            "streams": self.streams,
        }
        return {key: value for key, value in found.items() if value or key == "schema_version"}

    def _with_interfaces(self) -> list[Table]:
        """Devices with as many interfaces as the file has links at them, where it says no number."""
        ends = Counter(end for link in self.links for end in link["between"])
        return [{"interfaces": max(ends[one["name"]], 1), **one} for one in self.devices]

    def remark(self, text: str) -> None:
        """Add a remark on what is not carried over unchanged, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def named(self, name: object) -> str:
        """A name that system files allow, with a remark if it differs from the file's."""
        text = str(name)
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).lstrip("-_.") or "unnamed"
        if plain != text:
            self.remark(f"{text!r} is named {plain!r} here")
        return plain


def plain_cable(here: str, there: str, rate_bps: float) -> Table:
    """The table of a link on which bits are bits, as network calculus has them."""
    return {"between": [here, there], "rate_bps": rate_bps, "interconnect": "plain"}


def slug(name: str) -> str:
    """The name of a system: lower case, digits and hyphens, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"system-{plain}".rstrip("-")


def tables(document: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    """A list of tables of a JSON document; empty where the key is missing.

    Raises
    ------
    NetworkError
        If it is something else.
    """
    found = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise NetworkError(f"{file} has {key} that are no list of tables: correct it")
    return found


def needed(table: Mapping[str, Any], key: str, where: str) -> Any:
    """The value of a key that a table must have.

    Raises
    ------
    NetworkError
        If it has not.
    """
    if table.get(key) in (None, "", []):
        raise NetworkError(f"{where} has no {key}: it is needed")
    return table[key]
