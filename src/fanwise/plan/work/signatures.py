"""What a file declares, in a few lines. Files are only read: nothing in them runs.

Python files are parsed, and their functions and classes listed with the first line of the
docstring. Of JavaScript, TypeScript and Go files the exporting lines are listed; of others nothing.

Declarations go into prompts. A value may be a secret or huge, and is not needed to use a name, so
`…` stands for all values and for long texts in annotations.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from fanwise.kernel.parse_python import parse
from fanwise.workspaces import Workspace

MOST_LINE = 200
MOST_READ = 2_000
"""Characters of a line of a script that are looked at."""
HIDDEN = "…"
MOST_TEXT = 20
"""Characters of a text that is shown in an annotation."""
MOST_PARTS = 200
"""Nodes of an annotation that is shown."""
_SCRIPT = re.compile(r"^export\s+(?!\{|\*)[^\n]+", re.MULTILINE)
_GO = re.compile(
    r"^(?:func\s+(?:\([^)\n]*\)\s*)?[A-Z]|(?:type|var|const)\s+[A-Z])[^\n]*", re.MULTILINE
)
_QUOTED = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?' r"|'(?:[^'\\]++|\\.)*+'?" r"|`(?:[^`\\]++|\\.)*+`?", re.DOTALL
)
"""Also one that does not end: it goes on in the next line. Nothing in it is tried twice."""
_CONSTANT = re.compile(r"(?:export\s+(?:declare\s+)?)?(?:const|let|var)\s+[^=]*?=(?![=>])\s*")
_FUNCTION = re.compile(r"(?:async\s+)?(?:function\b|func\b|\([^()]*\)\s*(?::[^=]*)?=>|\w+\s*=>)")
_ENDS = {
    ".py": "python", ".pyi": "python", ".go": "go",
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), "typescript"),
}  # fmt: skip
_READ = "<read by fanwise>"
warnings.filterwarnings("ignore", module=_READ)  # of code that is only read; for all threads
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def language_of(path: str) -> str:
    """The language of a file; empty if its declarations cannot be read."""
    dot = path.rfind(".")
    return _ENDS.get(path[dot:].lower(), "") if dot >= 0 else ""


def signatures(path: str, text: str) -> list[str]:
    """The declarations of a file, one a line; none if it does not parse."""
    language = language_of(path)
    if language == "python":
        return [_cut(line) for line in _python(text)]
    if language:
        lines = (_SCRIPT if language == "typescript" else _GO).findall(text)
        return [_cut(_without_body(_without_value(line).rstrip())) for line in lines]
    return []


class Declarations:
    """What files declare, read once for all sub-plans: many import the same ones."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Sequence[str]] = {}

    def reader(self, workspace: Workspace) -> Callable[[str], Sequence[str]]:
        """Return a function that gives what a file declares at the workspace's base."""
        before = workspace.files_at_base()

        def read(path: str) -> Sequence[str]:
            key = before.get(path, ("", ""))[1], path
            if key not in self._known:
                text = workspace.read_at_base([path]).get(path, b"").decode("utf-8", "replace")
                self._known[key] = signatures(path, text)
            return self._known[key]

        return read


def _without_body(line: str) -> str:
    for sign in ("{", "=>"):
        if line.endswith(sign):
            return line.removesuffix(sign).rstrip()
    return line


def _python(text: str) -> list[str]:
    try:
        tree = parse(text, _READ)
        return [line for node in tree.body for line in _declared(node, "")]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []


def _declared(node: ast.stmt, indent: str) -> Iterator[str]:
    if isinstance(node, _Function):
        if _is_public(node.name):
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {_annotation(node.returns)}" if node.returns else ""
            yield f"{indent}{word} {node.name}({_arguments(node.args)}){returns}:{_says(node)}"
    elif isinstance(node, ast.ClassDef):
        if _is_public(node.name):
            bases = ", ".join(_bases(node))
            yield f"{indent}class {node.name}{f'({bases})' if bases else ''}:{_says(node)}"
            for each in node.body:
                yield from _declared(each, f"{indent}    ")
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and _is_public(node.target.id):
            yield f"{indent}{node.target.id}: {_annotation(node.annotation)}"
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and _is_public(target.id):
            yield f"{indent}{target.id} = {HIDDEN}"


def _bases(node: ast.ClassDef) -> Iterator[str]:
    yield from map(_annotation, node.bases)
    for each in node.keywords:
        told = _annotation(each.value)
        yield f"{each.arg}={told}" if each.arg else f"**{told}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def _says(node: _Function | ast.ClassDef) -> str:
    said = (ast.get_docstring(node) or "").partition("\n")[0].strip()
    return f"  # {said}" if said else ""


def _cut(line: str) -> str:
    line = " ".join(line[: MOST_LINE * 2].split()) if "\n" in line else line
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - 1]}…"


# -- what is hidden -------------------------------------------------------------------------------


def _annotation(node: ast.expr) -> str:
    """A type, or a base of a class, with long texts hidden."""
    parts = list(islice(ast.walk(node), MOST_PARTS + 1))
    return ast.unparse(_Shortened().visit(node)) if len(parts) <= MOST_PARTS else HIDDEN


def _arguments(node: ast.arguments) -> str:
    """The parameters of a function; what is hidden is replaced in the tree."""
    every = [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]
    for each in every:
        if each is not None and each.annotation is not None:
            each.annotation = ast.Name(_annotation(each.annotation))
    node.defaults = [ast.Name(HIDDEN) for _ in node.defaults]
    node.kw_defaults = [each and ast.Name(HIDDEN) for each in node.kw_defaults]
    return ast.unparse(node)


class _Shortened(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name(HIDDEN) if len(repr(node.value)) > MOST_TEXT + 2 else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return ast.Name(HIDDEN)


def _without_value(line: str) -> str:
    """A line of JavaScript, TypeScript or Go that declares something, with its value hidden."""
    line = line[:MOST_READ]
    begins = _CONSTANT.match(line)
    if begins and not _FUNCTION.match(line, begins.end()):
        line = f"{line[: begins.end()]}{HIDDEN}"
    return _QUOTED.sub(_short_text, line)


def _short_text(found: re.Match[str]) -> str:
    whole = len(found[0]) > 1 and found[0][0] == found[0][-1]
    return found[0] if whole and len(found[0]) <= MOST_TEXT + 2 else HIDDEN
