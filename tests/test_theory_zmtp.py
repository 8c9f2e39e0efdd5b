"""ZMTP: headers as its specification has them, and the greatest message that fits."""

from __future__ import annotations

import numpy as np
import pytest

from icmodel.theory import ethernet


def test_a_header_is_2_bytes_up_to_255_and_9_above() -> None:
    """RFC 23/ZMTP: flags, and a size of one or of eight bytes."""
    assert ethernet.framed_bytes([1, 255, 256, 1439]).tolist() == [3, 257, 265, 1448]


@pytest.mark.parametrize("most", [*range(1, 300), 1448, 2896])
def test_the_greatest_message_that_fits_is_found_by_trying_all(most: int) -> None:
    sizes = np.arange(1, most + 1)
    fitting = sizes[ethernet.framed_bytes(sizes) <= most]
    assert ethernet.payload_of(np.array([most])).tolist() == fitting[-1:].tolist()
