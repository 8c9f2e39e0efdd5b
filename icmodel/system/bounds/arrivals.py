"""What may come of several stages together at a queue.

No more than the sum of each; over one link no faster than the line; and behind a server that they
left together, no more than what it lets through of them as one. The last looks back: over how many
servers is the *reach*, since each step back asks for the others that were there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from icmodel.system.bounds.curves import NEVER, Arrival, least, token_bucket, total
from icmodel.system.bounds.deviations import output
from icmodel.system.bounds.queues import Queue, Stage, by_link

Numbers = frozenset[int]
_NONE: Numbers = frozenset()


class Arrivals:
    """Arrival curves of stages that come together, each worked out once.

    Numbers of stages may be *spared*: those of a flow whose bound is looked for, where no order
    between flows is known. No order delays it more than one in which all others go first, and then
    they wait for it nowhere but for a packet that has begun; so on links that it takes too, it is
    left out of what delays them.

    Parameters
    ----------
    reach
        Servers that are looked back.
    """

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._stages: dict[int, Stage] = {}
        self._queue_of: dict[int, Queue] = {}
        self._known: dict[tuple[Numbers, Numbers, int], Arrival] = {}
        self._sums: dict[Numbers, Arrival] = {}
        self._lines: dict[Numbers, tuple[Arrival, ...]] = {}
        self._waits_s: dict[tuple[int, float], float] = {}

    @property
    def stage_count(self) -> int:
        """How many stages are known."""
        return len(self._stages)

    def add(self, stages: Iterable[Stage]) -> None:
        """Stages whose arrival curves are known by now."""
        self._stages |= {stage.number: stage for stage in stages}

    def settle(self, queue: Queue) -> None:
        """A queue whose service is known by now."""
        self._queue_of |= dict.fromkeys(queue.stages, queue)

    def of(self, numbers: Numbers, spared: Numbers = _NONE) -> Arrival:
        """What may come of stages of one queue."""
        return self._of(numbers, spared, self._reach)

    def without(self, queue: Queue, numbers: Numbers, spared: Numbers = _NONE) -> Arrival:
        """What may come at a queue, some stages left out."""
        return self._without(queue, numbers, spared, self._reach)

    def behind(self, number: int) -> Arrival:
        """What may come of a stage behind its server."""
        return self._behind(frozenset((number,)), self._queue_of[number], _NONE, self._reach)

    def wait_s(self, queue: Queue, min_packet_bits: float) -> float:
        """See `Queue.wait_s`."""
        key = (id(queue), min_packet_bits)
        if key not in self._waits_s:
            self._waits_s[key] = queue.wait_s(min_packet_bits)
        return self._waits_s[key]

    def _of(self, numbers: Numbers, spared: Numbers, reach: int) -> Arrival:
        links = by_link(self._stages[number] for number in numbers)
        return total([self._over_link(link, each, spared, reach) for link, each in links.items()])

    def _without(self, queue: Queue, numbers: Numbers, spared: Numbers, reach: int) -> Arrival:
        parts = []
        for link, each in queue.links.items():
            if each.isdisjoint(numbers):
                parts.append(self._over_link(link, each, spared, reach))
            elif reach == 0 and len(numbers) == 1 < len(each):
                parts.append(self._rest(link, each, *numbers))
            elif not each <= numbers:
                parts.append(self._over_link(link, each - numbers, spared, reach))
        return total(parts)

    def _rest(self, link: str | None, numbers: Numbers, left_out: int) -> Arrival:
        """What comes over a link but for a stage: the sum less that one, so that no sum is made anew.

        Its packets count for the line too.
        """
        own = self._stages[left_out].arrival.buckets
        if len(own) != 1:
            return self._over_link(link, numbers - {left_out}, _NONE, 0)
        if numbers not in self._sums:
            self._sums[numbers] = total([self._stages[one].arrival for one in sorted(numbers)])
        rest = self._sums[numbers].less(own[0])
        return rest if link is None else least(rest, *self._shaped(numbers))

    def _over_link(
        self, link: str | None, numbers: Numbers, spared: Numbers, reach: int
    ) -> Arrival:
        key = (numbers, spared, reach)
        if key not in self._known:
            stages = [self._stages[number] for number in sorted(numbers)]
            each = total([stage.arrival for stage in stages])
            self._known[key] = (
                each if link is None else least(each, *self._as_one(stages, spared, reach))
            )
        return self._known[key]

    def _as_one(self, stages: list[Stage], spared: Numbers, reach: int) -> Iterator[Arrival]:
        """Bounds of what comes over one link together."""
        yield from self._shaped(frozenset(stage.number for stage in stages))
        if reach > 0 and (len(stages) > 1 or spared):
            before = frozenset(stage.before for stage in stages if stage.before is not None)
            queues = {id(queue): queue for queue in map(self._queue_of.__getitem__, before)}
            gone = self._gone_along(stages[0], spared)
            yield total(
                [
                    self._behind(before & queue.stages.keys(), queue, spared, reach - 1, gone)
                    for queue in queues.values()
                ]
            )

    def _shaped(self, numbers: Numbers) -> tuple[Arrival, ...]:
        """What the line lets through of stages that come over it together; nothing if its rate is not known.

        Within t, packets that have become whole have ``C t`` bits and at most those of the longest
        more (Mifdaoui and Leydier, *Beyond the accuracy-complexity tradeoffs of compositional
        analyses using Network Calculus for complex networks*, CRTS 2017).
        """
        if numbers not in self._lines:
            stages = [self._stages[number] for number in numbers]
            before = stages[0].before
            rate = None if before is None else self._queue_of[before].server.line_rate_bps
            longest = max(stage.max_packet_bits for stage in stages)
            self._lines[numbers] = () if rate is None else (token_bucket(longest, rate),)
        return self._lines[numbers]

    def _gone_along(self, stage: Stage, spared: Numbers) -> Numbers:
        """Spared stages that went over the same link just before."""
        here = self._queue_of[stage.number].stages if spared else {}
        came = [here[number].before for number in spared if number in here]
        return frozenset(number for number in came if number is not None)

    def _behind(
        self, numbers: Numbers, queue: Queue, spared: Numbers, reach: int, gone: Numbers = _NONE
    ) -> Arrival:
        """What a queue lets through of some of its stages: the least of two sound bounds.

        As bits, what all others leave; counted in packets, which are there when they are whole, one
        packet more. And as packets, each of which waits between nothing and the greatest wait.
        """
        stages = [queue.stages[number] for number in numbers]
        coming = self._of(numbers, spared, reach)
        others = self._without(queue, numbers | gone, spared, reach)
        begun = [self._stages[number].max_packet_bits for number in gone]
        longest = max(stage.max_packet_bits for stage in stages)
        found = [
            output(coming, left).raised(longest)
            for left in queue.left_for(coming, others.raised(max(begun, default=0.0)))
        ]
        wait = self.wait_s(queue, min(stage.min_packet_bits for stage in stages))
        return least(*found, *([] if wait == NEVER else [coming.advanced(wait)]))
