"""A language model as a proposer: one call for one proposal, within the caps and budget around.

An answer that is no candidate is sent back once with the reason, which is cheaper than a whole
round; after that it is told as unusable. Each of several asks has its own seed and its own idea
to follow, for a model that is asked eight times the same gives the same eight times.
"""

from __future__ import annotations

from fanwise.core.retry import Retry
from fanwise.models import MODEL_RETRY, Model, Options, Reply, Request, ask
from fanwise.models.port import Message
from fanwise.optimize.propose.answers import NoCandidate, read_answer
from fanwise.optimize.propose.port import ProposalRequest, Proposals, Unusable
from fanwise.optimize.propose.prompt import SYSTEM, again, bounded, prompt

TRIES = 2
"""Answers to one ask, the one after the reason included."""
MOST_KEPT = 2_000
"""Characters of an unusable answer that are kept."""
MOST_SENT_BACK = 20_000
ROUND = 1_000
"""The distance between the seeds of two rounds."""


class ModelProposer:
    """Asks a model. `options`: `max_tokens` bounds an answer, and what is reserved for it."""

    def __init__(
        self,
        model: Model,
        *,
        options: Options = Options(),  # noqa: B008 - frozen
        retry: Retry = MODEL_RETRY,
        timeout: float | None = None,
    ) -> None:
        self._model = model
        self._options = options
        self._retry = retry
        self._timeout = timeout

    @property
    def name(self) -> str:
        return self._model.name

    async def propose(self, ask: ProposalRequest) -> Proposals:
        """One candidate, or the reason why there is none. `ModelError` without an answer."""
        messages = [Message("system", SYSTEM), Message("user", prompt(ask))]
        for left in reversed(range(TRIES)):
            reply = await self._reply(ask, messages)
            text = reply.text.encode("utf-8", "replace").decode()  # JSON can hold what is no text
            try:
                read = read_answer(text, ask.function)
            except NoCandidate as problem:
                why = _why(problem, reply)
                if not left:
                    return _unusable(ask, why, text)
                answer = bounded(text, MOST_SENT_BACK) or "(nothing)"
                messages += [Message("assistant", answer), Message("user", again(why, ask))]
            else:
                return Proposals(candidates=(ask.candidate(read.kind, read.content),))
        raise AssertionError("unreachable")

    async def _reply(self, about: ProposalRequest, messages: list[Message]) -> Reply:
        seed = about.round * ROUND + about.number + 1
        request = Request(tuple(messages), self._options, seed=seed)
        return await ask(self._model, request, retry=self._retry, timeout=self._timeout)


def _why(problem: NoCandidate, reply: Reply) -> str:
    cut = " (it was cut off: raise max_tokens)" if reply.finish_reason == "length" else ""
    return f"{problem}{cut}"


def _unusable(ask: ProposalRequest, why: str, text: str) -> Proposals:
    told = Unusable(name=ask.name, reason=why, answer=bounded(text, MOST_KEPT))
    return Proposals(unusable=(told,))
