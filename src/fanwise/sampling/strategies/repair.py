"""Strategies that tell the model what was wrong."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fanwise.errors import UsageError
from fanwise.models.port import Message
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


def _filled(template: str, sample: Sample) -> str:
    return template.format(answer=sample.text, failures=bullets(sample.failures))


def _check_template(template: str) -> None:
    try:
        template.format(answer="", failures="")
    except (KeyError, IndexError, ValueError) as error:
        raise UsageError(
            f"the template does not format: {error}", "Use only {answer} and {failures}"
        ) from None
