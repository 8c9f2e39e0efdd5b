"""Search for contradictions in answers to random questions and systems.

``python -m benchmarks.contradictions`` asks millions of questions and predicts thousands of
systems.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from benchmarks.checking import from_tests
from benchmarks.pairs import Document, say
from icmodel.dataset import catalogue, load
from icmodel.model import VARIANTS, Model

if TYPE_CHECKING:
    from types import ModuleType

BATCH = 2_000
"""Number of questions of one call."""
WILD = 10
"""Questions per batch of any kind; ``predict`` and ``predict_many`` must agree on refusals."""
SEED = 2026


@dataclass
class Count:
    """Counts of questions and contradictions for one dataset and variant."""

    dataset: str
    variant: str
    questions: int = 0
    by_rule: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def contradictions(self) -> int:
        """Number of contradictions of all rules."""
        return sum(self.by_rule.values())

    def add(self, found: Sequence[Any]) -> None:
        """Count contradictions; the first of each kind is the example."""
        for wrong in found:
            self.by_rule[wrong.rule] = self.by_rule.get(wrong.rule, 0) + wrong.count
            self.examples.setdefault(wrong.rule, str(wrong))


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask all questions and print a table; return 1 if any answer contradicts another."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.rule or ()) - system_rules().RULES.keys():
        parser.error(f"there is no rule {sorted(unknown)[0]!r}: see tests/system_contradictions.py")
    pairs = [
        (name, variant)
        for name in options.only or catalogue()
        for variant in options.variant or VARIANTS
    ]
    share = -(-options.questions // len(pairs))
    counts = [count(name, variant, share, options.seed) for name, variant in pairs]
    systems = count_systems(options.systems, options.seed, options.rule)
    document: Document = {
        "schema_version": 1,
        "counts": [asdict(one) for one in counts],
        "systems": asdict(systems),
    }
    printed = text(counts) + systems_text(systems)
    print(json.dumps(document, indent=2) if options.json else printed, end="")
    return 1 if systems.by_rule or any(one.by_rule for one in counts) else 0


def count(name: str, variant: str, questions: int, seed: int) -> Count:
    """Count the contradictions among ``questions`` random questions to one model."""
    rules, drawn = modules()
    model = Model(load(name), variant)
    told = Count(name, variant)
    made = drawn.batches(model.data, seed, min(BATCH, questions), hosts=variant == "hybrid")
    for number, batch in enumerate(islice(made, -(-questions // BATCH))):
        told.add(rules.contradictions(model, batch))
        for k in range(WILD):
            wild = drawn.wild(model.data, drawn.stream(seed, number, k))
            told.add(rules.refusals_agree(model, wild))
        told.questions += len(batch) + WILD
        say(
            f"{name} {variant}: {told.questions:,} questions, {told.contradictions:,} contradictions"
        )
    return told


@dataclass
class Systems:
    """Number of predicted systems, and the checked rules.

    ``by_rule`` counts the systems that break each rule. ``broken`` has a sentence for each of them.
    """

    systems: int
    rules: list[str]
    by_rule: dict[str, int] = field(default_factory=dict)
    broken: dict[str, list[str]] = field(default_factory=dict)


def count_systems(systems: int, seed: int, rules: Sequence[str] | None = None) -> Systems:
    """Count the random systems whose prediction breaks a rule, for each rule."""
    known = system_rules()
    told = Systems(systems, list(rules or known.RULES))
    for done in range(systems):
        found = known.contradictions(seed + done, told.rules)
        for name in dict.fromkeys(one.rule for one in found):
            told.by_rule[name] = told.by_rule.get(name, 0) + 1
            wrong = next(str(one) for one in found if one.rule == name)
            told.broken.setdefault(name, []).append(wrong)
            say(wrong)
        if (done + 1) % 250 == 0:
            say(f"{done + 1:,} systems, {sum(told.by_rule.values()):,} rules broken")
    return told


def system_rules() -> ModuleType:
    """Load the rules and the random systems from the tests."""
    for name in ("simulated_packets", "simulated_ports", "system_simulation", "drawn_systems"):
        from_tests(name)
    return from_tests("system_contradictions")


def systems_text(told: Systems) -> str:
    """Return a line for each broken rule and each system that breaks it, and the number of systems."""
    lines = []
    for rule, times in sorted(told.by_rule.items()):
        lines += [f"    {times:>10,}  {rule}", *(f"{'':16}{one}" for one in told.broken[rule])]
    broken = f"{len(told.by_rule)} of {len(told.rules)} rules broken"
    return "\n".join([*lines, f"{told.systems:,} systems, {broken}"]) + "\n"


def modules() -> tuple[ModuleType, ModuleType]:
    """Load the rules and the random questions from the tests."""
    drawn = from_tests("drawn")
    return from_tests("contradictions"), drawn


def text(counts: Sequence[Count]) -> str:
    """Return a line for each model, and below it each broken rule with an example."""
    lines = [f"{'dataset':<28}{'variant':<12}{'questions':>12}{'contradictions':>16}"]
    for one in counts:
        found = one.contradictions
        lines.append(f"{one.dataset:<28}{one.variant:<12}{one.questions:>12,}{found:>16,}")
        for rule, times in sorted(one.by_rule.items()):
            lines += [f"    {times:>10,}  {rule}", f"{'':16}{one.examples[rule]}"]
    total = sum(one.questions for one in counts)
    found = sum(one.contradictions for one in counts)
    lines.append(f"{total:,} questions, {found:,} contradictions")
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contradictions", description=__doc__
    )
    parser.add_argument(
        "--questions", type=_count, default=2_000_000, help="questions to ask all models"
    )
    parser.add_argument("--systems", type=_none_too, default=5_000, help="number of random systems")
    parser.add_argument("--rule", action="append", help="rule of systems to check; can be repeated")
    parser.add_argument(
        "--only", action="append", choices=catalogue(), help="dataset to check; can be repeated"
    )
    parser.add_argument(
        "--variant", action="append", choices=VARIANTS, help="variant to check; can be repeated"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the random questions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _none_too(word: str) -> int:
    return 0 if word == "0" else _count(word)


def _count(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word} is not 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
