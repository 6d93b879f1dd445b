"""The strategy in a file: a name, or a mapping with its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from fanwise.sampling.strategies.agreement import number, rouge_l
from fanwise.sampling.strategies.budget_forcing import PASSES
from fanwise.sampling.strategies.by_name import STRATEGIES
from fanwise.sampling.strategies.escalate import Escalate, HandOver, depth_of
from fanwise.sampling.strategies.strategy import Strategy
from fanwise.specs import Many, ModelSpec, SpecModel, Where, function
from fanwise.specs.nearest import did_you_mean

MAKERS: Mapping[str, Callable[..., Strategy]] = {**STRATEGIES, "escalate": Escalate}
_BY: Mapping[str | None, dict[str, Any]] = {
    "number": {"key": number},
    "rouge_l": {"similarity": rouge_l},
}


class TemplateSpec(SpecModel):
    """`{template: …}`, with `{answer}` and `{failures}` in it."""

    template: str | None = None


class VoteSpec(SpecModel):
    """`{repair: …}`: how an invalid sample is repaired."""

    repair: StrategySpec | None = None


class MajoritySpec(VoteSpec):
    """`{by: number, repair: …}`: whose answers agree; default: those that say the same."""

    by: Literal["text", "number"] = "text"


class BayesSpec(VoteSpec):
    """`{by: rouge_l, repair: …}`: how alike two answers are; default: by their words."""

    by: Literal["words", "rouge_l"] = "words"


class BestOfSpec(VoteSpec):
    """`{reward: "module:function", at_least: …, repair: …}`."""

    reward: str | None = None
    at_least: float | None = None


class BudgetForcingSpec(VoteSpec):
    """`{at_most: 1024, at_least: 512, more: Wait, answer: …, answer_tokens: 256, repair: …}`."""

    at_most: int = Field(default=4096, ge=1)
    at_least: int = Field(default=0, ge=0)
    more: str = "Wait,"
    answer: str = ""
    answer_tokens: int | None = Field(default=None, ge=1)


class EscalateSpec(VoteSpec):
    """`{to: MODEL, after: 2, repair: …, hand_over: best}`.

    `to` may be a list, each stronger than the one before.
    """

    to: Many[ModelSpec]
    after: int = Field(default=2, ge=1)
    hand_over: HandOver = "last"

    @field_validator("to", mode="before")
    @classmethod
    def _one_model(cls, given: Any) -> Any:
        return given if isinstance(given, list | tuple) else [given]


class StrategySpec(SpecModel):
    """A name, or one of these with its options."""

    rejection: SpecModel | None = None
    repair: TemplateSpec | None = None
    multi_turn: TemplateSpec | None = None
    best_of: BestOfSpec | None = None
    budget_forcing: BudgetForcingSpec | None = None
    majority: MajoritySpec | None = None
    minimum_bayes_risk: BayesSpec | None = None
    escalate: EscalateSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        if isinstance(given, dict) and list(given.values()) == [None]:
            (given,) = given  # `repair:` with nothing below it
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

    def default_width(self, *, required: bool) -> int:
        """As `Strategy.default_width`, without connecting to a model."""
        if self.escalate is not None:
            return Escalate.width
        gathers = self.best_of or self.majority or self.minimum_bayes_risk
        return Strategy.width if required or gathers is not None else 1

    def depth(self, loop_budget: int) -> int:
        """As `Strategy.within`, without connecting to a model."""
        if self.escalate is None:
            return loop_budget
        return depth_of(loop_budget, len(self.escalate.to), self.escalate.after)

    @property
    def passes(self) -> int:
        """The most calls for one sample."""
        nested = (getattr(self, name) for name in type(self).model_fields)
        inner = [each.repair for each in nested if isinstance(each, VoteSpec) and each.repair]
        return (
            PASSES + 1 if self.budget_forcing else max((each.passes for each in inner), default=1)
        )

    def strategy(self, where: Where) -> Strategy:
        return where.making(lambda: self._made(where))

    def _made(self, where: Where) -> Strategy:
        """What is given under its name are the arguments of its class, most of them as they are."""
        (name,) = self.model_fields_set
        given: Any = getattr(self, name)
        options = given.model_dump(exclude_unset=True, exclude_none=True)
        here = where.at(name)
        if "repair" in options:
            options["repair"] = given.repair.strategy(here.at("repair"))
        if "reward" in options:
            options["reward"] = function(given.reward, here.at("reward"))
        if "to" in options:
            options["to"] = [each.spec() for each in given.to]
        options |= _BY.get(options.pop("by", None), {})
        return MAKERS[name](**options)
