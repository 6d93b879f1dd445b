"""The file: what stands under `sample:`, checked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.output import check_schema
from fanwise.sampling.checks.require import command, judge, matches, require, reward, schema
from fanwise.sampling.checks.requirement import Requirement
from fanwise.sampling.strategies.choose import BestOf, Majority, MinimumBayesRisk
from fanwise.sampling.strategies.escalate import Escalate
from fanwise.sampling.strategies.repair import FOLLOW_UP, TEMPLATE, Advice, MultiTurn, Repair
from fanwise.sampling.strategies.strategy import Strategy
from fanwise.specs import (
    Duration,
    InputsSpec,
    LimitsSpec,
    Many,
    ModelSpec,
    OptionsSpec,
    RetrySpec,
    SpecModel,
    Where,
    function,
)
from fanwise.specs.models import MessageSpec
from fanwise.specs.nearest import did_you_mean

KINDS = ("judge", "regex", "schema", "command", "call", "reward")


class RequirementSpec(SpecModel):
    """A text, which a model judges; or one of `judge`, `regex`, `schema`, `command`, `call`, …"""

    judge: str | None = None
    regex: str | None = None
    schema_: Any = Field(default=None, alias="schema")
    command: Many[str] | None = None
    call: str | None = None
    reward: str | None = None
    description: str = ""
    check_only: bool = False
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
        """What it says. `BadSpec`."""
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
            return require(function(self.call, where.at("call")), words, check_only=hidden)
        if self.reward is not None:
            scored = function(self.reward, where.at("reward"))
            least = 1.0 if self.at_least is None else self.at_least
            return reward(scored, least, words, check_only=hidden)
        return command(
            *(self.command or ()),
            description=words,
            check_only=hidden,
            timeout=self.timeout or 60.0,
            cwd=str(where.document.folder),
        )


class TemplateSpec(SpecModel):
    """`{template: …}`, with {answer} and {failures} in it."""

    template: str | None = None


class AdviceSpec(SpecModel):
    """`{model: …}`: who writes the advice."""

    model: ModelSpec | None = None


class VoteSpec(SpecModel):
    """`{repair: …}`: how a sample that is not valid is repaired."""

    repair: StrategySpec | None = None


class BestOfSpec(VoteSpec):
    """`{reward: "module:function", at_least: …, repair: …}`."""

    reward: str | None = None
    at_least: float | None = None


class EscalateSpec(VoteSpec):
    """`{to: MODEL, after: 2, repair: …}`."""

    to: ModelSpec
    after: int = Field(default=2, ge=1)


class StrategySpec(SpecModel):
    """A name, or one of these with what it takes."""

    rejection: SpecModel | None = None
    repair: TemplateSpec | None = None
    multi_turn: TemplateSpec | None = None
    advice: AdviceSpec | None = None
    best_of: BestOfSpec | None = None
    majority: VoteSpec | None = None
    minimum_bayes_risk: VoteSpec | None = None
    escalate: EscalateSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given not in cls.model_fields:
            raise ValueError(
                f"there is no strategy {given!r}{did_you_mean(given, cls.model_fields)}"
            )
        if given == "escalate":
            raise ValueError("escalate needs a model: {escalate: {to: PROVIDER:MODEL}}")
        return {given: {}}

    @model_validator(mode="after")
    def _one(self) -> StrategySpec:
        if len(self.model_fields_set) != 1:
            raise ValueError(f"a strategy is one of {', '.join(type(self).model_fields)}")
        return self

    def strategy(self, where: Where) -> Strategy:
        """What it says. `BadSpec`."""
        return where.making(lambda: self._made(where))

    def _made(self, where: Where) -> Strategy:
        if self.repair is not None:
            return Repair(self.repair.template or TEMPLATE)
        if self.multi_turn is not None:
            return MultiTurn(self.multi_turn.template or FOLLOW_UP)
        if self.advice is not None:
            return Advice(None if self.advice.model is None else self.advice.model.spec())
        if self.best_of is not None:
            given = self.best_of.reward
            scored = None if given is None else function(given, where.at("best_of", "reward"))
            inner = _inner(self.best_of, where.at("best_of"))
            return BestOf(scored, at_least=self.best_of.at_least, repair=inner)
        if self.majority is not None:
            return Majority(repair=_inner(self.majority, where.at("majority")))
        if self.minimum_bayes_risk is not None:
            inner = _inner(self.minimum_bayes_risk, where.at("minimum_bayes_risk"))
            return MinimumBayesRisk(repair=inner)
        if self.escalate is not None:
            inner = _inner(self.escalate, where.at("escalate"))
            return Escalate(self.escalate.to.spec(), after=self.escalate.after, repair=inner)
        return Strategy()


def _inner(spec: VoteSpec, where: Where) -> Strategy | None:
    return None if spec.repair is None else spec.repair.strategy(where.at("repair"))


class LoopSpec(SpecModel):
    """How a prompt is sampled: also what other systems say of it."""

    requirements: Many[RequirementSpec] = ()
    strategy: StrategySpec = Field(default_factory=lambda: StrategySpec(repair=TemplateSpec()))
    loop_budget: int = Field(default=3, ge=1)
    concurrency_budget: int = Field(default=4, ge=1)
    winner: Literal["fastest", "first"] = "fastest"
    check_all: bool = False
    retry: RetrySpec | None = None
    timeout: Duration | None = None
    deadline: Duration | None = None

    def loop(self, where: Where) -> dict[str, Any]:
        """The arguments of `sample`; `where` is the place of this spec. `BadSpec`."""
        place = where.at("requirements")
        return {
            "requirements": [r.requirement(place.at(n)) for n, r in enumerate(self.requirements)],
            "strategy": self.strategy.strategy(where.at("strategy")),
            "loop_budget": self.loop_budget,
            "concurrency_budget": self.concurrency_budget,
            "winner": self.winner,
            "check_all": self.check_all,
            "retry": MODEL_RETRY if self.retry is None else self.retry.retry(worth_a_retry),
            "timeout": self.timeout,
            "deadline": self.deadline,
        }


class SampleSpec(LoopSpec, LimitsSpec):
    """What stands under `sample:`."""

    name: str = "sample"
    model: ModelSpec
    prompt: str | None = None
    messages: Many[MessageSpec] = ()
    inputs: InputsSpec | None = None
    cap: int = Field(default=10, ge=1)
    """Most inputs at once."""
    schema_: Any = Field(default=None, alias="schema")
    seed: int = Field(default=0, ge=0)
    options: OptionsSpec = OptionsSpec()
    record: str | None = None
    """Write every call to this file, for `replay:`."""

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, given: Any) -> Any:
        check_schema(given)
        return given

    @model_validator(mode="after")
    def _one_prompt(self) -> SampleSpec:
        if (self.prompt is None) == (not self.messages):
            raise ValueError("give `prompt` or `messages`")
        return self
