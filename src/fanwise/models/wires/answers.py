"""The answers that one attempt has opened, closed when it is over.

The SDKs of Google and Mistral do more between the head of an answer and its stream (Mistral's
waits for a thread): a cancel that falls there would leave the connection open, and the server
generating, and charging, for nobody. So their HTTP clients note every answer as its head comes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

_opened: ContextVar[list[Any] | None] = ContextVar("fanwise_answers", default=None)


@asynccontextmanager
async def answers_closed() -> AsyncGenerator[None, None]:
    """Close at the end what `note` was told within; nothing happens to those that are closed."""
    opened: list[Any] = []
    token = _opened.set(opened)
    try:
        yield
    finally:
        _opened.reset(token)
        for answer in opened:
            await answer.aclose()


async def note(answer: Any) -> None:
    """An event hook for httpx: this answer's head has come."""
    opened = _opened.get()
    if opened is not None:
        opened.append(answer)
