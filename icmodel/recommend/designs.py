"""Search space of a system file: its designs and their scores.

If there are too many designs, only those close to the file's own design are scored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icmodel.arrays import Ints
from icmodel.errors import NetworkError
from icmodel.recommend.alone import AlonePredictions, predict_alone
from icmodel.recommend.choices import (
    Models,
    Network,
    default_choices,
    networks,
    parameters,
    variants,
)
from icmodel.recommend.scores import (
    Scores,
    TableLoads,
    TableVariants,
    joined,
    ordered,
    scores,
    table_loads,
)
from icmodel.system import OpenSystem, System, check
from icmodel.system.checking import refusal
from icmodel.system.document import StreamChoices
from icmodel.system.prediction.judging import always_required

MOST_DESIGNS = 1_000_000
"""Greatest number of designs that a search scores by default."""
MOST_NETWORKS = 256
"""Greatest number of networks (combinations of network options) in a search."""

Picks = Sequence[Ints]
"""Set of designs in one network: an array with the indices of the picked variants for each table of streams.

The designs are all combinations of these variants.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of designs in a search, and number of designs left out for each reason.

    Parameters
    ----------
    all, scored : int
        Number of all designs, and number of scored designs.
    contradictory : int
        Designs left out because their network contradicts itself.
    dominated : int
        Designs left out because a table of streams has another variant that is at least as good in every score.
    far : int
        Designs left out because they change more than ``tables`` tables of streams, or because the search stops after
        `MOST_NETWORKS` networks.
    tables : int, optional
        Greatest number of changed tables of streams in a scored design; ``None`` without a limit.
    """

    all: int
    scored: int
    contradictory: int = 0
    dominated: int = 0
    far: int = 0
    tables: int | None = None

    @property
    def exhaustive(self) -> bool:
        """Whether the search is exhaustive: no design was left out for differing too much from the file."""
        return not self.far


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Search space of a system file: its networks, ``[[streams]]`` tables with variants, and scores of designs.

    ``names`` are the names of the ``[[streams]]`` tables. ``loads[network][table]`` has the scores of the table's
    variants in a network, such as the loads of resources.
    """

    file: OpenSystem
    networks: tuple[Network, ...]
    names: tuple[str, ...]
    loads: tuple[tuple[TableLoads, ...], ...]
    scores: Scores
    alone: AlonePredictions
    counts: Counts

    def design(self, index: int) -> Design:
        """Look up a scored design by index."""
        network = int(self.scores.network[index])
        return Design(self, network, tuple(self.scores.variants[index].tolist()))


@dataclass(frozen=True, slots=True)
class Design:
    """Design of a system: one network of the search space, and one variant for each ``[[streams]]`` table.

    Both are given by their indices.
    """

    space: SearchSpace
    network: int
    variants: tuple[int, ...]

    @property
    def changed(self) -> dict[str, str]:
        """Differences between this design and the file, as text by parameter."""
        found = dict(self.space.networks[self.network].changed)
        for name, loads, index in self._tables():
            differences = loads.variants[index].changed(loads.variants[0])
            found |= {f"{name}.{key}": text for key, text in differences.items()}
        return found

    @property
    def chosen(self) -> dict[str, str]:
        """All choices of this design as text, by parameter: those for streams, and the changes of the network.

        Each table of streams has a protocol, payload, rate, core count and priority, even if the file has the same.
        The changes of the network are its differences from the file.
        """
        found = dict(self.space.networks[self.network].changed)
        for name, loads, index in self._tables():
            texts = loads.variants[index].texts()
            found |= {f"{name}.{key}": text for key, text in texts.items()}
        return found

    def opened(self) -> OpenSystem:
        """Return the document of this design: the network's document with the chosen variants of streams."""
        file = self.space.networks[self.network].open
        chosen = {name: loads.variants[index] for name, loads, index in self._tables()}
        streams = tuple(chosen[table.name].apply(table) for table in file.document.streams)
        return replace(file, document=file.document.model_copy(update={"streams": streams}))

    def system(self) -> System:
        """Build the system of this design from its document.

        Raises
        ------
        NetworkError
            If the system contradicts itself.
        """
        return self.opened().checked()

    def _tables(self) -> Iterator[tuple[str, TableLoads, int]]:
        return zip(self.space.names, self.space.loads[self.network], self.variants, strict=True)


