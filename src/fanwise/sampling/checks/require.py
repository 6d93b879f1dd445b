"""The functions that make requirements, judges, and what else is accepted as a requirement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, get_origin

import msgspec

from fanwise.errors import UsageError
from fanwise.models.connect import ModelLike, connect
from fanwise.models.judging import judged
from fanwise.models.port import Model
from fanwise.sampling.checks.code_checks import (
    Check,
    CommandCheck,
    FunctionCheck,
    PatternCheck,
    RewardCheck,
    SchemaCheck,
    Score,
)
from fanwise.sampling.checks.requirement import (
    Draft,
    Requirement,
    Setting,
    Tier,
    Verdict,
    at_least_tokens,
)
from fanwise.sampling.checks.typed import schema_of

LEAST_TOKENS = 500
"""At least this many for a judge's reason and verdict, even where answers are kept short."""


class JudgeCheck(msgspec.Struct, frozen=True):
    """What the answer must be like, in words.

    `at_least`: ask for a score from 0 to 1, and require this much. `model`: the judge; default: the
    model that is sampled.
    """

    tier: ClassVar[Tier] = Tier.MODEL

    description: str
    at_least: float | None = None
    model: Model | None = None
    check_only: bool = False

    @property
    def name(self) -> str:
        return self.description

    async def check(self, draft: Draft, setting: Setting) -> Verdict:
        # Given a context, the judge sees that instead of what the model was asked.
        prompt = () if draft.context else draft.messages
        found = await judged(
            self.model or setting.model,
            self.description,
            str(draft),
            task="\n\n".join(message.content for message in prompt),
            context=draft.context,
            at_least=self.at_least,
            max_tokens=at_least_tokens(LEAST_TOKENS, setting.options),
            seed=setting.request.seed,
            retry=setting.retry,
            timeout=setting.timeout,
        )
        return Verdict(found.passed, None if found.passed else found.reason, found.score, self.name)


KINDS = (FunctionCheck, RewardCheck, PatternCheck, SchemaCheck, CommandCheck, JudgeCheck)


def require(
    function: Check, description: str = "", *, check_only: bool = False, pure: bool = True
) -> FunctionCheck:
    """A function of the draft (a `str` with `.value` and more), sync or async.

    It returns True or False, (passed, reason), or a `Verdict`. `pure=False`: ask it again about a
    text that came before; otherwise an equal text has the same verdict.
    """
    _callable(function)
    return FunctionCheck(function, description, check_only, pure)


def reward(
    function: Score,
    at_least: float,
    description: str = "",
    *,
    check_only: bool = False,
    pure: bool = True,
) -> RewardCheck:
    """A function of the draft that returns a number, which must be `at_least` this."""
    _callable(function)
    return RewardCheck(function, at_least, description, check_only, pure)


def matches(pattern: str, description: str = "", *, check_only: bool = False) -> PatternCheck:
    """A regular expression that must be found in the text."""
    return PatternCheck(pattern, description, check_only)


def schema(given: Any, description: str = "") -> SchemaCheck:
    """A JSON schema or a type: pydantic, dataclass, msgspec, TypedDict, enum, `Literal["a"]`.

    For a type, `result.value` and the `value` that other checks see are of it.
    """
    found, type_ = schema_of(given)
    return SchemaCheck(found, description, type_=type_)


def command(
    *argv: str,
    description: str = "",
    check_only: bool = False,
    timeout: float | None = 60.0,
    cwd: str | None = None,
    pure: bool = True,
) -> CommandCheck:
    """A program that must exit with 0. It reads the text from stdin, or as the argument `{}`."""
    if not argv:
        raise UsageError("the command is empty", 'Write command("python", "check.py")')
    return CommandCheck(tuple(argv), description, check_only, timeout, cwd, pure)


def judge(
    description: str,
    *,
    model: ModelLike | None = None,
    at_least: float | None = None,
    check_only: bool = False,
) -> JudgeCheck:
    """A requirement in words, judged by a model: by default the one that is sampled.

    `at_least`: ask for a score from 0 to 1, and require this much.
    """
    if not description.strip():
        raise UsageError("a judge needs a description", "Say what the answer must be like")
    if at_least is not None and not 0 <= at_least <= 1:
        raise UsageError(f"at_least is {at_least:g}", "Give a score from 0 to 1")
    return JudgeCheck(description, at_least, None if model is None else connect(model), check_only)


def as_requirement(given: Any) -> Requirement:
    """A text becomes a judge, a function a check, a mapping or a type a schema."""
    if isinstance(given, KINDS) or _is_requirement(given):
        found: Requirement = given
        return found
    if isinstance(given, str):
        return judge(given)
    if isinstance(given, Mapping | type) or get_origin(given) is not None:
        return schema(given)  # `Literal["a", "b"]` and `list[int]` are callable, but not types
    if callable(given):
        return require(given)
    raise UsageError(
        f"a requirement is {given!r}",
        "Give a text (judged by a model), a function, a schema, or what `require`, `matches`, "
        "`reward`, `command` or `judge` return",
    )


def as_requirements(given: Iterable[Any] | Any) -> tuple[Requirement, ...]:
    many = isinstance(given, Iterable) and not isinstance(given, str | Mapping | type)
    if not many or get_origin(given) is not None:  # `list[int]` is iterable, too
        return (as_requirement(given),)
    return tuple(as_requirement(each) for each in given)


def _is_requirement(given: Any) -> bool:
    return not isinstance(given, type) and all(
        hasattr(given, name) for name in ("description", "check_only", "tier", "name", "check")
    )


def _callable(function: Any) -> None:
    if not callable(function):
        raise UsageError(f"a check is {function!r}", "Give a function of the draft")
