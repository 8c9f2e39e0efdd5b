"""Tabulated numbers: single runs if the thesis prints them, and points of curves."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from decimal import Decimal

from ethernet_10g_2012.rows import GBPS, UNLIMITED, figures, rule
from points import Row, transcription

LATENCY_PAYLOAD = 65500
GOODPUT_PAYLOAD = 1448
LATENCY_LOAD = Decimal(GBPS)
MICRO, NANO = Decimal("1E-6"), Decimal("1E-9")
LATENCY = {
    "Average": "latency_mean_s",
    "Minimum": "latency_min_s",
    "Maximum": "latency_max_s",
    "Standard deviation": "latency_std_s",
}
GOODPUT = {
    "Loss (%)": ("loss_rate", Decimal("0.01")),
    "Sent goodput (Gb/s)": ("sent_bps", Decimal(GBPS)),
    "Received goodput (Gb/s)": ("goodput_bps", Decimal(GBPS)),
}
PACKETS = {
    "Packets sent /second": "packets_sent_per_s",
    "Packets received /second": "packets_received_per_s",
}
RUNS = [str(run) for run in range(1, 11)]


def table_rows() -> Iterator[Row]:
    """Yield every tabulated number that is a point, except table 6-2's goodput (`goodput_rows`)."""
    yield from _table_4_1()
    yield from _goodput_by_cpu("4-2", "a-to-b")
    yield from _goodput_by_cpu("4-3", "b-to-a")
    yield from _latency_runs("4-4", "blocking")
    yield from _goodput_runs()
    yield from _latency_runs("4-6", "nonblocking")
    yield from _packets()


def printed(table: str, name_column: str) -> dict[str, dict[str, str]]:
    """Read a transcribed table: name of each line -> the rest of the line."""
    lines = transcription(f"ic2012/table_{table.replace('-', '_')}.csv")
    return {
        line[name_column]: {key: text for key, text in line.items() if key != name_column}
        for line in lines
    }


def latency_runs(table: str) -> dict[str, list[Decimal]]:
    """Return the ten runs of table 4-4 or 4-6, by metric [s]."""
    return {
        LATENCY[name]: [Decimal(cells[run]) * MICRO for run in RUNS]
        for name, cells in printed(table, "statistic (us)").items()
    }


def _latency(
    metric: str, value: Decimal, table: str, options: Mapping[str, str], **spread: Decimal | int
) -> Row:
    runs = ", mean of ten runs" if spread else ""
    return Row(
        protocol="tcp",
        payload_bytes=LATENCY_PAYLOAD,
        load_bps=LATENCY_LOAD,
        cores=4,
        switches=0,
        endpoints=1,
        options=options,
        metric=metric,
        value=value,
        basis="tabulated",
        source=f"IC2012 table {table}{runs}",
        **spread,  # type: ignore[arg-type]
    )


def _table_4_1() -> Iterator[Row]:
    columns = {"A to B (ns)": "a-to-b", "B to A (ns)": "b-to-a"}
    for name, cells in printed("4-1", "statistic").items():
        for column, test in columns.items():
            options = {"read": "blocking", "test": test}
            yield _latency(LATENCY[name], Decimal(cells[column]) * NANO, "4-1", options)


def _latency_runs(table: str, read: str) -> Iterator[Row]:
    """Yield ten runs, and their mean with its spread; table 4-6's mean is a point of the curve."""
    for metric, values in latency_runs(table).items():
        for run, value in enumerate(values, start=1):
            yield _latency(metric, value, table, {"read": read, "test": f"run-{run:02}"})
        mean, spread = _summary(values)
        yield _latency(metric, mean, table, {"read": read}, **spread)


def _summary(values: list[Decimal]) -> tuple[Decimal, dict[str, Decimal | int]]:
    """Return the mean of some runs, and their standard deviation, range and count."""
    std = figures(statistics.stdev(values), 3)
    return statistics.mean(values), {
        "std": std, "low": min(values), "high": max(values), "n": len(values),
    }  # fmt: skip


def _goodput(
    metric: str, value: Decimal, table: str, options: Mapping[str, str], **spread: Decimal | int
) -> Row:
    runs = ", mean of ten runs" if spread else ""
    return Row(
        protocol="tcp",
        payload_bytes=GOODPUT_PAYLOAD,
        load_bps=UNLIMITED,
        cores=4,
        switches=0,
        endpoints=1,
        options=options,
        metric=metric,
        value=value,
        basis="tabulated",
        source=f"IC2012 table {table}{runs}",
        **spread,  # type: ignore[arg-type]
    )


def _goodput_by_cpu(table: str, test: str) -> Iterator[Row]:
    for name, cells in printed(table, "quantity").items():
        if name not in GOODPUT:
            continue
        metric, unit = GOODPUT[name]
        for column, text in cells.items():
            one = test if column == "Sum" else f"{test}-{column.lower()}"
            yield _goodput(metric, Decimal(text) * unit, table, {"test": one})


def _goodput_runs() -> Iterator[Row]:
    for name, cells in printed("4-5", "quantity").items():
        if name not in GOODPUT:
            continue
        metric, unit = GOODPUT[name]
        values = [Decimal(cells[run]) * unit for run in RUNS]
        for run, value in enumerate(values, start=1):
            yield _goodput(metric, value, "4-5", {"test": f"run-{run:02}"})
        if metric == "goodput_bps":
            mean, spread = _summary(values)
            yield _goodput(metric, mean, "4-5", {}, **spread)


def _packets() -> Iterator[Row]:
    for line in transcription("ic2012/table_6_2.csv"):
        for column, metric in PACKETS.items():
            yield Row(
                protocol="ethernet",
                payload_bytes=int(line["Payload size (B)"]),
                load_bps=UNLIMITED,
                cores=4,
                switches=0,
                endpoints=1,
                metric=metric,
                value=Decimal(line[column]),
                basis="tabulated",
                source="IC2012 table 6-2",
            )


def rule_18_point(metric: str) -> tuple[Decimal, Decimal, Decimal]:
    """Return mean, least and greatest of table 4-6's ten runs, from which rule R18 starts [s]."""
    values = latency_runs("4-6")[metric]
    return statistics.mean(values), min(values), max(values)


RULE_18 = rule(18, "IC2012 table 4-6")
