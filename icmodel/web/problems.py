"""Errors as problem details (RFC 9457): a type, a title, a status, and one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import JSONResponse

from icmodel.errors import AT_LINE, IcmodelError, Mistake
from icmodel.estimate import shortened
from icmodel.schemas.parts import MistakeText
from icmodel.web import bodies

MEDIA_TYPE = "application/problem+json"
MEANINGS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "Another site sent the request, or the host is not this server.",
    404: "There is nothing of this name.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "The type of the body is not application/json.",
    422: "The question is wrong, or the dataset cannot answer it.",
    429: "Too many requests wait.",
    500: "icmodel has a defect.",
    503: "The answer needs too much time or memory.",
}
"""HTTP status -> meaning."""
FIXES = {
    "string_type": "give a text",
    "string_too_short": "give a text of {min_length} or more characters",
    "string_too_long": "give a text of at most {max_length} characters",
    "string_unicode": "give a text of valid Unicode",
    "string_pattern_mismatch": "give a text that matches {pattern}",
    "int_type": "give a whole number",
    "int_parsing": "give a whole number",
    "int_from_float": "give a whole number",
    "greater_than_equal": "give {ge} or more",
    "less_than_equal": "give at most {le}",
    "bool_type": "give true or false",
    "literal_error": "give {expected}",
    "list_type": "give a list",
    "too_short": "give a list of {min_length} or more entries",
    "too_long": "give at most {max_length} entries",
    "dict_type": "give an object",
    "model_type": "give an object",
    "model_attributes_type": "give an object",
}
"""Type of a mistake in pydantic -> advice for its fix. Placeholders stand for limits that pydantic states."""
EXAMPLES: dict[str, Any] = {
    name: field.examples[0]
    for body in vars(bodies).values()
    if isinstance(body, type) and issubclass(body, bodies.Body)
    for name, field in body.model_fields.items()
    if field.examples
}
"""Key of a request -> an example of its value."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class ProblemDetails(BaseModel):
    """Refused request. `detail` is the command line's error message, but with keys of the request in place of options."""

    type: str = Field(description="URN of the kind of error, or about:blank.")
    title: str
    status: int
    detail: str = Field(description="The mistake, the value, and the fix, in one sentence.")
    where: str | None = Field(None, description="Place of the mistake, if it is known.")
    mistakes: list[MistakeText] | None = Field(None, description="Every mistake of a refused text.")


REFERENCE = "#/components/schemas/{model}"
SCHEMAS: dict[str, Any] = models_json_schema(
    [(ProblemDetails, "serialization")], ref_template=REFERENCE
)[1]["$defs"]
"""Schemas of problem details, for the components of the OpenAPI document."""


def responses(model: Any, *further: int) -> dict[int | str, dict[str, Any]]:
    """Describe the possible responses of a route for the OpenAPI document: its answer, and refusals by HTTP status.

    ``further`` are statuses with which this route may refuse a request, besides those of every route.
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="ProblemDetails")}}}
    described: dict[int | str, dict[str, Any]] = {
        200: {"model": model, "description": "The answer."}
    }
    for status in sorted((401, 403, 422, 429, 500, *further)):
        described[status] = {"description": MEANINGS[status], "content": content}
    return described


class Problem(Exception):  # noqa: N818  (the name that RFC 9457 gives it)
    """Refused request: HTTP status, sentence, and further parts of the answer."""

    def __init__(
        self,
        status: int,
        detail: str,
        kind: str = "about:blank",
        where: str = "",
        headers: Mapping[str, str] | None = None,
        mistakes: Sequence[Mistake] = (),
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.kind, self.where = status, detail, kind, where
        self.headers, self.mistakes = headers or {}, mistakes

    def response(self) -> JSONResponse:
        """Return the problem as an HTTP response with a JSON body."""
        title = HTTPStatus(self.status).phrase
        if self.kind != "about:blank":
            title = _CAMEL.sub(" ", self.kind.rpartition(":")[2]).capitalize()
        document: dict[str, Any] = {"type": self.kind, "title": title}
        document |= {"status": self.status, "detail": self.detail}
        if self.where:
            document["where"] = self.where
        if self.mistakes:
            document["mistakes"] = [one._asdict() for one in self.mistakes]
        return JSONResponse(
            document, self.status, headers=dict(self.headers), media_type=MEDIA_TYPE
        )


def problem_of(error: IcmodelError, status: int = 422) -> Problem:
    """Convert an error of icmodel to the refusal of a request (HTTP problem).

    It has the error message, the place of the error in a TOML text, and every mistake of such a text.
    """
    place = AT_LINE.search(str(error))
    lines = [one.line for one in error.mistakes if one.line]
    where = f"line {place[1]}, column {place[2]}" if place else f"line {lines[0]}" if lines else ""
    kind = f"urn:icmodel:{type(error).__name__}"
    mistakes = [one._replace(message=bodies.in_keys(one.message)) for one in error.mistakes]
    return Problem(status, bodies.in_keys(str(error)), kind, where, mistakes=mistakes)


def body_problem(errors: Sequence[Any], body: object = None) -> Problem:
    """Convert the first mistake in the body of a request to a refusal (HTTP problem), which names the wrong key.

    Parameters
    ----------
    errors : sequence
        Mistakes that pydantic found. The ``loc`` of each has the keys of the body that lead to the mistake, mixed with
        names of types.
    body : object
        Parsed body of the request, used to tell keys from names of types.
    """
    first = errors[0]
    kind, limits = first["type"], first.get("ctx", {})
    if kind == "json_invalid":
        reason, at = str(limits.get("error", "")).lower(), first["loc"][-1]
        sentence = f"the body is not valid JSON: {reason}; correct it at character {at}"
        return Problem(400, sentence, "urn:icmodel:InvalidJson")
    keys, inside = [], body
    for key in first["loc"][1:]:
        if isinstance(inside, Mapping):
            inside = inside.get(key)
        elif isinstance(inside, list) and isinstance(key, int):
            inside = inside[key]
        elif body is not None:
            break
        keys.append(str(key))
    where = ".".join(keys) or str(first["loc"][0])
    example = EXAMPLES.get(keys[-1]) if keys else None
    if kind in ("list_type", "too_short", "too_long") and example is not None:
        example = [example]
    shown = "" if example is None else f", e.g. {json.dumps(example)}"
    if kind == "extra_forbidden":
        sentence = f"the key {where!r} is unknown: /docs lists the keys of each request"
    elif kind == "missing":
        sentence = f"the request has no {where}: add it{shown}"
    else:
        given = shortened(json.dumps(first["input"], default=str), 80)
        fix = FIXES[kind].format(**limits) if kind in FIXES else str(first["msg"])
        sentence = f"{where} {given} is not possible: {fix}{shown}"
    return Problem(422, sentence, "urn:icmodel:InvalidRequest", where)
