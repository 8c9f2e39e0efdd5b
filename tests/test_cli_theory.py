"""``icmodel theory``: limits of the wire, as JSON, table and CSV."""

from __future__ import annotations

from pathlib import Path

import pytest
import python_calamine

from cli_case import RunIcmodel


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("ethernet --protocol udp --payload '1472 B, 1473 B'", "packets", [1, 2]),
        ("ethernet --protocol udp --payload '1472 B, 1473 B'", "aligned", [True, False]),
        ("ethernet --payload '1448 B..5 kB'", "payload_bytes", [1448, 2896, 4344]),
        (
            "ethernet --protocol ethernet --payload '1 B' --unpadded",
            "send_interval_s",
            [0.0312e-6],
        ),
        (
            "ethernet --payload '1448 B' --distance '50 m' --switches 1 --switch-latency '1 us'",
            "min_latency_s",
            [1.2208e-6 + 50 * 4.27e-9 + 1e-6],
        ),
        (
            "ethernet --protocol ethernet --vlan-tags 1 --payload '54 B' --line-rate '100 Mb/s' --switches 1 "
            "--switch-latency '4 us' --switching store-and-forward",
            "min_latency_s",
            [10.72e-6 + 6.72e-6],
        ),
        ("ethernet --payload '9948 B' --mtu '10000 B' --line-rate '100 Gb/s'", "packets", [1]),
        (
            "ethernet --payload '1460 B' --no-timestamps",
            "max_goodput_bps",
            [1460 / 1538 * 1e10],
        ),
        ("infiniband --payload '4096 B' --as-counted", "wire_bits", [8 * (4096 + 24)]),
        ("infiniband --generation edr --payload '4 KiB' --global-route", "wire_bits", [8 * 4162]),
        ("roce --version 1 --payload '1 KiB' --as-counted", "wire_bits", [8 * (1024 + 74)]),
        ("roce --payload '1 KiB' --operation write", "wire_bits", [8 * (1024 + 62 + 20 + 16)]),
        ("rapidio --payload '256 B, 257 B'", "packets", [1, 2]),
        ("rapidio --payload '256 B' --baud '3.125 GHz'", "max_goodput_bps", [256 / 272 * 1e10]),
    ],
)
def test_theory_computes_the_limits_of_the_wire(
    run_icmodel: RunIcmodel, line: str, name: str, values: list[float]
) -> None:
    printed = run_icmodel(f"theory {line} --json")
    assert printed.code == 0, printed.err
    assert [point[name] for point in printed.json["points"]] == pytest.approx(values, rel=1e-12)


def test_theory_prints_a_table_and_writes_csv(run_icmodel: RunIcmodel, tmp_path: Path) -> None:
    printed = run_icmodel("theory ethernet --protocol udp --payload '1472 B, 1473 B'")
    assert [
        "1472 B",
        "1",
        "12304",
        "9.570871 Gb/s",
        "1.2304 µs",
        "1.2208 µs",
        "yes",
    ] in printed.rows
    assert run_icmodel("theory rapidio --payload '256 B' -o wire.csv").code == 0
    assert (tmp_path / "wire.csv").read_text("utf-8").startswith("payload_bytes,packets,wire_bits,")


def test_a_workbook_has_the_intervals_and_basis_of_limits(
    run_icmodel: RunIcmodel, tmp_path: Path
) -> None:
    place = tmp_path / "limits.xlsx"
    line = f"theory ethernet --payload '64 B, 1448 B' -o {place}"
    assert run_icmodel(line).code == 0
    book = python_calamine.CalamineWorkbook.from_path(str(place))
    assert book.sheet_names == ["answers", "intervals", "basis"]
    rows = book.get_sheet_by_name("intervals").to_python()[1:]
    assert [row[:2] for row in rows[:2]] == [
        ["points / 64 B", "max_goodput_bps"],
        ["points / 64 B", "send_interval_s"],
    ]
    assert all(row[2] == row[3] == row[4] for row in rows)
    assert {row[2] for row in book.get_sheet_by_name("basis").to_python()[1:]} == {"theory"}
