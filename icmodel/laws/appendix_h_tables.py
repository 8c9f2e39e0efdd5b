"""Tables of Appendix H: curves through the rows at the payloads of the original (§7.1.1)."""

from __future__ import annotations

from icmodel.dataset import Dataset, Point
from icmodel.laws.metrics import GROWING
from icmodel.laws.prepared import Prepared, Wanted, any_cores, compiler, of_protocols, rows_of
from icmodel.tables import Below, Tables
from icmodel.tables.curves import alone, best_goodput, curves_of, is_limited, with_loads
from icmodel.tables.left_out import misses


def prepare(wanted: Wanted) -> Prepared:
    """Tables of every metric through the rows as they are.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    data = wanted.data
    every = [row for row in rows_of(data, wanted.options) if _in_original(data, row.point)]
    rows = alone(of_protocols(every, wanted.protocols))
    compile_ = compiler(wanted, every)
    metrics = wanted.metrics(rows)
    unlimited_loss = with_loads(
        curves_of(data, rows, "loss_rate"), lambda load: not is_limited(load)
    )
    goodput = best_goodput(data, rows, misses(data, "goodput_bps"), limited=False)
    tables = {
        "goodput_bps": compile_.table("goodput_bps", goodput),
        "loss_rate": compile_.table("loss_rate", unlimited_loss),
    }
    for metric in metrics:
        below: Below = "proportion" if metric.startswith(GROWING) else "held"
        curves = curves_of(data, rows, metric)
        tables[metric] = compile_.table(metric, curves, any_cores=any_cores(metric), below=below)
    made = Tables(compile_, tables, data.link(wanted.options))
    return Prepared(made, wanted, tuple(metrics), every)


def _in_original(data: Dataset, point: Point) -> bool:
    """Whether the original reads a row: if its list of payloads is known, only at these."""
    payloads = data.variants.get("appendix-h", {}).get("payload_bytes")
    if not isinstance(payloads, list) or point.payload_bytes is None:
        return True
    return point.payload_bytes in payloads
