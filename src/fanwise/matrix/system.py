"""A matrix from a file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.core.counts import Counts
from fanwise.errors import UsageError
from fanwise.journal.codec import JSON
from fanwise.journal.port import EventRecord, Journal, RunRecord
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import Run
from fanwise.kernel.scope import item_of
from fanwise.kernel.workers import WorkPlace
from fanwise.matrix.cells.cell import values_by_axis
from fanwise.matrix.estimate.cost import preview
from fanwise.matrix.options import OPTIONS
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.run.execution import execute
from fanwise.matrix.simulation.report import end_of as simulated_end
from fanwise.matrix.simulation.simulate import simulate
from fanwise.matrix.spec.compile import Compiled, compile_
from fanwise.matrix.spec.matrix_spec import ExpectationSpec, MatrixSpec
from fanwise.matrix.state.expectations import Judge, Judgement
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.recorded_matrix import count_cells, read_matrix
from fanwise.matrix.state.run_comparison import Side
from fanwise.matrix.state.versions import BASELINE, find_version
from fanwise.matrix.stats.data import analysis_options
from fanwise.matrix.views.cell_rows import cell_table
from fanwise.matrix.views.text import describe_run, end_of, junit
from fanwise.specs import Document, End, Opening, Runnable, check
from fanwise.specs.inputs import Inputs
from fanwise.specs.system import Assumed, ComparedRun, Preview, Report
from fanwise.view.item_table import ItemsWanted, ListedItems
from fanwise.view.table import Table, exported_rows
from fanwise.view.text_file import text_file

KEY = "matrix"


class RunnableMatrix:
    """A file that can be run. Making one checks all of it."""

    unit = "cell"

    def __init__(
        self,
        document: Document,
        inputs: Inputs | None = None,
        asked: CellChoice = CellChoice(),  # noqa: B008 - frozen
        *,
        score_only: bool = False,
        failed_as: str | None = None,
        junit: str | None = None,
    ) -> None:
        self._document = document
        self._junit = None if junit is None else Path(junit)
        self._asked = asked
        self._score_only = score_only
        self._failed_as = failed_as
        where = document.at(KEY)
        spec = check(document, MatrixSpec, KEY)
        self._inputs = spec.inputs.load(where.at("inputs")) if inputs is None else inputs
        self.compiled: Compiled = compile_(spec, self._inputs, where)
        self.cells = asked.cells(self.compiled.cells)
        self._check_junit()

    def _check_junit(self) -> None:
        """Before anything is spent. `UsageError`."""
        if self._junit is None:
            return
        if not self.compiled.spec.expect:
            raise UsageError("--junit needs expectations", "Write `expect:` into the file")
        if not self._junit.absolute().parent.is_dir() or self._junit.is_dir():
            raise UsageError(f"cannot write {self._junit}", "Name a file in a folder that exists")

    @property
    def title(self) -> str:
        return self.compiled.spec.title(self._document.name)

    @property
    def folder(self) -> Path:
        return self._document.folder

    @property
    def opening(self) -> Opening:
        """A matrix is its name: the next `fanwise run` goes on with it, edited or not."""
        retry = self._asked.retry_failed or self._score_only
        return Opening(self.title, may_change=True, retry_failed=retry)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The whole file, its inputs as they were, and which cells were asked for."""
        asked: dict[str, Any] = {"only": list(self._asked.only)}
        asked["stop_when_decided"] = self._asked.stop_when_decided
        if self._asked.retry_failed:  # cells that run anew are known by their definitions
            asked["rerun"] = self._asked.rerun
        return {**self._document.keep(), "inputs": self._inputs.keep(), "asked": asked}

    @cached_property
    def caps(self) -> Caps | None:
        return self.compiled.spec.make_caps()

    @cached_property
    def budget(self) -> Budget | None:
        return self.compiled.spec.make_budget()

    @property
    def on(self) -> WorkPlace | None:
        return self.compiled.spec.make_place()

    @property
    def total(self) -> int:
        return len(self.cells)

    def describe(self) -> Sequence[str]:
        lines = []
        for axis, values in values_by_axis(self.cells).items():
            named = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
            lines.append(f"{axis}: {len(values)} ({named})")
        return lines

    async def execute(self, run: Run) -> End:
        if self._junit is not None:
            self._junit.unlink(missing_ok=True)  # what an earlier run said must not be read as ours
        done = await execute(self.compiled, run, self._asked, score_only=self._score_only)
        if self._failed_as is not None:
            done.options = analysis_options(self._failed_as)
        expect = self.compiled.spec.expect
        journal = None if item_of(run) is not None else run.journal
        whole = done
        if journal is not None and (expect or self._score_only):
            whole = await in_thread(self._whole, journal, run.id, done)
        judged = []
        if expect:
            name = self.title if journal is None else run.id
            judged = await in_thread(judge, journal, name, whole, expect)
        if self._junit is not None:
            with text_file(self._junit, str(self._junit)) as file:
                file.write(junit(self.title, judged))
        return end_of(done, judged, whole if self._score_only else done)

    @staticmethod
    def _whole(journal: Journal, run_id: str, done: MatrixState) -> MatrixState:
        """With what was not asked for this time, or has no answer that could be scored."""
        whole = read_matrix(journal, run_id)
        whole.options = done.options
        return whole


