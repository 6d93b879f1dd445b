"""The pieces of a reply as they come, within the same caps, budget and journal as `ask`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Self

from fanwise.kernel.relay import relay
from fanwise.models.ask import ask
from fanwise.models.connect import ModelLike
from fanwise.models.pieces import Listener, Piece, listening
from fanwise.models.port import Prompt, Reply


class ReplyStream:
    """`async for piece in stream(…)`. Use `async with` where you may leave before the end."""

    def __init__(
        self, model: ModelLike, prompt: Prompt, options: dict[str, Any], *, thoughts: bool
    ) -> None:
        self.reply: Reply | None = None
        """The whole reply, after the last piece."""
        self._model = model
        self._prompt = prompt
        self._options = options
        self._thoughts = thoughts
        self._pieces: AsyncGenerator[Piece, None] = relay(self._ask)

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self._pieces

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pieces.aclose()

    async def _ask(self, push: Callable[[Piece], None]) -> None:
        listener = Listener(push, thoughts=self._thoughts)
        with listening(listener):
            self.reply = await ask(self._model, self._prompt, **self._options)
        if not listener.answered and self.reply.text:
            push(Piece(self.reply.text))  # a model that writes everything at once


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
