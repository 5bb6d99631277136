"""Takes the port of the service before anything is opened; what prevents it is said in one line."""

import errno
import socket
from contextlib import ExitStack

from lamina.errors import LaminaError

_LOCAL = "listen on 127.0.0.1 (this machine only) or 0.0.0.0 (all networks; needs a key)"
_BACKLOG = 2048
_MAX_PORT = 65_535


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on all addresses of a host, with the same port; 0: any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise LaminaError(f"no host {host!r} is known here: {_LOCAL}") from None
    sockets: list[socket.socket] = []
    with ExitStack() as opened:
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = port if not sockets else sockets[0].getsockname()[1]
            try:
                one = opened.enter_context(_bind(family, (address[0], chosen, *address[2:])))
            except OSError as error:
                if sockets and error.errno == errno.EADDRNOTAVAIL:  # e.g. no IPv6 here
                    continue
                raise LaminaError(explain_port(host, port, error)) from error
            sockets.append(one)
        opened.pop_all()
    return sockets


def _bind(family: int, address: tuple[object, ...]) -> socket.socket:
    one = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # or asyncio leaves each reply waiting for 40 ms
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
        one.listen(_BACKLOG)
    except OSError:
        one.close()
        raise
    return one


def explain_port(host: str, port: int, error: OSError) -> str:
    """Why a port cannot be listened on, and what would work."""
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < _MAX_PORT else port - 1
        return (
            f"port {port} of {host} is in use by another program, perhaps another `lamina serve`:"
            f" choose another with --port {other}, or any free one with --port 0"
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"this account may not listen on port {port}: choose one above 1023, e.g. --port 8640"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine: {_LOCAL}"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"
