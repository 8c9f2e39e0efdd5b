"""``icmodel verify``: build a system in the lab, run it, and compare with the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.output import Answer, Section, Table, emit, progress_bar
from icmodel.cli.question import AsJson, NoCache, SystemName, VariantName, option, room
from icmodel.estimate import quantity

if TYPE_CHECKING:
    from icmodel.verify import Verification
    from icmodel.verify.comparing import Bounded, Compared

app = room()

DIGITS = 4
CORES = "cpu_process_cores"
LAB_FAILED = 3
"""Exit code where the lab failed, as where nothing was measured."""
Place = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Folder of the prediction and the records."),
]
Speaks = Annotated[
    str,
    option("dataset", "NAME", "Speaks for the hosts of the lab: a name or path.", "lab-1g-2026"),
]
Scale = Annotated[
    float | None,
    option("scale", "K", "Rates are divided and periods multiplied by it.", "what fits here"),
]
Members = Annotated[
    int | None, option("members", "N", "At most so many devices of a group.", "what fits here")
]
Repeats = Annotated[int, option("repeats", "N", "Passes that are to count; 0 only predicts.", "5")]
Window = Annotated[str, option("window", "TIME", "Length of the measured window.", "2 s")]
Warmup = Annotated[str, option("warmup", "TIME", "Traffic before the window, and after it.", "1 s")]


@app.command(short_help="Build a system in the lab and compare it with its prediction.")
def verify(
    name: SystemName,
    *,
    output: Place,
    dataset: Speaks = "lab-1g-2026",
    variant: VariantName = None,
    scale: Scale = None,
    members: Members = None,
    repeats: Repeats = 5,
    window: Window = "2 s",
    warmup: Warmup = "1 s",
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> int:
    """Build a system in network namespaces of this machine, play its streams at once, compare.

    What is too much for this machine is slowed down by one factor; what the lab does not have is named.
    The prediction is written to DIR before anything is measured, and the same command goes on after any
    interruption. Needs icprobe and root.

    Exit codes: 0 prediction and measurement agree, 1 they do not, 3 nothing was measured or the lab failed,
    2 the question was wrong, 130 stopped by Ctrl-C.

    \b
    icmodel verify lab-four-senders -o four-senders --repeats 0
    icmodel verify my-system.toml -o my-system
    icmodel verify my-system.toml -o my-system --scale 10 --repeats 9
    """  # noqa: D301
    from icmodel.cli.watching import interruptible
    from icmodel.errors import MeasurementFailed
    from icmodel.verify import VerifyOptions
    from icmodel.verify import verify as carry_out
    from icmodel.verify.running import Times

    beside_s = units.parse_seconds(warmup)
    options = VerifyOptions(
        dataset=dataset,
        variant=variant,
        slower=scale,
        members=members,
        repeats=repeats,
        times=Times(units.parse_seconds(window), beside_s, beside_s),
        cache=not no_cache,
    )
    try:
        with (
            interruptible(f"the same command goes on in {output}"),
            progress_bar("passes") as watch,
        ):
            found = carry_out(name, output, options, watch=watch)
    except MeasurementFailed as error:
        typer.echo(f"icmodel: {error}", err=True)
        return LAB_FAILED
    emit(Answer(lambda: list(_sections(found)), found.to_dict), as_json=as_json, output=None)
    return found.exit_code


# --- what is printed --------------------------------------------------------------------------


def _sections(found: Verification) -> Iterator[Section]:
    said = found.stored.document
    counted = sum(one.counts for one in found.passes)
    lines = [
        f"{found.system.name}: {found.verdict}, {found.inside} of {found.judged} inside their "
        "90 % intervals",
        found.system.title,
        f"{', '.join(found.stored.prediction['datasets'])}, variant "
        f"{', '.join(found.stored.prediction['variants'])}; predicted {said['made_utc']} by icmodel "
        f"{said['icmodel']}",
        f"passes: {counted}" + _apart(found, counted),
    ]
    if found.lab.slower != 1:
        lines.append(f"built {found.lab.slower:g} times slower: rates divided, periods multiplied")
    if found.differs:
        lines.append(
            f"icmodel now predicts otherwise for {', '.join(found.differs)}: judged by the stored one"
        )
    yield Section("", tuple(lines))
    yield Section("streams", _streams(found))
    yield Section("greatest latency", _bounds(found.bounds))
    yield Section("busy cores of processes", _devices(found))
    if found.lab.left_out:
        yield Section("not verified", tuple(f"- {one}" for one in found.lab.left_out))


def _apart(found: Verification, counted: int) -> str:
    apart = len(found.passes) - counted
    return f"; {apart} more do not count, as their streams did not all run at once" if apart else ""


COLUMNS = ("#predicted", "#from", "#to", "#measured", "#least", "#most", "#ratio", "inside")


def _streams(found: Verification) -> Table:
    rows = tuple(
        (name, _short(metric), *_cells(metric, one))
        for name, metrics in found.streams.items()
        for metric, one in metrics.items()
    )
    return Table(("stream", "metric", *COLUMNS), rows)


def _short(metric: str) -> str:
    return {
        "goodput_bps": "goodput",
        "latency_mean_s": "mean",
        "latency_p99_s": "99 %",
        "loss_rate": "loss",
    }[metric]


def _cells(metric: str, one: Compared) -> tuple[str, ...]:
    measured = (
        one.median,
        min(one.measured, default=one.median),
        max(one.measured, default=one.median),
    )
    numbers = (one.value, one.low, one.high, *measured)
    inside = {True: "yes", False: "NO"}[one.inside] if one.judged else "–"
    return (*(_number(metric, value) for value in numbers), _ratio(one.ratio), inside)


def _number(metric: str, value: float) -> str:
    """A number with its unit; of cores, which the title names, the number alone."""
    if not abs(value) < float("inf"):
        return "–"
    return f"{value:.3g}" if metric == CORES else quantity(metric, value, DIGITS)


def _ratio(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio == ratio else "–"


def _bounds(bounds: Mapping[str, Bounded]) -> Table:
    said = {True: "yes", False: "NO", None: "–"}
    rows = tuple(
        (
            name,
            "none" if one.bound_s is None else _number("latency_max_s", one.bound_s),
            _number("latency_max_s", one.measured_s),
            said[one.held],
            f"{one.stolen}, up to {_number('latency_max_s', one.stolen_s)}" if one.stolen else "",
        )
        for name, one in bounds.items()
    )
    columns = ("stream", "#bound", "#measured", "held", "passes without a core for a time")
    return Table(columns, rows)


def _devices(found: Verification) -> Table:
    rows = tuple((name, *_cells(CORES, one)) for name, one in found.devices.items())
    return Table(("device", *COLUMNS), rows)
