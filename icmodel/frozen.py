"""A read-only mapping that pickles, compares and copies like a dict."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V", covariant=True)


class FrozenMapping(Mapping[K, V], Generic[K, V]):
    """A mapping that cannot be changed; `types.MappingProxyType` cannot be pickled.

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
        """A view of the keys."""
        return self._values.keys()

    def values(self) -> ValuesView[V]:
        """A view of the values."""
        return self._values.values()

    def items(self) -> ItemsView[K, V]:
        """A view of the pairs."""
        return self._values.items()

    def __repr__(self) -> str:
        return repr(self._values)
