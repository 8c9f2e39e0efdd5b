"""A path and the dates that matter on it, for a linear programme.

A bit leaves a queue in order, so what left by some date is all that had come by another one, its *FIFO
date*; and what left is at least what had come by the beginning of the busy period, its *start*, and
what has been served since. Both dates at the input of a queue are dates at the output of those before
it, and so on to the sources.

References
----------
A. Bouillard, G. Stea, *Exact worst-case delay in FIFO-multiplexing feed-forward networks* (IEEE/ACM
Trans. Networking 23, 2015): two dates at the input for each at the output. A. Bouillard, *Trade-off
between accuracy and tractability of network calculus in FIFO networks* (Performance Evaluation 153,
2022): starts only of some, so that their number grows with the length of the path alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from icmodel.system.bounds.arrivals import Numbers
from icmodel.system.bounds.paths import Path
from icmodel.system.bounds.queues import Queue

END = 0
"""The date when the packet that is looked at has left the last queue."""
MOST_DATES = 8
"""Dates at the input of a queue up to which each date at its output has a start."""


@dataclass(frozen=True)
class Node:
    """A queue of a path, and the dates at its input.

    Attributes
    ----------
    outputs
        Dates at its output; the first is that of the packet that is looked at, the last the earliest.
    fifo, starts
        By date at the output its two dates at the input; `starts` of some only.
    order
        Pairs of dates at the input, the first of which is never before the second.
    parts
        Stages by the hop behind which they leave the path.
    before
        The node before it on the path; None at the first.
    """

    hop: int
    queue: Queue
    outputs: Sequence[int]
    fifo: Mapping[int, int]
    starts: Mapping[int, int]
    order: Sequence[tuple[int, int]]
    parts: Mapping[int, Numbers]
    before: Node | None

    @cached_property
    def passing(self) -> Numbers:
        """Stages that come from the node before."""
        there = frozenset() if self.before is None else frozenset(self.before.queue.stages)
        stages = self.queue.stages.values()
        return frozenset(stage.number for stage in stages if stage.before in there)

    @cached_property
    def entering(self) -> Mapping[str | None, Mapping[int, Numbers]]:
        """Stages that come across, by the link they come over and the hop behind which they leave."""
        return {
            link: {
                hop: here
                for hop, part in self.parts.items()
                if (here := part & numbers - self.passing)
            }
            for link, numbers in self.queue.links.items()
        }

    def back(self) -> Iterator[Node]:
        """The node itself, and those before it."""
        yield self
        if self.before is not None:
            yield from self.before.back()


def unfolded(path: Path) -> Node:
    """The last queue of a path, behind it those before; dates are numbers, `END` the first."""
    dates = count(END + 1)
    last = len(path.hops) - 1
    parts = {last: frozenset(path.hops[last].stages)}
    return _node(path, last, [END], [], parts, dates)


def _node(
    path: Path,
    hop: int,
    outputs: Sequence[int],
    order: Sequence[tuple[int, int]],
    parts: Mapping[int, Numbers],
    dates: Iterator[int],
) -> Node:
    fifo = {date: next(dates) for date in outputs}
    some = outputs if 2 * len(outputs) <= MOST_DATES else (outputs[0], outputs[-1])
    starts = {date: next(dates) for date in some}
    inputs = [*fifo.values(), *starts.values()]
    ordered = [(fifo[date], starts[date]) for date in starts]
    ordered += (
        _pairs(order, fifo, fifo) + _pairs(order, fifo, starts) + _pairs(order, starts, starts)
    )
    before = None
    if hop > 0:
        earlier = _parts_before(path, hop, parts)
        before = _node(path, hop - 1, inputs, ordered, earlier, dates)
    return Node(hop, path.hops[hop], outputs, fifo, starts, ordered, parts, before)


def _pairs(
    order: Sequence[tuple[int, int]], later: Mapping[int, int], earlier: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Dates of dates that are ordered, which are ordered alike."""
    return [
        (later[one], earlier[other]) for one, other in order if one in later and other in earlier
    ]


def _parts_before(path: Path, hop: int, parts: Mapping[int, Numbers]) -> dict[int, Numbers]:
    """Stages at the hop before, by the hop behind which they leave the path."""
    stages, there = path.hops[hop].stages, frozenset(path.hops[hop - 1].stages)
    found = {
        leaving: there & {stages[number].before for number in numbers}
        for leaving, numbers in parts.items()
    }
    found[hop - 1] = there - frozenset().union(*found.values())
    return {leaving: numbers for leaving, numbers in found.items() if numbers}
