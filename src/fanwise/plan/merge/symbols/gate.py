"""Uses that a leaf added, of names that were there at the start and are not in the merged tree.

Each is looked up in both: it has to come from a file of the repository at the start, and to be
missing in the merged tree, where re-exports, star imports and base classes are followed. Whatever
cannot be told counts as there. Uses that were in a file before are the check's business, as are
those in files that no leaf has touched, and those of a name that another module re-exports under a
name of its own: only files that have a word which somebody took away are parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fanwise.plan.merge.symbols.rename_detection import new_name, new_path
from fanwise.plan.merge.symbols.resolve import ExternalName, MissingName, NameOrigin, PythonFiles
from fanwise.plan.merge.symbols.texts import Texts
from fanwise.plan.merge.symbols.uses import ModuleUse, uses_in
from fanwise.plan.merge.trees import Files, blobs_at
from fanwise.plan.model.change import Blob, Change
from fanwise.plan.model.merge_result import BrokenName
from fanwise.workspaces.git import Git

_REGULAR = ("100644", "100755")


def broken(git: Git, base: str, tree: str, changes: Sequence[Change]) -> tuple[BrokenName, ...]:
    """Return the names that one leaf took away and another began to use, by file and line."""
    touched = {path for change in changes for path in change.files if path.endswith(".py")}
    if not touched:
        return ()
    before, after = _python(blobs_at(git, base)), _python(blobs_at(git, tree))
    texts = Texts(git)
    texts.read(files[path] for files in (before, after) for path in touched if path in files)
    words = _lost_words(texts, before, after, touched)
    if not words:
        return ()
    gate = _Gate(texts, before, after, changes)
    found: list[BrokenName] = []
    for path in sorted(touched & after.keys()):
        if not words.isdisjoint(texts.new_words(before.get(path), after[path])):
            found += gate.look(path)
    return tuple(sorted(found, key=lambda each: (each.path, each.line)))


class _Gate:
    """The two versions, and who changed what."""

    def __init__(
        self,
        texts: Texts,
        before: dict[str, Blob],
        after: dict[str, Blob],
        changes: Sequence[Change],
    ) -> None:
        self._texts = texts
        self._before = before
        self._after = after
        self._changes = changes
        self._old = PythonFiles(before, lambda path: texts.module(before.get(path)))
        self._new = PythonFiles(after, lambda path: texts.module(after.get(path)))

    def look(self, path: str) -> list[BrokenName]:
        """Find what a file that leaves have changed uses in vain."""
        known = uses_in(self._texts.text(self._before.get(path)))
        found: dict[tuple[str, ...], BrokenName] = {}
        uses = uses_in(self._texts.text(self._after[path]))
        for use, line in sorted(uses.items(), key=lambda each: (each[1], len(each[0].names))):
            if use in known:
                continue
            origin = self._gone(path, use)
            made = None if origin is None else self._broken(path, line, use, origin)
            if made is not None:
                found.setdefault((made.name, made.used_by), made)
        return list(found.values())

    def _gone(self, path: str, use: ModuleUse) -> NameOrigin | None:
        """Where a name came from that is not there any more; None: it is there, or never was."""
        origin = self._old.where(path, use)
        if not isinstance(origin, NameOrigin):
            return None
        now = self._new.where(path, use)
        lost = isinstance(now, ExternalName) and not self._new.files_of(path, use.ref)
        return origin if lost or isinstance(now, MissingName) else None

    def _broken(
        self, path: str, line: int, use: ModuleUse, origin: NameOrigin
    ) -> BrokenName | None:
        user = first_leaf(self._changes, path, lambda blob: use in uses_in(self._texts.text(blob)))
        remover = first_leaf(
            self._changes, origin.path, lambda blob: self._lacks(blob, origin.names)
        )
        if user is None or remover is None or user.leaf == remover.leaf:
            return None
        return BrokenName(
            name=".".join((*self._dotted(origin.path), *origin.names)),
            path=path,
            line=line,
            used_by=user.leaf,
            removed_by=remover.leaf,
            removed_from=origin.path,
            renamed_to=self._renamed(origin, remover),
        )

    def _lacks(self, blob: Blob | None, names: tuple[str, ...]) -> bool:
        if blob is None or not names:
            return blob is None
        bound = self._texts.module(blob).names.get(names[0])
        if bound is None or len(names) == 1:
            return bound is None
        return bound.known_class is not None and names[1] not in bound.known_class.names

    def _renamed(self, origin: NameOrigin, remover: Change) -> str | None:
        blob, front = remover.files[origin.path], ".".join(self._dotted(origin.path))
        if blob is None:
            to = new_path(self._texts.text(self._before[origin.path]), self._added(remover))
            return None if to is None else ".".join((*self._dotted(to), *origin.names))
        before, after = self._texts.module(self._before[origin.path]), self._texts.module(blob)
        if not origin.names:
            return None
        name = new_name(before, after, origin.names)
        if name is not None:
            return ".".join((front, *origin.names[:-1], name))
        return self._moved(origin, remover)

    def _moved(self, origin: NameOrigin, remover: Change) -> str | None:
        """Another module of the same leaf that has the name now."""
        for path, blob in sorted(remover.files.items()):
            if path.endswith(".py") and path != origin.path and blob is not None:
                here = self._texts.module(blob).names.get(origin.names[0])
                old = self._texts.module(self._before.get(path)).names
                if here is not None and here.node is not None and origin.names[0] not in old:
                    return ".".join((*self._dotted(path), *origin.names))
        return None

    def _added(self, change: Change) -> dict[str, str]:
        new = {path: blob for path, blob in change.files.items() if path not in self._before}
        return {path: self._texts.text(blob) for path, blob in new.items() if path.endswith(".py")}

    def _dotted(self, path: str) -> tuple[str, ...]:
        """A module's name: from the uppermost folder that is a package."""
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        known = {**self._before, **self._after}
        at = len(parts) - 1
        while at and f"{'/'.join(parts[:at])}/__init__.py" in known:
            at -= 1
        return tuple(parts[at:])


def first_leaf(
    changes: Sequence[Change], path: str, fits: Callable[[Blob | None], bool]
) -> Change | None:
    """The first change that left a file so that it fits."""
    some = (change for change in changes if path in change.files)
    return next((change for change in some if fits(change.files[path])), None)


def _python(files: Files) -> dict[str, Blob]:
    """Python files that are neither links nor submodules."""
    return {
        path: blob
        for path, blob in files.items()
        if path.endswith(".py") and blob is not None and blob.mode in _REGULAR
    }


def _lost_words(
    texts: Texts, before: Mapping[str, Blob], after: Mapping[str, Blob], touched: set[str]
) -> set[bytes]:
    """The words that may be names which are gone, the names of modules among them."""
    found: set[bytes] = set()
    for path in touched & before.keys():
        found |= texts.lost(before[path], after.get(path))
        if path not in after:
            found.update(word.encode() for word in path.removesuffix(".py").split("/")[-2:])
    return found
