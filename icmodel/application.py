"""What an application adds to a frame: datasets were measured by programs that do next to nothing with one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from icmodel.errors import ScenarioError
from icmodel.possible import POSSIBLE, WORK

PREFIX = "app_"
"""What the names of a question's parameters begin with that say the application's work."""


@dataclass(frozen=True, slots=True)
class ApplicationWork:
    """Time of a core that the application itself needs, at the sender and at the receiver.

    Parameters
    ----------
    send_s, recv_s : float
        For a frame, before its write begins and after its read has ended [s].
    send_s_per_byte, recv_s_per_byte : float
        Besides, for each byte of its payload [s/B].

    Raises
    ------
    ScenarioError
        If one is no finite number, or below 0.
    """

    send_s: float = 0.0
    recv_s: float = 0.0
    send_s_per_byte: float = 0.0
    recv_s_per_byte: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.to_dict().items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not POSSIBLE[name].allows(value):
                raise ScenarioError(POSSIBLE[name].refusal(name, value))

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self != NO_WORK

    def sending_s(self, payload_bytes: float) -> float:
        """What the sender adds to a frame of a payload [s]."""
        return self.send_s + self.send_s_per_byte * payload_bytes

    def receiving_s(self, payload_bytes: float) -> float:
        """What the receiver adds to a frame of a payload [s]."""
        return self.recv_s + self.recv_s_per_byte * payload_bytes

    def to_dict(self) -> dict[str, float]:
        """The same by the names of a question's parameters."""
        return {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}


def slowest(works: Iterable[ApplicationWork]) -> ApplicationWork:
    """The most of each part of several works; none of none."""
    said = list(works) or [NO_WORK]
    return ApplicationWork(
        **{field.name: max(getattr(one, field.name) for one in said) for field in fields(NO_WORK)}
    )


def take_work(numbers: dict[str, float]) -> ApplicationWork:
    """The work that some parameters of a question say, which are taken out of them."""
    said = {name.removeprefix(PREFIX): numbers.pop(name) for name in WORK if name in numbers}
    return ApplicationWork(**said) if said else NO_WORK


NO_WORK = ApplicationWork()
"""A program that does as little with a frame as those that measured."""
