"""What people keep or send to another process pickles and deep-copies: the copy answers alike."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import checkout
import icmodel
from icmodel.documents import json_text
from icmodel.frozen import FrozenMapping
from icmodel.system import load as load_system
from icmodel.system import predict

DATASET = "ethernet-10g-2012"
QUESTION: dict[str, Any] = {"protocol": "tcp", "payload": "1448 B", "rate": "6700/s", "cores": 4}


def made() -> dict[str, Any]:
    """One object of each kind."""
    data = icmodel.load(DATASET)
    return {
        "dataset": data,
        "scenario": icmodel.Scenario("tcp", 1448),
        "prediction": icmodel.Model(data).predict(**QUESTION),
        "evaluation": icmodel.evaluate("imaging", data),
        "system": load_system("imaging"),
        "system prediction": predict(load_system("lab-two-senders")),
        "comparison": icmodel.compare_interconnects("imaging", [DATASET]),
        "recommendation": icmodel.recommend("imaging"),
    }


MADE = made()


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_says_the_same(kind: str, again: Any) -> None:
    one = MADE[kind]
    other = again(one)
    assert type(other) is type(one)
    if hasattr(one, "to_dict"):
        assert json_text(other.to_dict()) == json_text(one.to_dict())
    else:
        assert other == one


@pytest.mark.parametrize("variant", ["appendix-h", "corrected", "hybrid"])
def test_a_model_answers_alike_in_another_process(variant: str, tmp_path: Path) -> None:
    model = icmodel.Model(DATASET, variant)
    (tmp_path / "model").write_bytes(pickle.dumps(model))
    script = f"""
import json, pickle
model = pickle.load(open("model", "rb"))
print(json.dumps(model.predict(**{QUESTION!r}).goodput_bps.value))
"""
    environment = {"PYTHONPATH": str(checkout.ROOT), "HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout) == model.predict(**QUESTION).goodput_bps.value


def test_a_frozen_mapping_equals_its_dict_and_cannot_be_changed() -> None:
    frozen = FrozenMapping({"cores": 4})
    assert frozen == {"cores": 4}
    assert list(frozen.items()) == [("cores", 4)]
    with pytest.raises(TypeError):
        frozen["cores"] = 5  # type: ignore[index]
