"""Address of the server, its listening socket, and its token for other machines."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field

from icmodel.errors import ReportError

TRIED_PORTS = range(8000, 8020)
"""Ports to try if no port is given."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Place:
    """Address at which the server answers.

    Parameters
    ----------
    host : str
        Address or name given with ``--host``.
    port : int
        Port on which the server listens.
    token : str
        Secret in every request; empty on loopback, where requests need none.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, host: str, port: int) -> Place:
        """Return the address of a server on a host and port.

        Unless the host is loopback, the address has a new token: a secret that every request must contain.
        """
        return cls(host, port, "" if is_loopback(host) else secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """Address to open in a browser, with the token if requests need one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server.

        If the server listens on all addresses, any IP address is allowed. Unknown domain names are refused, since
        attacks by DNS rebinding use such names.
        """
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        name, port = (name, port) if name else (host, "")
        own = self.host if ":" not in self.host else f"[{self.host}]"
        if port not in ("", str(self.port)):
            return False
        if name.lower() in (*LOCAL_NAMES, own.lower()):
            return True
        return self.host in ("0.0.0.0", "::") and is_address(name.strip("[]"))


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address or localhost."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def is_address(host: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket.

    Raises
    ------
    ReportError
        If the server cannot listen on the address or the port.
    """
    if port is not None and not 0 <= port < 2**16:
        raise ReportError(
            f"port {port} is not possible: ports run from 0 to 65535, 0 for any free one"
        )
    try:  # only one lookup, since it may be slow
        family, *_, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a host name"
        raise ReportError(
            f"{host} does not resolve: {reason}; choose another --host, or leave it out"
        ) from error
    reason = ""
    for number in TRIED_PORTS if port is None else (port,):
        try:
            listening = socket.create_server((address[0], number), family=family, backlog=512)
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            # Accepted connections inherit TCP_NODELAY. Without it, answers in two parts wait 40 ms for a delayed ACK.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listening
    where = f"port {port}" if port is not None else f"ports {TRIED_PORTS[0]} to {TRIED_PORTS[-1]}"
    raise ReportError(
        f"cannot listen on {host}, {where}: {reason}; choose another --port, or 0 for any free one"
    )
