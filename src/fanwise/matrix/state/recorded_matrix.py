"""The state of a matrix, read from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from fanwise.core.counts import Counts
from fanwise.core.outcome import Outcome, Status
from fanwise.journal.codec import JSON
from fanwise.journal.port import ItemRecord, Journal
from fanwise.journal.revive import revive_error
from fanwise.matrix.state.definitions import Definition, cells_of, recorded
from fanwise.matrix.state.given import Given
from fanwise.matrix.state.matrix_state import MatrixState
from fanwise.matrix.state.spending import FAN_OUT, Spending
from fanwise.matrix.state.versions import VERSION, MatrixVersion, find_version
from fanwise.matrix.stats.data import AnalysisOptions, analysis_options
from fanwise.matrix.stats.sequential import ContrastVerdict

PAGE = 200
"""Cells whose items are held at once."""
AT_ONCE = 500
"""Items that are asked for at once."""
VERDICTS = "verdicts"
"""The kind of the event that keeps what `--stop-when-decided` decided; the last one holds."""


class SettledContrasts(msgspec.Struct, frozen=True):
    verdicts: list[ContrastVerdict] = []
    left_out: list[str] = []
    """The keys of the cells that need not run."""


def read_matrix(
    journal: Journal, run_id: str, failed_as: str | None = None, version: str | None = None
) -> MatrixState:
    """As it is now, or as it was in a version. `failed_as`: instead of the file's."""
    chosen = None if version is None else find_version(journal, run_id, version)
    number = None if chosen is None else chosen.number
    spec = JSON.decode(journal.run(run_id).spec) if chosen is None else chosen.spec
    found = read_cells(
        journal,
        run_id,
        cells_of(recorded(journal, run_id), number),
        analysis_options(failed_as or spec["data"]["matrix"].get("failed_as", 0)),
    )
    found.given = Given(spec)
    found.version = number
    settled = SettledContrasts()
    begun: int | None = None
    for event in journal.events(run_id):
        if event.kind == VERSION:
            begun = event.decode(MatrixVersion).number
        elif event.kind == "environment" and (number is None or begun in (None, number - 1)):
            found.environment = event.decode(dict[str, Any])  # noted just before a version begins
        elif event.kind == VERDICTS and number in (None, begun):
            settled = event.decode(SettledContrasts)
    found.verdicts = settled.verdicts
    if found.verdicts:
        found.leave_out(settled.left_out)
    return found


def read_cells(
    journal: Journal,
    run_id: str,
    definitions: Sequence[Definition],
    options: AnalysisOptions,
) -> MatrixState:
    """These cells, as far as they have got."""
    spending = Spending()
    found = MatrixState(definitions, spending, options=options)
    fan_outs = [each.id for each in journal.fan_outs(run_id) if each.path == FAN_OUT]
    if not fan_outs:
        return found
    spending.read(journal, run_id)
    replay_cells(found, journal, fan_outs[0], definitions)
    return found


def replay_cells(
    state: MatrixState, journal: Journal, fan_out: int, definitions: Sequence[Definition]
) -> None:
    """Take what the journal has of these cells, as far as they have got."""
    for start in range(0, len(definitions), PAGE):
        page = definitions[start : start + PAGE]
        items = _items(journal, fan_out, [key for each in page for key in _keys(each)])
        for definition in page:
            _replay(state, definition, items)


def _replay(state: MatrixState, definition: Definition, items: dict[str, Outcome[Any]]) -> None:
    """The outcomes of a cell in the order in which they came."""
    for number in range(len(definition.steps)):
        outcome = items.get(definition.step_key(number))
        if outcome is None:
            return
        state.take_step(definition.key, outcome)
        if not outcome.ok:
            return
    for name in definition.scores:
        outcome = items.get(definition.score_key(name))
        if outcome is not None:
            state.take_score(definition.key, name, outcome)


def count_cells(journal: Journal, run_id: str) -> Counts:
    """How many cells have ended, without reading what came of them."""
    statuses: dict[str, str] = {}
    for fan_out in journal.fan_outs(run_id):
        if fan_out.path == FAN_OUT:
            statuses.update(journal.statuses(fan_out.id))
    done = failed = total = 0
    for each in cells_of(recorded(journal, run_id)):
        steps = [statuses.get(each.step_key(number)) for number in range(len(each.steps))]
        scores = [statuses.get(each.score_key(name)) for name in each.scores]
        total += 1
        failed += "failed" in steps
        done += set(steps) == {"done"} and all(status in ("done", "failed") for status in scores)
    return Counts("cell", done, failed, total)


def _items(journal: Journal, fan_out: int, keys: Sequence[str]) -> dict[str, Outcome[Any]]:
    found: dict[str, Outcome[Any]] = {}
    for start in range(0, len(keys), AT_ONCE):
        for row in journal.items(fan_out, keys[start : start + AT_ONCE]):
            if row.status in ("done", "failed"):
                found[row.key] = _outcome(row)
    return found


def _keys(definition: Definition) -> Iterable[str]:
    yield from (definition.step_key(number) for number in range(len(definition.steps)))
    yield from (definition.score_key(name) for name in definition.scores)


def _outcome(row: ItemRecord) -> Outcome[Any]:
    return Outcome(
        row.index,
        cast(Status, row.status),
        None if row.value is None else JSON.decode(row.value),
        None if row.error is None else revive_error(row.error),
        kept_attempts=None,
        given_key=row.key,
        recorded=True,
        may_have_run_twice=row.starts > 1,
        queued_s=row.queued_s,
        ran_s=row.ran_s,
        backoff_s=row.backoff_s,
    )
