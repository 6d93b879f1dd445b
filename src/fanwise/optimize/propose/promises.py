"""What a faster function must keep, said of this very function.

Read from its text, never by importing it. A model is told in words what the checks will hold it
to: most of the wrong candidates break one of these.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from fanwise.kernel.parse_python import parse

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

ALWAYS = (
    "The same return values: equal, of the same types, in the same order. That is so for empty "
    "input, duplicates, None, True beside 1 and 1.0, objects that cannot be hashed or compared, "
    "subclasses, and iterators, which can be read only once.",
    "The same exceptions for the same arguments: type and message.",
    "Arguments are changed exactly as before: what was not changed is not, and what is returned "
    "is a new object where it was one.",
    "The same output on stdout, and the same changes to global state.",
    "Every call stands for itself: nothing kept from one call may alter another.",
)


def promises(source: str) -> list[str]:
    """What must hold, one sentence each; of a text that does not parse, what always must."""
    node = _function(source)
    return [*(_particular(node) if node is not None else ()), *ALWAYS]


def _particular(node: Function) -> Iterator[str]:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    signature = f"{keyword} {node.name}({ast.unparse(node.args)}){returns}"
    yield f"The signature, defaults included: `{signature}`."
    if node.decorator_list:
        names = ", ".join(f"`@{ast.unparse(each)}`" for each in node.decorator_list)
        yield f"The decorators: {names}."
    own = list(_own(node))
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own):
        yield (
            "It is a generator and stays lazy: nothing is computed before the first item is asked "
            "for, and each item when it is asked for."
        )
    elif isinstance(node, ast.AsyncFunctionDef):
        yield "It is a coroutine function and stays one."
    raised = dict.fromkeys(
        ast.unparse(each.exc) for each in own if isinstance(each, ast.Raise) and each.exc
    )
    if raised:
        yield f"What it raises itself: {', '.join(f'`{_short(each)}`' for each in raised)}."


def _function(source: str) -> Function | None:
    try:
        tree = parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return next((each for each in tree.body if isinstance(each, Function)), None)


def _own(node: Function) -> Iterator[ast.AST]:
    """All nodes of its body, those of functions and classes inside it left out."""
    waiting: list[ast.AST] = list(reversed(node.body))
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, _SCOPES):
            waiting.extend(reversed(list(ast.iter_child_nodes(each))))


def _short(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
