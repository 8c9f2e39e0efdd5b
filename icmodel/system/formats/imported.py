"""ImportedSystem: tables of a system file, collected while the file of another tool is read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from icmodel.errors import NetworkError
from icmodel.system.document import SCHEMA_VERSION

Table = dict[str, Any]

FAST_BPS = 1e12
"""Rate assumed for links without a stated rate [b/s]; 10 000 times as fast as 100 Mb/s."""


@dataclass
class ImportedSystem:
    """Devices, switches, links and streams read from another tool's file, with remarks on parts that are left out."""

    name: str
    title: str
    source: str
    devices: list[Table] = field(default_factory=list)
    switches: list[Table] = field(default_factory=list)
    links: list[Table] = field(default_factory=list)
    streams: list[Table] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def document(self) -> Table:
        """Make the content of the system file; remarks on omitted or changed parts become its ``known_limits``."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        # A device without a stated number of interfaces has one for each of its links.
        ends = Counter(end for link in self.links for end in link["between"])
        devices = [
            {"interfaces": max(ends[device["name"]], 1), **device} for device in self.devices
        ]
        parts: Table = {
            "schema_version": SCHEMA_VERSION,
            "name": slug if slug[:1].isalpha() else f"system-{slug}".rstrip("-"),
            "title": self.title or self.name,
            "source": self.source,
            "known_limits": self.remarks,
            "devices": devices,
            "switches": self.switches,
            "links": self.links,
            "streams": self.streams,
        }
        return {key: value for key, value in parts.items() if value or key == "schema_version"}

    def remark(self, text: str) -> None:
        """Add a remark on a part that is left out or changed; the same remark is added only once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def allowed_name(self, name: object) -> str:
        """Convert a name to one that system files allow; add a remark if the name changes."""
        text = str(name)
        allowed = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).lstrip("-_.") or "unnamed"
        if allowed != text:
            self.remark(f"{text!r} is named {allowed!r} here")
        return allowed


@dataclass(frozen=True, slots=True)
class TokenBucketFlow:
    """Flow with a token bucket as arrival curve: burst [b], rate [b/s] and longest packet [b].

    The longest packet is 0 if it is unknown.
    """

    burst_bits: float
    rate_bps: float
    packet_bits: float

    def stream_table(self, name: str, made: ImportedSystem) -> Table:
        """Make the table of a stream for the flow; the caller adds source and sink.

        Each message of the stream is as large as the burst. The period is burst / rate, so that the stream has the
        rate of the flow.

        Raises
        ------
        NetworkError
            If the flow has no burst or no rate.
        """
        if not (self.burst_bits > 0 and self.rate_bps > 0):
            raise NetworkError(f"the flow {name} has no burst or no rate: give both above 0")
        if self.packet_bits > self.burst_bits:
            made.remark(
                f"the longest packet of {name} is larger than its burst: the burst is used in its place"
            )
        payload = min(self.packet_bits or self.burst_bits, self.burst_bits)
        produces: Table = {
            "kind": "samples",
            "samples": 1,
            "size_bits": self.burst_bits,
            "cycle_hz": self.rate_bps / self.burst_bits,
        }
        return {
            "name": name,
            "produces": produces,
            "protocol": "udp",
            "payload_bytes": max(math.ceil(payload / 8), 1),
        }


def plain_cable(here: str, there: str, rate_bps: float) -> Table:
    """Make the table of a system file for a link between two nodes without packet headers (interconnect ``plain``)."""
    return {"between": [here, there], "rate_bps": rate_bps, "interconnect": "plain"}


def tables(document: Mapping[str, Any], key: str, file: str) -> list[Mapping[str, Any]]:
    """List of tables under a key of a JSON document; empty if the key is missing.

    Raises
    ------
    NetworkError
        If the value of the key is no list of tables.
    """
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise NetworkError(f"{file}: {key} must be a list of tables: correct the file")
    return value


def needed(table: Mapping[str, Any], key: str, where: str) -> Any:
    """Value of a required key of a table.

    Raises
    ------
    NetworkError
        If the key is missing or its value is empty.
    """
    if table.get(key) in (None, "", []):
        raise NetworkError(f"{where} has no {key}, which is required: add it")
    return table[key]


def needed_list(table: object, key: str, where: str) -> list[Any]:
    """List under a required key of a table.

    Raises
    ------
    NetworkError
        If ``table`` is no table, or the key is missing, or its value is no list.
    """
    value = needed(table, key, where) if isinstance(table, Mapping) else None
    if not isinstance(value, list):
        raise NetworkError(f"{where} has no list of {key}: correct the file")
    return value
