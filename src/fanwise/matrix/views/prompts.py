"""What a cell that failed was asked: its journal has no answer, and so no messages, of it.

They are filled in again from the spec and the inputs that the run keeps. Where that cannot be done
(a function's prompt, an input that is not kept and has changed), nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanwise.errors import FanwiseError
from fanwise.matrix.answers.steps import Subject
from fanwise.matrix.state.results import CellResult
from fanwise.specs import Document, Template
from fanwise.specs.inputs import Inputs

Messages = list[dict[str, str]]


class Prompts:
    """Of a run's cells, by its spec."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._strategies: Mapping[str, Any] = spec["data"]["matrix"]["strategies"]
        self._where = Document.again(spec).at("matrix", "strategies")
        self._templates: dict[tuple[str, int], list[tuple[str, Template]]] = {}
        try:
            self._inputs = {each.id: each.data for each in Inputs.again(spec["inputs"])}
        except FanwiseError:
            self._inputs = {}

    def of_failed(self, result: CellResult) -> Messages:
        """What its last step was asked; empty if nobody knows."""
        cell = result.cell
        if cell.input not in self._inputs:
            return []
        subject = Subject(cell, self._inputs[cell.input], None, result.steps)
        try:
            templates = self._of_step(cell.strategy, len(result.steps))
            return [
                {"role": role, "content": template.render(**subject.names)}
                for role, template in templates
            ]
        except FanwiseError:
            return []

    def _of_step(self, strategy: str, number: int) -> list[tuple[str, Template]]:
        key = (strategy, number)
        if key not in self._templates:
            self._templates[key] = self._made(strategy, number)
        return self._templates[key]

    def _made(self, strategy: str, number: int) -> list[tuple[str, Template]]:
        said: Any = self._strategies.get(strategy, {})
        if said.get("steps"):
            said = said["steps"][number]
        texts = [("user", said["prompt"])] if said.get("prompt") is not None else []
        texts += [(each["role"], each["content"]) for each in said.get("messages") or ()]
        return [(role, Template(text, self._where)) for role, text in texts]
