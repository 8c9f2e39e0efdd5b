"""Server process: the application with pages and API. It runs until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import h11
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from icmodel import __version__
from icmodel.errors import IcmodelError
from icmodel.web import api, pages
from icmodel.web.docs_page import docs_page
from icmodel.web.guard import Guard
from icmodel.web.place import Place
from icmodel.web.problems import SCHEMAS, Problem, body_problem, problem_of
from icmodel.web.work import Executor

STATIC = Path(__file__).parent / "static"
"""Folder of the pages; every file in it is public."""
COMPRESSED_BYTES = 2_000
"""Least size of an answer that is compressed [B]."""
HEAD_S, IDLE_S = 10.0, 30
"""Time limits for the head of a request, and for an idle connection [s]."""


def make_app(place: Place, executor: Executor | None = None) -> FastAPI:
    """Make the application: the API, and the pages in ``static``.

    Parameters
    ----------
    place : Place
        Address of the server, with its token.
    executor : Executor, optional
        Threads and worker processes for the answers.
    """
    executor = executor or Executor()

    @asynccontextmanager
    async def warmed(_: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(executor.warm_up)
            yield
            tasks.cancel_scope.cancel()

    app = _Application(
        title="icmodel", version=__version__, docs_url=None, redoc_url=None, lifespan=warmed
    )
    app.state.executor = executor
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES, compresslevel=4)
    app.add_middleware(Guard, place=place)
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(IcmodelError, _answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_problem)
    app.add_exception_handler(HTTPException, _answer_problem)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.include_router(pages.styles)
    app.add_api_route(
        "/docs", lambda: HTMLResponse(docs_page(app.openapi())), include_in_schema=False
    )
    app.router.default = StaticFiles(directory=STATIC, html=True)
    return app


class _Application(FastAPI):
    """Web application, whose OpenAPI document has one schema of refusals (problem details) for all routes."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document of the HTTP API, with the schemas of problem details."""
        document = super().openapi()
        document["components"]["schemas"] |= SCHEMAS
        return document


async def _answer_problem(request: Request, error: Exception) -> Response:
    """Answer an error as problem details."""
    if isinstance(error, IcmodelError):
        return problem_of(error).response()
    if isinstance(error, RequestValidationError):
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            return Problem(415, f"the body is {kind[:80]!r}: send application/json").response()
        return body_problem(error.errors(), error.body).response()
    if isinstance(error, HTTPException):
        sentence = f"{request.method} {request.url.path[:200]!r} is not possible: {error.detail}"
        if error.status_code in (404, 405):
            asked = "" if error.status_code == 404 else f"for {request.method} "
            sentence = f"there is nothing {asked}at {request.url.path[:200]!r}: /docs lists the available addresses"
        return Problem(error.status_code, sentence, headers=error.headers).response()
    assert isinstance(error, Problem)
    return error.response()


class Impatient(H11Protocol):
    """HTTP connection that is closed if the head of a request (its first lines) takes longer than `HEAD_S` to arrive."""

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline by which the head (request line and headers) of the first request must be complete."""
        super().connection_made(transport)
        self.deadline = self.loop.call_later(HEAD_S, transport.close)

    def data_received(self, data: bytes) -> None:
        """Read some bytes. When the head of a request is complete, cancel the deadline."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self.stop_waiting()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(HEAD_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline of a lost connection."""
        self.stop_waiting()
        super().connection_lost(exc)

    def stop_waiting(self) -> None:
        """Cancel the deadline by which the head (request line and headers) of a request must be complete."""
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = None


def run(place: Place, listening: socket.socket) -> None:
    """Run the server at ``place``, on its listening socket.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when the server has ended.
    """
    make_server(place).run(sockets=[listening])


def make_server(place: Place) -> uvicorn.Server:
    """Make the HTTP server that answers at the address ``place``, with timeouts for slow and idle connections."""
    config = uvicorn.Config(
        make_app(place),
        http=Impatient,
        log_level="critical",
        # asyncio warns if two of its parts wait for the end of the same worker process.
        log_config={"version": 1, "loggers": {"asyncio": {"level": "ERROR"}}},
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=IDLE_S,
    )
    return uvicorn.Server(config)
