"""zperfmq: its JSON, as its source writes it; no output of the tool was ever seen.

A measurement is ``yodel`` (round trips, answered by ``echo``), ``send`` or ``recv``. CPU is of the
process. Python's driver keeps plan and results apart, the C++ tool writes both together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from icmodel.errors import RecordError
from icmodel.ingest.labels import Labels
from icmodel.ingest.readers.table import Layout
from icmodel.ingest.result import BOTH, RECEIVER, SENDER, Number, Origin, Result, Side
from icmodel.ingest.source import Source, documents, real, text_of

NAME = "zperfmq"
LAYOUT = Layout()
UNSEEN = "no output of zperfmq was seen when this reader was written: check the numbers"
Document = Mapping[str, object]


def recognises(text: str) -> bool:
    """Whether a text looks like zperfmq's JSON."""
    keys = all(re.search(rf'"{key}"\s*:', text) for key in ("time_us", "noos"))
    return keys and re.search(r"^[ \t]*[{\[]", text, re.M) is not None


def read(source: Source) -> list[Result]:
    """The results of a file.

    Raises
    ------
    RecordError
        If a result does not say what was measured.
    """
    runs = [run for document in documents(source.text) for run in _runs(document)]
    results = [_result(run, number) for number, run in enumerate(runs, start=1)]
    taken = [result for result in results if result is not None]
    if not taken:
        raise RecordError(
            "it holds no yodel, send or recv: an echo answers others' messages and is no result"
        )
    return taken


def _runs(document: object) -> Iterator[dict[str, object]]:
    """Each run with its plan, however the file keeps them."""
    if isinstance(document, list):
        for item in document:
            yield from _runs(item)
        return
    if not isinstance(document, Mapping):
        return
    if "time_us" in document:
        yield dict(document)
        return
    results, plans = document.get("results"), document.get("plan")
    listed = results if isinstance(results, list) else [results]
    planned = plans if isinstance(plans, list) else [plans] * len(listed)
    if len(planned) < len(listed):
        raise RecordError(f"it has {len(listed)} results and a plan of {len(planned)}: it is cut")
    for result, plan in zip(listed, planned, strict=False):
        yield from _paired(result, plan if isinstance(plan, Mapping) else {})


def _paired(result: object, plan: Document) -> Iterator[dict[str, object]]:
    if not isinstance(result, Mapping):
        return
    if "time_us" in result:
        yield {**plan, **result}
        return
    for end in ("src", "dst"):
        part = result.get(end)
        if isinstance(part, Mapping):
            yield {**plan, **part}


def _result(run: Document, number: int) -> Result | None:
    what = text_of(run, "measurement").lower()
    seconds, messages, size = (
        (real(run, "time_us") or 0) / 1e6,
        real(run, "nmsgs"),
        real(run, "msgsize"),
    )
    if what == "echo":
        return None
    if what not in ("yodel", "send", "recv") or not messages or not size or seconds <= 0:
        raise RecordError(
            f"result {number} has no measurement, nmsgs, msgsize or time: the plan is not in it"
        )
    notes = [UNSEEN]
    if what != "yodel":
        numbers = _flow(what, run, seconds)
    else:
        numbers = [Number("rtt_half_mean_s", seconds / (2 * messages), BOTH)]
    if real(run, "noos"):
        notes.append(f"{real(run, 'noos'):.0f} messages came out of order")
    return Result(
        origin=Origin(NAME, "", f"result {number}"),
        labels=Labels(
            protocol="zeromq",
            payload_bytes=int(size),
            load_bps=None if what == "yodel" else math.inf,
            cores=1,
        ),
        numbers=tuple(numbers),
        notes=tuple(notes),
    )


def _flow(what: str, run: Document, seconds: float) -> list[Number]:
    side: Side = SENDER if what == "send" else RECEIVER
    metric = "sent_bps" if what == "send" else "goodput_bps"
    size = real(run, "nbytes") or 0
    numbers = [Number(metric, 8 * size / seconds, side)] if size else []
    if (cpu := real(run, "cpu_us")) is not None:
        name = "cpu_send_process_cores" if what == "send" else "cpu_recv_process_cores"
        numbers.append(Number(name, cpu / 1e6 / seconds, side))
    if not numbers:
        raise RecordError(f"a {what} counted no byte: the run is broken")
    return numbers
