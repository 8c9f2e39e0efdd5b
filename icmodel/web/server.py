"""Server process: the application of pages and API, and its life from the first line to Ctrl-C."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from icmodel import __version__
from icmodel.errors import IcmodelError, ReportError
from icmodel.web import api, pages
from icmodel.web.guard import Guard, Place
from icmodel.web.problems import Problem, body_problem, problem_of
from icmodel.web.work import Workshop

STATIC = Path(__file__).parent / "static"
"""Folder of the pages; every file in it is public."""
TRIED_PORTS = range(8000, 8020)
"""Ports that are tried if no port is given."""
COMPRESSED_BYTES = 2_000
"""Least size of a compressed answer [B]."""


def make_app(place: Place, workshop: Workshop | None = None) -> FastAPI:
    """Make the application: the API, and the pages in ``static``.

    Parameters
    ----------
    place : Place
        Address of the server, and the token that it needs.
    workshop : Workshop, optional
        Threads and worker processes that answer.
    """
    app = FastAPI(title="icmodel", version=__version__, docs_url=None, redoc_url=None)
    app.state.workshop = workshop or Workshop()
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES)
    app.add_middleware(Guard, place=place)
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(IcmodelError, _answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_problem)
    app.add_exception_handler(HTTPException, _answer_problem)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.include_router(pages.styles)
    app.mount("/", StaticFiles(directory=STATIC, html=True, check_dir=False), name="pages")
    return app


async def _answer_problem(request: Request, error: Exception) -> Response:
    """Answer an error as problem details."""
    if isinstance(error, IcmodelError):
        return problem_of(error).response()
    if isinstance(error, RequestValidationError):
        return body_problem(error.errors()).response()
    if isinstance(error, HTTPException):
        sentence = f"{request.method} {request.url.path[:200]!r} is not possible: {error.detail}"
        if error.status_code == 404:
            sentence = f"there is nothing at {request.url.path[:200]!r}: /docs lists what there is"
        return Problem(error.status_code, sentence, headers=error.headers).response()
    assert isinstance(error, Problem)
    return error.response()


def serve(host: str, port: int | None, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    host : str
        Address or name to listen at; other than loopback, requests need a token.
    port : int, optional
        Port; 0 for any free one. By default the first free port from 8000 on.
    ready : callable
        Called with the address when connections are accepted.

    Raises
    ------
    ReportError
        If the address or the port cannot be used.
    """
    listening = listen(host, port)
    place = Place.of(host, listening.getsockname()[1])
    ready(place.address)
    config = uvicorn.Config(
        make_app(place),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=30,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # raised by uvicorn after it has ended
        return


def listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket.

    Raises
    ------
    ReportError
        If the address or the port cannot be used.
    """
    reason = ""
    for number in TRIED_PORTS if port is None else (port,):
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, number), family=family, backlog=512)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    where = f"port {port}" if port is not None else f"ports {TRIED_PORTS[0]} to {TRIED_PORTS[-1]}"
    raise ReportError(
        f"{host}, {where} cannot be listened at: {reason}; choose another --port, or 0 for any free one"
    )
