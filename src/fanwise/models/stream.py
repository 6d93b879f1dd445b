"""The pieces of a reply as they come, within the same caps, budget and journal as `ask`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Self

from msgspec.structs import replace

from fanwise.core.retry import as_retry
from fanwise.kernel.relay import relay
from fanwise.models.ask import MODEL_RETRY, ask, worth_a_retry
from fanwise.models.connect import ModelLike
from fanwise.models.pieces import listening
from fanwise.models.port import Prompt, Reply


class ReplyStream:
    """`async for piece in stream(…)`. Use `async with` where you may leave before the end."""

    def __init__(self, model: ModelLike, prompt: Prompt, options: dict[str, Any]) -> None:
        self.reply: Reply | None = None
        """The whole reply, after the last piece."""
        self._model = model
        self._prompt = prompt
        self._options = options
        self._pieces: AsyncGenerator[str, None] = relay(self._ask)

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pieces.aclose()

    async def _ask(self, push: Callable[[str], None]) -> None:
        begun = False

        def hear(piece: str) -> None:
            nonlocal begun
            begun = True
            push(piece)

        given = as_retry(self._options.pop("retry", MODEL_RETRY), worth_a_retry)
        # What was read cannot be taken back: from then on an error is an error.
        retry = replace(given, on=lambda error: not begun and given.wants(error, 1))
        with listening(hear):
            self.reply = await ask(self._model, self._prompt, retry=retry, **self._options)
        if not begun:
            push(self.reply.text)  # a model that says all at once


def stream(model: ModelLike, prompt: Prompt, **options: Any) -> ReplyStream:
    """The pieces of the reply's text as they come; `reply` of the stream is all of it.

    Takes what `ask` takes. Leaving it early cancels the call and closes its connection. An attempt
    that fails after its first piece is not made again.
    """
    return ReplyStream(model, prompt, options)
