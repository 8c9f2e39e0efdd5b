"""The folder of an ingested dataset, with an account of every file and number."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from icmodel.dataset import Dataset, Interconnect, build
from icmodel.dataset.write import (
    DOCUMENT_FILE,
    POINTS_FILE,
    dataset_files,
    id_of,
    write_dataset,
)
from icmodel.errors import DatasetError
from icmodel.ingest.intake import Ingested
from icmodel.ingest.result import Hosts, Result

ACCOUNT = "ingested.json"
SCHEMA_VERSION = 1
LOCAL = ("127.", "::1", "localhost")
NUMBER_KEYS = ("metric", "value", "side", "latency_kind", "cpu_scope", "quality")
LINK_KEYS = ("line_rate_bps", "mtu_bytes", "switch_latency_s", "cable_length_m")


@dataclass(frozen=True, slots=True)
class About:
    """What a person states about the dataset; empty fields are unknown.

    Parameters
    ----------
    command
        The command line that makes the dataset again from the same files.
    notes
        Facts that follow from no file, such as the reason for the default variant.
    """

    title: str = ""
    licence: str = ""
    citation: str = ""
    default_variant: str = "corrected"
    link: Interconnect | None = None
    command: str = ""
    notes: tuple[str, ...] = ()


def name_in(folder: str | Path) -> str:
    """The id of a dataset to be written into a folder, which may hold an ingested one.

    Raises
    ------
    DatasetError
        If the folder's name cannot be an id, or the folder has other files.
    """
    target = Path(folder)
    name = id_of(target)
    if target.is_dir() and any(target.iterdir()) and not (target / ACCOUNT).is_file():
        raise DatasetError(
            f"{target} is not empty and holds no ingested dataset: name a new folder, so that none "
            "of its files is replaced"
        )
    return name


def dataset_of(ingested: Ingested, folder: str | Path, about: About) -> Dataset:
    """The dataset of ingested results as `write_ingested` would write it, without writing it.

    Raises
    ------
    DatasetError
        If the folder's name cannot be an id, it has other files, or a row breaks the format.
    """
    target = Path(folder)
    document = _document(ingested, name_in(target), about)
    files = dataset_files(document, [axis.name for axis in ingested.axes], ingested.points)
    sealed = tomllib.loads(files[DOCUMENT_FILE].decode())
    return build(target, sealed, files[POINTS_FILE], str(sealed["sha256"]))


def write_ingested(ingested: Ingested, folder: str | Path, about: About) -> None:
    """Write the dataset of ingested results: points.csv, dataset.toml, README.md, ingested.json.

    An ingested dataset in the folder is replaced.

    Raises
    ------
    DatasetError
        If the folder cannot be written, its name cannot be an id, or it has other files.
    """
    target = Path(folder)
    document = _document(ingested, name_in(target), about)
    extra = {
        "README.md": "".join(f"{one}\n" for one in _readme(ingested, document, about)).encode(),
        ACCOUNT: json.dumps(
            account(ingested), indent=1, ensure_ascii=False, allow_nan=False
        ).encode()
        + b"\n",
    }
    write_dataset(target, document, [axis.name for axis in ingested.axes], ingested.points, extra)


# --- the account ------------------------------------------------------------------------------


def account(ingested: Ingested) -> dict[str, object]:
    """The document of ingested.json: every file with its hash and its numbers, or why it was refused."""
    return {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {
                "file": file.file,
                "sha256": file.sha256,
                "results": [_result(result) for result in file.results],
            }
            for file in ingested.taken
        ],
        "refused": [{"file": one.file, "reason": one.reason} for one in ingested.refused],
    }


def _result(result: Result) -> dict[str, object]:
    labels = result.labels
    return {
        "tool": result.origin.tool,
        "version": result.origin.version,
        "place": result.origin.place,
        "sender": result.hosts.sender,
        "receiver": result.hosts.receiver,
        "streams": result.streams,
        "assumed": [one.label for one in result.assumed],
        "protocol": labels.protocol,
        "payload_bytes": labels.payload_bytes,
        "load_bps": "inf" if labels.load_bps == float("inf") else labels.load_bps,
        "options": dict(labels.options),
        "numbers": [{key: getattr(one, key) for key in NUMBER_KEYS} for one in result.numbers],
        "notes": list(result.notes),
    }


# --- dataset.toml -----------------------------------------------------------------------------


def _document(ingested: Ingested, name: str, about: About) -> dict[str, object]:
    results = [result for file in ingested.taken for result in file.results]
    tools = sorted({result.origin.tool for result in results})
    versions = sorted({f"{r.origin.tool} {r.origin.version}" for r in results if r.origin.version})
    protocols = sorted({point.protocol for point in ingested.points})
    link, limits = _link(results, about.link)
    files = len(ingested.taken)
    return {
        "id": name,
        "title": about.title or f"Results of {', '.join(tools)} for {', '.join(protocols)}",
        "edition": "1",
        "default_variant": about.default_variant,
        "default_protocol": "tcp" if "tcp" in protocols else protocols[0],
        "licence": about.licence or "not stated",
        "citation": about.citation or f"own results of {', '.join(tools)}, {files} files",
        "known_limits": [*limits, *ingested.notes],
        "tool": {"name": ", ".join(tools), "version": ", ".join(versions) or "not stated"},
        "interconnect": link,
        "hosts": [{"name": host} for host in _hosts(results)],
        "axes": {
            axis.name: {"meaning": axis.meaning, "default": axis.default} for axis in ingested.axes
        },
    }


def _link(
    results: list[Result], stated: Interconnect | None
) -> tuple[dict[str, object], list[str]]:
    """The interconnect as stated, as named in the files, or by default, with its known limits."""
    kinds = {result.kind for result in results if result.kind}
    ends = [end for result in results for end in result.hosts if end]
    limits = []
    if stated is not None and stated.kind:
        kind = stated.kind
    elif len(kinds) == 1:
        kind = kinds.pop()
    elif ends and all(end.startswith(LOCAL) for end in ends):
        kind = "loopback"
    else:
        kind = "ethernet"
        limits.append("No file says what the interconnect is: ethernet stands by assumption.")
    link: dict[str, object] = {"kind": kind}
    for key in LINK_KEYS:
        if stated is not None and getattr(stated, key) is not None:
            link[key] = getattr(stated, key)
    if "line_rate_bps" not in link and kind != "loopback":
        limits.append("The line rate is not said: no number was held against what the wire allows.")
    return link, limits


def _hosts(results: list[Result]) -> list[str]:
    named = dict.fromkeys(
        f"{host} ({side})"
        for side in Hosts._fields
        for result in results
        if (host := getattr(result.hosts, side))
    )
    return list(named) or ["not named"]


# --- README -----------------------------------------------------------------------------------


def _readme(ingested: Ingested, document: Mapping[str, object], about: About) -> Iterator[str]:
    yield f"# {document['title']}"
    yield ""
    yield (
        f"{len(ingested.points)} rows from {len(ingested.taken)} files, read by `icmodel ingest`. "
        f"`{ACCOUNT}` lists every file with its hash, every number that was taken of it and the end "
        "that counted it, and every file that was refused."
    )
    yield ""
    yield "## Files"
    yield ""
    for file in ingested.taken:
        tools = ", ".join(sorted({result.origin.tool for result in file.results}))
        yield f"- `{file.file}`: {tools}, {len(file.results)} results"
    if about.command:
        yield from ("", "It is made again, byte for byte, where these files lie, by", "")
        yield from ("```text", about.command, "```")
    if ingested.refused:
        yield from ("", "## Refused", "")
        yield from (f"- `{one.file}`: {one.reason}" for one in ingested.refused)
    if notes := (*ingested.notes, *about.notes):
        yield from ("", "## What to know", "")
        yield from (f"- {note}" for note in notes)
    if ingested.axes:
        yield from ("", "## Option axes", "")
        yield from (
            f"- `{axis.name}`: {axis.meaning}; by default `{axis.default}`"
            for axis in ingested.axes
        )
