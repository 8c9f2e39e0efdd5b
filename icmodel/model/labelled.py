"""Answers to arrays of questions as one xarray.Dataset; its accessor ``icmodel`` makes plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr
from numpy.typing import NDArray

from icmodel.estimate import attributes
from icmodel.model.cache import TableCache
from icmodel.model.many import QuestionTable
from icmodel.plotting import GridPlots

if not hasattr(xr.Dataset, "icmodel"):
    accessor: Any = xr.register_dataset_accessor  # has no types
    accessor("icmodel")(GridPlots)


def labelled(
    model: TableCache, questions: QuestionTable, columns: Mapping[str, NDArray[Any]]
) -> xr.Dataset:
    """Make an xarray.Dataset of the answers, with the dimensions and coordinates of the questions."""
    data = model.data
    return xr.Dataset(
        {
            name: xr.Variable(questions.dims, column, attributes(name))
            for name, column in columns.items()
        },
        coords=dict(questions.coords),
        attrs={"dataset": data.id, "sha256": data.sha256, "variant": model.variant},
    )
