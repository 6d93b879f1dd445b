"""The pieces of a reply as they come, within the same caps, budget and journal as `ask`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Self

from msgspec.structs import replace

from fanwise.core.retry import as_retry
from fanwise.kernel.relay import relay
from fanwise.models.ask import MODEL_RETRY, ask, worth_a_retry
from fanwise.models.connect import ModelLike
from fanwise.models.pieces import Piece, listening
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
        begun = answered = False

        def hear(piece: Piece) -> None:
            nonlocal begun, answered
            if self._thoughts or not piece.thought:
                begun, answered = True, answered or not piece.thought
                push(piece)

        given = as_retry(self._options.pop("retry", MODEL_RETRY), worth_a_retry)
        # What was read cannot be taken back: from then on an error is an error.
        retry = replace(given, on=lambda error: not begun and given.wants(error, 1))
        with listening(hear):
            self.reply = await ask(self._model, self._prompt, retry=retry, **self._options)
        if not answered and self.reply.text:
            push(Piece(self.reply.text))  # a model that writes everything at once


def stream(
    model: ModelLike, prompt: Prompt, *, thoughts: bool = False, **options: Any
) -> ReplyStream:
    """The pieces of the answer as they come; `reply` of the stream is the whole reply.

    `thoughts`: also what the model thinks before it answers; `piece.thought` tells which is which.
    The other options are those of `ask`. Leaving the stream early cancels the call and closes its
    connection. An attempt that fails after its first piece is not made again.
    """
    return ReplyStream(model, prompt, options, thoughts=thoughts)
