"""Immutable values that can be pickled, copied and compared.

They are a read-only mapping, records in which NaN equals NaN, and records with fields computed on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

K = TypeVar("K")
V = TypeVar("V", covariant=True)


class FrozenMapping(Mapping[K, V], Generic[K, V]):
    """Mapping that cannot be changed but can be pickled, unlike `types.MappingProxyType`.

    Examples
    --------
    >>> import pickle
    >>> frozen = FrozenMapping({"cores": 4})
    >>> frozen["cores"], frozen == {"cores": 4}
    (4, True)
    >>> pickle.loads(pickle.dumps(frozen)) == frozen
    True
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[K, V]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def keys(self) -> KeysView[K]:
        """Return a view of the mapping's keys."""
        return self._values.keys()

    def values(self) -> ValuesView[V]:
        """Return a view of the mapping's values."""
        return self._values.values()

    def items(self) -> ItemsView[K, V]:
        """Return a view of the mapping's pairs of key and value."""
        return self._values.items()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.keys() == other.keys() and all(
            same(value, other[key]) for key, value in self.items()
        )

    def __repr__(self) -> str:
        return repr(self._values)


class NanEqual:
    """Base of dataclasses with ``eq=False``: equal if all fields are equal, and NaN equals NaN.

    NaN stands for an absent number. In Python, NaN is unequal to itself. So without this class, two equal answers
    could compare unequal.

    Examples
    --------
    >>> from icmodel.estimate import absent
    >>> absent("not measured") == absent("not measured"), float("nan") == float("nan")
    (True, False)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(map(same, _values(self), _values(other)))

    def __hash__(self) -> int:
        return hash(tuple(None if is_nan(value) else value for value in _values(self)))


class Late:
    """Base of frozen dataclasses whose fields can be computed on first use.

    `later` makes an object from its known fields and a function. The function computes any other field when it is first
    read. Comparing, pickling and copying read all fields.

    Examples
    --------
    >>> from icmodel.estimate import Estimate
    >>> late = Estimate.later({"basis": "stated", "why": "", "bases": ()}.get, value=1.0, low=0.9, high=1.1)
    >>> late.basis, late == Estimate(1.0, 0.9, 1.1, "stated")
    ('stated', True)
    """

    __slots__ = ("_compute",)

    @classmethod
    def later(cls, compute: Callable[[str], object], **known: object) -> Self:
        """Make an object with the ``known`` fields; any other field is computed on first use, by ``compute(name)``."""
        made = cls.__new__(cls)
        for name, value in (("_compute", compute), *known.items()):
            object.__setattr__(made, name, value)
        return made

    if not TYPE_CHECKING:  # hidden from type checkers, which would accept misspelt fields

        def __getattr__(self, name: str) -> object:
            if name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = object.__getattribute__(self, "_compute")(name)
            object.__setattr__(self, name, value)
            return value


def same(one: object, other: object) -> bool:
    """Whether two values are equal, or both NaN."""
    return one == other or (is_nan(one) and is_nan(other))


def is_nan(value: object) -> bool:
    """Whether a value is the number NaN."""
    return isinstance(value, float) and math.isnan(value)


def _values(record: Any) -> tuple[object, ...]:
    return tuple(getattr(record, field.name) for field in fields(record))
