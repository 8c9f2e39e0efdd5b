"""Groups: the members of a name, and the pairs of members of two groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations, permutations, product

from icmodel.errors import NetworkError
from icmodel.system.tables import MOST_PARTS

Pairs = list[tuple[str, str]]
MOST_NAMES = 8
"""Greatest number of names in a message."""


def check_number(count: int, what: str) -> None:
    """Refuse more parts of a kind than a system can have, before they are made.

    Raises
    ------
    NetworkError
        If there are more than `MOST_PARTS`.
    """
    if count > MOST_PARTS:
        raise NetworkError(
            f"the system has {count} {what}, at most {MOST_PARTS} are possible: take fewer"
        )


def members(name: str, count: int) -> tuple[str, ...]:
    """``camera-1`` to ``camera-6`` for six cameras; for one the name itself."""
    return (name,) if count == 1 else tuple(f"{name}-{i + 1}" for i in range(count))


@dataclass(frozen=True, slots=True)
class Groups:
    """The members of every name: all of a group, or the member itself."""

    members: Mapping[str, tuple[str, ...]]

    def of(self, name: str, where: str) -> tuple[str, ...]:
        """The members of a name; ``where`` names the table in the message.

        Raises
        ------
        NetworkError
            If no group and no member has that name.
        """
        if name in self.members:
            return self.members[name]
        close = get_close_matches(name, self.members, 1)
        some = list(self.members)[:MOST_NAMES]
        take = f"is {close[0]} meant" if close else f"take one of {', '.join(some)}"
        raise NetworkError(f"{where} names {name!r}, which is no device and no switch: {take}")

    def of_all(self, names: Iterable[str], where: str) -> tuple[str, ...]:
        """The members of several names, each once."""
        return tuple(dict.fromkeys(one for name in names for one in self.of(name, where)))


def groups(counts: Iterable[tuple[str, int]]) -> Groups:
    """The groups of names and counts.

    Raises
    ------
    NetworkError
        If two groups, or a group and a member of another, have the same name.
    """
    found: dict[str, tuple[str, ...]] = {}
    given = list(counts)
    check_number(sum(count for _, count in given), "devices and switches")
    for name, count in given:
        own = members(name, count)
        for one in dict.fromkeys((name, *own)):
            if one in found:
                raise NetworkError(
                    f"two nodes are named {one!r}, counting members such as {members(name, 2)[0]}: "
                    "give each group its own name"
                )
            found[one] = own if one == name else (one,)
    return Groups(found)


def link_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """The pairs of members that a table of links joins; within one group each pair once.

    Raises
    ------
    NetworkError
        As `stream_pairs`.
    """
    if first == second and pairing == "each":
        check_number(len(first) * (len(first) - 1) // 2, "pairs of one group")
        return list(combinations(first, 2))
    return _no_own(_pairs(first, second, pairing))


def stream_pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    """The pairs of source and sink; within one group each member to every other.

    Raises
    ------
    NetworkError
        If the pairing is missing though both have several members, does not fit the counts, or pairs a
        member with itself.
    """
    if first == second and pairing == "each":
        check_number(len(first) * (len(first) - 1), "pairs of one group")
        return list(permutations(first, 2))
    return _no_own(_pairs(first, second, pairing))


def _pairs(first: tuple[str, ...], second: tuple[str, ...], pairing: str | None) -> Pairs:
    if pairing is None and min(len(first), len(second)) > 1:
        raise NetworkError(
            f"{len(first)} and {len(second)} nodes can pair in several ways: say "
            'pairing = "each", "one-to-one" or "spread"'
        )
    if pairing == "one-to-one" and len(first) != len(second):
        raise NetworkError(
            f'{len(first)} and {len(second)} nodes do not pair one to one: take pairing = "each" '
            'or "spread", or equal counts'
        )
    if pairing in ("one-to-one", "spread"):
        n = max(len(first), len(second))
        return [(first[i % len(first)], second[i % len(second)]) for i in range(n)]
    check_number(len(first) * len(second), "pairs of two groups")
    return list(product(first, second))


def _no_own(pairs: Pairs) -> Pairs:
    for a, b in pairs:
        if a == b:
            raise NetworkError(f"{a} is paired with itself: name two different ends")
    return pairs
