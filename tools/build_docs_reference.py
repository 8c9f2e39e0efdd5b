"""Make the pages of docs/reference that say what is in the program and in data/.

    python tools/build_docs_reference.py

``cli.md`` from the typer app, ``api.md`` from signatures and docstrings, ``http.md`` and ``openapi.json`` from the server, ``datasets/`` from
``data/``, the tables of keys of ``usecase-format.md``, ``system-format.md`` and ``dataset-format.md`` and
the JSON Schemas from the documents' classes, the parts of ``probe.md`` from the probe: its help, the schema of its
record, its flags, plans and topologies. A test fails when a page is not what this script makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from docs_reference.command_line import cli_page
from docs_reference.datasets import dataset_pages
from docs_reference.documents import DATASET_TABLES, SYSTEM_TABLES, USECASE_TABLES, keys
from docs_reference.http_api import http_page, openapi_document
from docs_reference.markdown import with_part
from docs_reference.places import REFERENCE
from docs_reference.probe import probe_page
from docs_reference.python_face import api_page
from icmodel.dataset.check import dataset_schema
from icmodel.schemas.commands import output_schemas
from icmodel.system import system_schema
from icmodel.usecase import usecase_schema


def pages() -> dict[str, str]:
    """Every made file of docs/reference: name and text."""
    openapi = openapi_document()
    made = {
        "dataset-format.md": with_part(_page("dataset-format.md"), "keys", keys(DATASET_TABLES)),
        "usecase-format.md": with_part(_page("usecase-format.md"), "keys", keys(USECASE_TABLES)),
        "system-format.md": with_part(_page("system-format.md"), "keys", keys(SYSTEM_TABLES)),
        "probe.md": probe_page(_page("probe.md")),
        "cli.md": cli_page(),
        "api.md": api_page(),
        "http.md": http_page(openapi),
        "openapi.json": _schema(openapi),
        **dataset_pages(),
        "dataset.schema.json": _schema(dataset_schema()),
        "output.schema.json": _schema(output_schemas()),
        "usecase.schema.json": _schema(usecase_schema()),
        "system.schema.json": _schema(system_schema()),
    }
    return {name: re.sub(r"\n{3,}", "\n\n", text) for name, text in made.items()}


def _page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def _schema(schema: Mapping[str, object]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write(pages_of: Callable[[], Mapping[str, str]] = pages) -> None:
    """Write every made page."""
    for name, text in pages_of().items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write()
