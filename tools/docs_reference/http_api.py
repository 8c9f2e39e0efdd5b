"""Page of the HTTP API, from the OpenAPI document of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs_reference.markdown import MADE, table
from icmodel.web.docs_page import resolved, type_name
from icmodel.web.place import Place
from icmodel.web.server import make_app

INTRODUCTION = """\
# HTTP API

`icmodel serve` answers these requests; the [guide](../guides/serve.md) shows one. [openapi.json](openapi.json) describes them as OpenAPI 3.1.
An answer is the output of a command with `--json`; [output.schema.json](output.schema.json) has the schemas. The answer to a refused request has
problem details (`application/problem+json`): `type`, `title`, `status`, `detail`, and `where` if the place of the mistake is known.
"""


def openapi_document() -> Mapping[str, Any]:
    """Return the OpenAPI document of a server on loopback."""
    document: Mapping[str, Any] = make_app(Place()).openapi()
    return document


def http_page(openapi: Mapping[str, Any]) -> str:
    """Make the page, with a section for each request."""
    sections = (
        section(openapi, method.upper(), path, operation)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    )
    return MADE + "\n" + INTRODUCTION + "".join("".join(parts) for parts in sections)


def section(
    openapi: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the parts of one request: its keys, and its answers."""
    yield f"\n## {method} {path}\n\n{operation['summary']}. {operation.get('description', '')}\n\n"
    rows = [
        (f"`{one['name']}`", type_name(openapi, one["schema"]), one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        keys = resolved(openapi, body["schema"])["properties"]
        rows += [
            (f"`{key}`", type_name(openapi, of), of.get("description", ""))
            for key, of in keys.items()
        ]
    yield table(("key", "type", "meaning"), rows)
    yield f"\nStatuses: {', '.join(sorted(operation['responses']))}.\n"
