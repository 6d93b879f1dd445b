"""Tasks instead of a split: different goals in one repository, each a sub-plan without a lease.

They stand in the file, or in one of their own (`.jsonl`, `.yaml`, `.json`), or each is a text in a
folder, named by its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from fanwise.errors import UsageError
from fanwise.plan.model.digest import digest
from fanwise.plan.model.node import Node, Split, Tree
from fanwise.plan.split.patterns import Patterns as FilePatterns
from fanwise.plan.split.scorecard import scorecard
from fanwise.specs import Many, SpecModel
from fanwise.specs.model import Patterns

TEXTS = (".md", ".txt")
TITLE = "all tasks"


class TaskSpec(SpecModel):
    id: str = Field(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")
    goal: str = Field(min_length=1)
    files: Patterns = ()
    """Where to begin; it may change any file."""
    needs: Many[str] = ()
    """Tasks whose changes it begins with."""
    agent: str | None = None
    """Who does it, if not `each`."""


def read_tasks(given: str | Sequence[TaskSpec], folder: Path) -> tuple[TaskSpec, ...]:
    """Return the tasks, each after those that it needs. `UsageError`."""
    tasks = list(_from_disk(folder / given)) if isinstance(given, str) else list(given)
    by_id = {task.id: task for task in tasks}
    if not tasks:
        raise UsageError("there are no tasks", "Give each an `id` and a `goal`")
    if len(by_id) < len(tasks):
        twice = next(task.id for task in tasks if by_id[task.id] is not task)
        raise UsageError(f"there are two tasks {twice!r}", "Give each an id of its own")
    for task in tasks:
        for need in task.needs:
            if need not in by_id:
                raise UsageError(f"the task {task.id!r} needs {need!r}, which is not there")
    try:
        order = TopologicalSorter({task.id: task.needs for task in tasks}).static_order()
        return tuple(by_id[name] for name in order)
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise UsageError(f"tasks need one another in a circle: {circle}") from None


def split_of_tasks(
    tasks: Sequence[TaskSpec], commit: str, tokens: Mapping[str, int], max_parallel: int
) -> Split:
    """Return them as sub-plans of one tree. With another commit to start from they are others:

    a task may change any file, so what it made of an earlier state says nothing of a later one.
    """
    ids = {task.id: digest("task", commit, task.model_dump(mode="json")) for task in tasks}
    root = Node(id=digest("tasks", sorted(ids.values())), title=TITLE, children=tuple(ids.values()))
    leaves = [_leaf(task, ids, root.id, tokens) for task in tasks]
    tree = Tree(nodes=(root, *leaves))
    card = scorecard(tree, {}, (), max_parallel=max_parallel)
    return Split(mode="independent", tree=tree, imports={}, scorecard=card)


def _leaf(task: TaskSpec, ids: Mapping[str, str], root: str, tokens: Mapping[str, int]) -> Node:
    wanted = FilePatterns(task.files)
    files = tuple(path for path in tokens if wanted.match(path)) if task.files else ()
    if task.files and not files:
        raise UsageError(f"the task {task.id!r}: no file matches {', '.join(task.files)}")
    return Node(
        id=ids[task.id],
        title=task.id,
        depth=1,
        parent=root,
        files=files,
        tokens=sum(tokens[path] for path in files),
        after=tuple(ids[need] for need in task.needs),
        goal=task.goal,
        is_task=True,
        agent=task.agent or "",
    )


def _from_disk(path: Path) -> Iterable[TaskSpec]:
    try:
        if path.is_dir():
            texts = sorted(each for each in path.iterdir() if each.suffix in TEXTS)
            return [_task({"id": each.stem, "goal": each.read_text()}, each) for each in texts]
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Name a file or a folder") from None
    try:
        if path.suffix == ".jsonl":
            rows: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            rows = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be parsed: {error}") from None
    if not isinstance(rows, list):
        raise UsageError(f"{path} is not a list of tasks", "Give each an `id` and a `goal`")
    return [_task(row, path) for row in rows]


def _task(row: Any, path: Path) -> TaskSpec:
    try:
        return TaskSpec.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: a task is wrong: {where}: {first['msg']}") from None
