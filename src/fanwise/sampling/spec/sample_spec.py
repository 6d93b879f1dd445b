"""What stands under `sample:` in a file."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.output import check_schema
from fanwise.sampling.spec.requirement_spec import RequirementSpec
from fanwise.sampling.spec.strategy_spec import StrategySpec, TemplateSpec
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
)
from fanwise.specs.models import MessageSpec


class LoopSpec(SpecModel):
    """How a prompt is sampled; other systems have this part in their files, too."""

    requirements: Many[RequirementSpec] = ()
    strategy: StrategySpec = Field(default_factory=lambda: StrategySpec(repair=TemplateSpec()))
    loop_budget: int = Field(default=3, ge=1)
    concurrency_budget: int | None = Field(default=None, ge=1)
    winner: Literal["fastest", "first"] = "fastest"
    check_all: bool = False
    retry: RetrySpec | None = None
    timeout: Duration | None = None
    deadline: Duration | None = None

    def width(self, *, required: bool) -> int:
        return self.concurrency_budget or self.strategy.default_width(required=required)

    def loop(self, where: Where) -> dict[str, Any]:
        """The arguments of `sample`. `where`: the place of this spec. `BadSpec`."""
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
    name: str = "sample"
    model: ModelSpec
    prompt: str | None = None
    messages: Many[MessageSpec] = ()
    inputs: InputsSpec | None = None
    cap: int = Field(default=10, ge=1)
    """Inputs at once."""
    schema_: Any = Field(default=None, alias="schema")
    seed: int = Field(default=0, ge=0)
    options: OptionsSpec = OptionsSpec()
    record: str | None = None
    """A file that every call is written to, for `replay:`."""

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
