"""What came of a step, and how that is recorded."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Status = Literal["completed", "failed", "paused", "aborted"]
"""A run has the same ones, and `running` and `created` before."""


class Result(msgspec.Struct, frozen=True):
    """What came of one execution of a step."""

    status: Status
    output: dict[str, Any]
    error: str | None = None
    at: str | None = None
    """The path of the step inside it where it really happened; None: itself."""
    absorbed: bool = False
    """It failed, and what comes after it goes on all the same."""
    execution: int = 0
    """In which execution of the run it came to this."""

    @property
    def goes_on(self) -> bool:
        """Whether the steps after it are executed."""
        return self.status == "completed" or (self.status == "failed" and self.absorbed)


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The value of a leaf's item in the journal."""

    type: str
    status: Status
    digest: str
    """Of its resolved inputs: with others, what is recorded does not count."""
    execution: int
    """In which execution of the run it was made, counted from 0."""
    inside: str = ""
    """The path of the step that it stands in; empty: the workflow."""
    output: dict[str, Any] = {}
    error: str | None = None
    decided: int = -1
    """Of a gate that waits: the execution whose answers and before were used up already."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    @property
    def result(self) -> Result:
        """What it says of the step."""
        return Result(self.status, self.output, self.error, execution=self.execution)


def record_of(value: Any) -> Record | None:
    """What `to_json` gave; None for anything else, such as what a killed process left."""
    try:
        return msgspec.convert(value, Record)
    except msgspec.ValidationError:
        return None
