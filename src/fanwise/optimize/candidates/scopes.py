"""Which variable a name means, at each place of a file where it stands.

By the rules of Python: a name is local to the function that binds it, unless that says `global` or
`nonlocal`; a comprehension binds its own targets, but its first iterable belongs to what is
around it, and `:=` in it binds there; class bodies are not seen from inside. The standard
library's `symtable` knows all that too, but not at which place of the tree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["module", "class", "function", "lambda", "comprehension"]
Bound = Literal["plain", "shown", "parameter", "unnamed parameter"]
"""How a name is bound. `shown`: so that others see it; `unnamed`: nobody can give it by name."""


class Scope:
    """A scope: a part of the file with variables of its own."""

    def __init__(self, kind: Kind, node: ast.AST, parent: Scope | None) -> None:
        self.kind = kind
        self.node = node
        self.parent = parent
        self.bound: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    def find(self, name: str) -> Variable | None:
        """The variable that a name means here, if a function, lambda or comprehension has it."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "module":
            if scope.kind != "class" or scope is self:  # class bodies are not seen from inside
                if name in scope.globals:
                    return None
                if name in scope.bound and name not in scope.nonlocals:
                    return Variable(scope, name) if scope.kind != "class" else None
            scope = scope.parent
        return None

    def outside_comprehensions(self) -> Scope:
        """The scope in which `:=` binds."""
        scope = self
        while scope.kind == "comprehension":
            assert scope.parent is not None
            scope = scope.parent
        return scope


class Variable(NamedTuple):
    """A name in the scope that binds it."""

    scope: Scope
    name: str


class NameUse(NamedTuple):
    """One occurrence of a name."""

    scope: Scope
    name: str
    how: Bound | None
    """How the name is bound; None if it is read."""
    rename: Callable[[str], None]


def read_name_uses(tree: ast.Module) -> list[NameUse]:
    """All places where a name stands for a variable, in the order of the tree."""
    reader = _NameReader(tree)
    reader.all(tree.body)
    return reader.places


class _NameReader(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.scope = Scope("module", tree, None)
        self.places: list[NameUse] = []

    def all(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._place(self.scope, node, "id", None if isinstance(node.ctx, ast.Load) else "plain")

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._place(self.scope.outside_comprehensions(), node.target, "id", "plain")
        self.visit(node.value)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._place(self.scope, node, "name", "plain")
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._place(self.scope, node, "name", "plain")
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._place(self.scope, node, "name", "plain")

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._place(self.scope, node, "rest", "plain")
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals.update(node.names)
        for index, name in enumerate(node.names):

            def rename(new: str, index: int = index) -> None:
                node.names[index] = new

            self.places.append(NameUse(self.scope, name, None, rename))

    def visit_alias(self, node: ast.alias) -> None:
        self._shown(node.asname or node.name.partition(".")[0])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._shown(node.name)
        self.all([*node.decorator_list, *node.bases, *node.keywords])
        with_own = self._inside("class", node)
        self.all(node.body)
        self.scope = with_own

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.all([*node.args.defaults, *node.args.kw_defaults])
        around = self._inside("lambda", node)
        self._parameters(node.args, decorated=False)
        self.visit(node.body)
        self.scope = around

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, node.generators, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node, node.generators, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, node.generators, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, node.generators, [node.key, node.value])

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._shown(node.name)
        self.all([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        self._annotations([*(arg.annotation for arg in _arguments(node.args)), node.returns])
        around = self._inside("function", node)
        self._parameters(node.args, decorated=bool(node.decorator_list))
        self.all(node.body)
        self.scope = around

    def _annotations(self, nodes: Sequence[ast.expr | None]) -> None:
        """Names in them can be read by anybody, as text where annotations are not evaluated."""
        start = len(self.places)
        self.all(nodes)
        self.places[start:] = [each._replace(how="shown") for each in self.places[start:]]

    def _comprehension(
        self, node: ast.expr, generators: list[ast.comprehension], values: list[ast.expr]
    ) -> None:
        self.visit(generators[0].iter)
        around = self._inside("comprehension", node)
        for number, each in enumerate(generators):
            self.visit(each.target)
            self.all([each.iter] if number else [])
            self.all(each.ifs)
        self.all(values)
        self.scope = around

    def _inside(self, kind: Kind, node: ast.AST) -> Scope:
        around, self.scope = self.scope, Scope(kind, node, self.scope)
        return around

    def _parameters(self, args: ast.arguments, *, decorated: bool) -> None:
        by_name = {id(arg) for arg in (*args.args, *args.kwonlyargs)}
        for arg in _arguments(args):
            unnamed = id(arg) not in by_name and not decorated
            how: Bound = "unnamed parameter" if unnamed else "parameter"
            self._place(self.scope, arg, "arg", how)

    def _shown(self, name: str) -> None:
        self.scope.bound.add(name)
        self.places.append(NameUse(self.scope, name, "shown", _stays))

    def _place(self, scope: Scope, node: ast.AST, field: str, how: Bound | None) -> None:
        def rename(new: str) -> None:
            setattr(node, field, new)

        name = getattr(node, field)
        if name is not None:
            if how is not None:
                scope.bound.add(name)
            self.places.append(NameUse(scope, name, how, rename))


def _stays(new: str) -> None:
    raise AssertionError(f"{new} for a name that is shown")


def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from args.posonlyargs
    yield from args.args
    yield from args.kwonlyargs
    yield from (each for each in (args.vararg, args.kwarg) if each is not None)
