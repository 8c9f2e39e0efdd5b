"""Curves of rows: the ends they have in any session, and which rows stand where."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

import generated
from icmodel.dataset import Dataset
from icmodel.laws.corrected_tables import without_switched
from icmodel.tables import HIGH, VALUE, Configuration, Curve
from icmodel.tables import Row as TableRow
from icmodel.tables.curves import alone, best_goodput, curves_of, shared_goodput
from icmodel.tables.left_out import interpolation_errors
from points import Row

LINK = {"kind": "other"}


def timed(*values: float, metric: str = "rtt_mean_s") -> list[Row]:
    """Rows of one curve at 100, 200, 300 ... bytes."""
    return [
        Row(
            "tcp", metric, Decimal(repr(value)), "measured", "a test",
            payload_bytes=100 * (k + 1), load_bps=Decimal("inf"),
        )
        for k, value in enumerate(values)
    ]  # fmt: skip


def numbered(data: Dataset) -> list[TableRow]:
    """All rows with their place."""
    return [TableRow(place, point) for place, point in enumerate(data.points)]


def drawn_curve(rows: list[Row], metric: str, **more: object) -> Curve:
    """The one curve of a metric."""
    data = generated.from_rows(rows, LINK, **more)
    ((drawn,),) = curves_of(data, numbered(data), metric).values()
    return drawn


@pytest.mark.parametrize(
    ("metric", "value", "half"),
    [("rtt_mean_s", 10.0, 1.644854 * 0.2 * 10), ("cpu_send", 0.5, 1.644854 * 0.2)],
)
def test_sessions_are_off_independently_of_rows_and_ratios_in_parts_of_one(
    metric: str, value: float, half: float
) -> None:
    """A spread of 0.2 between sessions, of ratios absolute; squares add."""
    row = replace(
        timed(value, metric=metric)[0],
        low=Decimal(repr(0.9 * value)),
        high=Decimal(repr(1.05 * value)),
    )
    sessions = {"sessions": 3, "points": 20, "spread": {metric: 0.2}}
    found = drawn_curve([row], metric, between_sessions=sessions).ends[:, 0]
    expected = (
        value,
        value - math.hypot(0.1 * value, half),
        value + math.hypot(0.05 * value, half),
    )
    assert found == pytest.approx(expected)


def test_a_row_beyond_what_its_source_states_holds_its_value() -> None:
    stated = [{"metric": "rtt_mean_s", "min": 2.0, "max": 3.0, "source": "a test"}]
    found = drawn_curve(timed(1.0, 2.5, 4.0), "rtt_mean_s", stated_limits=stated)
    assert found.ends[:, 0] == pytest.approx((1.0, 1.0, 1.2))
    assert found.ends[:, 1] == pytest.approx((2.5, 2.0, 3.0))
    assert found.ends[:, 2] == pytest.approx((4.0, 3.2, 4.0))


@pytest.mark.parametrize(("busy", "high"), [(1.9, 2.0), (2.0, 2.0), (2.1, 2.1 * 1.2)])
def test_processors_are_all_busy_at_most_unless_a_row_says_there_were_more(
    busy: float, high: float
) -> None:
    row = replace(timed(busy, metric="cpu_recv_cores")[0], cores=2)
    found = drawn_curve([row], "cpu_recv_cores")
    assert found.ends[HIGH] == pytest.approx(high)


def goodput_row(payload: int, value: int, **more: Any) -> Row:
    """A row of one core at unlimited rate, but for what is said."""
    said: dict[str, Any] = {"cores": 1, "load_bps": Decimal("inf")} | more
    return Row("tcp", "goodput_bps", value, "measured", "a test", payload_bytes=payload, **said)


def test_without_unlimited_runs_the_best_of_any_load_is_the_goodput() -> None:
    rows = [
        goodput_row(100, 7, load_bps=9), goodput_row(100, 8, load_bps=10),
        goodput_row(100, 6, load_bps=20), goodput_row(100, 5, cores=2),
        goodput_row(100, 9, cores=2, load_bps=9),
    ]  # fmt: skip
    data = generated.from_rows(rows, LINK)
    for limited, best in ((False, {1: 8, 2: 5}), (True, {1: 8, 2: 9})):
        curves = best_goodput(
            data, numbered(data), interpolation_errors(data, "goodput_bps"), limited=limited
        )
        found = {key.cores: curve for key, (curve,) in curves.items()}
        assert {cores: one.ends[VALUE, 0] for cores, one in found.items()} == best
        assert all(math.isinf(one.load_bps) for one in found.values())


def test_a_stream_is_alone_without_other_endpoints_and_other_goodput() -> None:
    said: list[dict[str, Any]] = [
        {}, {"endpoints": 1}, {"other_goodput_bps": 0}, {"endpoints": 2}, {"other_goodput_bps": 1e9},
        {"endpoints": 1, "other_goodput_bps": 1},
    ]  # fmt: skip
    rows = [goodput_row(100 + place, 9, **one) for place, one in enumerate(said)]
    found = alone(numbered(generated.from_rows(rows, LINK)))
    assert [row.point.payload_bytes for row in found] == [100, 101, 102]


def test_a_curve_without_payload_holds_at_any() -> None:
    anywhere = drawn_curve([replace(timed(1.0)[0], payload_bytes=None)], "rtt_mean_s")
    assert (anywhere.first, anywhere.last) == (1.0, math.inf)
    drawn = drawn_curve(timed(1.0, 2.0), "rtt_mean_s")
    assert (drawn.first, drawn.last) == (100.0, 200.0)


def test_shares_are_told_apart_by_the_number_of_endpoints() -> None:
    rows = [
        goodput_row(100, 90), goodput_row(100, 40, endpoints=2), goodput_row(200, 50, endpoints=2),
        goodput_row(300, 20, endpoints=3), goodput_row(400, 9, endpoints=3, load_bps=9),
    ]  # fmt: skip
    data = generated.from_rows(rows, LINK)
    found = shared_goodput(data, numbered(data), interpolation_errors(data, "goodput_bps"))
    told = {
        count: dict(zip(one.payload_bytes.tolist(), one.ends[VALUE].tolist(), strict=True))
        for count, curves in found.items()
        for (one,) in curves.values()
    }
    assert told == {2: {100: 40, 200: 50}, 3: {300: 20}}


def test_curves_behind_a_switch_give_way_only_where_there_are_some_without() -> None:
    known = [
        Configuration(*counts)
        for counts in (
            ("udp", 1, 0), ("udp", 1, 1), ("udp", 2, 1), ("udp", None, 2), ("tcp", 1, 0), ("tcp", 1, 1),
        )
    ]  # fmt: skip
    found = without_switched({place: [] for place in known}, "udp")
    assert list(found) == [place for place in known if place != ("udp", 1, 1)]
