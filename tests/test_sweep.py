"""Ranges, and equality of a sweep with single predictions at every point."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import icmodel
from icmodel.dataset import catalogue
from icmodel.errors import IcmodelError, OutOfDomain, ScenarioError, UnitError
from icmodel.estimate import BASES, BOTTLENECKS
from icmodel.scenario import TEXT_SPELLINGS
from icmodel.sweep import COUNTS, axes_of, range_values, sweep
from icmodel.units import unit_of

CENTRAL = "ethernet-10g-2012"


@pytest.fixture(scope="module")
def model() -> icmodel.Model:
    return icmodel.Model(icmodel.load(CENTRAL))


BATCHED = ("batch_frames", "16")


def refused(item: str, first: float, last: float) -> list[float]:
    raise ScenarioError(f"{item} has nothing between {first} and {last}")


# --- ranges -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("payload", "64 B, 1448 B", (64, 1448)),
        ("payload", "64 B", (64,)),
        ("payload", "1 kB, 1 KiB, 1000 B", (1000, 1024)),
        ("payload", "1 B..9 B:3", (1, 5, 9)),
        ("payload", "1 B .. 2 B : 25", (1, 2)),
        ("payload", "1 B..1 kB:4log", (1, 10, 100, 1000)),
        ("payload", "1 B..9 B:3, 64 B", (1, 5, 9, 64)),
        ("cores", "1,4", (1, 4)),
        ("cores", "1..4:2", (1, 4)),
        ("cores", "4..4", (4,)),
        ("payload", "64 B..64 B:5log", (64,)),
        ("rate", "1000/s..2 k/s:3", (1000.0, 1500.0, 2000.0)),
        ("rate", "unlimited, 1/s", (math.inf, 1.0)),
        ("requested_goodput", "1 Gb/s..4 Gb/s:3log", (1e9, 2e9, 4e9)),
        ("other_goodput", "0 Gb/s", (0.0,)),
        ("distance", "1 m..3 m:2", (1.0, 3.0)),
    ],
)
def test_a_range_has_these_values(name: str, text: str, values: tuple[float, ...]) -> None:
    assert range_values(name, text, refused) == pytest.approx(values, rel=1e-12)


def test_whole_parameters_have_whole_values() -> None:
    assert all(isinstance(v, int) for v in range_values("payload", "1 B..1 kB:7log", refused))
    assert all(isinstance(v, int) for v in range_values("cores", "1..4:3", refused))


@given(first=st.integers(1, 10**6), span=st.integers(1, 10**6), count=st.integers(2, 50))
def test_a_range_rises_from_its_first_to_its_last(first: int, span: int, count: int) -> None:
    for log in ("", "log"):
        values = range_values("payload", f"{first} B..{first + span} B:{count}{log}", refused)
        assert (values[0], values[-1]) == (first, first + span)
        assert all(float(one) < float(two) for one, two in pairwise(values))
        assert len(values) == min(count, span + 1) or log


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("payload", "64", "no unit"),
        ("payload", "64 KB", "kB"),
        ("payload", "9 B..1 B:3", "lesser value first"),
        ("payload", "1 B..9 B:1", "from 2 to"),
        ("payload", "1 B..9 B:x", "'x'"),
        ("payload", "1 B..9 B:3lin", "'3lin'"),
        ("payload", "1 B..9 B", "nothing between 1 and 9"),
        ("payload", "", "''"),
        ("payload", "unlimited", "'unlimited'"),
        ("distance", "0 m..9 m:3log", "start it above 0"),
        ("cores", "two", "'two'"),
        ("cores", "1.5", "'1.5'"),
        ("rate", "1/s..unlimited:3", "unlimited"),
    ],
)
def test_a_range_that_cannot_be_read_is_refused(name: str, text: str, told: str) -> None:
    with pytest.raises((ScenarioError, UnitError), match=told):
        range_values(name, text, refused)


def values_of(model: icmodel.Model, **ranges: object) -> Mapping[str, tuple[Any, ...]]:
    return {axis.name: axis.values for axis in axes_of(model, ranges)}


def test_a_range_without_a_number_takes_what_the_dataset_has(model: icmodel.Model) -> None:
    axes = values_of(
        model,
        protocol="udp",
        payload="1 kB..8 KiB",
        requested_goodput="1 b/s..6 Gb/s",
        cores="2..9",
    )
    rows = model.data.select("udp", {})
    payloads = {
        1000,
        8192,
        *(p.payload_bytes for p in rows if 1000 < (p.payload_bytes or 0) < 8192),
    }
    loads = {1.0, 6e9, *(p.load_bps for p in rows if 1 < (p.load_bps or 0) < 6e9)}
    assert axes["payload_bytes"] == tuple(sorted(payloads))  # type: ignore[type-var]
    assert axes["requested_goodput_bps"] == tuple(sorted(loads))  # type: ignore[type-var]
    assert axes["cores"] == (2, 3, 4, 9)
    assert {1472, 1473} <= set(axes["payload_bytes"])


def test_options_never_measured_together_take_the_payloads_of_those_most_alike() -> None:
    data = icmodel.load("lab-1g-2026")
    asked = {"protocol": "udp", "payload": "64 B..65507 B", "waiting": "polling"}
    alike = [data.select("udp", {axis: v}) for axis, v in (("waiting", "polling"), BATCHED)]
    sizes = {64, 65507, *(row.payload_bytes for rows in alike for row in rows)}
    axes = values_of(icmodel.Model(data, "hybrid"), **asked, **dict([BATCHED]))
    assert axes["payload_bytes"] == tuple(sorted(sizes))  # type: ignore[type-var]
    with pytest.raises(
        OutOfDomain, match="no rows at these options: choose options that `icmodel datasets show"
    ):
        values_of(icmodel.Model(data, "corrected"), **asked, **dict([BATCHED]))


def test_counts_that_follow_a_rule_take_every_whole_number(model: icmodel.Model) -> None:
    axes = values_of(model, protocol="tcp", payload="64 B", switches="0..3", endpoints="1..3")
    assert axes["switches"] == (0, 1, 2, 3)
    assert axes["endpoints"] == (1, 2, 3)


@pytest.mark.parametrize("text", ["1..1000000000000", f"1..{2**53}"])
@pytest.mark.parametrize("parameter", ["switches", "endpoints"])
def test_a_range_of_too_many_counts_is_refused_before_it_is_made(
    model: icmodel.Model, parameter: str, text: str
) -> None:
    with pytest.raises(ScenarioError, match="more than 1000000 values"):
        values_of(model, protocol="tcp", payload="64 B", **{parameter: text})


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("rate", "1/s..9/s"),
        ("distance", "1 m..9 m"),
        ("line_rate", "10 Gb/s..25 Gb/s"),
        ("cpu_clock", "1..2"),
        ("app_send", "1 us..2 us"),
    ],
)
def test_what_no_dataset_has_points_of_needs_a_number(
    model: icmodel.Model, parameter: str, text: str
) -> None:
    with pytest.raises(ScenarioError, match=":25log"):
        axes_of(model, {"protocol": "tcp", "payload": "64 B", parameter: text})


UNIT_OF = {
    "payload": " B",
    "rate": "/s",
    "requested_goodput": " kb/s",
    "other_goodput": " kb/s",
    "distance": " m",
    "line_rate": " kb/s",
    "cpu_clock": "",
    "app_send": " us",
    "app_recv": " us",
    "app_send_per_byte": " ns/B",
    "app_recv_per_byte": " ns/B",
    "cores": "",
    "switches": "",
    "endpoints": "",
}
"""Every parameter that takes a range, with a unit."""


@cache
def corrected(name: str) -> icmodel.Model:
    return icmodel.Model(icmodel.load(name), "corrected")


def test_every_parameter_with_a_range_is_looked_at() -> None:
    assert set(UNIT_OF) == {*TEXT_SPELLINGS, *COUNTS}


@pytest.mark.parametrize("name", catalogue())
@given(
    parameter=st.sampled_from(sorted(UNIT_OF)),
    ends=st.tuples(st.integers(1, 10**8), st.integers(1, 10**8)).filter(
        lambda two: two[0] < two[1]
    ),
    how=st.sampled_from(["", ":2", ":7", ":5log"]),
)
def test_a_range_keeps_its_ends_as_they_are_said(
    name: str, parameter: str, ends: tuple[int, int], how: str
) -> None:
    unit = UNIT_OF[parameter]
    if parameter in COUNTS:
        ends = (ends[0] % 10, ends[0] % 10 + 1 + ends[1] % 10)
    model = corrected(name)
    si_name, parse = TEXT_SPELLINGS.get(parameter, (parameter, float))
    asked = {
        "protocol": model.data.protocols[0],
        parameter: f"{ends[0]}{unit}..{ends[1]}{unit}{how}",
    }
    try:
        values = values_of(model, **asked)[si_name]
    except IcmodelError as error:
        why = str(error)
    else:
        why = ""
    if why:
        told = (
            "needs a number of values",
            "for 25 values in the range",
            "add a number of values",
            "start it above 0",
            ": give ",
        )
        assert any(words in why for words in told), why
        return
    assert (values[0], values[-1]) == pytest.approx([parse(f"{end}{unit}") for end in ends])
    assert list(values) == sorted(set(values))


@pytest.mark.parametrize("name", catalogue())
def test_more_cores_than_were_measured_are_refused_or_marked(name: str) -> None:
    model = corrected(name)
    data = model.data
    payload = next((p.payload_bytes for p in data.points if p.payload_bytes), 64)
    asked: Any = {"protocol": data.default_protocol, "payload_bytes": payload, "cores": "1..99"}
    with pytest.raises(OutOfDomain):
        sweep(model, metrics=["goodput_bps"], **asked)
    try:
        answers = sweep(model, metrics=["goodput_bps"], outside="extrapolate", **asked)
    except OutOfDomain:  # no rule for cores: nothing to extrapolate by
        return
    assert answers["cores"].values.tolist()[-1] == 99
    assert BASES[answers["goodput_bps_basis"].values[-1]] == "extrapolated"


# --- answers ----------------------------------------------------------------------------------


def check_against_single_predictions(
    model: icmodel.Model, answers: xr.Dataset, outside: str = "refuse"
) -> int:
    """Compare every point of a sweep with `Model.predict`; return the number of compared numbers."""
    compared = 0
    for place in np.ndindex(*answers.sizes.values()):
        point = answers.isel(dict(zip(answers.sizes, place, strict=True)))
        question = {str(name): value.item() for name, value in point.coords.items()}
        one = model.predict(outside=outside, **{n: v for n, v in question.items() if v != math.inf})
        for name, estimate in one.metrics.items():
            found = [point[name + part].item() for part in ("", "_low", "_high")]
            wanted = [estimate.value, estimate.low, estimate.high]
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-15, nan_ok=True), (
                name,
                question,
            )
            code = point[f"{name}_basis"].item()
            assert (code < 0) == estimate.absent
            assert estimate.absent or BASES[code] == estimate.basis, (name, question)
            compared += 1
        assert BOTTLENECKS[point["bottleneck"].item()] == one.bottleneck
    return compared


def test_a_sweep_says_what_single_predictions_say(model: icmodel.Model) -> None:
    answers = sweep(
        model,
        protocol="tcp, udp",
        payload="64 B, 1448 B, 1 kB..60 kB:3",
        requested_goodput="100 Mb/s, 3 Gb/s, unlimited",
        cores="1, 4",
        switches="0..1",
    )
    assert dict(answers.sizes) == {
        "protocol": 2,
        "payload_bytes": 5,
        "requested_goodput_bps": 3,
        "cores": 2,
        "switches": 2,
    }
    assert check_against_single_predictions(model, answers) > 1000


@pytest.mark.parametrize(
    ("dataset", "protocol", "payload"),
    [
        ("ethernet-1g-2010", "tcp", "64 B..8 KiB"),
        ("infiniband-qdr-connectx2", "rc, uc", "64 B..8 KiB"),
        ("rapidio-tsi721", "dma-write", "16 KiB..64 KiB"),
    ],
)
def test_metrics_a_dataset_lacks_are_absent_in_a_sweep_too(
    dataset: str, protocol: str, payload: str
) -> None:
    model = icmodel.Model(icmodel.load(dataset))
    answers = sweep(model, protocol=protocol, payload=payload)
    assert bool(answers["latency_mean_s"].isnull().all())
    assert check_against_single_predictions(model, answers) > 0


def test_options_are_an_axis_like_any_other() -> None:
    model = icmodel.Model(icmodel.load("ethernet-1g-2010"))
    answers = sweep(model, protocol="tcp", payload="64 B, 1 KiB", offload="checksum, baseline")  # type: ignore[call-arg]
    assert answers["offload"].values.tolist() == ["checksum", "baseline"]
    check_against_single_predictions(model, answers)
    same = sweep(
        model, protocol="tcp", payload="64 B, 1 KiB", options={"offload": "checksum, baseline"}
    )
    xr.testing.assert_identical(answers, same)


def test_the_two_spellings_give_the_same(model: icmodel.Model) -> None:
    said = sweep(model, protocol=["tcp", "udp"], payload="64 B, 1448 B", rate="1 k/s, 2 k/s")
    numbers = sweep(
        model,
        protocol="tcp, udp",
        payload_bytes=np.array([64, 1448]),
        rate_fps=[1000.0, 2000],
    )
    xr.testing.assert_identical(said, numbers)


def test_one_value_is_no_dimension(model: icmodel.Model) -> None:
    answers = sweep(model, protocol="tcp", payload="1448 B", cores=4, switches="0, 1")
    assert dict(answers.sizes) == {"switches": 2}
    assert answers["payload_bytes"].item() == 1448
    assert answers["protocol"].item() == "tcp"
    alone = sweep(model, protocol="tcp", payload="1448 B")
    assert dict(alone.sizes) == {}
    check_against_single_predictions(model, alone)


def test_blocks_make_no_difference_and_report_progress(
    model: icmodel.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {"protocol": "udp, tcp", "payload": "64 B..60 kB:31", "cores": "1..4"}
    whole = sweep(model, **question)  # type: ignore[arg-type]
    monkeypatch.setattr(importlib.import_module("icmodel.sweep.grid"), "BLOCK", 20)
    told: list[tuple[int, int]] = []
    blocks = sweep(model, progress=lambda done, total: told.append((done, total)), **question)  # type: ignore[arg-type]
    xr.testing.assert_identical(whole, blocks)
    assert len(told) > 10
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (248, 248)


def test_every_number_has_its_unit_and_the_origin_is_named(model: icmodel.Model) -> None:
    answers = sweep(model, protocol="tcp", payload="64 B, 1448 B", distance="1 m")
    units = {"goodput_bps": "bit/s", "latency_mean_s_low": "s", "cpu_send": "1", "distance_m": "m"}
    assert {name: answers[name].attrs["units"] for name in units} == units
    assert answers["payload_bytes"].attrs["units"] == "B"
    assert "units" not in answers["goodput_bps_basis"].attrs
    assert answers.attrs["dataset"] == CENTRAL
    assert answers.attrs["sha256"] == model.data.sha256
    assert answers.attrs["variant"] == "corrected"
    assert unit_of("frames_per_s_high") == "1/s"


def test_only_the_wanted_metrics_are_answered(model: icmodel.Model) -> None:
    answers = sweep(
        model, protocol="tcp", payload="64 B, 128 B", metrics=["cpu_send"], intervals=False
    )
    assert set(answers.data_vars) == {"cpu_send"}


# --- what is outside --------------------------------------------------------------------------


def test_the_first_point_outside_is_named(model: icmodel.Model) -> None:
    with pytest.raises(OutOfDomain, match=r"65535 B is impossible for udp.*first such point"):
        sweep(model, protocol="tcp, udp", payload="64 B, 65535 B")
    with pytest.raises(OutOfDomain, match=r"5 cores.*1, 2, 3, 4"):
        sweep(model, protocol="tcp", payload="64 B, 128 B", cores="4, 5")


def test_points_outside_are_left_empty_when_asked(model: icmodel.Model) -> None:
    answers = sweep(model, outside="nan", protocol="tcp, udp", payload="64 B, 65535 B")
    assert answers["goodput_bps"].isnull().values.tolist() == [[False, False], [False, True]]


def test_points_outside_are_marked_when_extrapolated(model: icmodel.Model) -> None:
    answers = sweep(model, outside="extrapolate", protocol="tcp", payload="64 B, 70000 B")
    basis = [BASES[code] for code in answers["goodput_bps_basis"].values.tolist()]
    assert basis[1] == "extrapolated"
    assert basis[0] != "extrapolated"


@pytest.mark.parametrize(
    ("ranges", "told"),
    [
        ({"protocol": "sctp"}, "'sctp'"),
        ({"protocol": ""}, "is empty"),
        ({"payload": "0 B..9 B:3"}, "payload '0 B' is not possible"),
        ({"payload": "64 B, 0 B, 1 kB"}, "payload '0 B' is not possible"),
        ({"payload": "64 B", "cores": "0..4"}, "cores '0' is not possible"),
        ({"payload_bytes": [64, 0]}, "payload_bytes 0"),
        ({"payload_bytes": [64.5]}, "64.5"),
        ({"payload_bytes": [[64]]}, "one-dimensional"),
        ({"payload_bytes": "64 B"}, "payload="),
        ({"payload": 64}, "no unit"),
        ({"payload": ["64 B", "1448 B"]}, "write one text"),
        ({"payload": "64 B", "payload_bytes": 64}, "given twice"),
        ({"rate_fps": [-1.0, 1.0]}, "-1.0"),
        ({"rate_fps": math.nan}, "nan"),
        ({"rate_fps": ["fast"]}, "'fast'"),
        ({"rate": "1/s", "requested_goodput": "1 b/s"}, "both given"),
        ({"endpoints": "1, 2", "other_goodput": "1 Gb/s"}, "endpoints is 1"),
        ({"nagle": "sometimes"}, "off, on"),
        ({"colour": "red, blue"}, "'colour'"),
        ({"payload": "1 B..60 kB:50000", "rate": "1/s..9 k/s:50000"}, "write it to a file"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    model: icmodel.Model, ranges: dict[str, object], told: str
) -> None:
    question = {"protocol": "tcp", **ranges}
    if "payload" not in ranges and "payload_bytes" not in ranges:
        question["payload"] = "64 B"
    with pytest.raises(IcmodelError, match=told):
        sweep(model, **question)  # type: ignore[arg-type]


def test_a_parameter_without_axis_or_rule_is_refused() -> None:
    model = icmodel.Model(icmodel.load("infiniband-qdr-connectx2"))
    with pytest.raises(OutOfDomain, match="switch"):
        sweep(model, protocol="rc", payload="64 B", switches="0, 1")


def test_a_sweep_can_be_saved_and_read_back(model: icmodel.Model, tmp_path: Path) -> None:
    answers = sweep(model, protocol="tcp, udp", payload="64 B, 1448 B", rate="1/s, unlimited")
    answers.to_netcdf(tmp_path / "grid.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "grid.nc", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["goodput_bps"].values, answers["goodput_bps"].values)
        assert read.attrs["variant"] == "corrected"
