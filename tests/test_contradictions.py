"""No answer contradicts another, itself or physics: all bundled datasets, variants, and made-up hosts."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coherent
from contradictions import contradictions, refusals_agree
from drawn import batch, batches, stream, wild
from icmodel.dataset import catalogue, load
from icmodel.model import VARIANTS, Model

BATCHES = {"appendix-h": 6, "corrected": 12, "hybrid": 2}
"""Each choice of options has fits and tables of its own, and `hybrid` takes longest for them."""
SIZE, WILD = 250, 10
FEW = {("lab-1g-2026", "hybrid")}
"""Whose fits of all metrics take a minute: asked by `benchmarks.contradictions`."""
MODELS = [
    (name, variant) for name in catalogue() for variant in VARIANTS if (name, variant) not in FEW
]


@pytest.mark.parametrize(("name", "variant"), MODELS)
def test_no_answer_of_a_bundled_dataset_contradicts_another(name: str, variant: str) -> None:
    model = Model(load(name), variant)
    drawn = islice(batches(model.data, 15, SIZE, hosts=variant == "hybrid"), BATCHES[variant])
    found = [wrong for one in drawn for wrong in contradictions(model, one)]
    for k in range(WILD):
        found += refusals_agree(model, wild(model.data, stream(16, k)))
    assert not found, "\n".join(map(str, found))


@settings(max_examples=15)
@given(coherent.hosts(), st.integers(0, 1000))
def test_no_answer_of_made_up_hosts_contradicts_another(host: coherent.Host, seed: int) -> None:
    model = Model(coherent.dataset(host), "corrected")
    found = contradictions(model, batch(model.data, stream(seed), 60))
    found += refusals_agree(model, wild(model.data, stream(seed)))
    assert not found, "\n".join(map(str, found))
