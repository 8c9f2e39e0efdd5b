"""Option axes: options that vary become columns, and defaults are the usual values."""

from __future__ import annotations

import pytest

from fold_case import record
from icmodel.errors import RecordError
from icmodel.fold import fold
from icmodel.fold.axes import cell


def defaults(*records: object) -> dict[str, str]:
    axes = fold(list(records)).document["axes"]  # type: ignore[arg-type]
    assert isinstance(axes, dict)
    return {name: said["default"] for name, said in axes.items() if "default" in said}


def test_what_all_runs_share_is_no_axis() -> None:
    folded = fold([record("a"), record("b", payload_bytes=9)])
    assert folded.option_axes == ()
    assert folded.account.fixed == {"mtu_bytes": "1500", "pattern": "stream"}


def test_an_option_of_one_protocol_says_nothing_of_another() -> None:
    folded = fold(
        [
            record("a", protocol="tcp", nagle=True),
            record("b", protocol="tcp", nagle=False),
            record("c", protocol="udp"),
        ]
    )
    assert folded.option_axes == ("nagle",)
    assert {(p.protocol, p.options) for p in folded.points} == {
        ("tcp", ("on",)),
        ("tcp", ("off",)),
        ("udp", ("",)),
    }


def test_an_option_that_one_protocol_always_has_alike_is_no_axis() -> None:
    folded = fold([record("a", protocol="tcp", nagle=True), record("b", protocol="udp")])
    assert folded.option_axes == ()
    assert folded.account.fixed["nagle"] == "on"


def test_an_option_left_alone_has_a_word_of_its_own() -> None:
    folded = fold([record("a"), record("b", waiting="polling"), record("c", dscp=46)])
    assert folded.option_axes == ("dscp", "waiting")
    assert {p.options for p in folded.points} == {
        ("none", "blocking"),
        ("none", "polling"),
        ("46", "blocking"),
    }


def test_the_default_is_the_usual_value() -> None:
    assert defaults(record("a"), record("b", waiting="polling")) == {"waiting": "blocking"}
    assert defaults(
        record("a", pattern="ping-pong"), record("b", pattern="ping-pong", cores=2), record("c")
    ) == {"pattern": "stream"}
    assert defaults(
        record("a", protocol="tcp", nagle=False), record("b", protocol="tcp", nagle=True)
    ) == {"nagle": "on"}
    assert defaults(
        record("a", io_threads=1), record("b", io_threads=4), record("c", io_threads=4, cores=2)
    ) == {"io_threads": "4"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "on"),
        (False, "off"),
        (46, "46"),
        (2.5e7, "25000000"),
        ("TEST1 TEST2", "test1 test2"),
        (" a,  b\n", "a b"),
        (10**400, "1" + "0" * 400),
    ],
)
def test_a_value_is_a_cell(value: bool | float | str, text: str) -> None:
    assert cell(value) == text


def test_a_label_becomes_a_column_name_or_is_refused() -> None:
    folded = fold([record("a"), record("b", **{"External-Load": "5 Gb/s"})])
    assert folded.option_axes == ("external_load",)
    for name in ("metric", "value", "std", "!"):
        with pytest.raises(RecordError, match="cannot be a column of its own"):
            fold([record("a"), record("b", **{name: "x"})])


def test_the_rate_is_no_axis_beside_the_load() -> None:
    assert (
        fold([record("a", rate_fps=100.0), record("b", rate_fps=200.0, cores=2)]).option_axes == ()
    )
