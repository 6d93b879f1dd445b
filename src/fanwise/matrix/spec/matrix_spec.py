"""The file: what stands under `matrix:`, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from fanwise.core.run_id import check_run_id
from fanwise.matrix.stats.data import AnalysisOptions, analysis_options
from fanwise.models.output import check_schema
from fanwise.specs import (
    Duration,
    InputsSpec,
    LimitsSpec,
    Many,
    ModelSpec,
    OptionsSpec,
    RetrySpec,
    SpecModel,
)
from fanwise.specs.model import seconds
from fanwise.specs.models import MessageSpec

LATENCY, COST, FAILED, NO_WORSE = "latency_p95", "cost", "failed", "no_worse_than"
RESERVED = (NO_WORSE, COST, LATENCY, FAILED)
"""Every other name is that of a scorer."""


class ExpectationSpec(SpecModel):
    """One expectation: bounds, or a run that this one shall not be worse than."""

    at_least: float | None = None
    at_most: Annotated[float, BeforeValidator(seconds)] | None = None
    """A number; of a latency also `3s`."""
    run: str | None = None
    """`NAME@baseline`, or whatever `fanwise compare` takes."""
    by: float = Field(default=0.0, ge=0)
    """How much worse is still good enough."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    undecided: Literal["pass", "fail"] = "pass"
    """What the exit code makes of a verdict that is neither proven nor refuted."""
    model: str = "*"
    strategy: str = "*"
    """Which models and strategies it is about; each of them has to meet it."""


def check_expectations(expect: Mapping[str, ExpectationSpec], scorers: Sequence[str]) -> None:
    """`ValueError` for what cannot be judged."""
    for name, each in expect.items():
        wanted = ("run",) if name == NO_WORSE else ("at_most",) if name in RESERVED else (
            "at_least", "at_most")  # fmt: skip
        if name not in RESERVED and name not in scorers:
            known = ", ".join([*scorers, *RESERVED])
            raise ValueError(f"expect: there is no score {name!r}; it can be of: {known}")
        bounds = [
            field for field in ("at_least", "at_most", "run") if getattr(each, field) is not None
        ]
        if not bounds or not set(bounds) <= set(wanted):
            raise ValueError(f"expect: {name} takes {' or '.join(f'`{w}`' for w in wanted)}")
        if name in (COST, FAILED) and (each.model, each.strategy) != ("*", "*"):
            raise ValueError(f"expect: {name} is of all cells: it takes no `model` or `strategy`")
        if name != NO_WORSE and each.by:
            raise ValueError(f"expect: `by` is of {NO_WORSE}; {name} does not take it")
        low, high = each.at_least, each.at_most
        if low is not None and high is not None and low > high:
            raise ValueError(f"expect: {name} cannot be at least {low:g} and at most {high:g}")


AXES = ("model", "strategy", "input", "repeat")
SCORERS = ("exact", "f1", "regex", "json", "judge", "command", "call")
COMMAND = "command"
"""A cap of this name bounds the programs that score."""
WORK = ("prompt", "messages", "steps", "call", "constant", "copy")


class CellPattern(SpecModel):
    """Cells by their axes' values; `*` stands for anything."""

    model: str = "*"
    strategy: str = "*"
    input: str = "*"
    repeat: str = "*"

    @field_validator("input", "repeat", mode="before")
    @classmethod
    def _number(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    def fits(self, axes: Mapping[str, str]) -> bool:
        """Whether a cell with these values is meant."""
        return all(fnmatchcase(axes[axis], getattr(self, axis)) for axis in AXES)


class PromptSpec(SpecModel):
    """What a model is asked, and how it shall answer."""

    prompt: str | None = None
    messages: Many[MessageSpec] = ()
    schema_: Any = Field(default=None, alias="schema")
    options: OptionsSpec | None = None

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, given: Any) -> Any:
        check_schema(given)
        return given


