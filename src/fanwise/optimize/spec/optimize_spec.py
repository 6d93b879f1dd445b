"""The file: what stands under `optimize:`, checked."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from fanwise.specs import (
    Duration,
    LimitsSpec,
    Many,
    ModelSpec,
    OptionsSpec,
    RetrySpec,
    SpecModel,
    Where,
)
from fanwise.specs.model import Line, Patterns, Size

RESERVED = ("workspaces", "cpu")
"""Names of caps that every run has."""
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class ProposeSpec(SpecModel):
    """Who proposes: `{model: "openai:…", n: 8}` or `{command: "…", n: 4}`."""

    model: ModelSpec | None = None
    command: Line | None = None
    n: int = Field(default=4, ge=0, le=1000)
    """First proposals; 0: only repairs and refinements."""
    options: OptionsSpec = OptionsSpec()
    retry: RetrySpec | None = None
    timeout: Duration | None = None
    """Seconds for each answer."""

    @model_validator(mode="after")
    def _one(self) -> ProposeSpec:
        if (self.model is None) == (self.command is None):
            raise ValueError("`propose` has a `model` or a `command`")
        return self


class CandidatesSpec(SpecModel):
    """Where candidates come from; several sources may be named."""

    files: Patterns = ()
    """Patches, whole files or functions, relative to the folder of this file."""
    branches: Patterns = ()
    propose: ProposeSpec | None = None

    @model_validator(mode="after")
    def _some(self) -> CandidatesSpec:
        proposed = self.propose is not None and self.propose.n > 0
        if not self.files and not self.branches and not proposed:
            raise ValueError("`candidates` has `files`, `branches` or `propose` (with n above 0)")
        return self


class BenchSpec(SpecModel):
    """What is timed: `{calls: recorded}`, `{command: "…"}` or `{call: "module:function"}`."""

    calls: Literal["recorded"] | None = None
    command: Line | None = None
    call: str | None = None
    budget: Duration = 60.0
    """For each candidate, if it is not decided before."""
    pin: bool = True
    """Pin the processes to one core, if possible."""

    @model_validator(mode="after")
    def _one(self) -> BenchSpec:
        if sum(each is not None for each in (self.calls, self.command, self.call)) != 1:
            raise ValueError("`bench` has one of `calls: recorded`, `command`, `call`")
        if self.call is not None and not FUNCTION.fullmatch(self.call):
            raise ValueError(f"{self.call!r} is no function; write `module:function`")
        return self


class RoundsSpec(SpecModel):
    """How often a candidate's descendants go back to whoever proposes."""

    repair: int = Field(default=0, ge=0, le=100)
    refine: int = Field(default=0, ge=0, le=100)


class AcceptSpec(SpecModel):
    """When a candidate is accepted: the lower end of the interval is at least `speedup`."""

    speedup: float = Field(default=1.05, ge=1)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)


class ToleranceSpec(SpecModel):
    """How far floats may be apart and still be equal; as `math.isclose` has it."""

    relative: float = Field(default=1e-9, ge=0, lt=1)
    absolute: float = Field(default=0.0, ge=0)


class TakesSpec(SpecModel):
    """The most that the code of a candidate may take, in each command."""

    memory: Size = 4 * 2**30
    processes: int = Field(default=256, ge=1)
    cpu: Duration | None = None
    file_size: Size = 2**30


class OptimizeSpec(LimitsSpec):
    """What stands under `optimize:`."""

    name: str | None = Field(default=None, min_length=1)
    repo: str = "."
    target: str | None = None
    hot: int | None = Field(default=None, ge=1, le=100)
    """Instead of a target: so many functions of the project, those that cost the most time."""
    hot_run: Line | None = None
    """What is profiled for `hot`; default: the tests."""
    candidates: CandidatesSpec
    test: Line
    bench: BenchSpec | None = None
    slots: int = Field(default=4, ge=1, le=256)
    rounds: RoundsSpec = RoundsSpec()
    accept: AcceptSpec = AcceptSpec()
    tolerance: ToleranceSpec = ToleranceSpec()
    strict: bool = False
    """Differences in calls that nobody makes (None, a float for an int) reject too."""
    allow: Many[str] = ()
    """Differences that are allowed, each by its name: `TypeError for float n`."""
    allow_slower: bool = False
    """Accept what is faster in total even if calls of some size become slower."""
    allow_repeated: bool = False
    """Accept what is faster in a benchmark that may only repeat calls, as a cache is."""
    dirty: bool = False
    copy_: Patterns = Field(default=(), alias="copy")
    sparse: Patterns = ()
    sandbox: bool = True
    readable: Patterns = ()
    """Files and folders that the sandbox shows, beside the system, the interpreter and the code."""
    env: Many[str] = ()
    """Further variables of the environment that tests and benchmarks get."""
    python: str | None = None
    """The interpreter or environment of the tests; default: that of the project."""
    timeout: Duration | None = None
    """For each command of a candidate; default: ten times what the original takes."""
    takes: TakesSpec = TakesSpec()
    profile: bool = False
    """A line profile of the original and of the winner."""
    seed: int = Field(default=0, ge=0)

    @property
    def benched(self) -> BenchSpec:
        """What is timed: by default the recorded calls of the target."""
        return self.bench if self.bench is not None else BenchSpec(calls="recorded")

    def check_together(self, where: Where) -> None:
        """Check the fields that depend on each other. `BadSpec`."""
        if self.hot is not None:
            self._check_hot(where)
        elif self.hot_run is not None:
            raise where.at("hot_run").bad("is what `hot` profiles: give `hot` as well")
        elif self.target is None and self.benched.calls is not None:
            raise where.at(*(("bench",) if self.bench else ())).bad(
                "without a `target` no calls are recorded: give `bench` a `command` or a `call`"
            )
        if (self.rounds.repair or self.rounds.refine) and self.candidates.propose is None:
            raise where.at("rounds").bad("mean nothing without `candidates.propose`")
        if self.profile and (self.target is None or self.benched.command is not None):
            raise where.at("profile").bad("needs a `target`, and a `bench` that is no command")
        self._check_caps(where)

    def _check_hot(self, where: Where) -> None:
        if self.target is not None or (self.bench is not None and self.bench.calls is None):
            raise where.at("hot").bad("finds the targets and times their calls: give no others")
        if self.candidates.propose is None or self.candidates.files or self.candidates.branches:
            raise where.at("candidates").bad("of `hot` are proposed: give `propose`, and no others")
        if self.dirty or self.profile:
            raise where.at("hot").bad("works without `dirty` and `profile`")

    def _check_caps(self, where: Where) -> None:
        for name in RESERVED:
            for field in ("caps", "rates"):
                if name in getattr(self, field):
                    raise where.at(field, name).bad(f"{name!r} is the run's own; see `slots`")
