"""Budget forcing: the model thinks for as many tokens as you say, no more and no fewer.

The thinking is a prefill: an assistant's message that begins with `<think>` and that the model
continues. When the tokens are used up the tag is closed for it; when it closes the tag too early,
"Wait" is written in its place, and it thinks on. The method is from the s1 paper
(arXiv:2501.19393). Each pass is a call of its own: bounded, recorded and paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from fanwise.core.caps import whole
from fanwise.errors import UsageError
from fanwise.models.port import Message, Reply, Request, Tokens
from fanwise.sampling.strategies.strategy import Ask, Strategy, Turn, Wrapping

N = TypeVar("N", int, float)
PASSES = 8
"""Most calls for the thinking of one sample: a model that thinks in tiny steps is cut off."""


class BudgetForcing(Wrapping):
    """Thinking of `at_least` to `at_most` tokens, then the answer.

    `more`: what is written where the model stops thinking too early. `answer`: how the answer
    begins, such as "The final answer is:". `answer_tokens`: the longest answer; default: the
    `max_tokens` of the options. `tags`: around the thinking of this model. `repair`: what a chain
    asks after a failure; default: the same again.

    The server must continue an assistant's message at the end, as llama.cpp, Ollama and vLLM do.
    The thinking is in `reply.reasoning`; it stays below `at_least` where the model has nothing more
    to say, and after eight passes.
    """

    def __init__(
        self,
        at_most: int = 4096,
        *,
        at_least: int = 0,
        more: str = "Wait,",
        answer: str = "",
        answer_tokens: int | None = None,
        tags: tuple[str, str] = ("<think>", "</think>"),
        repair: Strategy | None = None,
    ) -> None:
        super().__init__(repair)
        self.at_most = whole("at_most", at_most)
        self.at_least = whole("at_least", at_least, least=0)
        if at_least > at_most:
            raise UsageError(f"at_least is {at_least}, and at_most {at_most}", "Swap them")
        if not more or not all(tags):
            raise UsageError("`more` or one of `tags` is empty", "Give a text")
        self.more, self.answer, self.tags = more, answer, tuple(tags)
        self.answer_tokens = (
            None if answer_tokens is None else whole("answer_tokens", answer_tokens)
        )

    async def reply(self, turn: Turn, ask: Ask) -> Reply:
        if turn.request.messages[-1].role == "assistant":
            step = "Leave out the assistant's message at the end"
            raise UsageError("budget forcing needs the last message for itself", step)
        begin, end = self.tags
        thought, left, passes = "", self.at_most, list[Reply]()
        while left > 0 and len(passes) < PASSES:
            request = _continued(turn.request, f"{begin}\n{thought}", left, [end])
            passes.append(await ask(turn.model, replace(request, schema=None, tools=())))
            said = passes[-1].reasoning + passes[-1].text.partition(end)[0]
            used = passes[-1].usage.output
            thought, left = thought + said, left - (left if used is None else max(1, used))
            if not said.strip() or self.at_most - left >= self.at_least:
                break
            thought = f"{thought.rstrip()}\n{self.more}"
        before = f"{begin}\n{thought.rstrip()}\n{end}\n\n{self.answer}"
        most = self.answer_tokens or turn.request.options.max_tokens
        last = await ask(turn.model, _continued(turn.request, before, most, ()))
        return _joined(thought.strip(), [*passes, last])


def _continued(request: Request, prefill: str, most: int | None, stop: Sequence[str]) -> Request:
    options = replace(
        request.options, max_tokens=most, stop=(*request.options.stop, *stop), tool_choice=None
    )
    return replace(
        request,
        messages=(*request.messages, Message("assistant", prefill.rstrip())),
        options=options,
    )


def _joined(thought: str, passes: Sequence[Reply]) -> Reply:
    """One reply: the answer of the last pass, the cost of all."""
    return replace(
        passes[-1],
        reasoning=thought,
        usage=Tokens(
            _sum([each.usage.input for each in passes]),
            _sum([each.usage.output for each in passes]),
            sum(each.usage.cached for each in passes),
        ),
        usd=_sum([each.usd for each in passes]),
        first_token_s=passes[0].first_token_s,
        ran_s=sum(each.ran_s for each in passes),
        from_cache=all(each.from_cache for each in passes),
    )


def _sum(values: Sequence[N | None]) -> N | None:
    """None: at least one is unknown."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None
