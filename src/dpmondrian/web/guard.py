"""Who may talk to the server: only the browser that was opened with its one-time token, and only from the server's own pages.

Every request passes here first. Refused are requests to another host name (DNS rebinding), posts from other sites, requests without the
cookie, and bodies that are too large. What passes is answered under a policy by which a page loads nothing from elsewhere.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = ("GET", "HEAD")
FORM_BYTES = 2**20  # a form with a thousand columns has less
DROP_PATH = "/drop"  # the one address that takes a file

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
"""Of a report, which is an origin of its own here; by its own policy it runs only the script and the style that it was made with."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_USED = (
    "This address was opened before, and works once. Use the browser window that it opened, or start 'dpm web' again."
)
_UNKNOWN = "Open the address that 'dpm web' printed when it started: only that browser may use this page."


class Guard:
    """The outermost layer of the server.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    port : int
        On which the server listens.
    largest_drop : int
        Bytes that a dropped file may have.
    """

    def __init__(self, app: ASGIApp, port: int, largest_drop: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie, self._secret = f"dpm-{port}", secrets.token_urlsafe(32)
        self._largest_drop = largest_drop
        self._token_used = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over a web socket
            raise ValueError("Only HTTP is spoken here.")
        limit = self._largest_drop if scope["path"] == DROP_PATH else FORM_BYTES
        answer = self._refusal(scope, limit) or self._entry(scope) or self._stranger(scope)
        app = self._app if answer is None else answer
        await app(scope, _bounded(receive, limit), _with_headers(send))

    def _refusal(self, scope: Scope, limit: int) -> Response | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") != [headers.get("host")] or headers["host"] not in self._hosts:
            return _refused("This server answers only under its own address, 127.0.0.1.", 421)
        if not self._is_from_here(scope["method"], headers):
            return _refused("This request comes from another site.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            return _refused(too_large(limit), 413)
        return None

    def _is_from_here(self, method: str, headers: Headers) -> bool:
        """Return whether a request was made by a page of this server or, if it changes nothing, by opening an address."""
        site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
        if method in SAFE_METHODS:
            return site in ("same-origin", "none") and origin in (None, f"http://{headers['host']}")
        return site in ("same-origin", "none") and origin == f"http://{headers['host']}"

    def _entry(self, scope: Scope) -> Response | None:
        """Return the exchange of the token for a cookie, or None if this is another request."""
        prefix, _, given = scope["path"].rpartition("/")
        if prefix != "/open" or self._is_known(scope):
            return RedirectResponse("/", 303) if prefix == "/open" else None
        if self._token_used or not hmac.compare_digest(given.encode(), self.token.encode()):
            return _refused(_USED if self._token_used else _UNKNOWN, 403)
        self._token_used = True
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._secret, path="/", httponly=True, samesite="strict")
        return answer

    def _stranger(self, scope: Scope) -> Response | None:
        return None if self._is_known(scope) else _refused(_UNKNOWN, 403)

    def _is_known(self, scope: Scope) -> bool:
        try:
            found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._secret.encode())


def too_large(limit: int) -> str:
    """Return what to say of a body beyond the limit."""
    return (
        f"This is larger than {limit / 2**20:,.0f} MiB, the limit of this page. Choose the file in its folder instead of dropping it: "
        "then nothing is copied."
    )


def _refused(sentence: str, status: int) -> Response:
    return PlainTextResponse(f"{sentence}\n", status)


class TooLargeError(Exception):
    """A body turned out to be larger than is taken."""


def _bounded(receive: Receive, limit: int) -> Receive:
    """Return the receiver of a body that ends with an error when more arrives than was announced or is taken."""
    n_bytes = 0

    async def bounded() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > limit:
            raise TooLargeError(too_large(limit))
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    async def guarded(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded
