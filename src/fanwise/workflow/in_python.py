"""`Workflow`: a workflow written in Python, which is the same as its file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from fanwise.errors import BadSpec, Problem
from fanwise.specs import Document, read
from fanwise.specs.plain import plain
from fanwise.workflow.spec.workflow_file import SCHEMA, load

Steps = Iterable[Mapping[str, Any]]


class _Dumper(yaml.SafeDumper):
    """Texts that YAML 1.2 would read as something else are quoted, and lines are kept as lines."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        if data[:1] in "+-.<0123456789" or not data.replace("\n", "").isprintable():
            style = '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style)


_Dumper.add_representer(str, _Dumper.represent_str)


def step(step_id: str, kind: str, /, **fields: Any) -> dict[str, Any]:
    """A step as a file has it: `step("test", "shell", run="make test")`.

    A name that is a word of Python's own gets a `_`: `if_`, `else_`.
    """
    return {"id": step_id, "type": kind, **{key.removesuffix("_"): fields[key] for key in fields}}


def _keys(data: Any) -> Iterator[Any]:
    """The keys of all mappings in it."""
    if isinstance(data, Mapping):
        yield from data
    if isinstance(data, Mapping | list | tuple):
        for each in data.values() if isinstance(data, Mapping) else data:
            yield from _keys(each)


class Workflow:
    """Steps with inputs, as `run_workflow` takes them. All of it is checked here: `BadSpec`.

    `steps` and `on_end`: what `step` returns, or mappings. `inputs`: what a file declares, by name.
    `header`: what else stands under `workflow:`, such as `version`, `integration` or `model`.
    `more`: other keys of a file, such as `caps`, `rates` and `budget`. `folder`: what paths are
    relative to; with `lenient`, unknown names are not errors.
    """

    def __init__(
        self,
        workflow_id: str = "workflow",
        *,
        steps: Steps,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        on_end: Steps = (),
        header: Mapping[str, Any] | None = None,
        folder: str | os.PathLike[str] = ".",
        lenient: bool = False,
        **more: Any,
    ) -> None:
        data = {
            "schema_version": SCHEMA,
            "workflow": {"id": workflow_id, "name": name or workflow_id, **(header or {})},
            **({"inputs": dict(inputs)} if inputs else {}),
            **more,
            "steps": list(steps),
        }
        data |= {"on_end": list(on_end)} if (on_end := list(on_end)) else {}
        if "<<" in _keys(data):
            told = "a key is `<<`, which files cannot have: write the keys out"
            raise BadSpec("Workflow(…)", [Problem(None, None, "", told)])
        self.data: dict[str, Any] = plain(data)
        """What stands in its file."""
        load(Document.of_program("Workflow(…)", folder, self.data), lenient=lenient)

    @staticmethod
    def read(path: str | os.PathLike[str], *, lenient: bool = False) -> Workflow:
        """A workflow file. `BadSpec`."""
        document = read(path)
        load(document, lenient=lenient)
        found = Workflow.__new__(Workflow)
        found.data = document.data
        return found

    def to_yaml(self) -> str:
        """Its file."""
        text: str = yaml.dump(
            self.data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )
        return text

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write its file."""
        Path(path).write_text(self.to_yaml(), encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workflow) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.to_yaml())
