"""Rows of lost curves from table 8-2: one of two load rows, while the other is assumed (R19).

Table 8-2 is a prediction of the original, not a measurement.  It lies on a straight line between
two load curves at 65535 B, so one of the two follows from it once the other is assumed.
"""

from __future__ import annotations

from decimal import Decimal

from ethernet_10g_2012.rows import figures, rule, stated
from points import transcription

SOURCE = rule(19, "IC2012 table 8-2: a prediction of the original, not a measurement")
DIGITS = 12
UNITS = {"us": Decimal("1E-6"), "%": Decimal("0.01")}


def printed(metric: str, unit: str) -> Decimal:
    """Return a number of table 8-2, in SI."""
    table = {line["metric"]: line["value"] for line in transcription("ic2012/table_8_2.csv")}
    return Decimal(table[f"{metric} ({unit})"]) * UNITS[unit]


def load_bps() -> Decimal:
    """Return the load of table 8-2's prediction: rate × payload × 8 of table 8-1."""
    table = {line["parameter"]: line["value"] for line in transcription("ic2012/table_8_1.csv")}
    payload = int(table["Payload size (B)"])
    return Decimal(table["Transmission rate (f/s)"]) * payload * 8


def without_switch(mean: Decimal) -> Decimal:
    """Return the predicted mean without the switch that the original's model added."""
    return mean - stated("switch latency")


def mean_latency() -> Decimal:
    """Return the predicted mean on a direct link [s]."""
    return without_switch(printed("Average latency", "us"))


def deviation() -> Decimal:
    """Return the predicted standard deviation over frames [s]."""
    return printed("Standard deviation of average latency", "us")


def cpu(side: str) -> Decimal:
    """Return the predicted CPU utilisation of the ``Sending`` or ``Receiving`` side."""
    return printed(f"{side} CPU utilization", "%")


def lower_row(target: Decimal, upper: Decimal, loads: tuple[Decimal, Decimal]) -> Decimal:
    """Return the value at the lower load that, with the one at the upper load, gives the target."""
    weight = (load_bps() - loads[0]) / (loads[1] - loads[0])
    return figures((target - weight * upper) / (1 - weight), DIGITS)


def upper_row(target: Decimal, lower: Decimal, loads: tuple[Decimal, Decimal]) -> Decimal:
    """Return the value at the upper load that, with the one at the lower load, gives the target."""
    weight = (load_bps() - loads[0]) / (loads[1] - loads[0])
    return figures((target - (1 - weight) * lower) / weight, DIGITS)
