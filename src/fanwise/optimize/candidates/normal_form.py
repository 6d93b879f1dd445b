"""When two programs are the same: their syntax trees in a normal form.

Candidates of one model are often one idea in other words, and to judge one costs minutes. So what
cannot matter is taken away: comments and lay-out, docstrings, annotations of locals. Names stay: a
candidate that differs in those of its locals alone costs one more check.

Two programs that differ must never pass for one, and Python can look at itself. A file in which a
word stands that makes locals, docstrings or lines visible keeps them; words in strings count, for
they may be given to `getattr`. What cannot be known from the file is what others do with it: a
debugger, or a framework that reads the docstrings of what it decorates. So docstrings stay where
there is a decorator or a base class that might, and where they have examples, which may be tests.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fanwise.kernel.parse_python import parse
from fanwise.optimize.candidates.source_text import SourceText

_SEES_LINES = frozenset((
    "co_firstlineno", "co_lines", "f_lineno", "findsource", "getsource", "getsourcelines",
    "inspect", "linecache", "lineno", "stack_info", "stacklevel", "tb_lineno", "traceback",
))  # fmt: skip
_SEES_DOCSTRINGS = frozenset(("__doc__", "doctest", "getdoc", "help", "pydoc"))
_PLAIN_DECORATORS = frozenset((
    "abstractmethod", "cache", "classmethod", "final", "lru_cache", "override", "staticmethod",
))  # fmt: skip
_MOST = 2_000_000  # characters; a file that somebody reads has a hundredth of that
_WORD = re.compile(r"\w+")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class FileVersion(NamedTuple):
    """The mode and content of a file, before or after a change."""

    mode: str
    content: bytes


def identity(files: Mapping[str, tuple[FileVersion | None, FileVersion | None]]) -> str:
    """A digest of what was changed, each file before and after; None: there is none.

    Equal for changes that do the same; empty if they do nothing.
    """
    changed = []
    for path, (before, after) in sorted(files.items()):
        old, new = (_form(path, file) for file in (before, after))
        if old != new:
            changed.append(f"{path}\0{new}")
    whole = "\0\0".join(changed).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).hexdigest() if changed else ""


def normal_form(source: str) -> str:
    """Text that is equal for files that do the same. What does not parse stands for itself."""
    if len(source) > _MOST:
        return f"as it is:{source}"
    try:
        tree = parse(source)
        return ast.dump(tree) if normalise(tree) else f"as it is:{source}"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"not parsed:{source}"


def normalise(tree: ast.Module) -> bool:
    """Bring a tree into its normal form, in place; False: only its text tells what it does."""
    seen = _words(tree)
    if seen & _SEES_LINES:
        return False
    if not seen & _SEES_DOCSTRINGS:
        _drop_docstrings(tree)
    _drop_annotations(tree)
    return True


def _form(path: str, file: FileVersion | None) -> str:
    if file is None:
        return ""
    if not path.endswith((".py", ".pyi")) or file.mode == "120000":
        return f"{file.mode}:{file.content.hex()}"
    try:
        return f"{file.mode}:{normal_form(SourceText.of(file.content).text)}"
    except (SyntaxError, UnicodeDecodeError):
        return f"{file.mode}:{file.content.hex()}"


def _words(tree: ast.Module) -> frozenset[str]:
    """The words in names and strings, docstrings left out: those are told by who reads them."""
    docstrings = {id(each.body[0].value) for each in _documented(tree)}  # type: ignore[attr-defined]
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) not in docstrings:
            for _, value in ast.iter_fields(node):
                found.update(_words_in(value))
    return frozenset(found)


def _words_in(value: object) -> Iterator[str]:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, str):  # of `global`, `nonlocal` and match classes
                yield each


def _documented(tree: ast.Module) -> Iterator[Documented]:
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            yield node


def _drop_docstrings(tree: ast.Module) -> None:
    for node in list(_documented(tree)):
        if _is_read_by_nobody(node) and ">>>" not in (ast.get_docstring(node) or ""):
            if isinstance(node, ast.Module):
                del node.body[0]
            else:
                node.body[:1] = [] if len(node.body) > 1 else [ast.Pass()]


def _is_read_by_nobody(node: Documented) -> bool:
    if isinstance(node, ast.Module):
        return True
    if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
        return False
    return all(_is_plain(each) for each in node.decorator_list)


def _is_plain(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    match called:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
            return name in _PLAIN_DECORATORS
    return False


def _drop_annotations(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = _Unannotated().all(node.body)


class _Unannotated(ast.NodeTransformer):
    """Annotations of a function's locals: they are not evaluated, and nobody can ask for them."""

    def all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(each) for each in body]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if any(isinstance(each, _BINDS) for each in ast.walk(node.annotation)):
            return node
        if node.value is None:
            node.annotation = ast.Constant(None)  # it stays: it makes the name a local
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node  # its annotations are those of a class

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # has its own turn

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node


_BINDS = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.comprehension)
