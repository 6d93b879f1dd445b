"""Names that one leaf removed and another began to import: a merge without conflicts that breaks.

Only certain cases count: a top-level name of a module that existed at the start, is missing in the
merged tree, and is newly imported, or used through a newly imported module. Modules that define
names at run time, methods and uses that existed before are not judged: the check finds those.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from fanwise.kernel.parse_python import parse
from fanwise.plan.merge.trees import blobs_at
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.plan.model.merge_result import BrokenName
from fanwise.plan.split.imports.python import Modules
from fanwise.workspaces.blobs import BlobReader
from fanwise.workspaces.git import Git

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
Files = Mapping[str, Blob]
_WORD = re.compile(r"\w+")
_DYNAMIC = {"__getattr__", "globals", "vars", "exec", "setattr"}


class ImportedName(NamedTuple):
    """A name that a file imports from a module; without a name: the module itself."""

    level: int
    module: str
    name: str


class _ParsedFiles:
    """Contents of files, each read and parsed once."""

    def __init__(self, git: Git) -> None:
        self._reader = BlobReader(git)
        self.text = cache(self._text)
        self.tree = cache(self._tree)

    def _text(self, blob: Blob | None) -> str:
        return "" if blob is None else self._reader.read([blob.name])[0].decode("utf-8", "replace")

    def _tree(self, blob: Blob | None) -> ast.Module | None:
        """The file, parsed; None if it is not there or cannot be parsed."""
        try:
            return None if blob is None else parse(self.text(blob))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def words(self, blob: Blob | None) -> set[str]:
        return set(_WORD.findall(self.text(blob)))

    def lacks(self, blob: Blob | None, name: str) -> bool:
        """Whether a module has no such top-level name; no name: whether there is no module."""
        if blob is None or not name:
            return blob is None
        tree = self.tree(blob)
        names = set() if tree is None else set(_bound(tree))
        return tree is not None and not {name, "*"} & names and not _is_dynamic(tree)

    def uses(self, blob: Blob | None) -> dict[ImportedName, int]:
        tree = self.tree(blob)
        return {} if tree is None else dict(sorted(_uses(tree), key=lambda each: -each[1]))

    def close(self) -> None:
        self._reader.close()


def broken_names(
    git: Git, base: str, tree: str, changes: Sequence[Change]
) -> tuple[BrokenName, ...]:
    """Return the names that one leaf removed and another began to use, by file and line."""
    touched = sorted({path for each in changes for path in each.files if path.endswith(".py")})
    if not touched:
        return ()
    texts = _ParsedFiles(git)
    try:
        before, after = (_python(blobs_at(git, each)) for each in (base, tree))
        found = _broken(texts, before, after, touched, changes)
        return tuple(sorted(found, key=lambda each: (each.path, each.line)))
    finally:
        texts.close()


def _broken(
    texts: _ParsedFiles,
    before: Files,
    after: Files,
    touched: Sequence[str],
    changes: Sequence[Change],
) -> Iterator[BrokenName]:
    lost: set[str] = set()
    for path in touched:
        lost |= texts.words(before.get(path)) - texts.words(after.get(path))
        lost |= set() if path in after else set(_WORD.findall(path))
    modules = Modules(before)
    for path in touched:  # only those that are worth parsing
        if before.get(path) == after.get(path) or lost.isdisjoint(texts.words(after.get(path))):
            continue
        known = texts.uses(before.get(path))
        for used, line in texts.uses(after.get(path)).items():
            module = modules.file_of(path, used.level, used.module)
            if used in known or module is None or not _is_gone(texts, before, after, module, used):
                continue
            user = _first(changes, path, lambda blob, used=used: used in texts.uses(blob))  # type: ignore[misc]
            remover = _first(changes, module, lambda blob, used=used: texts.lacks(blob, used.name))  # type: ignore[misc]
            if user is not None and remover is not None and user != remover:
                yield BrokenName(
                    name=_dotted(module, used.name, before), path=path, line=line,
                    used_by=user, removed_by=remover, removed_from=module,
                )  # fmt: skip


def _is_gone(
    texts: _ParsedFiles, before: Files, after: Files, module: str, used: ImportedName
) -> bool:
    """Whether a module had a name, and has it no more; it may be a module in its folder."""
    if module in after and module.endswith("__init__.py"):
        below = f"{module.removesuffix('__init__.py')}{used.name}"
        if f"{below}.py" in after or f"{below}/__init__.py" in after:
            return False
    tree = texts.tree(before[module])
    had = not used.name or (tree is not None and used.name in _bound(tree))
    return had and texts.lacks(after.get(module), used.name)


def _first(changes: Sequence[Change], path: str, fits: Callable[[Blob | None], bool]) -> str | None:
    """The first leaf that left a file so that it fits."""
    some = (change for change in changes if path in change.files)
    return next((change.leaf for change in some if fits(change.files[path])), None)


def _python(files: Mapping[str, Blob]) -> dict[str, Blob]:
    """Python files that are neither links nor submodules."""
    return {p: b for p, b in files.items() if p.endswith(".py") and b.mode.startswith("100")}


def _uses(tree: ast.Module) -> Iterator[tuple[ImportedName, int]]:
    """What a file imports, and the attributes of modules that it imports, with their lines."""
    guarded = {id(inner) for node in _guarded(tree) for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if id(node) not in guarded]
    modules: dict[str, ImportedName] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                yield ImportedName(0, each.name, ""), node.lineno
                modules[each.asname or each.name] = ImportedName(0, each.name, "")
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                yield ImportedName(node.level, node.module or "", each.name), each.lineno
                inner = ".".join(filter(None, (node.module, each.name)))
                yield ImportedName(node.level, inner, ""), each.lineno
                modules[each.asname or each.name] = ImportedName(node.level, inner, "")
    for name in set(_assigned(tree)):
        modules.pop(name, None)
    for node in nodes:
        if isinstance(node, ast.Attribute) and (used := modules.get(ast.unparse(node.value))):
            yield used._replace(name=node.attr), node.lineno


def _assigned(tree: ast.Module) -> Iterator[str]:
    """Names that are bound by anything but an import: they may shadow a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def _guarded(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements whose errors are caught."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            kinds = {each.id for handler in node.handlers for each in ast.walk(handler)
                     if isinstance(each, ast.Name)}  # fmt: skip
            if kinds & _CAUGHT or any(handler.type is None for handler in node.handlers):
                yield from node.body


def _bound(tree: ast.Module) -> Iterator[str]:
    """The top-level names of a module, in branches too; `*` for a star import."""
    statements: list[ast.AST] = [*tree.body]
    while statements:
        node = statements.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (each.asname or each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        else:
            statements += ast.iter_child_nodes(node)


def _is_dynamic(tree: ast.Module) -> bool:
    return any(
        isinstance(node, (ast.Name, ast.FunctionDef))
        and (node.id if isinstance(node, ast.Name) else node.name) in _DYNAMIC
        for node in ast.walk(tree)
    )


def _dotted(path: str, name: str, files: Files) -> str:
    """A name with its module, from the uppermost folder that is a package."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    top = len(parts) - 1
    while top and f"{'/'.join(parts[:top])}/__init__.py" in files:
        top -= 1
    return ".".join(filter(None, (*parts[top:], name)))
