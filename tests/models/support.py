"""A real provider that talks to the scripted server, with a limit on how long a test may hang."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fanwise.models import Message, Model, Options, Request, connect
from fanwise.testing import ScriptedServer

T = TypeVar("T")
HANG_S = 600.0


def run(main: Coroutine[Any, Any, T], within_s: float = HANG_S) -> T:
    return asyncio.run(asyncio.wait_for(main, within_s))


def model_of(server: ScriptedServer, name: str = "openai:gpt-5-mini", **fields: Any) -> Model:
    return connect({"name": name, "base_url": server.base_url, **fields})


def prompt(text: str = "how are you", *, most: int = 50, **fields: Any) -> Request:
    return Request((Message("user", text),), Options(max_tokens=most), **fields)