class StepSpec(PromptSpec):
    """One of several prompts; those after it see its answer as `{{ steps.NAME }}`."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")

    @model_validator(mode="after")
    def _one_prompt(self) -> StepSpec:
        if (self.prompt is None) == (not self.messages):
            raise ValueError("a step has `prompt` or `messages`")
        return self


class MatrixStrategySpec(PromptSpec):
    """How a cell gets its answer: by a prompt, by steps, by a function, or without a model."""

    steps: Many[StepSpec] = ()
    sample: Any = None
    """How the prompt is sampled: what a `sample:` file says of its loop."""
    call: Any = None
    constant: Any = None
    copy_: str | None = Field(default=None, alias="copy")

    @model_validator(mode="after")
    def _one_kind(self) -> MatrixStrategySpec:
        given = {name.rstrip("_") for name in self.model_fields_set}
        kinds = [kind for kind in WORK if kind in given]
        if len(kinds) != 1:
            raise ValueError(f"a strategy has one of {', '.join(WORK)}")
        if self.sample is not None and kinds[0] not in ("prompt", "messages"):
            raise ValueError("`sample` goes with `prompt` or `messages`")
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise ValueError("two steps have the same name")
        return self

    @property
    def needs_model(self) -> bool:
        """Whether it differs from model to model."""
        return "constant" not in self.model_fields_set and self.copy_ is None


class ScoreSpec(SpecModel):
    """`{exact: input.label}`, and the others; `name`: as it stands in the results."""

    exact: str | None = None
    f1: str | None = None
    regex: str | None = None
    json_: str | None = Field(default=None, alias="json")
    judge: str | None = None
    command: Many[str] | None = None
    call: Any = None
    name: str | None = None
    model: ModelSpec | None = None
    """Who judges."""
    timeout: Duration | None = None

    @property
    def kind(self) -> str:
        return self._kinds()[0]

    def _kinds(self) -> list[str]:
        given = {name.rstrip("_") for name in self.model_fields_set}
        return [kind for kind in SCORERS if kind in given]

    @model_validator(mode="after")
    def _one_kind(self) -> ScoreSpec:
        if len(self._kinds()) != 1:
            raise ValueError(f"a score has one of {', '.join(SCORERS)}")
        if self.judge is not None and self.model is None:
            raise ValueError("a judge needs a `model`")
        return self


class MatrixSpec(LimitsSpec):
    """What stands under `matrix:`."""

    name: Annotated[str, AfterValidator(check_run_id)] | None = None
    """The id of its run; default: that of the file."""
    models: Many[ModelSpec] = ()
    prompts: dict[str, MatrixStrategySpec] = Field(min_length=1)
    """The strategies, by name. Text alone is a prompt; one prompt alone is called `prompt`."""
    inputs: InputsSpec
    repeat: int = Field(default=1, ge=1)
    exclude: Many[CellPattern] = ()
    include: Many[CellPattern] = ()
    """Cells that `exclude` shall not take away."""
    score: Many[ScoreSpec] = ()
    options: OptionsSpec = OptionsSpec()
    retry: RetrySpec | None = None
    timeout: Duration | None = None
    seed: int = Field(default=0, ge=0)
    failed_as: Literal[0, "missing"] = 0
    """The score of a cell whose strategy failed; `missing`: it is left out of means."""
    expect: dict[str, ExpectationSpec] = Field(default_factory=dict)
    """By scorer, or `no_worse_than`, `cost`, `latency_p95`, `failed`."""

    @model_validator(mode="after")
    def _expectations(self) -> MatrixSpec:
        check_expectations(self.expect, [each.name or each.kind for each in self.score])
        return self

    @property
    def analysis(self) -> AnalysisOptions:
        return analysis_options(self.failed_as)

    def title(self, file: str) -> str:
        """Its name, or that of its file, as that of a run."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file).stem).strip("._-")
        return self.name or plain[:64] or "matrix"

    @field_validator("models", mode="before")
    @classmethod
    def _one_model(cls, given: Any) -> Any:
        return [given] if isinstance(given, str | dict) else given

    @field_validator("prompts", mode="before")
    @classmethod
    def _text_alone(cls, given: Any) -> Any:
        return strategies_of(given)

    @field_validator("score", mode="before")
    @classmethod
    def _one_score(cls, given: Any) -> Any:
        return [given] if isinstance(given, dict) else given


def strategies_of(prompts: Any) -> Any:
    """What stands under `prompts`, with each strategy as a mapping."""
    named = {"prompt": prompts} if isinstance(prompts, str) else prompts
    if not isinstance(named, dict):
        return named
    return {n: {"prompt": each} if isinstance(each, str) else each for n, each in named.items()}
