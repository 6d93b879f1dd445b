"""Values in declarations, as much of them as others may read. Pure.

What a file declares goes into prompts, so to whoever answers them: a text may be a secret, and a
collection may be huge. Neither is needed to use a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import islice

HIDDEN = "…"
MOST_TEXT = 20
"""Characters of a text that says itself: the default of a parameter, or a part of an annotation."""
_MOST_PARTS = 200
"""Of a value or an annotation that is looked at."""
_MOST_LINE = 2_000
_MOST_NUMBER = 1 << 64
_PLAIN = (
    ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Subscript, ast.Slice,
    ast.expr_context, ast.unaryop, ast.operator,
)  # fmt: skip
_QUOTED = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?' r"|'(?:[^'\\]++|\\.)*+'?" r"|`(?:[^`\\]++|\\.)*+`?", re.DOTALL
)
"""Also one that does not end: it goes on in the next line. Nothing in it is tried twice."""
_CONSTANT = re.compile(r"(?:export\s+(?:declare\s+)?)?(?:const|let|var)\s+[^=]*?=(?![=>])\s*")
_SHORT = re.compile(r"(?:[-+]?[\d][\w.]{0,30}|[A-Za-z_$][\w.$]{0,60})\s*;?")
_FUNCTION = re.compile(r"(?:async\s+)?(?:function\b|func\b|\([^()]*\)\s*(?::[^=]*)?=>|\w+\s*=>)")
_CALL = re.compile(r"((?:new\s+)?[A-Za-z_$][\w.$]{0,60})\s*\(")


def value_of(node: ast.expr) -> str:
    """The value of a constant: numbers and names; of a call, whom; texts and collections not."""
    if isinstance(node, ast.Call):
        return f"{_if_plain(node.func)}({HIDDEN})"
    return _if_plain(node)


def default_of(node: ast.expr) -> str:
    """The default of a parameter: as a constant, or a short text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return ast.unparse(node) if len(node.value) <= MOST_TEXT else HIDDEN
    return value_of(node)


def annotation_of(node: ast.expr) -> str:
    """A type, or a base of a class; long texts in it are not said."""
    if _parts(node) is None:
        return HIDDEN
    return ast.unparse(_Shortened().visit(node))


def arguments_of(node: ast.arguments) -> str:
    """The parameters of a function. What is not said of them is taken out of the tree."""
    every = [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]
    for each in every:
        if each is not None and each.annotation is not None:
            each.annotation = ast.Name(annotation_of(each.annotation))
    node.defaults = [ast.Name(default_of(each)) for each in node.defaults]
    node.kw_defaults = [each and ast.Name(default_of(each)) for each in node.kw_defaults]
    return ast.unparse(node)


def line_of(line: str) -> str:
    """A line of JavaScript, TypeScript or Go that declares something, in the same way."""
    line = line[:_MOST_LINE]
    begins = _CONSTANT.match(line)
    if begins and not _FUNCTION.match(line, begins.end()):
        rest = line[begins.end() :].rstrip()
        call = _CALL.match(rest)
        shown = rest if _SHORT.fullmatch(rest) else f"{call[1]}({HIDDEN})" if call else HIDDEN
        line = f"{line[: begins.end()]}{shown}"
    return _QUOTED.sub(_short_text, line)


def _short_text(found: re.Match[str]) -> str:
    whole = len(found[0]) > 1 and found[0][0] == found[0][-1]
    return found[0] if whole and len(found[0]) <= MOST_TEXT + 2 else HIDDEN


def _if_plain(node: ast.expr) -> str:
    if _is_empty(node):
        return ast.unparse(node)
    parts = _parts(node)
    return ast.unparse(node) if parts is not None and all(map(_is_plain, parts)) else HIDDEN


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple | ast.List):
        return not node.elts
    return isinstance(node, ast.Dict) and not node.keys


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return not _is_long(node, most=-1)
    return isinstance(node, _PLAIN)


def _is_long(node: ast.Constant, most: int) -> bool:
    if isinstance(node.value, str | bytes):
        return len(node.value) > most
    return isinstance(node.value, int) and abs(node.value) > _MOST_NUMBER


def _parts(node: ast.AST) -> Iterable[ast.AST] | None:
    """All that a node is made of; None: too much. A tuple is a part only between brackets."""
    found = [node]
    for each in found:
        found += islice(ast.iter_child_nodes(each), _MOST_PARTS + 1)
        if len(found) > _MOST_PARTS:
            return None
    between = {id(each.slice) for each in found if isinstance(each, ast.Subscript)}
    return [each for each in found if not (isinstance(each, ast.Tuple) and id(each) in between)]


class _Shortened(ast.NodeTransformer):
    """Without long texts, long numbers, and texts that are put together."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name(HIDDEN) if _is_long(node, MOST_TEXT) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return ast.Name(HIDDEN)
