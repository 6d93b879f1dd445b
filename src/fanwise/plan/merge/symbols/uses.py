"""Which names of other modules a Python file uses. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fanwise.kernel.parse_python import parse
from fanwise.plan.merge.symbols.facts import Ref, dotted

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


class ModuleUse(NamedTuple):
    """A name of another module, by the way to it; no names: the module itself."""

    ref: Ref
    names: tuple[str, ...]


def uses_in(text: str) -> dict[ModuleUse, int]:
    """Return what a file uses, with the first line of each; nothing, if it does not parse."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return _UseReader(tree).found


class _UseReader:
    """Collects the imports of a file, then what is reached by them."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: dict[ModuleUse, int] = {}
        self._prefixes: dict[str, ModuleUse] = {}
        self._set = Counter(_set_names(tree))
        guarded = set(_guarded(tree))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in guarded:
                self._import(node)
        for name, value in _calls(tree):
            self._instance(name, value)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node not in guarded:
                self._attribute(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for each in node.names:
                self._note(ModuleUse(Ref(0, each.name), ()), node.lineno)
                name = each.asname or each.name.partition(".")[0]
                module = each.name if each.asname else name
                self._prefixes.setdefault(name, ModuleUse(Ref(0, module), ()))
            return
        ref = Ref(node.level, node.module or "")
        for each in node.names:
            if each.name == "*":
                self._note(ModuleUse(ref, ()), node.lineno)
            else:
                self._note(ModuleUse(ref, (each.name,)), each.lineno)
                self._prefixes.setdefault(each.asname or each.name, ModuleUse(ref, (each.name,)))

    def _instance(self, name: str, value: ast.Call) -> None:
        """Of `x = Basket()`, if nothing else is ever called x, the names of x are the class's."""
        made = dotted(value.func)
        if made is not None and self._set[name] == 1 and self._set[made[0]] == 0:
            use = self._prefixes.get(made[0])
            if use is not None and made[-1][:1].isupper():
                self._prefixes.setdefault(name, ModuleUse(use.ref, (*use.names, *made[1:])))
                self._set[name] = 0

    def _attribute(self, node: ast.Attribute) -> None:
        parts = _through_calls(node)
        if parts is not None and parts[0] in self._prefixes and not self._set[parts[0]]:
            use = self._prefixes[parts[0]]
            self._note(ModuleUse(use.ref, (*use.names, *parts[1:])), node.lineno)

    def _note(self, use: ModuleUse, line: int) -> None:
        self.found[use] = min(line, self.found.get(use, line))


def _through_calls(node: ast.AST) -> tuple[str, ...] | None:
    """The parts of `a.b.c`, and of `a.B().c` where B has the name of a class."""
    if isinstance(node, ast.Call):
        made = dotted(node.func)
        return made if made is not None and made[-1][:1].isupper() else None
    if isinstance(node, ast.Attribute):
        front = _through_calls(node.value)
        return None if front is None else (*front, node.attr)
    return (node.id,) if isinstance(node, ast.Name) else None


def _set_names(tree: ast.Module) -> Iterator[str]:
    """All that is given a name by other means than an import, wherever."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ExceptHandler) and node.name is not None:
            yield node.name


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            (target, *more) = node.targets
            if isinstance(target, ast.Name) and not more:
                yield target.id, node.value


def _guarded(tree: ast.Module) -> Iterator[ast.AST]:
    """What may fail: somebody is there to catch it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_catches(each) for each in node.handlers):
            for inner in node.body:
                yield from ast.walk(inner)


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(each, ast.Name) and each.id in _CAUGHT for each in kinds)
