"""Report of a predicted system: a first page with the conclusion, then drawing, tables and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from icmodel import __version__
from icmodel.estimate import plural
from icmodel.report.blocks import Block, Facts, Items, Page, Picture, Text, filled_sections
from icmodel.report.front import command, dataset_word
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.systems import tables
from icmodel.report.systems.drawing import described, drawing
from icmodel.report.systems.front import front
from icmodel.report.systems.summary import MOST_MEMBERS, summarise
from icmodel.report.verdicts import ground_text
from icmodel.system import SystemPrediction, check, system_names


def page(found: SystemPrediction, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the whole report of a predicted system.

    Parameters
    ----------
    file : str
        Name of the report's file, for the command that repeats the report. The drawing beside a Markdown report has
        this name with the extension ``.svg``.
    """
    system, summary = found.system, summarise(found)
    file = file or f"{system.name}.html"
    line, picture = command(words(found), masthead, file), Path(file).with_suffix(".svg").name

    count = len({one.requirement.name for one in system.requirements})
    needs = "its requirement" if count == 1 else f"its {count} requirements"
    aim = f"meet {needs}" if count else "carry what its streams ask for"
    variants = "variant" if len(found.variants) == 1 else "variants"
    basis = ground_text(found.datasets, system.states_devices)
    if found.datasets:
        basis = f"{basis}, {variants} {', '.join(found.variants)}"

    caption = (
        "Each line is a link, coloured by the load of its busiest port, which the arrow follows, and as thick as its "
        f"rate. Groups of more than {MOST_MEMBERS} are one box, with the numbers of the worst. "
        f"Streams: {tables.counted_outcomes(found)}. The numbers stand under Links and Devices."
    )
    drawn = Picture(caption, described(system, summary), drawing(system, summary), picture)
    checked = tuple(check(system))
    problems = tuple(f"{problem.kind}: {problem.text}" for problem in checked)
    findings: Block = Text(
        "No findings: all nodes are connected, no port is overloaded, and no routes close a cycle."
    )
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    limits = [Items(title, tuple(sentences)) for title, sentences in titled if sentences]
    sources = (
        ("system", system.name),
        ("stands in", system.source),
        ("requirements of the use case", system.usecase or ""),
        *((f"sha256 of {name}", sha256) for name, sha256 in found.datasets.items()),
    )

    sections: tuple[tuple[str, str, Iterable[Block]], ...] = (
        ("drawing", "The system", [drawn]),
        (
            "requirements",
            "What is required",
            [*tables.requirements(found), *tables.parts_table(found)],
        ),
        ("streams", "Streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary), *tables.stated_devices(found)]),
        ("findings", "What the check found", [Items("", problems) if problems else findings]),
        ("limits", "Limits of validity", limits or [Text("The system names none.")]),
        ("sources", "Sources", [Facts(tuple(pair for pair in sources if pair[1]))]),
    )
    return Page(
        title=system.title,
        question=f"Does {system.name} {aim}, with {plural(len(system.streams), 'stream')} at once?",
        basis=basis,
        answer=tables.conclude(found),
        sections=filled_sections(*sections),
        made_by=f"icmodel {__version__}",
        front=front(found, picture, checked, line),
        masthead=masthead,
    )


def words(found: SystemPrediction) -> Iterator[str]:
    """Yield the words of the ``icmodel`` command line that repeats this prediction of a system."""
    name = found.system.name
    own = "" if name in system_names() else ".toml"
    yield from ("system", found.system.file or f"{name}{own}")
    for key, value in found.asked.items():
        yield from (f"--{key}", dataset_word(value) if key == "dataset" else value)
