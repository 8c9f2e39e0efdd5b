"""Reader of zperfmq's JSON, written from the tool's source code, since no output of the tool was available.

A measurement is ``yodel`` (round trips, answered by ``echo``), ``send`` or ``recv``.  CPU numbers cover only the
process.  The Python driver writes plan and results separately; the C++ tool writes them together.  ::

    {"measurement": "yodel", "msgsize": 64, "nmsgs": 10000, "time_us": 430000, "noos": 0}
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.common import Layout, flow
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Origin, Result, exact
from icmodel.ingest.source import Source, documents, real, require, text_of

NAME = "zperfmq"
LAYOUT = Layout()
UNSEEN = "no output of zperfmq was seen when this reader was written: check the numbers"


def recognises(text: str) -> bool:
    """Whether a text looks like zperfmq's JSON."""
    keys = all(re.search(rf'"{key}"\s*:', text) for key in ("time_us", "noos"))
    return keys and re.search(r"^[ \t]*[{\[]", text, re.M) is not None


def read(source: Source) -> list[Result]:
    """Read the results in an output of zperfmq: one for each measurement of the kind yodel, send or recv.

    Raises
    ------
    RecordError
        If a result does not state the kind of measurement.
    """
    results = []
    runs = [run for document in documents(source.text) for run in _runs(document)]
    for number, run in enumerate(runs, start=1):
        kind, size = text_of(run, "measurement").lower(), real(run, "msgsize")
        seconds, messages = (real(run, "time_us") or 0) / 1e6, real(run, "nmsgs")
        if kind == "echo":
            continue
        if kind not in ("yodel", "send", "recv") or not messages or not size or seconds <= 0:
            raise RecordError(
                f"result {number} lacks measurement, nmsgs, msgsize or time_us: give a file with both the plan and "
                "the results of the run"
            )

        numbers = []
        if kind == "yodel":
            numbers.append(Number("rtt_half_mean_s", seconds / (2 * messages), BOTH))
        else:
            moved, cpu = real(run, "nbytes"), real(run, "cpu_us")
            if moved:
                numbers.append(flow(exact(8 * moved / seconds), sends=kind == "send"))
            if cpu is not None:
                side = SENDER if kind == "send" else RECEIVER
                numbers.append(Number(f"cpu_{kind}_process_cores", cpu / 1e6 / seconds, side))
            require(numbers, f"a {kind} counted no byte: the run is broken")

        notes = [UNSEEN]
        if out_of_order := real(run, "noos"):
            notes.append(f"{out_of_order:.0f} messages came out of order")
        results.append(
            Result(
                origin=Origin(NAME, "", f"result {number}"),
                labels=Labels(
                    protocol="zeromq",
                    payload_bytes=int(size),
                    load_bps=None if kind == "yodel" else math.inf,
                    cores=1,
                ),
                numbers=tuple(numbers),
                notes=tuple(notes),
            )
        )
    require(
        results,
        "the output has no yodel, send or recv: an echo only answers messages and measures nothing",
    )
    return results


def _runs(document: object) -> Iterator[dict[str, object]]:
    """Combine the results of each run in a JSON document with the run's plan.

    The results come from one host or both; the plan may be in a separate part of the document.
    """
    if isinstance(document, list):
        for item in document:
            yield from _runs(item)
    if not isinstance(document, Mapping):
        return
    if "time_us" in document:
        yield dict(document)
        return
    results, plans = document.get("results"), document.get("plan")
    listed = results if isinstance(results, list) else [results]
    planned = plans if isinstance(plans, list) else [plans] * len(listed)
    require(
        len(planned) >= len(listed),
        f"the output has {len(listed)} results, but its plan has {len(planned)}: it is cut off",
    )
    for result, plan in zip(listed, planned, strict=False):
        if isinstance(result, Mapping):
            ends = [result] if "time_us" in result else [result.get("src"), result.get("dst")]
            shared = plan if isinstance(plan, Mapping) else {}
            yield from ({**shared, **end} for end in ends if isinstance(end, Mapping))
