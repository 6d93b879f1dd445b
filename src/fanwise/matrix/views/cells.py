"""All cells with prompt and answer, as data for the page's script.

Texts are kept once: the same prompt goes to all models, and six thousand cells shall fit into a
file that opens at once. What the script shows it sets as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.state.given import Given
from fanwise.matrix.state.matrix_state import REASONS, MatrixState, WaitingCell
from fanwise.matrix.state.results import CellResult
from fanwise.matrix.views.rows import Palette
from fanwise.matrix.views.text import shown

FIELDS = (
    "id", "model", "strategy", "input", "repeat", "status", "steps", "value", "samples", "scores",
    "expected", "error", "calls", "queued_s", "ran_s", "backoff_s", "first_token_s", "input_tokens",
    "output_tokens", "usd", "usd_known", "scoring_usd", "cached",
)  # fmt: skip
"""What each row of the data is, in order."""


class _Texts:
    """Each text once; a text is its place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str | None) -> int | None:
        return None if text is None else self._places.setdefault(text, len(self._places))

    @property
    def all(self) -> list[str]:
        return list(self._places)


def cells_data(found: MatrixState, palette: Palette) -> dict[str, Any]:
    texts = _Texts()
    rows = [_row(each, found, texts) for each in found.results]
    rows += [_waiting(each, texts) for each in found.waiting]
    cells = [*(each.cell for each in found.results), *(each.cell for each in found.waiting)]
    inputs = {
        str(row[3]): _input(cell, found, texts) for row, cell in zip(rows, cells, strict=True)
    }
    models = dict.fromkeys(row[1] for row in rows)
    return {
        "fields": FIELDS,
        "scorers": found.scorers,
        "colours": {str(place): palette[texts.all[place]] for place in models},
        "names": {str(place): palette.text(texts.all[place]) for place in models},
        "inputs": inputs,
        "rows": rows,
        "texts": texts.all,
    }


def _input(cell: Cell, found: MatrixState, texts: _Texts) -> int | None:
    given = None if found.given is None else found.given.input(cell)
    if given is None:
        return None
    return texts.place("\n".join(f"{name}: {shown(value)}" for name, value in given.items()))


def _row(result: CellResult, found: MatrixState, texts: _Texts) -> list[Any]:
    answer = result.answer or {}
    expected = {} if found.given is None else found.given.expected(result.cell)
    samples = [_sample(each) for each in answer.get("samples") or ()]
    return [
        *_axes(result.cell, result.id, result.status, texts),
        _steps(result, found.given, texts),
        texts.place(_value(answer)),
        [texts.place(each) for each in samples if each is not None],
        [_score(result, name, texts) for name in found.scorers],
        [texts.place(shown(expected[name])) if name in expected else None
         for name in found.scorers],
        texts.place(result.error),
        result.calls,
        *(_rounded(each) for each in (result.queued_s, result.ran_s, result.backoff_s,
                                      result.first_token_s)),
        result.input_tokens,
        result.output_tokens,
        result.usd,
        result.usd_known,
        result.scoring_usd,
        result.cached,
    ]  # fmt: skip


def _axes(cell: Cell, id_: str, status: str, texts: _Texts) -> list[Any]:
    places = [texts.place(value) for value in (cell.model, cell.strategy, cell.input)]
    return [id_, *places, cell.repeat, status]


def _waiting(waiting: WaitingCell, texts: _Texts) -> list[Any]:
    cell, why = waiting.cell, texts.place(REASONS[waiting.why])
    empty: list[Any] = [[], None, [], [], [], why, 0, 0, 0, 0, None, 0, 0, 0, 0, 0, 0]
    return [*_axes(cell, cell.key, "waiting", texts), *empty]


def _steps(result: CellResult, given: Given | None, texts: _Texts) -> list[Any]:
    """Each as its name, what was asked (role and text), and what was answered."""
    failed = result.status == "failed"
    asked = [
        [] if given is None else _asked(given.asked(result, number), texts)
        for number in range(len(result.steps) + failed)
    ]
    steps = [
        [name, said, texts.place(str(step.get("text", "")))]
        for said, (name, step) in zip(asked, result.steps.items(), strict=False)
    ]
    if failed and asked[-1]:
        steps.append(["failed", asked[-1], None])
    return steps


def _asked(messages: Sequence[Mapping[str, Any]], texts: _Texts) -> list[Any]:
    return [[str(each["role"]), texts.place(str(each["content"]))] for each in messages]


def _value(answer: Mapping[str, Any]) -> str | None:
    """As JSON, unless it says no more than the text."""
    value = answer.get("value")
    if value is None:
        return None
    text = msgspec.json.encode(value).decode()
    return (
        None if text == str(answer.get("text", "")).strip() or value == answer.get("text") else text
    )


def _sample(sample: Mapping[str, Any]) -> str | None:
    reply = sample.get("reply")
    return str(reply["text"]) if isinstance(reply, Mapping) and "text" in reply else None


def _score(result: CellResult, name: str, texts: _Texts) -> list[Any] | None:
    score = result.scores.get(name)
    if score is None:
        return None
    return [score.score, texts.place(score.reason), texts.place(score.error)]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
