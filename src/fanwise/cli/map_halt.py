"""When a map starts nothing more, in the words of GNU parallel: `soon,fail=1`, `now,success=3`.

`now,fail=1`, which is `failure`, is the kernel's own halt: in the order of the lines, as a loop
would. The others count what ends, in the order in which it ends. They do so as a subscriber: it is
told of an outcome before anything else starts, also of one that an earlier execution recorded.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from fanwise.core.halt import Halt
from fanwise.errors import UsageError
from fanwise.kernel import events
from fanwise.kernel.run import Run

_WORDS = re.compile(r"(soon|now),(fail|success|done)=(\d+)")
STEP = "Write never, failure, soon,fail=N or now,fail=N (also success=N, done=N)"
ENDS = {
    "fail": ("failure", "failures"),
    "success": ("success", "successes"),
    "done": ("end", "ends"),
}


class HaltRule(msgspec.Struct, frozen=True):
    """After so many ends of a kind; `now`: what is in flight is ended too."""

    when: Literal["never", "soon", "now"] = "never"
    what: Literal["fail", "success", "done"] = "fail"
    number: int = 1

    @staticmethod
    def parse(text: str) -> HaltRule:
        """`UsageError` for words that are none."""
        if text == "never":
            return HaltRule()
        found = _WORDS.fullmatch("now,fail=1" if text == "failure" else text)
        if found is None or int(found[3]) < 1:
            reason = "; a share of the lines is not counted here" if text.endswith("%") else ""
            raise UsageError(f"--halt {text!r} means nothing to fanwise{reason}", STEP)
        return HaltRule(found[1], found[2], int(found[3]))  # type: ignore[arg-type]

    @property
    def in_order(self) -> bool:
        """Whether it ends with the first failure in the order of the lines."""
        return self == HaltRule("now")

    @property
    def kernel(self) -> Halt:
        """The kernel's part of it."""
        if self.when == "never":
            return Halt.never()
        # One that may halt keeps its permit until its outcome is on disk and was counted: nothing
        # starts in between.
        return Halt.on_failure() if self.in_order else Halt.when(lambda outcome: False)

    @property
    def words(self) -> str:
        """`after 3 failures`."""
        return f"after {self.number:,} {ENDS[self.what][self.number > 1]}"


class HaltAfter:
    """A subscriber that halts or cancels the run when the rule says so."""

    def __init__(self, rule: HaltRule, run: Run) -> None:
        self._rule = rule
        self._run = run
        self._counted = 0
        self.came = False
        """Whether it did."""

    def __call__(self, event: events.Event) -> None:
        """Count the end of a line."""
        rule = self._rule
        if not isinstance(event, events.ItemEnded) or rule.when == "never" or rule.in_order:
            return
        status = event.outcome.status
        ends = {"fail": ("failed",), "success": ("done",), "done": ("done", "failed")}[rule.what]
        self._counted += status in ends
        if self._counted >= rule.number and not self.came:
            self.came = True
            (self._run.cancel if rule.when == "now" else self._run.halt)(rule.words)
