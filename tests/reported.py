"""Answers of every kind that has a report, each computed once: bundled use cases and systems, and one of the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from icmodel.dataset import load as load_dataset
from icmodel.interconnects import compare_interconnects
from icmodel.recommend import recommend
from icmodel.report import page_of
from icmodel.report.blocks import Page
from icmodel.system import load, predict, system_names
from icmodel.usecase import evaluate, usecase_names
from icmodel.validate import ValidationOptions, validate

if TYPE_CHECKING:
    from icmodel.report import Answer

DATASET = "ethernet-10g-2012"
OTHER = "mpi-csd3"
"""A dataset without one-way latency, and without the protocols of most candidates."""


def _makers() -> dict[str, Callable[[], Answer]]:
    makers: dict[str, Callable[[], Answer]] = {}
    for name in usecase_names():
        makers[f"evaluate {name}"] = partial(evaluate, name, DATASET)
        makers[f"evaluate {name} on {OTHER}"] = partial(evaluate, name, OTHER)
    makers["evaluate imaging strictly"] = partial(
        evaluate, "imaging", DATASET, candidate="tcp-two-sets-of-cores", strict=True
    )
    makers["evaluate imaging, met"] = partial(
        evaluate, "imaging", DATASET, candidate="tcp-two-sets-of-cores"
    )
    for name in system_names():
        makers[f"system {name}"] = lambda name=name: predict(load(name))  # type: ignore[misc]
    makers["compare imaging"] = partial(compare_interconnects, "imaging", [DATASET])
    makers["recommend lab-priorities"] = partial(recommend, "lab-priorities")
    options = ValidationOptions(kinds=("leave-one-out",), metrics=("goodput_bps",), most=8)
    makers["validate"] = lambda: validate(load_dataset("dds-1g"), None, options)
    return makers


MAKERS = _makers()
BRIEF = (
    "evaluate imaging",
    f"evaluate motion-control on {OTHER}",
    "evaluate imaging strictly",
    "system industrial-line",
    "compare imaging",
    "recommend lab-priorities",
    "validate",
)
"""One answer or two of each kind, which `make test` looks at."""


@cache
def answer(name: str) -> Answer:
    """The answer of a name in `MAKERS`."""
    return MAKERS[name]()


@cache
def page(name: str) -> Page:
    """The page of an answer."""
    return page_of(answer(name))
