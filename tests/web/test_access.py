"""Nobody else sees or changes anything: other sites, other names, no token, another view's."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from fanwise.web.access import HEADERS, Access, AccessGuard

from .asgi import HOST, ORIGIN, Answer, request

TOKEN = "a-token"
ACCESS = Access(TOKEN, 7777, {ORIGIN, "http://localhost:7777"})
SIGNED_IN = {"cookie": f"fanwise-view-7777={TOKEN}"}


async def secret(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("secret")(scope, receive, send)


def ask(address: str = "/", *, method: str = "GET", **headers: str) -> Answer:
    return asyncio.run(request(AccessGuard(secret, ACCESS), address, method=method, **headers))


def test_with_the_cookie_one_reads() -> None:
    answer = ask(**SIGNED_IN)
    assert (answer.status, answer.text) == (200, "secret")


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use() -> None:
    answer = ask(f"/runs/r?token={TOKEN}&status=failed")
    assert (answer.status, answer.headers["location"]) == (303, "/runs/r?status=failed")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"fanwise-view-7777={TOKEN};")
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert TOKEN not in answer.headers["location"] + answer.text


def test_a_sign_in_does_not_lead_to_another_site() -> None:
    assert ask(f"//evil.example/x?token={TOKEN}").headers["location"] == "/evil.example/x"


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("/", {}, 401),
        ("/?token=another", SIGNED_IN, 401),
        ("/", {"cookie": "fanwise-view-7777=another"}, 401),
        ("/", {"cookie": f"fanwise-view-8888={TOKEN}"}, 401),
        ("/", {**SIGNED_IN, "host": "evil.example:7777"}, 421),
        ("/", {**SIGNED_IN, "host": "127.0.0.1:8888"}, 421),
        (f"/?token={TOKEN}", {"host": "evil.example:7777"}, 421),
        ("/", {**SIGNED_IN, "origin": "http://evil.example"}, 403),
        ("/", {**SIGNED_IN, "origin": "null"}, 403),
        ("/", {**SIGNED_IN, "origin": "http://127.0.0.1:8888"}, 403),
        ("/", {**SIGNED_IN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("/", {**SIGNED_IN, "sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ("/", {**SIGNED_IN, "host": "LOCALHOST:7777"}, 200),
        ("/", {**SIGNED_IN, "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_who_reads(address: str, headers: dict[str, str], status: int) -> None:
    answer = ask(address, **headers)
    assert answer.status == status
    assert ("secret" in answer.text) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**SIGNED_IN, "origin": ORIGIN}, 200),
        (SIGNED_IN, 403),
        ({"origin": ORIGIN}, 401),
        ({**SIGNED_IN, "origin": "http://evil.example"}, 403),
        ({**SIGNED_IN, "sec-fetch-site": "same-origin"}, 403),
    ],
)
def test_who_changes_something(headers: dict[str, str], status: int) -> None:
    answer = ask("/runs/r/act", method="POST", **headers)
    assert answer.status == status


def test_a_token_in_the_address_changes_nothing() -> None:
    assert ask(f"/runs/r/act?token={TOKEN}", method="POST", origin=ORIGIN).status == 401


def test_every_answer_forbids_foreign_scripts_frames_and_caches() -> None:
    for answer in (ask(**SIGNED_IN), ask(), ask(host="evil.example")):
        assert answer.headers.items() >= HEADERS.items()
        assert answer.headers["cache-control"] == "no-store"
    policy = HEADERS["content-security-policy"]
    assert "script-src 'self';" in policy and "default-src 'none'" in policy
    assert HOST in ORIGIN
