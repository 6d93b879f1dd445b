"""The pieces of a reply as they come, within the same caps, budget and journal as `ask`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any, Self

from fanwise.kernel.relay import relay
from fanwise.models.ask import ask
from fanwise.models.connect import ModelLike
from fanwise.models.pieces import Listener, Piece, listening
from fanwise.models.port import Prompt, Reply


class ReplyStream:
    """`async for piece in stream(…)`. `async with` closes the connection before it goes on."""

    def __init__(
        self, model: ModelLike, prompt: Prompt, options: dict[str, Any], *, thoughts: bool
    ) -> None:
        self._replies: list[Reply] = []
        # The work must not hold this object: then leaving the loop frees it, which ends the work.
        work = partial(_ask, model, prompt, options, thoughts, self._replies)
        self._pieces: AsyncGenerator[Piece, None] = relay(work)

    @property
    def reply(self) -> Reply | None:
        """The whole reply, after the last piece."""
        return self._replies[0] if self._replies else None

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self._pieces

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pieces.aclose()


async def _ask(
    model: ModelLike,
    prompt: Prompt,
    options: dict[str, Any],
    thoughts: bool,
    replies: list[Reply],
    push: Callable[[Piece], None],
) -> None:
    listener = Listener(push, thoughts=thoughts)
    with listening(listener):
        replies.append(await ask(model, prompt, **options))
    if not listener.answered and replies[0].text:
        push(Piece(replies[0].text))  # a model that writes everything at once


def stream(
    model: ModelLike, prompt: Prompt, *, thoughts: bool = False, **options: Any
) -> ReplyStream:
    """The pieces of the answer as they come; `reply` of the stream is the whole reply.

    `thoughts`: also what the model thinks before it answers; `piece.thought` tells which is which.
    The other options are those of `ask`. Leaving the stream early cancels the call and closes its
    connection. A reply that fails after its first piece is an error: neither this model nor another
    is asked again.
    """
    return ReplyStream(model, prompt, options, thoughts=thoughts)
