"""``icmodel calibrate``: measure until the model is accurate enough, or check icprobe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.options import AsJson, expand_options, make_app
from icmodel.cli.output import Answer, Section, Table, emit, interruptible
from icmodel.errors import CalibrationError, UnitError
from icmodel.estimate import plural, quantity_text
from icmodel.probing import Probe, check_probe, find_probe
from icmodel.questions.words import option_field, split_names
from icmodel.requirement import EXIT_CODES, MET, UNDECIDED

if TYPE_CHECKING:
    from icmodel.calibrate import Progress
    from icmodel.calibrate.loop import Calibration

app = make_app()

DEFAULT_TOPOLOGY = "direct-1g"
"""Default test network of ``icmodel calibrate``.

The rate of this network is limited: without a limit, the latency of a loaded virtual cable is unsteady.
"""


def check_hosts(names: tuple[str, str] | None) -> tuple[str, str] | None:
    """Raise CalibrationError if --hosts is followed by an option instead of a host's name."""
    option_name = next((name for name in names or () if name.startswith("-")), None)
    if option_name is not None:
        raise CalibrationError(
            f"--hosts has the option {option_name} in place of a host: name two hosts, such as --hosts alice bob"
        )
    return names


Check = Annotated[
    bool, typer.Option("--check", help="Only check that icprobe (the measuring tool) works.")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder of the new dataset. With --check: file for the result of the check.",
    ),
]


