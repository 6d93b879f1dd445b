"""`Matrix` and `run_matrix`: what a file says, said in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import msgspec

from fanwise.core.stats import Stats
from fanwise.errors import NotOk
from fanwise.kernel.in_run import RunArguments, SystemRun, in_run
from fanwise.kernel.run import Run
from fanwise.kernel.sync import sync_twin
from fanwise.kernel.user_call import name_of
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.run.execution import execute
from fanwise.matrix.spec.compile import Compiled, compile_
from fanwise.matrix.spec.matrix_spec import MatrixSpec
from fanwise.matrix.state.results import CellResult, CellsExecution, digest
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.options import DEFAULTS, AnalysisOptions
from fanwise.matrix.stats.pass_at_k import PassAtK, pass_rates
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.stats.summary import Summary, summarize
from fanwise.matrix.views.tables import summary_lines
from fanwise.models.port import Model
from fanwise.specs import Document, check
from fanwise.specs.inputs import Inputs
from fanwise.specs.plain import plain, plain_model

KEY = "matrix"


class Matrix:
    """Models by strategies by inputs by repeats.

    All fields are those of a file, and hold plain data: `axes` (model, strategy, input, repeat),
    `strategies`, `score`, `exclude`, `include`, `options`, `caps`, `rates`, `budget`, `retry`,
    `timeout`, `seed`. Besides, a model may be a `Model`, a strategy a text (its prompt) or a
    function, a score a function. `folder`: what paths are relative to. All of it is checked here:
    `BadSpec`.
    """

    def __init__(
        self,
        name: str = "matrix",
        *,
        axes: Mapping[str, Any],
        strategies: Mapping[str, str | Callable[..., Any] | Mapping[str, Any]],
        score: Sequence[Callable[..., Any] | Mapping[str, Any]] = (),
        folder: str | os.PathLike[str] = ".",
        **fields: Any,
    ) -> None:
        objects: dict[str, Model] = {}
        data = {
            "name": name,
            "axes": {**axes, "model": _models(axes.get("model", []), objects)},
            "strategies": {key: _strategy(each) for key, each in strategies.items()},
            "score": [{"call": each} if callable(each) else plain(each) for each in score],
            **plain(fields),
        }
        self._document = Document.of_program("Matrix(…)", folder, {KEY: plain(data)}, objects)
        where = self._document.at(KEY)
        spec = check(self._document, MatrixSpec, KEY)
        self._inputs: Inputs = spec.axes.input.load(where.at("axes", "input"))
        self.compiled: Compiled = compile_(spec, self._inputs, where)

    @property
    def name(self) -> str:
        """As it was given."""
        return self.compiled.spec.name or KEY

    @property
    def cells(self) -> Sequence[Cell]:
        """All that there are."""
        return self.compiled.cells

    @property
    def folder(self) -> Path:
        """What paths are relative to."""
        return self._document.folder

    @property
    def spec(self) -> dict[str, Any]:
        """As plain data, for the journal: functions by their names."""
        kept = {**self._document.keep(), "inputs": self._inputs.keep()}
        plain: dict[str, Any] = msgspec.to_builtins(kept, enc_hook=name_of)
        return plain


class MatrixResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a matrix."""

    run_id: str | None
    """The durable run that has it; None: it was in memory."""
    cells: list[CellResult]
    """In the order of the matrix; those that did not end are missing."""
    left_out: list[Cell] = []
    """Not run, for their contrasts are settled."""
    failures: list[CellResult] = []
    """The cells without an answer."""
    badly_scored: list[CellResult] = []
    """The cells with an answer that a scorer failed on."""
    short: str = ""
    """Why less was done than was asked: the budget is used up, or the run was halted."""
    verdicts: list[ContrastVerdict] = []
    """With `stop_when_decided`: what is known of each contrast."""
    stats: Stats = Stats()

    @property
    def ok(self) -> bool:
        """Whether every cell that was wanted has an answer and all of its scores."""
        return not self.failures and not self.badly_scored and not self.short

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        counts = {"failed": len(self.failures), "were badly scored": len(self.badly_scored)}
        told = [f"{n} of {len(self.cells)} cells {what}" for what, n in counts.items() if n]
        told += [self.short] if self.short else []
        told += [f"the first: {each.error}" for each in self.failures[:1]]
        raise NotOk("; ".join(told), self)

    @property
    def digest(self) -> str:
        """Of all answers and scores, whatever the order and however long they took."""
        return digest(self.cells)

    def summary(
        self, by: Sequence[Sequence[str]] | None = None, options: AnalysisOptions = DEFAULTS
    ) -> Summary:
        """Means with intervals, failures, latency, tokens, dollars, for each value of each axis."""
        return summarize([each.scored for each in self.cells], by=by, options=options)

    def compare(
        self,
        axis: str,
        scorer: str,
        *,
        baseline: str | None = None,
        options: AnalysisOptions = DEFAULTS,
    ) -> list[Contrast]:
        """The values of an axis in pairs, with corrected p-values."""
        scored = [each.scored for each in self.cells]
        return compare(scored, axis, scorer, baseline=baseline, options=options)

    def pass_at_k(
        self, scorer: str, ks: Sequence[int] | None = None, options: AnalysisOptions = DEFAULTS
    ) -> list[PassAtK]:
        """How often at least one of k repeats passes."""
        return pass_rates([each.scored for each in self.cells], scorer, ks=ks, options=options)

    def table(self) -> str:
        """The summary as text."""
        return "\n".join(summary_lines(self.cells))


async def run_matrix(
    matrix: Matrix,
    *,
    only: Sequence[str] = (),
    rerun: str | None = None,
    stop_when_decided: bool = False,
    shuffle: int = 0,
    **where: Unpack[RunArguments],
) -> MatrixResult:
    """Run the cells, each recorded once.

    `only`: "axis=value", as on the command line. `rerun`: "failed", "all", or a cell's id.
    `stop_when_decided`: no repeats of what is settled. `shuffle`: another order of dispatch, which
    changes no result. `where`: the `RunArguments`. A durable run goes on if it exists, also with a
    matrix that was changed: cells that are as they were are kept.
    """
    asked = CellChoice(tuple(only), rerun, stop_when_decided)
    asked.cells(matrix.cells)
    wanted = SystemRun(
        kind=KEY,
        title=matrix.name,
        spec=matrix.spec,
        folder=matrix.folder,
        run_id=matrix.name,
        caps=matrix.compiled.spec.make_caps(),
        budget=matrix.compiled.spec.make_budget(),
        may_change=True,
        retry_failed=asked.retry_failed,
    )

    async def body(run: Run) -> CellsExecution:
        return await execute(matrix.compiled, run, asked, shuffle=shuffle)

    done, run_id, stats = await in_run(body, wanted, lambda done: done.counts, **where)
    return MatrixResult(
        run_id=run_id,
        cells=done.results,
        left_out=done.left_out,
        failures=done.failed,
        badly_scored=done.badly_scored,
        short=done.counts.short,
        verdicts=done.verdicts,
        stats=stats,
    )


run_matrix_sync = sync_twin(run_matrix)


def _models(given: Any, objects: dict[str, Model]) -> list[Any]:
    """Models as names, with the objects beside them."""
    one = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    return [plain_model(each, objects) for each in ([given] if one else given)]


def _strategy(given: Any) -> Any:
    if isinstance(given, str):
        return {"prompt": given}
    return {"call": given} if callable(given) else given
