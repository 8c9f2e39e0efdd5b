"""Designs: all of the search space, scored; if there are too many, those closest to the file's own design."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Ints
from icmodel.errors import NetworkError
from icmodel.recommend.alone import Alone, Asked, alone
from icmodel.recommend.networks import Network, knobs, networks
from icmodel.recommend.scores import (
    Block,
    Scores,
    Weights,
    joined,
    ordered,
    scores,
    undominated,
    weights,
)
from icmodel.recommend.variants import Speakers, usual, variants
from icmodel.system import OpenSystem, System, check
from icmodel.system.checking import refusal
from icmodel.system.document import Choices, StreamChoices
from icmodel.system.prediction.judging import always_required

MOST_DESIGNS = 1_000_000
"""Greatest number of scored designs."""
MOST_NETWORKS = 256
"""Greatest number of networks."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of designs, and of those left out, by reason.

    Parameters
    ----------
    all, scored : int
        All designs; those that were scored.
    contradictory : int
        In networks that contradict themselves.
    dominated : int
        With a variant of a stream for which another is at least as good in everything that is scored.
    far : int
        Not scored: they differ from the file in more than `tables` tables of streams, or in more of the network
        than the limit allows.
    """

    all: int
    scored: int
    contradictory: int = 0
    dominated: int = 0
    far: int = 0
    tables: int | None = None

    @property
    def exhaustive(self) -> bool:
        """Whether every design was scored, or one at least as good."""
        return not self.far


@dataclass(frozen=True, slots=True)
class Space:
    """The search space: networks, tables of streams by name, variants of each, all scores.

    ``tables`` are weights by network and table of streams.
    """

    file: OpenSystem
    networks: tuple[Network, ...]
    names: tuple[str, ...]
    tables: tuple[tuple[Weights, ...], ...]
    scores: Scores
    alone: Alone
    counts: Counts

    def design(self, index: int) -> Design:
        """One of the scored designs."""
        network = int(self.scores.network[index])
        return Design(self, network, tuple(self.scores.variants[index].tolist()))


@dataclass(frozen=True, slots=True)
class Design:
    """A network and a variant for each table of streams."""

    space: Space
    network: int
    variants: tuple[int, ...]

    @property
    def changed(self) -> dict[str, str]:
        """Differences from the file, as text."""
        found = dict(self.space.networks[self.network].changed)
        for name, table, index in self._chosen():
            differs = table.variants[index].changed(table.variants[0])
            found |= {f"{name}.{what}": text for what, text in differs.items()}
        return found

    @property
    def chosen(self) -> dict[str, str]:
        """Protocol, payload, rate, cores and priority of each table of streams, and the network's differences."""
        found = dict(self.space.networks[self.network].changed)
        for name, table, index in self._chosen():
            found |= {f"{name}.{what}": text for what, text in table.variants[index].told().items()}
        return found

    def system(self) -> System:
        """The system of the design, expanded from the changed document.

        Raises
        ------
        NetworkError
            If it contradicts itself.
        """
        file = self.space.networks[self.network].open
        chosen = {name: table.variants[index] for name, table, index in self._chosen()}
        streams = tuple(chosen[one.name].of_table(one) for one in file.document.streams)
        made = replace(
            file, document=file.document.model_copy(update={"streams": streams})
        ).system()
        if wrong := refusal(check(made)):
            raise NetworkError(wrong)
        return made

    def _chosen(self) -> Iterator[tuple[str, Weights, int]]:
        return zip(self.space.names, self.space.tables[self.network], self.variants, strict=True)


