"""A read-only mapping that pickles, compares and copies like a dict."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar

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

    def __repr__(self) -> str:
        return repr(self._values)
