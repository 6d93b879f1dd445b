"""What a Python file imports, read without a parser. Pure.

The grammar's own parser takes more than a second for every 1,000 files, this a tenth of it. Strings
and comments are removed; in what is left, `import` and `from` at the beginning of a statement are
imports. A test compares both on real code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from posixpath import commonpath, dirname
from typing import NamedTuple

_SKIPPED = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\\?\Z)'
    r"|'''(?:[^'\\]|\\.|'(?!''))*(?:'''|\\?\Z)"
    r'|"(?:[^"\\\n]|\\\r\n|\\.)*(?:"|\\?$)'
    r"|'(?:[^'\\\n]|\\\r\n|\\.)*(?:'|\\?$)",
    re.DOTALL | re.MULTILINE,
)
_NOTHING = '""'
"""What stands for a string or a comment."""
_STATEMENT = re.compile(
    r"(?:^|[;:])[ \t\f]*(?:import\b(?P<modules>[^\n;]*)"
    r"|from\b(?P<dots>[. \t]*+)(?P<module>(?:(?!\bimport\b)[\w. \t])*+)import\b[ \t]*"
    r"(?:\((?P<inside>[^()]*)|(?P<names>[^\n;(]*)))",
    re.MULTILINE,
)
"""Without backtracking: a line may have millions of characters."""
_INDENT = re.compile(r"[ \t\f]*")
_LINE = re.compile(r"^[ \t\f]*(?=[^ \t\f\r\n)\]}])", re.MULTILINE)
"""A line that may begin a block, up to its first word."""
_LATER = re.compile(r"(?:async\s+)?def\b|(?:el)?if\s+(?:\w+\.)?TYPE_CHECKING\b")


class Import(NamedTuple):
    """An import statement, or one module of `import a, b`."""

    level: int
    """How many dots stand before the module."""
    module: str
    names: tuple[str, ...] = ()
    """Those after `import` in `from module import …`; empty for `import module`."""
    deferred: bool = False
    """It stands in a function or is for type checkers only: the module loads without it."""


def python_imports(text: str) -> Iterator[Import]:
    """Every import of a file, wherever it stands: at the top, in a function, in a branch."""
    last = text.rfind("import")
    if last < 0:
        return
    code = without_strings(text[: _end(text, last)])
    if "\\" in code:
        code = code.replace("\\\r\n", " ").replace("\\\n", " ")
    blocks = _Blocks(code)
    line = end = 0
    for found in _STATEMENT.finditer(code):
        word = max(found.start("modules"), found.start("dots"))
        line, end = code.rfind("\n", end, word) + 1 or line, found.end()
        deferred = blocks.defer(line)
        if found["modules"] is not None:
            yield from (Import(0, name, (), deferred) for name in _names(found["modules"]))
        else:
            names = tuple(_names(found["names"] if found["inside"] is None else found["inside"]))
            module = "".join(found["module"].split())
            yield Import(found["dots"].count("."), module, names, deferred)


def _end(text: str, last: int) -> int:
    """Where the statement with the last `import` ends for sure: mostly, where its line does."""
    end = text.find("\n", last)
    if end < 0 or "(" in text[last:end] or "\\" in text[last:end]:
        return len(text)
    close, opened = text.find(")", last), text.find("(", last)
    inside = close >= 0 and (opened < 0 or close < opened)  # a name with `import` in brackets
    return len(text) if inside else end


def without_strings(code: str) -> str:
    """The code with nothing in its strings and comments."""
    if '"' in code or "'" in code or "#" in code:
        return _SKIPPED.sub(_NOTHING, code)
    return code


def _names(text: str) -> Iterator[str]:
    """Names between commas, each without its `as`; there may be spaces around their dots."""
    for words in (part.replace(_NOTHING, " ").split() for part in text.split(",")):
        if words:
            yield "".join(words[: words.index("as", 1)] if "as" in words[1:] else words)


class _Blocks:
    """The blocks that are open at a line. Lines are asked for in their order."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._lines = _LINE.finditer(code)
        self._next = next(self._lines, None)
        self._indents: list[int] = []
        """Of the blocks, from the outermost on."""
        self._later: list[bool] = []
        """Whether one of the blocks up to this is a function, or for type checkers only."""

    def defer(self, line: int) -> bool:
        """Whether it stands in such a block."""
        depth = _INDENT.match(self._code, line).end() - line  # type: ignore[union-attr]
        if _LATER.match(self._code, line + depth):
            return True
        if not depth:
            return False
        while self._next is not None and self._next.start() < line:
            self._open(self._next.start(), self._next.end())
            self._next = next(self._lines, None)
        around = bisect_left(self._indents, depth)
        return around > 0 and self._later[around - 1]

    def _open(self, start: int, end: int) -> None:
        around = bisect_left(self._indents, end - start)
        later = around > 0 and self._later[around - 1]
        self._indents[around:] = [end - start]
        self._later[around:] = [later or _LATER.match(self._code, end) is not None]


