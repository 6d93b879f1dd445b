"""Strategies that tell the model what was wrong."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.models.ask import ask
from fanwise.models.connect import ModelLike, connect
from fanwise.models.port import Message, Options, Request
from fanwise.sampling.checks.requirement import at_least_tokens
from fanwise.sampling.samples import Sample
from fanwise.sampling.strategies.strategy import Strategy, Turn, add_to_prompt, bullets

TEMPLATE = """Your last answer was not good:

<answer>
{answer}
</answer>

What was wrong with it:
{failures}

Answer again, and mend this."""

FOLLOW_UP = """That is not good yet:
{failures}

Answer again, and mend this. Give only the new answer."""

ADVICE = """A model was given a task, and its answer failed some requirements.

<task>
{task}
</task>

<answer>
{answer}
</answer>

What was wrong:
{failures}

Write one or two sentences of advice to the model for its next attempt: what to do differently. \
Do not write the answer itself."""

LEAST_TOKENS = 200
"""At least this many for the advice, even where answers are kept short."""

HINT = """Advice for your answer, after an attempt that failed:
{advice}"""


class Repair(Strategy):
    """Adds what was wrong with the last answer to the prompt.

    `template`: with `{answer}` and `{failures}` for the last answer and what was wrong with it.
    """

    def __init__(self, template: str = TEMPLATE) -> None:
        _check_template(template)
        self.template = template

    def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        text = _filled(self.template, history[-1])
        return replace(turn, request=add_to_prompt(turn.request, text))


class MultiTurn(Strategy):
    """Continues the conversation: the answer, what is wrong with it, the next answer, and so on."""

    def __init__(self, template: str = FOLLOW_UP) -> None:
        _check_template(template)
        self.template = template

    def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        messages = list(turn.request.messages)
        for sample in history:
            messages.append(Message("assistant", sample.text))
            messages.append(Message("user", _filled(self.template, sample)))
        return replace(turn, request=replace(turn.request, messages=tuple(messages)))


class Advice(Strategy):
    """Lets a model read the failure and write a hint for the next attempt.

    `model`: the adviser; default: the model that is sampled.
    """

    def __init__(self, model: ModelLike | None = None) -> None:
        self.model = None if model is None else connect(model)

    async def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        adviser = self.model or turn.model
        task = "\n\n".join(message.content for message in turn.request.messages)
        question = ADVICE.format(
            task=task, answer=history[-1].text, failures=bullets(history[-1].failures)
        )
        options = Options(max_tokens=at_least_tokens(LEAST_TOKENS, turn.request.options))
        request = Request((Message("user", question),), options, seed=history[-1].seed)
        reply = await ask(adviser, request, name=f"advice {adviser.name}")
        hint = HINT.format(advice=reply.text.strip())
        return replace(turn, request=add_to_prompt(turn.request, hint))


def _filled(template: str, sample: Sample) -> str:
    return template.format(answer=sample.text, failures=bullets(sample.failures))


def _check_template(template: str) -> None:
    try:
        template.format(answer="", failures="")
    except (KeyError, IndexError, ValueError) as error:
        raise UsageError(
            f"the template does not format: {error}", "Use only {answer} and {failures}"
        ) from None
