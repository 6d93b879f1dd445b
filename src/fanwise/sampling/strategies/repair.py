"""Strategies that tell the model what was wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.models.ask import ask
from fanwise.models.connect import connect
from fanwise.models.names import Spec
from fanwise.models.port import Message, Model, Options, Request
from fanwise.sampling.checks.requirement import room_for
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

MOST_TOKENS = 200
"""Room for the advice, also where answers of a word are asked for."""

HINT = """Advice for your answer, after an attempt that failed:
{advice}"""


class Repair(Strategy):
    """The reasons of the last failure go into the prompt.

    `template`: how it is said; `{answer}` and `{failures}` stand for what the model had said and
    what was wrong with it.
    """

    def __init__(self, template: str = TEMPLATE) -> None:
        _check_template(template)
        self.template = template

    def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        """The first question, and what was wrong with the last answer."""
        text = _filled(self.template, history[-1])
        return replace(turn, request=add_to_prompt(turn.request, text))


class MultiTurn(Strategy):
    """A conversation: the answer, what is wrong with it, the next answer, and so on."""

    def __init__(self, template: str = FOLLOW_UP) -> None:
        _check_template(template)
        self.template = template

    def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        """The whole conversation so far."""
        messages = list(turn.request.messages)
        for sample in history:
            messages.append(Message("assistant", sample.text))
            messages.append(Message("user", _filled(self.template, sample)))
        return replace(turn, request=replace(turn.request, messages=tuple(messages)))


class Advice(Strategy):
    """A model reads the failure and writes a hint for the next attempt.

    `model`: who writes it; default: the model that is sampled.
    """

    def __init__(self, model: str | Mapping[str, Any] | Spec | Model | None = None) -> None:
        self.model = None if model is None else connect(model)

    async def repair(self, turn: Turn, history: Sequence[Sample]) -> Turn:
        """The first question, with the hint."""
        adviser = self.model or turn.model
        task = "\n\n".join(message.content for message in turn.request.messages)
        question = ADVICE.format(
            task=task, answer=history[-1].text, failures=bullets(history[-1].failures)
        )
        options = Options(max_tokens=room_for(MOST_TOKENS, turn.request.options))
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
            f"the template has a place for {error}", "It may have {answer} and {failures}"
        ) from None
