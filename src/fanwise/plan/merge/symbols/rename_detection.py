"""What a name that is gone is called now, as far as that can be told. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from difflib import SequenceMatcher

from fanwise.plan.merge.symbols.facts import PythonModule

_ALIKE = 0.6
_MOST = 4_000
"""Characters of a definition that are compared."""


def new_name(before: PythonModule, after: PythonModule, names: tuple[str, ...]) -> str | None:
    """Find the new name, in the same module or class, of what has this body."""
    old, new = _scope(before, names[:-1]), _scope(after, names[:-1])
    gone = old.get(names[-1])
    if gone is None:
        return None
    wanted = _body(gone)
    best, how = None, _ALIKE
    for name, node in new.items():
        if name not in old and type(node) is type(gone):
            alike = _alike(wanted, _body(node))
            if alike > how:
                best, how = name, alike
    return best


def new_path(text: str, added: Mapping[str, str]) -> str | None:
    """Find the new file with the content of one that is gone."""
    best, how = None, _ALIKE
    for path, other in sorted(added.items()):
        alike = _alike(text, other)
        if alike > how:
            best, how = path, alike
    return best


def _scope(module: PythonModule, names: tuple[str, ...]) -> dict[str, ast.AST]:
    if not names:
        return {name: each.node for name, each in module.names.items() if each.node is not None}
    bound = module.names.get(names[0])
    return {} if bound is None or bound.known_class is None else bound.known_class.names


def _body(node: ast.AST) -> str:
    """The text of a definition, without its name."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return f"({ast.unparse(node.args)})\n" + "\n".join(map(ast.unparse, node.body))
    if isinstance(node, ast.ClassDef):
        return "\n".join(map(ast.unparse, [*node.bases, *node.body]))
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        return ast.unparse(node.value)
    return ""


def _alike(one: str, other: str) -> float:
    if one == other:
        return 1.0 if one.strip() else 0.0
    match = SequenceMatcher(None, one[:_MOST], other[:_MOST], autojunk=False)
    return match.ratio() if match.quick_ratio() > _ALIKE else 0.0
