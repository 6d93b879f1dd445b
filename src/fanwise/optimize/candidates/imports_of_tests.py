"""Which files of a project are there for its tests: what they import and the target does not.

Found in the source, before anything runs: helpers of tests have any name. What the package of the
target imports, directly or not, is the program itself, and a candidate may change it.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path, PurePosixPath

from fanwise.optimize.candidates.judges import is_judge

_SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")
_PYTHON_FILES = re.compile(r"^\s*python_files\s*=\s*((?:.*\n?)(?:[ \t]+.*\n?)*)", re.M)
_PATTERN = re.compile(r"[\w*?\[\]./-]+\.py")
_MOST = 20_000


@lru_cache(8)
def judges_by_import(top: Path, target: str, line: str) -> frozenset[str]:
    """The files, relative to `top`, that tests consist of; `line` is the test command."""
    files = frozenset(_python_files(top))
    named = _patterns(top, line)
    tests = {
        each
        for each in files
        if is_judge(each, own=target) or any(_matches(each, pattern) for pattern in named)
    }
    modules = {name: each for each in files for name in _module_names(each)}
    program = _closure(top, _package(target, files), modules)
    return frozenset(_closure(top, tests, modules) - program)


def _python_files(top: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = [each for each in folders if _is_source(here / each)]
        for name in names:
            if name.endswith(".py") and (count := count + 1) <= _MOST:
                yield (here / name).relative_to(top).as_posix()


def _is_source(folder: Path) -> bool:
    return folder.name[:1] != "." and not (folder / "pyvenv.cfg").exists()


def _patterns(top: Path, line: str) -> list[str]:
    """How test files are called here: by the settings of pytest, or by the command."""
    texts = [
        path.read_text(errors="replace") for name in _SETTINGS if (path := top / name).is_file()
    ]
    told = [found for text in texts for found in _PYTHON_FILES.findall(text)]
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    return [each for text in told for each in _PATTERN.findall(text)] + [
        word for word in words if "*" in word and word.endswith(".py")
    ]


def _matches(path: str, pattern: str) -> bool:
    return fnmatch(path if "/" in pattern else PurePosixPath(path).name, pattern)


def _package(target: str, files: Collection[str]) -> set[str]:
    """The target's file, and all of the package that it is in."""
    parent = PurePosixPath(target).parent
    if (parent / "__init__.py").as_posix() not in files:
        return {target}
    while (parent.parent / "__init__.py").as_posix() in files:
        parent = parent.parent
    return {each for each in files if each.startswith(f"{parent}/") and not is_judge(each)}


def _module_names(path: str) -> Iterator[str]:
    """What a file may be imported as: from the top, from `src`, from a folder of tests."""
    pure = PurePosixPath(path)
    parts = pure.parent.parts if pure.name == "__init__.py" else pure.with_suffix("").parts
    yield from (".".join(parts[start:]) for start in range(len(parts)))


def _closure(top: Path, start: Iterable[str], modules: dict[str, str]) -> set[str]:
    found: set[str] = set()
    left = list(start)
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += [modules[name] for name in _imports(top, path) if name in modules]
    return found


def _imports(top: Path, path: str) -> Iterator[str]:
    try:
        tree = ast.parse((top / path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    package = PurePosixPath(path).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in _prefixes(alias.name))
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*around, *filter(None, [node.module])])
            yield from _prefixes(base)
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[: end + 1]) for end in range(len(parts)) if name)
