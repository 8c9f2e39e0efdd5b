"""Make the pages of docs/reference that describe the program and the datasets.

    python tools/build_docs_reference.py

Pages and their sources:

- ``cli.md``: the typer app
- ``api.md``: signatures and docstrings
- ``http.md`` and ``openapi.json``: the server
- ``datasets/``: ``data/``
- tables of keys in ``usecase-format.md``, ``system-format.md`` and ``dataset-format.md``, and the
  JSON Schemas: the documents' classes
- parts of ``probe.md``: the probe's help, schema of its record, flags, plans and topologies

A test fails if a page differs from the output of this script.
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
from icmodel.schemas import output_schemas
from icmodel.system import system_schema
from icmodel.usecase import usecase_schema


def pages() -> dict[str, str]:
    """Make every generated file of docs/reference: name -> text."""
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
    """Write every generated page."""
    for name, text in pages_of().items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write()
