"""The file: what stands under `plan:`, checked; and what a run of it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BeforeValidator, Field, model_validator

from fanwise.plan.model.node import Mode, Split
from fanwise.plan.spec.tasks import TaskSpec
from fanwise.plan.split.rules import Rules
from fanwise.specs import (
    BudgetSpec,
    Duration,
    LimitsSpec,
    Many,
    ModelSpec,
    OptionsSpec,
    RetrySpec,
    SpecModel,
    Where,
)
from fanwise.specs.model import Line, Patterns
from fanwise.specs.place import refuse_place

KEY = "plan"
"""The top-level key of a file."""
RESERVED = "workspaces"
"""The cap that a run has by itself."""
MOST_PARALLEL = 256
KINDS = ("command", "agent", "model", "call", "workflow")


def _folders(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


class SplitSpec(SpecModel):
    mode: Mode = "independent"
    max_files: int = Field(default=25, ge=1)
    max_tokens: int = Field(default=60_000, ge=1)
    min_files: int = Field(default=2, ge=1)
    max_depth: int = Field(default=4, ge=1, le=100)

    @property
    def rules(self) -> Rules:
        return Rules(**self.model_dump())


class EachSpec(SpecModel):
    """Who does a sub-plan: `{command: …}`, `{agent: name}`, `{model: …}`,
    `{call: "module:function"}` or `{workflow: file}`."""

    command: Line | None = None
    agent: str | None = Field(default=None, min_length=1)
    """One of those in `specs/agents.py`, or of the project's own."""
    args: Many[str] = ()
    """Further words of an agent's command line."""
    model: ModelSpec | None = None
    call: str | None = None
    workflow: str | None = None
    options: OptionsSpec = OptionsSpec()
    retry: RetrySpec | None = None
    """Of a model that gives no answer. What it answers is tried again by `retry` of the plan."""
    budget: BudgetSpec | None = None
    """The most that one sub-plan may spend, in all its tries."""

    @property
    def kind(self) -> str:
        return next(name for name in KINDS if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _one(self) -> EachSpec:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            there = f"; it has {' and '.join(f'`{name}`' for name in given)}" if given else ""
            raise ValueError(
                f"`each` needs exactly one of {', '.join(f'`{name}`' for name in KINDS)}{there}"
            )
        if self.agent is None and self.args:
            raise ValueError("`args` of `each` needs an `agent`")
        if self.model is None and (self.retry is not None or self.options != OptionsSpec()):
            raise ValueError("`options` and `retry` of `each` need a `model`")
        return self


class PlanSpec(LimitsSpec):
    name: str | None = Field(default=None, min_length=1)
    repo: str = "."
    goal: str = ""
    tasks: Annotated[str | tuple[TaskSpec, ...] | None, BeforeValidator(_folders)] = None
    """Different goals, instead of one goal and a split; or a file or folder that has them."""
    files: Patterns = ()
    """Relative to `repo`; none: all files."""
    split: SplitSpec = SplitSpec()
    each: EachSpec
    verify: Line | None = None
    """For each sub-plan, in its workspace."""
    tests: Patterns = ()
    """Which files are tests, for `{tests}`; none: those that look like tests."""
    shared: Patterns = ()
    """Files that every sub-plan may change."""
    max_parallel: int = Field(default=10, ge=1, le=MOST_PARALLEL)
    check_: Line | None = Field(default=None, alias="check")
    """Of the merged tree."""
    retry: int = Field(default=1, ge=0, le=100)
    """Further tries of a sub-plan that failed, each told why."""
    fail_fast: bool = False
    result: Literal["branch", "patch"] = "branch"
    dirty: bool = False
    sparse: Annotated[bool | tuple[str, ...] | None, BeforeValidator(_folders)] = None
    """Workspaces have only the folders that a sub-plan needs, and these."""
    copy_: Patterns = Field(default=(), alias="copy")
    env: Many[str] = ()
    """Further variables of the environment that `verify` and `check` get."""
    sandbox: bool = True
    """Around `verify` and `check`, where there is one."""
    timeout: Duration | None = None
    """For each try of a sub-plan, and for each verification."""

    def check_together(self, where: Where) -> None:
        """What fields must say of one another. `BadSpec`."""
        if self.tasks is None and not self.goal.strip():
            given = "goal" in self.model_fields_set
            raise where.at("goal").bad("must not be empty" if given else "is missing")
        if self.tasks is not None:
            for field in ("split", "files", "shared"):
                if getattr(self, field) and field in self.model_fields_set:
                    raise where.at(field).bad("cannot be used with `tasks`: they are not split")
        if self.split.min_files > self.split.max_files:
            least, most = self.split.min_files, self.split.max_files
            named = "min_files" if "min_files" in self.split.model_fields_set else "max_files"
            raise where.at("split", named).bad(f"min_files is {least}, and max_files {most}: less")
        for field in ("files", "shared", "tests", "copy"):
            _inside(getattr(self, "copy_" if field == "copy" else field), where.at(field))
        if isinstance(self.sparse, tuple):
            _inside(self.sparse, where.at("sparse"))
        for field in ("caps", "rates"):
            if RESERVED in getattr(self, field):
                raise where.at(field, RESERVED).bad(
                    "is reserved for the run; set `max_parallel` instead"
                )
        if self.each.workflow is not None:
            refuse_place(self.on, where)


def _inside(patterns: tuple[str, ...], where: Where) -> None:
    """Refuse what leads out of the repository, and what says nothing."""
    several = isinstance(where.document.value(where.path), list) if patterns else False
    for number, pattern in enumerate(patterns):
        path = PurePosixPath(pattern.removeprefix("!"))
        here = where.at(number) if several else where
        if not path.parts:
            raise here.bad("is empty")
        if path.is_absolute() or ".." in path.parts:
            raise here.bad(f"{pattern!r} is outside the repository: write it relative to `repo`")


class PlanBase(msgspec.Struct, frozen=True, kw_only=True):
    """What a run starts from, and how that was split. Stored with the run for a resume."""

    commit: str = msgspec.field(name="base")
    inside: str = ""
    """The folder of the repository that names in the file are relative to; empty: its top."""
    split: Split
    digests: Mapping[str, str]
    """Of the content of each file that is in the plan."""
    tokens: Mapping[str, int]
    files: int = 0
    """How many there are in the commit, in the plan or not."""
    uncommitted: int = 0
    """Files of the work tree that are not as in HEAD, and were left out."""
    unmatched: tuple[str, ...] = ()
    """Patterns that match no file."""
    workflow: dict[str, Any] | None = None
    """Of `each`: the file, as it was."""
