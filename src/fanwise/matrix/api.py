"""`Matrix` and `run_matrix`: what a file says, said in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack

import msgspec

from fanwise.core.budget import Budget, BudgetLike
from fanwise.core.caps import Caps, CapsLike
from fanwise.core.counts import many
from fanwise.core.notebook import html_lines
from fanwise.core.retry import RetryLike
from fanwise.core.stats import Stats
from fanwise.errors import NotOk
from fanwise.kernel.in_run import RunArguments, SystemRun, in_run
from fanwise.kernel.run import Run
from fanwise.kernel.sync import sync_twin
from fanwise.kernel.user_call import name_of
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.run.cell_choice import CellChoice
from fanwise.matrix.run.execution import execute
from fanwise.matrix.spec.blocks import plain_options
from fanwise.matrix.spec.compile import Compiled, compile_
from fanwise.matrix.spec.matrix_spec import MatrixSpec
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.results import CellResult, digest, scored_cells
from fanwise.matrix.stats.compare import Contrast, compare
from fanwise.matrix.stats.data import DEFAULTS, AnalysisOptions, Scored, scorer_names
from fanwise.matrix.stats.pass_at_k import PassAtK, pass_rates
from fanwise.matrix.stats.sequential import ContrastVerdict
from fanwise.matrix.stats.summary import Summary, summarize
from fanwise.matrix.views.conclusion import conclusion
from fanwise.matrix.views.tables import group_lines, groups_of, summary_lines
from fanwise.models.connect import ModelLike
from fanwise.models.names import Spec, split
from fanwise.models.port import Options
from fanwise.specs import Document, check, read
from fanwise.specs.inputs import Inputs
from fanwise.specs.plain import importable, plain, plain_limits, plain_model, plain_retry

KEY = "matrix"
Strategy = str | Callable[..., Any] | Mapping[str, Any]
Scoring = Callable[..., Any] | Mapping[str, Any]
Rows = Iterable[Mapping[str, Any] | str] | str | os.PathLike[str] | Mapping[str, Any]


class CellAxes(TypedDict, total=False):
    """Cells by their axes' values; `*` stands for anything."""

    model: str
    strategy: str
    input: str | int
    repeat: str | int


