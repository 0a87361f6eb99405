# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""A filter between the network and the page, which serves the page alone and keeps the browser on this server.

The server of gradio also accepts uploads, serves files and fetches addresses. A page of texts does not need these.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

MAX_BODY = 4_000_000  # bytes of a request

_READ = ("/assets/", "/static/", "/gradio_api/heartbeat/")
_READ_EXACTLY = {
    "/",
    "/config",
    "/favicon.ico",
    "/manifest.json",
    "/theme.css",
    "/gradio_api/info",
    "/gradio_api/queue/data",
    "/gradio_api/startup-events",
}
_REQUEST = "/gradio_api/queue/join"
_WRITE = {_REQUEST, "/gradio_api/cancel", "/gradio_api/reset"}

# The page carries its scripts inside itself and builds its templates from text, hence "unsafe". Nothing may be fetched
# from, or sent to, another machine.
_POLICY = (
    b"default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; object-src 'none'; form-action 'self'; "
    b"base-uri 'self'; frame-ancestors 'self'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """ASGI middleware that answers 403 to requests that the page does not need, and 413 to requests that are too large.

    A request may hold texts and numbers only: gradio would open anything that looks like a file, a path or an address.

    Args:
        hosts: the names under which the page may be requested; None: any. Other web sites then cannot reach the page
            through a domain of their own that resolves to this machine (DNS rebinding).
    """

    def __init__(self, app: Any, hosts: frozenset[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal:
            await _refuse(send, *refusal)
            return
        if scope["path"].rstrip("/") == _REQUEST:
            body = await _read(receive)
            if not _is_plain(body):
                await _refuse(send, 403, "a request holds texts and numbers only")
                return
            receive = _again(body, receive)

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self.app(scope, receive, send_with_policy)

    def _refusal(self, scope: MutableMapping[str, Any]) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").rpartition(":")[0] or headers.get(b"host", b"").decode()
        if scope["type"] != "http" or not _is_needed(scope["method"], scope["path"]):
            return 403, "this page does not serve that"
        if self.hosts is not None and host not in self.hosts:
            return 403, "ask for this page by the address that was printed"
        length = headers.get(b"content-length", b"")
        # A body without a stated length could have any size.
        if scope["method"] == "POST" and not (length.isdigit() and int(length) <= MAX_BODY):
            return 413, f"a request may have {MAX_BODY:,} bytes"
        return None


def _is_needed(method: str, path: str) -> bool:
    if method == "POST":
        return path.rstrip("/") in _WRITE
    return method in ("GET", "HEAD") and (path in _READ_EXACTLY or path.startswith(_READ)) and ".." not in path


async def _refuse(send: Send, status: int, message: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode()})


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, then further messages."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _is_plain(body: bytes) -> bool:
    """Return True if the data of a request are texts and numbers only.

    >>> _is_plain(b'{"data": ["the cat", 30, null]}'), _is_plain(b'{"data": [{"path": "/etc/passwd"}]}')
    (True, False)
    """
    try:
        data = json.loads(body)["data"]
        return isinstance(data, list) and not any(isinstance(part, dict | list) for part in data)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
