"""Workbook with formulas against the model: random questions, recalculated by LibreOffice.

Run ``python -m benchmarks.workbook``, or with the number of questions and names of datasets.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icmodel.dataset import Dataset, catalogue, load
from icmodel.errors import IcmodelError
from icmodel.estimate import Estimate, absent
from icmodel.model import Model
from icmodel.scenario import NO_OPTIONS
from icmodel.sheets import Cell, Sheet, read_sheet
from icmodel.sheets.calculation import questions_workbook
from icmodel.sheets.formulas import GOODPUT, INPUTS, answers
from icmodel.sheets.lookup import VARIANT, Lookup, lookup_of
from icmodel.sheets.sheet import unit_of_metric
from icmodel.sheets.workbook import keywords_of

QUESTIONS = 10_000
"""Number of questions of a full run, divided among the datasets."""
CALC = "soffice"


class Deviation(NamedTuple):
    """Comparison of a workbook: greatest relative deviation and its place, counts, differences."""

    greatest: float
    where: str
    numbers: int
    texts: int
    refused: int
    differing: tuple[str, ...]


def random_questions(data: Dataset, found: Lookup, count: int, seed: int) -> list[tuple[Cell, ...]]:
    """Draw questions of all protocols: inside, at the edges of, and outside the dataset."""
    rng = np.random.default_rng(seed)
    axes = found.tables.axes
    knots, levels = axes.knots, [*axes.loads.tolist(), 1e9, 9.4e9]
    questions: list[tuple[Cell, ...]] = []
    for _ in range(count):
        protocol = str(rng.choice(found.answered))
        payload = float(rng.choice(knots)) + float(rng.choice([0, 0, 1, -1]))
        if rng.random() < 0.7:
            payload = math.floor(math.exp(rng.uniform(0, math.log(knots[-1] * 1.1))))
        payload = max(payload, 1.0)
        rate: Cell = None
        requested: Cell = None
        kind = rng.random()
        if kind < 0.3:
            requested = round(math.exp(rng.uniform(math.log(1e-4), math.log(12))), 6)
        elif kind < 0.45:
            requested = float(rng.choice(levels)) / 1e9
        elif kind < 0.75:
            rate = float(rng.choice([1, 6700, 1e5, round(math.exp(rng.uniform(0, 15)), 3)]))
        cores: Cell = float(rng.choice(axes.cores)) if axes.cores else None
        cores = None if rng.random() < 0.4 else cores
        cores = 77.0 if rng.random() < 0.02 else cores
        switches: Cell = float(rng.choice([0, 0, 1, 2, 3]))
        endpoints = float(rng.choice([1, 1, 2, 3, 5]))
        other: Cell = None
        if endpoints > 1 and rng.random() < 0.8:
            other = float(rng.choice([0.0, 3.6, round(rng.uniform(0, 20), 3)]))
        distance: Cell = float(rng.choice([1, 50, 100])) if rng.random() < 0.2 else None
        questions.append(
            (protocol, payload, rate, requested, cores, switches, endpoints, other, distance)
        )
    return questions


def recalculated(places: Sequence[Path]) -> list[Path]:
    """Let LibreOffice recalculate workbooks and store them in a folder beside the first."""
    folder = places[0].parent
    profile, stored = f"-env:UserInstallation={(folder / 'profile').as_uri()}", folder / "stored"
    command = [CALC, profile, "--headless", "--convert-to", "xlsx", "--outdir", str(stored)]
    subprocess.run([*command, *map(str, places)], check=True, capture_output=True)
    return [stored / place.name for place in places]


def calculation_of(place: Path) -> Sheet:
    """Read the calculation sheet of a workbook of questions: the second row is its head."""
    sheet = read_sheet(place)
    return Sheet(tuple(str(cell) for cell in sheet.rows[0]), sheet.rows[1:])


def compare(
    data: Dataset, found: Lookup, questions: Sequence[Sequence[Cell]], sheet: Sheet
) -> Deviation:
    """Compare every answer of a recalculated sheet with the model."""
    model = Model(data, VARIANT)
    greatest, where, numbers, texts, refused = 0.0, "", 0, 0, 0
    differing: list[str] = []
    place = {name: k for k, name in enumerate(sheet.head)}
    for question, row in zip(questions, sheet.rows, strict=True):
        cells = {name: row[k] for name, k in place.items()}
        truth, why, limit = truth_of(model, question)
        refused += bool(why)
        pairs = [("why", why), ("limited by", limit)]
        for metric in answers(found):
            estimate = truth.get(metric, absent(why))
            pairs.append((f"{metric} answer basis", estimate.basis))
            if metric in truth and metric in (GOODPUT, *found.names):
                pairs.append((f"{metric} answer why", estimate.why if estimate.absent else ""))
            for end, number in zip(("", " low", " high"), estimate.ends, strict=True):
                name = f"{metric} answer{end}"
                cell, number = cells[name], number / unit_of_metric(metric).si
                numbers += 1
                if math.isnan(number) or not isinstance(cell, (int, float)):
                    if not (math.isnan(number) and cell in (None, "")):
                        differing.append(f"{question}: {name} is {cell}, not {number}")
                    continue
                deviation = abs(cell - number) / max(abs(number), 1e-12)
                if deviation > greatest:
                    greatest, where = deviation, f"{name} of {question}: {cell!r}, not {number!r}"
        texts += len(pairs)
        differing += [
            f"{question}: {name} is {cells[name]!r}, not {text!r}"
            for name, text in pairs
            if (cells[name] or "") != text
        ]
    return Deviation(greatest, where, numbers, texts, refused, tuple(differing))


def truth_of(model: Model, question: Sequence[Cell]) -> tuple[dict[str, Estimate], str, str]:
    """Return the model's estimates, reason of a refusal or unknown goodput, and bottleneck."""
    try:
        found = model.predict(**keywords_of(dict(zip(INPUTS, question, strict=True))))
    except IcmodelError as error:
        return {}, str(error), ""
    goodput = found.goodput_bps
    return dict(found.metrics), goodput.why if goodput.absent else "", found.bottleneck


def measured(
    names: Sequence[str], count: int, seed: int = 30
) -> Iterator[tuple[str, Deviation, float]]:
    """Compare the workbook of each dataset with the model.

    Yields name, deviation, and time of LibreOffice [s].
    """
    for name in names:
        data = load(name)
        found = lookup_of(data, NO_OPTIONS)
        questions = random_questions(data, found, count, seed)
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            place = Path(folder) / "questions.xlsx"
            place.write_bytes(questions_workbook(found, questions))
            (stored,) = recalculated([place])
            sheet = calculation_of(stored)
            elapsed = time.perf_counter() - start
            yield name, compare(data, found, questions, sheet), elapsed


def main(arguments: Sequence[str]) -> int:
    """Print the deviation of each dataset; return 1 if anything deviates beyond rounding."""
    count = int(arguments[0]) if arguments else 0
    names = arguments[1:] or list(catalogue())
    wrong = False
    for name, found, elapsed in measured(names, count or -(-QUESTIONS // len(names))):
        print(
            f"{name}: {found.numbers} numbers and {found.texts} texts, {found.refused} refused, greatest relative "
            f"deviation {found.greatest:.1e} ({found.where}), {len(found.differing)} different, {elapsed:.1f} s"
        )
        for line in found.differing[:10]:
            print(f"    {line}")
        wrong |= bool(found.differing) or found.greatest > 1e-9
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
