"""The steps of a file: each checked in its own place, all that is wrong collected.

pydantic could check the whole tree at once, as a union of unions; but its errors then lead through
names of its own that grow with each level, and the first wrong step would hide what is in it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel

from fanwise.errors import BadSpec, Problem
from fanwise.specs import Document, FieldPath, check
from fanwise.specs.nearest import did_you_mean
from fanwise.workflow.spec import step_types
from fanwise.workflow.spec.steps import Step, key_of

M = TypeVar("M", bound=BaseModel)


class ReadingRules(msgspec.Struct, frozen=True):
    """How files are read."""

    lenient: bool = False
    """What spec-kit takes without a word is a warning."""
    types: Collection[str] = ()
    """Types of steps that the project itself has."""
    untrusted: Collection[str] = ()
    """Types that it would have, if it was trusted."""


class StepReader:
    """Reads one file, collecting `problems` and `warnings`."""

    def __init__(self, document: Document, rules: ReadingRules) -> None:
        self.document = document
        self.rules = rules
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def wrong(self, path: FieldPath, message: str) -> None:
        """Report a problem."""
        self.problems.append(self.document.problem(path, message))

    def doubtful(self, path: FieldPath, message: str, *, key: bool = False) -> None:
        """Something that spec-kit takes without a word: wrong, unless one is lenient."""
        problem = self.document.problem(path, message, key=key)
        if self.rules.lenient:
            self._warn(problem)
        else:
            self.problems.append(problem)

    def _warn(self, problem: Problem) -> None:
        self.warnings.append(problem.at(self.document.name))

    def model(self, kind: type[M], path: FieldPath) -> M | None:
        """Check what stands there; None if it is wrong."""
        on_unknown = self._warn if self.rules.lenient else None
        try:
            return check(self.document, kind, *path, on_unknown=on_unknown)
        except BadSpec as error:
            self.problems += error.problems
            return None

    def steps(self, path: FieldPath) -> tuple[Step, ...]:
        """A list of steps; those that are wrong are left out."""
        given = self.document.value(path)
        if not isinstance(given, list):
            return ()
        read = [self.step((*path, number)) for number in range(len(given))]
        return tuple(step for step in read if step is not None)

    def step(self, path: FieldPath) -> Step | None:
        """One step, with all that is in it; None if it is wrong."""
        given = self.document.value(path)
        if not isinstance(given, dict):
            self.wrong(path, "a step must be a mapping, with `id`")
            return None
        kind = self._kind(given, path)
        if kind is None:
            return None
        step = self.model(kind, path)
        inside = {name: self._nested(kind, name, path) for name in kind.nested}
        if step is None or None in inside.values():
            return None
        made = step.model_copy(update=inside)
        made._where = self.document.at(*path)
        return made

    def _kind(self, given: dict[str, Any], path: FieldPath) -> type[Step] | None:
        name = given.get("type", "command")
        if not isinstance(name, str):
            self.wrong((*path, "type"), "must be the name of a type of steps")
            return None
        kind = step_types.spec_of(name, self.rules.types)
        if kind is None:
            hint = did_you_mean(name, step_types.names(self.rules.types))
            if name in self.rules.untrusted:
                hint = ", but the project has one: to import it, say --trust-project"
            self.wrong((*path, "type"), f"there is no type of steps {name!r}{hint}")
            return None
        why = step_types.unavailable(name)
        if why is not None:
            self.wrong((*path, "type"), why)
        return kind

    def _nested(self, kind: type[Step], name: str, path: FieldPath) -> Any:
        """The steps in one field; None: the one step that it should have is wrong."""
        key = key_of(kind, name)
        below = (*path, key)
        given = self.document.value(path).get(key)
        if kind.nested[name] == "step":
            return self.step(below) if isinstance(given, dict) else None
        if kind.nested[name] == "cases":
            names = given if isinstance(given, dict) else ()
            return {case: self.steps((*below, case)) for case in names}
        return self.steps(below) if given is not None else ()
