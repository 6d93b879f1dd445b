"""`Matrix` and `run_matrix`: what a file says, said in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from fanwise.journal.port import Journal
from fanwise.kernel.environment import environment
from fanwise.kernel.events import Subscriber
from fanwise.kernel.perform import name_of
from fanwise.kernel.run import MEMORY, open_run
from fanwise.kernel.sync import run_sync
from fanwise.matrix.asked import Asked
from fanwise.matrix.cells import Cell
from fanwise.matrix.compare import Contrast, compare
from fanwise.matrix.compiled import Compiled, compile_
from fanwise.matrix.decided import Verdict
from fanwise.matrix.execution import execute
from fanwise.matrix.options import DEFAULTS, AnalysisOptions
from fanwise.matrix.pass_at_k import PassAtK, pass_rates
from fanwise.matrix.results import CellResult, digest
from fanwise.matrix.spec import MatrixSpec
from fanwise.matrix.summary import Summary, summarize
from fanwise.matrix.tables import summary_lines
from fanwise.models.port import Model
from fanwise.specs import Document, check
from fanwise.specs.inputs import Inputs
from fanwise.specs.plain import plain

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
        self._document = Document(
            "Matrix(…)", Path(folder).absolute(), {KEY: plain(data)}, objects=objects
        )
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


class MatrixResult(msgspec.Struct, frozen=True):
    """What came of a matrix."""

    run_id: str
    cells: list[CellResult]
    """In the order of the matrix; those that did not end are missing."""
    left_out: list[Cell] = []
    """Not run, for their contrasts are settled."""
    verdicts: list[Verdict] = []
    """With `stop_when_decided`: what is known of each contrast."""

    @property
    def failures(self) -> list[CellResult]:
        """The cells without an answer."""
        return [each for each in self.cells if each.status == "failed"]

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


class RunOptions(TypedDict, total=False):
    """The keyword arguments of `run_matrix`, where they are explained."""

    run: str | None
    journal: str | os.PathLike[str] | Journal | None
    only: Sequence[str]
    rerun: str | None
    stop_when_decided: bool
    shuffle: int
    subscribers: Iterable[Subscriber]


async def run_matrix(
    matrix: Matrix,
    *,
    run: str | None = None,
    journal: str | os.PathLike[str] | Journal | None = None,
    only: Sequence[str] = (),
    rerun: str | None = None,
    stop_when_decided: bool = False,
    shuffle: int = 0,
    subscribers: Iterable[Subscriber] = (),
) -> MatrixResult:
    """Run the cells, each recorded once.

    `run`: the id of a durable run, with the `journal` as for `open_run`; it goes on if it exists,
    also with a matrix that was changed: cells that are as they were are kept. With neither, all is
    in memory. `only`: "axis=value", as on the command line. `rerun`: "failed", "all", or a cell's
    id. `stop_when_decided`: no repeats of what is settled. `shuffle`: another order of dispatch,
    which changes no result.
    """
    asked = Asked(tuple(only), rerun, stop_when_decided)
    asked.cells(matrix.cells)
    durable = run is not None or journal is not None
    caps = matrix.compiled.spec.make_caps()
    opened = open_run(
        run or (matrix.name if durable else None),
        journal=journal if durable else MEMORY,
        retry_failed=asked.retry_failed,
        may_change=True,
        kind=KEY,
        name=matrix.name,
        spec=matrix.spec,
        caps=caps,
        budget=matrix.compiled.spec.make_budget(),
        subscribers=subscribers,
    )
    async with opened as found:
        if durable:
            found.note("environment", environment(matrix.folder))
        done = await execute(matrix.compiled, found, asked, caps, shuffle=shuffle)
        found.conclude(done.counts)
        return MatrixResult(found.id, done.results, done.left_out, done.verdicts)


def run_matrix_sync(matrix: Matrix, **options: Unpack[RunOptions]) -> MatrixResult:
    """`run_matrix` for code without an event loop."""
    return run_sync(run_matrix(matrix, **options))


def _models(given: Any, objects: dict[str, Model]) -> list[Any]:
    """Models as names, with the objects beside them."""
    found: list[Any] = []
    one = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    for each in [given] if one else given:
        if isinstance(each, str | Mapping):
            found.append(each)
        else:
            objects[each.name] = each
            found.append(each.name)
    return found


def _strategy(given: Any) -> Any:
    if isinstance(given, str):
        return {"prompt": given}
    return {"call": given} if callable(given) else given
