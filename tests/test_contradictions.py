"""No answer contradicts another, itself or physics: all bundled datasets, variants, and made-up hosts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coherent
import contradictions as rules
from contradictions import Floats, Rule, Told, ask, contradictions, refusals_agree
from drawn import batch, batches, stream, wild
from icmodel.dataset import catalogue, load
from icmodel.model import VARIANTS, Model
from search import mostly_long, times

BATCHES, SIZE, WILD = {"appendix-h": 1, "corrected": 2, "hybrid": 1}, 150, 1
"""How many batches, of how many questions, and how many questions of any kind: each choice of options has fits
and tables of its own. `make measure` asks millions (`benchmarks.contradictions`)."""
FEW = {("lab-1g-2026", "hybrid")}
"""Whose fits of all metrics take a minute: asked by `benchmarks.contradictions`."""
FLOW = ("goodput_bps", "loss_rate", "sent_bps", "shortfall_bps")
MODELS = [
    (name, variant) for name in catalogue() for variant in VARIANTS if (name, variant) not in FEW
]
BRIEF = [
    *(one for one in MODELS if one[1] == "corrected"),
    *(one for one in MODELS if one[0].startswith("ethernet-") and one[1] != "corrected"),
    ("zeromq-1g-2010", "hybrid"),
]
"""Every dataset once, and every variant."""


@pytest.mark.parametrize(("name", "variant"), mostly_long(MODELS, BRIEF))
def test_no_answer_of_a_bundled_dataset_contradicts_another(name: str, variant: str) -> None:
    model = Model(load(name), variant)
    drawn = islice(batches(model.data, 15, SIZE, hosts=variant == "hybrid"), BATCHES[variant])
    found = [wrong for one in drawn for wrong in contradictions(model, one)]
    for k in range(WILD):
        found += refusals_agree(model, wild(model.data, stream(16, k)))
    assert not found, "\n".join(map(str, found))


def test_no_flow_of_the_lab_contradicts_another_where_curves_are_fitted() -> None:
    model = Model(load("lab-1g-2026"), "hybrid")
    drawn = [replace(one, metrics=FLOW) for one in islice(batches(model.data, 15, SIZE), 1)]
    found = [wrong for one in drawn for wrong in contradictions(model, one)]
    assert not found, "\n".join(map(str, found))


@settings(max_examples=times(5))
@given(coherent.hosts(), st.integers(0, 1000))
def test_no_answer_of_made_up_hosts_contradicts_another(host: coherent.Host, seed: int) -> None:
    model = Model(coherent.dataset(host), "corrected")
    found = contradictions(model, batch(model.data, stream(seed), 60))
    found += refusals_agree(model, wild(model.data, stream(seed)))
    assert not found, "\n".join(map(str, found))


# --- the net itself -------------------------------------------------------------------------------

TAMPERED: dict[str, Mapping[str, Callable[[Floats], Floats]]] = {
    "a finite": {"goodput_bps_high": lambda x: x + np.inf},
    "a ends where a value is": {"latency_mean_s_low": lambda x: x * np.nan},
    "a low ≤ value ≤ high": {"latency_mean_s_low": lambda x: 2 * x + 1},
    "a not negative": {"latency_mean_s_low": lambda x: -1 - x},
    "a ratio at most 1": {"cpu_send_high": lambda x: 1.5 + x},
    "b theory's least ≤ a latency": {"latency_min_s": lambda x: x * 1e-9},
    "b order of latency": {"latency_mean_s": lambda x: 1e3 + x},
    "c goodput ≤ theory": {"goodput_bps_high": lambda x: 1e12 + x},
    "c goodput ≤ request": {"goodput_bps_high": lambda x: 1e12 + x},
    "c goodput ≤ sent": {"sent_bps": lambda x: x / 2},
    "c sent ≤ request": {"sent_bps_high": lambda x: 1e12 + x},
    "c shortfall = request − sent": {"shortfall_bps": lambda x: x + 1e6},
    "c loss = 1 − goodput / sent": {"loss_rate": lambda x: (1 + x) / 2},
    "c goodput ≤ request (1 − loss)": {"loss_rate": lambda x: (1 + x) / 2},
    "c least sent (1 − most loss) ≤ least goodput": {"goodput_bps_low": lambda x: x / 2},
    "c most goodput ≤ most sent (1 − least loss)": {"loss_rate_low": lambda x: (1 + x) / 2},
    "c lossless: goodput = sent at the ends": {
        "sent_bps_high": lambda x: 2 * x,
        "loss_rate_high": lambda x: 0 * x,
    },
    "d packets = frames × packets a frame": {"packets_sent_per_s_low": lambda x: 2e6 + 2 * x},
    "d packets ≤ frames × packets a frame": {"packets_received_per_s": lambda x: 2e6 + x},
    "d packets ≥ those of a full stream": {"packets_sent_per_s": lambda x: x / 1e3},
    "e cpu_send_cores ≤ cores": {"cpu_send_cores_high": lambda x: 9 + x},
    "f goodput rises with endpoints": {"goodput_bps": lambda x: x / 1e4},
    "f goodput rises with others' goodput": {"goodput_bps": lambda x: x / 1e4},
    "f a share of next to nothing": {"goodput_bps": lambda x: x / 1e4},
    "f heads count, not what they offer": {"goodput_bps": lambda x: 1e12 + x},
    "f a time beside others who overload the interface": {
        "latency_mean_s": lambda x: np.nan_to_num(x) + 1.0
    },
    "f more than alone": {"goodput_bps": lambda x: 1e12 + x},
    "g saying nagle=on changes the answer": {"latency_mean_s": lambda x: x * (1 + 1e-15)},
    "g saying cores changes the answer": {"latency_mean_s": lambda x: x * (1 + 1e-15)},
    "g saying all defaults changes the answer": {"latency_mean_s": lambda x: x * (1 + 1e-15)},
    "h goodput_bps value": {"goodput_bps": lambda x: x * (1 + 1e-6)},
    "h basis of goodput_bps": {"goodput_bps_basis": lambda x: (x + 1) % 8},
    "h only many has latency_mean_s": {"latency_mean_s": lambda x: np.nan_to_num(x) + 1.0},
    "h codes are answered otherwise": {"cpu_send_high": lambda x: x + 1e-6},
    "i cores never measured are extrapolated": {"goodput_bps_basis": lambda x: 0 * x},
    "i a value has a basis": {"goodput_bps_basis": lambda x: 0 * x - 1},
    "i latency_mean_s is not measured": {"latency_mean_s_basis": lambda x: 0 * x},
    "i latency_mean_s beyond its payloads is extrapolated": {
        "latency_mean_s_basis": lambda x: 0 * x
    },
}
"""For each rule, what answers would have to say to break it."""


NOT_TAMPERED = {
    "h codes are refused",
    "h only many refuses",
    "h only many answers",
    "i terms sum to the mean",
    "i the least bound is the goodput",
    "j goodput falls with the request",
}
"""What is not said by columns, or of this dataset not asked."""


BY_LETTER: Mapping[str, tuple[Rule, ...]] = {
    "a": (rules.numbers_are_possible,),
    "b": (rules.times_are_in_order,),
    "c": (rules.flows_agree,),
    "d": (rules.packets_fit_frames,),
    "e": (rules.no_more_cores_are_busy_than_asked,),
    "f": (rules.more_of_others_never_gives_more, rules.no_time_at_an_overloaded_interface),
    "g": (rules.a_default_said_changes_nothing,),
    "h": (rules.one_answer_is_many, rules.codes_are_texts),
    "i": (rules.a_basis_is_of_its_rows, rules.beyond_all_rows_is_extrapolated),
}


@cache
def told() -> tuple[Told, ...]:
    """Answers of a dataset to questions of all kinds."""
    model = Model(load("ethernet-10g-2012"), "corrected")
    drawn = islice(batches(model.data, 17, 40), 16)
    return tuple(answers for one in drawn if (answers := ask(model, one)) is not None)


def breaks(answers: Told, rule: str) -> bool:
    """Whether answers break a rule."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = [wrong for one in BY_LETTER[rule[0]] for wrong in one(answers)]
    return any(wrong.rule == rule for wrong in found)


def tampered(answers: Told, rule: str) -> Told:
    """The answers, with the columns of a rule changed so that they break it."""
    columns = dict(answers.columns)
    for name, change in TAMPERED[rule].items():
        if name in columns:
            columns[name] = change(columns[name].astype(float))
    return replace(answers, columns=columns)


@pytest.mark.parametrize("rule", TAMPERED)
def test_answers_that_break_a_rule_are_caught(rule: str) -> None:
    """By one of the batches at least; most know no metric of the rule or have no such question."""
    assert any(
        breaks(tampered(answers, rule), rule) and not breaks(answers, rule) for answers in told()
    )


def test_every_rule_has_answers_that_break_it() -> None:
    """But for those about refusals, one question and metrics that nothing has rows of."""
    written = set(re.findall(r'"([a-j] [^"{}]+)"', inspect.getsource(rules)))
    assert written - {"g saying all defaults"} - TAMPERED.keys() == NOT_TAMPERED
