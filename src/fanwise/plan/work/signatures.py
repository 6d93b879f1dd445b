"""What a file declares, in a few lines. Files are only read: nothing in them runs.

Python files are parsed, and their functions and classes listed with the first line of the
docstring. Of JavaScript, TypeScript and Go files the exporting lines are listed; of others nothing.
`values.py` decides which values are shown.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence

from fanwise.kernel.parse_python import parse
from fanwise.plan.work.values import annotation_of, arguments_of, line_of, value_of
from fanwise.workspaces import Workspace

MOST_LINE = 200
_SCRIPT = re.compile(r"^export\s+(?!\{|\*)[^\n]+", re.MULTILINE)
_GO = re.compile(
    r"^(?:func\s+(?:\([^)\n]*\)\s*)?[A-Z]|(?:type|var|const)\s+[A-Z])[^\n]*", re.MULTILINE
)
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
        return [_cut(_without_body(line_of(line).rstrip())) for line in lines]
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
            returns = f" -> {annotation_of(node.returns)}" if node.returns else ""
            yield f"{indent}{word} {node.name}({arguments_of(node.args)}){returns}:{_says(node)}"
    elif isinstance(node, ast.ClassDef):
        if _is_public(node.name):
            bases = ", ".join(_bases(node))
            yield f"{indent}class {node.name}{f'({bases})' if bases else ''}:{_says(node)}"
            for each in node.body:
                yield from _declared(each, f"{indent}    ")
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and _is_public(node.target.id):
            yield f"{indent}{node.target.id}: {annotation_of(node.annotation)}"
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and _is_public(target.id):
            yield f"{indent}{target.id} = {value_of(node.value)}"


def _bases(node: ast.ClassDef) -> Iterator[str]:
    yield from map(annotation_of, node.bases)
    for each in node.keywords:
        told = annotation_of(each.value)
        yield f"{each.arg}={told}" if each.arg else f"**{told}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def _says(node: _Function | ast.ClassDef) -> str:
    said = (ast.get_docstring(node) or "").partition("\n")[0].strip()
    return f"  # {said}" if said else ""


def _cut(line: str) -> str:
    line = " ".join(line[: MOST_LINE * 2].split()) if "\n" in line else line
    return line if len(line) <= MOST_LINE else f"{line[: MOST_LINE - 1]}…"
