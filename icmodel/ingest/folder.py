"""Folder of an ingested dataset: its rows, description and README, and a list of every file and number used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from icmodel.dataset import Dataset, Interconnect
from icmodel.dataset.write import dataset_in_memory, id_of, write_dataset
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
    """Description of an ingested dataset by its user; empty fields are unknown.

    Parameters
    ----------
    command
        Command line that makes the same dataset again from the same files.
    notes
        Facts that do not come from the files, such as the reason for the default variant.
    """

    title: str = ""
    licence: str = ""
    citation: str = ""
    default_variant: str = "corrected"
    link: Interconnect | None = None
    command: str = ""
    notes: tuple[str, ...] = ()


def name_in(folder: str | Path) -> str:
    """Return the id of the dataset to write into a folder: the folder's name.

    The folder must be empty or hold an ingested dataset.

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
    """Make the dataset of ingested results in memory, equal to the dataset that `write_ingested` writes.

    Raises
    ------
    DatasetError
        If the folder's name cannot be an id, the folder has other files, or a row breaks the format.
    """
    target = Path(folder)
    document = _document(ingested, name_in(target), about)
    return dataset_in_memory(
        target, document, [axis.name for axis in ingested.axes], ingested.points
    )


def write_ingested(ingested: Ingested, folder: str | Path, about: About) -> None:
    """Write the dataset of ingested results: points.csv, dataset.toml, README.md, ingested.json.

    An ingested dataset in the folder is replaced.

    Raises
    ------
    DatasetError
        If the folder cannot be written, its name cannot be an id, or the folder has other files.
    """
    target = Path(folder)
    document = _document(ingested, name_in(target), about)
    extra = {
        "README.md": "".join(f"{line}\n" for line in _readme(ingested, document, about)).encode(),
        ACCOUNT: json.dumps(
            account(ingested), indent=1, ensure_ascii=False, allow_nan=False
        ).encode()
        + b"\n",
    }
    write_dataset(target, document, [axis.name for axis in ingested.axes], ingested.points, extra)


# --- the account ------------------------------------------------------------------------------


def account(ingested: Ingested) -> dict[str, object]:
    """Make the content of the file ingested.json, a dictionary.

    It lists each used file with its hash, results and their numbers, and each refused file with the reason.
    """
    files = []
    for file in ingested.taken:
        results = []
        for result in file.results:
            labels, origin = result.labels, result.origin
            results.append(
                {
                    "tool": origin.tool,
                    "version": origin.version,
                    "place": origin.place,
                    "sender": result.hosts.sender,
                    "receiver": result.hosts.receiver,
                    "streams": result.streams,
                    "assumed": [one.label for one in result.assumed],
                    "protocol": labels.protocol,
                    "payload_bytes": labels.payload_bytes,
                    "load_bps": "inf" if labels.load_bps == float("inf") else labels.load_bps,
                    "options": dict(labels.options),
                    "numbers": [
                        {key: getattr(number, key) for key in NUMBER_KEYS}
                        for number in result.numbers
                    ],
                    "notes": list(result.notes),
                }
            )
        files.append({"file": file.file, "sha256": file.sha256, "results": results})
    return {
        "schema_version": SCHEMA_VERSION,
        "files": files,
        "refused": [{"file": one.file, "reason": one.reason} for one in ingested.refused],
    }


# --- dataset.toml -----------------------------------------------------------------------------


def _document(ingested: Ingested, name: str, about: About) -> dict[str, object]:
    """Make the content of dataset.toml for an ingested dataset, a dictionary."""
    results = [result for file in ingested.taken for result in file.results]
    tools = sorted({result.origin.tool for result in results})
    versions = sorted({f"{r.origin.tool} {r.origin.version}" for r in results if r.origin.version})
    protocols = sorted({point.protocol for point in ingested.points})
    hosts = dict.fromkeys(
        f"{host} ({side})"
        for side in Hosts._fields
        for result in results
        if (host := getattr(result.hosts, side))
    )
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
        "hosts": [{"name": host} for host in hosts or ["not named"]],
        "axes": {
            axis.name: {"meaning": axis.meaning, "default": axis.default} for axis in ingested.axes
        },
    }


def _link(
    results: list[Result], stated: Interconnect | None
) -> tuple[dict[str, object], list[str]]:
    """Describe the interconnect of an ingested dataset for dataset.toml.

    Its properties come from the user, otherwise from the files, otherwise from defaults. Returns the description, and a
    sentence on each unknown property.
    """
    kinds = {result.kind for result in results if result.kind}
    hosts = [host for result in results for host in result.hosts if host]
    limits = []
    if stated is not None and stated.kind:
        kind = stated.kind
    elif len(kinds) == 1:
        kind = kinds.pop()
    elif hosts and all(host.startswith(LOCAL) for host in hosts):
        kind = "loopback"
    else:
        kind = "ethernet"
        limits.append("No file states the interconnect: ethernet is assumed.")
    link: dict[str, object] = {"kind": kind}
    for key in LINK_KEYS:
        if stated is not None and getattr(stated, key) is not None:
            link[key] = getattr(stated, key)
    if "line_rate_bps" not in link and kind != "loopback":
        limits.append("The line rate is not stated: no number was compared with it.")
    return link, limits


# --- README -----------------------------------------------------------------------------------


def _readme(ingested: Ingested, document: Mapping[str, object], about: About) -> Iterator[str]:
    """Write the lines of an ingested dataset's README.md."""
    yield from (f"# {document['title']}", "")
    yield (
        f"{len(ingested.points)} rows from {len(ingested.taken)} files, read by `icmodel ingest`. "
        f"`{ACCOUNT}` lists every file with its hash, every number with the end that counted it, and every "
        "refused file."
    )
    yield from ("", "## Files", "")
    for file in ingested.taken:
        tools = ", ".join(sorted({result.origin.tool for result in file.results}))
        yield f"- `{file.file}`: {tools}, {len(file.results)} results"
    if about.command:
        yield from (
            "",
            "In the folder of these files, this command writes the same dataset again, byte for byte:",
            "",
        )
        yield from ("```text", about.command, "```")
    if ingested.refused:
        yield from ("", "## Refused", "")
        yield from (f"- `{one.file}`: {one.reason}" for one in ingested.refused)
    if notes := (*ingested.notes, *about.notes):
        yield from ("", "## Notes", "")
        yield from (f"- {note}" for note in notes)
    if ingested.axes:
        yield from ("", "## Option axes", "")
        yield from (
            f"- `{axis.name}`: {axis.meaning}; by default `{axis.default}`"
            for axis in ingested.axes
        )
