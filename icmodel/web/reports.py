"""Documents of the pages other than the what-if page: blocks of the reports, and data of drawings.

A worker process calls each function: request parameters in, bytes of a JSON document out.
"""

from __future__ import annotations

import re
from typing import Any

from icmodel.dataset import load
from icmodel.errors import IcmodelError, Mistake
from icmodel.interconnects import compare_interconnects, ranked
from icmodel.questions.judging import evaluate_with_notes
from icmodel.report import datasets, predictions, verdicts
from icmodel.report import interconnects as compared
from icmodel.report.blocks import Fold, Items, Sections, Text, page_json
from icmodel.report.systems import tables
from icmodel.report.systems.drawing import stream_paths, system_svg
from icmodel.report.systems.summary import summarise
from icmodel.system import check, predict
from icmodel.validate import Wishes, validate
from icmodel.validate.validation import LEAVE_ONE
from icmodel.web.jobs import body_of, ingest, system_of, usecase_of
from icmodel.web.problems import problem_of
from icmodel.web.work import check_dataset

MOST_FOLDS = 40
"""Maximum number of rows that a validation leaves out; limits the waiting time of its page."""
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
"""Pattern of the style sheet inside a drawing.

The page loads the style sheet from a file, since its Content-Security-Policy allows no inline style.
"""


def refusal(error: IcmodelError) -> bytes:
    """Return the mistakes of a text as JSON, each with its line; an unknown line is null."""
    told = problem_of(error)
    mistakes = told.mistakes or (Mistake(told.detail),)
    return body_of({"error": told.detail, "mistakes": [one._asdict() for one in mistakes]})


# --- use cases --------------------------------------------------------------------------------


def usecase_page(toml: str, dataset: str, candidate: str, strict: bool) -> bytes:
    """Return the page of a use case: verdicts, derivation, reasons and limits."""
    check_dataset(dataset)
    try:
        case = usecase_of(None, toml)
        chosen = candidate if candidate in [one.name for one in case.candidates] else None
        found = evaluate_with_notes(case, load(dataset), None, chosen, strict=strict)
    except IcmodelError as error:
        return refusal(error)
    sections: Sections = (
        ("verdicts", "Verdicts", verdicts.verdicts(found)),
        ("requirements", "What is required", verdicts.required(found)),
        ("reasons", "Why", predictions.reasons(found)),
        ("limits", "Limits of validity", predictions.limits(found)),
    )
    basis = f"{found.data.title} ({found.data.id}), variant {found.variant}"
    page = page_json(case.title, case.question, basis, verdicts.conclude(found), sections)
    names = [one.name for one in case.candidates]
    return body_of({**page, "candidate": found.candidate, "candidates": names})


def compare_page(usecase: str | None, toml: str | None) -> bytes:
    """Return the page of a use case on every interconnect: a table, measurements, and reasons."""
    try:
        found = compare_interconnects(usecase_of(usecase, toml))
    except IcmodelError as error:
        return refusal(error)
    best_first = ranked(found)
    open_ones = compared.measurements(found) or ("Nothing is open.",)
    folds = (
        Fold(compared.link_name(one.row), (Items("", tuple(compared.why(one))),), one.row.outcome)
        for one in best_first
    )
    sections: Sections = (
        ("links", "Interconnects", [compared.link_table(best_first)]),
        ("open", "What would decide", [Items("", open_ones)]),
        ("reasons", "Why", folds),
        ("rules", "How the table is made", map(Text, compared.RULES)),
    )
    answer = compared.conclude(found, [one.row for one in best_first])
    return body_of(page_json(found.usecase.title, found.usecase.question, "", answer, sections))


# --- systems ----------------------------------------------------------------------------------


def system_page(toml: str) -> bytes:
    """Return the page of a system: drawing, tables, and the path and latency terms by stream."""
    try:
        system = system_of(None, toml).checked()
        found = predict(system)
    except IcmodelError as error:
        return refusal(error)
    summary = summarise(found)
    problems = tuple(f"{one.kind}: {one.text}" for one in check(system))
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    sections: Sections = (
        ("requirements", "What is required", tables.requirements(found)),
        ("groups", "Groups of streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary)]),
        ("findings", "What the check found", [Items("", problems or ("Nothing.",))]),
        (
            "limits",
            "Limits of validity",
            [Items(name, tuple(some)) for name, some in titled if some],
        ),
    )
    basis = verdicts.ground_text(found.datasets, system.states_devices)
    page = page_json(system.title, "", basis, tables.conclude(found), sections)
    drawn = STYLE.sub("", system_svg(found), count=1)
    return body_of({**page, "svg": drawn, "streams": list(stream_paths(found, summary))})


# --- datasets ---------------------------------------------------------------------------------


def ingested(*asked: Any) -> bytes:
    """Return the result of an ingest, or the reason if no file can be used."""
    try:
        return ingest(*asked)
    except IcmodelError as error:
        return refusal(error)


def dataset_page(name: str) -> bytes:
    """Return the page of a dataset: its metrics and ranges, coverage, hosts, sources and limits."""
    check_dataset(name)
    return body_of(datasets.dataset_page(load(name)))


def validation_page(dataset: str, variant: str) -> bytes:
    """Return the page of a validation: errors and coverage of left-out rows, and the worst points."""
    check_dataset(dataset)
    data = load(dataset)
    wishes = Wishes(kinds=(LEAVE_ONE,), most=MOST_FOLDS, worst=4)
    found = validate(data, variant or data.default_variant, wishes)
    return body_of(datasets.validation_page(found))
