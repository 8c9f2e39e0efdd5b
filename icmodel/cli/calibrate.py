"""``icmodel calibrate``: is the measuring tool there, and does it work."""

from __future__ import annotations

from typing import Annotated

import typer

from icmodel.calibrate import Probe, check_probe, find_probe
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.cli.question import AsJson, Output, quantity_text, room
from icmodel.errors import IcmodelError, UnitError

app = room()

Check = Annotated[
    bool, typer.Option("--check", help="Only look whether icprobe is installed and works.")
]


@app.command(
    short_help="Check the measuring tool icprobe.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def calibrate(*, check: Check = False, as_json: AsJson = False, output: Output = None) -> None:
    """Check the measuring tool icprobe: where it is, its version, what it measures of itself.

    The loop that plans, measures and fits by itself is not part of this version: without --check
    the command says so, or what to install, and ends with code 2, whatever else is asked. Own
    measurements are made with icprobe campaign.

    \b
    icmodel calibrate --check
    icmodel calibrate --check --json
    """  # noqa: D301
    path = find_probe()
    if not check:
        raise IcmodelError(
            "this version of icmodel has no calibration loop: measure with `icprobe campaign` "
            f"({path}), or look with `icmodel calibrate --check` whether it works"
        )
    probe = check_probe(path)
    emit(
        Answer(lambda: [_section(probe)], lambda: _document(probe)), as_json=as_json, output=output
    )


def _section(probe: Probe) -> Section:
    said = ((name, _text(name, value)) for name, value in probe.instrument.items())
    rows = (("path", str(probe.path)), ("version", probe.version), *said)
    return Section("icprobe works", Table(("what", "value"), rows))


def _text(name: str, value: float) -> str:
    """A value with its unit; as it is where a later icprobe names one that this icmodel lacks."""
    try:
        return quantity_text(name, value)
    except UnitError:
        return f"{value:g}"


def _document(probe: Probe) -> dict[str, object]:
    return {
        "schema_version": 1,
        "probe": {"path": str(probe.path), "version": probe.version},
        "selfcheck": dict(probe.instrument),
    }
