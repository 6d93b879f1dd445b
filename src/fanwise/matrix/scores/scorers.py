"""How good an answer is: the scorers of a file, each a number from an answer.

A scorer that fails is an error of the score. The answer stays, and can be scored again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from fanwise.errors import UsageError
from fanwise.kernel.sent_calls import anywhere
from fanwise.kernel.user_call import perform_anywhere
from fanwise.matrix.answers.code import code_of
from fanwise.matrix.answers.steps import Answer, Subject, field_of
from fanwise.matrix.scores import formulas as scoring
from fanwise.models.judging import judged
from fanwise.models.port import Model
from fanwise.processes import Command, CommandResult, run_command
from fanwise.processes.result import signal_name
from fanwise.specs import Template


class Scorer(Protocol):
    """One way to score."""

    @property
    def name(self) -> str:
        """As it stands in the results."""

    @property
    def identity(self) -> Any:
        """JSON-able: what can change the score of the same answer."""

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        """The score, and why."""


class Compared(msgspec.Struct, frozen=True):
    """Against a field of the input."""

    name: str
    kind: str
    path: str

    @property
    def identity(self) -> Any:
        return [self.kind, self.path]

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        given, expected = said(answer), field_of(subject.input, self.path)
        score = scoring.SCORERS[self.kind](given, expected)
        return score, scoring.reason(self.kind, given, expected, score)


class Pattern(msgspec.Struct, frozen=True):
    """A regular expression, in which the input may stand."""

    name: str
    template: Template

    @property
    def identity(self) -> Any:
        return self.template.text

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        given, pattern = said(answer), self.template.render(**subject.names)
        score = scoring.regex(given, pattern)
        return score, scoring.reason("regex", given, pattern, score)


class Judging(msgspec.Struct, frozen=True):
    """A model judges, from 0 to 1."""

    name: str
    template: Template
    model: Model
    who: Mapping[str, Any]
    """The model as plain data: its name is not all, the same one may be served elsewhere."""

    @property
    def identity(self) -> Any:
        return [self.template.text, self.who]

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        asked = self.template.render(**subject.names)
        task = "\n\n".join(message["content"] for message in answer.get("messages", ()))
        found = await judged(
            self.model, asked, answer["text"], task=task, at_least=0.0, seed=subject.cell.seed
        )
        return _number(self.name, found.score), found.reason


class Program(msgspec.Struct, frozen=True):
    """A command that reads `{answer, value, input}` as JSON, and exits with 0 for a good answer.

    If it writes a number to stdout, that is the score.
    """

    name: str
    argv: tuple[str, ...]
    cwd: str
    timeout: float

    @property
    def identity(self) -> Any:
        """The command, and what is in the files that it names: an edited script is another."""
        return [self.argv, {each: _digest(Path(self.cwd, each)) for each in self.argv}]

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        document = {"answer": answer["text"], "value": answer["value"], "input": subject.input}
        key = None if subject.model is None else subject.model.key
        env = {} if key is None else {key: ""}
        stdin = msgspec.json.encode(document)
        command = Command(*self.argv, stdin=stdin, cwd=self.cwd, env=env, check=False)
        result = await anywhere(_result, command, self.timeout)
        if result.exit_code is None or result.exit_code > 1 or result.timed_out:
            raise UsageError(f"the scorer {self.name!r} {_ending(result, self.timeout)}")
        told = result.stdout.text.strip()
        try:
            score = float(told)
        except ValueError:
            return float(result.exit_code == 0), told or f"exit code {result.exit_code}"
        if not math.isfinite(score):
            raise UsageError(
                f"the scorer {self.name!r} printed {told}: no score", "Let it print a number"
            )
        return score, f"printed {told}"


class Called(msgspec.Struct, frozen=True):
    """A function of answer and input; it gives a number, a bool, or (number, reason)."""

    name: str
    function: Callable[..., Any]

    @property
    def identity(self) -> Any:
        return code_of(self.function)

    async def score(self, answer: Answer, subject: Subject) -> tuple[float, str | None]:
        given = await perform_anywhere(self.function, said(answer), subject.input)
        if isinstance(given, tuple) and len(given) == 2:
            return _number(self.name, given[0]), None if given[1] is None else str(given[1])
        return _number(self.name, given), None


async def _result(command: Command, timeout: float) -> CommandResult:
    return await run_command(command, timeout=timeout)


def said(answer: Answer) -> Any:
    """The value, or the text if there is none."""
    return answer["text"] if answer["value"] is None else answer["value"]


def _ending(result: CommandResult, timeout: float) -> str:
    """How a program ended that gave no score, and the last that it said."""
    if result.timed_out:
        how = f"took longer than {timeout:g} s"
    elif result.signal is not None:
        how = f"was ended by {signal_name(result.signal)}"
    else:
        how = f"failed with exit code {result.exit_code}"
    said_ = result.stderr.text.strip()
    return f"{how}: {said_}" if said_ else how


def _digest(path: Path) -> str | None:
    """None for what is no file, or cannot be read: most words of a command."""
    try:
        if not path.is_file():  # to read /dev/stdin would be to wait for it
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def _number(name: str, given: Any) -> float:
    if isinstance(given, bool | int | float) and math.isfinite(given):
        return float(given)
    raise UsageError(f"the scorer {name!r} gave {given!r}", "Give a number")
