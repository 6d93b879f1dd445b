"""The names of locals, made alike: the first one that is met is 0, and so on.

A variable is renamed only where it is certain that nobody can tell. It is one of a function, a
lambda or a comprehension; it is bound by nothing that shows its name elsewhere (`import`, `def`,
`class`); no string of the file has its name as a word, for `df.query("@x > 1")` finds variables by
their names; and no class body reads it, which looks in other places first. Parameters can be given
by name, so they stay, but for those that cannot (`/`, `*args`, `**more`, where no decorator sees
the function), and those of lambdas that are called at once or by `sorted` and the like.

The new names are not in the file, each variable has its own, and all places of a variable change
at once: so nothing is captured, and a program in normal form does what it did.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fanwise.optimize.candidates.scopes import NameUse, Variable, read_name_uses

_NEW = "local_"
_WORD = re.compile(r"\w+")
_BY_KEY = frozenset(("sorted", "min", "max"))
_BY_FIRST = frozenset(("map", "filter"))
_NEW_KINDS = frozenset(("TypeAlias", "TemplateStr"))


def rename_locals(tree: ast.Module) -> None:
    """Rename in place. Nothing is, where the file has such names already or scopes of new kinds."""
    if any(_is_of_a_new_kind(node) for node in ast.walk(tree)):
        return
    variables = _variables(read_name_uses(tree))
    words = _words_in_strings(tree)
    if any(name.startswith(_NEW) for name in (*_names(tree), *words)):
        return
    lambdas = set(map(id, _called_by_position(tree)))
    free = [
        places
        for variable, places in variables.items()
        if _may_change(variable, places, lambdas) and variable.name not in words
    ]
    for number, places in enumerate(free):
        for place in places:
            place.rename(f"{_NEW}{number}")


def _variables(places: list[NameUse]) -> dict[Variable, list[NameUse]]:
    """The places of each variable, in the order in which they are met."""
    found: dict[Variable, list[NameUse]] = {}
    for place in places:
        variable = place.scope.find(place.name)
        if variable is not None:
            found.setdefault(variable, []).append(place)
    return found


def _may_change(variable: Variable, places: list[NameUse], lambdas: set[int]) -> bool:
    if variable.name.startswith("__") or any(place.scope.kind == "class" for place in places):
        return False
    fixed = {place.how for place in places} - {None, "plain", "unnamed parameter"}
    return not fixed or (fixed == {"parameter"} and id(variable.scope.node) in lambdas)


def _is_of_a_new_kind(node: ast.AST) -> bool:
    return bool(getattr(node, "type_params", None)) or type(node).__name__ in _NEW_KINDS


def _words_in_strings(tree: ast.Module) -> set[str]:
    return {
        word
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        for word in _WORD.findall(
            node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        )
    }


def _names(tree: ast.Module) -> Iterator[str]:
    """All identifiers in the file."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                yield from (each for each in value if isinstance(each, str))


def _called_by_position(tree: ast.Module) -> Iterator[ast.Lambda]:
    """The lambdas whose parameters nobody gives by name: called at once, or by a builtin."""
    rebound = _rebound(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Lambda) and not node.keywords:
            yield node.func
        by_key = _is_one(node.func, _BY_KEY - rebound) or _is_sort(node.func)
        given = [each.value for each in node.keywords if each.arg == "key"] if by_key else []
        if _is_one(node.func, _BY_FIRST - rebound):
            given += node.args[:1]
        yield from (each for each in given if isinstance(each, ast.Lambda))


def _is_one(function: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(function, ast.Name) and function.id in names


def _is_sort(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "sort"


def _rebound(tree: ast.Module) -> frozenset[str]:
    """Builtins that the file may have rebound."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.alias(name="*"):
                return _BY_KEY | _BY_FIRST
            case ast.alias(name=name, asname=other):
                names.add(other or name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
    return frozenset(names)
