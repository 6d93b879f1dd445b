"""Where a name comes from, in one version of a repository."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import NamedTuple

from fanwise.plan.merge.symbols.facts import Class, PythonModule, Ref
from fanwise.plan.merge.symbols.uses import ModuleUse

_DEEP = 20


class NameOrigin(NamedTuple):
    """The file that makes a name; no names: the file itself is meant."""

    path: str
    names: tuple[str, ...]


class MissingName(NamedTuple):
    """The module is there, and does not have it; or the module is not there."""


class ExternalName(NamedTuple):
    """It is of no module of the repository, or cannot be told."""


Where = NameOrigin | MissingName | ExternalName


class PythonFiles:
    """The Python files of a commit, and what they define."""

    def __init__(self, paths: Collection[str], read: Callable[[str], PythonModule]) -> None:
        self._paths = paths if isinstance(paths, (set, dict)) else set(paths)
        self._read = read

    def where(self, path: str, use: ModuleUse) -> Where:
        """Find what a file means by a use."""
        found: Where = ExternalName()
        for module in self._modules(path, use.ref):
            found = self._walk(module, use.names, _DEEP)
            if not isinstance(found, MissingName):
                return found
        return found if isinstance(found, MissingName) else self._absent(path, use.ref)

    def files_of(self, path: str, ref: Ref) -> list[str]:
        """The files, or folders with modules, that an import may mean."""
        return self._modules(path, ref)

    def _absent(self, path: str, ref: Ref) -> Where:
        """No such module: if its package is of the repository, it is missing."""
        if ref.level:
            return MissingName()
        package = ref.module.rpartition(".")[0]
        return MissingName() if package and self._modules(path, Ref(0, package)) else ExternalName()

    def _walk(self, module: str, names: tuple[str, ...], deep: int) -> Where:
        if not names:
            return NameOrigin(module, ())
        if deep == 0:
            return ExternalName()
        name, rest = names[0], names[1:]
        facts = self._facts(module)
        bound = facts.names.get(name)
        if bound is not None:
            if bound.module is not None:
                inner = () if bound.name is None else (bound.name,)
                return self._follow(module, ModuleUse(bound.module, (*inner, *rest)), deep)
            if rest and bound.known_class is not None:
                return self._in_class(module, (name,), bound.known_class, rest[0], deep)
            return NameOrigin(module, (name,))
        below = self._below(module, name)
        if below is not None:
            return self._walk(below, rest, deep - 1)
        stars = [self._follow(module, ModuleUse(ref, names), deep) for ref in facts.stars]
        unknown = ExternalName() if facts.dynamic else MissingName()
        return next((each for each in stars if not isinstance(each, MissingName)), unknown)

    def _follow(self, module: str, use: ModuleUse, deep: int) -> Where:
        found: Where = ExternalName()
        for each in self._modules(module, use.ref):
            found = self._walk(each, use.names, deep - 1)
            if not isinstance(found, MissingName):
                return found
        return found if isinstance(found, MissingName) else self._absent(module, use.ref)

    def _in_class(
        self, module: str, front: tuple[str, ...], known: Class, name: str, deep: int
    ) -> Where:
        if name in known.names:
            return NameOrigin(module, (*front, name))
        if known.dynamic or deep == 0:
            return ExternalName()
        for base in known.bases:
            if base == ("object",):
                continue
            found = self._walk(module, (*base, name), deep - 1)
            if not isinstance(found, MissingName):
                return found
            if isinstance(self._walk(module, base, deep - 1), (MissingName, ExternalName)):
                return ExternalName()  # a class from elsewhere may have it
        return MissingName()

    def _facts(self, module: str) -> PythonModule:
        return self._read(module if module.endswith(".py") else f"{module}/__init__.py")

    def _below(self, module: str, name: str) -> str | None:
        """The module of that name in a package."""
        folder = _folder_of(module)
        if folder is None:
            return None
        path = f"{folder}/{name}" if folder else name
        found = [each for each in (f"{path}/__init__.py", f"{path}.py") if each in self._paths]
        return found[0] if found else path if path in self._folders else None

    def _modules(self, path: str, ref: Ref) -> list[str]:
        parts = ref.module.split(".") if ref.module else []
        if ref.level:
            above = path.split("/")[: -ref.level]
            if len(path.split("/")) < ref.level:
                return []
            return self._at("/".join((*above, *parts)))
        roots = self._tops.get(parts[0], ())
        return [file for root in roots for file in self._at(_join(root, parts))]

    def _at(self, path: str) -> list[str]:
        names = (f"{path}/__init__.py", f"{path}.py") if path else ("__init__.py",)
        found = [each for each in names if each in self._paths]
        return found or ([path] if path in self._folders else [])

    @cached_property
    def _folders(self) -> set[str]:
        found = {""}
        for path in self._paths:
            while path := path.rpartition("/")[0]:
                if path in found:
                    break
                found.add(path)
        return found

    @cached_property
    def _tops(self) -> dict[str, list[str]]:
        """By name: the folders that have a module or a package of that name, and are none."""
        found: dict[str, list[str]] = {}
        for each in sorted(
            (*self._paths, *self._folders), key=lambda path: (path.count("/"), path)
        ):
            root, _, name = each.rpartition("/")
            if each and f"{root}/__init__.py".lstrip("/") not in self._paths:
                found.setdefault(name.removesuffix(".py"), []).append(root)
        return found


def _join(root: str, parts: list[str]) -> str:
    return "/".join((root, *parts)) if root else "/".join(parts)


def _folder_of(module: str) -> str | None:
    """The folder that a package is; None: it is a plain module."""
    if module.endswith("/__init__.py") or module == "__init__.py":
        return module.rpartition("/")[0]
    return None if module.endswith(".py") else module