class Modules:
    """The modules that the files of a plan are, by their names.

    A file has several: from the folder above its outermost package on (`src` layouts), and from
    the top of the code base on (packages without `__init__`): of the repository, or of a folder
    that all files are in.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        top = commonpath(map(dirname, self._paths)) if self._paths else ""
        self._tops = range(len(top.split("/")) + 1 if top else 1)
        self._named: dict[str, list[str]] = {}
        self._near: dict[str, dict[str, str]] = {}
        """Of a name that several files have, the first of them below each folder."""
        for path in sorted(self._paths):
            if path.endswith((".py", ".pyi")):
                for name in self._names(path):
                    self._named.setdefault(name, []).append(path)

    def _names(self, path: str) -> set[str]:
        parts = path.rpartition(".")[0].split("/")
        top = len(parts) - 1
        while top and self._is_package("/".join(parts[:top])):
            top -= 1
        if parts[-1] == "__init__":
            parts = parts[:-1]
        starts = {*self._tops, min(top, len(parts))}
        return {".".join(parts[start:]) for start in starts if parts[start:]}

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._paths or f"{folder}/__init__.pyi" in self._paths

    def imported_by(self, path: str, text: str) -> dict[str, bool]:
        """The files that one imports, each with whether it is only imported later."""
        imported: dict[str, bool] = {}
        for level, module, names, deferred in python_imports(text):
            whole = self.file_of(path, level, module)
            # Of `from m import a, b`: a module where the name is one, else the file of `m`.
            inner = (
                None if n == "*" else self.file_of(path, level, f"{module}.{n}") for n in names
            )
            for each in [file or whole for file in inner] if names else [whole]:
                if each is not None and each != path:
                    imported[each] = imported.get(each, True) and deferred
        return imported

    def file_of(self, path: str, level: int, module: str) -> str | None:
        """The file of a module that a file imports; `level` dots stand before its name."""
        above = path.split("/")
        if not level:
            return self._nearest(module, path)
        if level > len(above):
            return None  # it leads out of the code base
        return self._file("/".join([*above[:-level], *filter(None, module.split("."))]))

    def _file(self, base: str) -> str | None:
        inside = f"{base}/" if base else ""
        for name in (f"{base}.py", f"{inside}__init__.py", f"{base}.pyi", f"{inside}__init__.pyi"):
            if name in self._paths:
                return name
        return None

    def _nearest(self, name: str, path: str) -> str | None:
        """The file of a module; of several, that which shares most folders with the importer."""
        found = self._named.get(name)
        if found is None:
            return None
        if len(found) == 1:
            return found[0]
        if name not in self._near:
            self._near[name] = first_below(found)
        return nearest(path, self._near[name])


def first_below(paths: Iterable[str]) -> dict[str, str]:
    """Of each folder with some of the paths below it, the first of them."""
    first: dict[str, str] = {}
    for path in sorted(paths):
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in first:
                break  # so have those above
            first[folder] = path
    return first


def nearest(path: str, first: Mapping[str, str]) -> str:
    """That which shares most folders with a path; of several the first."""
    folder = path.rpartition("/")[0]
    while folder not in first:
        folder = folder.rpartition("/")[0]
    return first[folder]
