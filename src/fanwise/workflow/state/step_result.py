"""What came of a step, and how that is recorded."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

import msgspec

Status = Literal["completed", "failed", "paused", "aborted", "skipped"]
"""A run has the same ones but the last, and `running` and `created` before."""


Moment = tuple[int, ...]
"""The execution of the run, from 0, and then, of each step around that has attempts, the number of
the attempt. Of two of one path the later is the greater."""


class StepResult(msgspec.Struct, frozen=True):
    """The result of executing a step."""

    status: Status
    output: dict[str, Any]
    error: str | None = None
    at: str | None = None
    """The path of the step inside it where it really happened; None: itself."""
    absorbed: bool = False
    """It failed, and what comes after it goes on all the same."""
    moment: Moment = ()
    """When it got this result."""

    @property
    def goes_on(self) -> bool:
        """Whether the next steps are executed."""
        return self.status in ("completed", "skipped") or (
            self.status == "failed" and self.absorbed
        )


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
    attempts: list[int] = []
    """The attempts of the enclosing steps, as in its moment."""
    settled: int = 1
    """From this place of its moment on, no further attempt was to follow."""
    output: dict[str, Any] = {}
    error: str | None = None
    decided: int = -1
    """Of a gate that waits: the execution whose answers and before were used up already."""

    input: Any = None
    """What it was given, cut where it is long: for people to see."""

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    @property
    def result(self) -> StepResult:
        return StepResult(self.status, self.output, self.error, moment=self.moment)

    @property
    def moment(self) -> Moment:
        return (self.execution, *self.attempts)


def record_of(value: Any) -> Record | None:
    """What `to_json` gave; None for anything else, such as what a killed process left."""
    try:
        return msgspec.convert(value, Record)
    except msgspec.ValidationError:
        return None


MOST_TEXT, MOST_ENTRIES = 4_000, 100


def brief(value: Any) -> Any:
    """JSON-able data for people to see: long texts and lists are cut, and say so."""
    if isinstance(value, str) and len(value) > MOST_TEXT:
        return f"{value[:MOST_TEXT]}… ({len(value):,} characters)"
    if isinstance(value, list) and len(value) > MOST_ENTRIES:
        return [*map(brief, value[:MOST_ENTRIES]), f"… ({len(value):,} entries)"]
    if isinstance(value, list):
        return [brief(each) for each in value]
    return {k: brief(each) for k, each in value.items()} if isinstance(value, dict) else value


def digest_of(value: Any) -> str:
    """Of JSON-able data, whatever the order of its keys: a record counts while this is the same."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