def judge(
    journal: Journal | None, run_id: str, state: MatrixState, expect: Mapping[str, ExpectationSpec]
) -> list[Judgement]:
    """What came of the expectations. `journal`: where other runs are; None: nowhere."""

    def side(reference: str) -> Side | None:
        if reference.endswith(".jsonl"):
            return Side(reference, exported_rows(Path(reference)))
        if journal is None:
            raise UsageError(f"{reference} is in no journal")
        other, _, version = reference.partition("@")
        chosen = find_version(journal, other, version or "latest")
        latest = find_version(journal, other, "latest").number
        if other == run_id and chosen.number == (state.version or latest):
            return None
        found = read_matrix(journal, other, version=str(chosen.number))
        found.options = state.options
        return Side(reference, list(cell_table(found).rows))

    own = Side(f"{run_id} now", list(cell_table(state).rows))
    return Judge(state, own, side).judge(expect)


class MatrixSystem:
    """`matrix:` in a file."""

    name = KEY
    options = OPTIONS

    def runnable(self, document: Document, **options: Any) -> Runnable:
        if options.pop("new", False):
            if "rerun" in options:
                raise UsageError("--new and --rerun exclude each other", "Give one of them")
            options["rerun"] = "all"
        junit_file = options.pop("junit", None)
        return RunnableMatrix(document, asked=CellChoice(**options), junit=junit_file)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its files."""
        from fanwise.specs.schema import schema_of

        return schema_of(MatrixSpec, self.name)

    def preview(self, document: Document) -> Preview:
        return preview(document, KEY)

    def simulate(self, document: Document, assumed: Assumed) -> End:
        return simulated_end(simulate(document, KEY, assumed))

    def resume(self, spec: Mapping[str, Any], **options: Any) -> Runnable:
        asked = {**spec.get("asked", {}), **options}
        asked["only"] = tuple(asked.get("only", ()))
        junit_file = asked.pop("junit", None)
        inputs = Inputs.again(spec["inputs"])
        return RunnableMatrix(Document.again(spec), inputs, CellChoice(**asked), junit=junit_file)

    def scoring(
        self, spec: Mapping[str, Any], document: Document | None, failed_as: str | None = None
    ) -> Runnable:
        """The scores of the answers that there are; as another file says, if one is given."""
        kept = dict(spec)
        if document is not None:
            # Of the file only the scorers: its cells may be others, and have no answers here.
            scorers = RunnableMatrix(document).compiled.spec.score and document.value(
                (KEY, "score")
            )
            kept["data"] = {**spec["data"], KEY: {**spec["data"][KEY], "score": scorers or []}}
        return RunnableMatrix(
            Document.again(kept),
            Inputs.again(kept["inputs"]),
            score_only=True,
            failed_as=failed_as,
        )

    def describe_run(
        self,
        journal: Journal,
        run: RunRecord,
        *,
        fully: bool,
        failed_as: str | None = None,
        version: str | None = None,
    ) -> Sequence[str]:
        return describe_run(read_matrix(journal, run.id, failed_as, version), fully=fully)

    def count(self, journal: Journal, run: RunRecord) -> Counts:
        return count_cells(journal, run.id)

    def report(
        self,
        journal: Journal,
        run: RunRecord,
        failed_as: str | None = None,
        version: str | None = None,
    ) -> Report:
        from fanwise.matrix.views.page import report  # only who reads one needs all of it

        found = read_matrix(journal, run.id, failed_as, version)
        spec = (
            run.spec
            if version is None
            else JSON.encode(find_version(journal, run.id, version).spec)
        )
        said = JSON.decode(spec)["data"][KEY].get("expect") or {}
        expect = {name: ExpectationSpec.model_validate(each) for name, each in said.items()}
        return report(journal, run, found, judge(journal, run.id, found, expect))

    def list_items(
        self, journal: Journal, run: RunRecord, wanted: ItemsWanted, after: int, most: int
    ) -> ListedItems:
        from fanwise.matrix.views.item_table import list_cells

        return list_cells(journal, run, wanted, after, most)

    def whole_value(self, journal: Journal, run: RunRecord, path: str, key: str, value: Any) -> Any:
        from fanwise.matrix.views.item_table import whole_value

        return whole_value(journal, run, key, value) if path == "cells" else value

    def compared_run(
        self, journal: Journal, run: RunRecord, version: str | None = None
    ) -> ComparedRun:
        rows = list(cell_table(read_matrix(journal, run.id, version=version)).rows)
        if version is None:
            return ComparedRun(run.id, rows, JSON.decode(run.spec)["data"])
        spec = find_version(journal, run.id, version).spec
        return ComparedRun(f"{run.id}@{version}", rows, spec["data"])

    def versions(self, journal: Journal, run: RunRecord) -> Table:
        from fanwise.matrix.views.history import history_table

        return history_table(journal, run.id)

    def set_baseline(self, journal: Journal, run: RunRecord, version: str) -> int:
        """An event of the run, so that it is in the journal beside what it names."""
        number = find_version(journal, run.id, version).number
        data = JSON.encode({"version": number})
        journal.submit(EventRecord(run.id, time.time(), BASELINE, data))
        return number

    def compare(self, runs: Sequence[ComparedRun]) -> Report:
        from fanwise.matrix.state.run_comparison import compare_sides
        from fanwise.matrix.views.run_comparison import comparison_report

        first, *others = (Side(each.name, each.rows, each.file) for each in runs)
        return comparison_report([compare_sides(first, each) for each in others])

    def table(
        self,
        journal: Journal,
        run: RunRecord,
        failed_as: str | None = None,
        version: str | None = None,
    ) -> Table:
        return cell_table(read_matrix(journal, run.id, failed_as, version))


SYSTEM = MatrixSystem()
