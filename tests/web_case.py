"""A server process, and requests to it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

import checkout
from conftest import clean_environment
from icmodel.web.place import Place
from icmodel.web.server import make_app

COMMANDS = ("predict", "sweep", "compare", "evaluate", "system", "recommend")
"""Commands that have a request of the same name."""
FILES = (
    "from",
    "template",
    "workers",
    "cluster",
    "author",
    "project",
    "revision",
    "date",
    "against",
    "update",
)
"""Options of files and of reports, which no request has."""
IN_BLOCKS = ".zarr"
"""Ending of files for grids that fit in no answer."""
SWITCHES = ("--extrapolate", "--allow-gaps", "--strict")
ONLY_PRINTED = ("--all", "--why", "--json", "--no-cache")
LISTS = {"sweep": ("protocol", "metric"), "compare": ("dataset", "variant", "protocol")}
"""Options that may be repeated, by command."""


@dataclass(frozen=True)
class Server:
    """A running `icmodel serve`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def client(self) -> httpx.Client:
        """A new client of the server."""
        # Without TLS nothing is verified; to read the certificates takes longer than an answer.
        return httpx.Client(base_url=self.address, timeout=120, verify=False)

    def post(self, path: str, body: Any) -> httpx.Response:
        with self.client as client:
            return client.post(f"api/v1/{path}", json=body)

    def get(self, path: str) -> httpx.Response:
        with self.client as client:
            return client.get(f"api/v1/{path}")

    def stop(self) -> int:
        """End the server as Ctrl-C in a terminal does, which reaches its workers too; returns its exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(30)


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Start a server on a free port, and stop it at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "icmodel", "serve", "--port", "0", "--no-browser", *options],
        env={**clean_environment(), "PYTHONPATH": str(checkout.ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    server = Server(process, process.stdout.readline().strip())
    try:
        yield server
    finally:
        if process.poll() is None:
            server.stop()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


class Inside:
    """Client of an application in this process; requests run in one event loop, in a thread of its own."""

    def __init__(self, app: FastAPI, address: str, portal: BlockingPortal) -> None:
        self.portal = portal
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url=address, timeout=120)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.portal.call(partial(self.client.request, method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)


@contextmanager
def inside(place: Place, address: str = "") -> Iterator[Inside]:
    """An application at a place, and its client; ``address`` is the one that the client opens."""
    with start_blocking_portal() as portal:
        yield Inside(make_app(place), address or place.address, portal)


def request_of(line: str) -> tuple[str, dict[str, Any]] | None:
    """The request that asks what a command line asks; None if it needs or fills a file, or has no request."""
    words = shlex.split(line)[1:]
    if words[:2] == ["system", "predict"]:
        words.pop(1)
    if not words or words[0] not in COMMANDS:
        return None
    command, body, at = words[0], dict[str, Any](), 1
    while at < len(words):
        word = words[at]
        at += 1
        if word in ONLY_PRINTED:
            continue
        if word in SWITCHES:
            body[word[2:].replace("-", "_")] = True
        elif word == "-o":
            if words[at].endswith(IN_BLOCKS):
                return None
            at += 1
        elif word.startswith("--"):
            name = word[2:].replace("-", "_")
            if name in FILES:
                return None
            value = words[at]
            at += 1
            if name == "option":
                axis, _, chosen = value.partition("=")
                body.setdefault("option", {})[axis] = chosen
            elif name in LISTS.get(command, ()):
                body.setdefault(name, []).append(value)
            else:
                body[name] = value
        elif "." in word or word in ("list", "show", "check", "import", "export", "new"):
            return None
        else:
            body["usecase" if command == "evaluate" else "system"] = word
    named = (body.get("dataset"), body.get("usecase"))
    if any("/" in str(one) or "my-" in str(one) or ".toml" in str(one) for one in named):
        return None
    return command, body


def problem(response: httpx.Response) -> dict[str, Any]:
    """The problem that a response tells; every one has a sentence and no path of this machine."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    document: dict[str, Any] = json.loads(response.text)
    assert {"type", "title", "status", "detail"} <= set(document)
    assert document["status"] == response.status_code
    assert str(checkout.ROOT) not in response.text
    assert "Traceback" not in response.text
    return document
