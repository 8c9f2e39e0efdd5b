"""Laws of the model's variants: compute metrics and their bases from questions and a dataset's tables.

Each variant is one law in a module of its own; all laws give the same columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from icmodel.dataset import Dataset
    from icmodel.laws.law import Fitting, Law


def law_of(variant: str, data: Dataset, fitting: Fitting) -> Law:
    """Make the law of a variant for one dataset; the variant's module is imported when first needed."""
    module = import_module(f"icmodel.laws.{variant.replace('-', '_')}")
    return cast("Law", module.law(data, fitting))
