"""Laws: what each variant of the model makes of a dataset's tables, one page each.

A block of questions bound to tables comes in, the same columns of metrics go out of each law, with what
they rest on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from icmodel.dataset import Dataset
    from icmodel.laws.law import Fitting, Law

PUBLISHED = ("appendix-h", "corrected")
"""Variants that answer from the benchmarked curves as IC2012 does."""
VARIANTS = (*PUBLISHED, "hybrid")


def law_of(variant: str, data: Dataset, fitting: Fitting) -> Law:
    """The law of a variant for one dataset.

    What a law imports is loaded when it is first asked for.
    """
    page = import_module(f"icmodel.laws.{variant.replace('-', '_')}")
    return cast("Law", page.law(data, fitting))
