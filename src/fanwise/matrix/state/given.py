"""What cells were given: the input, what is expected of the answer, and the prompt.

All of it comes from the spec and the inputs that a run keeps, so that the journal need not repeat
it for each cell. Where that cannot be done (a function's prompt, a file of inputs that has changed
since), it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.errors import FanwiseError
from fanwise.matrix.answers.steps import Subject, field_of
from fanwise.matrix.cells.cell import Cell
from fanwise.matrix.spec.matrix_spec import strategies_of
from fanwise.matrix.state.results import CellResult
from fanwise.specs import Document, Template
from fanwise.specs.inputs import Inputs

Messages = list[dict[str, str]]
COMPARED = ("exact", "f1", "json")


class Given:
    """Of a run's cells, by its spec."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        matrix = spec["data"]["matrix"]
        scores = matrix.get("score") or []
        self._scores: list[Mapping[str, Any]] = [scores] if isinstance(scores, dict) else scores
        self._strategies: Mapping[str, Any] = strategies_of(matrix["prompts"])
        self._where = Document.again(spec).at("matrix", "prompts")
        self._templates: dict[str, Template] = {}
        try:
            self._inputs = {each.id: each.data for each in Inputs.again(spec["inputs"])}
        except FanwiseError:
            self._inputs = {}

    def input(self, cell: Cell) -> dict[str, Any] | None:
        """The fields of its input, without the id; None: unknown."""
        found = self._inputs.get(cell.input)
        return found and {name: value for name, value in found.items() if name != "id"}

    def expected(self, cell: Cell) -> dict[str, Any]:
        """What each scorer that compares wants, by its name."""
        found: dict[str, Any] = {}
        if cell.input not in self._inputs:
            return found
        subject = Subject(cell, self._inputs[cell.input], None)
        for score in self._scores:
            for kind in (kind for kind in (*COMPARED, "regex") if score.get(kind) is not None):
                name = score.get("name") or kind
                try:
                    found[name] = (
                        self._filled(score[kind], subject)
                        if kind == "regex"
                        else field_of(subject.input, score[kind])
                    )
                except FanwiseError:
                    continue
        return found

    def asked(self, result: CellResult, number: int) -> Messages:
        """What a step of the cell was asked: as it is recorded, or else filled in again.

        `number`: of the step that failed, how many ended before it. Empty: unknown.
        """
        cell, steps = result.cell, list(result.steps.items())
        if number < len(steps) and "messages" in steps[number][1]:
            recorded: Messages = steps[number][1]["messages"]
            return recorded
        if cell.input not in self._inputs:
            return []
        subject = Subject(cell, self._inputs[cell.input], None, dict(steps[:number]))
        said: Any = self._strategies.get(cell.strategy, {})
        if said.get("steps"):
            said = said["steps"][number]
        texts = [("user", said["prompt"])] if said.get("prompt") is not None else []
        texts += [(each["role"], each["content"]) for each in said.get("messages") or ()]
        try:
            return [{"role": role, "content": self._filled(text, subject)} for role, text in texts]
        except FanwiseError:
            return []

    def _filled(self, text: str, subject: Subject) -> str:
        if text not in self._templates:
            self._templates[text] = Template(text, self._where)
        return self._templates[text].render(**subject.names)