@dataclass(frozen=True, slots=True)
class PlaceOptions:
    """Options for the place of measurement: two hosts, or a test network on this machine."""

    lab: bool = option_field(
        "", "Measure in a test network on this machine (the default).", default=False
    )
    hosts: tuple[str, str] | None = option_field(
        "A B", "Measure from host A to host B, both reached by ssh.", callback=check_hosts
    )
    topology: str | None = option_field(
        "NAME", "Test network: a name known to icprobe or a TOML file.", DEFAULT_TOPOLOGY
    )
    address: str | None = option_field(
        "ADDRESS",
        "Address of host B on the measured network; needs --hosts.",
        "the address that ssh uses",
    )

    def check(self) -> None:
        """Raise CalibrationError if options contradict each other.

        --lab and --topology exclude --hosts; --address needs --hosts.
        """
        if self.lab and self.hosts is not None:
            raise CalibrationError("--lab and --hosts are both given: give only one")
        if self.hosts is None and self.address is not None:
            raise CalibrationError("--address needs --hosts: name the two hosts with --hosts A B")
        if self.hosts is not None and self.topology is not None:
            raise CalibrationError("--topology cannot be combined with --hosts: give only one")


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """Options of ``icmodel calibrate``, as the texts that the user typed."""

    usecase: str | None = option_field(
        "NAME",
        "Use case, by name or file. The runs are then chosen to decide the verdict, not to reduce the error.",
    )
    budget: str = option_field(
        "TIME",
        "Time budget for measuring. A first error is known after about 90 s per protocol.",
        default="10 min",
    )
    error: str | None = option_field(
        "PERCENT",
        "Target error of predictions; the calibration stops when it is reached.",
        "use up the budget",
    )
    protocol: list[str] | None = option_field(
        "NAMES", "Protocols to measure: tcp, udp, ethernet, zeromq.", "tcp, udp"
    )
    line_rate: str | None = option_field(
        "RATE",
        "Line rate of the path. Loads are chosen as shares of the line rate.",
        "line rate of the test network; with --hosts the goodput of the first run",
    )
    mtu: str | None = option_field(
        "SIZE", "MTU of the path.", "MTU of the test network; with --hosts 1500 B"
    )
    cores: int = option_field("N", "Number of cores to use on each host.", default=1)
    window: str = option_field("TIME", "Length of one measurement run.", default="2 s")
    most_steal: str | None = option_field(
        "SHARE", "Exclude runs from which the hypervisor took more than this share of a core."
    )
    seed: int = option_field("N", "Seed of the random generator that chooses runs.", default=1)
    variant: str = option_field("NAME", "Variant of the model to score.", default="hybrid")

    def settings(self) -> dict[str, object]:
        """Return the options as arguments of `icmodel.calibrate.Settings`, in SI units."""
        return {
            "protocols": tuple(split_names(self.protocol)) or ("tcp", "udp"),
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


@app.command(short_help="Measure until the model is accurate enough.")
@expand_options(PlaceOptions, "place")
@expand_options(CalibrationOptions, "options")
def calibrate(
    *,
    place: PlaceOptions,
    options: CalibrationOptions,
    check: Check = False,
    as_json: AsJson = False,
    output: Folder = None,
) -> int:
    """Measure, fit and choose the next runs, until a target error or a budget is reached.

    Runs are measured in a test network of this machine (as root), or between two hosts with ssh and
    icprobe. DIR keeps every run, and is a dataset at the end. To continue after an interruption, or
    with a greater budget, repeat the command.

    Exit codes: 0 done, 3 target error not reached. With --usecase, the exit code is the verdict:
    0 met, 1 not met, 3 undecided. In both cases: 2 the question was wrong or a host cannot be
    reached, 130 stopped by Ctrl-C.

    \b
    icmodel calibrate -o my-lab
    icmodel calibrate --hosts alice bob --budget "30 min" --error "5 %" -o my-network
    icmodel calibrate --hosts alice bob --usecase motion-control --cores 4 -o my-motion-control
    icmodel calibrate --check
    """  # noqa: D301
    if check:
        working = check_probe(find_probe())
        answer = Answer(lambda: [probe_section(working)], lambda: probe_document(working))
        emit(answer, as_json=as_json, output=output)
        return 0
    if output is None:
        raise CalibrationError("the folder for the measurements is missing: give -o DIR")
    place.check()
    from icmodel.calibrate.loop import Request, carry_out

    topology = place.topology or DEFAULT_TOPOLOGY
    request = Request(output, place.hosts, topology, place.address, options.settings())
    probe = find_probe()  # comes last: a wrong question is reported even if icprobe is missing
    with (
        interruptible(f"repeat the command to continue in {output}"),
        calibration_progress() as watch,
    ):
        made = carry_out(probe, request, watch)
    emit(Answer(lambda: calibration_sections(made), made.to_dict), as_json=as_json, output=None)
    return exit_code(made, has_target=options.error is not None or options.usecase is not None)


def exit_code(made: Calibration, *, has_target: bool) -> int:
    """Return the exit code of a calibration.

    With a use case, the code stands for its verdict: 0 met, 1 not met, 3 undecided. Without one, it is 3 if there is a
    target error and the calibration did not reach it, and 0 otherwise.
    """
    verdict = made.result.progress.verdict
    if verdict:
        return EXIT_CODES[verdict]
    return EXIT_CODES[UNDECIDED] if has_target and made.result.reason != "error" else 0


# --- printed result ---------------------------------------------------------------------------


def calibration_sections(made: Calibration) -> Iterator[Section]:
    """Yield the printed result of a calibration: why it ended, and the prediction error of each metric."""
    end = made.result.progress
    lines = [
        f"{end.runs} runs in {end.spent_s:.0f} s of measuring, {len(made.result.refused)} refused; "
        f"ended by: {made.result.reason}"
    ]
    if made.spoilt:
        flags = ", ".join(f"{name} {count}" for name, count in sorted(made.flags.items()))
        lines.append(f"{plural(made.spoilt, 'run')} not used because of flags: {flags}")
    if end.disturbed:
        lines.append(
            f"{plural(end.disturbed, 'run')} not used because the hypervisor disturbed them"
        )
    if end.verdict:
        lines.append(verdict_line(end))
    if not end.scores:
        lines.append(
            "the budget ended within the first round, so neither error nor verdict is known: "
            "continue with a larger --budget"
        )
    lines.append(f"dataset {made.dataset} in {made.folder}, variant {made.variant}")
    yield Section(f"calibrated {made.system}", tuple(lines))

    if end.scores:
        rows = tuple(
            (one.metric, str(one.count), *map(percent_text, (one.middle, one.p95, one.noise)))
            for one in end.scores
        )
        columns = ("metric", "#left out", "#error", "#95 % below", "#noise of a run")
        heading = "error of left-out runs (relative; CPU shares: absolute)"
        yield Section(heading, Table(columns, rows))


def verdict_line(end: Progress) -> str:
    """Return a line with the verdict on the use case and the deciding requirements."""
    names = [name for name, outcome in end.requirements.items() if outcome == end.verdict]
    cause = f": {', '.join(names)}" if end.verdict != MET else ""
    return f"verdict of the use case: {end.verdict}{cause}"


def percent_text(ratio: float) -> str:
    """Return a ratio in per cent as text, or a dash if the ratio is unknown."""
    return "–" if ratio != ratio else units.format_ratio(ratio, 3)


def probe_section(probe: Probe) -> Section:
    """Return a section with path and version of icprobe, and the results of its self-check.

    The self-check measures the limits of icprobe on this host, such as clock resolution and greatest send rate.
    """
    rows = [("path", str(probe.path)), ("version", probe.version)]
    for name, value in probe.instrument.items():
        try:
            text = quantity_text(name, value)
        except UnitError:  # a metric of a newer icprobe, with an unknown unit
            text = f"{value:g}"
        rows.append((name, text))
    return Section("icprobe works", Table(("what", "value"), tuple(rows)))


def probe_document(probe: Probe) -> dict[str, object]:
    """Return the result of a check of icprobe as JSON: path, version, and results of its self-check.

    The self-check measures the limits of icprobe on this host, such as clock resolution and greatest send rate.
    """
    return {
        "schema_version": 1,
        "probe": {"path": str(probe.path), "version": probe.version},
        "selfcheck": dict(probe.instrument),
    }


# --- progress ---------------------------------------------------------------------------------

LINE_EVERY = 10
"""Number of runs between two printed lines of progress, until the error of the model is known.

On a terminal, a bar replaces the lines.
"""
EARLY = 12
"""Number of first runs to check. If the hypervisor disturbed most of them, icmodel warns."""


@contextmanager
def calibration_progress() -> Iterator[Callable[[Progress], None]]:
    """Context manager: its value is a function that shows the progress of a calibration on standard error.

    On a terminal, the function draws a bar. Otherwise, it prints lines.
    """
    if not sys.stderr.isatty():
        yield PlainProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("calibrating", total=None)

        def draw(state: Progress) -> None:
            for line in step_lines(state):
                bars.console.print(line, markup=False, highlight=False)
            text = f"run {state.runs}, {_times(state)}"
            bars.update(bar, description=text, completed=state.spent_s, total=state.budget_s)

        yield draw


class PlainProgress:
    """Progress of a calibration as printed lines, if stderr is not a terminal."""

    def __init__(self) -> None:
        self._reported_runs = 0
        self._scored = False

    def __call__(self, state: Progress) -> None:
        """Print the lines for the current state of a calibration.

        Lines with prediction errors need a fit. Before the first fit, a line every `LINE_EVERY` runs shows progress.
        """
        lines = step_lines(state)
        self._scored = self._scored or bool(state.scores)
        if not self._scored and state.runs >= self._reported_runs + LINE_EVERY:
            self._reported_runs = state.runs
            lines.append(f"{state.runs} runs, {_times(state)}: first rounds, no error is known yet")
        for line in lines:
            print(line, file=sys.stderr, flush=True)  # noqa: T201


def step_lines(state: Progress) -> list[str]:
    """Return the lines to print after a measured run; after most runs, there are none.

    After each new fit, a line states the prediction error of the model. If the hypervisor disturbed most of the first
    `EARLY` runs, a line warns that these runs are not used.
    """
    if state.scores:
        errors = ", ".join(
            f"{one.metric} {percent_text(one.middle)}" for one in state.scores if one.count
        )
        disturbed = f" ({state.disturbed} disturbed)" if state.disturbed else ""
        verdict = f"; verdict {state.verdict}" if state.verdict else ""
        runs = f"{state.runs} runs{disturbed}, {_times(state)}"
        return [f"{runs}: error {percent_text(state.error)} ({errors}){verdict}"]
    if state.last is not None and state.runs == EARLY and 2 * state.disturbed > EARLY:
        return [
            f"the hypervisor disturbed {state.disturbed} of the first {state.runs} runs, so they are not "
            "used: start again in a quieter hour, or allow more with --most-steal"
        ]
    return []


def _times(state: Progress) -> str:
    return f"{state.spent_s:.0f} of {state.budget_s:.0f} s"
