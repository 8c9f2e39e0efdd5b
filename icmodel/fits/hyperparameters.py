"""The result of a fit's search: the kind of cost model, and the numbers of each process' kernel.

With these and the rows a fit is restored without a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from icmodel.fits.kernel import NUMBERS, Kernel

Kernels = Mapping[str, Kernel]
"""The kernel of each part of the rows."""


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The kind of the best cost model, and the kernels of each design of process."""

    mechanism: str
    kernels: tuple[Kernels, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        kernels = [{part: _written(one) for part, one in each.items()} for each in self.kernels]
        return {"mechanism": self.mechanism, "kernels": kernels}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Hyperparameters:
        """Read from the JSON form.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the document is not one.
        """
        kernels = tuple(
            {str(part): _read(one) for part, one in each.items()} for each in document["kernels"]
        )
        return cls(str(document["mechanism"]), kernels)


def _written(kernel: Kernel) -> dict[str, Any]:
    numbers = {name: getattr(kernel, name) for name in NUMBERS}
    distances = {
        f"{column} {label}".rstrip(): one for (column, label), one in kernel.label_distances.items()
    }
    return {"form": kernel.form, **numbers, "label_distances": distances}


def _read(document: Mapping[str, Any]) -> Kernel:
    numbers = {name: float(document[name]) for name in NUMBERS}
    distances = {}
    for group, number in document["label_distances"].items():
        column, _, label = group.partition(" ")
        distances[int(column), label] = float(number)
    return Kernel(str(document["form"]), **numbers, label_distances=distances)
