"""Build data/rmi-loopback and data/rmi-1g-2009 from the tables of the cxRmi measurements page.

Usage: ``python tools/build_rmi.py [FOLDER]`` writes below FOLDER, by default the repository's data.
The prose in dataset.toml and README.md is written by hand; this script writes points.csv and
seals dataset.toml.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path

from points import DATA, Row, transcription, write_dataset

UNLIMITED = Decimal("inf")
PREFIX = {"": 1, "k": 10**3, "M": 10**6}
ELEMENT_BYTES = {"b": 1, "s": 2, "i": 4, "l": 8, "f": 4, "d": 8}
BUFFER_BYTES = 500_000
STRUCTS_BYTES = 50_000 * (4 + 4 + 8)
SUMMARY_PAYLOAD = {"test6": BUFFER_BYTES, "test7": STRUCTS_BYTES}
THROUGHPUT_TABLES = {"500kb": ("bytes", BUFFER_BYTES), "struct": ("struct", STRUCTS_BYTES)}
MBIT = 10**6
MIDDLEWARE = {
    "cxRmi x64": "cxrmi",
    "ZeroC Ice 3.6.3 x64": "ice",
    "Ice for C++": "ice-cpp",
    "Ice for .NET": "ice-dotnet",
    "Ice for Java": "ice-java",
    "Microsoft WCF with binary encoding": "wcf-binary",
    "Microsoft WCF with SOAP encoding": "wcf-soap",
    "Java RMI": "java-rmi",
}


def printed_number(text: str) -> Decimal:
    """Parse a printed number with its decimal prefix: ``13.4 M`` is 13 400 000."""
    match = re.fullmatch(r"([0-9.]+) ?([kM]?)", text)
    if match is None:
        raise ValueError(f"{text!r} is no number with a prefix of k or M")
    return Decimal(match[1]) * PREFIX[match[2]]


def argument_bytes(signature: str) -> int | None:
    """Return the bytes of an argument list: count times element size, or None for ``v``."""
    return None if signature == "v" else ELEMENT_BYTES[signature[0]] * int(signature[1:])


def round_trip(calls: Row) -> Row:
    """Make a row of the mean round trip of synchronous calls: 1/(calls per second), six digits."""
    return replace(
        calls,
        metric="rtt_mean_s",
        value=Context(prec=6).divide(Decimal(1), Decimal(calls.value)),
        load_bps=None,
        basis="derived",
        source=f"{calls.source}; 1/(calls per second)",
    )


def delivered_goodput(messages: Row, payload_bytes: int) -> Row:
    """Make the row of the goodput of received messages: messages/s x payload x 8."""
    return replace(
        messages,
        metric="goodput_bps",
        value=messages.value * payload_bytes * 8,
        basis="derived",
        source=f"{messages.source}; messages/s x payload x 8",
    )


# --- rmi-loopback -----------------------------------------------------------------------------


def signature_rows(test: str) -> Iterator[Row]:
    """Yield messages per second of every signature, and for TEST2 also their goodput."""
    for cells in transcription(f"cxrmi/{test}.csv"):
        machine, signature = cells["machine"], cells["signature"]
        messages = Row(
            protocol=MIDDLEWARE[cells["middleware"]],
            metric="frames_per_s",
            value=printed_number(cells["msg_per_s"]),
            basis="tabulated",
            source=f"CXRMI {test.upper()} tables {machine} {cells['middleware']} {signature}",
            payload_bytes=argument_bytes(signature),
            load_bps=UNLIMITED,
            switches=0,
            endpoints=1,
            options={"machine": machine.lower(), "test": test, "argument": signature[0]},
        )
        yield messages
        if test == "test2" and messages.payload_bytes is not None:
            yield delivered_goodput(messages, messages.payload_bytes)


def summary_row(printed_machine: str, test: str, value: Decimal) -> Row:
    """Make the row of a summary cell; M6 is read as ZeroC Ice on M5 (an inference, see README)."""
    inferred = printed_machine == "M6"
    where = f"{printed_machine} (read as Ice on M5)" if inferred else printed_machine
    options = {"machine": "m5" if inferred else printed_machine.lower(), "test": test}
    if test in ("test1", "test2"):
        options["argument"] = "unsaid"
    return Row(
        protocol="ice" if inferred else "cxrmi",
        metric="goodput_bps" if test in SUMMARY_PAYLOAD else "frames_per_s",
        value=value,
        basis="tabulated",
        source=f"CXRMI summary table {where} {test.upper()}",
        payload_bytes=SUMMARY_PAYLOAD.get(test),
        load_bps=UNLIMITED,
        switches=0,
        endpoints=1,
        options=options,
    )


def summary_rows() -> Iterator[Row]:
    """Yield the summary of TEST1 to TEST7, and for TEST5 (synchronous calls) the round trip."""
    for cells in transcription("cxrmi/summary.csv"):
        for column, text in cells.items():
            if not column.startswith("test") or text == "-":
                continue
            row = summary_row(cells["machine"], column.partition("_")[0], printed_number(text))
            yield row
            if row.options["test"] == "test5":
                yield round_trip(row)


def loopback_rows() -> list[Row]:
    """Return all rows of rmi-loopback."""
    return [*signature_rows("test1"), *signature_rows("test2"), *summary_rows()]


# --- rmi-1g-2009 ------------------------------------------------------------------------------


def empty_call_rows() -> Iterator[Row]:
    """Yield rates of synchronous calls without parameters, and their round trips."""
    for cells in transcription("cxrmi/henning_latency.csv"):
        sizes = f"request {cells['send_message_bytes']} B reply {cells['receive_message_bytes']} B"
        for network in ("loopback", "gigabit"):
            calls = Row(
                protocol=MIDDLEWARE[cells["middleware"]],
                metric="frames_per_s",
                value=Decimal(cells[f"{network}_invocations_per_s"]),
                basis="tabulated",
                source=f"Henning 2009 as quoted by CXRMI: empty call; {network}; {sizes}",
                load_bps=UNLIMITED,
                switches=0 if network == "loopback" else None,
                endpoints=1,
                options={"network": network},
            )
            yield calls
            yield round_trip(calls)


def throughput_rows(table: str) -> Iterator[Row]:
    """Yield one of the two throughput tables: a buffer of bytes, or a vector of structs."""
    argument, payload_bytes = THROUGHPUT_TABLES[table]
    for cells in transcription(f"cxrmi/henning_{table}.csv"):
        for column in list(cells)[1:]:
            printed_network, direction = column.split("_")[:2]
            network = "loopback" if printed_network == "loopback" else "gigabit"
            yield Row(
                protocol=MIDDLEWARE[cells["middleware"]],
                metric="goodput_bps",
                value=Decimal(cells[column]) * MBIT,
                basis="tabulated",
                source=f"Henning 2009 as quoted by CXRMI: {table} table; {network}; {direction}",
                payload_bytes=payload_bytes,
                load_bps=UNLIMITED,
                switches=0 if network == "loopback" else None,
                endpoints=1,
                options={"argument": argument, "direction": direction, "network": network},
            )


def gigabit_rows() -> list[Row]:
    """Return all rows of rmi-1g-2009."""
    return [*empty_call_rows(), *throughput_rows("500kb"), *throughput_rows("struct")]


def main(folder: Path = DATA) -> None:
    """Write both datasets below ``folder``."""
    for name, rows in (("rmi-loopback", loopback_rows()), ("rmi-1g-2009", gigabit_rows())):
        text = (DATA / name / "dataset.toml").read_text(encoding="utf-8")
        write_dataset(name, rows, text, folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
