"""What a Python module defines. Pure.

Where that cannot be told from its text, it is said to be `dynamic`, and no name is missed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from fanwise.kernel.parse_python import parse


class Ref(NamedTuple):
    """A module as an import names it: dots before it, and its name."""

    level: int
    module: str


class Class(msgspec.Struct, frozen=True):
    """A class: what its body and its methods give it, and the names of its bases."""

    names: dict[str, ast.AST]
    bases: tuple[tuple[str, ...], ...]
    dynamic: bool


class TopLevelName(NamedTuple):
    """What a name at the top of a module is."""

    node: ast.AST | None = None
    """Where it is made, if it is made here."""
    known_class: Class | None = None
    module: Ref | None = None
    """What it is imported from."""
    name: str | None = None
    """Which name of that module; None: the module itself."""


class PythonModule(msgspec.Struct, frozen=True):
    names: dict[str, TopLevelName]
    stars: tuple[Ref, ...]
    dynamic: bool


EMPTY = PythonModule({}, (), dynamic=False)
UNKNOWN = PythonModule({}, (), dynamic=True)


def module_of(text: str) -> PythonModule:
    """Read a module; one that does not parse may have any name."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return UNKNOWN
    names: dict[str, TopLevelName] = {}
    stars: list[Ref] = []
    for node in statements(tree.body):
        names.update(_bound(node))
        if isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            stars.append(Ref(node.level, node.module or ""))
    dynamic = "__getattr__" in names or _writes_globals(tree)
    return PythonModule(names, tuple(stars), dynamic)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those that run when the body does: also inside of if, try, with and loops."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, []))
        for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(handler.body)


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """The parts of `a.b.c`; None: it is something else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        front = dotted(node.value)
        return None if front is None else (*front, node.attr)
    return None


def _bound(node: ast.stmt) -> Iterator[tuple[str, TopLevelName]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node.name, TopLevelName(node)
    elif isinstance(node, ast.ClassDef):
        yield node.name, TopLevelName(node, _class(node))
    elif isinstance(node, ast.Import):
        for each in node.names:
            name = each.asname or each.name.partition(".")[0]
            module = each.name if each.asname else name
            yield name, TopLevelName(module=Ref(0, module))
    elif isinstance(node, ast.ImportFrom):
        ref = Ref(node.level, node.module or "")
        for each in node.names:
            yield each.asname or each.name, TopLevelName(module=ref, name=each.name)
    else:
        for name in _targets(node):
            yield name, TopLevelName(node)


def _targets(node: ast.stmt) -> Iterator[str]:
    """Names that a statement sets itself, and not those that functions inside of it do."""
    parts: list[ast.AST | None] = []
    if isinstance(node, ast.Assign):
        parts = [*node.targets]
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        parts = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        parts = [each.optional_vars for each in node.items]
    elif node.__class__.__name__ == "TypeAlias":
        parts = [getattr(node, "name", None)]
    elif isinstance(node, (ast.Expr, ast.If, ast.While)):
        found = node.value if isinstance(node, ast.Expr) else node.test
        parts = [each.target for each in ast.walk(found) if isinstance(each, ast.NamedExpr)]
    for part in parts:
        if part is not None:
            yield from (
                each.id
                for each in ast.walk(part)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            )


def _class(node: ast.ClassDef) -> Class:
    names: dict[str, ast.AST] = {}
    for inner in statements(node.body):
        for name, bound in _bound(inner):
            names[name] = bound.node or inner
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for name, place in _of_self(inner):
                names.setdefault(name, place)
    bases = [dotted(base) for base in node.bases]
    known = tuple(base for base in bases if base is not None)
    dynamic = len(known) < len(bases) or bool(node.keywords)
    dynamic = dynamic or bool({"__getattr__", "__getattribute__"} & names.keys())
    return Class(names, known, dynamic)


def _of_self(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.AST]]:
    first = [each.arg for each in (*method.args.posonlyargs, *method.args.args)][:1]
    for each in ast.walk(method):
        if not isinstance(each, ast.Attribute) or not isinstance(each.ctx, ast.Store):
            continue
        if isinstance(each.value, ast.Name) and [each.value.id] == first:
            yield each.attr, each


def _writes_globals(tree: ast.Module) -> bool:
    """Whether names may come to be by other ways than by statements."""
    called = {
        each.func.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return bool(called & {"globals", "vars", "exec", "setattr"})
