"""The plan `held-out` of icprobe is what its script makes, and stands on both sides of the model's breaks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest

from build_held_out_plan import LOADS, PLAN, plan

BREAKS = {
    "tcp": (1448, 2896, 4344, 7240, 13032, 24616, 47784),
    "udp": (1472, 2952, 4432, 7392, 13312, 25152, 48832),
}
"""The largest payloads of 1, 2, 3, 5, 9, 17 and 33 packets over an MTU of 1500 B."""
ENDS = {"tcp": (1, 65535), "udp": (1, 65507)}


def asked() -> Iterator[tuple[str, str, int, bool]]:
    """Protocol, load, payload [B] and whether it is held out, of every point of the lists by load."""
    for grid in tomllib.loads(PLAN.read_text(encoding="utf-8"))["grid"]:
        if isinstance(grid["protocol"], str):
            for text in grid["payload"]:
                size = int(text.removesuffix(" B"))
                yield grid["protocol"], grid["load"], size, grid.get("held_out", False)


def test_the_plan_is_what_the_script_makes() -> None:
    assert plan() == PLAN.read_text(encoding="utf-8")


@pytest.mark.parametrize("protocol", BREAKS)
@pytest.mark.parametrize("load", LOADS)
def test_both_sides_of_every_break_are_asked_and_the_ends_are_free(
    protocol: str, load: str
) -> None:
    held = {size: out for p, at, size, out in asked() if (p, at) == (protocol, load)}
    assert {side for size in BREAKS[protocol] for side in (size, size + 1)} <= held.keys()
    assert {2**n for n in range(16)} <= held.keys()
    assert not any(held[end] for end in ENDS[protocol])
    assert (min(held), max(held)) == ENDS[protocol]


def test_each_point_stands_once_and_a_quarter_is_held_out() -> None:
    points = list(asked())
    assert len({point[:3] for point in points}) == len(points)
    assert 0.2 < sum(held for *_, held in points) / len(points) < 0.3
