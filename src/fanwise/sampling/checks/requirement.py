"""What a sample must be like, and the verdict on it.

A requirement describes itself (its `description` goes into the prompt unless it is `check_only`),
says what checking it costs (its `tier`), and checks a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from fanwise.core.retry import Retry
from fanwise.models.ask import MODEL_RETRY
from fanwise.models.port import Message, Model, Options, Reply, Request


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a draft meets a requirement, why not, and how well."""

    passed: bool
    reason: str | None = None
    score: float | None = None
    requirement: str = ""
    """The name of the requirement; filled in for you."""


class Draft(str):
    """What a check is given: the text of a sample, with what else is known of it."""

    __slots__ = ("context", "messages", "reply", "value")

    reply: Reply
    messages: tuple[Message, ...]
    """What the model was asked."""
    value: Any
    """The text parsed by the schema, if there is one; of its type, if it has one."""
    context: tuple[Message, ...]
    """The `validation_context` of the call."""

    def __new__(
        cls, reply: Reply, messages: Sequence[Message] = (), context: Sequence[Message] = ()
    ) -> Draft:
        """The text of a reply."""
        self = super().__new__(cls, reply.text)
        self.reply = reply
        self.messages = tuple(messages)
        self.value = reply.value
        self.context = tuple(context)
        return self


class Tier(IntEnum):
    """What a check costs. The cheapest go first."""

    CODE = 0
    PROCESS = 1
    MODEL = 2


class Setting(msgspec.Struct, frozen=True):
    """What a check may need to know about the call to `sample`."""

    model: Model
    options: Options
    request: Request
    retry: Retry = MODEL_RETRY
    timeout: float | None = None
    """Seconds for each call that the check makes."""


class Requirement(Protocol):
    """One condition. Make it frozen, so that two with the same content are equal.

    Two attributes are optional. `needs_value = True`: skipped when the schema is not met.
    `pure = False`: checked again for a text that came before.
    """

    @property
    def description(self) -> str:
        """In words, as it is told to the model; empty: not told."""

    @property
    def check_only(self) -> bool:
        """Whether it stays out of the prompt."""

    @property
    def tier(self) -> Tier:
        """What checking it costs."""

    @property
    def name(self) -> str:
        """For reports; never empty."""

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        """The verdict. If it raises, its chain ends and the error is reported."""


def at_least_tokens(tokens: int, options: Options) -> int | None:
    """`max_tokens` for a judge, which needs more than a short answer does."""
    return None if options.max_tokens is None else max(tokens, options.max_tokens)


def merged(*lists: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """All of them, without duplicates, in the order in which they were declared."""
    found: list[Requirement] = []
    for requirement in (each for one in lists for each in one):
        if requirement not in found:
            found.append(requirement)
    return tuple(found)


def in_checking_order(requirements: Sequence[Requirement]) -> list[Requirement]:
    """The cheapest kinds first, of code the schemas first; within a kind as declared."""
    return sorted(requirements, key=lambda each: (each.tier, not hasattr(each, "schema")))
