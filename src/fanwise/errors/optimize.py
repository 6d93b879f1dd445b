"""What can go wrong with candidates for a faster program."""

from __future__ import annotations

from fanwise.errors.base import FanwiseError, UsageError


class BenchFailed(FanwiseError):
    """The original cannot be measured: its benchmark fails, or gives no figures."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(
            f"{what} cannot be timed on the original: {why}",
            "Run it by hand in a clean checkout; see `bench:` in the guide to optimize",
        )


class BadTarget(UsageError):
    """A target of `optimize` that is no function of a Python file."""

    def __init__(self, target: str, problem: str, next_step: str) -> None:
        self.target = target
        super().__init__(f"the target {target}: {problem}", next_step)


class NoCandidates(UsageError):
    """There is nothing to judge; `looked_for` says what was looked for."""

    def __init__(self, looked_for: str, next_step: str) -> None:
        self.looked_for = looked_for
        super().__init__(f"there are no candidates: {looked_for}", next_step)


class CandidateUnfit(FanwiseError):
    """A candidate cannot be put into a workspace as it is: it does not apply, or may not."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class UntestedOriginal(FanwiseError):
    """The tests do not even judge the original, so they judge nothing.

    `output` is the end of what they wrote.
    """

    def __init__(self, command: str, why: str, output: str = "") -> None:
        self.command = command
        self.why = why
        self.output = output
        last = output.strip().rpartition("\n")[2][:200]
        super().__init__(
            f"`{command}` cannot judge candidates, for on the original {why}"
            + (f" ({last})" if last else ""),
            "Run it in a clean checkout; files that git ignores need `copy`, variables `env`",
        )


class NotComparable(FanwiseError):
    """Nothing that the target does can be compared; `problem` says why and what to do."""

    def __init__(self, target: str, problem: str) -> None:
        self.target = target
        self.problem = problem
        super().__init__(f"{target} {problem}")
