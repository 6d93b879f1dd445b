"""The contract between the interpreter and a kind of leaf step.

`resolve` says, purely, what the step would do: all that its outcome depends on, as JSON-able data.
The digest of that data tells whether a recorded outcome still counts. If it does not, `perform`
does the work, from that data alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from fanwise.processes.mask import Masker
from fanwise.workflow.spec.steps import Step
from fanwise.workflow.state.frame import NO_SECRETS, Frame
from fanwise.workflow.state.step_result import StepResult

S_contra = TypeVar("S_contra", bound=Step, contravariant=True)
Resolved = dict[str, Any]


class StepPlace(msgspec.Struct, frozen=True):
    """Where a leaf is performed."""

    path: str
    run_id: str
    project: Path
    """The working directory of commands."""
    folder: Path
    """The folder of the workflow file."""
    execution: int
    """The number of this execution of the run."""
    decided: int = -1
    """The execution in which it was last performed to its end, if what came of it no longer
    counts: answers from until then are used up."""
    given_in: Mapping[str, int] = {}
    """In which execution of the run each input of its file was given, those of the first aside."""
    real_folder: str = ""
    """That of the workflow's file, links resolved."""
    version: str = ""
    """What it would record inside itself counts for this version of it, and for no other."""
    mask: Masker = NO_SECRETS
    workspace: Mapping[str, str] | None = None
    """See `Project`."""


class Leaf(Protocol[S_contra]):
    bounds_itself: bool = False
    """Whether it enforces its time-out itself, so that it can keep the output up to then."""
    needs: Mapping[str, int] = {}
    """Caps that it needs besides those that the file names."""

    def resolve(self, step: S_contra, frame: Frame) -> Resolved:
        """Resolve its fields to data. `BadExpression`."""

    async def perform(self, step: S_contra, resolved: Resolved, place: StepPlace) -> StepResult:
        """Do it. `StepFailed` with its output; every other exception is a failure too."""
