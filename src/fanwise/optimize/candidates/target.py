"""The target: the one function or method that candidates make faster.

It is found in the text and not by importing: what is looked at may be hostile. A target has to be
something that can be called from outside and that is defined once: functions, methods, class and
static methods, properties without a setter, async and generators too. What cannot be one: a class,
a cached property, a function inside a function (nobody else can call it), a name that is only
assigned or imported, and one with several definitions, of which nobody knows which is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from fanwise.errors import BadTarget
from fanwise.kernel.parse_python import parse
from fanwise.optimize.candidates.source_text import SourceText, first_line, lines_after

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FORM = "Write it as src/package/file.py::function or …::Class.method"


class LineSpan(NamedTuple):
    """Lines of a file, from 0, the last one not included."""

    start: int
    end: int


class BoundName(NamedTuple):
    """A statement that defines or binds a name."""

    name: str
    node: ast.stmt
    inside: tuple[ast.ClassDef, ...]
    """The classes around it, the outermost first."""


class Target(msgspec.Struct, frozen=True):
    """A function or method of a file of the repository."""

    file: str
    """Relative to the top of the repository, with `/`."""
    name: str
    """`function`, `Class.method` or `Outer.Inner.method`."""

    @classmethod
    def parse(cls, text: str, *, inside: str = "") -> Target:
        """Read `file::name`, the file relative to the folder `inside` of the repository."""
        file, sep, name = text.partition("::")
        if not sep or not file or not name:
            raise BadTarget(text, "no file and name can be told apart", _FORM)
        path = PurePosixPath(inside, file)
        if PurePosixPath(file).is_absolute() or ".." in path.parts:
            raise BadTarget(text, "the file is not in the repository", "Give it relative to that")
        if path.suffix != ".py":
            raise BadTarget(text, f"{file} is not a Python file", _FORM)
        name = name.replace("::", ".")  # as pytest writes methods
        if not all(part.isidentifier() for part in name.split(".")):
            raise BadTarget(text, f"{name!r} is no name in Python", _FORM)
        return cls(str(path), name)

    def text(self) -> str:
        """`file::name`."""
        return f"{self.file}::{self.name}"

    @property
    def own_name(self) -> str:
        """The name without the classes around it."""
        return self.name.rpartition(".")[2]

    def read(self, top: Path) -> SourceText:
        """The text of its file below `top`; not there or not Python is a `BadTarget`."""
        try:
            return SourceText.of((top / self.file).read_bytes())
        except OSError as error:
            problem = f"{self.file} cannot be read ({error.strerror or error})"
            raise BadTarget(self.text(), problem, "Name a file of the repository") from error
        except (SyntaxError, UnicodeDecodeError) as error:
            problem = f"{self.file} is not text in its encoding ({error})"
            raise BadTarget(self.text(), problem, "Name a Python file") from error

    def find(self, source: str) -> BoundName:
        """Where it is defined; what cannot be a target is a `BadTarget` that says why."""
        found = [
            each for each in self._definitions(source) if "overload" not in _decorators(each.node)
        ]
        if not found:
            raise self._missing(source)
        last = found[-1]
        if isinstance(last.node, ast.ClassDef):
            inner = [
                name
                for name in _callable(self._tree(source))
                if name.rpartition(".")[0] == self.name
            ]
            raise self._bad("it is a class", f"Name a method: {', '.join(inner) or 'it has none'}")
        if not isinstance(last.node, Function):
            raise self._bad(
                f"line {last.node.lineno} assigns or imports it, it is not defined there",
                "Name a function that is defined with `def`, where that is",
            )
        if any(_is_kept(each.node) for each in found):
            raise self._bad(
                "it is a cached property: it is computed once for each object",
                "Name a function that it calls, or leave the target out",
            )
        if len(found) > 1:
            lines = ", ".join(str(each.node.lineno) for each in found)
            raise self._bad(f"it is defined more than once (lines {lines})", "Keep one of them")
        return last

    def span(self, source: str) -> LineSpan:
        """The lines of its definition, with decorators."""
        node = self.find(source).node
        return LineSpan(first_line(node), lines_after(node))

    def _tree(self, source: str) -> ast.Module:
        try:
            return parse(source)
        except (SyntaxError, ValueError) as error:
            raise self._bad(f"its file does not parse: {error}", "Mend the file first") from error

    def _definitions(self, source: str) -> list[BoundName]:
        return [each for each in definitions(self._tree(source)) if each.name == self.name]

    def _bad(self, problem: str, next_step: str) -> BadTarget:
        return BadTarget(self.text(), problem, next_step)

    def _missing(self, source: str) -> BadTarget:
        tree = self._tree(source)
        outer = self.name.rpartition(".")[0]
        names = _callable(tree)
        if outer in names:
            return self._bad(
                f"{outer} is a function, and nobody else can call what is inside of it",
                f"Name {outer} itself, or move the inner function out of it",
            )
        close = get_close_matches(self.name, names, n=1) or [
            name for name in names if name.rpartition(".")[2] == self.own_name
        ]
        if close:
            step = f"Did you mean {self.file}::{close[0]}?"
        else:
            step = f"It has {', '.join(names[:12])}" if names else "It has no functions at all"
        return self._bad(f"{self.file} has no {self.name}", step)


def definitions(tree: ast.Module) -> Iterator[BoundName]:
    """All that a file defines by name, classes opened, functions not; in the order of the text.

    What stands under `if`, `try`, `with` or a loop at the top counts.
    """
    yield from _definitions(tree.body, ())


def _definitions(body: Sequence[ast.stmt], inside: tuple[ast.ClassDef, ...]) -> Iterator[BoundName]:
    prefix = "".join(f"{each.name}." for each in inside)
    for node in body:
        for name in _names(node):
            yield BoundName(prefix + name, node, inside)
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, (*inside, node))
        elif not isinstance(node, Function):
            for block in _blocks(node):
                yield from _definitions(block, inside)


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (name.id for each in targets for name in ast.walk(each) if _is_stored(name))  # type: ignore[attr-defined]
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield part.body


def _callable(tree: ast.Module) -> list[str]:
    """The names of functions and methods, each once, cached properties left out."""
    found = [each for each in definitions(tree) if isinstance(each.node, Function)]
    kept = {each.name for each in found if _is_kept(each.node)}
    return [name for name in dict.fromkeys(each.name for each in found) if name not in kept]


def _decorators(node: ast.stmt) -> Iterator[str]:
    """The last part of each decorator's name."""
    for each in getattr(node, "decorator_list", []):
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Name):
            yield called.id
        elif isinstance(called, ast.Attribute):
            yield called.attr


def _is_kept(node: ast.stmt) -> bool:
    return "cached_property" in _decorators(node)
