"""Who may see the view: everything is refused that does not come from its own page.

The server is on the loopback interface, which every user of the machine, every page in every
browser on it, and a name that an attacker lets point there (DNS rebinding) can reach. So:

- `Host` must name this server, which a rebound name does not.
- A request that a page of another site makes says so in `Origin` or `Sec-Fetch-Site`.
- The address that `fanwise view` prints has a token. It becomes a cookie that scripts cannot read
  and that other sites cannot send, and disappears from the address. Cookies do not know ports:
  the name has the port, so that two views do not take each other's away.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READING = ("GET", "HEAD")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, a form's `Origin` would be `null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Sent with everything. Styles may be inline, because bars and heat maps are sized by them."""


class Access(msgspec.Struct, frozen=True):
    """What a request needs."""

    token: str
    port: int
    origins: Collection[str]
    """The addresses of this server, such as `http://127.0.0.1:7777`."""

    @property
    def cookie(self) -> str:
        return f"fanwise-view-{self.port}"

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


class AccessGuard:
    """An ASGI application that lets only permitted requests through to another."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._hosts = {origin.partition("://")[2] for origin in access.origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is not let through."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(421, "This address is not one of this server.")
        if not self._is_from_here(headers, scope["method"]):
            return _refused(403, "Another site made this request.")
        if scope["method"] in READING and (given := dict(_query(scope)).get("token")) is not None:
            return self._sign_in(scope, given)
        if not self._access.is_token(_cookies(headers).get(self._access.cookie, "")):
            told = "Open the address that `fanwise view` printed: it has a token."
            return _refused(401, f"This view needs its token. {told}")
        return None

    def _is_from_here(self, headers: Headers, method: str) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            return origin.lower() in self._access.origins
        if method not in READING:
            return False  # every browser says where a change comes from
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin") or (
            headers.get("sec-fetch-mode") == "navigate"  # a link: without the cookie it gets a 401
        )

    def _sign_in(self, scope: Scope, given: str) -> Response:
        if not self._access.is_token(given):
            return _refused(401, "This token is not that of this view: it may be an earlier one.")
        rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # `//host` would be another site
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        answer.set_cookie(
            self._access.cookie, self._access.token, httponly=True, samesite="strict", path="/"
        )
        return answer


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _cookies(headers: Headers) -> dict[str, Any]:
    return cookie_parser(headers.get("cookie", ""))


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status)
