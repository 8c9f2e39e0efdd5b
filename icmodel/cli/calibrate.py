"""``icmodel calibrate``: measure until the model is good enough; or check the measuring tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.cli.question import AsJson, given, listed, quantity_text, room, shares
from icmodel.errors import CalibrationError, UnitError
from icmodel.probing import Probe, check_probe, find_probe
from icmodel.requirement import MET

TYPE_CHECKING = False  # what type checkers take as true
if TYPE_CHECKING:
    from icmodel.calibrate import Progress
    from icmodel.calibrate.calibration import Calibration

app = room()

UNSCORED = "it ended within the first round, so neither error nor verdict is known"
ERRORS = "error at runs left out: relative, of shares of a processor the difference"
CABLE = "direct-1g"
"""The default test network. It has a rate, since the latency of a loaded virtual cable without one is unsteady."""
UNDECIDED = 3
"""Exit code where the budget ended before the stated error."""

Check = Annotated[
    bool, typer.Option("--check", help="Only look whether icprobe is installed and works.")
]


def _two_hosts(names: tuple[str, str] | None) -> tuple[str, str] | None:
    """Refuse an option in the place of a host's name."""
    option_name = next((name for name in names or () if name.startswith("-")), None)
    if option_name is not None:
        raise CalibrationError(
            f"--hosts was given {option_name} for a host: it takes two, such as --hosts alice bob"
        )
    return names


Place = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Folder of the dataset; with --check a file."
    ),
]


@dataclass(frozen=True, slots=True)
class Hosts:
    """Where to measure, as typed."""

    lab: bool = given("", "Measure in a test network on this machine (the default).", default=False)
    hosts: tuple[str, str] | None = given(
        "A B", "Measure from A to B, both reached by ssh.", callback=_two_hosts
    )
    topology: str | None = given("NAME", "Test network: a name of icprobe's or a TOML file.", CABLE)
    address: str | None = given(
        "ADDRESS", "Of B on the measured network, with --hosts.", "where ssh goes"
    )

    def check(self) -> None:
        """Refuse options of the lab for hosts, and of hosts for the lab."""
        if self.lab and self.hosts is not None:
            raise CalibrationError("--lab and --hosts are both given: measure in one of them")
        if self.hosts is None and self.address is not None:
            raise CalibrationError(
                "--address is of the second of two hosts: give them with --hosts A B"
            )
        if self.hosts is not None and self.topology is not None:
            raise CalibrationError(
                "--topology is of the lab, and --hosts measures outside it: give one"
            )


@dataclass(frozen=True, slots=True)
class Wanted:
    """The settings of a calibration, as typed."""

    usecase: str | None = given(
        "NAME", "Choose runs for the verdict of this use case, not for the error."
    )
    budget: str = given(
        "TIME", "Measuring time; an error is known after about 90 s a protocol.", default="10 min"
    )
    error: str | None = given(
        "PERCENT", "Stop when the error is down to this.", "use up the budget"
    )
    protocol: list[str] | None = given("NAMES", "tcp, udp, ethernet, zeromq.", "tcp, udp")
    line_rate: str | None = given(
        "RATE",
        "What loads are shares of.",
        "that of the test network; between hosts the goodput of the first run",
    )
    mtu: str | None = given(
        "SIZE",
        "MTU of the path, where packets break.",
        "that of the test network; between hosts 1500 B",
    )
    cores: int = given("N", "Cores of each end.", default=1)
    window: str = given("TIME", "Length of a run.", default="2 s")
    most_steal: str | None = given(
        "SHARE", "Runs that lost more of a core to the hypervisor do not count."
    )
    seed: int = given("N", "Of what is drawn by lot.", default=1)
    variant: str = given("NAME", "Variant of the model whose error counts.", default="hybrid")

    def settings(self) -> dict[str, object]:
        """The fields of `icmodel.calibrate.Settings`."""
        return {
            "protocols": tuple(listed(self.protocol)) or ("tcp", "udp"),
            "mtu_bytes": None if self.mtu is None else units.parse_bytes(self.mtu),
            "cores": self.cores,
            "line_rate_bps": None if self.line_rate is None else units.parse_bps(self.line_rate),
            "budget_s": units.parse_seconds(self.budget),
            "error_ratio": None if self.error is None else units.parse_ratio(self.error),
            "usecase": self.usecase,
            "window_s": units.parse_seconds(self.window),
            "most_steal": None if self.most_steal is None else units.parse_ratio(self.most_steal),
            "seed": self.seed,
            "variant": self.variant,
        }


@app.command(short_help="Measure until the model is good enough.")
@shares(Hosts, "place")
@shares(Wanted, "wanted")
def calibrate(
    *,
    place: Hosts,
    wanted: Wanted,
    check: Check = False,
    as_json: AsJson = False,
    output: Place = None,
) -> int:
    """Measure, fit and choose the next runs, until an error or a budget is reached.

    Runs in a test network of this machine (as root), or between two hosts that ssh reaches and
    that have icprobe. What is measured is kept in DIR run by run: the same command goes on after
    any interruption, and a greater budget continues. In the end DIR is a dataset.

    Exit codes: 0 done, 3 the stated error was not reached; with --usecase those of its verdict
    (0 met, 1 not met, 3 undecided); 2 the question was wrong or the hosts cannot be reached, 130
    stopped by Ctrl-C.

    \b
    icmodel calibrate -o my-lab
    icmodel calibrate --hosts alice bob --budget "30 min" --error "5 %" -o my-network
    icmodel calibrate --hosts alice bob --usecase motion-control --cores 4 -o my-motion-control
    icmodel calibrate --check
    """  # noqa: D301
    if check:
        found = check_probe(find_probe())
        answer = Answer(lambda: [_section(found)], lambda: _document(found))
        emit(answer, as_json=as_json, output=output)
        return 0
    if output is None:
        raise CalibrationError("there is no folder to measure into: give one with -o DIR")
    place.check()
    from icmodel.calibrate.calibration import Request, carry_out
    from icmodel.cli.watching import interruptible, watching

    topology = place.topology or CABLE
    request = Request(output, place.hosts, topology, place.address, wanted.settings())
    probe = find_probe()  # last: errors of the question need no probe
    with interruptible(f"the same command goes on in {output}"), watching() as watch:
        made = carry_out(probe, request, watch)
    emit(Answer(lambda: _sections(made), lambda: made.to_dict()), as_json=as_json, output=None)
    return _exit_code(made, stated=wanted.error is not None or wanted.usecase is not None)


def _exit_code(made: Calibration, *, stated: bool) -> int:
    """Exit code of the verdict, or of the ``stated`` end: an error or a verdict."""
    verdict = made.result.progress.verdict
    if verdict:
        return {"met": 0, "not met": 1}.get(verdict, UNDECIDED)
    return UNDECIDED if stated and made.result.reason != "error" else 0


def _sections(made: Calibration) -> list[Section]:
    from icmodel.cli.watching import ratio_text

    stand = made.result.progress
    rows = tuple(
        (one.metric, str(one.count), *map(ratio_text, (one.middle, one.p95, one.noise)))
        for one in stand.scores
    )
    columns = ("metric", "#left out", "#error", "#95 % below", "#noise of a run")
    lines = (
        f"{stand.runs} runs in {stand.spent_s:.0f} s of measuring, {len(made.result.refused)} "
        f"refused; ended by: {made.result.reason}",
        *((_spoilt(made),) if made.spoilt else ()),
        *((_disturbed(stand),) if stand.disturbed else ()),
        *((_verdict(stand),) if stand.verdict else ()),
        *(() if stand.scores else (f"{UNSCORED}: give more with --budget, and it goes on",)),
        f"dataset {made.dataset} in {made.folder}, variant {made.variant}",
    )
    found = [Section(f"calibrated {made.system}", lines)]
    if rows:
        found.append(Section(ERRORS, Table(columns, rows)))
    return found


def _verdict(stand: Progress) -> str:
    """The verdict, and the requirements that cause it."""
    names = [name for name, outcome in stand.requirements.items() if outcome == stand.verdict]
    due = f": {', '.join(names)}" if stand.verdict != MET else ""
    return f"verdict of the use case: {stand.verdict}{due}"


def _spoilt(made: Calibration) -> str:
    flags = ", ".join(f"{name} {count}" for name, count in sorted(made.flags.items()))
    return f"nothing is taken of {made.spoilt} of them, for their flags: {flags}"


def _disturbed(stand: Progress) -> str:
    return f"the hypervisor disturbed {stand.disturbed} of them, which count for nothing"


def _section(probe: Probe) -> Section:
    said = ((name, _text(name, value)) for name, value in probe.instrument.items())
    rows = (("path", str(probe.path)), ("version", probe.version), *said)
    return Section("icprobe works", Table(("what", "value"), rows))


def _text(name: str, value: float) -> str:
    """A value with its unit; without one for a metric of a later icprobe that this icmodel does not know."""
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
