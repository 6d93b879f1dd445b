"""Requirements that code can check: functions, rewards, patterns, schemas, commands."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import msgspec

from fanwise.errors import BadVerdict, CommandFailed, UsageError
from fanwise.kernel.user_call import name_of, perform
from fanwise.models.names import PROVIDERS
from fanwise.models.output import Mismatch, parse
from fanwise.models.port import Schema
from fanwise.processes import Command, require_success, run_command
from fanwise.sampling.checks.requirement import Draft, Setting, Tier, Verdict
from fanwise.sampling.checks.typed import WrongValue, as_type

MOST_REASON = 2_000

Answer = bool | tuple[bool, str] | Verdict
Check = Callable[[Draft], Answer | Awaitable[Answer]]
Score = Callable[[Draft], float | Awaitable[float]]


class FunctionCheck(msgspec.Struct, frozen=True):
    """A function that says whether a draft passes."""

    tier: ClassVar[Tier] = Tier.CODE
    needs_value: ClassVar[bool] = True

    function: Check
    description: str = ""
    check_only: bool = False
    pure: bool = True

    @property
    def name(self) -> str:
        return self.description or name_of(self.function)

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        return as_verdict(self.name, await perform(self.function, draft))


class RewardCheck(msgspec.Struct, frozen=True):
    """A function that scores a draft. `at_least`: the lowest score that passes; None: any."""

    tier: ClassVar[Tier] = Tier.CODE
    needs_value: ClassVar[bool] = True

    function: Score
    at_least: float | None = None
    description: str = ""
    check_only: bool = False
    pure: bool = True

    @property
    def name(self) -> str:
        least = "" if self.at_least is None else f" ≥ {self.at_least:g}"
        return self.description or f"{name_of(self.function)}{least}"

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        score = as_score(self.name, await perform(self.function, draft))
        if self.at_least is None or score >= self.at_least:
            return Verdict(True, None, score, self.name)
        reason = f"it scored {score:g}, but needs at least {self.at_least:g}"
        return Verdict(False, reason, score, self.name)


class PatternCheck(msgspec.Struct, frozen=True):
    """A regular expression that must be found in the text; anchor it to match all of it."""

    tier: ClassVar[Tier] = Tier.CODE

    pattern: str
    description: str = ""
    check_only: bool = False

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise UsageError(
                f"{self.pattern!r} is not a regular expression: {error}", "Fix the pattern"
            ) from None

    @property
    def name(self) -> str:
        return self.description or f"matches {self.pattern}"

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        found = re.search(self.pattern, draft) is not None
        reason = None if found else f"it does not match the pattern {self.pattern}"
        return Verdict(found, reason, None, self.name)


class SchemaCheck(msgspec.Struct, frozen=True):
    """JSON that matches a schema. The provider is asked to enforce it, where it can."""

    tier: ClassVar[Tier] = Tier.CODE

    schema: Schema
    description: str = ""
    check_only: bool = False
    type_: Any = None
    """The type that it was made from: its validators, which a schema cannot express, count too."""

    @property
    def name(self) -> str:
        return self.description or "matches the schema"

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        """Later checks see the value as the type."""
        try:
            value = parse(str(draft), self.schema)
            draft.value = value if self.type_ is None else as_type(self.type_, value)
        except Mismatch as mismatch:
            reason = f"it is {mismatch}"[:MOST_REASON]  # it may quote the whole reply
            return Verdict(False, reason, None, self.name)
        except WrongValue as wrong:
            return Verdict(False, str(wrong), None, self.name)
        return Verdict(True, None, None, self.name)


class CommandCheck(msgspec.Struct, frozen=True):
    """A command that must exit with 0. It reads the text from stdin, or as the argument `{}`."""

    tier: ClassVar[Tier] = Tier.PROCESS

    argv: tuple[str, ...]
    description: str = ""
    check_only: bool = False
    timeout: float | None = 60.0
    cwd: str | None = None
    pure: bool = True

    @property
    def name(self) -> str:
        return self.description or " ".join(self.argv)

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        """Run it. What it prints is the reason for a failure."""
        placed = any("{}" in each for each in self.argv)
        # A program that reads what a model wrote has no business with API keys.
        keys = {provider.key for provider in PROVIDERS.values()} | {setting.model.key}
        env = {key: "" for key in keys if key is not None and key in os.environ}
        stdin = None if placed else draft.encode("utf-8", "replace")
        command = Command(*self.argv, stdin=stdin, cwd=self.cwd, env=env, check=False)
        result = await run_command(
            command.for_item(str(draft)) if placed else command, timeout=self.timeout
        )
        try:
            require_success(result)
        except CommandFailed as error:
            said = result.stderr.text.strip() or result.stdout.text.strip()
            reason = f"{error.message}\n{said[-MOST_REASON:]}" if said else error.message
            return Verdict(False, reason, None, self.name)
        return Verdict(True, None, None, self.name)


def as_verdict(name: str, answer: Any) -> Verdict:
    """What a check function returned, as a verdict. `BadVerdict` if it is not one."""
    match answer:
        case Verdict(passed=bool(), score=score):
            if score is not None:
                as_score(name, score)
            return msgspec.structs.replace(answer, requirement=answer.requirement or name)
        case bool():
            return Verdict(answer, None if answer else f"it fails: {name}", None, name)
        case (bool() as passed, str() | None as reason):
            return Verdict(passed, None if passed else reason, None, name)
    raise BadVerdict(name, answer, "True, False, (passed, reason) or a Verdict")


def as_score(name: str, answer: Any) -> float:
    """What a reward function returned. `BadVerdict` if it is not a number."""
    if isinstance(answer, bool | int | float) and math.isfinite(answer):  # JSON has no NaN
        return float(answer)
    raise BadVerdict(name, answer, "a number")
