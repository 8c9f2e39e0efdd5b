"""What a type checker says of programs that use icmodel: a misspelt name is found, a right one is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import checkout
import icmodel
from conftest import run
from icmodel.asked import Asked, AskedMany
from icmodel.dataset import catalogue
from icmodel.estimate import Metrics
from icmodel.scenario import SI_NAMES, TEXT_SPELLINGS

RIGHT = """
import icmodel

data = icmodel.load("ethernet-10g-2012")
model = icmodel.Model("ethernet-10g-2012", variant="hybrid")
p = model.predict(protocol="tcp", payload="1448 B", rate="6700/s", options={"nagle": "on"})
print(p.goodput_bps.value, p.latency_p99_s.low, p.bottleneck, p.explain().latency_terms, p.metrics)
grid = model.predict_many(protocol="tcp", payload_bytes=[64, 128], options={"nagle": "on"})
many = icmodel.sweep(model, protocol="tcp", payload="64 B..1 kB", cores="1..4")
print(icmodel.__version__, icmodel.Scenario("tcp", 64), grid, many)
result = icmodel.evaluate("imaging", data)
icmodel.report(result, "imaging.html")
"""
WRONG = {
    "p.goodput_bsp": 'print(model.predict(protocol="tcp", payload="64 B").goodput_bsp)',
    "p.latency_p99": 'print(model.predict(protocol="tcp", payload="64 B").latency_p99)',
    "predict(paylod=)": 'model.predict(protocol="tcp", paylod="64 B")',
    "predict(payload=64)": 'model.predict(protocol="tcp", payload=64)',
    "predict(nagle=)": 'model.predict(protocol="tcp", payload="64 B", nagel="on")',
    "predict_many(rate_fsp=)": 'model.predict_many(protocol="tcp", payload_bytes=64, rate_fsp=1)',
    "sweep(core=)": 'icmodel.sweep(model, protocol="tcp", payload="64 B", core="1..4")',
    "icmodel.lod": 'icmodel.lod("ethernet-10g-2012")',
    "estimate.hihg": 'print(model.predict(protocol="tcp", payload="64 B").loss_rate.hihg)',
}


def checked(program: str, folder: Path) -> tuple[int, str]:
    """What mypy says of a program, as somebody who installed icmodel runs it."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    path = {"MYPYPATH": str(checkout.ROOT), "MYPY_CACHE_DIR": str(folder / "cache")}
    said = run(
        sys.executable, "-c", MYPY, "--strict", "--follow-imports=silent", "program.py",
        cwd=folder, env=path,
    )  # fmt: skip
    code, _, text = said.partition("\n")
    return int(code), text


MYPY = """
import sys
from mypy import api
said, wrong, code = api.run(sys.argv[1:])
print(code)
print(said + wrong)
"""


def test_a_right_program_has_no_error_and_each_misspelling_has_one(tmp_path: Path) -> None:
    lines = [f"def wrong_{at}() -> None:\n    {line}" for at, line in enumerate(WRONG.values())]
    code, said = checked("\n".join([RIGHT, *lines]), tmp_path)
    told = [int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line]
    first = RIGHT.count("\n") + 1
    assert code == 1, said
    assert sorted(set(told)) == [first + 2 + 2 * at for at in range(len(WRONG))], said


def test_the_keywords_that_are_typed_are_those_of_a_question() -> None:
    names = {*SI_NAMES, *TEXT_SPELLINGS, "options"}
    assert set(Asked.__annotations__) == names
    assert set(AskedMany.__annotations__) == names


@pytest.mark.parametrize("name", catalogue())
def test_every_metric_of_a_dataset_is_declared(name: str) -> None:
    source = Path(checkout.ROOT / "icmodel" / "estimate.py").read_text(encoding="utf-8")
    declared = {line.strip() for line in source.splitlines() if line.endswith(": Estimate")}
    assert {f"{metric}: Estimate" for metric in icmodel.load(name).metrics} <= declared


def test_what_is_declared_for_type_checkers_alone_is_no_attribute() -> None:
    assert not hasattr(Metrics(), "goodput_bps")
