"""A small system, installed as a user's package would be: words, each counted by a child process.

The child notes that it started, waits at `gate-WORD` if there is one, and fails if there is
`fail-WORD`. So each item has a fan-out inside it, and can be held, killed and made to fail.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fanwise import Command, Outcome, Run, fan_out
from fanwise.errors import UsageError
from fanwise.specs import Document, End, LimitsSpec, Many, SpecModel, check

LINE = (
    "echo {} >> started; [ -e open ] || [ ! -e gate-{} ] || cat gate-{}; "
    "[ ! -e fail-{} ] || exit 3; printf %s {} | wc -c"
)


class Count(LimitsSpec):
    words: Many[str]
    cap: int = 2
    pause: bool = False
    stumble: bool = False


class File(SpecModel):
    count: Count


class RunnableCount:
    def __init__(self, spec: Count, folder: Path) -> None:
        self._spec = spec
        self._folder = folder
        self.title = f"{len(spec.words)} words"
        self.caps = spec.make_caps()
        self.budget = spec.make_budget()
        self.total: int | None = len(spec.words)

    @property
    def spec(self) -> Any:
        kept = self._spec.model_dump(mode="json", exclude_unset=True)
        return {"folder": str(self._folder), "count": kept}

    def describe(self) -> list[str]:
        return [f"words   {', '.join(self._spec.words)}"]

    async def execute(self, run: Run) -> End:
        outcomes = await fan_out(
            self._count,
            self._spec.words,
            cap=self._spec.cap,
            key=str,
            name="words",
            run=run,
        )
        if self._spec.stumble:
            raise UsageError("this system stumbles", "Mend it")
        failed = [f"{o.index} failed" for o in outcomes if o.status == "failed"]
        counts = {o.value[0]: o.value[1] for o in outcomes if o.status == "done"}
        return End(
            document={"counts": counts},
            output=[f"{word} {number}" for word, number in counts.items()],
            notes=[*failed, *self._twice(list(outcomes))],
            exit_code=3 if self._spec.pause else 1 if failed else 0,
        )

    async def _count(self, word: str) -> list[Any]:
        inner = await fan_out(Command.shell_line(LINE, cwd=str(self._folder)), [word])
        (result,) = inner.values()
        return [word, int(result.stdout.data)]

    def _twice(self, outcomes: list[Outcome[Any]]) -> list[str]:
        return [f"{o.index} may have run twice" for o in outcomes if o.may_have_run_twice]


class CountSystem:
    name = "count"

    def runnable(self, document: Document) -> RunnableCount:
        return RunnableCount(check(document, File).count, document.folder)

    def resume(self, spec: Any) -> RunnableCount:
        return RunnableCount(Count.model_validate(spec["count"]), Path(spec["folder"]))


SYSTEM = CountSystem()
