"""A language model that says what the test tells it to.

It passes the contract tests of the real ones: it counts tokens, checks schemas and fails with
the same errors. `gate.close()` holds its replies, so that a test can look at what is in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from fanwise.core.outcome import Usage
from fanwise.models.finish import finish
from fanwise.models.names import Price
from fanwise.models.port import Reply, Request, Tokens
from fanwise.models.prices import at_price, most_input
from fanwise.testing.gate import Gate

Answer = str | Reply | BaseException
Script = Iterable[Answer] | Callable[[Request], Answer | Awaitable[Answer]]
MOST_OUTPUT = 100


class ScriptedModel:
    """`ScriptedModel(["yes", ModelRateLimited("busy"), "no"])`, or a function of the request.

    An answer is a text, a whole `Reply`, or an error to be raised. A text has as many tokens as
    words. `price`: dollars for a million tokens; without it the price is unknown.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted:model",
        key: str | None = None,
        price: Price | None = None,
    ) -> None:
        self.name = name
        self.provider = name.partition(":")[0]
        self.key = key
        self.gate = Gate()
        self.requests: list[Request] = []
        """All that were made, in order."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.cancelled = 0
        self._price = price
        self._answer = script if callable(script) else _one_by_one(script)

    def __repr__(self) -> str:
        return f"<ScriptedModel {self.name}, asked {len(self.requests)} times>"

    def estimate(self, request: Request) -> Usage:
        """As for a real model; without `max_tokens` replies are taken to be 100 tokens long."""
        given = request.options.max_tokens
        tokens = Tokens(most_input(request), MOST_OUTPUT if given is None else given)
        return Usage(1, tokens.total or 0, at_price(tokens, self._price))

    async def reply(self, request: Request) -> Reply:
        """The next answer of the script."""
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._reply(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1

    async def _reply(self, request: Request) -> Reply:
        began = asyncio.get_running_loop().time()
        answer = self._answer(request)
        if not isinstance(answer, str | Reply | BaseException):
            answer = await answer
        await asyncio.sleep(0)  # no model answers before it was asked
        await self.gate.pass_through()
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            ran_s = asyncio.get_running_loop().time() - began
            tokens = Tokens(_words(m.content for m in request.messages), _words([answer]))
            usd = at_price(tokens, self._price)
            answer = Reply(answer, self.name, None, tokens, usd, ran_s, ran_s, "stop")
        return finish(self, request, answer)


def _words(texts: Iterable[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _one_by_one(answers: Iterable[Answer]) -> Callable[[Request], Answer]:
    left = iter(answers)

    def answer(_: Request) -> Answer:
        for found in left:
            return found
        raise AssertionError("the script has no answer left")

    return answer
