"""What a sample must be like, and the verdict on it.

A requirement says what it wants (its `description`, which goes into the prompt unless it is
`check_only`), what checking it costs (its `tier`), and checks a draft.
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
    """Which one; filled in for you."""


class Draft(str):
    """What a check is given: the text, and around it what else is known of the sample."""

    __slots__ = ("context", "messages", "reply", "value")

    reply: Reply
    messages: tuple[Message, ...]
    """What the model was asked."""
    value: Any
    """The text parsed by the schema, if there is one."""
    context: tuple[Message, ...]
    """The `validation_context` of the call."""

    def __new__(
        cls, reply: Reply, messages: Sequence[Message] = (), context: Sequence[Message] = ()
    ) -> Draft:
        """A reply as a text."""
        self = super().__new__(cls, reply.text)
        self.reply = reply
        self.messages = tuple(messages)
        self.value = reply.value
        self.context = tuple(context)
        return self


class Tier(IntEnum):
    """What a check costs. The cheap ones go first."""

    CODE = 0
    PROCESS = 1
    MODEL = 2


class Setting(msgspec.Struct, frozen=True):
    """What a check may need of the call around it."""

    model: Model
    options: Options
    request: Request
    retry: Retry = MODEL_RETRY
    timeout: float | None = None
    """For each call that it makes."""


class Requirement(Protocol):
    """One condition. Frozen, so that two of the same kind and content are equal."""

    @property
    def description(self) -> str:
        """In words, as a model is told it; empty: nothing to tell."""

    @property
    def check_only(self) -> bool:
        """Whether it stays out of the prompt."""

    @property
    def tier(self) -> Tier:
        """What checking it costs."""

    @property
    def name(self) -> str:
        """For reports: never empty."""

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        """The verdict. An error raised here ends the chain, and is reported."""


def room_for(tokens: int, options: Options) -> int | None:
    """The most tokens of a call beside the samples: it says more than a short answer does."""
    return None if options.max_tokens is None else max(tokens, options.max_tokens)


def merged(*lists: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """All of them, each once, in the order in which they were declared."""
    found: list[Requirement] = []
    for requirement in (each for one in lists for each in one):
        if requirement not in found:
            found.append(requirement)
    return tuple(found)


def in_checking_order(requirements: Sequence[Requirement]) -> list[Requirement]:
    """The cheap kinds first; as declared within a kind."""
    return sorted(requirements, key=lambda each: each.tier)
