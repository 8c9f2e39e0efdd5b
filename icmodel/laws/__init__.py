"""Laws of the model's variants: compute metrics and their bases from prediction requests and a dataset's tables.

A law is the set of functions of one variant, such as `corrected`.  Each law has a module of its own.  All laws return
the same columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from icmodel.dataset import Dataset
    from icmodel.laws.law import Fitting, Law


def law_of(variant: str, data: Dataset, fitting: Fitting) -> Law:
    """Make the law (the set of functions) of a model variant for one dataset.

    The variant's module is imported when first needed.
    """
    module = import_module(f"icmodel.laws.{variant.replace('-', '_')}")
    return cast("Law", module.law(data, fitting))
