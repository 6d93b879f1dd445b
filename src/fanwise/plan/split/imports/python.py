"""What a Python file imports, read without its grammar. Pure.

The grammar's own parser takes more than a second for every 1,000 files, this a tenth of it. Strings
and comments are skipped; in what is left the word `import` stands in import statements only. A test
compares both on real code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from posixpath import commonpath, dirname
from typing import NamedTuple

_WORD = re.compile(r"import\b")
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
_FROM = re.compile(r"(?:^|[;:\s])from\b\s*(\.[.\s]*)?([\w.\s]*)$")
_MODULE = re.compile(r"[\w.\s]*")
"""All that can stand between `from` and `import`."""
_BLANK = re.compile(r"[ \t]*")
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


class _Word(NamedTuple):
    """Where a word `import` stands."""

    line: int
    """Where its line begins."""
    begin: int
    """Where its statement can begin: its line, or the end of another `import` there."""
    start: int
    until: int
    """Where the next `import` stands: no statement has two."""


def python_imports(text: str) -> Iterator[Import]:
    """Every import of a file, wherever it stands: at the top, in a function, in a branch."""
    last = text.rfind("import")
    if last < 0:
        return
    code = without_strings(text[: _end(text, last)])
    if "\\" in code:
        code = code.replace("\\\r\n", " ").replace("\\\n", " ")
    blocks = _Blocks(code)
    for word in _statements(code):
        yield from _statement(code, word, blocks)


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


def _statements(code: str) -> Iterator[_Word]:
    """Every word `import`, with how far the statement around it can go: to the others of it."""
    found = (each.start() for each in _WORD.finditer(code))
    places = [place for place in found if not _goes_on(code[place - 1 : place])]
    line = end = 0
    for place, until in pairwise([*places, len(code)]):
        line = code.rfind("\n", end, place) + 1 or line
        yield _Word(line, max(line, end), place, until)
        end = place + len("import")


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _statement(code: str, word: _Word, blocks: _Blocks) -> Iterator[Import]:
    """The statement around the word `import`, if it is one."""
    before = code[word.begin : word.start]
    bare = before.rstrip(" \t\f\ufeff")
    if bare[-1] in ";:" if bare else word.begin == word.line:
        deferred = blocks.defer(word.line)
        for name in _names(code, word):
            yield Import(0, name, (), deferred)
        return
    other = _MODULE.match(before[::-1])
    found = _FROM.search(before, max(0, len(before) - (other.end() if other else 0) - 1))
    if found is not None:
        level = (found[1] or "").count(".")
        module = "".join(found[2].split())
        yield Import(level, module, tuple(_names(code, word)), blocks.defer(word.line))


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


def _names(code: str, word: _Word) -> list[str]:
    end = _BLANK.match(code, word.start + len("import")).end()  # type: ignore[union-attr]
    if code[end : end + 1] == "(":
        stop = code.find(")", end, word.until)
        inside = code[end + 1 : stop if stop >= 0 else word.until]
    else:
        stop = code.find("\n", end, word.until)
        inside = code[end : stop if stop >= 0 else word.until].partition(";")[0]
    words = (part.replace(_NOTHING, " ").split() for part in inside.split(","))
    return [_dotted(each) for each in words if each]


def _dotted(words: list[str]) -> str:
    """A name without its `as`; there may be spaces around its dots."""
    if len(words) > 1 and "as" in words[1:]:
        words = words[: words.index("as", 1)]
    return "".join(words)


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
            if level:
                found = self._relative(path, level, module, names)
            else:
                found = self._absolute(path, module, names)
            for each in found:
                if each is not None and each != path:
                    imported[each] = imported.get(each, True) and deferred
        return imported

    def file_of(self, path: str, level: int, module: str) -> str | None:
        """The file of a module that a file imports; `level` dots stand before its name."""
        if level:
            above = path.split("/")[:-level]
            return self._file("/".join([*above, *filter(None, module.split("."))]))
        return self._nearest(module, path)

    def _relative(
        self, path: str, level: int, module: str, names: Iterable[str]
    ) -> set[str | None]:
        above = path.split("/")[:-level]
        if len(path.split("/")) <= level - 1:
            return set()
        base = "/".join([*above, *(part for part in module.split(".") if part)])
        return self._each(
            lambda name: self._file(f"{base}/{name}".lstrip("/")), self._file(base), names
        )

    def _absolute(self, path: str, module: str, names: Sequence[str]) -> set[str | None]:
        if not names:
            return {self._nearest(module, path)}
        whole = self._nearest(module, path)
        return self._each(lambda name: self._nearest(f"{module}.{name}", path), whole, names)

    def _each(
        self, find: Callable[[str], str | None], whole: str | None, names: Iterable[str]
    ) -> set[str | None]:
        """Of `from m import a, b`: a module where the name is one, else the file of `m`."""
        return {(None if name == "*" else find(name)) or whole for name in names}

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


def shared(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    count = 0
    for a, b in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count


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
