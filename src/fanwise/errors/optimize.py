"""Errors of `optimize`."""

from __future__ import annotations

from fanwise.errors.base import FanwiseError, UsageError


class BenchFailed(FanwiseError):
    """The original cannot be measured: its benchmark fails or prints no numbers."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(
            f"{what} cannot be timed on the original: {why}",
            "Run it by hand in a clean checkout; see `bench:` in the guide to optimize",
        )


class BadTarget(UsageError):
    """The target of `optimize` is not a function in a Python file."""

    def __init__(self, target: str, problem: str, next_step: str) -> None:
        self.target = target
        super().__init__(f"the target {target}: {problem}", next_step)


class NoCandidates(UsageError):
    """There is nothing to judge. `looked_for` says what was searched for."""

    def __init__(self, looked_for: str, next_step: str) -> None:
        self.looked_for = looked_for
        super().__init__(f"there are no candidates: {looked_for}", next_step)


class CandidateUnfit(FanwiseError):
    """A candidate cannot be put into a workspace: it does not apply, or is not allowed to."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class UntestedOriginal(FanwiseError):
    """The tests fail on the original, so they cannot judge candidates.

    `error` is the first error that they show, `python` the interpreter that they ran with.
    """

    def __init__(self, command: str, why: str, error: str = "", python: str = "") -> None:
        self.command = command
        self.why = why
        self.error = error
        self.python = python
        super().__init__(
            f"`{command}` cannot judge candidates: on the original {why}"
            + (f" ({error})" if error else "")
            + (f", with {python}" if python else ""),
            "Run it in a clean checkout. Name another interpreter with `python`, ignored files in "
            "`copy`, variables in `env`, and what lies outside of the repository in `readable`",
        )


class NotComparable(FanwiseError):
    """The target's behaviour cannot be compared. `problem` says why, and what to do."""

    def __init__(self, target: str, problem: str) -> None:
        self.target = target
        self.problem = problem
        super().__init__(f"{target} {problem}")


class NotJudged(FanwiseError):
    """A candidate was not compared with the original in full. `why` says what was left out."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"not judged: {why}")
