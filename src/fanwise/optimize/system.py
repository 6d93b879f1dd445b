"""Optimizing from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.core.counts import Counts
from fanwise.journal.port import Journal, RunRecord
from fanwise.kernel.run import Run
from fanwise.kernel.workers import WorkPlace
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.options import OPTIONS
from fanwise.optimize.run.delivery import DeliveryOptions, end_of
from fanwise.optimize.run.execution import execute
from fanwise.optimize.run.hot import execute_hot
from fanwise.optimize.spec.command_line import fields_of
from fanwise.optimize.spec.optimize_spec import OptimizeSpec
from fanwise.optimize.spec.resolved_spec import ResolvedSpec, resolve_spec
from fanwise.optimize.state.hot_state import read_hot
from fanwise.optimize.state.run_state import read_run
from fanwise.optimize.views.hot import hot_lines, hot_table
from fanwise.optimize.views.live import LiveCandidates
from fanwise.optimize.views.preview import preview
from fanwise.optimize.views.results import Results
from fanwise.optimize.views.text import describe_run
from fanwise.specs import Document, End, Runnable, check
from fanwise.specs.system import Preview, Report, Screen
from fanwise.view.question import Action
from fanwise.view.table import Table

KEY = "optimize"


class RunnableOptimize:
    """A file that can be run. The constructor checks all of it."""

    def __init__(
        self,
        document: Document,
        given: Sequence[Candidate] | None = None,
        delivery: DeliveryOptions = DeliveryOptions(),  # noqa: B008 - frozen
    ) -> None:
        self._document = document
        self._delivery = delivery
        self.case: ResolvedSpec = resolve_spec(
            check(document, OptimizeSpec, KEY), document.at(KEY), given
        )
        delivery.check(self.case)
        self.drawing = LiveCandidates(self.case.given, self.case.spec.slots)
        self._say: Callable[[str], None] = lambda text: None

    def use(self, screen: Screen, *, stdout: bool) -> None:
        """Say on the terminal how long measuring will take, before it begins."""
        self._say = screen.say

    @property
    def title(self) -> str:
        """The name in the file, or what is to be faster."""
        spec = self.case.spec
        return spec.name or spec.target or self._document.name

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self._document.folder

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The file, and the candidates as they are now."""
        kept: list[Any] = msgspec.to_builtins(list(self.case.given))
        return {**self._document.keep(), "candidates": kept}

    @cached_property
    def caps(self) -> Caps | None:
        return self.case.spec.make_caps()

    @cached_property
    def budget(self) -> Budget | None:
        return self.case.spec.make_budget()

    @property
    def on(self) -> WorkPlace | None:
        return self.case.spec.make_place()

    @property
    def total(self) -> int | None:
        """Unknown: it depends on which stages candidates reach."""
        return None

    def describe(self) -> Sequence[str]:
        return self.preview().describe

    def preview(self) -> Preview:
        """What would run, which candidates apply, and what is missing."""
        return preview(self.case, self.title, self.caps, self.budget)

    async def execute(self, run: Run) -> End:
        """Judge all candidates; the winner's patch is written, and applied if that was asked."""
        if self.case.spec.hot is not None:
            return await execute_hot(self.case, self._delivery.branch, run, self._say)
        state, base = await execute(self.case, run, self._say)
        return await end_of(self.case, state, base, self._delivery, run)


class OptimizeSystem:
    """`optimize:` in a file."""

    name = KEY
    options = OPTIONS
    replaces_default_view = True

    def runnable(self, document: Document, **options: Any) -> Runnable:
        return RunnableOptimize(document, delivery=DeliveryOptions(**options))

    def from_command_line(self, target: str | None, given: Mapping[str, Any]) -> Runnable:
        """What is to be faster, and the options of `fanwise optimize`."""
        document = Document("the command line", Path.cwd(), {KEY: fields_of(target, given)})
        delivery = {name: given[name] for name in ("apply", "branch") if name in given}
        return RunnableOptimize(document, delivery=DeliveryOptions(**delivery))

    def preview(self, document: Document) -> Preview:
        """What would run, which candidates apply, and what is missing."""
        return RunnableOptimize(document).preview()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.specs.schema import schema_of

        return schema_of(OptimizeSpec, self.name)

    def resume(self, spec: Mapping[str, Any], **options: Any) -> Runnable:
        """What the journal kept of it. What shall become of the winner is asked anew."""
        given = msgspec.convert(spec["candidates"], list[Candidate])
        return RunnableOptimize(Document.again(spec), given, DeliveryOptions(**options))

    def describe_run(self, journal: Journal, run: RunRecord, *, fully: bool) -> Sequence[str]:
        """Every candidate with its verdict; fully: all that is known of each."""
        hot = read_hot(journal, run.id)
        if hot is not None:
            return hot_lines(hot)
        return describe_run(read_run(journal, run), fully=fully)

    def actions(self, journal: Journal, run: RunRecord) -> dict[str, Action]:
        """What can be done with the winner."""
        if read_hot(journal, run.id) is not None:
            return {}
        if Results(run, read_run(journal, run)).winner is None:
            return {}
        question = "Write the winner to the work tree?"
        return {"apply": Action("Apply the winner", question, ("--apply",))}

    def count(self, journal: Journal, run: RunRecord) -> Counts:
        hot = read_hot(journal, run.id)
        return read_run(journal, run).counts if hot is None else hot.counts

    def report(self, journal: Journal, run: RunRecord) -> Report:
        from fanwise.optimize.views.hot import hot_report
        from fanwise.optimize.views.page import report  # only who reads one needs all of it

        hot = read_hot(journal, run.id)
        return report(Results(run, read_run(journal, run))) if hot is None else hot_report(run, hot)

    def table(self, journal: Journal, run: RunRecord) -> Table:
        from fanwise.optimize.views.rows import candidate_table

        hot = read_hot(journal, run.id)
        if hot is not None:
            return hot_table(hot)
        return candidate_table(Results(run, read_run(journal, run)))


SYSTEM = OptimizeSystem()
