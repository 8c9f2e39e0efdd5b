"""``icmodel verify``: build a system in the lab, run its streams, and compare them with the prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.options import AsJson, NoCache, SystemName, VariantName, make_app, option
from icmodel.cli.output import Answer, Section, Table, bullets, emit, interruptible, progress_bar
from icmodel.estimate import quantity

if TYPE_CHECKING:
    from icmodel.verify import Verification
    from icmodel.verify.comparing import Bounded, Compared

app = make_app()

LAB_FAILED = 3
"""Exit code of ``icmodel verify`` if the lab failed or nothing was measured."""
Folder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder for the stored prediction and the records of the measurement.",
    ),
]
LabDataset = Annotated[
    str,
    option(
        "dataset", "NAME", "Dataset measured on the lab's hosts, by name or folder.", "lab-1g-2026"
    ),
]
Scale = Annotated[
    float | None,
    option(
        "scale",
        "K",
        "Slow-down factor K: all rates are divided by K, all periods multiplied by K.",
        "the least that fits this machine",
    ),
]
Members = Annotated[
    int | None,
    option(
        "members",
        "N",
        "Maximum number of devices of each group in the lab.",
        "as many as fit this machine",
    ),
]
Repeats = Annotated[
    int,
    option(
        "repeats",
        "N",
        "Number of valid passes (runs of the whole system); 0 only writes the prediction.",
        "5",
    ),
]
Window = Annotated[str, option("window", "TIME", "Length of the measured window.", "2 s")]
Warmup = Annotated[
    str,
    option("warmup", "TIME", "Length of the traffic before and after the measured window.", "1 s"),
]


@app.command(short_help="Build a system in the lab and compare it with its prediction.")
def verify(
    name: SystemName,
    *,
    output: Folder,
    dataset: LabDataset = "lab-1g-2026",
    variant: VariantName = None,
    scale: Scale = None,
    members: Members = None,
    repeats: Repeats = 5,
    window: Window = "2 s",
    warmup: Warmup = "1 s",
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> int:
    """Build a system in network namespaces of this machine, run its streams, and compare with the prediction.

    If this machine is too slow for the system, one factor scales all rates and periods. The answer
    lists the features that the lab does not reproduce. The prediction is written to DIR before the
    measurement. After an interruption, repeat the same command to continue. Needs icprobe and root.

    Exit codes: 0 prediction and measurement agree, 1 they disagree, 3 nothing was measured or the lab
    failed, 2 the question was wrong, 130 stopped by Ctrl-C.

    \b
    icmodel verify lab-four-senders -o four-senders --repeats 0
    icmodel verify my-system.toml -o my-system
    icmodel verify my-system.toml -o my-system --scale 10 --repeats 9
    """  # noqa: D301
    from icmodel.errors import MeasurementFailed
    from icmodel.verify import VerifyOptions
    from icmodel.verify import verify as verify_system
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
    advice = f"repeat the command to continue in {output}"
    try:
        with interruptible(advice), progress_bar("passes") as watch:
            found = verify_system(name, output, options, watch=watch)
    except MeasurementFailed as error:
        typer.echo(f"icmodel: {error}", err=True)
        return LAB_FAILED
    answer = Answer(lambda: verification_sections(found), found.to_dict)
    emit(answer, as_json=as_json, output=None)
    return found.exit_code


# --- printed result ---------------------------------------------------------------------------

COLUMNS = ("#predicted", "#from", "#to", "#measured", "#least", "#most", "#ratio", "inside")
CORES = "cpu_process_cores"
METRIC_NAMES = {
    "goodput_bps": "goodput",
    "latency_mean_s": "mean",
    "latency_p99_s": "99 %",
    "loss_rate": "loss",
}


def verification_sections(found: Verification) -> Iterator[Section]:
    """Yield the result of ``icmodel verify``: verdict, and predicted and measured numbers side by side."""
    stored = found.stored
    counted = sum(one.counts for one in found.passes)
    passes = f"passes: {counted}"
    if apart := len(found.passes) - counted:
        passes += (
            f"; {apart} more do not count, since their streams did not all run at the same time"
        )
    datasets, variants = (", ".join(stored.prediction[key]) for key in ("datasets", "variants"))
    made = f"predicted {stored.document['made_utc']} by icmodel {stored.document['icmodel']}"
    lines = [
        f"{found.system.name}: {found.verdict}, {found.inside} of {found.judged} inside their "
        "90 % intervals",
        found.system.title,
        f"{datasets}, variant {variants}; {made}",
        passes,
    ]
    if found.lab.slower != 1:
        lines.append(f"built {found.lab.slower:g} times slower: rates divided, periods multiplied")
    if found.differs:
        lines.append(
            f"today's prediction differs for {', '.join(found.differs)}; the verdict uses the stored prediction"
        )
    yield Section("", tuple(lines))

    streams = tuple(
        (name, METRIC_NAMES[metric], *_cells(metric, one))
        for name, metrics in found.streams.items()
        for metric, one in metrics.items()
    )
    yield Section("streams", Table(("stream", "metric", *COLUMNS), streams))
    yield Section("greatest latency", bounds_table(found.bounds))
    devices = tuple((name, *_cells(CORES, one)) for name, one in found.devices.items())
    yield Section("busy cores of processes", Table(("device", *COLUMNS), devices))
    if found.lab.left_out:
        yield Section("not verified", bullets(found.lab.left_out))


def _cells(metric: str, one: Compared) -> tuple[str, ...]:
    """Return the table cells of one metric: predicted and measured values, their ratio, and their agreement."""
    ends = (min(one.measured, default=one.median), max(one.measured, default=one.median))
    numbers = (one.value, one.low, one.high, one.median, *ends)
    ratio = "–" if math.isnan(one.ratio) else f"{one.ratio:.3f}"
    inside = {True: "yes", False: "NO"}[one.inside] if one.judged else "–"
    return (*(_number(metric, value) for value in numbers), ratio, inside)


def _number(metric: str, value: float) -> str:
    """Return a number as text with its unit. A core count has no unit; the table's heading states it."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.3g}" if metric == CORES else quantity(metric, value, 4)


def bounds_table(bounds: Mapping[str, Bounded]) -> Table[str]:
    """Return a table of each stream's latency bound and greatest measured latency."""
    held = {True: "yes", False: "NO", None: "–"}
    rows = []
    for name, one in bounds.items():
        bound = "none" if one.bound_s is None else _number("latency_max_s", one.bound_s)
        stolen = ""
        if one.stolen:
            stolen = f"{one.stolen}, up to {_number('latency_max_s', one.stolen_s)}"
        measured = _number("latency_max_s", one.measured_s)
        rows.append((name, bound, measured, held[one.held], stolen))
    columns = ("stream", "#bound", "#measured", "held", "passes with stolen CPU")
    return Table(columns, tuple(rows))