def search_space(file: OpenSystem, models: Models, most: int = MOST_DESIGNS) -> SearchSpace:
    """Score all designs of a system file; if there are too many, only designs close to the file's own.

    Parameters
    ----------
    most : int
        Greatest number of scored designs. If there are more, two kinds are left out: designs with a variant (choices
        for one table of streams) that another variant of the table dominates, and designs with many differences from
        the file.

    Raises
    ------
    NetworkError
        If the file's own network contradicts itself, or the file has no streams or no requirements.
    """
    own = file.checked()
    if not own.streams:
        raise NetworkError(f"{file.file} has no streams: add streams before you search designs")
    if not (own.requirements or always_required(own)):
        raise NetworkError(
            f"{file.file} has no requirements, and its streams have unlimited rates: add "
            "requirements before you search designs"
        )

    # Networks without contradictions, with the variants of each table of streams.
    choices = file.document.choices or default_choices(file.document, own, models)
    chosen = parameters(file.document, choices)
    expanded = list(itertools.islice(networks(file, chosen), MOST_NETWORKS))
    sound = [network for network in expanded if not refusal(check(network.system))]
    tables: list[list[TableVariants]] = []
    for network in sound:
        documents = sorted(network.open.document.streams, key=lambda table: table.name)
        limited = [choices.streams.get(table.name, StreamChoices()) for table in documents]
        tables.append(
            [
                TableVariants(network, table, variants(table, limit, network.system, models))
                for table, limit in zip(documents, limited, strict=True)
            ]
        )

    # Loads of all variants of all tables in all networks, predicted together.
    flat = list(itertools.chain.from_iterable(tables))
    streams = [list(table.lone_streams()) for table in flat]
    firsts = itertools.accumulate(map(len, streams), initial=0)
    alone = predict_alone(list(itertools.chain.from_iterable(streams)), models)
    flat_loads = iter(
        [table_loads(table, alone, first) for table, first in zip(flat, firsts, strict=False)]
    )
    loads = [list(itertools.islice(flat_loads, len(some))) for some in tables]

    # Scores of all designs, or of the designs within the limit.
    every = [[np.arange(len(table.variants)) for table in some] for some in loads]
    left = every
    if _count(every) > most:
        left = [[table.undominated() for table in some] for some in loads]
    picks, differing = _within_limit(left, most)
    found = []
    for number, (network, some) in enumerate(zip(sound, loads, strict=True)):
        for pick in picks[number]:
            picked = [table.picked(index) for table, index in zip(some, pick, strict=True)]
            scored = scores(number, network, picked)
            columns = zip(pick, scored.variants.T, strict=True)
            indices = np.stack([index[column] for index, column in columns], axis=1)
            found.append(replace(scored, variants=indices))
    scored = ordered(joined(found))

    # The variants in left-out networks are unknown. Count as many designs for each as in the file's own network.
    in_one = math.prod(len(index) for index in every[0])
    unexpanded = math.prod(len(parameter.options) for parameter in chosen) - len(expanded)
    contradictory = len(expanded) - len(sound)
    counts = Counts(
        all=_count(every) + (contradictory + unexpanded) * in_one,
        scored=len(scored),
        contradictory=contradictory * in_one,
        dominated=_count(every) - _count(left),
        far=_count(left) - len(scored) + unexpanded * in_one,
        tables=differing,
    )
    names = tuple(table.table.name for table in tables[0])
    return SearchSpace(file, tuple(sound), names, tuple(map(tuple, loads)), scored, alone, counts)


def _count(picks: Sequence[Picks]) -> int:
    return sum(math.prod(len(index) for index in pick) for pick in picks)


def _within_limit(left: Sequence[Picks], most: int) -> tuple[list[list[Picks]], int | None]:
    """Pick the designs that differ from the file in the fewest ``[[streams]]`` tables, about ``most`` of them.

    A design has one variant for each table of streams. The first pick is the design of the file itself on each network.
    Designs with one changed table follow, then those with two, and so on, while all networks together have at most
    ``most`` designs. Designs with one changed table are picked even beyond ``most``. In a file with a single table
    these would be all designs: if they exceed ``most``, only the design of the file is picked.

    Returns
    -------
    picks : list
        For each network, a list of sets. A set has indices of variants for each table. It stands for every design that
        takes one of these variants for each table.
    tables : int or None
        Greatest number of changed tables in a picked design; ``None`` if all designs are picked.
    """
    if _count(left) <= most:
        return [[pick] for pick in left], None
    own = np.zeros(1, dtype=np.int64)
    tables = len(left[0])
    for differing in range(tables - 1, 0, -1):
        sets = [
            set(changed)
            for count in range(differing + 1)
            for changed in itertools.combinations(range(tables), count)
        ]
        picks: list[list[Picks]] = [
            [
                [index[index != 0] if at in changed else own for at, index in enumerate(pick)]
                for changed in sets
            ]
            for pick in left
        ]
        if differing == 1 or sum(map(_count, picks)) <= most:
            return picks, differing
    return [[[own] * tables] for _ in left], 0
