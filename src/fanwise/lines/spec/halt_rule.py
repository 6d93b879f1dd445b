"""When a map starts nothing more, in the words of GNU parallel: `soon,fail=1`, `now,success=3`.

`now,fail=1`, which is `failure`, is the kernel's own halt: in the order of the lines, as in a loop.
The others count ends in the order in which they happen; `HaltAfter` in `run/work.py` does that.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from fanwise.core.halt import Halt
from fanwise.errors import UsageError

_WORDS = re.compile(r"(soon|now),(fail|success|done)=(\d+)")
STEP = "Write never, failure, soon,fail=N or now,fail=N (also success=N, done=N)"
ENDS = {
    "fail": ("failure", "failures"),
    "success": ("success", "successes"),
    "done": ("end", "ends"),
}


class HaltRule(msgspec.Struct, frozen=True):
    """Halt after so many ends of a kind; `now`: also end what is in flight."""

    when: Literal["never", "soon", "now"] = "never"
    what: Literal["fail", "success", "done"] = "fail"
    number: int = 1

    @staticmethod
    def parse(text: str) -> HaltRule:
        """Read what was given as `--halt`. `UsageError`."""
        if text == "never":
            return HaltRule()
        found = _WORDS.fullmatch("now,fail=1" if text == "failure" else text)
        if found is None or int(found[3]) < 1:
            reason = "; percentages are not supported" if text.endswith("%") else ""
            raise UsageError(f"--halt {text!r} is not a rule{reason}", STEP)
        return HaltRule(found[1], found[2], int(found[3]))  # type: ignore[arg-type]

    @property
    def in_order(self) -> bool:
        """Whether the first failure in the order of the lines halts."""
        return self == HaltRule("now")

    @property
    def kernel(self) -> Halt:
        """The halt of the fan-out."""
        if self.when == "never":
            return Halt.never()
        # With a halt that may come, an item keeps its permit until its outcome is on disk and
        # counted, so nothing starts in between.
        return Halt.on_failure() if self.in_order else Halt.when(lambda outcome: False)

    @property
    def words(self) -> str:
        """`after 3 failures`."""
        return f"after {self.number:,} {ENDS[self.what][self.number > 1]}"