def space(file: OpenSystem, speakers: Speakers, most: int = MOST_DESIGNS) -> Space:
    """Score all designs of a file, or those within the limit.

    Parameters
    ----------
    most : int
        Greatest number of designs, before dominated ones and those far from the file are left out.

    Raises
    ------
    NetworkError
        If the file's own network contradicts itself, or there is no stream or no requirement.
    """
    own = _own(file)
    choices = file.document.choices or usual(file.document, own, speakers)
    turned = knobs(file.document, choices)
    looked = list(itertools.islice(networks(file, turned), MOST_NETWORKS))
    sound = [one for one in looked if not refusal(check(one.system))]
    blocks = [list(_blocks(one, choices, speakers)) for one in sound]
    told, weighed = _weighed(blocks, speakers)
    kept = [[np.arange(len(one.variants)) for one in some] for some in weighed]
    many = _count(kept) > most
    left = [[undominated(one) for one in some] for some in weighed] if many else kept
    picks, tables = _fitting(left, most)
    found = joined(
        [
            _scored(number, sound[number], weighed[number], pick)
            for number, some in enumerate(picks)
            for pick in some
        ]
    )
    unseen = math.prod(len(one.options) for one in turned) - len(looked)
    in_one = math.prod(
        len(one) for one in kept[0]
    )  # designs of a network: as many as of the file's own
    counts = Counts(
        all=_count(kept) + (len(looked) - len(sound) + unseen) * in_one,
        scored=len(found),
        contradictory=(len(looked) - len(sound)) * in_one,
        dominated=_count(kept) - _count(left),
        far=_count(left) - len(found) + unseen * in_one,
        tables=tables,
    )
    names = tuple(one.table.name for one in blocks[0])
    weights_of = tuple(map(tuple, weighed))
    return Space(file, tuple(sound), names, weights_of, ordered(found), told, counts)


def _own(file: OpenSystem) -> System:
    """The file's own system, if it has streams and requirements."""
    own = file.system()
    if wrong := refusal(check(own)):
        raise NetworkError(f"{file.file}: {wrong}")
    if not own.streams:
        raise NetworkError(f"{file.file} has no streams: draw some before designs are searched")
    if not (own.requirements or always_required(own)):
        raise NetworkError(
            f"{file.file} requires nothing, and its streams send as fast as they go: give it "
            "requirements before designs are searched"
        )
    return own


def _blocks(network: Network, choices: Choices, speakers: Speakers) -> Iterator[Block]:
    """The tables of streams of a network by name, with their variants."""
    for table in sorted(network.open.document.streams, key=lambda one: one.name):
        given = choices.streams.get(table.name, StreamChoices())
        yield Block(network, table, variants(table, given, network.system, speakers))


def _weighed(
    blocks: Sequence[Sequence[Block]], speakers: Speakers
) -> tuple[Alone, list[list[Weights]]]:
    """Weights of all variants of all tables in all networks, predicted together."""
    asked: list[Asked] = []
    starts: list[int] = []
    for block in itertools.chain.from_iterable(blocks):
        starts.append(len(asked))
        asked.extend(block.asked())
    told = alone(asked, speakers)
    start = iter(starts)
    return told, [[weights(block, told, next(start)) for block in some] for some in blocks]


def _count(picks: Sequence[Sequence[Ints]]) -> int:
    return sum(math.prod(len(one) for one in some) for some in picks)


def _fitting(
    left: Sequence[Sequence[Ints]], most: int
) -> tuple[list[list[list[Ints]]], int | None]:
    """Combinations by network: all, or those with so few tables different from the file that they are within the limit.

    Also returns that number of tables; ``None`` if all are within the limit.
    """
    if _count(left) <= most:
        return [[list(some)] for some in left], None
    tables = len(left[0])
    for apart in range(tables - 1, 0, -1):
        picks = [list(_near(some, apart)) for some in left]
        if apart == 1 or sum(map(_count, picks)) <= most:
            return picks, apart
    return [[[np.zeros(1, dtype=np.int64)] * tables] for _ in left], 0


def _near(some: Sequence[Ints], apart: int) -> Iterator[list[Ints]]:
    """Combinations in which at most a number of tables differ from the file, each once."""
    own = np.zeros(1, dtype=np.int64)
    for count in range(apart + 1):
        for differ in itertools.combinations(range(len(some)), count):
            yield [one[one != 0] if index in differ else own for index, one in enumerate(some)]


def _scored(number: int, network: Network, some: Sequence[Weights], pick: Sequence[Ints]) -> Scores:
    found = scores(
        number, network, [one.picked(index) for one, index in zip(some, pick, strict=True)]
    )
    chosen = [index[column] for index, column in zip(pick, found.variants.T, strict=True)]
    return replace(found, variants=np.stack(chosen, axis=1))
