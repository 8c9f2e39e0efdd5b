"""Framing: the parameters of a link, and what every link can compute for a frame.

A field has, besides its default, a short description and, if they are few, all allowed values: its check and
its command line option are made from these.
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
    """A field of a framing with its default, description and allowed values."""
    return field(default=default, metadata={"text": text, "allowed": tuple(allowed)})


@dataclass(frozen=True, slots=True)
class AnyFraming(ABC):
    """The packets of a frame on one link; all bounds are computed from it."""

    propagation_s_per_m: ClassVar[float]
    """Propagation of the link's usual cable [s/m]."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if allowed := one.metadata["allowed"]:
                check_choice(one.name, getattr(self, one.name), allowed)

    @property
    @abstractmethod
    def max_payload_bytes(self) -> int | None:
        """Largest frame [B]; ``None`` where the protocol has no limit."""

    @property
    def gap_bytes(self) -> int:
        """The end of each packet's bytes on the wire, which the next one waits for and no receiver does [B]."""
        return 0

    @abstractmethod
    def train(self, payload_bytes: ArrayLike) -> Train:
        """The packets of frames; shape of `payload_bytes` [B].

        Raises
        ------
        ScenarioError
            If a payload is not a whole number of bytes from 1 to the largest frame.
        """

    @abstractmethod
    def aligned_payloads(self, up_to_bytes: int) -> NDArray[np.int64]:
        """All payloads up to `up_to_bytes` that fill their packets [B], ascending."""

    @abstractmethod
    def best_payloads(self) -> ArrayLike:
        """Payloads of which one reaches the greatest goodput of any stream [B]."""
