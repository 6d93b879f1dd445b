"""A plan from a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.core.counts import Counts
from fanwise.errors import FanwiseError, UsageError
from fanwise.journal.port import Journal, RunRecord
from fanwise.kernel.run import Run
from fanwise.kernel.workers import WorkPlace
from fanwise.plan.model.node import Node
from fanwise.plan.options import OPTIONS
from fanwise.plan.run.apply_result import deliver, roll_back
from fanwise.plan.run.execution import execute
from fanwise.plan.spec.plan_spec import KEY, PlanBase, PlanSpec
from fanwise.plan.spec.resolved_plan import ResolvedPlan, resolve_plan
from fanwise.plan.spec.run_options import PlanRunOptions
from fanwise.plan.state.replay import board_of, items_of, replay, reusable, reusable_success
from fanwise.plan.views.end_text import Commands, note_lines, output_lines, rollback_lines
from fanwise.plan.views.estimate import estimate_of, facts_of, plan_lines, start_notes
from fanwise.plan.views.live_tree import LiveTree
from fanwise.plan.views.rows import document_of
from fanwise.plan.views.text import plural
from fanwise.specs import Document, End, Opening, Runnable, check
from fanwise.specs.system import Approval, Preview, Report
from fanwise.view.question import Action
from fanwise.view.table import Table


class RunnablePlan:
    """A file that can be run. Making one checks all of it, and splits the files."""

    def __init__(
        self,
        document: Document,
        base: PlanBase | None = None,
        options: PlanRunOptions = PlanRunOptions(),  # noqa: B008 - frozen
    ) -> None:
        self._document = document
        self._options = options
        self._shown = False
        spec = check(document, PlanSpec, KEY)
        if options.dirty:
            spec = spec.model_copy(update={"dirty": True})
        self.resolved: ResolvedPlan = resolve_plan(spec, document.at(KEY), base)
        self.drawing = LiveTree(self.resolved.tree)

    @property
    def title(self) -> str:
        return self.resolved.spec.name or Path(self._document.name).stem

    @property
    def folder(self) -> Path:
        return self._document.folder

    @property
    def opening(self) -> Opening:
        """A plan is its name: the next `fanwise run` goes on with it, edited or not."""
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", self.title).strip("-._")[:64]
        return Opening(name or KEY, may_change=True, retry_failed=self._options.retry_failed)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The whole file, the commit to start from, and the split: a resume makes no other."""
        options = {"bisect": self._options.bisect, "dirty": self._options.dirty}
        return {
            **self._document.keep(),
            **msgspec.to_builtins(self.resolved.base),
            "work": self.resolved.work,
            "asked": options,
        }

    @cached_property
    def caps(self) -> Caps | None:
        return self.resolved.spec.make_caps()

    @cached_property
    def budget(self) -> Budget | None:
        return self.resolved.spec.make_budget()

    @property
    def on(self) -> WorkPlace | None:
        return self.resolved.spec.make_place()

    @property
    def stays_here(self) -> bool:
        """Whether workers cannot do its sub-plans: a workflow needs its driver."""
        return self.resolved.spec.each.workflow is not None

    @property
    def total(self) -> int | None:
        """Nobody knows how many sub-plans and merges there will be."""
        return None

    def describe(self) -> Sequence[str]:
        return self.preview().describe

    def preview(self) -> Preview:
        """The split, what it would spend, and what to look out for."""
        estimate = estimate_of(self.resolved, self.resolved.tree.leaves)
        budget = {} if self.budget is None else self.budget.limits
        lines, facts = plan_lines(self.resolved, estimate), facts_of(self.resolved, estimate)
        caps = self.resolved.caps(self.resolved.slots).current
        caps |= {} if self.caps is None else self.caps.current
        return Preview(self.title, None, caps, budget, lines, facts)

    def approval(self, journal: Journal | None, run: RunRecord | None) -> Approval | None:
        """What somebody has to agree to; None: nothing that is not known would be done."""
        if self._options.rollback:
            return None
        leaves = self.resolved.tree.leaves
        if journal is not None and run is not None:
            leaves = self._unknown(journal, run)
        if not leaves:
            return None
        self._shown = True
        estimate = estimate_of(self.resolved, leaves)
        question = f"Run {plural(len(leaves), 'sub-plan')}?"
        return Approval(plan_lines(self.resolved, estimate), question)

    def _unknown(self, journal: Journal, run: RunRecord) -> tuple[Node, ...]:
        """The leaves that would be done, as far as that is known."""
        resolved, options = self.resolved, self._options
        records = list(items_of(journal, run.id))
        plan = (resolved.spec, resolved.base, resolved.work)
        board = board_of(*plan, records, bisect=options.bisect)
        counts = reusable_success if options.retry_failed else reusable
        left = replay(board, records, counts).left
        again = {item.leaf.id for item in left if item.kind == "again" and item.leaf is not None}
        if board.over:
            return ()
        leaves = board.tree.leaves
        return tuple(e for e in leaves if e.id in again or not board.entries[e.id].over)

    async def execute(self, run: Run) -> End:
        if self._options.rollback:
            return await self._roll_back(run)
        resolved, options = self.resolved, self._options
        found = await execute(resolved, run, options, took=self.drawing.took)
        found, delivery = await deliver(resolved, found, run, options)
        ok = found.ok and not delivery.problem
        document = {
            "base": resolved.base.commit,
            "goal": resolved.spec.goal,
            **document_of(found, resolved.spec.goal),
            **msgspec.to_builtins(delivery),
            "ok": ok,
        }
        commands = Commands(run)
        output = output_lines(resolved, found, delivery, commands)
        notes = note_lines(found, delivery, commands)  # first: the reason of a failed step
        if not self._shown and not run.resumed:
            notes += start_notes(resolved)
        again = ["--retry-failed"] if found.halted is not None else []
        return End(
            document,
            output,
            notes,
            0 if ok else 1,
            found.counts,
            resume_with=again,
            failures=[f"{each.title}: {each.reason or each.state}" for each in found.failures],
        )

    async def _roll_back(self, run: Run) -> End:
        try:
            undone = await roll_back(self.resolved, run)
        except FanwiseError as error:
            return End(notes=[f"nothing was undone: {error}"], exit_code=1)
        if undone is None:
            return End(notes=["there is no result, so there is nothing to undo"], exit_code=1)
        lines = rollback_lines(undone)
        notes = [undone.kept] if undone.kept else []
        if not lines and not notes:
            notes = ["nothing of the result was there any more"]
        return End(msgspec.to_builtins(undone), lines, notes, 1 if undone.kept else 0)


