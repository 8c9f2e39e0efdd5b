"""Errors as problem details (RFC 9457): a type, a title, a status, and one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import JSONResponse

from icmodel.errors import AT_LINE, IcmodelError, Mistake
from icmodel.schemas.parts import MistakeText

MEDIA_TYPE = "application/problem+json"
MEANINGS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "Another site sent the request, or the host is not this server.",
    404: "There is nothing of this name.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The type of the body is not application/json.",
    422: "The question is wrong, or the dataset cannot answer it.",
    429: "Too many requests wait.",
    500: "icmodel has a defect.",
    503: "The answer takes too long, or too much memory.",
}
"""HTTP status -> meaning."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class ProblemDetails(BaseModel):
    """A refused request; `detail` is the sentence that the command line prints."""

    type: str = Field(description="URN of the kind of error, or about:blank.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, the value, and what to do, in one sentence.")
    where: str | None = Field(None, description="Place of the mistake, if it is known.")
    mistakes: list[MistakeText] | None = Field(None, description="Every mistake of a refused text.")


REFERENCE = "#/components/schemas/{model}"
SCHEMAS: dict[str, Any] = models_json_schema(
    [(ProblemDetails, "serialization")], ref_template=REFERENCE
)[1]["$defs"]
"""Schemas of problem details, for the components of the OpenAPI document."""


def answers(model: Any, *further: int) -> dict[int | str, dict[str, Any]]:
    """Describe the answer and the problems of a route for the OpenAPI document.

    ``further`` are statuses of this route, in addition to the statuses that every route has.
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="ProblemDetails")}}}
    told: dict[int | str, dict[str, Any]] = {200: {"model": model, "description": "The answer."}}
    for status in sorted((401, 403, 422, 429, 500, *further)):
        told[status] = {"description": MEANINGS[status], "content": content}
    return told


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
        """Return the problem as a response."""
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
    """Return an error of icmodel as a problem: its sentence, its place, and every mistake of a text."""
    place = AT_LINE.search(str(error))
    lines = [one.line for one in error.mistakes if one.line]
    where = f"line {place[1]}, column {place[2]}" if place else f"line {lines[0]}" if lines else ""
    kind = f"urn:icmodel:{type(error).__name__}"
    return Problem(status, str(error), kind, where, mistakes=error.mistakes)


def body_problem(errors: Sequence[Any], body: object = None) -> Problem:
    """Return the first mistake of a request as a problem; ``errors`` come from pydantic.

    ``body`` is the parsed body of the request. Parts of a place that are no keys of it are names of types.
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        reason = str(first.get("ctx", {}).get("error", "")).lower()
        return Problem(400, f"the body is not valid JSON: {reason}", "urn:icmodel:InvalidJson")
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
    if first["type"] == "extra_forbidden":
        sentence = f"the key {where!r} is unknown: /docs lists the keys of each request"
    elif first["type"] == "missing":
        sentence = f"the request has no {where}: it is needed"
    else:
        message = str(first["msg"]).removeprefix("Value error, ")
        allowed = message.replace("Input should be", "it must be")
        sentence = f"{where} is not possible: {allowed[:1].lower()}{allowed[1:]}"
    return Problem(422, sentence, "urn:icmodel:InvalidRequest", where)
