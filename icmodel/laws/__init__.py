"""Laws: a block of questions bound to a dataset's tables comes in, columns of metrics and their bases go out.

Each variant of the model is one law in a module of its own; all laws give the same columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from icmodel.dataset import Dataset
    from icmodel.laws.law import Fitting, Law


def law_of(variant: str, data: Dataset, fitting: Fitting) -> Law:
    """The law of a variant for one dataset.

    Its module is imported when it is first needed.
    """
    page = import_module(f"icmodel.laws.{variant.replace('-', '_')}")
    return cast("Law", page.law(data, fitting))