class PlanSystem:
    name = KEY
    options = OPTIONS
    replaces_default_view = True

    def runnable(self, document: Document, **options: Any) -> Runnable:
        chosen = PlanRunOptions.of(**options)
        if chosen.rollback:
            raise UsageError("--rollback needs a run", "Use `fanwise resume RUN --rollback`")
        return RunnablePlan(document, options=chosen)

    def preview(self, document: Document) -> Preview:
        """What would run, and how good the split is."""
        return RunnablePlan(document).preview()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.specs.schema import schema_of

        return schema_of(PlanSpec, self.name)

    def resume(self, spec: Mapping[str, Any], **options: Any) -> Runnable:
        """What the journal kept of it. What shall become of the result is asked anew."""
        chosen = PlanRunOptions.of(**{**spec.get("asked", {}), **options})
        return RunnablePlan(Document.again(spec), msgspec.convert(spec, PlanBase), chosen)

    def describe_run(self, journal: Journal, run: RunRecord, *, fully: bool) -> Sequence[str]:
        """The tree with the state of each leaf; fully: all that is known of each."""
        from fanwise.plan.state.read_run import read_run
        from fanwise.plan.views.text import show_lines

        return show_lines(read_run(journal, run), fully=fully)

    def actions(self, journal: Journal, run: RunRecord) -> dict[str, Action]:
        """What can be done with the result."""
        from fanwise.plan.state.read_run import read_run

        state = read_run(journal, run).state
        if state.result is None or state.work_tree == "rolled back":
            return {}
        apply = Action("Apply", "Write the result to the work tree?", ("--apply",))
        undo = "Take the result out of the work tree, and remove its branches?"
        offers = {} if state.work_tree == "applied" else {"apply": apply}
        return {**offers, "rollback": Action("Roll back", undo, ("--rollback",))}

    def count(self, journal: Journal, run: RunRecord) -> Counts:
        from fanwise.plan.state.read_run import read_run

        return read_run(journal, run).state.counts

    def report(self, journal: Journal, run: RunRecord) -> Report:
        from fanwise.plan.state.read_run import read_run
        from fanwise.plan.views.page import report

        return report(read_run(journal, run))

    def table(self, journal: Journal, run: RunRecord) -> Table:
        from fanwise.plan.state.read_run import read_run
        from fanwise.plan.views.rows import leaf_table

        return leaf_table(read_run(journal, run))


SYSTEM = PlanSystem()
