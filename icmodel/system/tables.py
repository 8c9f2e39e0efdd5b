"""Tables that several parts of a system's document share: names, priorities, schedulers (pydantic)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from icmodel.spelling import Count, Document, Positive

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""Name of a group or of a member of one: letters, digits, ``_``, ``.`` and ``-``."""
Priority = Annotated[int, Field(ge=0, le=7)]
Pairing = Literal["each", "one-to-one", "spread"]
Kind = Literal["hard", "firm", "soft"]
MOST_PARTS = 100_000
"""Greatest number of nodes, links and streams of a system, each, and of the cores of a device."""
Parts = Annotated[int, Field(strict=True, ge=1, le=MOST_PARTS)]


def _as_list(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


_ONE = {"type": "string", "pattern": NAME_PATTERN}
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_ONE, {"type": "array", "items": _ONE, "minItems": 1}]}),
]
"""One name, or a list of them."""


# --- schedulers -------------------------------------------------------------------------------


class FifoTable(Document):
    """First come, first served."""

    kind: Literal["fifo"]


class StrictPriorityTable(Document):
    """The most urgent priority that waits is sent first."""

    kind: Literal["strict-priority"]


class WeightedTable(Document):
    """Priorities take turns of so many frames: ``weights = { 5 = 7, 1 = 2 }``."""

    kind: Literal["wrr"]
    weights: Annotated[dict[Priority, Count], Field(min_length=1)]


class DeficitTable(Document):
    """Priorities take turns of so many bytes: ``quanta = { 5 = "9 kB", 1 = "3 kB" }``."""

    kind: Literal["drr"]
    quanta_bytes: dict[Priority, Count]


class CreditTable(Document):
    """Some priorities send only while they have credit: ``idle_slopes = { 6 = "20 Mb/s" }``."""

    kind: Literal["cbs"]
    idle_slopes_bps: dict[Priority, Positive]


class WindowTable(Document):
    """A part of the cycle of gates, and the priorities that may send in it."""

    open: Annotated[tuple[Priority, ...], Field(min_length=1)]
    duration_s: Positive


class GatesTable(Document):
    """Windows one after the other, over and over."""

    kind: Literal["gates"]
    windows: Annotated[tuple[WindowTable, ...], Field(min_length=1)]


class DscpTable(Document):
    """Expedited and assured forwarding as IC2012 measured it: ``classes = { 5 = "ef", 1 = "af1" }``."""

    kind: Literal["dscp"]
    classes: Annotated[
        dict[Priority, Literal["ef", "af1", "af2", "af3", "af4"]], Field(min_length=1)
    ]


SchedulerTable = Annotated[
    FifoTable
    | StrictPriorityTable
    | WeightedTable
    | DeficitTable
    | CreditTable
    | GatesTable
    | DscpTable,
    Field(discriminator="kind"),
]
SCHEDULERS = ("fifo", "strict-priority", "wrr", "drr", "cbs", "gates", "dscp")
