"""Pages of the bundled datasets: rows, ranges and citation of each."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Iterator, Mapping

from docs_reference.markdown import MADE, table
from icmodel.dataset import Dataset, Point, catalogue, load


def dataset_pages() -> dict[str, str]:
    """Make a page for each bundled dataset, and their list: file below docs/reference -> text."""
    sets = [load(name) for name in catalogue()]
    rows = [
        (f"[`{one.id}`]({one.id}.md)", one.title, ", ".join(one.protocols), str(len(one.points)))
        for one in sets
    ]
    intro = "The README in the folder of each dataset describes how its numbers were obtained.\n"
    head = table(("dataset", "what", "protocols", "rows"), rows)
    made = {"datasets/index.md": f"# Datasets\n\n{MADE}\n{intro}\n{head}".rstrip() + "\n"}
    return made | {f"datasets/{one.id}.md": _dataset_page(one) for one in sets}


def _dataset_page(data: Dataset) -> str:
    """Make the page of a dataset: its link, rows, options, limits and citation."""
    edition = data.document.get("edition", "")
    parts = [
        f"# {data.id}\n\n{MADE}\n"
        f"{data.title}. Edition {edition}, variant `{data.default_variant}`, "
        f"protocol `{data.default_protocol}` by default; {data.whose}.\n",
        table(("link", ""), list(_link(data))),
        "## Rows\n",
        table(("protocol", "metric", "payload", "load", "cores", "rows"), list(_coverage(data))),
        table(("option axis", "meaning", "values", "default"), list(_options(data))),
        f"Basis of the rows: {_bases(data)}.\n",
        "## Limits\n\n" + "".join(f"- {limit}\n" for limit in data.known_limits),
        f"## Source\n\n{data.citation} Licence: {data.licence}.\n".replace("..", "."),
    ]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _link(data: Dataset) -> Iterator[tuple[str, ...]]:
    link = data.document["interconnect"]
    for key, value in dict(typing.cast("Mapping[str, object]", link)).items():
        yield f"`{key}`", f"`{value}`"


def _coverage(data: Dataset) -> Iterator[tuple[str, ...]]:
    """Yield each metric of each protocol, with ranges of payload and load, and core counts."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in data.points:
        groups.setdefault((point.protocol, point.metric), []).append(point)
    for (protocol, metric), points in sorted(groups.items()):
        yield (
            protocol,
            f"`{metric}`",
            _span([p.payload_bytes for p in points], "B"),
            _loads(points),
            ", ".join(str(c) for c in sorted({p.cores for p in points if p.cores is not None})),
            str(len(points)),
        )


def _span(values: list[int | None], unit: str) -> str:
    said = [value for value in values if value is not None]
    if not said:
        return "not said"
    least, most = min(said), max(said)
    return f"{least} {unit}" if least == most else f"{least} to {most} {unit}"


def _loads(points: list[Point]) -> str:
    loads = sorted({p.load_bps for p in points if p.load_bps is not None})
    finite = [load for load in loads if load != float("inf")]
    parts = [f"{finite[0] / 1e9:g} to {finite[-1] / 1e9:g} Gb/s"] if finite else []
    if finite and finite[0] == finite[-1]:
        parts = [f"{finite[0] / 1e9:g} Gb/s"]
    parts += ["unlimited"] if float("inf") in loads else []
    return ", ".join(parts) or "not said"


def _options(data: Dataset) -> Iterator[tuple[str, ...]]:
    axes = typing.cast("Mapping[str, Mapping[str, object]]", data.document.get("axes", {}))
    for axis in data.option_axes:
        values = ", ".join(data.option_values(axis))
        yield f"`{axis}`", str(axes[axis].get("meaning", "")), values, data.option_defaults[axis]


def _bases(data: Dataset) -> str:
    counts = Counter(point.basis for point in data.points)
    return ", ".join(f"{count} {basis}" for basis, count in counts.most_common())
