"""``icmodel serve``: pages in a browser (the workbench), and the HTTP API."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from importlib.util import find_spec
from typing import Annotated

import typer

from icmodel.cli.options import make_app, option
from icmodel.cli.output import print_text
from icmodel.errors import ReportError

app = make_app()

NEEDED = ("fastapi", "uvicorn")
"""Modules that ``icmodel serve`` needs. The extra ``web`` installs them."""

Port = Annotated[
    int | None,
    option(
        "port", "N", "TCP port to listen on; 0 for any free port.", "first free port from 8000 on"
    ),
]
Host = Annotated[
    str,
    option(
        "host",
        "ADDRESS",
        "Address to listen on. If it is not loopback, every request needs the token in the printed address.",
        "127.0.0.1",
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]


@app.command(short_help="Serve the workbench: pages in a browser, and an HTTP API.")
def serve(*, port: Port = None, host: Host = "127.0.0.1", no_browser: NoBrowser = False) -> None:
    """Serve the workbench on this machine: pages in a browser, and an HTTP API under /api/v1.

    The first line of the output is the address. The pages load nothing from other servers. Unless
    --host names another address, the server accepts connections from this machine only. /docs lists
    the requests of the API. Ctrl-C ends the server.

    \b
    icmodel serve
    icmodel serve --port 0 --no-browser
    icmodel serve --host 0.0.0.0 --port 9000
    """  # noqa: D301
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ReportError(
            f"serve needs {' and '.join(missing)}, which is not installed: run `pip install 'icmodel[web]'`"
        )
    from icmodel.web.place import Place, listen

    # The socket listens before the server is imported, so that a client can connect at once.
    listening = listen(host, port)
    place = Place.of(host, listening.getsockname()[1])
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # an import may swallow KeyboardInterrupt
        signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    print_text(f"{place.address}\n")
    if not no_browser:
        import webbrowser

        webbrowser.open(place.address)

    from icmodel.web.server import run

    with suppress(KeyboardInterrupt):
        signal.signal(signal.SIGINT, before)
        run(place, listening)