class Matrix:
    """Models by prompts by inputs by repeats: a `matrix:` file, said in Python.

    `models`: names, mappings or `Model`s. `prompts`: by name; each a template, a function, or one
    of `prompt`, `steps`, `constant` and `copy_of`. `inputs`: rows, the path of a file of
    rows, or what a file has there. `score`: functions, and what `exact`, `f1`, `json_match`,
    `regex`, `judge` and `command` return. `exclude` and `include`: cells by their axes. `options`,
    `caps`, `budget`, `retry` and `timeout`: of the calls. `failed_as`: the score of a cell whose
    strategy failed, 0 or "missing". `seed`: the cells' own seeds come from it. `folder`: what paths
    are relative to. All of it is checked here: `BadSpec`.
    """

    def __init__(
        self,
        name: str = "matrix",
        *,
        prompts: Mapping[str, Strategy] | str,
        inputs: Rows,
        models: ModelLike | Iterable[ModelLike] = (),
        repeat: int = 1,
        score: Scoring | Iterable[Scoring] = (),
        exclude: Iterable[CellAxes] = (),
        include: Iterable[CellAxes] = (),
        options: Options | Mapping[str, Any] | None = None,
        caps: CapsLike | None = None,
        budget: BudgetLike | None = None,
        retry: RetryLike | None = None,
        timeout: float | str | None = None,
        failed_as: Literal[0, "missing"] = 0,
        seed: int = 0,
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        objects: dict[str, Any] = {}
        more = {
            "options": plain_options(options),
            "retry": None if retry is None else plain_retry(retry),
            "timeout": timeout,
        }
        data = {
            "name": name,
            "models": _models(models, objects),
            "prompts": prompts if isinstance(prompts, str) else _prompts(prompts),
            "inputs": _rows(inputs),
            "repeat": repeat,
            "score": [_score(each, objects) for each in _several(score)],
            "exclude": list(exclude),
            "include": list(include),
            "seed": seed,
            **({} if failed_as == 0 else {"failed_as": failed_as}),
            **plain_limits(caps, budget),
            **{key: value for key, value in more.items() if value is not None},
        }
        # Objects that count are shared with whoever else has them.
        self.caps = caps if isinstance(caps, Caps) else None
        self.budget = budget if isinstance(budget, Budget) else None
        self._load(Document.of_program("Matrix(…)", folder, {KEY: plain(data)}, objects))

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Matrix:
        """A `matrix:` file."""
        found = Matrix.__new__(Matrix)
        found.caps = found.budget = None
        found._load(read(path))
        return found

    def _load(self, document: Document) -> None:
        self._document = document
        where = document.at(KEY)
        spec = check(document, MatrixSpec, KEY)
        self._inputs: Inputs = spec.inputs.load(where.at("inputs"))
        self.compiled: Compiled = compile_(spec, self._inputs, where)

    def to_mapping(self) -> dict[str, Any]:
        """What a file would say: write it as YAML or JSON. `UsageError` if no file could say it."""
        data: dict[str, Any] = _written(self._document.data, self._document.objects)
        return data

    @property
    def name(self) -> str:
        """As it was given, or that of its file."""
        return self.compiled.spec.title(self._document.name)

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
    waiting: list[Cell] = []
    """Cells that did not run, or did not end."""
    left_out: list[Cell] = []
    """Of these, the cells that were not needed, because their contrasts are settled."""
    failures: list[CellResult] = []
    """The cells without an answer (see their `error`), and those that a scorer failed on."""
    short: str = ""
    """Why less was done than was asked: the budget is used up, or the run was halted."""
    verdicts: list[ContrastVerdict] = []
    """With `stop_when_decided`: what is known of each contrast."""
    stats: Stats = Stats()
    scorers: list[str] = []
    """The names of the scores, in the order of the matrix."""
    options: AnalysisOptions = DEFAULTS
    """How the results are analysed unless you say otherwise."""

    @property
    def ok(self) -> bool:
        """Whether every cell that was wanted has an answer and all of its scores."""
        return not self.failures and not self.short

    def require(self) -> Self:
        """The result itself; `NotOk` if it is not `ok`."""
        if self.ok:
            return self
        unanswered = [each for each in self.failures if each.error is not None]
        unscored = len(self.failures) - len(unanswered)
        counts = {"failed": len(unanswered), "could not be scored": unscored}
        told = [f"{n} of {many(len(self.cells), 'cell')} {what}" for what, n in counts.items() if n]
        told += [self.short] if self.short else []
        told += [f"the first: {each.error}" for each in unanswered[:1]]
        raise NotOk("; ".join(told), self)

    def _repr_html_(self) -> str:
        cells = self._scored
        lines = group_lines(groups_of(cells, self.options), scorer_names(cells))
        told = [] if self.left_out else conclusion(cells, self.options)
        return html_lines([*lines, "", *told])

    @property
    def digest(self) -> str:
        """Of all answers and scores, whatever the order and however long they took."""
        return digest(self.cells)

    def summary(
        self, by: Sequence[Sequence[str]] | None = None, options: AnalysisOptions | None = None
    ) -> Summary:
        """Means with intervals, failures, latency, tokens, dollars, for each value of each axis."""
        return summarize(self._scored, by=by, options=options or self.options)

    def compare(
        self,
        axis: str,
        scorer: str,
        *,
        baseline: str | None = None,
        options: AnalysisOptions | None = None,
    ) -> list[Contrast]:
        """The values of an axis in pairs, with corrected p-values."""
        how = options or self.options
        return compare(self._scored, axis, scorer, baseline=baseline, options=how)

    def pass_at_k(
        self, scorer: str, ks: Sequence[int] | None = None, options: AnalysisOptions | None = None
    ) -> list[PassAtK]:
        """How often at least one of k repeats passes."""
        return pass_rates(self._scored, scorer, ks=ks, options=options or self.options)

    def table(self) -> str:
        """The summary as text."""
        return "\n".join(summary_lines(self._scored, self.options))

    @property
    def _scored(self) -> list[Scored]:
        return scored_cells(self.cells, self.waiting, self.scorers)


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
        caps=matrix.caps or matrix.compiled.spec.make_caps(),
        budget=matrix.budget or matrix.compiled.spec.make_budget(),
        on=matrix.compiled.spec.make_place(),
        may_change=True,
        retry_failed=asked.retry_failed,
    )

    async def body(run: Run) -> MatrixState:
        return await execute(matrix.compiled, run, asked, shuffle=shuffle)

    done, run_id, stats = await in_run(body, wanted, lambda done: done.counts, **where)
    return MatrixResult(
        run_id=run_id,
        cells=done.results,
        waiting=[each.cell for each in done.waiting],
        left_out=done.left_out,
        failures=[*done.failed, *done.badly_scored],
        short=done.counts.short,
        verdicts=list(done.verdicts),
        stats=stats,
        scorers=done.scorers,
        options=done.options,
    )


run_matrix_sync = sync_twin(run_matrix)


def _models(given: Any, objects: dict[str, Any]) -> list[Any]:
    """Models as names, with the objects beside them."""
    one = isinstance(given, str | Mapping | Spec) or not isinstance(given, Iterable)
    return [plain_model(each, objects) for each in ([given] if one else given)]


def _rows(given: Any) -> Any:
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    return given if isinstance(given, Mapping) else list(given)


def _prompts(given: Mapping[str, Strategy]) -> dict[str, Any]:
    return {name: {"call": each} if callable(each) else each for name, each in given.items()}


def _several(given: Any) -> Iterable[Any]:
    return [given] if isinstance(given, Mapping) or callable(given) else given


def _score(given: Any, objects: dict[str, Any]) -> Any:
    if not isinstance(given, Mapping):
        return {"call": given}
    found = dict(given)
    if "model" in found:
        found["model"] = plain_model(found["model"], objects)
    return found


def _written(data: Any, objects: Mapping[str, Any]) -> Any:
    """Without objects: functions by their names, and models that a file can name."""
    if isinstance(data, dict):
        return {key: _written(value, objects) for key, value in data.items()}
    if isinstance(data, list):
        return [_written(each, objects) for each in data]
    if isinstance(data, str) and data in objects:
        split(data)
    return importable(data) if callable(data) else data
