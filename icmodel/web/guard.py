"""Guard of the server: checks of host, token and origin, limits of requests, and security headers.

The guard runs before every route. It reads the whole body within `BODY_S`, so no route waits for a slow client. It
refuses requests whose Host header names another host, and requests from pages of other sites. A browser names the site
of the page in the header Origin or Sec-Fetch-Site.
"""

from __future__ import annotations

import secrets
import sys
import traceback
from urllib.parse import parse_qsl, urlencode

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from icmodel.web.place import Place
from icmodel.web.problems import Problem

LARGEST_BODY = 2**20
LARGEST_UPLOAD = 16 * 2**20
"""Maximum size of a body, and of a body with files [B]."""
UPLOADS = ("/api/v1/ingest",)
BODY_S = 15.0
"""Maximum time for the arrival of a whole body [s]."""
READING = ("GET", "HEAD", "OPTIONS")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """ASGI middleware that checks each request before the application sees it."""

    def __init__(self, app: ASGIApp, place: Place) -> None:
        self.app, self.place = app, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on with its whole body."""
        if scope["type"] == "http":
            await self.answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self.app(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request. A refusal or an unexpected exception becomes problem details."""
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self.check_origin(scope, headers)
            if self.place.token and not self.has_token(headers):
                await self.first_visit(Request(scope))(scope, receive, send_guarded)
                return
            body = await read_body(scope, headers, receive)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel_when_closed, receive, tasks.cancel_scope)
                await self.app(scope, replay(body, receive), send_guarded)
                tasks.cancel_scope.cancel()
        except Problem as problem:
            await problem.response()(scope, receive, send_guarded)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            if not started:
                sentence = (
                    "icmodel has a defect: the terminal of the server shows it; please report it"
                )
                await Problem(500, sentence).response()(scope, receive, send_guarded)

    def check_origin(self, scope: Scope, headers: Headers) -> None:
        """Refuse a request to another host, or from a page of another site.

        Raises
        ------
        Problem
            If Host is not this server, or the request comes from another origin.
        """
        host = headers.get("host", "")
        if not self.place.knows(host):
            raise Problem(
                403,
                f"the host {host[:80]!r} is not this server: open the address that icmodel serve prints",
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        reading = scope["method"] in READING
        navigation = reading and headers.get("sec-fetch-mode") == "navigate"
        foreign = site not in ("none", "same-origin") and not navigation
        if foreign or (origin is not None and origin not in (f"http://{host}", f"https://{host}")):
            raise Problem(
                403, "another site sent this request: only this server's own pages may ask"
            )

    # --- token --------------------------------------------------------------------------------

    @property
    def cookie(self) -> str:
        """Name of the cookie. It contains the port, since browsers share cookies between ports."""
        return f"icmodel-{self.place.port}"

    def has_token(self, headers: Headers) -> bool:
        """Whether a request has the token, in the header Authorization or in the cookie."""
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        given = [bearer.strip()] if kind.lower() == "bearer" else []
        given.append(cookie_parser(headers.get("cookie", "")).get(self.cookie, ""))
        own = self.place.token.encode()
        return any(secrets.compare_digest(one.encode(), own) for one in given)

    def first_visit(self, request: Request) -> RedirectResponse:
        """Answer the first request, whose address contains the token. Set a cookie, and redirect without the token.

        Raises
        ------
        Problem
            If the address has no token, or a wrong one.
        """
        given = request.query_params.get("token", "")
        if request.method != "GET" or not secrets.compare_digest(
            given.encode(), self.place.token.encode()
        ):
            sentence = (
                "this server needs its token: open the address that `icmodel serve` printed, "
            )
            sentence += "or send Authorization: Bearer TOKEN"
            raise Problem(401, sentence, headers={"WWW-Authenticate": "Bearer"})
        rest = [pair for pair in parse_qsl(request.url.query) if pair[0] != "token"]
        path = f"/{request.url.path.lstrip('/')}"  # one slash only: //name would be another server
        response = RedirectResponse(path + (f"?{urlencode(rest)}" if rest else ""), 303)
        response.set_cookie(self.cookie, self.place.token, httponly=True, samesite="lax")
        return response


async def read_body(scope: Scope, headers: Headers, receive: Receive) -> bytes:
    """Read the whole body of a request, if it is neither too large nor too slow.

    Raises
    ------
    Problem
        If the body is larger than allowed, or does not arrive within `BODY_S`.
    """
    most = LARGEST_UPLOAD if scope["path"] in UPLOADS else LARGEST_BODY
    too_large = Problem(
        413, f"the body is larger than {most} B: send less", headers={"Connection": "close"}
    )
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > most:
        raise too_large
    body = bytearray()
    with anyio.move_on_after(BODY_S):
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return bytes(body)
            body += message.get("body", b"")
            if len(body) > most:
                raise too_large
            more = message.get("more_body", False)
        return bytes(body)
    sentence = f"the body did not arrive within {BODY_S:g} s: send it faster"
    raise Problem(408, sentence, headers={"Connection": "close"})


async def cancel_when_closed(receive: Receive, work: anyio.CancelScope) -> None:
    """Cancel the work on a request when its client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


def replay(body: bytes, receive: Receive) -> Receive:
    """Make an ASGI receive function for a request whose body was already read.

    Its first call returns this body, and further calls the client's next messages.
    """
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
