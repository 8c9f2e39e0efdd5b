"""``icmodel plot``: pictures and their specification."""

from __future__ import annotations

import json
from pathlib import Path

from cli_case import CENTRAL, RunIcmodel
from icmodel.estimate import BASES


def test_plot_writes_pictures_and_the_specification(
    run_icmodel: RunIcmodel, tmp_path: Path
) -> None:
    printed = run_icmodel("plot goodput_bps --protocol udp -o goodput.svg")
    assert printed.code == 0, printed.err
    assert printed.out == f"goodput_bps over payload on {CENTRAL}, variant corrected: goodput.svg\n"
    assert (tmp_path / "goodput.svg").read_bytes().startswith(b"<svg")
    line = "plot latency_mean_s --over load --payload '65535 B' --rate 6700/s"
    assert run_icmodel(f"{line} -o latency.png").code == 0
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
    spec = run_icmodel(f"{line} --json").json
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert run_icmodel(f"{line} -o latency.json").code == 0
    assert json.loads((tmp_path / "latency.json").read_text("utf-8")) == spec
    assert {p["basis"] for p in spec["datasets"]["benchmarked"]} <= set(BASES)
    assert run_icmodel("plot cpu_recv --over cores --payload '1448 B' -o cores.svg").code == 0
