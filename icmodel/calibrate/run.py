"""Run: the conditions of one measurement, and the options of icprobe for them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from icmodel.errors import RecordError

Record = Mapping[str, Any]
"""A record of icprobe, as read from JSON."""


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """One point of the plan: protocol, payload, offered load and cores.

    Parameters
    ----------
    protocol : str
        As icprobe names it: tcp, udp, ethernet or zeromq.
    payload_bytes : int
        Useful bytes a frame.
    load_bps : float
        Requested goodput [b/s]; infinite for an unlimited load.
    cores : int
        Cores of each end.
    """

    protocol: str
    payload_bytes: int
    load_bps: float = math.inf
    cores: int = 1

    @property
    def unlimited(self) -> bool:
        """Whether the load is unlimited."""
        return math.isinf(self.load_bps)

    @property
    def identity(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of its fields."""
        load = None if self.unlimited else self.load_bps
        text = json.dumps([self.protocol, self.payload_bytes, load, self.cores])
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]

    def words(self) -> tuple[str, ...]:
        """The options of ``icprobe run`` for it."""
        asked = ("--protocol", self.protocol, "--payload", f"{self.payload_bytes} B")
        cores = ("--cores", str(self.cores))
        load = () if self.unlimited else ("--load", f"{self.load_bps:.0f} b/s")
        return (*asked, *cores, *load)


def run_of(record: Record) -> Run:
    """The run of a record.

    Raises
    ------
    RecordError
        If the record lacks its point, or a field of it.
    """
    try:
        point = record["point"]
        load = point.get("load_bps")
        return Run(
            protocol=str(point["protocol"]),
            payload_bytes=int(point["payload_bytes"]),
            load_bps=math.inf if load is None else float(load),
            cores=int(point.get("cores", 1)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"a record does not say its point ({error}): it needs protocol, payload_bytes and, "
            "where it was limited, load_bps"
        ) from error
