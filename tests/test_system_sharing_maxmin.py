"""Max-min shares: known answers, and what makes an allocation max-min fair."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icmodel.arrays import Floats
from icmodel.system.sharing.allocation import Crossings, Shares, max_min

CASES = json.loads((Path(__file__).parent / "cases" / "sharing" / "max_min.json").read_text())


def crossings(usage: list[list[float]]) -> Crossings:
    matrix = np.array(usage, dtype=np.float64)
    link, flow = np.nonzero(matrix)
    return Crossings(flow, link, matrix[link, flow])


def shares(case: dict[str, Any], weights: Floats) -> Shares:
    requests = [math.inf if r is None else r for r in case.get("request", [None] * len(weights))]
    capacity = np.array(case["capacity"], dtype=np.float64)
    return max_min(capacity, crossings(case["usage"]), np.array(requests), weights)


@pytest.mark.parametrize("case", CASES["max_min"], ids=lambda case: str(case["name"]))
def test_simgrids_shares_are_met(case: dict[str, Any]) -> None:
    found = shares(case, 1 / np.array(case["penalty"], dtype=np.float64))
    assert found.rate_bps == pytest.approx(case["rate"], rel=1e-12)


def test_max_min_levels_rates_where_bottleneck_max_fairness_levels_what_links_carry() -> None:
    """By max-min the third flow, which takes 5 % of the first link, is held at the others' rate there; by BMF
    it is limited only where nobody uses more of the link than it does, and gets twice as much."""
    apart, alike = CASES["bottleneck_max_fairness"]
    ours = shares(apart, np.ones(3)).rate_bps
    assert ours == pytest.approx([0.4878048780487805] * 3)
    assert apart["rate"][2] == pytest.approx(1.95 * ours[2], rel=2e-3)
    assert shares(alike, np.ones(2)).rate_bps == pytest.approx(alike["rate"])


def test_a_flow_limited_by_its_own_request_names_no_link() -> None:
    found = max_min(np.array([10.0]), crossings([[1, 1]]), np.array([1.0, math.inf]), np.ones(2))
    assert found.rate_bps.tolist() == [1.0, 9.0]
    assert found.limiting.tolist() == [-1, 0]


@st.composite
def networks(draw: st.DrawFn) -> tuple[Floats, Crossings, Floats, Floats]:
    links, flows = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    usage = np.where(random.random((links, flows)) < 0.5, random.uniform(0.1, 2, (links, flows)), 0)
    usage[random.integers(0, links, flows), np.arange(flows)] = 1.0  # each crosses one at least
    requests = np.where(random.random(flows) < 0.5, random.uniform(0, 5, flows), np.inf)
    return (
        random.uniform(0, 9, links),
        crossings(usage.tolist()),
        requests,
        random.uniform(0.2, 4, flows),
    )


@given(networks())
def test_each_flow_has_its_request_or_a_full_link_where_none_has_more(
    network: tuple[Floats, Crossings, Floats, Floats],
) -> None:
    capacity, over, requests, weights = network
    found = max_min(capacity, over, requests, weights)
    carried = over.per_link(found.rate_bps, len(capacity))
    assert (carried <= capacity * (1 + 1e-9) + 1e-9).all()
    level = found.rate_bps / weights
    for flow, link in enumerate(found.limiting.tolist()):
        if link < 0:
            assert found.rate_bps[flow] == requests[flow]
        else:
            assert carried[link] == pytest.approx(capacity[link], rel=1e-9, abs=1e-9)
            assert level[over.flow[over.link == link]].max() <= level[flow] * (1 + 1e-9)


@given(networks(), st.randoms())
def test_the_order_of_the_entries_changes_nothing(
    network: tuple[Floats, Crossings, Floats, Floats], random: Any
) -> None:
    capacity, over, requests, weights = network
    order = list(range(len(over.flow)))
    random.shuffle(order)
    turned = Crossings(over.flow[order], over.link[order], over.usage[order])
    one, other = (max_min(capacity, each, requests, weights) for each in (over, turned))
    assert one.rate_bps == pytest.approx(other.rate_bps, rel=1e-9)
