"""Page about the HTTP API: every request with its keys and answers, from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Document = Mapping[str, Any]


def docs_page(openapi: Document) -> str:
    """Return the page about the HTTP API as HTML, without scripts or external resources.

    Parameters
    ----------
    openapi : mapping
        OpenAPI document of the application.
    """
    requests = [
        (method.upper(), path, operation)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    ]
    links = "".join(
        f'<li><a href="#{operation["operationId"]}">{method} {escape(path)}</a></li>'
        for method, path, operation in requests
    )
    sections = "".join(
        line
        for method, path, operation in requests
        for line in _section(openapi, method, path, operation)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>icmodel: HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<main>
<h1>HTTP API of icmodel {escape(openapi["info"]["version"])}</h1>
<p>The keys of a request are options of the command line. Answers are those of <code>--json</code>. The answer to a
refused request is problem details (RFC 9457), with the error message of the command line as <code>detail</code>.
The same information is in the <a href="/openapi.json">OpenAPI document</a>.</p>
<nav aria-label="Requests"><ul>{links}</ul></nav>
{sections}</main>
</body>
</html>
"""


def _section(openapi: Document, method: str, path: str, operation: Document) -> Iterator[str]:
    """Yield the HTML of one request's section: heading, table of keys and parameters, list of answers."""
    name = operation["operationId"]
    yield f'<section aria-labelledby="{name}"><h2 id="{name}"><code>{method} {escape(path)}</code></h2>\n'
    yield f"<p>{escape(operation['summary'])}. {_text(operation.get('description', ''))}</p>\n"
    rows = [
        (one["name"], one["schema"], one.get("required", False), one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        schema = resolved(openapi, body["schema"])
        rows += [
            (key, of, key in schema.get("required", ()), of.get("description", ""))
            for key, of in schema["properties"].items()
        ]
    if rows:
        yield "<table><thead><tr><th>key</th><th>type</th><th>meaning</th></tr></thead><tbody>\n"
        for key, of, needed, text in rows:
            kind, meaning = escape(type_name(openapi, of)), f"{text} Needed." if needed else text
            yield f"<tr><th><code>{escape(key)}</code></th><td>{kind}</td><td>{_text(meaning)}</td></tr>\n"
        yield "</tbody></table>\n"
    statuses = (
        f"<li>{escape(status)}: {escape(one['description'])}</li>"
        for status, one in operation["responses"].items()
    )
    yield f"<details><summary>Answers</summary><ul>{''.join(statuses)}</ul></details></section>\n"


def _text(text: str) -> str:
    """Return a text as HTML; words between backticks become code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{one}</code>" if at % 2 else one for at, one in enumerate(parts))


def resolved(openapi: Document, schema: Document) -> Document:
    """Return a JSON schema; if it is a reference (``$ref``), the schema to which it refers."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return openapi["components"]["schemas"][name] if name else schema


def type_name(openapi: Document, schema: Document) -> str:
    """Return the type of a JSON schema in words, with its default. References are looked up in ``openapi``.

    Examples
    --------
    >>> type_name({}, {"type": "array", "items": {"type": "string"}, "default": []})
    'list of text'
    """
    schema = resolved(openapi, schema)
    words = {"string": "text", "integer": "count", "number": "number", "boolean": "true or false"}
    if "anyOf" in schema:
        kinds = [type_name(openapi, one) for one in schema["anyOf"] if one.get("type") != "null"]
        name = " or ".join(dict.fromkeys(kinds))
    elif "enum" in schema:
        name = " or ".join(schema["enum"])
    elif schema.get("type") == "array":
        name = f"list of {type_name(openapi, schema['items'])}"
    else:
        name = words.get(schema.get("type", ""), "object")
    default = schema.get("default")
    return name if default in (None, [], {}) else f"{name}, default {json.dumps(default)}"
