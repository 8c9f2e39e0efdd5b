"""Framing: the choices of a link, and what every link says of a frame.

A field carries, beside its default, what it means in a few words and all its values where they are
few: its check and its option on the command line follow from that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from icmodel.theory._wire import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from icmodel.theory._wire import Train


def choice(default: object, text: str, allowed: Iterable[object] = ()) -> Any:
    """A field of a framing with its default, its meaning for people, and its allowed values."""
    return field(default=default, metadata={"text": text, "allowed": tuple(allowed)})


@dataclass(frozen=True, slots=True)
class AnyFraming(ABC):
    """What a frame becomes on the wire of one link; the bounds of all links follow from it."""

    propagation_s_per_m: ClassVar[float]
    """Of the cable that is usual for the link [s/m]."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if allowed := one.metadata["allowed"]:
                check_choice(one.name, getattr(self, one.name), allowed)

    @property
    @abstractmethod
    def max_payload_bytes(self) -> int | None:
        """Largest frame [B]; none where the protocol has no limit."""

    @abstractmethod
    def train(self, payload_bytes: ArrayLike) -> Train:
        """The packets that frames become; shape of `payload_bytes` [B].

        Raises
        ------
        ScenarioError
            If a payload is no whole number of bytes from 1 to the largest frame.
        """

    @abstractmethod
    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""

    @abstractmethod
    def best_payloads(self) -> ArrayLike:
        """Payloads of which one uses the wire as well as any stream [B]."""
