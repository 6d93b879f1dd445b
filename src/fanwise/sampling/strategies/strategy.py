"""A strategy: what a chain asks next after a sample that failed, and which sample is chosen.

Yours is a class with these two methods; inherit what you do not change::

    class Shout(Strategy):
        def repair(self, request, history):
            return add_to_prompt(request, "Louder!")
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec

from fanwise.errors import ModelError
from fanwise.models.port import Message, Model, Request
from fanwise.sampling.checks.requirement import Requirement
from fanwise.sampling.samples import Sample, best


class Turn(msgspec.Struct, frozen=True):
    """The next sample of a chain: what is asked, and of whom."""

    request: Request
    model: Model


class Strategy:
    """Rejection sampling: ask the same again, with another seed, until a sample is valid."""

    requirements: Sequence[Requirement | Any] = ()
    """Added to those of the call."""
    gathers = False
    """Whether every chain goes on until it has a valid sample, for `select` to choose from;
    else the first valid sample wins."""

    def repair(
        self, turn: Turn, history: Sequence[Sample]
    ) -> Turn | Request | Awaitable[Turn | Request]:
        """What a chain asks next.

        `turn`: its first question. `history`: its samples so far, none of them valid.
        """
        return turn

    def rescue(self, turn: Turn, error: ModelError) -> Turn | None:
        """What a chain asks next whose model failed; None: the chain dies of the error."""
        return None

    def select(self, samples: Sequence[Sample]) -> Sample:
        """The one to return: of the valid samples, or of all if none is valid."""
        return best(samples)


def add_to_prompt(request: Request, text: str) -> Request:
    """The request with this at the end of what the user said last."""
    *before, last = request.messages
    if last.role != "user":
        return msgspec.structs.replace(request, messages=(*request.messages, Message("user", text)))
    joined = Message("user", f"{last.content}\n\n{text}")
    return msgspec.structs.replace(request, messages=(*before, joined))


def bullets(lines: Sequence[str]) -> str:
    """A list, one line each."""
    return "\n".join(f"- {line}" for line in lines)
