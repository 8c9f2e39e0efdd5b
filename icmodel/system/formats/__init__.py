"""Formats: systems from and into the files of other tools; what one cannot say is said in a remark.

``saihu`` (Saihu's output-port network, JSON, and its physical network, the XML of WOPANet), ``node_link`` (networkx). All lead over ``foreign``, the tables of a system file as plain values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from icmodel.documents import json_value, toml_text
from icmodel.errors import NetworkError
from icmodel.reading import read_file
from icmodel.system.formats import node_link, saihu
from icmodel.system.formats.foreign import Foreign as Foreign
from icmodel.system.network import System

Exporter = Callable[[System], tuple[Mapping[str, object], tuple[str, ...]]]

EXPORTS: Mapping[str, Exporter] = {"saihu": saihu.exported, "node-link": node_link.exported}
"""Formats a system can be written in."""


def import_system(path: Path) -> tuple[str, tuple[str, ...]]:
    """The TOML of a system from a file of another tool, and remarks on what could not be carried over.

    Raises
    ------
    NetworkError
        If the file is of no known format, or damaged.
    """
    text = read_file(path, NetworkError)
    foreign = _foreign(text, path.name)
    return toml_text(foreign.document()), tuple(foreign.remarks)


def _foreign(text: str, file: str) -> Foreign:
    if text.lstrip().startswith("<"):
        return saihu.import_physical(text, file)
    try:
        document = json_value(text)
    except ValueError as error:
        raise NetworkError(f"{file} is neither JSON nor XML: {error}") from error
    if isinstance(document, dict) and "servers" in document:
        return saihu.import_ports(document, file)
    if isinstance(document, dict) and "nodes" in document:
        return node_link.imported(document, file)
    raise NetworkError(
        f"{file} is of no known format: give Saihu's output-port JSON (with servers), its physical XML "
        "(with stations and switches), or node-link JSON of networkx (with nodes)"
    )


def export_system(system: System, form: str) -> tuple[str, tuple[str, ...]]:
    """The text of a system in a format of `EXPORTS`, and remarks on what that cannot say."""
    if form not in EXPORTS:
        raise NetworkError(f"there is no format {form!r}: take one of {', '.join(EXPORTS)}")
    document, remarks = EXPORTS[form](system)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n", remarks
