"""Who imports whom, of all files of a plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fanwise.plan.model.node import FileNote
from fanwise.plan.split.files import PlanFile
from fanwise.plan.split.imports import javascript
from fanwise.plan.split.imports.go import Packages
from fanwise.plan.split.imports.python import Modules

PYTHON = (".py", ".pyi")


class Graph(NamedTuple):
    """Of each file those that it imports, in order; and the files that cannot be read."""

    imports: dict[str, tuple[str, ...]]
    deferred: frozenset[tuple[str, str]]
    """Importer and imported, where the importer loads without it: the import is in a function."""
    unparsed: tuple[FileNote, ...]


def graph_of(files: Iterable[PlanFile]) -> Graph:
    known = sorted(files, key=lambda file: file.path)
    texts = {file.path: file.text for file in known if file.text is not None}
    modules, packages = Modules(texts), Packages(texts)
    imports = {}
    deferred = set()
    for path, text in texts.items():
        found = _imported_by(path, text, texts, modules, packages)
        if found:
            imports[path] = tuple(sorted(found))
            deferred |= {(path, other) for other, later in found.items() if later}
    odd = [
        FileNote(file.path, "not UTF-8, nor the encoding that it declares")
        for file in known
        if file.odd
    ]
    return Graph(imports, frozenset(deferred), tuple(odd))


def _imported_by(
    path: str, text: str, texts: Mapping[str, str], modules: Modules, packages: Packages
) -> dict[str, bool]:
    if path.endswith(PYTHON):
        return modules.imported_by(path, text)
    if path.endswith(".go"):
        return dict.fromkeys(packages.imported_by(path, text), False)
    if path.endswith(javascript.SUFFIXES):
        return dict.fromkeys(javascript.imported_by(path, text, texts), False)
    return {}
