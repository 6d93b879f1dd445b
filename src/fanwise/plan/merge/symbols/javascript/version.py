"""Where a name comes from, in one version of a repository with JavaScript or TypeScript. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import NamedTuple

from fanwise.plan.merge.symbols.javascript.facts import DEFAULT, ScriptExports
from fanwise.plan.merge.symbols.javascript.uses import ScriptUse
from fanwise.plan.split.imports.javascript import SUFFIXES, candidates

_DEEP = 20


class ExportMatch(NamedTuple):
    """The file that makes a name, and the name there; None: the file itself is meant."""

    path: str
    name: str | None


class ScriptFiles:
    """All files of a commit, and what those in these languages export.

    `known`: files that there were. What is neither here nor was there may be made by a build.
    """

    def __init__(
        self, paths: Collection[str], known: Collection[str], read: Callable[[str], ScriptExports]
    ) -> None:
        self._paths = paths
        self._known = known
        self._read = read

    def where(self, path: str, use: ScriptUse) -> ExportMatch | bool:
        """Find what a file means by a use. True: it may be there; False: it is not."""
        return self._where(path, use, _DEEP, set())

    def _where(
        self, path: str, use: ScriptUse, deep: int, seen: set[tuple[str, str]]
    ) -> ExportMatch | bool:
        if use.path[:1] != "." or deep == 0:
            return True
        base = normpath(join(dirname(path), use.path))
        files = [each for each in candidates(base) if each in self._paths]
        if not files:
            was = any(each in self._known for each in candidates(base))
            return not was or base in self._stems
        if use.name is None:
            return ExportMatch(files[0], None)
        if not all(each.endswith(SUFFIXES) for each in files):
            return True
        answers = [self._in(each, use.name, deep, seen) for each in files]
        named = [each for each in answers if isinstance(each, ExportMatch)]
        return named[0] if named else any(answers)

    def _in(
        self, path: str, name: str, deep: int, seen: set[tuple[str, str]]
    ) -> ExportMatch | bool:
        if (path, name) in seen:  # files may export one another: who came first has the answer
            return False
        seen.add((path, name))
        module = self._read(path)
        if name in module.names:
            origin = module.names[name]
            if origin is None:
                return ExportMatch(path, name)
            return self._where(path, ScriptUse(*origin), deep - 1, seen)
        if module.dynamic or (name == DEFAULT and module.common):
            return True
        stars = () if name == DEFAULT else module.stars
        answers = [self._where(path, ScriptUse(each, name), deep - 1, seen) for each in stars]
        named = [each for each in answers if isinstance(each, ExportMatch)]
        return named[0] if named else any(answers)

    @cached_property
    def _stems(self) -> set[str]:
        """Without what is behind the dot: a bundler may take a file in another language for it."""
        return {path.rpartition(".")[0] for path in self._paths}
