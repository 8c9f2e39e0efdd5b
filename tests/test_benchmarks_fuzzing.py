"""The fuzzers: every target accepts right inputs and refuses some damaged ones, and a fault is kept with its input."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.fuzzing.mutation import SEPARATOR, mutated
from benchmarks.fuzzing.session import COUNTS, Session, opened_counts
from benchmarks.fuzzing.targets import TARGETS, Target
from icmodel.errors import IcmodelError

COSTLY = ("request", "system", "usecase")
MUTATIONS = 12


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in COSTLY)) for name in TARGETS],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_target_has_no_fault_on_its_seeds_and_on_mutations(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICMODEL_CACHE", "")
    rng, accepted = random.Random(28), 0
    seeds = [SEPARATOR.join(parts) for parts in TARGETS[name].seeds()]
    chosen = seeds[:4] + [mutated(rng.choice(seeds), rng) for _ in range(MUTATIONS)]
    for number, body in enumerate(chosen):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        with suppress(IcmodelError):
            TARGETS[name].ask(body.split(SEPARATOR), folder)
            accepted += 1
    assert accepted


def failing(parts: Sequence[bytes], folder: Path) -> None:
    if parts == [b"defect"]:
        raise ZeroDivisionError
    if parts[0] == b"wrong":
        raise IcmodelError("give something else")


def test_a_fault_is_kept_with_its_shortest_input(tmp_path: Path) -> None:
    (tmp_path / "faults").mkdir()
    session = Session(Target(failing, lambda: iter(())), tmp_path, opened_counts(tmp_path))
    try:
        taken = [session.read(body) for body in (b"right", b"wrong", b"defect")]
    finally:
        session.place.rmdir()
    assert taken == [True, False, False]
    assert COUNTS.unpack_from(opened_counts(tmp_path))[:2] == (3, 1)
    (kept,) = [path for path in (tmp_path / "faults").iterdir() if path.suffix != ".txt"]
    assert kept.name == "ZeroDivisionError-outside"
    assert kept.read_bytes() == b"defect"
    assert "ZeroDivisionError" in kept.with_name(f"{kept.name}.txt").read_text()


def test_mutations_are_those_of_their_seed() -> None:
    body = SEPARATOR.join(
        [b'rate = "10 Gb/s"\ncount = 3\n', b'{"a": [1, 2.5], "b": {"c": "64 B"}}']
    )
    one, other = ([mutated(body, random.Random(seed)) for seed in range(50)] for _ in range(2))
    assert one == other
    assert len(set(one)) > 40
