"""What Go files import, by the module paths of the `go.mod` files. Pure.

A package is a folder. Its files are imported as one, so the edge goes to one of them that stands
for it: `doc.go`, the file named like the folder, or the first; and the others of the folder belong
to it (they see one another without imports).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename, dirname

_SKIPPED = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_BLOCK = re.compile(r"^import\b[ \t]*(?:\((?P<block>[^)]*)(?:\)|\Z)|(?P<one>[^\n]*))", re.MULTILINE)
_PATH = re.compile(r"[\"`]([^\"`\n]+)[\"`]")
_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)


def go_imports(text: str) -> Iterator[str]:
    """The packages that are named. Imports come before all else that a file declares."""
    code = _SKIPPED.sub(" ", text)
    for found in _BLOCK.finditer(code):
        yield from _PATH.findall(found["block"] or found["one"] or "")


class Packages:
    """The packages of a plan, by the paths that they are imported by."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        modules = {
            dirname(path): found[1]
            for path, text in texts.items()
            if basename(path) == "go.mod" and (found := _MODULE.search(text))
        }
        folders: dict[str, list[str]] = {}
        for path in sorted(texts):
            if path.endswith(".go"):
                folders.setdefault(dirname(path), []).append(path)
        self._first = {folder: _first(folder, files) for folder, files in folders.items()}
        self._folders = {
            name: folder
            for folder in folders
            if (name := _import_path(folder, modules)) is not None
        }

    def imported_by(self, path: str, text: str) -> set[str]:
        """The files that one imports, and the one that stands for its own package."""
        found = {
            self._first[self._folders[name]] for name in go_imports(text) if name in self._folders
        }
        found.add(self._first[dirname(path)])
        return found - {path}


def _first(folder: str, files: Iterable[str]) -> str:
    usual = [path for path in files if not path.endswith("_test.go")] or list(files)
    wanted = (f"{folder}/doc.go".lstrip("/"), f"{folder}/{basename(folder)}.go".lstrip("/"))
    return next((path for path in wanted if path in usual), usual[0])


def _import_path(folder: str, modules: Mapping[str, str]) -> str | None:
    """By the nearest `go.mod` above it."""
    above = folder
    while True:
        if above in modules:
            inside = folder[len(above) :].strip("/")
            return f"{modules[above]}/{inside}" if inside else modules[above]
        if not above:
            return None
        above = dirname(above)
