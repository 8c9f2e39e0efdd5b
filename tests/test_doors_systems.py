"""Every door gives a system with stated devices the same numbers or the same refusal; and what `--against` tells."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icmodel.cli import main
from icmodel.cli.against import changes_since
from icmodel.errors import NetworkError
from icmodel.message import AT_ONCE, Message, message_latency
from icmodel.model import Model
from icmodel.recommend import recommend
from icmodel.scenario import scenario
from icmodel.system import load, load_open, predict
from icmodel.units import parse_bps
from icmodel.usecase import evaluate
from icmodel.web import jobs, reports
from icmodel.web.jobs import TEXT
from search import times
from test_system_prediction_stated import FILE

STATED = (
    'latency = "20 us .. 50 us"\ncore_time = "10 us .. 20 us"\nsource = "data sheet"'  # as in FILE
)


def drawn(rng: np.random.Generator) -> str:
    """A system whose camera states drawn times; some files have a device that contradicts itself."""
    least = 10 ** rng.uniform(-6, -3.5)
    greatest = least * rng.uniform(1, 8)
    work = 10 ** rng.uniform(-7, -4)
    keys = [f"latency_s = [{least!r}, {greatest!r}]", f"core_time_s = {work!r}", 'source = "drawn"']
    damage = rng.random()
    if damage < 0.3:
        keys.pop(int(rng.integers(3)))  # without latency or source the file is refused
    elif damage < 0.4:
        keys.append('dataset = "ethernet-10g-2012"')
    text = FILE.replace("DATASET", 'dataset = "ethernet-10g-2012"')
    text = text.replace("PICTURE", f"{rng.uniform(0.01, 9):.3f} Gb/s")
    text = text.replace("LIMIT", f"{10 ** rng.uniform(1.5, 3.5):.1f} us")
    assert STATED in text
    return text.replace(STATED, "\n".join(keys))


@pytest.mark.sampled
def test_every_door_answers_or_refuses_a_system_with_stated_devices_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(31)
    file = tmp_path / "own.toml"
    for _ in range(times(5)):
        text = drawn(rng)
        file.write_text(text, encoding="utf-8")
        code = main(["system", str(file), "--json"])
        printed = json.loads(capsys.readouterr().out)
        if code == 2:
            assert_refused(file, text, printed["error"], capsys)
            continue
        found = predict(load(file))
        assert found.to_dict() == printed
        assert found.exit_code == code
        answered = json.loads(jobs.predict_system(None, text, None, None, "refuse"))
        for document in (answered, printed):
            document.pop("asked")  # a text that is sent has no file
        assert answered == printed
        page = json.loads(reports.system_page(text))
        assert page["outcome"] == printed["verdict"]
        assert main(["system", str(file), "--all"]) == code
        shown = capsys.readouterr().out
        assert f"line: {printed['verdict']}" in shown
        for one in page["streams"]:
            name, goodput_bps = one["name"], printed["streams"][one["name"]]["goodput_bps"]["value"]
            assert parse_bps(one["goodput"]) == pytest.approx(goodput_bps, rel=0.05)  # 2 digits
            (text,) = re.findall(rf"^{name} +1 +(\S+ \S+)", shown, re.MULTILINE)
            assert parse_bps(text) == pytest.approx(goodput_bps, rel=1e-3)
        own = recommend(load_open(file)).own
        assert own.verdict == printed["verdict"]


ONE_STREAM = """
schema_version = 1
name = "one"
title = "one stream of messages over a direct link"
source = "drawn"
[[devices]]
name = "a"
dataset = "DATASET"
[[devices]]
name = "b"
dataset = "DATASET"
[[links]]
between = ["a", "b"]
rate = "RATE"
[[streams]]
name = "s"
source = "a"
sink = "b"
protocol = "udp"
payload = "PAYLOAD B"
cores = CORES
produces = { kind = "burst", period = "10 s", size = "SIZE B" }
"""


@pytest.mark.parametrize("frames", [2, 40, 93, 300, 2000, 20_000])
@pytest.mark.parametrize("payload_bytes", [1000, 1472, 9000, 65_000])
@pytest.mark.parametrize(
    ("dataset", "rate", "cores"),
    [("ethernet-10g-2012", "10 Gb/s", 4), ("lab-1g-2026", "1 Gb/s", 1)],
)
def test_a_message_that_an_unlimited_sender_may_lose_is_unknown_by_every_door(
    tmp_path: Path, dataset: str, rate: str, cores: int, payload_bytes: int, frames: int
) -> None:
    """What is lost of an unlimited stream waits in a socket, or the message may not arrive whole."""
    size = payload_bytes * frames
    text = ONE_STREAM.replace("DATASET", dataset).replace("RATE", rate).replace("SIZE", str(size))
    text = text.replace("PAYLOAD", str(payload_bytes)).replace("CORES", str(cores))
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    of_system = predict(load(file)).streams["s"].message_times["latency_mean_s"]
    asked = scenario(protocol="udp", payload_bytes=payload_bytes, rate_fps=frames / 10, cores=cores)
    model = Model(dataset)
    of_stream = message_latency(model, model.predict(asked), Message(size))[AT_ONCE]
    assert of_stream.absent == of_system.absent
    if not of_stream.absent:
        assert of_stream.value <= of_system.value * (1 + 1e-9)  # a system adds frames that queue


def assert_refused(
    file: Path, text: str, error: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Python, the request, the page, the printed text and the search tell the same mistakes."""
    assert error["kind"] == "NetworkError"
    assert error["mistakes"]
    with pytest.raises(NetworkError) as python:
        load(file)
    assert [one._asdict() for one in python.value.mistakes] == error["mistakes"]
    with pytest.raises(NetworkError) as request:
        jobs.predict_system(None, text, None, None, "refuse")
    assert str(request.value) == error["message"].replace("own.toml", TEXT)
    assert json.loads(reports.system_page(text))["mistakes"] == error["mistakes"]
    for command in ("system", "recommend"):
        assert main([command, str(file)]) == 2
        assert capsys.readouterr().err == f"icmodel: {error['message']}\n"


# --- against an earlier result ----------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["system", "evaluate"])
def test_against_tells_exactly_the_requirement_that_is_altered(kind: str) -> None:
    found = (
        evaluate("imaging", "ethernet-10g-2012").to_dict()
        if kind == "evaluate"
        else predict(load("imaging")).to_dict()
    )
    new = json.loads(json.dumps(found))
    same = changes_since(new, new)
    assert (same.changes, same.exit_code) == ((), 0)
    rng = np.random.default_rng(32)
    places = requirements(new, kind)
    for at in rng.permutation(len(places))[: times(6)]:
        old = copy.deepcopy(new)
        one = requirements(old, kind)[at]
        before = one["outcome"]
        one["outcome"] = "undecided" if before != "undecided" else "met"
        told = changes_since(old, new)
        (change,) = told.changes
        assert (change.kind, change.old, change.new) == ("verdict", one["outcome"], before)
        assert change.what == one["requirement"]["name"]
        assert told.exit_code == 1


def requirements(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The judged requirements of a result, of all candidates."""
    if kind == "system":
        return list(document["requirements"])
    return [one for candidate in document["candidates"] for one in candidate["findings"]]
