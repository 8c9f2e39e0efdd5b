"""The content of a system's report as blocks, conclusion first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from icmodel import __version__
from icmodel.estimate import plural
from icmodel.report.blocks import Block, Facts, Items, Page, Picture, Section, Text
from icmodel.report.systems import tables
from icmodel.report.systems.drawing import described, drawn
from icmodel.report.systems.seen import MOST_MEMBERS, Seen, seen
from icmodel.report.systems.tables import conclude, counted_outcomes
from icmodel.system import SystemPrediction, check, system_names


def page(found: SystemPrediction, picture: str) -> Page:
    """The whole report of a predicted system; `picture` is the file name of its drawing next to Markdown."""
    of = seen(found)
    sections = (
        ("drawing", "The system", _drawing(found, of, picture)),
        ("requirements", "What is required", tables.requirements(found)),
        ("streams", "Streams", _streams(found)),
        ("links", "Links", iter((tables.links(of),))),
        ("devices", "Devices", iter((tables.devices(found, of),))),
        ("findings", "What the check found", _findings(found)),
        ("limits", "Limits of validity", _limits(found)),
        ("sources", "Sources", _sources(found)),
        ("again", "To do it again", _again(found)),
    )
    return Page(
        title=found.system.title,
        question=_question(found),
        basis=_basis(found),
        answer=conclude(found),
        sections=tuple(Section(anchor, title, tuple(made)) for anchor, title, made in sections),
        made_by=f"icmodel {__version__}",
    )


def _question(found: SystemPrediction) -> str:
    system = found.system
    wanted = len({one.requirement.name for one in system.requirements})
    asked = (
        f"meet {'its requirement' if wanted == 1 else f'its {wanted} requirements'}"
        if wanted
        else "carry what its streams ask for"
    )
    return f"Does {system.name} {asked}, with {plural(len(system.streams), 'stream')} at once?"


def _basis(found: SystemPrediction) -> str:
    named = ", ".join(found.datasets)
    if not named:
        return "theory alone"
    return f"{named}, {'variant' if len(found.variants) == 1 else 'variants'} {', '.join(found.variants)}"


def command(found: SystemPrediction) -> str:
    """The command that repeats this prediction; files are given by their names."""
    name = found.system.name
    own = "" if name in system_names() else ".toml"
    options = [part for key, value in found.asked.items() for part in (f"--{key}", value)]
    file = found.system.file or f"{name}{own}"
    return shlex.join(["icmodel", "system", file, *options, "-o", f"{name}.html"])


def _drawing(found: SystemPrediction, of: Seen, picture: str) -> Iterator[Block]:
    caption = (
        "Each line is a link, coloured by the load of its busiest port, which the arrow follows, and as thick as its "
        f"rate. Groups of more than {MOST_MEMBERS} are one box, with the numbers of the worst. "
        f"Streams: {counted_outcomes(found)}. The numbers stand under Links and Devices."
    )
    yield Picture(caption, described(found.system, of), drawn(found.system, of), picture)


def _streams(found: SystemPrediction) -> Iterator[Block]:
    yield from tables.streams(found)
    yield from tables.bounds(found)


def _findings(found: SystemPrediction) -> Iterator[Block]:
    told = tuple(f"{one.kind}: {one.text}" for one in check(found.system))
    if told:
        yield Items("", told)
    else:
        yield Text(
            "Nothing: all is connected, no port is asked for more than it can send, no ways close a cycle."
        )


def _limits(found: SystemPrediction) -> Iterator[Block]:
    titled = (("Notes", found.notes), ("Known limits of the system", found.system.known_limits))
    for title, told in titled:
        if told:
            yield Items(title, tuple(told))
    if not any(told for _, told in titled):
        yield Text("The system names none.")


def _sources(found: SystemPrediction) -> Iterator[Block]:
    pairs = [("system", found.system.name), ("stands in", found.system.source)]
    if found.system.usecase is not None:
        pairs.append(("requirements of the use case", found.system.usecase))
    pairs += [(f"sha256 of {name}", sha256) for name, sha256 in found.datasets.items()]
    yield Facts(tuple(pair for pair in pairs if pair[1]))


def _again(found: SystemPrediction) -> Iterator[Block]:
    pairs = (("command", command(found)), ("variant", ", ".join(found.variants)))
    yield Facts((*(pair for pair in pairs if pair[1]), ("icmodel", __version__)), code=True)
