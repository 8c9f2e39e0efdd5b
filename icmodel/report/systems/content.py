"""The page of a system's report, conclusion first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from icmodel import __version__
from icmodel.estimate import plural
from icmodel.report.blocks import Block, Facts, Items, Page, Picture, Section, Text
from icmodel.report.systems import tables
from icmodel.report.systems.drawing import described, drawing
from icmodel.report.systems.summary import MOST_MEMBERS, summarise
from icmodel.system import SystemPrediction, check, system_names


def page(found: SystemPrediction, picture: str) -> Page:
    """Make the whole report of a predicted system.

    Parameters
    ----------
    picture : str
        File name of the drawing next to a Markdown report.
    """
    system, summary = found.system, summarise(found)

    count = len({one.requirement.name for one in system.requirements})
    needs = "its requirement" if count == 1 else f"its {count} requirements"
    aim = f"meet {needs}" if count else "carry what its streams ask for"
    variants = "variant" if len(found.variants) == 1 else "variants"
    basis = "theory alone"
    if found.datasets:
        basis = f"{', '.join(found.datasets)}, {variants} {', '.join(found.variants)}"

    caption = (
        "Each line is a link, coloured by the load of its busiest port, which the arrow follows, and as thick as its "
        f"rate. Groups of more than {MOST_MEMBERS} are one box, with the numbers of the worst. "
        f"Streams: {tables.counted_outcomes(found)}. The numbers stand under Links and Devices."
    )
    drawn = Picture(caption, described(system, summary), drawing(system, summary), picture)
    problems = tuple(f"{problem.kind}: {problem.text}" for problem in check(system))
    findings: Block = Text(
        "Nothing: all is connected, no port is asked for more than it can send, no ways close a cycle."
    )
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    limits = [Items(title, tuple(sentences)) for title, sentences in titled if sentences]
    sources = (
        ("system", system.name),
        ("stands in", system.source),
        ("requirements of the use case", system.usecase or ""),
        *((f"sha256 of {name}", sha256) for name, sha256 in found.datasets.items()),
    )
    repeat = (
        ("command", command(found)),
        ("variant", ", ".join(found.variants)),
        ("icmodel", __version__),
    )

    sections: tuple[tuple[str, str, Iterable[Block]], ...] = (
        ("drawing", "The system", [drawn]),
        ("requirements", "What is required", tables.requirements(found)),
        ("streams", "Streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary)]),
        ("findings", "What the check found", [Items("", problems) if problems else findings]),
        ("limits", "Limits of validity", limits or [Text("The system names none.")]),
        ("sources", "Sources", [Facts(tuple(pair for pair in sources if pair[1]))]),
        ("again", "To do it again", [Facts(tuple(pair for pair in repeat if pair[1]), code=True)]),
    )
    return Page(
        title=system.title,
        question=f"Does {system.name} {aim}, with {plural(len(system.streams), 'stream')} at once?",
        basis=basis,
        answer=tables.conclude(found),
        sections=tuple(Section(anchor, title, tuple(blocks)) for anchor, title, blocks in sections),
        made_by=f"icmodel {__version__}",
    )


def command(found: SystemPrediction) -> str:
    """Return the command that repeats this prediction; files are named without their folders."""
    name = found.system.name
    own = "" if name in system_names() else ".toml"
    options = [part for key, value in found.asked.items() for part in (f"--{key}", value)]
    file = found.system.file or f"{name}{own}"
    return shlex.join(["icmodel", "system", file, *options, "-o", f"{name}.html"])
