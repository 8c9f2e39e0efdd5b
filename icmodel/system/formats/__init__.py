"""Formats: import systems from files of other tools, and export them.

``saihu`` reads Saihu's output-port network (JSON) and physical network (the XML of WOPANet), and writes
the output-port network. ``node_link`` reads and writes the JSON of networkx. Both readers make an
`ImportedSystem`. A remark names each part that a format cannot express.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from icmodel.documents import json_value, toml_text
from icmodel.errors import NetworkError
from icmodel.reading import read_file
from icmodel.system.formats import node_link, saihu
from icmodel.system.network import System

Exporter = Callable[[System], tuple[Mapping[str, object], tuple[str, ...]]]

EXPORTS: Mapping[str, Exporter] = {
    "saihu": saihu.export_ports,
    "node-link": node_link.export_graph,
}
"""Formats for export: name -> function that converts a system to a JSON document, with remarks."""


def import_system(path: Path) -> tuple[str, tuple[str, ...]]:
    """Convert a file of another tool to the TOML text of a system, with remarks on what is left out.

    Raises
    ------
    NetworkError
        If the format of the file is unknown, or the file is damaged.
    """
    text, file = read_file(path, NetworkError), path.name
    if text.lstrip().startswith("<"):
        made = saihu.import_physical(text, file)
        return toml_text(made.document()), tuple(made.remarks)
    try:
        document = json_value(text)
    except ValueError as error:
        raise NetworkError(f"{file} is neither JSON nor XML: {error}") from error
    if isinstance(document, dict) and "servers" in document:
        made = saihu.import_ports(document, file)
    elif isinstance(document, dict) and "nodes" in document:
        made = node_link.import_graph(document, file)
    else:
        raise NetworkError(
            f"the format of {file} is unknown: give Saihu's output-port JSON (with servers), its physical "
            "XML (with stations and switches), or node-link JSON of networkx (with nodes)"
        )
    return toml_text(made.document()), tuple(made.remarks)


def export_system(system: System, form: str) -> tuple[str, tuple[str, ...]]:
    """Convert a system to text in one of the formats in `EXPORTS`, with remarks on what is left out.

    Raises
    ------
    NetworkError
        If the format is unknown.

    Examples
    --------
    >>> from icmodel.system import load
    >>> text, remarks = export_system(load("lab-switch"), "node-link")
    >>> json.loads(text)["edges"][0]["rate_bps"]
    100000000.0
    """
    if form not in EXPORTS:
        raise NetworkError(f"the format {form!r} is unknown: use one of {', '.join(EXPORTS)}")
    document, remarks = EXPORTS[form](system)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n", remarks
