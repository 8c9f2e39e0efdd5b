"""Tables of the keys of dataset, use-case and system files, made from the document classes."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from docs_reference.markdown import prose, table
from icmodel.dataset import check
from icmodel.reading import Document
from icmodel.system import document as system
from icmodel.system import schedulers, traffic_sources
from icmodel.usecase import document

DATASET_TABLES: Mapping[str, type[BaseModel]] = {
    "the file itself": check.DatasetDocument,
    "[tool]": check.Tool,
    "[interconnect]": check.Link,
    "[fabrics.VALUE]": check.Fabric,
    "[[hosts]]": check.Host,
    "[axes.COLUMN]": check.AxisEntry,
    "[[stated_limits]]": check.Limit,
    "[[absences]]": check.Absence,
    "[variants.NAME]": check.VariantRows,
}
USECASE_TABLES: Mapping[str, type[BaseModel]] = {
    "the file itself": document.UseCase,
    "[medium]": document.Medium,
    "[[budgets]]": document.Budget,
    "[[devices]]": document.Device,
    '[[streams]] with kind = "image"': document.ImageStream,
    '[[streams]] with kind = "samples"': document.SampleStream,
    '[[streams]] with kind = "goodput"': document.GoodputStream,
    "[[requirements]]": document.Limit,
    "[[candidates]]": document.Candidate,
    "[candidates.scenarios.STREAM]": document.Question,
}
SYSTEM_TABLES: Mapping[str, type[BaseModel]] = {
    "the file itself": system.SystemDocument,
    "[[devices]]": system.Devices,
    "[[switches]]": system.Switches,
    "ports of a device or switch": system.PortTable,
    'a scheduler with kind = "fifo"': schedulers.Fifo,
    'a scheduler with kind = "strict-priority"': schedulers.StrictPriority,
    'a scheduler with kind = "wrr"': schedulers.WeightedRoundRobin,
    'a scheduler with kind = "drr"': schedulers.DeficitRoundRobin,
    'a scheduler with kind = "cbs"': schedulers.CreditBased,
    'a scheduler with kind = "gates"': schedulers.Gates,
    'a scheduler with kind = "dscp"': schedulers.Dscp,
    "windows of gates": schedulers.Window,
    "[[links]]": system.Links,
    "[[streams]]": system.Streams,
    'produces with kind = "image"': traffic_sources.Image,
    'produces with kind = "samples"': traffic_sources.Samples,
    'produces with kind = "goodput"': traffic_sources.Goodput,
    'produces with kind = "burst"': traffic_sources.Burst,
    'produces with kind = "unlimited"': traffic_sources.Unlimited,
    "[[requirements]]": system.SystemLimit,
    "[choices]": system.Choices,
    "[choices.streams.NAME]": system.StreamChoices,
    "[choices.devices.NAME]": system.DeviceChoices,
    "[choices.switches.NAME]": system.SwitchChoices,
    '[choices.links."A<->B"]': system.LinkChoices,
    "[costs]": system.Costs,
}


def keys(tables: Mapping[str, type[BaseModel]]) -> str:
    """Make a table of keys for each table of a document."""
    return "\n".join(_keys(place, model) for place, model in tables.items())


def _keys(place: str, model: type[BaseModel]) -> str:
    spelt = model.text_spellings() if issubclass(model, Document) else {}
    texts = {field: key for key, field in spelt.items()}
    rows = [_key(name, field, texts.get(name)) for name, field in model.model_fields.items()]
    head = table(("key", "with unit", "value", "default"), rows)
    if not texts:
        head = table(("key", "value", "default"), [(name, *rest) for name, _, *rest in rows])
    return f"### {place}\n\n{prose(model.__doc__ or '')}\n\n{head}"


def _key(name: str, field: FieldInfo, text: str | None) -> tuple[str, ...]:
    # A scheduler's kind has a default in Python only.
    fixed = typing.get_args(field.annotation) == (field.default,)
    needed = field.is_required() or fixed
    default = "needed" if needed else _plain(field.get_default(call_default_factory=True))
    return f"`{name}`", f"`{text}`" if text else "", _kind(field.annotation), default


def _plain(value: object) -> str:
    return "" if value in (None, "", (), {}) else f"`{value}`"


KINDS: Mapping[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    type(None): "",
}


def _kind(annotation: object) -> str:
    """Return a type in plain words."""
    if annotation in KINDS:
        return KINDS[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{one}`" if isinstance(one, int) else f'`"{one}"`' for one in inner)
    if origin is typing.Annotated:
        return _kind(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(kind for one in inner if (kind := _kind(one))))
    if origin is dict:
        return f"table of {_kind(inner[1])}"
    if origin in (tuple, list):
        return f"list of {_kind(inner[0])}"
    return (
        "table" if isinstance(annotation, type) and issubclass(annotation, BaseModel) else "value"
    )
