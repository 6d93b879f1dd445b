"""One requirement in a file."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from fanwise.sampling.checks.require import command, judge, matches, require, reward, schema
from fanwise.sampling.checks.requirement import Requirement
from fanwise.specs import Duration, Many, ModelSpec, SpecModel, Where, function

KINDS = ("judge", "regex", "schema", "command", "call", "reward")


class RequirementSpec(SpecModel):
    """A text, judged by a model, or a mapping with one of `KINDS`."""

    judge: str | None = None
    regex: str | None = None
    schema_: Any = Field(default=None, alias="schema")
    command: Many[str] | None = None
    call: str | None = None
    reward: str | None = None
    description: str = ""
    check_only: bool = False
    pure: bool = True
    at_least: float | None = None
    model: ModelSpec | None = None
    timeout: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, given: Any) -> Any:
        return {"judge": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_kind(self) -> RequirementSpec:
        kinds = [kind for kind in KINDS if self._given(kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"a requirement is a text, or has one of {', '.join(KINDS)}")
        return self

    def _given(self, kind: str) -> Any:
        return self.schema_ if kind == "schema" else getattr(self, kind)

    def requirement(self, where: Where) -> Requirement:
        return where.making(lambda: self._made(where))

    def _made(self, where: Where) -> Requirement:
        words, hidden = self.description, self.check_only
        if self.judge is not None:
            model = None if self.model is None else self.model.spec()
            return judge(self.judge, model=model, at_least=self.at_least, check_only=hidden)
        if self.regex is not None:
            return matches(self.regex, words, check_only=hidden)
        if self.schema_ is not None:
            return schema(self.schema_, words)
        if self.call is not None:
            checked = function(self.call, where.at("call"))
            return require(checked, words, check_only=hidden, pure=self.pure)
        if self.reward is not None:
            scored = function(self.reward, where.at("reward"))
            least = 1.0 if self.at_least is None else self.at_least
            return reward(scored, least, words, check_only=hidden, pure=self.pure)
        return command(
            *(self.command or ()),
            description=words,
            check_only=hidden,
            timeout=self.timeout or 60.0,
            cwd=str(where.document.folder),
            pure=self.pure,
        )
