"""What a type checker says of programs that use icmodel: a misspelt name is found, a right one is not.

The two programs below are never run: mypy reads them with all other tests (``make check``). It reports an error
where a right name is unknown to it, and an unused ``type: ignore`` where a wrong one is not.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import checkout
import icmodel
from icmodel.dataset import catalogue
from icmodel.estimate import Metrics
from icmodel.scenario import SI_NAMES, TEXT_SPELLINGS, ScenarioArrays, ScenarioKeywords


def right() -> list[object]:
    data = icmodel.load("ethernet-10g-2012")
    model = icmodel.Model("ethernet-10g-2012", variant="hybrid")
    p = model.predict(protocol="tcp", payload="1448 B", rate="6700/s", options={"nagle": "on"})
    told = [p.goodput_bps.value, p.latency_p99_s.low, p.bottleneck, p.metrics]
    grid = model.predict_many(protocol="tcp", payload_bytes=[64, 128], options={"nagle": "on"})
    many = icmodel.sweep(model, protocol="tcp", payload="64 B..1 kB", cores="1..4")
    result = icmodel.evaluate("imaging", data)
    icmodel.report(result, "imaging.html")
    why = p.explain().latency_terms
    streams = icmodel.system.predict(icmodel.system.load("imaging")).streams
    told += [streams["picture-1"].goodput_bps.basis, streams["picture-1"]["loss_rate"].why]
    told += [
        p["goodput_bps"].value,
        p["own_metric_s"].value,
        float(p.goodput_bps),
        p.to_xarray(),
        p.to_dataframe(),
    ]
    told += [icmodel.plotting.grid_plot(many, "goodput_bps"), icmodel.units.parse_bps("1 Gb/s")]
    return [*told, why, icmodel.__version__, icmodel.Scenario("tcp", 64), grid, many]


def wrong(model: icmodel.Model) -> None:
    p = model.predict(protocol="tcp", payload="64 B")
    _ = p.goodput_bsp  # type: ignore[attr-defined]
    _ = p.goodputt_bps  # type: ignore[attr-defined]
    _ = icmodel.system.predict(icmodel.system.load("imaging")).streams["x"].loss  # type: ignore[attr-defined]
    _ = p.latency_p99  # type: ignore[attr-defined]
    _ = p.loss_rate.hihg  # type: ignore[attr-defined]
    model.predict(protocol="tcp", paylod="64 B")  # type: ignore[call-arg]
    model.predict(protocol="tcp", payload=64)  # type: ignore[arg-type]
    model.predict(protocol="tcp", payload="64 B", nagel="on")  # type: ignore[call-arg]
    model.predict_many(protocol="tcp", payload_bytes=64, rate_fsp=1)  # type: ignore[call-arg]
    icmodel.sweep(model, protocol="tcp", payload="64 B", core="1..4")  # type: ignore[call-arg]
    icmodel.lod("ethernet-10g-2012")  # type: ignore[attr-defined]


def test_a_misspelling_that_is_no_error_fails_the_check() -> None:
    """Strict mypy reports an ignore that nothing needs, in the tests too."""
    text = (checkout.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)["tool"]["mypy"]
    assert settings["strict"] is True
    assert settings.get("warn_unused_ignores", True)
    assert "tests" in settings["files"]


def test_the_keywords_that_are_typed_are_those_of_a_question() -> None:
    names = {*SI_NAMES, *TEXT_SPELLINGS, "options"}
    assert set(ScenarioKeywords.__annotations__) == names
    assert set(ScenarioArrays.__annotations__) == names


@pytest.mark.parametrize("name", catalogue())
def test_every_metric_of_a_dataset_is_declared(name: str) -> None:
    source = Path(checkout.ROOT / "icmodel" / "estimate" / "prediction.py").read_text(
        encoding="utf-8"
    )
    declared = {line.strip() for line in source.splitlines() if line.endswith(": Estimate")}
    assert {f"{metric}: Estimate" for metric in icmodel.load(name).metrics} <= declared


def test_what_is_declared_for_type_checkers_alone_is_no_attribute() -> None:
    assert not hasattr(Metrics(), "goodput_bps")
