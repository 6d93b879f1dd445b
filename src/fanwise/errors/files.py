"""Errors about files that people write, and about their steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fanwise.errors.base import FanwiseError, UsageError


class Problem(NamedTuple):
    """One problem in a file, and its position; `line` and `column` count from 1."""

    line: int | None
    column: int | None
    field: str
    """Like `sample.requirements[2].check`; empty if it is about the whole file."""
    message: str

    def at(self, file: str) -> str:
        """As `file:line:column: field: message`, which editors can follow."""
        places = [str(number) for number in (self.line, self.column) if number is not None]
        where = ":".join([file, *places])
        return ": ".join(part for part in (where, self.field, self.message) if part)


class BadSpec(UsageError):
    """A file cannot be used as it is. `problems` lists everything that is wrong with it."""

    MOST = 10
    """How many problems the text lists."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda each: (each.line or 0, each.column or 0))
        told = [problem.at(file) for problem in self.problems[: self.MOST]]
        if len(self.problems) > 1:
            told = [f"{file} has {len(self.problems)} problems", *(f"  {each}" for each in told)]
        if len(self.problems) > self.MOST:
            told.append(f"  … and {len(self.problems) - self.MOST} more")
        super().__init__("\n".join(told))


class BadExpression(UsageError):
    """An expression in `{{ }}` does not parse, or fails with the values it got."""

    def __init__(
        self, text: str, problem: str, position: int | None = None, next_step: str = ""
    ) -> None:
        self.text = text
        self.problem = problem
        self.position = position
        """Offset in the text, from 0; None if the whole text is meant."""
        super().__init__(f"{self._place()}: {problem}", next_step)

    def inside(self, text: str, offset: int) -> BadExpression:
        """The same error, seen from a longer text that contains this one at `offset`."""
        at = None if self.position is None else self.position + offset
        return BadExpression(text, self.problem, at, self.next_step)

    def _place(self) -> str:
        """The line that is meant, with its position in a longer text."""
        at = self.position or 0
        begin = self.text.rfind("\n", 0, at) + 1
        line = self.text[begin:].partition("\n")[0]
        told = line if len(line) <= 80 else f"…{line[max(0, at - begin - 20) :][:60]}…"
        number = self.text.count("\n", 0, at) + 1
        where = [f"line {number}"] if "\n" in self.text else []
        where += [f"character {at - begin + 1}"] if self.position is not None else []
        return f"`{told.strip()}`" + (f", {', '.join(where)}" if where else "")


class StepFailed(FanwiseError):
    """A step of a workflow failed. `result` is the output it had until then."""

    _result: Any = None  # recorded as the item's value, so not once more with the error

    def __init__(self, message: str, result: Any = None) -> None:
        self._result = result
        super().__init__(message)

    @property
    def result(self) -> Any:
        """The step's output until it failed, as JSON-able data."""
        return self._result

    @result.setter
    def result(self, result: Any) -> None:
        self._result = result
